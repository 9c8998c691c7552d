"""One column of CoNLL files."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from momata import FormatError, OptionError, read_corpus
from momata.io.conll import column_of, is_numbered, read_conll

CONLLU = (
    "# sent_id = 1\n# text = I can't\n"
    "1\tI\tI\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n"
    "2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "2\tca\tcan\tAUX\tMD\t_\t0\troot\t_\t_\n"
    "3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_\n"
    "3.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t_\t_\n"
    "\n\n# text = £\n"
    "1\té\t#\tSYM\t#\t_\t0\troot\t_\t_\n"
)
DP = "Pierre\tNNP\t2\n#\t#\t0\n\n1\tCD\t0\n"


def write(path, text):
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_universal_dependencies(tmp_path, end, mark):
    path = write(tmp_path / "a.conllu", mark + CONLLU.replace("\n", end))
    assert list(read_corpus(path)) == [("PRP", "MD", "RB"), ("#",)]
    assert list(read_corpus(path, tags="upos")) == [("PRON", "AUX", "PART"), ("SYM",)]
    assert list(read_corpus(path, tags="column:2")) == [("I", "ca", "n't"), ("é",)]
    assert read_corpus(path).source.locate(0, 2) == "line 6, column 16 of " + str(path)
    assert read_corpus(path).source.locate(1, 0) == "line 11, column 11 of " + str(path)


def test_form_first_files_keep_the_pound_sign(tmp_path):
    path = write(tmp_path / "a.dp", DP)
    for tags in ("upos", "xpos", "column:2"):
        assert list(read_corpus(path, tags=tags)) == [("NNP", "#"), ("CD",)]
    assert list(read_corpus(path, tags="column:1")) == [("Pierre", "#"), ("1",)]


def test_blank_separated_columns_without_numbers(tmp_path):
    path = write(tmp_path / "train.txt", "# # B-NP\n1 CD I-NP\n\nup  IN\tx\n")
    with pytest.raises(FormatError, match="column 2"):
        read_corpus(write(tmp_path / "b.conll", "a DT\nb\n"))
    path = write(path, "# # B-NP\n1 CD I-NP\n\nup  IN x")
    assert list(read_corpus(path, "conll")) == [("#", "CD"), ("IN",)]
    assert list(read_corpus(path, "conll", tags="column:3")) == [("B-NP", "I-NP"), ("x",)]


@pytest.mark.parametrize(
    ("text", "numbered"),
    [
        (CONLLU, True),
        (DP, False),
        ("1\ta\n2\tb\n", True),
        ("1-2\tdu\n1\tde\n2\tle\n\nx", True),
        ("\n\n1 a\n", True),
        ("2\ta\n3\tb\n", False),
        ("1929\tCD\n", False),
        ("# only a comment\n", False),
        ("", False),
        ("9" * 20 + " x", False),
        ("# # x\n1 CD y\n\nup IN z\n", False),
        ("1\ta\n2\tb\nx\tc\n1\ta\n", True),
        ("0.1\ta\n1\tb\n", True),
        ("1 a\n" * 1000 + "x y\n" * 2000, True),
    ],
)
def test_numbered_files_are_recognised(text, numbered):
    assert is_numbered(text.encode()) is numbered


def test_columns_have_names():
    assert [column_of(t, True) for t in ("upos", "xpos", "column:7")] == [4, 5, 7]
    assert [column_of(t, False) for t in ("upos", "xpos", "column:7")] == [2, 2, 7]
    for tags in ("pos", "column:0", "column:", "column:x", "column:-1", "5"):
        with pytest.raises(OptionError, match=r"names no column\. Use upos, xpos, or column:N"):
            column_of(tags, True)


@pytest.mark.parametrize(
    ("name", "text", "tags", "line", "column", "message"),
    [
        ("a.conllu", "1\ta\tb\tX\tY\n2\tc\n", "xpos", 2, 4, r"column 5 \(xpos\) was asked for, and this line has 2"),
        ("a.conllu", "1\té\tb\t\tY\n", "upos", 1, 7, r"column 4 \(upos\) is empty here"),
        ("a.conllu", "1\ta\tb\tX\tY\n\nx\ta\tb\tX\tY\n", "xpos", 3, 1, "the first field is 'x', and in this file"),
        ("a.conllx.gz", "a\tb\n", "xpos", 1, 1, "the first field is 'a'"),
        ("a.dp", "a\tDT\t0\n\nb\n", "xpos", 3, 2, r"column 2 \(xpos\) was asked for, and this line has 1"),
        ("a.dp", "a\tDT\t0\n", "column:9", 1, 7, r"column 9 \(column:9\) was asked for, and this line has 3"),
        ("a.dp", "a\tDT\t0\nb\t\xff\t0\n", "xpos", 2, 3, "byte 0xff"),
    ],
)
def test_bad_files_are_refused_with_their_place(tmp_path, name, text, tags, line, column, message):
    data = text.encode("utf-8" if "é" in text else "latin-1")
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(FormatError, match=message) as caught:
        read_corpus(path, tags=tags)
    assert str(caught.value).startswith(f"{path}, line {line}, column {column}: ")


def test_files_without_sentences_or_tags_are_refused():
    with pytest.raises(FormatError, match=r"^x: holds no sequences"):
        read_conll(b"# nothing\n\n", "x", numbered=True)
    with pytest.raises(FormatError, match=r"^x: column 5 \(xpos\) is '_'.* for all 1 tokens"):
        read_conll(b"1\ta\tb\tX\t_\n", "x")


def test_places_without_the_file(tmp_path):
    path = write(tmp_path / "a.dp", DP)
    corpus = read_corpus(path)
    path.unlink()
    assert corpus.source.locate(1, 0) == f"sentence 2, symbol 1 of {path}"


@given(st.lists(st.lists(st.sampled_from(["DT", "NN", "#", "é", "1"]), min_size=1, max_size=4), min_size=1, max_size=4))
def test_sentences_come_back(sentences):
    text = "\n".join("".join(f"{i}\tw\tw\t{t}\t{t}x\n" for i, t in enumerate(s, 1)) for s in sentences)
    assert list(read_conll(text.encode(), "x", "upos")) == [tuple(s) for s in sentences]
    dp = "\n".join("".join(f"w\t{t}\t0\n" for t in s) for s in sentences)
    assert list(read_conll(dp.encode(), "x")) == [tuple(s) for s in sentences]


@pytest.mark.data
@pytest.mark.compiled
def test_treebanks(data_folder):
    wsj = read_corpus(data_folder / "ontonotes_wsj" / "wsj_02-21.conllx.gz", tags="column:5")
    assert (len(wsj), wsj.n_tokens, wsj.n_symbols) == (30_060, 731_677, 48)
    sample = read_corpus(data_folder / "ptb_sample" / "wsj_sample.train.dp")
    assert (len(sample), sample.n_tokens, sample.n_symbols) == (3_253, 78_375, 45)
    ewt = read_corpus(data_folder / "ud_english_ewt" / "en_ewt-ud-train.conllu.gz", tags="upos")
    assert (len(ewt), ewt.n_tokens, ewt.n_symbols) == (12_544, 204_577, 17)
    chunks = read_corpus(data_folder / "conll2000" / "train.txt.gz", "conll", tags="xpos")
    assert (len(chunks), chunks.n_tokens, chunks.n_symbols) == (8_936, 211_727, 44)
