"""Words and characters of text corpora."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from momata import Alphabet, AlphabetError, Corpus, FormatError, OptionError, read_corpus, write_corpus
from momata.io.text import read_chars, read_text

WHITE = " \t\n\r\v\f"
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
words = st.text(characters.filter(lambda c: c not in WHITE), min_size=1, max_size=4).filter(lambda w: w != "</s>")
symbols = st.one_of(words, st.sampled_from(["0", "1", "2", "10", "a", "é"]))
corpora = st.lists(st.lists(symbols, max_size=5), min_size=1, max_size=6)
char_corpora = st.lists(st.lists(characters.filter(lambda c: c not in "\r\n"), max_size=6), min_size=1, max_size=6)


def assert_equal(found: Corpus, expected: Corpus) -> None:
    assert list(found) == list(expected)
    assert found.alphabet == expected.alphabet
    assert found.offsets.dtype == np.int64
    assert found.tokens.dtype == np.int32


def lines_of(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


@given(corpora)
def test_text_comes_back(tmp_path_factory, sequences):
    corpus = Corpus.from_sequences(sequences)
    path = tmp_path_factory.mktemp("text") / "a.txt"
    write_corpus(corpus, path)
    assert_equal(read_corpus(path, "text"), corpus)


@given(char_corpora)
def test_characters_come_back(tmp_path_factory, sequences):
    corpus = Corpus.from_sequences(sequences)
    path = tmp_path_factory.mktemp("chars") / "a.txt.gz"
    write_corpus(corpus, path, "chars")
    assert_equal(read_corpus(path, chars=True), corpus)


@given(st.text(st.sampled_from("ab0é \t\n\r\v"), min_size=1, max_size=30))
def test_words_equal_those_of_plain_python(text):
    expected = [bytes_line.split() for bytes_line in lines_of(text)]
    assert_equal(read_text(text.encode(), "x"), Corpus.from_sequences(expected))


@given(st.text(st.sampled_from("ab0é \t\n\r"), min_size=1, max_size=30))
def test_characters_equal_those_of_plain_python(text):
    expected = [list(line) for line in lines_of(text.replace("\r\n", "\n"))]
    assert_equal(read_chars(text.encode(), "x"), Corpus.from_sequences(expected))


def test_windows_ends_byte_order_mark_and_empty_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfa b\r\n\r\nb")
    assert list(read_corpus(path)) == [("a", "b"), (), ("b",)]
    assert list(read_corpus(path, chars=True)) == [("a", " ", "b"), (), ("b",)]


def test_a_first_symbol_that_looks_like_a_mark_survives(tmp_path):
    corpus = Corpus.from_sequences(["\ufeffa"])
    for format in ("text", "chars"):
        write_corpus(corpus, tmp_path / format, format)
        assert_equal(read_corpus(tmp_path / format, format), corpus)


def test_unicode_blanks_are_parts_of_symbols():
    assert list(read_text("a\u00a0b c\u2028d\x85e".encode(), "x")) == [("a\u00a0b", "c\u2028d\x85e")]


def test_standard_streams(standard_input, standard_output):
    standard_input(gzip.compress(b"a b\n"))
    corpus = read_corpus("-")
    assert corpus.source.locate(0, 1) == "line 1, symbol 2 of standard input"
    caught = standard_output()
    write_corpus(corpus, "-")
    assert caught.getvalue() == b"a b\n"


def test_places_are_found_again(tmp_path):
    path = tmp_path / "dev.txt"
    path.write_bytes("\ufeffé b\n\n  aé  cc\n".encode())
    corpus = read_corpus(path)
    assert corpus.source.locate(0, 1) == f"line 1, column 3 of {path}"
    assert corpus.source.locate(2, 1) == f"line 3, column 7 of {path}"
    assert corpus.source.locate(2, 5) == f"line 3, symbol 6 of {path}"
    chars = read_corpus(path, chars=True)
    assert chars.source.locate(2, 3) == f"line 3, column 4 of {path}"
    assert chars.source.locate(0, 7) == f"line 1, symbol 8 of {path}"
    path.unlink()
    assert corpus.source.locate(2, 1) == f"line 3, symbol 2 of {path}"
    assert chars.source.locate(9, 0) == f"line 10, symbol 1 of {path}"


def test_unknown_symbols_are_pointed_at(tmp_path):
    path = tmp_path / "dev.txt"
    path.write_text("a b\nb ñ\n", encoding="utf-8", newline="\n")
    alphabet = Alphabet("ab")
    with pytest.raises(
        AlphabetError, match=r"symbol 'ñ' \(line 2, column 3 of .*dev.txt\) is not in the model's alphabet of 2"
    ):
        read_corpus(path, alphabet=alphabet)
    assert list(read_corpus(path, alphabet=alphabet, unknown="skip")) == [("a", "b"), ("b",)]
    assert list(read_corpus(path, alphabet=alphabet, unknown="map=a")) == [("a", "b"), ("b", "a")]


def test_the_reserved_symbol_is_pointed_at(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a b\nb </s>\n")
    with pytest.raises(FormatError, match=r"'</s>' \(line 2, column 3 of .*a.txt\) marks the end"):
        read_corpus(path)


@pytest.mark.parametrize("options", [{}, {"chars": True}])
def test_bad_bytes_are_refused_with_their_place(tmp_path, options):
    path = tmp_path / "a.txt"
    for data in (b"a b\nb \xff\n", b"a b\nb \0\n"):
        path.write_bytes(data)
        with pytest.raises(FormatError) as caught:
            read_corpus(path, **options)
        assert str(caught.value).startswith(f"{path}, line 2, column 3: ")


@pytest.mark.parametrize(
    ("symbol", "format", "message"),
    [
        ("a b", "text", "symbol 'a b' holds white space"),
        ("a\x0b", "text", "holds white space"),
        ("", "text", "symbol '' is empty"),
        ((1, 2), "text", "holds white space"),
        ("\0", "text", "UTF-8 text cannot hold"),
        ("\ud800", "text", "UTF-8 text cannot hold"),
        ("ab", "chars", "'ab' has 2 characters"),
        ("", "chars", "'' has 0 characters"),
        ("\n", "chars", "ends lines"),
        ("\r", "chars", "ends lines"),
    ],
)
def test_symbols_that_could_not_be_read_back_are_refused(tmp_path, symbol, format, message):
    with pytest.raises(OptionError, match=message):
        write_corpus(Corpus.from_sequences([["x", symbol]]), tmp_path / "a.txt", format)
    assert list(tmp_path.iterdir()) == []


def test_symbols_written_alike_are_refused(tmp_path):
    with pytest.raises(OptionError, match="both written '3'"):
        write_corpus(Corpus.from_sequences([[3, "3"]]), tmp_path / "a.txt")


def test_whole_weights_repeat_sequences(tmp_path):
    corpus = Corpus.from_sequences(["ab", "b", "a"], weights=[2, 3, 1])
    write_corpus(corpus, tmp_path / "a.txt", "chars")
    assert (tmp_path / "a.txt").read_bytes() == b"ab\nab\nb\nb\nb\na\n"
    with pytest.raises(OptionError, match="not whole numbers"):
        write_corpus(Corpus.from_sequences(["ab"], weights=[0.5]), tmp_path / "b.txt")


def test_many_sequences_are_written_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("momata.io.text._BATCH", 3)
    corpus = Corpus.from_sequences([["a"] * (i % 4) for i in range(10)])
    write_corpus(corpus, tmp_path / "a.txt")
    assert_equal(read_corpus(tmp_path / "a.txt"), corpus)


def test_a_slice_is_written_as_it_is_read(tmp_path):
    write_corpus(Corpus.from_sequences(["ab", "ba", "bb"])[1:], tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_bytes() == b"b a\nb b\n"
