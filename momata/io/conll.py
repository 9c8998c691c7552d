"""One column of a CoNLL file: a token a line, a blank line after each sentence."""

from __future__ import annotations

import io
import re
from functools import partial

import numpy as np

from momata._kernels.tokenize import EMPTY_FIELD, MISSING_FIELD, OK, column_spans, intern_spans
from momata.core.corpus import Corpus
from momata.errors import FormatError, OptionError
from momata.io.sources import FileSource, corpus_of_codes, pieces
from momata.io.streams import PathLike, check_text, display_name

__all__ = ["column_of", "is_numbered", "read_conll"]

_NUMBERED_COLUMNS = {"upos": 4, "xpos": 5}
_FORM_FIRST_COLUMN = 2
_N_LOOKED_AT = 1000
_FIRST_NUMBER = re.compile(rb"1|1-\d+|0\.1")
_NUMBER = re.compile(rb"\d+([-.]\d+)?")


def read_conll(data: bytes, path: PathLike, tags: str = "xpos", numbered: bool | None = None) -> Corpus:
    """Read one column.

    Parameters
    ----------
    data : bytes
    path : str or path
        For messages, and to point at places later.
    tags : {"upos", "xpos", "column:N"}
        Columns 4 and 5 of CoNLL-X and CoNLL-U. In files whose first column is the form (``.dp``, CoNLL-2000) both are
        column 2. ``column:N`` counts from 1.
    numbered : bool, optional
        Whether the first column is the number of the token; by default as the first sentence looks.
    """
    text = check_text(data, path)
    if numbered is None:
        numbered = is_numbered(text)
    column = column_of(tags, numbered)
    buffer = np.frombuffer(text, dtype=np.uint8)
    starts, stops, offsets, error, line = column_spans(buffer, column, numbered)
    if error != OK:
        raise _explained(text, path, tags, column, error, line)
    codes, firsts = intern_spans(buffer, starts, stops)
    symbols = pieces(text, starts[firsts], stops[firsts])
    if symbols == ["_"]:
        raise FormatError(
            f"column {column} ({tags}) is '_', which means nothing, for all {len(codes)} tokens. "
            "Choose another with --tags upos or --tags column:N.",
            display_name(path),
        )
    find = partial(_find_token, column=column, numbered=numbered)
    return corpus_of_codes(codes, offsets, symbols, FileSource(str(path), find, unit="sentence"))


def is_numbered(text: bytes) -> bool:
    """Say whether the first column holds token numbers: it starts with 1, and most of the first lines agree."""
    n_numbers, n_others = 0, 0
    for line in map(bytes.strip, io.BytesIO(text)):
        if not line or line.startswith(b"#"):
            continue
        first = line.split()[0]
        if not n_numbers and not _FIRST_NUMBER.fullmatch(first):
            return False
        if _NUMBER.fullmatch(first):
            n_numbers += 1
        else:
            n_others += 1
        if n_numbers + n_others == _N_LOOKED_AT:
            break
    return n_numbers > n_others


def column_of(tags: str, numbered: bool) -> int:
    """Return the column (from 1) that ``tags`` names."""
    if tags in _NUMBERED_COLUMNS:
        return _NUMBERED_COLUMNS[tags] if numbered else _FORM_FIRST_COLUMN
    number = tags.removeprefix("column:")
    if number != tags and re.fullmatch(r"[1-9][0-9]{0,5}", number):
        return int(number)
    raise OptionError(f"tags={tags!r} names no column. Use upos, xpos, or column:N with N from 1.")


def _explained(text: bytes, path: PathLike, tags: str, column: int, error: int, line: int) -> FormatError:
    found = text.split(b"\n", line)[line - 1].decode("utf-8").rstrip("\r")
    fields = found.split("\t") if "\t" in found else found.split()
    at = 1
    if error == MISSING_FIELD:
        message = (
            f"column {column} ({tags}) was asked for, and this line has {len(fields)}. "
            "Choose another with --tags column:N, or mend the line."
        )
        at = len(found) + 1
    elif error == EMPTY_FIELD:
        message = (
            f"column {column} ({tags}) is empty here, and each token needs a symbol. "
            "Mend the line, or choose another with --tags column:N."
        )
        at = sum(len(before) + 1 for before in fields[: column - 1]) + 1
    else:
        message = (
            f"the first field is {fields[0][:40]!r}, "
            "and in this file each line must start with the number of its token. "
            "Mend the line, or use --format dp --tags column:N if the first column is the form."
        )
    return FormatError(message, display_name(path), line, at)


def _find_token(text: bytes, sequence: int, position: int, column: int, numbered: bool) -> int:
    starts, _, offsets, _, _ = column_spans(np.frombuffer(text, dtype=np.uint8), column, numbered)
    return int(starts[offsets[sequence] : offsets[sequence + 1]][position])
