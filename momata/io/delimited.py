"""Event tables as text: CSV and TSV, read by pyarrow; the csv module finds the line when something is wrong."""

from __future__ import annotations

import collections
import csv
import io
from collections.abc import Iterator
from typing import Any

from momata.errors import FormatError
from momata.io.arrow import arrow, check_columns, combined, emptiness, first_line, missing
from momata.io.streams import PathLike, check_text, display_name
from momata.threads import n_threads

__all__ = ["read_delimited", "typed"]

_BLOCK = 16 << 20  # one row must fit into it


def read_delimited(data: bytes, path: PathLike, columns: list[str]) -> Any:
    """Return some columns of a CSV or TSV as an Arrow table of texts, none of them empty."""
    pa, arrow_csv = arrow(), arrow("pyarrow.csv")
    text, name = check_text(data, path), display_name(path)
    delimiter, quoted = _dialect(text, name)
    lines = _lines(text)
    header = next(_records(lines, delimiter, quoted, name), (1, []))[1]
    check_columns(columns, header, name)
    if not any(line.strip() for line in lines):
        raise FormatError("holds no sequences: no rows follow its header. Check that this is the file you mean.", name)
    if quoted and text.count(b'"') % 2:  # pyarrow would take the rest of the file for one cell
        collections.deque(_records(_lines(text), delimiter, quoted, name), maxlen=0)
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(text),
            read_options=arrow_csv.ReadOptions(block_size=_BLOCK, use_threads=n_threads() > 1),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, quote_char='"' if quoted else False, newlines_in_values=quoted and b'"' in text
            ),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=columns,
                column_types=dict.fromkeys(columns, pa.large_string()),
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowException as error:
        for line, record in _records(_lines(text), delimiter, quoted, name):
            if len(record) != len(header):
                raise FormatError(
                    f"{len(header)} fields are expected, as in the header, and this row has {len(record)}. "
                    "Mend the row, or put quotes around fields.",
                    name,
                    line,
                    1,
                ) from None
        raise FormatError(
            f"cannot be read as a table ({first_line(error)}). Mend it, or name another --format.", name
        ) from None
    if any(missing(combined(table.column(c))).any() for c in columns):
        raise _empty_cell(_records(_lines(text), delimiter, quoted, name), header, columns, name)
    return table


def _dialect(text: bytes, name: str) -> tuple[str, bool]:
    """Return the delimiter and whether quotes mean anything: in a TSV only if its header has some."""
    header = text.partition(b"\n")[0]
    plain = name.lower().removesuffix(".gz")
    if plain.endswith(".tsv") or (not plain.endswith(".csv") and b"\t" in header):
        return "\t", b'"' in header
    return ",", True


def _lines(text: bytes) -> Iterator[str]:
    return io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="")


def _records(lines: Iterator[str], delimiter: str, quoted: bool, name: str) -> Iterator[tuple[int, list[str]]]:
    """Give the line (from 1) and the fields of each record that is not empty."""
    reader = csv.reader(
        lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE, strict=True
    )
    line = 1
    try:
        for record in reader:
            if record:
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise FormatError(
            f"cannot be read as a table ({error}). Mend the row, or name another --format.", name, line, 1
        ) from None


def _empty_cell(
    records: Iterator[tuple[int, list[str]]], header: list[str], columns: list[str], name: str
) -> FormatError:
    places = {column: header.index(column) for column in columns}
    line, column = next((line, c) for line, record in records for c in columns if not record[places[c]])
    return FormatError(f"row {line}: {emptiness(column)}", name, line)


def typed(texts: Any) -> Any:
    """Return texts as numbers or times if all of them are, unchanged otherwise."""
    pa, pc = arrow(), arrow("pyarrow.compute")
    trimmed = pc.utf8_trim_whitespace(texts)
    times = [pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("us", "ns")]
    for kind in (pa.int64(), pa.uint64(), pa.float64(), *times):
        try:
            return trimmed.cast(kind)
        except pa.ArrowInvalid:
            continue
    return texts
