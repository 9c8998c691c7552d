"""Corpora from codes, and places in files for messages about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.core.alphabet import START, STOP, Alphabet, sort_symbols
from momata.core.corpus import Corpus
from momata.errors import FormatError
from momata.io.streams import check_text, display_name, place_of, read_bytes

__all__ = ["FileSource", "corpus_of_codes", "pieces"]

Finder = Callable[[bytes, int, int], int]
"""Takes the bytes of a text, a sequence and a position (both from 0); returns the byte where that symbol starts."""


@dataclass
class FileSource:
    """Where a corpus was read; keeps the path only, and reads the file again when it has to point at something.

    Parameters
    ----------
    path : str
        ``"-"`` is standard input, which cannot be read again.
    find : callable or None
        Finds the byte of a symbol; None where places are told by sequence alone.
    unit : str
        What a sequence is called: ``line``, ``sentence``, ``row``.
    first : int
        The number of the first sequence, in this unit.
    """

    path: str
    find: Finder | None = None
    unit: str = "line"
    first: int = 1

    def locate(self, sequence: int, position: int) -> str:
        """Describe a place for a message, for instance ``line 14, column 3 of dev.txt``."""
        if self.find is not None and self.path != "-":
            try:
                text = check_text(read_bytes(self.path), self.path)
                line, column = place_of(text, self.find(text, sequence, position))
            except (FormatError, IndexError):  # gone, or changed since
                pass
            else:
                return f"line {line}, column {column} of {self.path}"
        return f"{self.unit} {sequence + self.first}, symbol {position + 1} of {display_name(self.path)}"


def pieces(data: bytes, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> list[str]:
    """Return the texts of some spans."""
    return [data[a:b].decode("utf-8") for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]


def corpus_of_codes(
    codes: NDArray[Any], offsets: NDArray[np.int64], symbols: Sequence[Any], source: FileSource
) -> Corpus:
    """Make a corpus from codes that stand for ``symbols``; its alphabet gets the canonical order."""
    if len(offsets) < 2:
        raise FormatError("holds no sequences. Check that this is the file you mean.", display_name(source.path))
    for mark in (mark for mark in (START, STOP) if mark in symbols):
        token = int(np.flatnonzero(codes == list(symbols).index(mark))[0])
        row = int(np.searchsorted(offsets, token, side="right")) - 1
        place = source.locate(row, token - int(offsets[row]))
        raise FormatError(
            f"{mark!r} ({place}) marks the {'start' if mark == START else 'end'} of a sequence and cannot be a symbol. "
            "Leave it out: momata adds starts and ends itself.",
            display_name(source.path),
        )
    alphabet = Alphabet(sort_symbols(symbols))
    table = np.array([alphabet.index(s) for s in symbols], dtype=np.int32)
    return Corpus(table[codes] if len(table) else np.empty(0, np.int32), offsets, alphabet, source=source)
