"""Parquet list columns, and tables with an event a row; read, grouped and sorted by pyarrow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from momata.core.alphabet import Alphabet, UnknownPolicy
from momata.core.corpus import Corpus
from momata.errors import FormatError
from momata.io.arrow import arrow, check_columns, codes_of, combined, emptiness, first_line, missing
from momata.io.delimited import read_delimited, typed
from momata.io.sources import FileSource, corpus_of_codes
from momata.io.streams import PathLike, display_name, read_bytes
from momata.threads import n_threads

__all__ = ["events_of", "read_events", "read_lists"]

_PARQUET_MARK = b"PAR1"


# ---------------------------------------------------------------------- Parquet lists


def read_lists(data: bytes, path: PathLike, column: str | None = None) -> Corpus:
    """Read a Parquet column whose cells are lists of symbols; by default the only such column."""
    with _named(display_name(path)):
        return _lists_of(data, path, column)


def _lists_of(data: bytes, path: PathLike, column: str | None) -> Corpus:
    pa, name = arrow(), display_name(path)
    file = arrow("pyarrow.parquet").ParquetFile(pa.BufferReader(data))
    column = _list_column(file.schema_arrow, column, name)
    lists = combined(file.read(columns=[column], use_threads=n_threads() > 1).column(column))
    lists = lists.cast(pa.large_list(lists.type.value_type))
    if lists.null_count:
        row = int(np.flatnonzero(lists.is_null().to_numpy(zero_copy_only=False))[0])
        raise FormatError(
            f"row {row + 1} of column {column!r} is null, which is no sequence. "
            "Fill it with an empty list or leave it out.",
            name,
        )
    values = combined(lists.flatten())
    offsets = np.concatenate([[0], np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False))]).astype(np.int64)
    if values.null_count:
        place = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
        row = int(np.searchsorted(offsets, place, side="right")) - 1
        raise FormatError(
            f"row {row + 1} of column {column!r} holds a null (item {place - int(offsets[row]) + 1}), "
            "which is no symbol. Map missing values to a symbol of their own.",
            name,
        )
    codes, symbols = codes_of(values)
    return corpus_of_codes(codes, offsets, symbols.to_pylist(), FileSource(str(path), unit="row"))


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    """Turn what pyarrow says of a damaged file (texts that are not UTF-8 included) into a `FormatError`."""
    try:
        yield
    except (arrow().ArrowException, OSError, UnicodeDecodeError) as error:
        raise FormatError(
            f"cannot be read as a table ({first_line(error)}). Write it again, or name another --format.", name
        ) from None


def _list_column(schema: Any, column: str | None, name: str) -> str:
    """Return the column to read, once it is known to be there and to hold lists of plain values."""
    types = arrow("pyarrow.types")

    def is_list(kind: Any) -> bool:
        return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))

    listed = [field.name for field in schema if is_list(field.type)]
    if column is None:
        if len(listed) != 1:
            what = f"has {len(listed)} columns of lists ({', '.join(listed)})" if listed else "has no column of lists"
            raise FormatError(
                f"{what}; its columns are {', '.join(schema.names)}. "
                "Name one with --column, or give --group and --symbol for a table of events.",
                name,
            )
        column = listed[0]
    check_columns([column], schema.names, name)
    kind = schema.field(column).type
    if column not in listed or types.is_nested(kind.value_type):
        raise FormatError(
            f"column {column!r} has type {kind}, and a list of plain values is needed in each row. "
            "Name another --column, or give --group and --symbol for a table of events.",
            name,
        )
    return column


# ---------------------------------------------------------------------- events


def read_events(
    path: PathLike,
    group: str,
    order: str | None = None,
    *,
    symbol: str,
    alphabet: Alphabet | None = None,
    unknown: str | UnknownPolicy | None = None,
) -> Corpus:
    """Read a table with one row an event: CSV, TSV or Parquet.

    Parameters
    ----------
    path : str or path
        ``"-"`` is standard input; ``.gz`` is unpacked. A table is Parquet by its first bytes, TSV by its name or, under
        another name than ``.csv``, by a tab in its first line, else CSV.
    group : str
        Rows with the same value in this column make one sequence; sequences come in the order of their first rows.
    order : str, optional
        Sorts each sequence: numbers and times by value, texts by code point, equal values as in the file. By default
        the order of the file.
    symbol : str
        The symbols, always as text, so that CSV and Parquet agree.
    alphabet, unknown : optional
        As in `momata.read_corpus`.
    """
    corpus = events_of(read_bytes(path), path, group, order, symbol)
    return corpus if alphabet is None else corpus.recode(alphabet, unknown)


def events_of(data: bytes, path: PathLike, group: str, order: str | None, symbol: str) -> Corpus:
    """Read a table of events from the bytes of a file."""
    with _named(display_name(path)):
        return _groups_of(data, path, group, order, symbol)


def _groups_of(data: bytes, path: PathLike, group: str, order: str | None, symbol: str) -> Corpus:
    pa, pc = arrow(), arrow("pyarrow.compute")
    name = display_name(path)
    columns = list(dict.fromkeys(c for c in (group, symbol, order) if c is not None))
    is_parquet = data.startswith(_PARQUET_MARK)
    table = _parquet_events(data, columns, name) if is_parquet else read_delimited(data, path, columns)
    if not table.num_rows:
        raise FormatError("holds no sequences: there are no rows. Check that this is the file you mean.", name)
    groups, _ = codes_of(table.column(group))
    keys = [groups]
    if order is not None:
        values = combined(table.column(order))
        keys.insert(0, pc.rank(values if is_parquet else typed(values), tiebreaker="dense").to_numpy())
    codes, symbols = codes_of(table.column(symbol).cast(pa.large_string()))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(groups))]).astype(np.int64)
    source = FileSource(str(path), unit="group")
    return corpus_of_codes(codes[np.lexsort(keys)], offsets, symbols.to_pylist(), source)


def _parquet_events(data: bytes, columns: list[str], name: str) -> Any:
    pa = arrow()
    file = arrow("pyarrow.parquet").ParquetFile(pa.BufferReader(data))
    schema = file.schema_arrow
    check_columns(columns, schema.names, name)
    for column in columns:
        kind = schema.field(column).type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind):
            raise FormatError(
                f"column {column!r} has type {kind}, and an event needs a text, a number or a time. "
                "Name another column.",
                name,
            )
    table = file.read(columns=columns, use_threads=n_threads() > 1)
    table = pa.table({c: combined(table.column(c)) for c in columns})
    for column in columns:
        empty = np.flatnonzero(missing(combined(table.column(column))))
        if empty.size:
            raise FormatError(f"row {int(empty[0]) + 1}: {emptiness(column)}", name)
    return table
