"""A user's own basis, read from a JSON file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from momata.core.basis import Basis
from momata.errors import FormatError, OptionError
from momata.io.basis_file import read_basis


def written(folder: Path, value: object) -> Path:
    path = folder / "basis.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_texts_and_lists_of_symbols(tmp_path):
    path = written(tmp_path, {"suffixes": ["", "ab", ["ab"], [1, 2.5]], "prefixes": [[], ["é", "b"]]})
    basis = read_basis(path)
    assert basis == Basis(((), ("é", "b")), ((), ("a", "b"), ("ab",), (1, 2.5)))
    assert read_basis(str(path)) == basis


symbols = st.one_of(st.text(max_size=3), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False))
strings = st.lists(st.lists(symbols, max_size=3).map(tuple), min_size=1, max_size=4, unique=True)


@given(strings, strings)
def test_what_json_holds_comes_back(tmp_path_factory, prefixes, suffixes):
    path = written(tmp_path_factory.mktemp("basis"), {"prefixes": prefixes, "suffixes": suffixes})
    assert read_basis(path) == Basis(tuple(prefixes), tuple(suffixes))


def test_packed_files_and_standard_input(tmp_path, standard_input):
    text = b'{"prefixes": [""], "suffixes": ["a"]}'
    (tmp_path / "basis.json.gz").write_bytes(gzip.compress(text))
    expected = Basis.of([""], ["a"])
    assert read_basis(tmp_path / "basis.json.gz") == expected
    standard_input(text)
    assert read_basis("-") == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "basis.json, line 1, column 1: is no JSON. A basis is an object with prefixes and suffixes"),
        ('{"prefixes":\n [', "basis.json, line 2, column 3: is no JSON"),
        ("[" * 100_000, "basis.json: is no JSON"),
        ("[" + "1" * 5000 + "]", "basis.json: is no JSON"),
        ([], "a basis is an object with"),
        ("null", "a basis is an object with"),
        ({"prefixes": [""]}, "a basis is an object with"),
        ({"prefixes": [""], "suffixes": [""], "more": 1}, "and nothing else"),
        ({"prefixes": "ab", "suffixes": [""]}, '"prefixes" is not a list of strings'),
        ({"prefixes": [""], "suffixes": {"a": 1}}, '"suffixes" is not a list of strings'),
        ({"prefixes": [None], "suffixes": [""]}, "'None' among the \"prefixes\" is neither a text nor a list of symbols"),
        ({"prefixes": [""], "suffixes": [["a", ["b"]]]}, 'among the "suffixes" is neither'),
        ({"prefixes": [""], "suffixes": [["a", None]]}, 'among the "suffixes" is neither'),
        ({"prefixes": [3], "suffixes": [""]}, "'3' among the \"prefixes\""),
        ({"prefixes": [], "suffixes": [""]}, "a basis without prefixes has an empty Hankel block"),
        ({"prefixes": ["a", ["a"]], "suffixes": [""]}, r"\('a',\) stands twice among the prefixes"),
    ],
)  # fmt: skip
def test_files_that_hold_no_basis(tmp_path, value, message):
    with pytest.raises(FormatError, match=message) as caught:
        read_basis(written(tmp_path, value))
    assert str(caught.value).startswith(str(tmp_path / "basis.json"))
    assert len(str(caught.value)) < 400


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.json").write_bytes('{"prefixes": ["é"]}'.encode("latin-1"))
    with pytest.raises(FormatError, match=r"latin.json, line 1, column 16"):
        read_basis(tmp_path / "latin.json")
    with pytest.raises((FormatError, OptionError), match="there is no such file"):
        read_basis(tmp_path / "absent.json")
