"""From bytes to spans and numbers: one pass over the bytes, no object per symbol.

A span is a pair of byte positions ``start:stop``. All loops are linear in the size of the buffer.
All formats of text are here, longer than a file should be, because kernels that call each other must stand in one: compiled
code that is kept on disk does not notice a change elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata._kernels._jit import kernel
from momata.errors import OptionError

__all__ = [
    "BAD_NUMBER",
    "EMPTY_FIELD",
    "EMPTY_LINE",
    "MISSING_FIELD",
    "NEGATIVE",
    "NOT_NUMBERED",
    "NO_HEADER",
    "OK",
    "OUTSIDE_ALPHABET",
    "TOO_MANY_SYMBOLS",
    "WRONG_COUNT",
    "WRONG_LENGTH",
    "column_spans",
    "intern_spans",
    "parse_integers",
    "split_lines_and_words",
]

OK = 0
# of `column_spans`
MISSING_FIELD, EMPTY_FIELD, NOT_NUMBERED = 1, 2, 3
# of `parse_integers`
NO_HEADER, BAD_NUMBER, NEGATIVE, OUTSIDE_ALPHABET, WRONG_LENGTH, WRONG_COUNT, EMPTY_LINE, TOO_MANY_SYMBOLS = range(1, 9)

MAX_ALPHABET = 1 << 24
"""Largest alphabet that `parse_integers` believes in; a header beyond it is a mistake."""

_TAB, _NEWLINE, _RETURN, _SPACE, _HASH, _MINUS, _DOT, _ZERO, _NINE = 9, 10, 13, 32, 35, 45, 46, 48, 57
_LARGE = 1 << 50  # numbers stop growing here, so that they cannot overflow
_HASH_FACTOR = 1000003
_HASH_MASK = (1 << 42) - 1  # the factor has 20 bits, so products stay below 2^63

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]


@kernel
def _is_space(byte: int) -> bool:
    return byte == _SPACE or _TAB <= byte <= _RETURN


@kernel
def _is_digit(byte: int) -> bool:
    return _ZERO <= byte <= _NINE


@kernel
def _count(buffer: Bytes) -> tuple[int, int]:
    """Count words and lines; a last line without a line end counts."""
    n_words, n_lines, inside = 0, 0, False
    for byte in buffer:
        if _is_space(byte):
            inside = False
            n_lines += byte == _NEWLINE
        elif not inside:
            inside = True
            n_words += 1
    if buffer.size > 0 and buffer[-1] != _NEWLINE:
        n_lines += 1
    return n_words, n_lines


# ---------------------------------------------------------------------- words


@kernel
def _split(buffer: Bytes) -> tuple[Places, Places, Places]:
    n_words, n_lines = _count(buffer)
    starts = np.empty(n_words, np.int64)
    stops = np.empty(n_words, np.int64)
    offsets = np.zeros(n_lines + 1, np.int64)
    word, line, inside = 0, 0, False
    for i in range(buffer.size):
        byte = buffer[i]
        if not _is_space(byte):
            if not inside:
                starts[word] = i
                inside = True
            continue
        if inside:
            stops[word] = i
            word += 1
            inside = False
        if byte == _NEWLINE:
            line += 1
            offsets[line] = word
    if inside:
        stops[word] = buffer.size
    offsets[n_lines] = n_words
    return starts, stops, offsets


def split_lines_and_words(buffer: Bytes) -> tuple[Places, Places, Places]:
    """Find the words between ASCII white space, and the lines they stand in.

    Returns
    -------
    starts, stops : (n_words,) int64 arrays
    offsets : (n_lines + 1,) int64 array
        Words ``offsets[i]:offsets[i + 1]`` stand in line ``i``. An empty line has none; a line end at the very end of
        the buffer does not start another line.
    """
    starts, stops, offsets = _split(_checked_bytes(buffer))
    return starts, stops, offsets


@kernel
def _hash(buffer: Bytes, start: int, stop: int) -> np.int64:
    value = np.int64(7)
    for i in range(start, stop):
        value = ((value * _HASH_FACTOR) ^ np.int64(buffer[i])) & _HASH_MASK
    return value ^ (value >> 19)  # the low bits of the product know only the low bits of the bytes


@kernel
def _same(buffer: Bytes, start: int, stop: int, other: int, other_stop: int) -> bool:
    if stop - start != other_stop - other:
        return False
    for i in range(stop - start):
        if buffer[start + i] != buffer[other + i]:
            return False
    return True


@kernel
def _grown(slots: NDArray[np.int32], hashes: Places) -> NDArray[np.int32]:
    """Return a hash table of twice the size with the same entries."""
    larger = np.full(2 * slots.size, -1, np.int32)
    for code in range(hashes.size):
        place = hashes[code] & (larger.size - 1)
        while larger[place] >= 0:
            place = (place + 1) & (larger.size - 1)
        larger[place] = code
    return larger


@kernel
def _intern_until_full(
    buffer: Bytes,
    starts: Places,
    stops: Places,
    codes: NDArray[np.int32],
    slots: NDArray[np.int32],
    firsts: Places,
    hashes: Places,
    at: int,
    n_found: int,
) -> tuple[int, int]:
    """Give numbers to spans from ``at`` on until the table is half full; return the next span and the number of codes."""
    mask = slots.size - 1
    for i in range(at, starts.size):
        if n_found == firsts.size:
            return i, n_found
        value = _hash(buffer, starts[i], stops[i])
        place = value & mask
        code = slots[place]
        while code >= 0:
            first = firsts[code]
            if hashes[code] == value and _same(buffer, starts[i], stops[i], starts[first], stops[first]):
                break
            place = (place + 1) & mask
            code = slots[place]
        if code < 0:
            code = np.int32(n_found)
            slots[place] = code
            firsts[n_found] = i
            hashes[n_found] = value
            n_found += 1
        codes[i] = code
    return starts.size, n_found


@kernel
def _intern(buffer: Bytes, starts: Places, stops: Places, n_slots: int) -> tuple[NDArray[np.int32], Places]:
    codes = np.empty(starts.size, np.int32)
    slots = np.full(n_slots, -1, np.int32)
    firsts = np.empty(n_slots // 2, np.int64)
    hashes = np.empty(n_slots // 2, np.int64)
    at, n_found = _intern_until_full(buffer, starts, stops, codes, slots, firsts, hashes, 0, 0)
    while at < starts.size:
        slots = _grown(slots, hashes)
        firsts = np.concatenate((firsts, np.empty_like(firsts)))
        hashes = np.concatenate((hashes, np.empty_like(hashes)))
        at, n_found = _intern_until_full(buffer, starts, stops, codes, slots, firsts, hashes, at, n_found)
    return codes, firsts[:n_found].copy()


def intern_spans(buffer: Bytes, starts: Places, stops: Places, n_slots: int = 1024) -> tuple[NDArray[np.int32], Places]:
    """Give numbers to the distinct byte strings among spans, by first appearance.

    An open-addressing hash table with linear probing, never more than half full; strings are compared byte by byte.

    Parameters
    ----------
    buffer : uint8 array
    starts, stops : (n,) int64 arrays
    n_slots : int
        Size of the table at the start, a power of two from 2.

    Returns
    -------
    codes : (n,) int32 array
    firsts : (n_distinct,) int64 array
        The first span that has each code.
    """
    checked = _checked_bytes(buffer)
    starts, stops = _checked_places(starts, "starts"), _checked_places(stops, "stops")
    if starts.size != stops.size or np.any(starts < 0) or np.any(stops < starts) or np.any(stops > checked.size):
        raise OptionError(
            f"{starts.size} starts and {stops.size} stops are not spans of a buffer of {checked.size} bytes."
        )
    if n_slots < 2 or n_slots & (n_slots - 1):
        raise OptionError(f"n_slots={n_slots} is not a power of two from 2, which the hash table needs.")
    codes, firsts = _intern(checked, starts, stops, n_slots)
    return codes, firsts


# ---------------------------------------------------------------------- columns


@kernel
def _is_blank(buffer: Bytes, start: int, stop: int) -> bool:
    for i in range(start, stop):
        if not _is_space(buffer[i]):
            return False
    return True


@kernel
def _field(buffer: Bytes, start: int, stop: int, column: int) -> tuple[int, int]:
    """Return the span of a field (from 1) of the line ``start:stop``, blanks around it left out; -1, -1 if there is none."""
    tabbed = False
    for i in range(start, stop):
        if buffer[i] == _TAB:
            tabbed = True
            break
    at = start
    for c in range(column):
        if c > 0 and tabbed:
            at += 1  # past the tab
        if not tabbed:
            while at < stop and _is_space(buffer[at]):
                at += 1
        begin = at
        while at < stop and (buffer[at] != _TAB if tabbed else not _is_space(buffer[at])):
            at += 1
        if c < column - 1 and at == stop:
            return -1, -1
    if begin == at and not tabbed:
        return -1, -1
    end = at
    while begin < end and _is_space(buffer[begin]):
        begin += 1
    while begin < end and _is_space(buffer[end - 1]):
        end -= 1
    return begin, end


@kernel
def _token_number(buffer: Bytes, start: int, stop: int) -> int:
    """Say whether a first field is a token number (1), a range or an empty node (2: ``3-4``, ``3.1``), or neither (0)."""
    kind = 1
    for i in range(start, stop):
        byte = buffer[i]
        if (byte == _MINUS or byte == _DOT) and i > start:
            kind = 2
        elif not _is_digit(byte):
            return 0
    return kind if stop > start else 0


@kernel
def _columns(buffer: Bytes, column: int, numbered: bool) -> tuple[Places, Places, Places, int, int]:
    _, n_lines = _count(buffer)
    starts = np.empty(n_lines, np.int64)
    stops = np.empty(n_lines, np.int64)
    offsets = np.zeros(n_lines + 1, np.int64)
    n_found, n_sentences, error = 0, 0, OK
    line, at = 0, 0
    while at < buffer.size and error == OK:
        start, stop = at, at
        while stop < buffer.size and buffer[stop] != _NEWLINE:
            stop += 1
        at = stop + 1
        line += 1
        if _is_blank(buffer, start, stop):
            if n_found > offsets[n_sentences]:
                n_sentences += 1
                offsets[n_sentences] = n_found
            continue
        if numbered:
            if buffer[start] == _HASH:
                continue
            first, last = _field(buffer, start, stop, 1)
            kind = _token_number(buffer, first, last)
            if kind == 2:
                continue
            if kind == 0:
                error = NOT_NUMBERED
                continue
        begin, end = _field(buffer, start, stop, column)
        if begin < 0:
            error = MISSING_FIELD
        elif begin == end:
            error = EMPTY_FIELD
        else:
            starts[n_found], stops[n_found] = begin, end
            n_found += 1
    if n_found > offsets[n_sentences]:  # the last sentence needs no blank line after it
        n_sentences += 1
        offsets[n_sentences] = n_found
    return starts[:n_found].copy(), stops[:n_found].copy(), offsets[: n_sentences + 1].copy(), error, line


def column_spans(buffer: Bytes, column: int, numbered: bool) -> tuple[Places, Places, Places, int, int]:
    """Find one column of a file with a token a line and a blank line after each sentence.

    Fields are separated by tabs or, in a line without a tab, by blanks.

    Parameters
    ----------
    buffer : uint8 array
    column : int
        From 1.
    numbered : bool
        Whether the first field is the number of the token (CoNLL-X, CoNLL-U). Then lines that start with ``#`` are
        comments, and numbers such as ``3-4`` and ``3.1`` are no tokens; otherwise ``#`` is a token like any other.

    Returns
    -------
    starts, stops : (n_tokens,) int64 arrays
    offsets : (n_sentences + 1,) int64 array
    error : int
        `OK`, `MISSING_FIELD`, `EMPTY_FIELD` or `NOT_NUMBERED`.
    line : int
        The line (from 1) with the error, or the last line.
    """
    if column < 1:
        raise OptionError(f"column={column} does not exist: columns are numbered from 1.")
    starts, stops, offsets, error, line = _columns(_checked_bytes(buffer), column, numbered)
    return starts, stops, offsets, error, line


# ---------------------------------------------------------------------- integers


@kernel
def _past_blanks(buffer: Bytes, at: int) -> int:
    """Return the first place from ``at`` on that is no blank: a word, a line end, or the end of the buffer."""
    while at < buffer.size and buffer[at] != _NEWLINE and _is_space(buffer[at]):
        at += 1
    return at


@kernel
def _number(buffer: Bytes, at: int) -> tuple[int, int, int]:
    """Read the word at ``at``: its value, what is wrong with it, and the place after it."""
    negative = buffer[at] == _MINUS
    start = at + 1 if negative else at
    value: Any = np.int64(0)
    error = OK
    at = start
    while at < buffer.size and not _is_space(buffer[at]):
        if not _is_digit(buffer[at]):
            error = BAD_NUMBER
        elif value < _LARGE:
            value = value * 10 + np.int64(buffer[at]) - _ZERO
        at += 1
    if at == start:
        error = BAD_NUMBER
    elif negative and error == OK:
        error = NEGATIVE
    return value, error, at


@kernel
def _header(buffer: Bytes) -> tuple[int, int, int]:
    """Read the two integers of the first line; return them and the place after them, or -1 if there are not two."""
    count: Any = np.int64(0)
    n_symbols: Any = np.int64(0)
    at = 0
    for i in range(2):
        at = _past_blanks(buffer, at)
        if at == buffer.size or buffer[at] == _NEWLINE:
            return count, n_symbols, -1
        value, error, at = _number(buffer, at)
        if error != OK:
            return count, n_symbols, -1
        if i == 0:
            count = value
        else:
            n_symbols = value
    at = _past_blanks(buffer, at)
    return count, n_symbols, at if at == buffer.size or buffer[at] == _NEWLINE else -1


@kernel
def _row(buffer: Bytes, at: int, tokens: NDArray[np.int32], n_found: int, n_symbols: int) -> tuple[int, int, int]:
    """Read one line, ``length symbols...``, into ``tokens``; return how many there are, an error, and the place reached."""
    start = at
    length, error, after = _number(buffer, at)
    if error != OK:
        return n_found, error, start
    n_before = n_found
    at = _past_blanks(buffer, after)
    while at < buffer.size and buffer[at] != _NEWLINE:
        value, error, after = _number(buffer, at)
        if error == OK and value >= n_symbols:
            error = OUTSIDE_ALPHABET
        if error != OK:
            return n_found, error, at
        tokens[n_found] = value
        n_found += 1
        at = _past_blanks(buffer, after)
    if n_found - n_before != length:
        return n_found, WRONG_LENGTH, start
    return n_found, OK, at


@kernel
def _integers(buffer: Bytes) -> tuple[NDArray[np.int32], Places, int, int, int, int]:
    _, n_lines = _count(buffer)
    tokens = np.empty(buffer.size // 2 + 1, np.int32)  # a symbol takes two bytes at least
    offsets = np.zeros(n_lines + 1, np.int64)
    count, n_symbols, at = _header(buffer)
    error, n_rows, n_found, blank = OK, 0, 0, -1
    if at < 0:
        error, at = NO_HEADER, 0
    elif n_symbols > MAX_ALPHABET:
        error, at = TOO_MANY_SYMBOLS, 0
    while error == OK and at < buffer.size:
        start = _past_blanks(buffer, at + 1)  # past the line end
        if start >= buffer.size:
            break
        if buffer[start] == _NEWLINE:
            blank, at = (start if blank < 0 else blank), start
            continue
        if blank >= 0:  # blank lines may only end the file
            error, at = EMPTY_LINE, blank
            break
        n_found, error, at = _row(buffer, start, tokens, n_found, n_symbols)
        n_rows += 1
        offsets[n_rows] = n_found
    if error == OK and n_rows != count:
        error, at = WRONG_COUNT, 0
    return tokens[:n_found].copy(), offsets[: n_rows + 1].copy(), count, n_symbols, error, at


def parse_integers(buffer: Bytes) -> tuple[NDArray[np.int32], Places, int, int, int, int]:
    """Read the PAutomaC format: ``count alphabet`` in the first line, then a line ``length symbols...`` for each sequence.

    Returns
    -------
    tokens : (n_tokens,) int32 array
    offsets : (n_sequences + 1,) int64 array
        What was read before an error, if there is one.
    count, n_symbols : int
        As the first line says.
    error : int
        `OK`, `NO_HEADER`, `BAD_NUMBER`, `NEGATIVE`, `OUTSIDE_ALPHABET`, `WRONG_LENGTH`, `WRONG_COUNT`, `EMPTY_LINE` or
        `TOO_MANY_SYMBOLS`.
    position : int
        The byte at which the error was found.
    """
    tokens, offsets, count, n_symbols, error, position = _integers(_checked_bytes(buffer))
    return tokens, offsets, int(count), int(n_symbols), error, position


# ---------------------------------------------------------------------- what goes in


def _checked_bytes(buffer: Bytes) -> Bytes:
    if buffer.dtype != np.uint8 or buffer.ndim != 1:
        raise OptionError(
            f"a flat buffer of bytes (uint8) is needed; got an array of shape {buffer.shape} and type {buffer.dtype}."
        )
    view = np.ascontiguousarray(buffer).view()
    view.flags.writeable = False  # one type, so one compilation
    return view


def _checked_places(places: Places, name: str) -> Places:
    if places.dtype != np.int64 or places.ndim != 1:
        raise OptionError(
            f"{name} must be a flat int64 array of byte positions; got shape {places.shape} and type {places.dtype}."
        )
    return np.ascontiguousarray(places)
