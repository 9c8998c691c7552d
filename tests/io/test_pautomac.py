"""Integer sequences, solutions, and targets of the competitions."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from momata import Alphabet, Corpus, FormatError, OptionError, read_corpus, write_corpus
from momata.io import read_ranking, read_target
from momata.io.pautomac import looks_like_pautomac, read_pautomac

rows = st.lists(st.lists(st.integers(0, 4), max_size=5), min_size=1, max_size=5)


@given(rows)
def test_integers_come_back(tmp_path_factory, sequences):
    corpus = Corpus.from_sequences(sequences, Alphabet.of_size(5))
    path = tmp_path_factory.mktemp("pautomac") / "a.txt"
    write_corpus(corpus, path, "pautomac")
    for format in ("pautomac", "spice", None):
        found = read_corpus(path, format)
        assert list(found) == [tuple(s) for s in sequences]
        assert found.alphabet == corpus.alphabet
        assert found.alphabet.closed


def test_texts_of_integers_are_written_by_value(tmp_path):
    write_corpus(Corpus.from_sequences([["10", "2"], []]), tmp_path / "a", "spice")
    assert (tmp_path / "a").read_bytes() == b"2 11\n2 10 2\n0\n"


@pytest.mark.parametrize("symbol", ["a", "01", -1, 1.0, True, "", "²", 1 << 24, "9" * 5000])
def test_other_symbols_are_refused(tmp_path, symbol):
    corpus = Corpus(np.zeros(1, np.int32), np.array([0, 1]), Alphabet([symbol]))
    with pytest.raises(OptionError, match="is not a whole number from 0 to 16777215"):
        write_corpus(corpus, tmp_path / "a", "pautomac")
    assert list(tmp_path.iterdir()) == []


def test_one_number_in_two_guises_is_refused(tmp_path):
    with pytest.raises(OptionError, match="the same number"):
        write_corpus(Corpus.from_sequences([[3, "3"]]), tmp_path / "a", "pautomac")


def test_weights_repeat_and_count(tmp_path):
    write_corpus(Corpus.from_sequences([[1], [0]], weights=[2, 1]), tmp_path / "a", "pautomac")
    assert (tmp_path / "a").read_bytes() == b"3 2\n1 1\n1 1\n1 0\n"


def test_windows_ends_mark_trailing_blanks_and_places(tmp_path):
    path = tmp_path / "1.pautomac.train.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf2 12\r\n2 3 11 \r\n0\r\n\r\n"))
    corpus = read_corpus(path)
    assert list(corpus) == [(3, 11), ()]
    assert corpus.n_symbols == 12
    assert corpus.source.locate(0, 1) == f"line 2, column 5 of {path}"
    path.unlink()
    assert corpus.source.locate(1, 0) == f"line 3, symbol 1 of {path}"


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        ("a b\n1 0\n", 1, 1, "the first line is 'a b', and a PAutomaC file starts with two integers"),
        ("1000\n0.5\n", 1, 1, "solution files are not corpora"),
        ("3 2\n1 0\n", 1, 1, "announces 3 strings, and 1 follow"),
        ("1 2\n1 0\n1 0\n", 1, 1, "announces 1 strings, and 2 follow"),
        ("2 2\n1 0\n  3 0 1\n", 3, 3, "the line announces 3 symbols, and 2 follow"),
        ("1 2\n2 0 -1\n", 2, 5, "'-1' is negative"),
        ("1 2\n2 0 1.5\n", 2, 5, "'1.5' is not an integer"),
        ("1 2\nx 0 1\n", 2, 1, "'x' is not an integer"),
        ("1 2\n2 0 é\n", 2, 5, "'é' is not an integer"),
        ("1 2\n2 0 2\n", 2, 5, r"symbol '2' is outside the alphabet of 2 symbols \(0 to 1\)"),
        ("2 2\n1 0\n\n1 0\n", 3, 1, "the line is empty"),
        ("1 99999999\n1 0\n", 1, 1, "alphabet of 99999999 symbols, more than the 16777216"),
    ],
)
def test_bad_files_are_refused_with_their_place(tmp_path, data, line, column, message):
    path = tmp_path / "a.pautomac"
    path.write_text(data, encoding="utf-8", newline="\n")
    with pytest.raises(FormatError, match=message) as caught:
        read_corpus(path)
    assert str(caught.value).startswith(f"{path}, line {line}, column {column}: ")
    assert not looks_like_pautomac(data.encode())


def test_no_sequences_are_refused():
    with pytest.raises(FormatError, match=r"^x: holds no sequences"):
        read_pautomac(b"0 5\n", "x")


# ---------------------------------------------------------------------- solutions


def test_solutions(tmp_path):
    path = tmp_path / "1.pautomac_solution.txt"
    path.write_bytes(b"3\r\n0.5\r\n1e-08\r\n 0\r\n\r\n")
    found = read_target(path)
    assert found.dtype == np.float64
    assert found.tolist() == [0.5, 1e-08, 0.0]


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        (b"", 1, 1, "is empty"),
        (b"x\n0.5\n", 1, 1, "the first line of a solution is the number of test strings, and this is 'x'"),
        (b"2 3\n0.5\n", 1, 1, "and this is '2 3'"),
        ("²\n0.5\n0.5\n".encode(), 1, 1, "and this is '²'"),
        (b"2\n0.5\n", 1, 1, "announces 2 probabilities, and 1 follow"),
        (b"2\n0.5\n 0.x\n", 3, 2, "'0.x' is not a finite number"),
        (b"1\nnan\n", 2, 1, "'nan' is not a finite number"),
        (b"1\n-0.5\n", 2, 1, "'-0.5' is not a probability"),
        (b"1\n1.5\n", 2, 1, "'1.5' is not a probability"),
        (b"1\n0.5 0.25\n", 2, 5, "one probability a line is expected, and this has 2"),
        (b"1\n\n0.5\n", 2, 1, "the line is empty"),
        (b"1\n0.5\xff\n", 2, 4, "0xff"),
    ],
)
def test_bad_solutions_are_refused_with_their_place(tmp_path, data, line, column, message):
    path = tmp_path / "s.txt"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=message) as caught:
        read_target(path)
    assert str(caught.value).startswith(f"{path}, line {line}, column {column}: ")


# ---------------------------------------------------------------------- targets


def test_targets(tmp_path):
    path = tmp_path / "0.spice.target.public"
    path.write_bytes(b"0.875 3 0.75 -1 0.25 \r\n1.0 0 1.0")
    found = read_ranking(path)
    assert len(found) == 2
    assert found[0] == {3: 0.75, -1: 0.25}
    assert found[1] == found[-1] == {0: 1.0}
    assert found.ideal.tolist() == [0.875, 1.0]
    assert found.offsets.tolist() == [0, 2, 3]
    assert (found.symbols.dtype, found.probabilities.dtype) == (np.int32, np.float64)
    with pytest.raises(IndexError):
        found[2]


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        (b"", 1, 1, "is empty"),
        (b"1.0 3\n", 1, 6, "this has 2 words"),
        (b"1.0\n", 1, 4, "this has 1 words"),
        (b"1.0 1 1.0\nx 1 1.0\n", 2, 1, "'x' is not a finite number"),
        (b"0 1 1.0\n", 1, 1, "the ideal gain is 0"),
        (b"1.0 1.0 1.0\n", 1, 5, "'1.0' is not a symbol"),
        (b"1.0  -2 1.0\n", 1, 6, "'-2' is not a symbol"),
        (b"1.0 1 0.5 2 1.5\n", 1, 13, "'1.5' is not a probability"),
    ],
)
def test_bad_targets_are_refused_with_their_place(tmp_path, data, line, column, message):
    path = tmp_path / "t"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=message) as caught:
        read_ranking(path)
    assert str(caught.value).startswith(f"{path}, line {line}, column {column}: ")


# ---------------------------------------------------------------------- the competitions' files


@pytest.mark.data
@pytest.mark.compiled
def test_all_files_of_the_competitions(data_folder):
    corpora = [
        *data_folder.glob("pautomac/*.pautomac.t*"),
        *data_folder.glob("spice/train/*"),
        *data_folder.glob("spice/prefixes/*"),
    ]
    assert len(corpora) >= 24 + 12
    for path in corpora:
        corpus = read_corpus(path)
        assert corpus.alphabet.closed
        assert corpus.source.locate(0, 0).startswith("line 2")
    for path in data_folder.glob("pautomac/*_solution.txt"):
        target = read_target(path)
        assert abs(target.sum() - 1) < 1e-6  # the competition normalised them; 12 digits are printed
        assert len(target) == len(read_corpus(path.with_name(path.name.replace("_solution.txt", ".test"))))
    for path in data_folder.glob("spice/targets/*"):
        prefixes = path.parents[1] / "prefixes" / path.name.replace("target", "prefix").removesuffix(".gz")
        extra = 1 if path.name.startswith("4.") else 0  # that problem has one target too many, at the end
        assert len(read_ranking(path)) == len(read_corpus(prefixes)) + extra
