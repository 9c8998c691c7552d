"""``momata learn spectral``: its options, what it prints, what it leaves on the disk."""

from __future__ import annotations

import json

import numpy as np
import pytest

from momata.core.basis import Basis
from momata.core.corpus import Corpus
from momata.io import load, read_corpus, save
from momata.learn.spectral import learn_spectral

pytestmark = pytest.mark.usefixtures("no_leftovers")
STATISTICS = ("string", "prefix", "suffix", "substring")


def test_the_contract_of_json(momata, train):
    found = momata("learn", "spectral", train, "--out", "m.npz", "--json", "--max-states", 5).json()
    assert set(found) >= {
        "method", "n_states", "statistic", "status", "n_sequences", "n_tokens", "n_symbols", "seconds", "curve", "model",
    }  # fmt: skip
    assert (found["method"], found["statistic"], found["model"]) == ("spectral", "substring", "m.npz")
    assert (found["n_sequences"], found["n_tokens"], found["n_symbols"]) == (36, len(train.read_text().split()), 3)
    assert found["status"] in ("OK", "NOT_SUMMABLE", "NEGATIVE_WEIGHTS")
    assert set(found["seconds"]) == {"read", "count", "select", "factorise", "write"}
    assert all(s >= 0 for s in found["seconds"].values())
    assert [entry["n_states"] for entry in found["curve"]] == [1, 2, 3, 4, 5]
    best = max(found["curve"], key=lambda entry: entry["validation_log_prob"])
    assert found["n_states"] == best["n_states"] == load("m.npz").n_states
    assert len(found["singular_values"]) == found["n_states"] + 1


def test_it_is_one_call_of_the_function(momata, train):
    """The model on the disk is the one of Python, to the bit."""
    options = {
        "statistic": "prefix",
        "basis": "length:2",
        "scaling": "sums",
        "svd": "dense",
        "select": "wer",
        "seed": 4,
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    found = momata(
        "learn", "spectral", train, "--out", "m.npz", "--json", *words, "--max-states", 4, "--operators", "selection",
        "--ends", "observed", "--max-length", 3,
    ).json()  # fmt: skip
    corpus = read_corpus(train)
    result = learn_spectral(corpus, max_states=4, operators="selection", ends="observed", max_length=3, **options)
    assert found["curve"] == result.curve
    assert found["singular_values"] == result.singular_values.tolist()
    model = load("m.npz")
    assert np.array_equal(model.wfa.operators, result.wfa.operators)
    assert np.array_equal(model.log_prob(corpus), result.model.log_prob(corpus))
    kept = {name: value for name, value in model.training.items() if name != "versions"}
    assert kept == result.model.training | {"chars": False}


def test_a_number_of_states(momata, train):
    for n in (1, 3):
        found = momata("learn", "spectral", train, "--out", "m.npz", "--force", "--json", "--states", n).json()
        assert (found["n_states"], len(found["curve"])) == (n, 1)
        assert load("m.npz").wfa.n_states == n
    more = momata("learn", "spectral", train, "--out", "m.npz", "--force", "--states", 500)
    assert "RANK_DEFICIENT" in more.out or "NOT_SUMMABLE" in more.out


def test_text_names_the_file_and_the_chosen_size(momata, train):
    done = momata("learn", "spectral", train, "--out", "m.npz", "--max-states", 4, "--scaling", "none,sums")
    *table, last = done.out.splitlines()
    assert table[0].split() == ["states", "scaling", "held-out", "log", "prob"]
    assert len(table) == 9
    (chosen,) = [row.split() for row in table if row.endswith("*")]
    assert last.startswith(f"m.npz: spectral, {chosen[0]} states, 3 symbols; status ")
    best = max(float(row.split()[2]) for row in table[1:])
    assert float(chosen[2]) == best


def test_long_tables_show_the_best(momata, train):
    words = ("--max-states", 8, "--scaling", "none,roots,sums", "--select", "wer")
    done = momata("learn", "spectral", train, "--out", "m.npz", *words)
    *table, more, last = done.out.splitlines()
    assert len(table) == 16
    assert table[0].split()[-2:] == ["held-out", "WER"]
    assert more == "(9 more were tried)"
    assert table[1].endswith("*"), "the best one comes first"
    assert "status" in last


def test_a_status_other_than_ok_is_explained(momata, folder):
    (folder / "t.txt").write_text("a a a a a a a\na a a a a a a a\n")
    done = momata("learn", "spectral", "t.txt", "--out", "m.npz", "--states", 2, "--statistic", "string")
    assert "status NOT_SUMMABLE" in done.out
    assert done.err.startswith("momata: NOT_SUMMABLE: The spectral radius")


@pytest.mark.parametrize(
    "name", ["symbols", "symbols+", "length:2", "top:9", "sample:9", "matching:6", "all", "closed:top:4"]
)
def test_every_basis_by_name(momata, train, name):
    momata("learn", "spectral", train, "--out", "m.npz", "--basis", name, "--states", 2)
    assert load("m.npz").training["basis"] == name
    scores = [float(x) for x in momata("score", "m.npz", train).out.split()]
    assert len(scores) == 36
    assert all(s < 0 for s in scores)


def test_a_basis_from_a_file(momata, train, folder):
    basis = {"prefixes": [[], ["a"], ["b", "a"]], "suffixes": ["", "c", ["a"]]}
    (folder / "own.json").write_text(json.dumps(basis))
    found = momata(
        "learn", "spectral", train, "--out", "m.npz", "--basis", "file:own.json,symbols+", "--states", 2, "--json"
    ).json()
    assert [entry["basis"] for entry in found["curve"]] == ["Basis(3 prefixes, 3 suffixes)", "symbols+"]
    alone = momata(
        "learn", "spectral", train, "--out", "n.npz", "--basis", "file:own.json", "--states", 2, "--json"
    ).json()
    own = Basis.of(["", "a", "ba"], ["", "c", "a"])
    expected = learn_spectral(read_corpus(train), 2, basis=own)
    assert alone["curve"] == expected.curve
    assert np.array_equal(load("n.npz").wfa.operators, expected.wfa.operators)


def test_several_of_each(momata, train):
    words = ("--statistic", "string,substring,string", "--basis", "symbols+,top:20", "--scaling", "none,counts")
    found = momata("learn", "spectral", train, "--out", "m.npz", "--states", 2, "--json", *words).json()
    tried = [(entry["statistic"], entry["basis"], entry["scaling"]) for entry in found["curve"]]
    assert tried == [
        (statistic, basis, scaling)
        for statistic in ("string", "substring")  # once each
        for basis in ("symbols+", "top:20")
        for scaling in ("none", "counts")
    ]
    best = max(found["curve"], key=lambda entry: entry["validation_log_prob"])
    training = load("m.npz").training
    assert found["statistic"] == best["statistic"]
    assert all(training[name] == best[name] for name in ("statistic", "basis", "scaling"))


def test_held_out_data(momata, train, folder):
    (folder / "valid.txt").write_text("a b c a b c a\n" * 4)
    found = momata(
        "learn", "spectral", train, "--out", "m.npz", "--valid", "valid.txt", "--json", "--max-states", 4
    ).json()
    total = momata("score", "m.npz", "valid.txt", "--json").rows()[-1]["total"]["log_prob"]
    assert total == pytest.approx(max(entry["validation_log_prob"] for entry in found["curve"]), rel=1e-12)
    (folder / "zebra.txt").write_text("a b zebra\n")
    momata("learn", "spectral", train, "--out", "z.npz", "--valid", "zebra.txt", "--states", 2)


def test_the_same_seed_gives_the_same_bytes(momata, train, folder):
    for name, seed in [("a", 1), ("b", 1), ("c", 2)]:
        words = ("--seed", seed, "--basis", "sample:20", "--max-states", 3, "--svd", "random")
        momata("learn", "spectral", train, "--out", f"{name}.npz", *words)
    assert (folder / "a.npz").read_bytes() == (folder / "b.npz").read_bytes()
    assert load("a.npz").training["curve"] != load("c.npz").training["curve"]


def test_the_model_goes_through_every_command(momata, train):
    momata("learn", "spectral", train, "--out", "m.npz", "--states", 3)
    info = momata("info", "m.npz", "--json").json()
    assert (info["kind"], info["n_states"], info["training"]["method"]) == ("automaton", 3, "spectral")
    assert momata("sample", "m.npz", "-n", 5).out.count("\n") == 5
    assert momata("predict", "m.npz", train).out.count("\n") == 36
    assert momata("evaluate", "m.npz", train, "--json").json()["wer"] < 100
    piped = momata("learn", "spectral", "-", "--out", "-", "--states", 3, stdin=train.read_bytes())
    assert piped.raw == train.with_name("m.npz").read_bytes()


def test_a_plot(momata, train, folder):
    pytest.importorskip("matplotlib")
    momata("learn", "spectral", train, "--out", "m.npz", "--max-states", 3, "--scaling", "none,sums", "--plot", "c.svg")
    drawing = (folder / "c.svg").read_text()
    assert drawing.lstrip().startswith(("<svg", "<?xml"))
    assert "held-out perplexity per symbol, spectral" in drawing
    assert ">sums<" in drawing
    before = (folder / "m.npz").read_bytes()
    refused = momata("learn", "spectral", train, "--out", "n.npz", "--plot", "c.svg", code=2)
    assert "c.svg exists. Use --force to replace it." in refused.err
    assert not (folder / "n.npz").exists()
    momata("learn", "spectral", train, "--out", "m.npz", "--max-states", 3, "--plot", "c.svg", "--force")
    assert (folder / "c.svg").read_text() != drawing
    assert (folder / "m.npz").read_bytes() != before


def test_a_plot_without_what_draws(momata, train, folder, monkeypatch):
    monkeypatch.setattr("momata.report.plots.is_installed", lambda: False)
    done = momata("learn", "spectral", train, "--out", "m.npz", "--plot", "c.svg", code=2)
    assert 'pip install "momata[report]"' in done.err
    assert not list(folder.glob("*.npz"))


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("text", ["a b a b b\n", "\n\n\n", "a\n", "a\na a\n", "a\n" * 9])
def test_tiny_data(momata, folder, text, statistic):
    (folder / "t.txt").write_text(text)
    found = momata("learn", "spectral", "t.txt", "--out", "m.npz", "--json", "--statistic", statistic).json()
    assert found["n_states"] >= 1
    assert all(float(x) <= 0 for x in momata("score", "m.npz", "t.txt").out.split())
    if not text.strip():
        assert (found["n_states"], found["n_symbols"]) == (1, 0)
        assert momata("sample", "m.npz", "-n", 2).out == "\n\n"


def test_a_model_without_a_backing(momata, folder):
    """As real weights give it: written, and read by the other commands."""
    rows = Corpus.from_sequences(["ab", "b", "a"] * 4, weights=np.linspace(0.5, 2.0, 12))
    result = learn_spectral(rows, 2)
    save(result.model, "m.npz")
    assert load("m.npz").backing is None
    assert momata("score", "m.npz", "-", stdin="a b\n").out.strip() == repr(float(result.model.log_prob(["ab"])[0]))


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--states", "0"], "0 is no number of states. Give a whole number from 1, or auto"),
        (["--states", "-3"], "-3 is no number of states"),
        (["--states", "2.5"], "2.5 is no number of states"),
        (["--states", "1234567890"], "is no number of states"),
        (["--max-states", "0"], "--max-states"),
        (["--max-length", "-1"], "--max-length"),
        (["--order", "3"], "learn spectral has no option --order"),
        (["--smoothing", "none"], "learn spectral has no option --smoothing"),
        (["--statistic", "string,factor"], "'factor' is not one of string, prefix, suffix, substring"),
        (["--statistic", ""], "'' is not one of"),
        (["--scaling", "none,,sums"], "'' is not one of none, roots, sums, counts"),
        (["--basis", "top:3,best"], "basis='best' is not known"),
        (["--basis", "top:3,"], "basis='' is not known"),
        (["--operators", "x"], "'x' is not one of 'shifted', 'selection'"),
        (["--ends", "x"], "'x' is not one of"),
        (["--svd", "x"], "'x' is not one of"),
        (["--select", "x"], "'x' is not one of 'log_prob', 'wer'"),
        (["--seed", "-1"], "--seed"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_options_that_cannot_be(momata, train, words, message):
    done = momata("learn", "spectral", train, "--out", "m.npz", *words, code=2)
    assert message in done.err
    assert not train.with_name("m.npz").exists()


@pytest.mark.parametrize(
    "words", [["--states", "3"], ["--max-states", "3"], ["--statistic", "string"], ["--basis", "all"], ["--max-length", "3"],
              ["--scaling", "none"], ["--operators", "shifted"], ["--ends", "start"], ["--svd", "dense"], ["--select", "wer"]],
    ids=lambda words: words[0],
)  # fmt: skip
def test_its_options_are_its_own(momata, train, words):
    done = momata("learn", "ngram", train, "--out", "m.npz", *words, code=2)
    assert f"learn ngram has no option {words[0]}. It has: --order, --smoothing" in done.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "own.json: there is no such file"),
        ("{", "own.json, line 1, column 2: is no JSON"),
        ('{"prefixes": [""]}', 'own.json: a basis is an object with "prefixes" and "suffixes"'),
        ('{"prefixes": [""], "suffixes": ["z"]}', "'z' in the basis string ('z',) is not in the alphabet of 3 symbols"),
    ],
)
def test_basis_files_that_cannot_be_used(momata, train, folder, content, message):
    if content is not None:
        (folder / "own.json").write_text(content)
    assert message in momata("learn", "spectral", train, "--out", "m.npz", "--basis", "file:own.json", code=1).err
    assert not (folder / "m.npz").exists()


def test_a_block_of_zeros(momata, folder):
    (folder / "t.txt").write_text("a\nb\n" * 5)
    words = ("--statistic", "string", "--basis", "symbols")
    done = momata("learn", "spectral", "t.txt", "--out", "m.npz", *words, code=1)
    assert "the Hankel block of this basis is all 0" in done.err


def test_bars_and_tables_stay_apart(run_cli, tmp_path):
    (tmp_path / "t.txt").write_text("a b\na\n" * 20)
    done = run_cli("learn", "spectral", "t.txt", "--out", "m.npz", "--json", "--max-states", 2)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["method"] == "spectral"
