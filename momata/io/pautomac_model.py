r"""The text of the PAutomaC competition's models: initial, final, symbol and transition probabilities.

Symbol probabilities are conditional on not stopping, transition probabilities on state and symbol:
:math:`A_\sigma[i, j] = (1 - F_i)\, S_{i, \sigma}\, T_{i, \sigma, j}`. Symbols are numbers from 0.
"""

from __future__ import annotations

import re
from typing import IO

import numpy as np

from momata.core.alphabet import Alphabet
from momata.core.probabilistic import PFA
from momata.core.wfa import WFA
from momata.io.automata import Array, Row, Rows, as_pfa, check_size
from momata.io.streams import PathLike, atomic_write

__all__ = ["read_pautomac_model", "write_pautomac_model"]

_SECTIONS = {"I": 1, "F": 1, "S": 2, "T": 3}  # and of how many numbers their keys are
_HEADERS = {"I": "I: (state)", "F": "F: (state)", "S": "S: (state,symbol)", "T": "T: (state,symbol,state)"}
_KEY = re.compile(r"\(([0-9]{1,18}(?:,[0-9]{1,18}){0,2})\)")

_Entries = dict[tuple[int, ...], float]


def read_pautomac_model(path: PathLike) -> PFA:
    """Read a model of the competition, or one that `write_pautomac_model` wrote.

    Sums may be off by 1e-6, since files print few digits; they are made exact.
    """
    rows = Rows(path)
    tables = _read_sections(rows)
    states = {key[0] for name in "IFS" for key in tables[name]} | {s for k in tables["T"] for s in (k[0], k[2])}
    n_symbols = 1 + max((key[1] for name in "ST" for key in tables[name]), default=-1)
    n = 1 + max(states, default=-1)
    if n == 0:
        raise rows.error("names no state, and a model has one at least. Check that this is the file you mean.")
    if len(states) != n:
        raise rows.error(
            f"{len(states)} states occur and the highest is {n - 1}. Number the states from 0 without gaps."
        )
    rows.check_size(n, n_symbols)
    initial, final = np.zeros(n), np.zeros(n)
    emit, move = np.zeros((n, n_symbols)), np.zeros((n, n_symbols, n))
    for table, array in zip("IFST", (initial, final, emit, move), strict=True):
        for key, value in tables[table].items():
            array[key] = value
    rows.sums_to_one(initial.sum(keepdims=True), "initial probabilities")
    final = np.minimum(final, 1.0)
    emit = emit / _sums(rows, emit, final < 1.0, "symbol probabilities (S)")[:, None]
    totals = _sums(rows, move.reshape(-1, n), emit.ravel() > 0, "transition probabilities (T)", n_symbols)
    move /= totals.reshape(n, n_symbols, 1)
    move *= (emit * (1.0 - final)[:, None])[:, :, None]
    operators = np.ascontiguousarray(move.transpose(1, 0, 2))
    return PFA(initial / initial.sum(), final, operators, Alphabet.of_size(n_symbols))


def _read_sections(rows: Rows) -> dict[str, _Entries]:
    tables: dict[str, _Entries] = {}
    current = ""
    for row in rows:
        word = row.words[0]
        if word.endswith(":"):
            current = word[:-1]
            if current not in _SECTIONS or current in tables:
                raise rows.error(
                    f"{word[:40]!r} begins no section, or begins one for the second time. "
                    f"The sections are {' '.join(_HEADERS)}, each once.",
                    row,
                )
            tables[current] = {}
        elif not current:
            raise rows.error(
                f"{word[:40]!r}: a PAutomaC model starts with 'I: (state)'. (Training and solution files are no models.)",
                row,
            )
        else:
            key, at = _key_of(rows, row, current)
            if key in tables[current]:
                raise rows.error(f"{current} gives {key} a second time. Keep one.", row)
            tables[current][key] = rows.probability(row, at)
    missing = [name for name in _SECTIONS if name not in tables]
    if missing:
        raise rows.error(f"ends without the section {_HEADERS[missing[0]]!r}. Fetch the file again.")
    return tables


def _key_of(rows: Rows, row: Row, section: str) -> tuple[tuple[int, ...], int]:
    """Return the numbers in brackets, and which word is the probability: the last one."""
    found = _KEY.fullmatch("".join(row.words[:-1]))
    key = tuple(map(int, found.group(1).split(","))) if found else ()
    if len(key) != _SECTIONS[section]:
        shown = _HEADERS[section].partition(" ")[2]
        raise rows.error(f"an entry of section {section} is {shown} and a probability. Correct the line.", row)
    return key, len(row.words) - 1


def _sums(rows: Rows, table: Array, needed: np.ndarray, what: str, per_state: int = 1) -> Array:
    """Return what rows sum to, 1 for those that are never used; refuse the others if they do not sum to 1."""
    sums = np.where(needed, table.sum(axis=1), 1.0)
    worst = int(np.abs(sums - 1.0).argmax()) if sums.size else 0
    if sums.size:
        state, symbol = divmod(worst, per_state)
        where = f"state {state}" + (f" and symbol {symbol}" if per_state > 1 else "")
        rows.sums_to_one(sums[worst : worst + 1], f"{what} of {where}")
    return np.asarray(sums)


def write_pautomac_model(wfa: WFA, path: PathLike, force: bool = False) -> None:
    """Write a PFA; what is none is refused. Symbols are written as their numbers."""
    pfa = as_pfa(wfa, "the PAutomaC model text")
    check_size(pfa.n_states, pfa.n_symbols)
    with atomic_write(path, force) as file:
        _write_section(file, "I", pfa.initial)
        _write_section(file, "F", pfa.final)
        mass = pfa.operators.sum(axis=2).T  # (n, n_symbols)
        going_on = mass.sum(axis=1, keepdims=True)
        emit = np.divide(mass, going_on, out=np.zeros_like(mass), where=going_on > 0)
        _write_section(file, "S", emit)
        if pfa.n_symbols and not emit[:, -1].any():  # so that the size of the alphabet stays
            file.write(f"\t(0,{pfa.n_symbols - 1}) 0.0\n")
        file.write(_HEADERS["T"] + "\n")
        for state in range(pfa.n_states):
            rows, sums = pfa.operators[:, state], mass[state][:, None]
            move = np.divide(rows, sums, out=np.zeros_like(rows), where=sums > 0)
            symbols, targets = np.nonzero(move)
            values = zip(symbols.tolist(), targets.tolist(), move[symbols, targets].tolist(), strict=True)
            file.writelines(f"\t({state},{symbol},{target}) {value!r}\n" for symbol, target, value in values)


def _write_section(file: IO[str], section: str, array: Array) -> None:
    file.write(_HEADERS[section] + "\n")
    for key in zip(*np.nonzero(array), strict=True):
        file.write(f"\t({','.join(str(int(k)) for k in key)}) {float(array[key])!r}\n")
