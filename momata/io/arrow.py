"""Small pieces shared by the readers of tables; pyarrow is imported when they are called."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.errors import FormatError, OptionError

__all__ = ["arrow", "check_columns", "codes_of", "combined", "emptiness", "first_line", "missing"]


def arrow(module: str = "pyarrow") -> Any:
    """Import a module of pyarrow, which is an optional extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise OptionError(
            f'tables are read with pyarrow, which cannot be imported here ({error}). Run: pip install "momata[tables]"'
        ) from error


def combined(values: Any) -> Any:
    """Return a column as one array, its dictionary (if it has one) resolved."""
    pa = arrow()
    if isinstance(values, pa.ChunkedArray):
        values = (
            pa.concat_arrays(values.unify_dictionaries().chunks) if values.num_chunks else pa.array([], values.type)
        )
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def codes_of(values: Any) -> tuple[NDArray[np.int32], Any]:
    """Give numbers to the distinct values of an array without nulls, by first appearance; return them and the values."""
    encoded = combined(values).dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32), encoded.dictionary


def missing(values: Any) -> NDArray[np.bool_]:
    """Say which cells are null, not a number, or an empty text."""
    types = arrow("pyarrow.types")
    empty = np.asarray(values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False), dtype=bool)
    if types.is_string(values.type) or types.is_large_string(values.type):
        lengths = arrow("pyarrow.compute").binary_length(values).fill_null(0)
        empty |= lengths.to_numpy(zero_copy_only=False) == 0
    return empty


def emptiness(column: str) -> str:
    """Say that a cell is empty."""
    return (
        f"column {column!r} is empty, and each event needs its group, order and symbol. "
        "Fill the cell or remove the row."
    )


def check_columns(columns: list[str], found: list[str], name: str) -> None:
    """Refuse a table that lacks a column, or has it twice."""
    for column in columns:
        if found.count(column) != 1:
            what = "there is no column" if column not in found else "there is more than one column"
            raise FormatError(
                f"{what} {column!r}; the columns are {', '.join(found)}. Name one of them, or rename it in the file.",
                name,
            )


def first_line(error: Exception) -> str:
    """Return the first line of the message of another library."""
    return (str(error).splitlines() or [type(error).__name__])[0]
