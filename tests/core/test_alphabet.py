"""Symbols and their numbers."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import alphabets

from momata.core.alphabet import START, STOP, UNKNOWN, Alphabet, UnknownPolicy, sort_symbols
from momata.errors import AlphabetError, OptionError


@given(alphabets(max_symbols=4))
def test_number_and_symbol_are_inverse(alphabet):
    assert [alphabet.index(s) for s in alphabet] == list(range(len(alphabet)))
    assert [alphabet[i] for i in range(len(alphabet))] == list(alphabet)
    assert all(s in alphabet for s in alphabet)
    twin = Alphabet(list(alphabet))
    assert twin == alphabet
    assert hash(twin) == hash(alphabet)
    assert alphabet != Alphabet([*alphabet, "another"])
    assert alphabet != tuple(alphabet)


@pytest.mark.parametrize(
    ("given_symbols", "expected"),
    [
        (["10", "9", "-3"], ["-3", "9", "10"]),  # whole-number texts by value
        (["1", "01", "0"], ["0", "01", "1"]),
        (["10", "9", "x"], ["10", "9", "x"]),  # other texts by code point
        (["b", "a", "B", "é", ""], ["", "B", "a", "b", "é"]),
        (["2", "²", "1"], ["1", "2", "²"]),  # a digit only to Unicode is no whole number
        ([3, -1, 2.5], [-1, 2.5, 3]),
        ([3, "1", 2], [3, "1", 2]),  # mixtures as given
        ([True, False], [True, False]),
        ([("b",), ("a",)], [("b",), ("a",)]),
        ([], []),
    ],
)
def test_order_of_symbols(given_symbols, expected):
    assert list(sort_symbols(given_symbols)) == expected


@given(st.lists(st.integers(-(10**18) + 1, 10**19 - 1), unique=True))
def test_whole_number_texts_of_up_to_19_characters_are_in_order_of_value(values):
    assert list(sort_symbols(map(str, values))) == [str(v) for v in sorted(values)]


def test_longer_rows_of_digits_are_texts():
    assert list(sort_symbols(["9", "1" * 20])) == ["1" * 20, "9"]
    assert list(sort_symbols(["9", "1" * 5000])) == ["1" * 5000, "9"]  # beyond what int() reads


def test_marks_are_reserved():
    with pytest.raises(AlphabetError, match=r"'<s>' marks the start of a sequence"):
        Alphabet(["a", START])
    with pytest.raises(AlphabetError, match=r"'</s>' marks the end of a sequence"):
        Alphabet(["a", STOP])
    assert Alphabet(["a", START, STOP], marks=True).index(STOP) == 2


def test_nan_and_duplicates_are_refused():
    with pytest.raises(AlphabetError, match="NaN cannot be a symbol"):
        Alphabet([1.0, float("nan")])
    with pytest.raises(AlphabetError, match="NaN cannot be a symbol"):
        Alphabet(np.array([1.0, np.nan]))
    with pytest.raises(AlphabetError, match="'a' occurs twice"):
        Alphabet(["a", "b", "a"])
    with pytest.raises(AlphabetError, match="occurs twice"):
        Alphabet([1, True])  # they are equal, so one of them could never be found


def test_numpy_scalars_are_the_python_values_they_equal():
    alphabet = Alphabet(np.array([5, 7]))
    assert [type(s) for s in alphabet] == [int, int]
    assert alphabet.index(np.int16(7)) == alphabet.index(7) == 1
    dates = Alphabet(np.array(["2020-01-01"], dtype="datetime64[D]"))
    assert dates.symbols == (datetime.date(2020, 1, 1),)
    assert dates.index(np.datetime64("2020-01-01")) == 0


def test_text_finds_the_symbol_written_like_it_but_only_where_there_is_no_such_text():
    numbers = Alphabet([10, 3, 2.5])
    assert numbers.index("3") == 1
    assert numbers.index("2.5") == 2
    assert numbers.find("03") is None
    both = Alphabet([3, "3"])
    assert (both.index(3), both.index("3")) == (0, 1)
    assert Alphabet(["x", "3"]).index(3) == Alphabet(["x", "3"]).index(np.int64(3)) == 1  # and the other way round
    assert Alphabet(["x", "3"]).find(3.0) is None


def test_what_is_not_there():
    alphabet = Alphabet("ab")
    assert alphabet.find("c") is None
    assert "c" not in alphabet
    with pytest.raises(AlphabetError, match="symbol 'c' is not in the alphabet of 2 symbols"):
        alphabet.index("c")
    with pytest.raises(AlphabetError, match="of type list is not hashable"):
        alphabet.find(["a"])


def test_unknown_symbol_is_added_once_and_last():
    alphabet = Alphabet("ab", closed=True).with_unknown()
    assert alphabet.symbols == ("a", "b", UNKNOWN)
    assert alphabet.closed
    assert alphabet.with_unknown() is alphabet


def test_of_size_is_closed():
    alphabet = Alphabet.of_size(3)
    assert (alphabet.symbols, alphabet.closed) == ((0, 1, 2), True)


def test_repr_is_short():
    assert repr(Alphabet("ab")) == "Alphabet(2 symbols: 'a', 'b')"
    assert repr(Alphabet(range(1000))) == "Alphabet(1000 symbols: 0, 1, 2, 3, 4, 5, ...)"


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        (None, UnknownPolicy("share")),
        ("share", UnknownPolicy("share")),
        ("error", UnknownPolicy("error")),
        ("skip", UnknownPolicy("skip")),
        ("map=a", UnknownPolicy("map", "a")),
        ("map=a=b", UnknownPolicy("map", "a=b")),
    ],
)
def test_policies_are_read(text, policy):
    assert UnknownPolicy.parse(text) == policy
    assert UnknownPolicy.parse(policy) is policy


@pytest.mark.parametrize("text", ["", "map", "map=", "ignore", "Skip"])
def test_other_policies_are_refused(text):
    with pytest.raises(OptionError, match="Use error, skip, share, or map=SYMBOL"):
        UnknownPolicy.parse(text)


def test_targets_of_policies():
    plain, shared = Alphabet("ab"), Alphabet("ab").with_unknown()
    assert UnknownPolicy("error").target(shared) is None
    assert UnknownPolicy("skip").target(shared) == -1
    assert UnknownPolicy("share").target(shared) == 2
    assert UnknownPolicy("share").target(plain) is None
    assert UnknownPolicy("map", "b").target(plain) == 1
    with pytest.raises(AlphabetError, match="'c', which is not in the model's alphabet of 2 symbols either"):
        UnknownPolicy("map", "c").target(plain)
