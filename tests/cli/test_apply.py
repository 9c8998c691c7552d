"""``momata score``, ``predict``, ``evaluate``, ``sample`` and ``info``."""

from __future__ import annotations

import json
import math
import re
import zipfile

import pytest

from momata.io import load

UNKNOWN = "a zebra b\nb\na a gnu\n"


@pytest.fixture
def frequencies(momata, train):
    """Return the file of a model without smoothing, which gives probability 0 to what it has not seen."""
    momata("learn", "ngram", train, "--out", "frequencies.npz", "--order", 2, "--smoothing", "none")
    return train.with_name("frequencies.npz")


# ---------------------------------------------------------------------- score


def test_scores_are_those_of_python(momata, model, train):
    lines = train.read_text().split("\n")[:-1]
    want = load(model).log_prob([line.split() for line in lines]).tolist()
    assert [float(x) for x in momata("score", model, train).out.split("\n")[:-1]] == want
    rows = momata("score", model, train, "--json").rows()
    assert [row["log_prob"] for row in rows[:-1]] == want
    assert rows[-1] == {"total": {"log_prob": pytest.approx(math.fsum(want), rel=1e-12), "n_sequences": len(lines)}}


def test_standard_input_and_a_last_line_without_end(momata, model):
    assert len(momata("score", model, "-", stdin="a b c\n\n").out.split()) == 2
    assert momata("score", model, "-", stdin="a b c").out == momata("score", model, "-", stdin="a b c\n").out


def test_probability_zero(momata, frequencies):
    text = momata("score", frequencies, "-", stdin="a c\na b\n").out.splitlines()
    assert text[0] == "-inf"
    assert math.isfinite(float(text[1]))
    rows = momata("score", frequencies, "-", "--json", stdin="a c\na b\n").rows()
    assert rows == [
        {"log_prob": None},
        {"log_prob": float(text[1])},
        {"total": {"log_prob": None, "n_sequences": 2}},
    ]


# ---------------------------------------------------------------------- unknown symbols


@pytest.mark.parametrize("command", ["score", "predict", "evaluate"])
def test_unknown_symbols_refused(momata, model, frequencies, folder, command):
    (folder / "test.txt").write_text("a b\n\nb a zebra gnu\n")
    for options in ([model, "--unknown", "error"], [frequencies], [frequencies, "--unknown", "share"]):
        done = momata(command, options[0], "test.txt", *options[1:], code=1)
        assert "symbol 'zebra' (line 3, column 5 of test.txt) is not in the model's alphabet" in done.err
        assert "--unknown skip" in done.err
        assert done.out == ""
    (folder / "test.txt").write_bytes("ä ö\n".encode())
    assert "'ä' (line 1, column 1 of test.txt)" in momata(command, frequencies, "test.txt", code=1).err
    done = momata(command, frequencies, "-", stdin="a\na zebra\n", code=1)
    assert "'zebra' (line 2, symbol 2 of standard input)" in done.err


def test_unknown_symbols_in_other_formats(momata, frequencies, folder):
    (folder / "t.pautomac.test").write_text("2 9\n1 0\n3 1 1 8\n")
    done = momata("score", frequencies, "t.pautomac.test", code=1)
    assert "symbol 0 (line 2, column 3 of t.pautomac.test)" in done.err
    done = momata("score", frequencies, "-", "--chars", stdin="ab\nabx\n", code=1)
    assert "'x' (line 2, symbol 3 of standard input)" in done.err
    (folder / "c.txt").write_text("ab\ncéx\n")
    momata("learn", "ngram", "-", "--chars", "--smoothing", "none", "--out", "c.npz", stdin="abcé\n")
    assert "'x' (line 2, column 3 of c.txt)" in momata("score", "c.npz", "c.txt", code=1).err


def test_unknown_symbols_skipped_mapped_and_shared(momata, model, frequencies):
    for one in (model, frequencies):
        skipped = momata("score", one, "-", "--unknown", "skip", stdin=UNKNOWN).out
        assert skipped == momata("score", one, "-", stdin="a b\nb\na a\n").out
        mapped = momata("score", one, "-", "--unknown", "map=c", stdin=UNKNOWN).out
        assert mapped == momata("score", one, "-", stdin="a c b\nb\na a c\n").out
    shared = momata("score", model, "-", stdin=UNKNOWN).out
    assert shared == momata("score", model, "-", "--unknown", "share", stdin=UNKNOWN).out
    assert shared == momata("score", model, "-", stdin=UNKNOWN.replace("zebra", "<unk>").replace("gnu", "<unk>")).out
    first, second, _ = map(float, shared.split())
    assert first < second
    assert math.isfinite(first)


def test_unknown_symbols_are_counted(momata, model):
    for policy, n_events in [("skip", 3 + 2 + 3), ("share", 4 + 2 + 4), ("map=a", 4 + 2 + 4)]:
        found = momata("evaluate", model, "-", "--unknown", policy, "--json", stdin=UNKNOWN).json()
        assert (found["unknown_symbols"], found["n_events"]) == (2, n_events)


def test_policies_that_are_none(momata, model):
    for policy in ("map=", "drop", "", "Skip"):
        done = momata("score", model, "-", "--unknown", policy, stdin=UNKNOWN, code=2)
        assert f"unknown={policy!r}" in done.err
        assert momata("score", model, "-", "--unknown", policy, stdin="a b c\n", code=2).err == done.err
    done = momata("score", model, "-", "--unknown", "map=lion", stdin=UNKNOWN, code=1)
    assert "'lion', which is not in the model's alphabet" in done.err


def test_alphabets_of_numbers_and_of_texts_agree(momata, folder):
    (folder / "n.pautomac.train").write_text("3 4\n2 0 1\n1 3\n3 0 0 1\n")
    momata("learn", "ngram", "n.pautomac.train", "--out", "n.npz", "--order", 2)
    numbers = momata("score", "n.npz", "n.pautomac.train").out
    assert momata("score", "n.npz", "-", "--format", "text", stdin="0 1\n3\n0 0 1\n").out == numbers
    done = momata("score", "n.npz", "-", stdin="0 1 4\n", code=1)  # a declared alphabet leaves no share for others
    assert "'4' (line 1, symbol 3 of standard input)" in done.err


# ---------------------------------------------------------------------- predict


def test_the_likeliest_next_symbols(momata, model):
    want = load(model).next_symbol("ab")
    shown = {"a", "b", "c", "</s>"}
    out = momata("predict", model, "-", "--top", 4, stdin="a b\n\n").out.splitlines()
    assert len(out) == 2
    pairs = [pair.split(" ") for pair in out[0].split("\t")]
    assert {name for name, _ in pairs} == shown
    for name, p in pairs:
        assert float(p) == pytest.approx(want[name], rel=1e-5)  # six digits are printed
    assert [float(p) for _, p in pairs] == sorted((float(p) for _, p in pairs), reverse=True)
    rows = momata("predict", model, "-", "--top", 4, "--json", stdin="a b\n\n").rows()
    assert {entry["symbol"]: entry["probability"] for entry in rows[0]["next"]} == {s: want[s] for s in shown}


@pytest.mark.parametrize("top", [1, 2, 3, 4, 5, 1000, 10**30])
def test_top(momata, model, top):
    row = momata("predict", model, "-", "--top", top, stdin="a\n").out.strip("\n").split("\t")
    assert len(row) == min(top, 4), "the share for unknown symbols is none of them"
    assert momata("predict", model, "-", "--top", 4, stdin="a\n").out.strip("\n").split("\t")[:top] == row


def test_more_prefixes_than_are_held_in_memory(momata, model, monkeypatch):
    prefixes = "a b\n\nc\na zebra\n" * 5
    want = momata("predict", model, "-", stdin=prefixes).out
    assert want.count("\n") == 20
    monkeypatch.setattr("momata.cli.apply._BATCH", 3)
    assert momata("predict", model, "-", stdin=prefixes).out == want


# ---------------------------------------------------------------------- evaluate


def test_the_contract_of_evaluate(momata, model, train):
    scores = [float(x) for x in momata("score", model, train).out.split()]
    lines = train.read_text().split("\n")[:-1]
    n_events = sum(len(line.split()) + 1 for line in lines)
    found = momata("evaluate", model, train, "--json").json()
    assert found["n_sequences"] == len(lines)
    assert found["n_events"] == n_events
    assert found["unknown_symbols"] == 0
    assert found["n_states"] == load(model).n_states
    assert found["log_prob"] == pytest.approx(sum(scores), rel=1e-12)
    assert found["perplexity_per_symbol"] == pytest.approx(math.exp(-sum(scores) / n_events), rel=1e-12)
    assert found["perplexity_per_string"] == pytest.approx(math.exp(-sum(scores) / len(lines)), rel=1e-12)
    assert 0 <= found["wer"] <= 100
    assert "perplexity" not in found
    table = dict(line.split() for line in momata("evaluate", model, train).out.splitlines())
    assert list(table) == list(found)
    assert float(table["wer"]) == pytest.approx(found["wer"], rel=1e-5)  # six digits are printed


@pytest.fixture
def by_hand(momata, folder):
    """Return a unigram model with p(0) = 0.4, p(1) = 0.2 and 0.4 for the end, and write files to measure it on."""
    (folder / "h.pautomac.train").write_text("2 2\n1 0\n2 0 1\n")
    momata("learn", "ngram", "h.pautomac.train", "--out", "h.npz", "--order", 1, "--smoothing", "none")
    (folder / "h.pautomac.test").write_text("3 2\n1 0\n0\n2 1 0\n")
    (folder / "solution.txt").write_text("3\n0.05\n0.03\n0.02\n")
    return "h.npz"


def test_perplexity_against_a_target_by_hand(momata, by_hand):
    q = [0.4 * 0.4, 0.4, 0.2 * 0.4 * 0.4]
    p = [0.5, 0.3, 0.2]  # 0.05, 0.03, 0.02, normalised
    want = 2 ** -sum(a * math.log2(b / sum(q)) for a, b in zip(p, q, strict=True))
    found = momata("evaluate", by_hand, "h.pautomac.test", "--target", "solution.txt", "--json").json()
    assert found["perplexity"] == pytest.approx(want, rel=1e-12)
    assert found["log_prob"] == pytest.approx(sum(map(math.log, q)), rel=1e-12)
    # likeliest is always 0, the lower of two equals: right once in "0 end", never in "end", once in "1 0 end"
    assert found["wer"] == pytest.approx(100 * 4 / 6, rel=1e-12)
    text = momata("evaluate", by_hand, "h.pautomac.test", "--target", "solution.txt").out
    assert float(text.split()[1]) == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        ("2\n0.5\n0.5\n", "the target has 2 probabilities for 3 sequences"),
        ("3\n0.5\n0.5\n", "solution.txt, line 1, column 1: .*announces 3 probabilities, and 2"),
        ("3\n0.5\nx\n0.2\n", "solution.txt, line 3, column 1: 'x' is not"),
        ("3\n0.5\n-0.1\n0.2\n", "solution.txt, line 3, column 1: '-0.1' is not a probability"),
        ("3\n0.5\nnan\n0.2\n", "solution.txt, line 3, column 1: 'nan' is not"),
        ("3\n0\n0\n0\n", "not all 0"),
        ("", "solution.txt, line 1, column 1: is empty"),
    ],
)
def test_solutions_that_cannot_be_used(momata, by_hand, folder, solution, message):
    (folder / "solution.txt").write_text(solution)
    done = momata("evaluate", by_hand, "h.pautomac.test", "--target", "solution.txt", code=None)
    assert done.code in (1, 2)
    assert re.search(message, done.err), done.err
    assert done.out == ""


def test_ranking_by_hand(momata, by_hand, folder):
    (folder / "p.txt").write_text("2 2\n1 0\n0\n")
    (folder / "targets.txt").write_text("0.9 0 0.6 -1 0.3 1 0.1\n1.0 -1 1.0\n")
    # the model ranks 0, then 1 and the end by 0.2 and 0.4: so 0, end, 1
    both = [(0.6 + 0.3 / math.log2(3) + 0.1 / 2) / 0.9, (1 / math.log2(3)) / 1.0]
    options = ["p.txt", "--format", "spice", "--ranking", "targets.txt", "--json"]
    found = momata("evaluate", by_hand, *options).json()
    assert found["ndcg"] == pytest.approx(sum(both) / 2, rel=1e-12)
    assert (found["k"], found["n_prefixes"]) == (5, 2)
    assert momata("evaluate", by_hand, *options, "--k", 1).json()["ndcg"] == pytest.approx(0.6 / 0.9 / 2, rel=1e-12)
    two = [(0.6 + 0.3 / math.log2(3)) / 0.9, (1 / math.log2(3)) / 1.0]
    assert momata("evaluate", by_hand, *options, "--k", 2).json()["ndcg"] == pytest.approx(sum(two) / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ("0.9 0 0.6\n", "1 rankings for 2 prefixes"),
        ("0.9 0 0.6\n0.9 0\n", "targets.txt, line 2"),
        ("0.9 0 0.6\n0 0 0.5\n", "targets.txt, line 2, column 1: the ideal gain is 0"),
        ("0.9 0 0.6\n1 x 0.5\n", "targets.txt, line 2, column 3: 'x' is not a symbol"),
        ("0.9 0 0.6\n1 0 2\n", "targets.txt, line 2, column 5: '2' is not a probability"),
    ],
)
def test_rankings_that_cannot_be_used(momata, by_hand, folder, targets, message):
    (folder / "p.pautomac.test").write_text("2 2\n1 0\n0\n")
    (folder / "targets.txt").write_text(targets)
    done = momata("evaluate", by_hand, "p.pautomac.test", "--ranking", "targets.txt", code=1)
    assert message in done.err


def test_what_does_not_exist_is_null(momata, frequencies, folder):
    (folder / "s.txt").write_text("2\n0.5\n0.5\n")
    done = momata("evaluate", frequencies, "-", "--json", "--target", "s.txt", stdin="a c\na b\n")
    found = done.json()
    assert [k for k, v in found.items() if v is None] == [
        "perplexity", "perplexity_per_string", "perplexity_per_symbol", "log_prob",
    ]  # fmt: skip
    assert "inf" in momata("evaluate", frequencies, "-", stdin="a c\na b\n").out


# ---------------------------------------------------------------------- sample


def test_samples(momata, model):
    drawn = momata("sample", model, "-n", 50, "--seed", 3).out
    assert len(drawn.split("\n")) == 51
    assert drawn == momata("sample", model, "-n", 50, "--seed", 3).out
    assert drawn != momata("sample", model, "-n", 50, "--seed", 4).out
    assert drawn.splitlines() == [" ".join(s) for s in load(model).sample(50, seed=3)]
    assert set(drawn.split()) <= set("abc")
    assert momata("sample", model, "-n", 0).out == ""
    assert momata("sample", model).out.count("\n") == 10
    assert len(momata("score", model, "-", stdin=drawn).out.split()) == 50


def test_samples_in_other_formats(momata, model, by_hand):
    drawn = momata("sample", by_hand, "--format", "pautomac").out
    head, *rows = drawn.splitlines()
    assert head == "10 2"
    assert all(int(row.split()[0]) == len(row.split()) - 1 for row in rows)
    assert len(momata("score", by_hand, "-", "--format", "pautomac", stdin=drawn).out.split()) == 10
    assert momata("sample", model, "--format", "chars").out == momata("sample", model).out.replace(" ", "")
    assert "is not a whole number" in momata("sample", model, "--format", "pautomac", code=2).err


def test_samples_that_do_not_end(momata, model, folder):
    done = momata("sample", model, "-n", 100, "--max-length", 1, code=1)
    assert "did not end within max_length=1" in done.err
    assert done.out == ""


# ---------------------------------------------------------------------- info


def test_info(momata, model):
    found = momata("info", model, "--json").json()
    assert (found["kind"], found["order"], found["smoothing"], found["statistic"]) == ("ngram", 3, "kn", "string")
    assert found["training"]["seed"] == 0
    assert found["training"]["versions"]["momata"]
    text = momata("info", model).out
    for word in ("order", "smoothing", "seed 0", "versions", "numba", "a b c"):
        assert word in text


# ---------------------------------------------------------------------- models that are none


BAD_MODELS = {
    "pickle.npz": (b"\x80\x04\x95\x1a\0\0\0\0\0\0\0\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.", "pickle"),
    "text.npz": (b"a b c\n", "not a model file"),
    "empty.npz": (b"", "not a model file"),
    "cut.npz": (None, "damaged or truncated"),
    "absent.npz": (None, "there is no such file"),
}


@pytest.mark.parametrize("name", BAD_MODELS)
@pytest.mark.parametrize("command", ["score", "predict", "evaluate", "sample", "info"])
def test_bad_models(momata, model, train, folder, name, command):
    content, message = BAD_MODELS[name]
    if name == "cut.npz":
        content = model.read_bytes()[: model.stat().st_size // 2]
    if content is not None:
        (folder / name).write_bytes(content)
    before = {p.name for p in folder.iterdir()}
    done = momata(command, name, *([train] if command in ("score", "predict", "evaluate") else []), code=1)
    assert done.err.startswith(f"momata: {name}: ")
    assert message in done.err
    assert done.out == ""
    assert {p.name for p in folder.iterdir()} == before


def test_a_model_from_a_newer_version(momata, model, train, folder):
    with zipfile.ZipFile(model) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["model.json"] = json.dumps(json.loads(members["model.json"]) | {"version": 2}).encode()
    with zipfile.ZipFile("newer.npz", "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    done = momata("score", "newer.npz", train, code=1)
    assert "newer.npz: written in format version 2" in done.err
    assert "Upgrade momata" in done.err
