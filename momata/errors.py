"""What momata raises when it is asked for something that cannot be."""

from __future__ import annotations

__all__ = ["AlphabetError", "BasisError", "DataError", "FormatError", "ModelFileError", "MomataError", "OptionError"]


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
