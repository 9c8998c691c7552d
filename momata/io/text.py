"""Text corpora: a sequence a line; symbols are words between white space, or single characters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from momata._kernels.tokenize import intern_spans, split_lines_and_words
from momata.core.corpus import Corpus
from momata.errors import OptionError
from momata.io.sources import FileSource, corpus_of_codes, pieces
from momata.io.streams import PathLike, atomic_write, check_text, decode_text

__all__ = ["read_chars", "read_text", "write_chars", "write_text"]

_WHITE = " \t\n\r\v\f"
_N_CODE_POINTS = 0x110000
_BATCH = 10_000  # sequences written at once


def read_text(data: bytes, path: PathLike) -> Corpus:
    """Read words: a sequence a line, symbols between ASCII white space, an empty line for an empty sequence."""
    text = check_text(data, path)
    buffer = np.frombuffer(text, dtype=np.uint8)
    starts, stops, offsets = split_lines_and_words(buffer)
    codes, firsts = intern_spans(buffer, starts, stops)
    return corpus_of_codes(
        codes, offsets, pieces(text, starts[firsts], stops[firsts]), FileSource(str(path), _find_word)
    )


def _find_word(text: bytes, sequence: int, position: int) -> int:
    starts, _, offsets = split_lines_and_words(np.frombuffer(text, dtype=np.uint8))
    return int(starts[offsets[sequence] : offsets[sequence + 1]][position])


def read_chars(data: bytes, path: PathLike) -> Corpus:
    r"""Read characters: a sequence a line, every character a symbol, blanks included; ``\n`` and ``\r\n`` end lines."""
    points = np.frombuffer(decode_text(data, path).encode("utf-32-le"), dtype="<u4")
    is_end = points == ord("\n")
    kept = ~is_end
    kept[:-1] &= ~((points[:-1] == ord("\r")) & is_end[1:])
    counted = np.concatenate([[0], np.cumsum(kept)])  # kept characters before each place
    offsets = np.concatenate([[0], counted[:-1][is_end]])
    if points.size and not is_end[-1]:
        offsets = np.append(offsets, counted[-1])
    codes, symbols = _intern_points(points[kept])
    return corpus_of_codes(codes, offsets.astype(np.int64), symbols, FileSource(str(path), _find_character))


def _intern_points(points: NDArray[np.uint32]) -> tuple[NDArray[np.int32], list[str]]:
    """Give numbers to code points through a table of all that exist."""
    table = np.zeros(_N_CODE_POINTS, dtype=np.int32)
    table[points] = 1
    found = np.flatnonzero(table)
    table[found] = np.arange(found.size)
    return table[points], [chr(p) for p in found.tolist()]


def _find_character(text: bytes, sequence: int, position: int) -> int:
    lines = text.split(b"\n", sequence + 1)[: sequence + 1]
    before = lines[sequence].decode("utf-8")[:position]
    if len(before) < position:
        raise IndexError(position)
    return sum(len(line) + 1 for line in lines[:sequence]) + len(before.encode("utf-8"))


# ---------------------------------------------------------------------- writing


def write_text(corpus: Corpus, path: PathLike, force: bool = False) -> None:
    """Write a sequence a line, symbols between blanks; refuse symbols that could not be read back."""
    names = _names(corpus, "text")
    for name in names:
        if not name or any(c in name for c in _WHITE):
            what = "is empty" if not name else "holds white space"
            raise OptionError(
                f"symbol {name!r} {what}, and in a text corpus white space separates the symbols. "
                "Rename the symbol, or write characters (format chars) if all symbols are single characters."
            )
    _write(corpus, path, force, names, " ")


def write_chars(corpus: Corpus, path: PathLike, force: bool = False) -> None:
    """Write a sequence a line, one character a symbol, nothing between them."""
    names = _names(corpus, "chars")
    for name in names:
        if len(name) != 1 or name in "\r\n":
            what = "ends lines" if name in ("\r", "\n") else f"has {len(name)} characters"
            raise OptionError(
                f"symbol {name!r} {what}, and in format chars a symbol is one character of a line. "
                "Write format text instead."
            )
    _write(corpus, path, force, names, "")


def _names(corpus: Corpus, format: str) -> list[str]:
    """Return how each symbol is written; refuse what UTF-8 text cannot hold or keep apart."""
    names = [str(symbol) for symbol in corpus.alphabet]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise OptionError(
            f"two symbols of the alphabet are both written {twice!r}, "
            f"so format {format} cannot keep them apart. Rename one."
        )
    for name in names:
        if "\0" in name or any("\ud800" <= c <= "\udfff" for c in name):
            raise OptionError(
                f"symbol {name!r} holds a character that UTF-8 text cannot hold. "
                f"Rename it before you write format {format}."
            )
    return names


def _write(corpus: Corpus, path: PathLike, force: bool, names: list[str], between: str) -> None:
    with atomic_write(path, force) as file:
        for i, batch in enumerate(_lines(repeated(corpus), names, between)):
            # readers take one byte order mark away, so a first symbol that looks like one gets another before it
            file.write("\ufeff" + batch if i == 0 and batch.startswith("\ufeff") else batch)


def _lines(corpus: Corpus, names: list[str], between: str) -> Iterator[str]:
    for first in range(0, len(corpus), _BATCH):
        bounds = corpus.offsets[first : first + _BATCH + 1]
        words = [names[t] for t in corpus.tokens[bounds[0] : bounds[-1]].tolist()]
        places = (bounds - bounds[0]).tolist()
        yield "".join([between.join(words[a:b]) + "\n" for a, b in itertools.pairwise(places)])


def repeated(corpus: Corpus) -> Corpus:
    """Return a corpus without weights, each sequence as often as its weight says.

    Weights that are no whole numbers are refused.
    """
    if corpus.weights is None:
        return corpus
    times = np.rint(corpus.weights).astype(np.int64)
    if np.any(times != corpus.weights):
        raise OptionError(
            "the corpus has weights that are not whole numbers, and a file can only repeat sequences. "
            "Drop or round the weights."
        )
    return corpus.select(np.repeat(np.arange(len(corpus)), times))
