"""A user's own basis, from a JSON file: ``{"prefixes": [[], ["a"], ["a", "b"]], "suffixes": ["", "a"]}``."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable
from typing import Any

from momata.core.basis import Basis
from momata.errors import BasisError, FormatError
from momata.io.streams import decode_text, display_name, read_bytes

__all__ = ["read_basis"]


def read_basis(path: str | os.PathLike[str]) -> Basis:
    """Read prefixes and suffixes; each is a list of symbols, or a text, which is the string of its characters."""
    name = display_name(path)
    text = decode_text(read_bytes(path), path)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also of a number with too many digits
        line, column = getattr(error, "lineno", None), getattr(error, "colno", None)
        raise FormatError("is no JSON. A basis is an object with prefixes and suffixes.", name, line, column) from None
    if not isinstance(found, dict) or set(found) != {"prefixes", "suffixes"}:
        raise FormatError('a basis is an object with "prefixes" and "suffixes", and nothing else.', name)
    prefixes, suffixes = (_strings(found[side], side, name) for side in ("prefixes", "suffixes"))
    try:
        return Basis(prefixes, suffixes)
    except BasisError as error:
        raise FormatError(str(error), name) from None


def _strings(values: Any, side: str, name: str) -> tuple[tuple[Hashable, ...], ...]:
    if not isinstance(values, list):
        raise FormatError(f'"{side}" is not a list of strings.', name)
    for value in values:
        if not isinstance(value, str) and not (
            isinstance(value, list) and all(isinstance(symbol, str | int | float) for symbol in value)
        ):
            raise FormatError(f'{str(value)[:60]!r} among the "{side}" is neither a text nor a list of symbols.', name)
    return tuple(map(tuple, values))
