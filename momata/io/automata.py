"""Models to and from files of any format, by file name; and what the text formats of automata share."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momata.core.probabilistic import HMM, PFA
from momata.core.wfa import WFA
from momata.errors import FormatError, ModelFileError, OptionError
from momata.io.streams import PathLike, decode_text, display_name, read_bytes
from momata.learn.em import EMState
from momata.predict.automaton_model import AutomatonModel
from momata.predict.language_model import LanguageModel

__all__ = ["FORMATS", "automaton_of", "format_of", "read_model", "write_model"]

Array = NDArray[np.float64]

MAX_WEIGHTS = 2**27
"""How many weights an automaton read from text may have, zeros counted: one GiB."""

_FREE_WEIGHTS, _WEIGHTS_PER_BYTE = 2**22, 1000  # a short file that claims many states or symbols is a damaged one
_MAX_DIGITS = 18  # of a whole number
_ROUNDED = 1e-6  # how far sums may be from 1 in files that print few digits


@dataclass(frozen=True)
class Format:
    """One format: what its names end in, and where its reader and its writer are; None where it has none."""

    endings: tuple[str, ...]
    module: str
    reader: str | None
    writer: str
    keeps_all: bool = False  # whether it holds any model, not only the automaton


FORMATS = {
    "npz": Format((".npz",), "momata.io.model_file", "load", "save", keeps_all=True),
    "json": Format((".json",), "momata.io.automaton_json", "read_json", "write_json", keeps_all=True),
    "att": Format((".att", ".fst.txt"), "momata.io.openfst", "read_openfst", "write_openfst"),
    "pautomac": Format(
        (".pautomac", "_model.txt"), "momata.io.pautomac_model", "read_pautomac_model", "write_pautomac_model"
    ),
    "treba": Format((".treba",), "momata.io.treba", "read_treba", "write_treba"),
    "hmm": Format((".hmm",), "momata.io.treba", "read_treba", "write_treba_hmm"),
    "dot": Format((".dot", ".gv"), "momata.io.dot", None, "write_dot"),
}


def format_of(path: PathLike, format: str | None = None) -> str:
    """Return the name of the format that a file name ends in, ``.gz`` behind a text format aside; ``"-"`` is a model file."""
    if format is not None:
        if format not in FORMATS:
            raise OptionError(f"format={format!r} is not known. Use one of {', '.join(FORMATS)}.")
        return format
    name = os.fspath(path).lower()
    if name == "-" or name.endswith(FORMATS["npz"].endings):  # packed already, so never .npz.gz
        return "npz"
    name = name.removesuffix(".gz")
    for key, found in FORMATS.items():
        if key != "npz" and name.endswith(found.endings):
            return key
    endings = " ".join(ending for found in FORMATS.values() for ending in found.endings)
    raise OptionError(
        f"{os.fspath(path)}: its ending names no format of models. Use one of {endings}, or name the format."
    )


def read_model(path: PathLike, format: str | None = None) -> LanguageModel:
    """Read a model from a file of the format that its name ends in.

    Parameters
    ----------
    path : str or path
        Ends in ``.npz .json .att .fst.txt .pautomac _model.txt .treba .hmm``; all but ``.npz`` maybe with ``.gz`` behind.
    format : {"npz", "json", "att", "pautomac", "treba", "hmm"}, optional
        By default that of the name; ``"-"`` (standard input) is taken for a model file.
    """
    found = FORMATS[format_of(path, format)]
    if found.reader is None:
        raise OptionError(
            f"{display_name(path)}: a drawing cannot be read back, since it rounds the weights. "
            "Give the .npz, .json or .att file that it was made of."
        )
    model: Any = getattr(importlib.import_module(found.module), found.reader)(path)
    if isinstance(model, EMState):
        raise ModelFileError(
            f"{display_name(path)}: is a checkpoint of learn em, not yet a model. Run the same command with --checkpoint again."
        )
    return AutomatonModel(model) if isinstance(model, WFA) else model


def write_model(model: Any, path: PathLike, force: bool = False, format: str | None = None) -> list[str]:
    """Write a model in the format that the file name ends in.

    Parameters
    ----------
    model : LanguageModel, WFA or HMM
    path : str or path
        Ends in ``.npz .json .att .fst.txt .pautomac .treba .hmm .dot .gv``; all but ``.npz`` maybe with ``.gz`` behind.
    force : bool
        Replace an existing file.
    format : str, optional
        By default that of the name; ``"-"`` (standard output) is written as a model file.

    Returns
    -------
    list of str
        What the file does not hold, in sentences; empty for ``.npz`` and ``.json``, which hold everything.
    """
    found = FORMATS[format_of(path, format)]
    write = getattr(importlib.import_module(found.module), found.writer)
    if found.keeps_all:
        if isinstance(model, HMM):
            model = model.to_pfa()
        write(AutomatonModel(model) if isinstance(model, WFA) else model, path, force)
        return []
    wfa, notes = automaton_of(model)
    write(wfa, path, force)
    if found.module in _NUMBERS_SYMBOLS and wfa.alphabet.symbols != tuple(range(wfa.n_symbols)):
        notes.append(f"symbols are written as the numbers 0 to {wfa.n_symbols - 1}, in the order of the alphabet")
    return notes


_NUMBERS_SYMBOLS = ("momata.io.pautomac_model", "momata.io.treba")


def automaton_of(model: Any) -> tuple[WFA, list[str]]:
    """Return the automaton that a model is or holds, and what else the model holds, in sentences."""
    if isinstance(model, WFA):
        return model, []
    if isinstance(model, HMM):
        return model.to_pfa(), []
    if isinstance(model, AutomatonModel):
        notes = []
        if model.backing is not None and (model.share > 0 or model.distrust > 0):
            notes.append(
                f"the n-gram model behind the automaton (share {model.share:g}) is left out, so scores will differ; "
                "a .npz or .json file keeps it"
            )
        elif model.share > 0 and not model.is_pfa:
            notes.append(
                f"the share {model.share:g} of the uniform distribution is left out, so scores will differ; "
                "a .npz or .json file keeps it"
            )
        return model.wfa, notes
    if hasattr(model, "to_wfa"):
        wfa: WFA = model.to_wfa()
        return wfa, [f"the n-gram model is written as an automaton of {wfa.n_states} states, without its counts"]
    raise OptionError(
        f"a {type(model).__name__} is no sequence model, so it has no automaton to write. Write it to a .npz file."
    )


# ---------------------------------------------------------------------- for the writers


def start_of(wfa: WFA) -> tuple[WFA, int]:
    r"""Return an automaton of the same function that starts in one state with weight 1, and this state.

    Where the automaton starts otherwise, it gets one more state, the first: its row in :math:`A_\sigma` is
    :math:`\alpha_1^\top A_\sigma`, its final weight :math:`\alpha_1^\top \alpha_\infty`, and nothing leads to it. Exact, and
    without empty moves. A PFA stays one.
    """
    starts = np.flatnonzero(wfa.initial)
    if starts.size == 1 and wfa.initial[starts[0]] == 1.0:
        return wfa, int(starts[0])
    n = wfa.n_states
    check_size(n + 1, wfa.n_symbols)
    operators = np.zeros((wfa.n_symbols, n + 1, n + 1))
    operators[:, 1:, 1:] = wfa.operators
    operators[:, 0, 1:] = wfa.initial @ wfa.operators
    initial = np.zeros(n + 1)
    initial[0] = 1.0
    return wfa.replace(initial, np.append(wfa.initial @ wfa.final, wfa.final), operators), 0


def as_pfa(wfa: WFA, format: str) -> PFA:
    """Return the automaton as a PFA; refuse it if it is none, for a format of probabilities."""
    if not wfa.is_probabilistic():
        lowest = min(float(a.min(initial=0.0)) for a in (wfa.initial, wfa.final, wfa.operators))
        raise OptionError(
            f"{format} holds probabilistic automata only, and this {wfa.statistic} automaton is none "
            f"(lowest weight {lowest:.3g}). Make it one with polish, or write .json or .att, which hold any weights."
        )
    return PFA.of(wfa)


# ---------------------------------------------------------------------- for the readers


class Row(NamedTuple):
    """The words of a line, and where they are."""

    line: int
    words: list[str]
    columns: list[int]


class Rows:
    """The lines of a text file that have words on them, and errors that say where.

    Words are separated by blanks and tabs and by no other white space.
    """

    def __init__(self, path: PathLike) -> None:
        self.name = display_name(path)
        data = read_bytes(path)
        self.n_bytes = len(data)
        self._lines = decode_text(data, path).split("\n")

    def __iter__(self) -> Iterator[Row]:
        for number, line in enumerate(self._lines, 1):
            words, columns, position = [], [], 0
            for word in line.replace("\t", " ").replace("\r", " ").split(" "):
                if word:
                    words.append(word)
                    columns.append(position + 1)
                position += len(word) + 1
            if words:
                yield Row(number, words, columns)

    def error(self, message: str, row: Row | None = None, i: int = 0) -> FormatError:
        """Return an error at a word of a row, or in the whole file."""
        if row is None:
            return FormatError(message, self.name)
        return FormatError(message, self.name, row.line, row.columns[min(i, len(row.columns) - 1)])

    def whole(self, row: Row, i: int, what: str) -> int:
        """Return a word as a whole number from 0."""
        word = row.words[i]
        if word.isascii() and word.isdigit() and len(word) <= _MAX_DIGITS:
            return int(word)
        raise self.error(
            f"{word[:40]!r} stands where {what} should, a whole number from 0. Correct it, or check the format.", row, i
        )

    def number(self, row: Row, i: int, what: str) -> float:
        """Return a word as a number; an infinity may be one, NaN never is."""
        word = row.words[i]
        try:
            value = float(word) if word.isascii() and "_" not in word else math.nan
        except ValueError:
            value = math.nan
        if math.isnan(value):
            raise self.error(
                f"{word[:40]!r} stands where {what} should, a number. Correct it, or check the format.", row, i
            )
        return value

    def probability(self, row: Row, i: int, what: str = "a probability") -> float:
        """Return a word as a number from 0 to 1, give or take what rounding leaves."""
        value = self.number(row, i, what)
        if not 0.0 <= value <= 1.0 + _ROUNDED:
            raise self.error(
                f"{row.words[i][:40]} is no probability, which lies between 0 and 1 (logarithms are not read here).",
                row, i,
            )  # fmt: skip
        return value

    def check_size(self, n_states: int, n_symbols: int) -> None:
        """Refuse an automaton that is too large in itself, or for a file of so few bytes."""
        n_weights = n_states**2 * n_symbols
        if n_weights > min(MAX_WEIGHTS, max(_FREE_WEIGHTS, _WEIGHTS_PER_BYTE * self.n_bytes)):
            raise self.error(
                f"{n_states} states and {n_symbols} symbols would make {n_weights} weights, too many for a file of "
                f"{self.n_bytes} bytes (and never more than {MAX_WEIGHTS}). Number states and symbols from 0 without gaps."
            )

    def sums_to_one(self, found: Array, what: str) -> None:
        """Refuse sums that are further from 1 than rounding brings them."""
        off = np.abs(found - 1.0)
        if found.size and off.max() > _ROUNDED:
            worst = int(off.argmax())
            where = f" of state {worst}" if found.size > 1 else ""
            raise self.error(f"the {what}{where} sum to {found[worst]:.9g} and must sum to 1. Correct them.")


def check_size(n_states: int, n_symbols: int) -> None:
    """Refuse to write an automaton that could not be read again."""
    if n_states**2 * n_symbols > MAX_WEIGHTS:
        raise OptionError(
            f"{n_states} states and {n_symbols} symbols make {n_states**2 * n_symbols} weights, more than the {MAX_WEIGHTS} "
            "that can be exchanged. Use a smaller model."
        )
