"""Parquet lists and event tables, against plain Python."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import gzip
import io
import random
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from momata import Alphabet, AlphabetError, Corpus, FormatError, OptionError, read_corpus, read_events

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def text(path, content):
    path.write_bytes(content.encode())
    return path


def sequences(corpus: Corpus) -> list[list]:
    return [list(s) for s in corpus]


# ---------------------------------------------------------------------- lists


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
        pa.list_(pa.string_view()),
    ],
)
def test_lists_of_texts(tmp_path, kind):
    plain = pa.array([["a", "b"], [], ["b", "é", "a"]], pa.list_(pa.string()))
    lists = plain if pa.types.is_string_view(kind.value_type) else plain.cast(kind)
    path = parquet(tmp_path / "a.parquet", id=pa.array([1, 2, 3]), words=lists)
    corpus = read_corpus(path)
    assert sequences(corpus) == [["a", "b"], [], ["b", "é", "a"]]
    assert corpus.alphabet == Alphabet(["a", "b", "é"])
    assert corpus.source.locate(2, 1) == f"row 3, symbol 2 of {path}"
    assert list(read_corpus(path, "parquet", column="words")) == list(corpus)


def test_lists_of_numbers_keep_their_type(tmp_path):
    path = parquet(tmp_path / "a.parquet", words=pa.array([[10, 2], [2]], pa.list_(pa.int16())))
    assert sequences(read_corpus(path)) == [[10, 2], [2]]
    fixed = parquet(tmp_path / "b.parquet", words=pa.array([[10, 2], [2, 3]], pa.list_(pa.int32(), 2)))
    assert sequences(read_corpus(fixed)) == [[10, 2], [2, 3]]


def test_lists_of_many_row_groups_packed(tmp_path):
    rows = [[str(i % 7)] * (i % 3) for i in range(100)]
    pq.write_table(pa.table({"words": rows}), tmp_path / "a", row_group_size=9)
    (tmp_path / "unnamed.gz").write_bytes(gzip.compress((tmp_path / "a").read_bytes()))
    assert sequences(read_corpus(tmp_path / "unnamed.gz")) == rows


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"a": [1, 2]}, {}, "has no column of lists; its columns are a. Name one with --column"),
        ({"a": [["x"]], "b": [["y"]]}, {}, r"has 2 columns of lists \(a, b\)"),
        ({"a": [["x"]], "b": [1]}, {"column": "b"}, "column 'b' has type int64, and a list"),
        ({"a": [["x"]], "b": [1]}, {"column": "c"}, "there is no column 'c'; the columns are a, b"),
        ({"a": [[["x"]]]}, {}, "column 'a' has type list<.*and a list of plain values"),
        ({"a": [["x"], None]}, {}, "row 2 of column 'a' is null"),
        ({"a": [["x"], [], ["x", None]]}, {}, r"row 3 of column 'a' holds a null \(item 2\)"),
        ({"a": pa.array([], pa.list_(pa.string()))}, {}, "holds no sequences"),
        ({"a": [["x"], ["</s>"]]}, {}, "'</s>' .row 2, symbol 1"),
    ],
)
def test_lists_that_are_no_sequences_are_refused(tmp_path, columns, options, message):
    path = parquet(tmp_path / "a.parquet", **columns)
    with pytest.raises(FormatError, match=message) as caught:
        read_corpus(path, "parquet", **options)
    assert str(caught.value).startswith(f"{path}: ")


def test_damaged_parquet_is_refused(tmp_path):
    path = parquet(tmp_path / "a.parquet", a=[["x"] * 50])
    whole = path.read_bytes()
    for data in (whole[:-20], b"PAR1", b"nonsense"):
        path.write_bytes(data)
        with pytest.raises(FormatError, match=r"cannot be read as a table \(.*Parquet"):
            read_corpus(path)
    path.write_bytes(whole[:4] + bytes(60) + whole[64:])
    with pytest.raises(FormatError, match="cannot be read as a table"):
        read_corpus(path)


def test_parquet_texts_that_are_not_utf8_are_refused(tmp_path):
    bad = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")])
    lists = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), bad)
    with pytest.raises(FormatError, match=r"a.parquet: cannot be read as a table \('utf-8' codec"):
        read_corpus(parquet(tmp_path / "a.parquet", w=lists))
    with pytest.raises(FormatError, match="cannot be read as a table"):
        read_events(parquet(tmp_path / "b.parquet", g=[1], s=bad), "g", symbol="s")


# ---------------------------------------------------------------------- events


def plain_events(rows, key=None):
    """Group rows of (group, order, symbol) in plain Python."""
    groups: dict = {}
    for group, order, symbol in rows:
        groups.setdefault(group, []).append((order, symbol))
    ordered = [sorted(events, key=key) if key else events for events in groups.values()]
    return [[str(symbol) for _, symbol in events] for events in ordered]


events = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-12, 12), st.sampled_from(["a", "é b", 'q"', ",", "7"])),
    min_size=1,
    max_size=20,
)


@given(events, st.booleans())
def test_csv_and_parquet_agree_with_plain_python(tmp_path_factory, rows, sort):
    folder = tmp_path_factory.mktemp("events")
    with (folder / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("case", "time", "event"), *rows])
    case, time, event = zip(*rows, strict=True)
    parquet(folder / "a.parquet", case=case, time=time, event=event)
    expected = plain_events(rows, (lambda pair: pair[0]) if sort else None)
    for name in ("a.csv", "a.parquet"):
        corpus = read_events(folder / name, "case", "time" if sort else None, symbol="event")
        assert sequences(corpus) == expected
        assert all(isinstance(s, str) for s in corpus.alphabet)


CSV = "case,time,event\nb,2,x\na,10,y\nb,1,z\na,9,y\nb,1,w\n"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.txt", "tabs"])
def test_text_tables_of_any_name(tmp_path, name, standard_input):
    content = CSV.replace(",", "\t") if name in ("a.tsv", "tabs") else CSV
    data = gzip.compress(content.encode()) if name.endswith(".gz") else content.encode()
    path = tmp_path / name
    path.write_bytes(data)
    expected = [["z", "w", "x"], ["y", "y"]]
    assert sequences(read_events(path, "case", "time", symbol="event")) == expected
    assert sequences(read_corpus(path, group="case", order="time", symbol="event")) == expected
    standard_input(data)
    corpus = read_corpus("-", group="case", order="time", symbol="event")
    assert sequences(corpus) == expected
    assert corpus.source.locate(1, 0) == "group 2, symbol 1 of standard input"


@pytest.mark.parametrize(
    "change", [lambda s: s.replace("\n", "\r\n"), lambda s: "\ufeff" + s, str.rstrip, lambda s: s.replace("\n", "\n\n")]
)
def test_line_ends_marks_and_blank_lines(tmp_path, change):
    path = text(tmp_path / "a.csv", change(CSV))
    assert sequences(read_events(path, "case", "time", symbol="event")) == [["z", "w", "x"], ["y", "y"]]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (["10", "9", "-1"], "cba"),
        (["1.5", "1e0", "0.25"], "cba"),
        (["18446744073709551615", "18446744073709551614", "3"], "cba"),
        (["2024-01-02", "2024-01-01T23:59:59", "2023-12-31 00:00:00.5"], "cba"),
        (["2024-01-01T10:00:00.000000002", "2024-01-01T10:00:00.000000001", "2024-01-01"], "cba"),
        (["2024-01-01T10:00:00+00:00", "2024-01-01T11:30:00+02:00", "2024-01-01T09:00:00Z"], "cba"),
        (["9", "10", "n/a"], "bac"),
        (["b", "é", "a"], "cab"),
        ([" 10", "9 ", "8"], "cba"),
        (["1", "1", "0"], "cab"),
    ],
)
def test_order_follows_the_type_of_its_column(tmp_path, times, expected):
    rows = "".join(f"g,{t},{s}\n" for t, s in zip(times, "abc", strict=True))
    corpus = read_events(text(tmp_path / "a.csv", "g,t,s\n" + rows), "g", "t", symbol="s")
    assert "".join(corpus[0]) == expected


@pytest.mark.parametrize(
    "times",
    [
        [3, 2, 1],
        [2.5, 1.5, -1.0],
        [dt.datetime(2024, 1, 3), dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 1)],
        [dt.date(2024, 1, 3), dt.date(2024, 1, 2), dt.date(2023, 1, 1)],
        [decimal.Decimal("10.5"), decimal.Decimal("9.5"), decimal.Decimal("1.0")],
        ["9", "10", "1"],
        [True, True, False],
    ],
)
def test_order_columns_of_parquet(tmp_path, times):
    path = parquet(tmp_path / "a.parquet", g=["g"] * 3, t=times, s=["a", "b", "c"])
    expected = [s for _, s in sorted(zip(times, "abc", strict=True), key=lambda pair: pair[0])]
    assert sequences(read_events(path, "g", "t", symbol="s")) == [expected]


def test_symbols_are_texts_and_whole_numbers_are_plain(tmp_path):
    path = parquet(tmp_path / "a.parquet", g=[1, 1, 1], s=pa.array([3.0, 12.0, 0.5]))
    assert sequences(read_events(path, "g", symbol="s")) == [["3", "12", "0.5"]]
    kept = text(tmp_path / "a.csv", "g,s\n1,03\n1,NA\n01,null\n")
    assert sequences(read_events(kept, "g", symbol="s")) == [["03", "NA"], ["null"]]


def test_dictionary_columns_and_one_column_for_all(tmp_path):
    path = parquet(
        tmp_path / "a.parquet",
        g=pa.array(["b", "a", "b"]).dictionary_encode(),
        s=pa.array(["x", "y", "z"]).dictionary_encode(),
    )
    assert sequences(read_events(path, "g", "s", symbol="s")) == [["x", "z"], ["y"]]
    assert sequences(read_events(path, "g", "g", symbol="g")) == [["b", "b"], ["a"]]


def test_long_cells_and_lone_quotes_are_read(tmp_path):
    path = text(tmp_path / "a.csv", f"g,s,t\n1,x,{'z' * 200_000}\n")
    assert sequences(read_events(path, "g", symbol="s")) == [["x"]]
    path = text(tmp_path / "b.csv", 'g,s\n1,x"y\n1,z\n')
    assert sequences(read_events(path, "g", symbol="s")) == [['x"y', "z"]]


def test_quotes_and_line_ends_inside_cells(tmp_path):
    path = text(tmp_path / "a.csv", 'g,s\n"1","x\ny"\n1,"say ""hi"""\n')
    assert sequences(read_events(path, "g", symbol="s")) == [["x\ny", 'say "hi"']]
    tabs = text(tmp_path / "a.tsv", 'g\ts\n1\t"\n1\t``\n')
    assert sequences(read_events(tabs, "g", symbol="s")) == [['"', "``"]]
    quoted = text(tmp_path / "b.tsv", '"g"\t"s"\n"1"\t"x"\n')
    assert sequences(read_events(quoted, "g", symbol="s")) == [["x"]]


def test_events_are_recoded(tmp_path):
    path = text(tmp_path / "a.csv", CSV)
    with pytest.raises(AlphabetError, match=r"symbol 'w' \(group 1, symbol 3 of .*a.csv\)"):
        read_events(path, "case", symbol="event", alphabet=Alphabet("xyz"))
    found = read_events(path, "case", symbol="event", alphabet=Alphabet("xyz"), unknown="skip")
    assert sequences(found) == [["x", "z"], ["y", "y"]]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("a,b\n1,2\n", None, "there is no column 'g'; the columns are a, b"),
        ("g,g,s\n1,2,3\n", None, "there is more than one column 'g'"),
        ("g;s\n1;2\n", None, "there is no column 'g'; the columns are g;s"),
        ("g,s\n1,x\n,y\n", 3, "row 3: column 'g' is empty"),
        ("g,s\n1,x\n\n1,\n", 4, "row 4: column 's' is empty"),
        ('g,s\n1,"x\ny"\n1,""\n', 4, "row 4: column 's' is empty"),
        ("g,s\n1,x\n1\n", 3, "2 fields are expected, as in the header, and this row has 1"),
        ("g,s\n1,x,y\n", 2, "this row has 3"),
        ('g,s\n1,x\n1,"y\n', 3, r"cannot be read as a table \(unexpected end of data\)"),
        ("g,s\n", None, "holds no sequences"),
        ("g,s", None, "holds no sequences"),
        ("g,s\n\n \n", None, "holds no sequences"),
        (f"g,s\n{'x' * 140_000},\n", 2, "field larger than field limit"),
        ("\n\n", None, "there is no column 'g'"),
        ("g,s\n1,</s>\n", None, r"'</s>' \(group 1, symbol 1"),
    ],
)
def test_bad_text_tables_are_refused(tmp_path, content, line, message):
    path = text(tmp_path / "a.csv", content)
    with pytest.raises(FormatError, match=message) as caught:
        read_events(path, "g", symbol="s")
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_an_empty_order_is_refused(tmp_path):
    with pytest.raises(FormatError, match="line 3: row 3: column 't' is empty"):
        read_events(text(tmp_path / "a.csv", "g,t,s\n1,1,x\n1,,y\n"), "g", "t", symbol="s")


def test_binary_data_is_no_text_table(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"g,s\n1,\xff\n")
    with pytest.raises(FormatError, match="line 2, column 3: byte 0xff"):
        read_events(path, "g", symbol="s")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"g": [1], "x": [1]}, "there is no column 's'; the columns are g, x"),
        ({"g": [1, None], "s": ["a", "b"]}, "row 2: column 'g' is empty"),
        ({"g": [1, 1], "s": ["a", ""]}, "row 2: column 's' is empty"),
        ({"g": [1, 1], "s": [None, None]}, "row 1: column 's' is empty"),
        ({"g": [1.0, float("nan")], "s": ["a", "b"]}, "row 2: column 'g' is empty"),
        ({"g": [1], "s": [["a"]]}, "column 's' has type list<.*an event needs a text, a number or a time"),
        ({"g": [1], "s": [b"a"]}, "column 's' has type binary"),
        ({"g": pa.array([], pa.int64()), "s": pa.array([], pa.string())}, "holds no sequences"),
    ],
)
def test_bad_parquet_tables_are_refused(tmp_path, columns, message):
    path = parquet(tmp_path / "a.parquet", **columns)
    with pytest.raises(FormatError, match=message) as caught:
        read_events(path, "g", symbol="s")
    assert caught.value.path == str(path)


def test_large_tables_of_several_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("momata.io.delimited._BLOCK", 1000)
    source = random.Random(5)
    rows = [(source.randrange(50), source.randrange(100), source.choice("abcdef")) for _ in range(5000)]
    out = io.StringIO()
    csv.writer(out).writerows([("g", "t", "s"), *rows])
    path = text(tmp_path / "a.csv", out.getvalue())
    corpus = read_events(path, "g", "t", symbol="s")
    assert sequences(corpus) == plain_events(rows, lambda pair: pair[0])
    assert corpus.tokens.dtype == np.int32


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    path = text(tmp_path / "a.csv", CSV)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OptionError, match=r'pip install "momata\[tables\]"'):
        read_events(path, "case", symbol="event")
