"""Symbols and their numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from momata.errors import AlphabetError, OptionError

__all__ = ["START", "STOP", "UNKNOWN", "Alphabet", "UnknownPolicy"]

START = "<s>"
"""How the start of a sequence is shown; reserved, so never a symbol."""

STOP = "</s>"
"""How the end of a sequence is shown; reserved, so never a symbol."""

UNKNOWN = "<unk>"
"""The symbol that stands for all symbols never seen, in models that keep a share for them."""


def _plain(symbol: Any) -> Any:
    """Return a NumPy scalar as the Python value it equals, anything else unchanged."""
    return symbol.item() if isinstance(symbol, np.generic) else symbol


def _is_whole(text: str) -> bool:
    return len(text) < 20 and text.isascii() and text.removeprefix("-").isdigit()


def sort_symbols(symbols: Iterable[Hashable]) -> Sequence[Hashable]:
    """Order distinct symbols: numbers and whole-number texts by value, other texts by code point, mixtures as given."""
    found = list(symbols)
    if all(isinstance(s, str) for s in found):
        texts = [str(s) for s in found]
        if all(map(_is_whole, texts)):
            return [s for _, s in sorted((int(s), s) for s in texts)]
        return sorted(texts)
    if all(isinstance(s, int | float) and not isinstance(s, bool) for s in found):
        return sorted(found)  # type: ignore[type-var]
    return found


class Alphabet:
    """An ordered set of hashable symbols, numbered from 0.

    Parameters
    ----------
    symbols : iterable of hashable
        Distinct; ``"<s>"`` and ``"</s>"`` are reserved for the start and the end of a sequence.
    closed : bool
        Whether the list is known to be complete (a declared alphabet) rather than merely what was seen.
        Smoothed models keep a share for unknown symbols only when it is not.
    marks : bool
        Whether the two marks may be symbols: for padded sequences inside models.

    Examples
    --------
    >>> letters = Alphabet("abc")
    >>> letters.index("b"), letters[2], len(letters)
    (1, 'c', 3)
    """

    __slots__ = ("_index", "_text_index", "closed", "symbols")

    def __init__(self, symbols: Iterable[Any], closed: bool = False, marks: bool = False) -> None:
        self.symbols: tuple[Hashable, ...] = tuple(map(_plain, symbols))
        self.closed = closed
        self._index: dict[Hashable, int] = {}
        for i, symbol in enumerate(self.symbols):
            if isinstance(symbol, float) and math.isnan(symbol):
                raise AlphabetError(
                    "NaN cannot be a symbol: it does not equal itself. Map missing values to a symbol of their own."
                )
            if symbol in (START, STOP) and not marks:
                raise AlphabetError(
                    f"{symbol!r} marks the {'start' if symbol == START else 'end'} of a sequence and cannot be a symbol. "
                    "Leave it out: momata adds starts and ends by itself."
                )
            if self._index.setdefault(symbol, i) != i:
                raise AlphabetError(f"symbol {symbol!r} occurs twice in the alphabet. Give each symbol once.")
        self._text_index: dict[str, int] | None = None

    @classmethod
    def of_size(cls, n_symbols: int) -> Alphabet:
        """Return the closed alphabet of the integers 0 to ``n_symbols - 1``."""
        return cls(range(n_symbols), closed=True)

    def __len__(self) -> int:
        return len(self.symbols)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.symbols)

    def __getitem__(self, index: int) -> Hashable:
        return self.symbols[index]

    def __contains__(self, symbol: object) -> bool:
        return self.find(symbol) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alphabet) and self.symbols == other.symbols

    def __hash__(self) -> int:
        return hash(self.symbols)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.symbols[:6])) + (", ..." if len(self) > 6 else "")
        return f"Alphabet({len(self)} symbols: {shown})"

    def find(self, symbol: Any) -> int | None:
        """Return the number of a symbol, or None.

        A symbol matches itself; a text and a whole number also match each other, so that the ``"3"`` of a text file finds
        the ``3`` of a PAutomaC alphabet, and the other way round.
        """
        symbol = _plain(symbol)
        try:
            index = self._index.get(symbol)
        except TypeError:
            raise AlphabetError(
                f"{symbol!r} of type {type(symbol).__name__} is not hashable and cannot be a symbol."
            ) from None
        if index is None and isinstance(symbol, str):
            if self._text_index is None:
                self._text_index = {str(s): i for i, s in enumerate(self.symbols) if not isinstance(s, str)}
            index = self._text_index.get(symbol)
        elif index is None and isinstance(symbol, int) and not isinstance(symbol, bool):
            index = self._index.get(str(symbol))
        return index

    def index(self, symbol: Any) -> int:
        """Return the number of a symbol; raise `AlphabetError` if it has none."""
        index = self.find(symbol)
        if index is None:
            raise AlphabetError(f"symbol {symbol!r} is not in the alphabet of {len(self)} symbols.")
        return index

    def with_unknown(self) -> Alphabet:
        """Return this alphabet with `UNKNOWN` as its last symbol, if it is not there yet."""
        return self if UNKNOWN in self._index else Alphabet((*self.symbols, UNKNOWN), closed=self.closed)


@dataclass(frozen=True)
class UnknownPolicy:
    """What becomes of a symbol that a model has never seen.

    ``error`` refuses it, ``skip`` leaves it out of the sequence, ``map`` puts ``symbol`` in its place, and ``share`` (the
    default) lets the model's own `UNKNOWN` symbol stand for it where the model has one and refuses it otherwise.
    """

    action: str = "share"
    symbol: str | None = None

    @classmethod
    def parse(cls, text: str | UnknownPolicy | None) -> UnknownPolicy:
        """Read ``error``, ``skip``, ``map=SYMBOL`` or ``share`` (also None)."""
        if isinstance(text, UnknownPolicy):
            return text
        if text is None:
            return cls()
        if text in ("error", "skip", "share"):
            return cls(text)
        if text.startswith("map=") and len(text) > 4:
            return cls("map", text[4:])
        raise OptionError(
            f"unknown={text!r} is not a policy for unknown symbols. Use error, skip, share, or map=SYMBOL."
        )

    def target(self, alphabet: Alphabet) -> int | None:
        """Return the number that an unknown symbol gets: -1 to leave it out, None to refuse it."""
        if self.action == "skip":
            return -1
        if self.action == "map":
            target = alphabet.find(self.symbol)
            if target is None:
                raise AlphabetError(
                    f"unknown symbols were to become {self.symbol!r}, which is not in the model's alphabet "
                    f"of {len(alphabet)} symbols either."
                )
            return target
        return alphabet.find(UNKNOWN) if self.action == "share" else None
