"""Spans and numbers from bytes, against plain Python."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from momata._kernels import tokenize
from momata._kernels.tokenize import column_spans, intern_spans, parse_integers, split_lines_and_words
from momata.errors import OptionError

WHITE = b" \t\r\v\f"
PIECES = [b"a", b"b", b"ab", b"\xc3\xa9", b" ", b"\n", b"\r\n", b"\t", b"\v", b"#", b"3"]
buffers = st.one_of(st.binary(max_size=60), st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join))


def flat(data: bytes) -> np.ndarray:
    return np.frombuffer(data, dtype=np.uint8)


def plain_lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def rows_of(data: bytes, starts, stops, offsets) -> list[list[bytes]]:
    words = [data[a:b] for a, b in zip(starts, stops, strict=True)]
    return [words[a:b] for a, b in itertools.pairwise(offsets)]


@given(buffers)
def test_words_and_lines_equal_those_of_plain_python(data):
    starts, stops, offsets = split_lines_and_words(flat(data))
    assert rows_of(data, starts, stops, offsets) == [line.split() for line in plain_lines(data)]
    assert starts.dtype == stops.dtype == offsets.dtype == np.int64


@pytest.mark.parametrize(
    ("data", "n_lines"), [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\n\n", 2), (b"\r\n\r\n", 2), (b"a\n ", 2)]
)
def test_number_of_lines(data, n_lines):
    assert len(split_lines_and_words(flat(data))[2]) == n_lines + 1


@given(st.lists(st.binary(max_size=3), max_size=60), st.sampled_from([2, 4, 1024]))
def test_equal_spans_get_equal_codes_by_first_appearance(words, n_slots):
    stops = np.cumsum([len(w) for w in words], dtype=np.int64)
    starts = stops - np.array([len(w) for w in words], dtype=np.int64)
    codes, firsts = intern_spans(flat(b"".join(words)), starts, stops, n_slots)
    expected = list(dict.fromkeys(words))
    assert [words[i] for i in firsts] == expected
    assert codes.tolist() == [expected.index(w) for w in words]
    assert codes.dtype == np.int32


def test_interning_grows_and_keeps_long_strings_apart():
    words = [f"{'x' * 40}{i}".encode() for i in range(3000)] * 2
    data = b" ".join(words)
    starts, stops, _ = split_lines_and_words(flat(data))
    codes, firsts = intern_spans(flat(data), starts, stops)
    assert firsts.tolist() == list(range(3000))
    assert codes.tolist() == [*range(3000), *range(3000)]


def test_spans_with_one_hash_are_told_apart_by_their_bytes():
    assert tokenize._same(flat(b"abab"), 0, 2, 2, 4)
    assert not tokenize._same(flat(b"abac"), 0, 2, 2, 4)
    assert not tokenize._same(flat(b"abab"), 0, 2, 2, 3)


def test_wrappers_take_strided_and_writable_arrays():
    data = np.array(bytearray(b"a_ _b_\n_c"), dtype=np.uint8)[::2]
    starts, _, offsets = split_lines_and_words(data)
    assert bytes(data) == b"a b\nc"
    assert (starts.tolist(), offsets.tolist()) == ([0, 2, 4], [0, 2, 3])


@pytest.mark.parametrize("buffer", [np.zeros(3, np.int32), np.zeros((2, 2), np.uint8)])
def test_wrappers_refuse_other_arrays(buffer):
    for function in (split_lines_and_words, parse_integers):
        with pytest.raises(OptionError, match="flat buffer of bytes"):
            function(buffer)


def test_spans_outside_the_buffer_are_refused():
    one = np.array([1], dtype=np.int64)
    for starts, stops in [(one, one + 5), (one - 2, one), (one, one - 1), (one, np.array([1, 2]))]:
        with pytest.raises(OptionError, match="not spans of a buffer of 3 bytes"):
            intern_spans(flat(b"abc"), starts, stops)
    with pytest.raises(OptionError, match="starts must be a flat int64 array"):
        intern_spans(flat(b"abc"), one.astype(np.int32), one)
    with pytest.raises(OptionError, match="n_slots=3"):
        intern_spans(flat(b"abc"), one, one + 1, 3)


# ---------------------------------------------------------------------- columns


def plain_columns(data: bytes, column: int, numbered: bool):
    """Return the sentences, or the error and its line."""
    sentences, sentence = [], []
    for i, line in enumerate(plain_lines(data), 1):
        if not line.strip(WHITE + b"\n"):
            sentences, sentence = [*sentences, sentence], []
            continue
        fields = [f.strip(WHITE) for f in line.split(b"\t")] if b"\t" in line else line.split()
        if numbered:
            if line.startswith(b"#"):
                continue
            if not re.fullmatch(rb"[0-9][0-9.-]*", fields[0]):
                return tokenize.NOT_NUMBERED, i
            if not fields[0].isdigit():
                continue
        if len(fields) < column:
            return tokenize.MISSING_FIELD, i
        if not fields[column - 1]:
            return tokenize.EMPTY_FIELD, i
        sentence.append(fields[column - 1])
    return [s for s in [*sentences, sentence] if s]


CONLL_LINES = [
    *(b"1\tthe\tDT", b"2\tdog\tNN\r", b"3-4\tcan't\t_", b"3.1\tx\ty", b"# text", b"#\t#\t3"),
    *(b"", b"\r", b" ", b"a b c", b"2 b", b"1\t\tc", b"9 "),
]
conll_lines = st.lists(st.sampled_from(CONLL_LINES), max_size=12).map(b"\n".join)


@given(st.one_of(conll_lines, buffers), st.integers(1, 3), st.booleans())
def test_columns_equal_those_of_plain_python(data, column, numbered):
    starts, stops, offsets, error, line = column_spans(flat(data), column, numbered)
    expected = plain_columns(data, column, numbered)
    if isinstance(expected, tuple):
        assert (error, line) == expected
    else:
        assert error == tokenize.OK
        assert rows_of(data, starts, stops, offsets) == expected


def test_column_numbers_start_at_one():
    with pytest.raises(OptionError, match="column=0"):
        column_spans(flat(b"a"), 0, False)


# ---------------------------------------------------------------------- integers


@given(
    st.lists(st.lists(st.integers(0, 12), max_size=6), max_size=6),
    st.sampled_from(["\n", " \n", "\r\n"]),
    st.booleans(),
)
def test_integer_rows_come_back(rows, end, last):
    lines = [f"{len(rows)} 13", *(" ".join(map(str, [len(row), *row])) for row in rows)]
    data = (end.join(lines) + (end if last else "")).encode()
    tokens, offsets, count, n_symbols, error, _ = parse_integers(flat(data))
    assert (error, count, n_symbols) == (tokenize.OK, len(rows), 13)
    assert [tokens[a:b].tolist() for a, b in itertools.pairwise(offsets)] == rows


@pytest.mark.parametrize(
    ("data", "error", "position"),
    [
        (b"", tokenize.NO_HEADER, 0),
        (b"5\n", tokenize.NO_HEADER, 0),
        (b"1 2 3\n", tokenize.NO_HEADER, 0),
        (b"1 x\n", tokenize.NO_HEADER, 0),
        (b"-1 2\n", tokenize.NO_HEADER, 0),
        (b"1 99999999999999999999999\n0", tokenize.TOO_MANY_SYMBOLS, 0),
        (b"1 3\n2 0 x\n", tokenize.BAD_NUMBER, 8),
        (b"1 3\n2 0 1.5\n", tokenize.BAD_NUMBER, 8),
        (b"1 3\n2 0 -\n", tokenize.BAD_NUMBER, 8),
        (b"1 3\n2 0 -1\n", tokenize.NEGATIVE, 8),
        (b"1 3\n-2 0 1\n", tokenize.NEGATIVE, 4),
        (b"1 3\n2 0 3\n", tokenize.OUTSIDE_ALPHABET, 8),
        (b"1 3\n2 0 99999999999999999999999999\n", tokenize.OUTSIDE_ALPHABET, 8),
        (b"1 3\n2 0\n", tokenize.WRONG_LENGTH, 4),
        (b"1 3\n 1 0 0\n", tokenize.WRONG_LENGTH, 5),
        (b"2 3\n1 0\n", tokenize.WRONG_COUNT, 0),
        (b"1 3\n1 0\n1 0\n", tokenize.WRONG_COUNT, 0),
        (b"2 3\n1 0\n\n\n1 0\n", tokenize.EMPTY_LINE, 8),
    ],
)
def test_integer_errors_say_what_and_where(data, error, position):
    assert parse_integers(flat(data))[4:] == (error, position)


def test_blank_lines_at_the_end_are_no_sequences():
    assert parse_integers(flat(b"1 3\n1 0\n\n \r\n\n"))[4] == tokenize.OK


@given(buffers)
def test_any_bytes_give_an_answer(data):
    tokens, offsets, *_ = parse_integers(flat(data))
    assert offsets[-1] <= len(tokens)
