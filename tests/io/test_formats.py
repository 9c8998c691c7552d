"""One door for all formats."""

from __future__ import annotations

import gzip
import importlib
import pickle
import subprocess
import sys

import pytest

import momata.io
from momata import Corpus, FormatError, OptionError, read_corpus, write_corpus
from momata.io.formats import recognise


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("46.pautomac.train", "pautomac"),
        ("46.PAutomaC.train.gz", "pautomac"),
        ("0.spice.prefix.public", "pautomac"),
        ("a.conll", "conll"),
        ("a.conllu.gz", "conll"),
        ("A.CONLLX", "conll"),
        ("a.dp", "dp"),
        ("a.parquet", "parquet"),
        ("a.csv", "events"),
        ("a.tsv.gz", "events"),
        ("a.txt", "text"),
        ("dev.obs", "text"),
        ("folder.csv/a", "text"),
        ("-", "text"),
    ],
)
def test_names_are_recognised(name, format):
    assert recognise(name, b"a b\n") == format


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (b"2 3\n1 0\n0\n", "pautomac"),
        (b"2 3\r\n1 0\r\n0\r\n\r\n", "pautomac"),
        (b"\xef\xbb\xbf2 3\n1 0\n0\n", "pautomac"),
        (b"2 3\n1 0\n", "text"),
        (b"2 3\n1 0\n2 0\n", "text"),
        (b"2 3\n1 0\n1 3\n", "text"),
        (b"1 3\n1 x\n", "text"),
        (b"1 3 1\n1 0\n", "text"),
        (b"1\n1 0\n", "text"),
        ("² 3\n".encode(), "text"),
        (b"PAR1...", "parquet"),
        (b"", "text"),
    ],
)
def test_contents_are_recognised(data, format):
    assert recognise("a.txt", data) == format


def test_recognised_integers_are_integers(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(b"2 3\n1 0\n0\n"))
    assert list(read_corpus(path)) == [(0,), ()]
    assert list(read_corpus(path, "text")) == [("2", "3"), ("1", "0"), ("0",)]


@pytest.mark.parametrize("name", ["a.txt", "a.csv.gz", "a.pautomac", "a.dp", "a.conllu"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_empty_files_hold_no_sequences(tmp_path, name, mark):
    path = tmp_path / name
    path.write_bytes(gzip.compress(mark) if name.endswith(".gz") else mark)
    with pytest.raises(FormatError, match="is empty, so it holds no sequences"):
        read_corpus(path, "text" if name == "a.csv.gz" else None)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.csv", {}, "is read as a table of events.*Give --group and --symbol .* or --format text"),
        ("a.txt", {"format": "events"}, "Give --group and --symbol"),
        ("a.txt", {"group": "g"}, "Give --group and --symbol"),
        ("a.txt", {"symbol": "s"}, "Give --group and --symbol"),
        ("a.txt", {"order": "t"}, "order='t' names a column of a table, and .*a.txt is read as text"),
        ("a.txt", {"column": "c"}, "column='c' names a column"),
        ("a.txt", {"format": "text", "group": "g"}, "group='g' names a column"),
        (
            "a.txt",
            {"format": "csv"},
            "format='csv' cannot be read. Choose one of text, chars, pautomac, spice, conll, dp, parquet, events",
        ),
        ("a.txt", {"format": "conll", "chars": True}, "format='conll' is no text"),
        ("a.txt", {"format": "dp", "tags": "pos"}, "tags='pos' names no column"),
    ],
)
def test_options_must_fit(tmp_path, name, options, message):
    (tmp_path / name).write_bytes(b"a b\n")
    with pytest.raises(OptionError, match=message):
        read_corpus(tmp_path / name, **options)


def test_formats_that_are_not_written(tmp_path):
    with pytest.raises(
        OptionError, match=r"format='conll' cannot be written\. Choose one of text, chars, pautomac, spice"
    ):
        write_corpus(Corpus.from_sequences(["a"]), tmp_path / "a", "conll")


def test_existing_files_are_kept(tmp_path):
    for format in ("text", "pautomac"):
        corpus = Corpus.from_sequences([[0, 1]])
        path = tmp_path / format
        write_corpus(corpus, path, format)
        before = path.read_bytes()
        with pytest.raises(OptionError, match=r"exists\. Use --force"):
            write_corpus(corpus[:0], path, format)
        assert path.read_bytes() == before
        write_corpus(corpus[:0], path, format, force=True)
        assert path.read_bytes() != before


def test_a_corpus_that_was_read_can_be_pickled(tmp_path):
    for name, data in [("a.txt", b"a b\n"), ("a.conllu", b"1\ta\tb\tX\tY\n")]:
        (tmp_path / name).write_bytes(data)
        corpus = read_corpus(tmp_path / name)
        assert pickle.loads(pickle.dumps(corpus)).source.locate(0, 0) == corpus.source.locate(0, 0)


def test_names_load_on_first_use():
    assert set(momata.io.__all__) >= {
        "load",
        "read_corpus",
        "read_events",
        "read_ranking",
        "read_target",
        "save",
        "write_corpus",
    }
    assert set(momata.io.__all__) <= set(dir(importlib.import_module("momata.io")))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = momata.io.nothing
    script = "import sys, momata.io.formats, momata.io.tables; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "pyarrow" not in loaded


@pytest.mark.data
@pytest.mark.compiled
def test_text_files_of_the_papers(data_folder):
    tags = read_corpus(data_folder / "ptb_pos11" / "train.obs")
    assert (len(tags), tags.n_symbols) == (38_826, 11)
    assert len(read_corpus(data_folder / "ptb_pos11" / "dev.obs")) == 5_000
    logs = read_corpus(data_folder / "hdfs_logs" / "hdfs_normal.train")
    assert (len(logs), logs.n_symbols) == (3_855, 14)
    blocks = read_corpus(data_folder / "hdfs_logs" / "hdfs_abnormal.dev")
    assert len(blocks) == 8_000
