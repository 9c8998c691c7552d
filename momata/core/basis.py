"""Which prefixes and suffixes index the rows and columns of a Hankel matrix."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from momata.errors import BasisError

__all__ = ["Basis"]

String = tuple[Hashable, ...]


@dataclass(frozen=True)
class Basis:
    """Prefixes and suffixes: the rows and the columns of a Hankel block.

    Parameters
    ----------
    prefixes, suffixes : tuple of strings
        Each string a tuple of symbols, each once.

    Examples
    --------
    >>> basis = Basis.of(["", "a"], ["", "b", "ab"])
    >>> basis.prefixes, len(basis.suffixes)
    (((), ('a',)), 3)
    """

    prefixes: tuple[String, ...]
    suffixes: tuple[String, ...]

    def __post_init__(self) -> None:
        for name, strings in (("prefixes", self.prefixes), ("suffixes", self.suffixes)):
            if not strings:
                raise BasisError(
                    f"a basis without {name} has an empty Hankel block. Give at least one, maybe the empty string."
                )
            if len(set(strings)) != len(strings):
                twice = next(s for s in strings if strings.count(s) > 1)
                raise BasisError(f"{twice!r} stands twice among the {name}. Give each string once.")

    @classmethod
    def of(cls, prefixes: Iterable[Iterable[Hashable]], suffixes: Iterable[Iterable[Hashable]]) -> Basis:
        """Return a basis of any collections of strings; a text is the string of its characters."""
        return cls(tuple(map(tuple, prefixes)), tuple(map(tuple, suffixes)))
