"""What momata raises when it is asked for something that cannot be."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "AlphabetError",
    "BasisError",
    "DataError",
    "FormatError",
    "ModelFileError",
    "MomataError",
    "OptionError",
    "generator",
    "whole",
]


class MomataError(Exception):
    """Base of all errors that momata raises on purpose."""


class OptionError(MomataError, ValueError):
    """An argument or option has a value that cannot be used."""


class AlphabetError(MomataError, ValueError):
    """A symbol is not in an alphabet, or two alphabets do not agree."""


class BasisError(MomataError, ValueError):
    """A basis of prefixes and suffixes does not suit what is asked of it."""


class DataError(MomataError, ValueError):
    """Data that were read well but cannot be used as asked."""


class FormatError(MomataError, ValueError):
    """Input that does not follow its format.

    The message starts with the place: ``path, line 3, column 7: what was found``.
    """

    def __init__(self, message: str, path: str = "", line: int | None = None, column: int | None = None) -> None:
        self.message, self.path, self.line, self.column = message, path, line, column
        super().__init__(message, path, line, column)

    def __str__(self) -> str:
        place = [self.path] if self.path else []
        if self.line is not None:
            place.append(f"line {self.line}")
        if self.column is not None:
            place.append(f"column {self.column}")
        return f"{', '.join(place)}: {self.message}" if place else self.message


class ModelFileError(MomataError, ValueError):
    """A model file that is corrupt, foreign, or newer than this version of momata."""


def whole(value: Any, name: str) -> int:
    """Return an argument that must be a whole number, or raise `OptionError`."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise OptionError(f"{name}={value!r} is not a whole number. Give one.") from None


def generator(seed: Any) -> np.random.Generator:
    """Return the generator that a seed stands for; a generator stands for itself."""
    import numpy as np

    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise OptionError(f"seed={seed!r} is no seed. Give a whole number from 0, or a NumPy generator.") from None
