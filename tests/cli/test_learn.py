"""``momata learn``: what it reads, what it prints, what it leaves on the disk."""

from __future__ import annotations

import gzip
import math
import os
import random
import re
import zipfile

import pytest

from momata.io import load

pytestmark = pytest.mark.usefixtures("no_leftovers")


def test_the_contract_of_json(momata, train):
    found = momata("learn", "ngram", train, "--out", "m.npz", "--json", "--seed", 1).json()
    for key in ("method", "n_states", "statistic", "status", "seconds", "model", "curve"):
        assert key in found
    assert (found["method"], found["status"], found["model"]) == ("ngram", "OK", "m.npz")
    assert (found["n_sequences"], found["n_tokens"], found["n_symbols"]) == (36, len(train.read_text().split()), 3)
    assert set(found["seconds"]) == {"read", "select", "count", "write"}
    assert all(s >= 0 for s in found["seconds"].values())
    assert [c["order"] for c in found["curve"]] == list(range(1, len(found["curve"]) + 1))
    best = max(found["curve"], key=lambda c: c["validation_log_prob"])
    assert found["order"] == best["order"]
    assert load("m.npz").order == found["order"]


def test_text_names_the_file_and_the_chosen_order(momata, train):
    done = momata("learn", "ngram", train, "--out", "m.npz")
    *table, last = done.out.splitlines()
    assert table[0].split() == ["order", "contexts", "held-out", "log", "prob"]
    (chosen,) = [row for row in table if row.endswith("*")]
    assert last.startswith(f"m.npz: ngram of order {chosen.split()[0]}, {chosen.split()[1]} contexts, 3 symbols")
    assert done.err == ""


def test_a_model_is_kept_unless_forced(momata, train, folder):
    (folder / "m.npz").write_bytes(b"mine")
    done = momata("learn", "ngram", train, "--out", "m.npz", code=2)
    assert "m.npz exists. Use --force to replace it." in done.err
    assert (folder / "m.npz").read_bytes() == b"mine"
    momata("learn", "ngram", train, "--out", "m.npz", "--force")
    assert load("m.npz").order >= 1


def test_an_existing_output_is_refused_before_the_data_are_read(momata, folder):
    (folder / "m.npz").write_bytes(b"mine")
    assert "m.npz exists" in momata("learn", "ngram", "absent.txt", "--out", "m.npz", code=2).err


def test_the_same_seed_gives_the_same_bytes(momata, train, folder):
    for name, seed in [("a", 1), ("b", 1), ("c", 2)]:
        momata("learn", "ngram", train, "--out", f"{name}.npz", "--seed", seed)
    assert (folder / "a.npz").read_bytes() == (folder / "b.npz").read_bytes()
    assert load("c.npz").training["seed"] == 2
    curves = [load(f"{name}.npz").training["curve"] for name in "ac"]
    assert curves[0] != curves[1], "another seed holds other sequences out"


def test_a_seed_of_any_size(momata, train):
    momata("learn", "ngram", train, "--out", "m.npz", "--seed", 10**30)
    assert load("m.npz").training["seed"] == 10**30


def test_validation_data_are_used(momata, train, folder):
    (folder / "valid.txt").write_text("a b c a b c a\n" * 4)
    found = momata("learn", "ngram", train, "--out", "m.npz", "--valid", "valid.txt", "--json").json()
    for entry in found["curve"][:2]:
        momata("learn", "ngram", train, "--out", "fixed.npz", "--order", entry["order"], "--force")
        rows = momata("score", "fixed.npz", "valid.txt", "--json").rows()
        assert rows[-1]["total"]["log_prob"] == pytest.approx(entry["validation_log_prob"], rel=1e-12)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "valid.txt: is empty"),
        (None, "valid.txt: there is no such file"),
        (b"a\xff\n", "valid.txt, line 1, column 2"),
    ],
)
def test_validation_data_that_cannot_be_used(momata, train, folder, content, message):
    if content is not None:
        (folder / "valid.txt").write_bytes(content)
    assert message in momata("learn", "ngram", train, "--out", "m.npz", "--valid", "valid.txt", code=1).err
    assert not (folder / "m.npz").exists()


def test_validation_data_with_unknown_symbols(momata, train, folder):
    (folder / "valid.txt").write_text("a b zebra\n")
    momata("learn", "ngram", train, "--out", "m.npz", "--valid", "valid.txt")
    done = momata("learn", "ngram", train, "--out", "n.npz", "--valid", "valid.txt", "--smoothing", "none", code=1)
    assert "'zebra' (line 1, column 5 of valid.txt)" in done.err
    assert not (folder / "n.npz").exists()


def test_frequencies_that_give_nothing_to_held_out_data(momata, folder):
    (folder / "t.txt").write_text("a\nb\nc\nd\n")
    refused = momata("learn", "ngram", "t.txt", "--out", "m.npz", "--smoothing", "none", code=1)
    assert "probability 0 under every order" in refused.err
    (folder / "v.txt").write_text("b a\n")
    words = ("--smoothing", "none", "--valid", "v.txt", "--json")
    (folder / "t.txt").write_text("a\nb\nc\na a\nb b\n")
    found = momata("learn", "ngram", "t.txt", "--out", "m.npz", *words).json()
    assert [c["validation_log_prob"] is None for c in found["curve"]] == [False, True, True]
    assert found["order"] == 1
    assert momata("info", "m.npz", "--json").json()["training"]["curve"] == found["curve"]


@pytest.mark.parametrize("smoothing", ["kn", "mkn", "none"])
@pytest.mark.parametrize("order", [1, 2, 3, 7, 300])
def test_all_orders_give_distributions(momata, train, smoothing, order):
    momata("learn", "ngram", train, "--out", "m.npz", "--order", order, "--smoothing", smoothing)
    lines = sorted(set(train.read_text().split("\n")[:-1]))
    scores = [float(x) for x in momata("score", "m.npz", "-", stdin="".join(s + "\n" for s in lines)).out.split()]
    assert len(scores) == len(lines)
    assert sum(map(math.exp, scores)) <= 1 + 1e-9  # rounding only
    assert load("m.npz").order == order


def test_standard_input_and_output(momata, train, folder):
    momata("learn", "ngram", train, "--out", "file.npz", "--order", 2)
    text = train.read_bytes()
    for options in ([], ["--json"]):
        piped = momata("learn", "ngram", "-", "--out", "-", "--order", 2, *options, stdin=text)
        assert piped.raw == (folder / "file.npz").read_bytes()
        assert piped.err == ""
    assert momata("score", "-", train, stdin=piped.raw).out == momata("score", "file.npz", train).out
    assert momata("info", "-", stdin=piped.raw).out == momata("info", "file.npz").out
    assert momata("sample", "-", stdin=piped.raw).out == momata("sample", "file.npz").out


def test_packed_data_and_models(momata, train, folder):
    (folder / "train.txt.gz").write_bytes(gzip.compress(train.read_bytes()))
    momata("learn", "ngram", "train.txt.gz", "--out", "m.npz.gz")
    momata("learn", "ngram", train, "--out", "m.npz")
    assert gzip.decompress((folder / "m.npz.gz").read_bytes()) == (folder / "m.npz").read_bytes()
    want = momata("score", "m.npz", train).out
    assert momata("score", "m.npz.gz", "train.txt.gz").out == want
    assert momata("score", "m.npz", "-", stdin=(folder / "train.txt.gz").read_bytes()).out == want


def test_windows_line_ends(momata, train, folder):
    (folder / "dos.txt").write_bytes(train.read_bytes().replace(b"\n", b"\r\n"))
    for name in ("train", "dos"):
        momata("learn", "ngram", f"{name}.txt", "--out", f"{name}.npz", "--order", 2)
        momata("learn", "ngram", f"{name}.txt", "--out", f"{name}-chars.npz", "--chars", "--order", 2)
    assert (folder / "dos.npz").read_bytes() == (folder / "train.npz").read_bytes()
    assert (folder / "dos-chars.npz").read_bytes() == (folder / "train-chars.npz").read_bytes()
    assert momata("score", "dos.npz", "dos.txt").out == momata("score", "train.npz", "train.txt").out


# ---------------------------------------------------------------------- tables


EVENTS = "who,when,what\nx,3,c\ny,1,a\nx,1,a\nx,2,b\ny,2,b\nz,9,c\n"


@pytest.mark.parametrize(
    "options",
    [
        ["--order-by", "when", "--order", "3"],
        ["--order", "when", "--order", "3"],
        ["--order", "3", "--order", "when"],
        ["--order", "when", "--order", "3", "--order-by", "when"],
    ],
    ids=" ".join,
)
def test_order_in_both_its_senses(momata, folder, options):
    pytest.importorskip("pyarrow")
    (folder / "e.csv").write_text(EVENTS)
    (folder / "e.txt").write_text("a b c\na b\nc\n")
    columns = ["--group", "who", "--symbol", "what"]
    momata("learn", "ngram", "e.csv", "--out", "e.npz", *columns, *options)
    momata("learn", "ngram", "e.txt", "--out", "t.npz", "--order", 3)
    assert (folder / "e.npz").read_bytes() == (folder / "t.npz").read_bytes()
    for command in ("score", "predict", "evaluate"):
        for option in ("--order", "--order-by"):
            table = momata(command, "e.npz", "e.csv", *columns, option, "when").out
            assert table == momata(command, "t.npz", "e.txt").out
    in_file_order = momata("score", "e.npz", "e.csv", *columns).out
    assert in_file_order == momata("score", "t.npz", "-", stdin="c a b\na b\nc\n").out


def test_orders_that_contradict_each_other(momata, model, folder):
    (folder / "e.csv").write_text(EVENTS)
    columns = ["--group", "who", "--symbol", "what", "--order", "when", "--order-by", "who"]
    for command in (["learn", "ngram", "e.csv", "--out", "e.npz"], ["score", model, "e.csv"]):
        assert "--order when and --order-by who differ" in momata(*command, *columns, code=2).err


def test_a_number_in_front_of_an_order_is_never_a_column(momata, folder):
    (folder / "e.csv").write_text(EVENTS.replace("when", "2"))
    pytest.importorskip("pyarrow")
    columns = ["--group", "who", "--symbol", "what"]
    momata("learn", "ngram", "e.csv", "--out", "a.npz", *columns, "--order", "2")
    momata("learn", "ngram", "e.csv", "--out", "b.npz", *columns, "--order", "2", "--order-by", "2")
    assert load("a.npz").order == load("b.npz").order == 2
    assert (folder / "a.npz").read_bytes() != (folder / "b.npz").read_bytes()


# ---------------------------------------------------------------------- characters


def test_characters_are_remembered(momata, folder):
    (folder / "words.txt").write_text("abba\nabc\n\ncab a\n")
    momata("learn", "ngram", "words.txt", "--out", "m.npz", "--chars", "--order", 2)
    momata("learn", "ngram", "words.txt", "--out", "f.npz", "--format", "chars", "--order", 2)
    assert (folder / "m.npz").read_bytes() == (folder / "f.npz").read_bytes()
    want = momata("score", "m.npz", "words.txt", "--chars").out
    assert len(want.split()) == 4
    assert momata("score", "m.npz", "words.txt").out == want
    assert momata("predict", "m.npz", "words.txt").out == momata("predict", "m.npz", "words.txt", "--chars").out
    found = momata("evaluate", "m.npz", "words.txt", "--json").json()
    assert found["n_events"] == 4 + 4 + 3 + 5
    drawn = momata("sample", "m.npz", "-n", 200).out
    assert len(drawn.split("\n")) == 201
    assert set(drawn) <= set("abc \n")
    assert any(len(line) > 1 and " " not in line for line in drawn.splitlines())
    spaced = momata("sample", "m.npz", "-n", 20, "--format", "text", code=2)
    assert "holds white space" in spaced.err
    words = momata("score", "m.npz", "words.txt", "--format", "text")  # the format can still be said
    assert words.out != want


# ---------------------------------------------------------------------- bad input


def cut_gzip() -> bytes:
    return gzip.compress(b"a b c\n" * 1000)[:-20]


BAD_FILES = {
    "empty.txt": (b"", "empty.txt: is empty"),
    "mark.txt": (b"\xef\xbb\xbf", "mark.txt: is empty"),
    "lies.pautomac.train": (b"5 2\n1 0\n1 1\n", "lies.pautomac.train, line 1, column 1: .*announces 5 strings, and 2"),
    "more.pautomac.train": (b"1 2\n1 0\n1 1\n", "more.pautomac.train, line 1, column 1: .*announces 1 strings, and 2"),
    "none.pautomac.train": (b"0 2\n", "none.pautomac.train: holds no sequences"),
    "short.pautomac.train": (b"1 2\n3 0 1\n", "short.pautomac.train, line 2, column 1: .*3 symbols, and 2 follow"),
    "negative.pautomac.train": (b"1 2\n2 0 -1\n", "negative.pautomac.train, line 2, column 5: '-1' is negative"),
    "word.pautomac.train": (b"1 2\n2 x 1\n", "word.pautomac.train, line 2, column 3: 'x' is not an integer"),
    "real.pautomac.train": (b"1 2\n2 0 1.5\n", "real.pautomac.train, line 2, column 5: '1.5' is not an integer"),
    "outside.pautomac.train": (b"1 2\n2 0 7\n", "outside.pautomac.train, line 2, column 5: .*'7' is outside the alphabet of 2"),
    "junk.txt": (random.Random(0).randbytes(4000), "junk.txt, line 1, column 1: .*UTF-8"),
    "nul.txt": (b"a b\nc \0 d\n", "nul.txt, line 2, column 3: a NUL byte"),
    "latin.txt": ("a b\nb é\n".encode("latin-1"), "latin.txt, line 2, column 3: byte 0xe9"),
    "wide.txt": ("a b\n".encode("utf-16"), "wide.txt, line 1, column 1: "),
    "stop.txt": (b"a b\nc </s>\n", "stop.txt: '</s>' .line 2, column 3 of stop.txt. marks the end"),
    "start.txt": (b"a b\nc <s>\n", "start.txt: '<s>' .line 2, column 3 of start.txt. marks the start"),
    "cut.txt.gz": (cut_gzip(), "cut.txt.gz: ends in the middle"),
    "plain.txt.gz": (b"a b\n", "plain.txt.gz: is named .gz but"),
    "tail.txt.gz": (gzip.compress(b"a\n") + b"junk", "tail.txt.gz: 4 bytes that are not gzip"),
    "short.conllu": (b"1\ta\t_\n", "short.conllu, line 1, column 6: "),
    "folder": (None, "folder: is a folder"),
    "absent.txt": (None, "absent.txt: there is no such file"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_data(momata, folder, model, name):
    content, message = BAD_FILES[name]
    if name == "folder":
        (folder / name).mkdir()
    elif content is not None:
        (folder / name).write_bytes(content)
    before = {p.name for p in folder.iterdir()}
    done = momata("learn", "ngram", name, "--out", "out.npz", code=1)
    assert done.out == ""
    assert done.err.startswith("momata: ")
    assert done.err.count("\n") == 1
    assert re.search(message, done.err), done.err
    assert {p.name for p in folder.iterdir()} == before
    if name not in ("stop.txt", "start.txt", "outside.pautomac.train"):
        for command in ("score", "predict", "evaluate"):
            assert re.search(message, momata(command, model, name, code=1).err)


BAD_TABLES = {
    "short.csv": (b"who,what\nx,a\ny\n", "short.csv, line 3, column 1: 2 fields are expected"),
    "cell.csv": (b"who,what\nx,a\ny,\n", "cell.csv, line 3: .*column 'what' is empty"),
    "head.csv": (b"who,what\n", "head.csv: holds no sequences"),
    "other.csv": (b"who,else\nx,a\n", "other.csv: there is no column 'what'; the columns are who, else"),
    "twice.csv": (b"who,what,what\nx,a,b\n", "twice.csv: there is more than one column 'what'"),
    "cut.parquet": (b"PAR1xxxx", "cut.parquet: cannot be read as a table"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(momata, folder, name):
    pytest.importorskip("pyarrow")
    content, message = BAD_TABLES[name]
    (folder / name).write_bytes(content)
    done = momata("learn", "ngram", name, "--out", "out.npz", "--group", "who", "--symbol", "what", code=1)
    assert re.search(message, done.err), done.err
    assert [p.name for p in folder.iterdir()] == [name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--group", "who"], "--group and --symbol"),
        (["--column", "x"], "column='x' names a column"),
        (["--format", "events"], "--group and --symbol"),
        (["--chars", "--format", "pautomac"], "format='pautomac' is no text"),
    ],
)
def test_options_that_do_not_fit_the_data(momata, train, options, message):
    assert message in momata("learn", "ngram", train, "--out", "m.npz", *options, code=2).err
    assert not train.with_name("m.npz").exists()


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (".", "is a folder"),
        ("folder/", "is a folder"),
        ("no/such/m.npz", "there is no folder"),
        ("train.txt/m.npz", "train.txt"),
        ("", "is not a file name"),
    ],
)
def test_outputs_that_cannot_be_written(momata, train, folder, out, message):
    (folder / "folder").mkdir()
    for arguments in (["learn", "ngram", train], ["demo"]):
        done = momata(*arguments, "--out", out, "--force", code=2)
        assert message in done.err
        assert done.out == ""
    assert {p.name for p in folder.iterdir()} == {"folder", "train.txt"}


def test_a_folder_without_permission(momata, train, folder):
    if not hasattr(os, "geteuid") or os.geteuid() == 0:
        pytest.skip("a superuser may write anywhere")
    (folder / "closed").mkdir(mode=0o500)
    assert "cannot be written" in momata("learn", "ngram", train, "--out", "closed/m.npz", code=2).err


def test_a_failure_after_reading_leaves_the_old_model(momata, train, folder, monkeypatch):
    (folder / "m.npz").write_bytes(b"old")
    monkeypatch.setattr(
        zipfile.ZipFile, "writestr", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    done = momata("learn", "ngram", train, "--out", "m.npz", "--force", code=2)
    assert "m.npz cannot be written: No space left" in done.err
    assert (folder / "m.npz").read_bytes() == b"old"


def test_too_little_memory_is_said(momata, train, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("momata.learn.ngram.learn_ngram", fail)
    assert "the memory did not suffice" in momata("learn", "ngram", train, "--out", "m.npz", code=1).err


def test_one_sequence_and_only_empty_ones(momata, folder):
    (folder / "one.txt").write_text("a b a b b\n")
    assert momata("learn", "ngram", "one.txt", "--out", "one.npz", "--json").json()["order"] == 3
    (folder / "void.txt").write_text("\n\n\n")
    found = momata("learn", "ngram", "void.txt", "--out", "void.npz", "--json").json()
    assert (found["n_sequences"], found["n_tokens"], found["n_symbols"]) == (3, 0, 0)
    assert momata("sample", "void.npz", "-n", 3).out == "\n\n\n"
    for order in (1, 4):
        momata("learn", "ngram", "void.txt", "--out", "none.npz", "--smoothing", "none", "--order", order, "--force")
        assert momata("score", "none.npz", "void.txt").out == "0.0\n" * 3


@pytest.mark.compiled
def test_a_sequence_of_a_million_symbols(momata, folder):
    symbols = random.Random(0).choices("abcd", k=1_000_000)
    (folder / "long.txt").write_text(" ".join(symbols) + "\n")
    momata("learn", "ngram", "long.txt", "--out", "m.npz")
    (score,) = map(float, momata("score", "m.npz", "long.txt").out.split())
    assert -1.5e6 < score < -1.2e6  # log 4 a symbol, and little less
    assert momata("predict", "m.npz", "long.txt").out.count("\n") == 1


def test_the_method_is_looked_at_before_its_options(momata):
    done = momata("learn", "magic", "train.txt", "--states", "3", "--out", "m.npz", code=2)
    assert "there is no method 'magic'. Use one of: ngram, spectral, nonnegative, residual, em." in done.err
