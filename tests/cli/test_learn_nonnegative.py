"""``momata learn nonnegative`` and ``momata learn residual``: options, what they print, what they leave on the disk."""

from __future__ import annotations

import numpy as np
import pytest

from momata.core.probabilistic import PFA
from momata.io import load, read_corpus
from momata.learn.nonnegative import learn_nonnegative, learn_residual

pytestmark = pytest.mark.usefixtures("no_leftovers")
METHODS = ["nonnegative", "residual"]
both = pytest.mark.parametrize("method", METHODS)


@both
def test_the_contract_of_json(momata, train, method):
    found = momata("learn", method, train, "--out", "m.npz", "--json", "--max-states", 5).json()
    assert set(found) >= {
        "method", "n_states", "statistic", "status", "n_sequences", "n_tokens", "n_symbols", "seconds", "curve", "model",
    }  # fmt: skip
    assert "singular_values" not in found
    assert (found["method"], found["statistic"], found["model"]) == (method, "substring", "m.npz")
    assert (found["n_sequences"], found["n_tokens"], found["n_symbols"]) == (36, len(train.read_text().split()), 3)
    assert found["status"] == "OK"
    assert set(found["seconds"]) == {"read", "count", "select", "factorise", "write"}
    sizes = [entry["n_states"] for entry in found["curve"]]
    assert sizes == [1, 2, 3, 4, 5][: len(sizes)]
    assert len(sizes) == 5 or method == "residual", "of so few sequences few prefixes are frequent enough"
    best = max(found["curve"], key=lambda entry: entry["validation_log_prob"])
    model = load("m.npz")
    assert found["n_states"] == best["n_states"] == model.n_states
    assert model.wfa.is_probabilistic()


def test_nonnegative_is_one_call_of_the_function(momata, train):
    """The model on the disk is the one of Python, to the bit."""
    options = {"statistic": "prefix", "basis": "length:2", "scaling": "sums", "nmf": "anls", "select": "wer", "seed": 4}
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    found = momata(
        "learn", "nonnegative", train, "--out", "m.npz", "--json", *words, "--max-states", 4, "--operators", "selection",
        "--max-length", 3, "--restarts", 2, "--polish", 3,
    ).json()  # fmt: skip
    corpus = read_corpus(train)
    result = learn_nonnegative(
        corpus, max_states=4, operators="selection", max_length=3, restarts=2, polish=3, **options
    )
    assert_same(found, result, corpus)


def test_residual_is_one_call_of_the_function(momata, train):
    words = ("--statistic", "string,substring", "--basis", "all", "--scaling", "none", "--max-states", 4, "--seed", 2)
    found = momata("learn", "residual", train, "--out", "m.npz", "--json", *words, "--max-length", 2).json()
    corpus = read_corpus(train)
    result = learn_residual(
        corpus, max_states=4, max_length=2, statistic=["string", "substring"], basis="all", scaling="none", seed=2
    )
    assert_same(found, result, corpus)


def assert_same(found, result, corpus) -> None:
    assert found["curve"] == result.curve
    model = load("m.npz")
    assert np.array_equal(model.wfa.operators, result.wfa.operators)
    assert np.array_equal(model.log_prob(corpus), result.model.log_prob(corpus))
    kept = {name: value for name, value in model.training.items() if name != "versions"}
    assert kept == result.model.training | {"chars": False}


@both
def test_the_same_seed_gives_the_same_bytes(momata, train, folder, method):
    for name, seed in [("a", 1), ("b", 1), ("c", 2)]:
        momata("learn", method, train, "--out", f"{name}.npz", "--seed", seed, "--max-states", 3, "--polish", 2)
    assert (folder / "a.npz").read_bytes() == (folder / "b.npz").read_bytes()
    assert load("a.npz").training["curve"] != load("c.npz").training["curve"]


@both
def test_text_names_the_file_and_the_chosen_size(momata, train, method):
    done = momata("learn", method, train, "--out", "m.npz", "--max-states", 4)
    *table, last = done.out.splitlines()
    assert table[0].split() == ["states", "held-out", "log", "prob"]
    (chosen,) = [row.split() for row in table if row.endswith("*")]
    assert last == f"m.npz: {method}, {chosen[0]} states, 3 symbols; status OK"


@both
def test_the_model_goes_through_every_command(momata, train, method):
    momata("learn", method, train, "--out", "m.npz", "--states", 3)
    info = momata("info", "m.npz", "--json").json()
    assert (info["kind"], info["n_states"], info["training"]["method"]) == ("automaton", 3, method)
    assert momata("sample", "m.npz", "-n", 5).out.count("\n") == 5
    assert momata("predict", "m.npz", train).out.count("\n") == 36
    assert momata("evaluate", "m.npz", train, "--json").json()["wer"] < 100
    piped = momata("learn", method, "-", "--out", "-", "--states", 3, stdin=train.read_bytes())
    assert piped.raw == train.with_name("m.npz").read_bytes()
    assert isinstance(PFA.of(load("m.npz").wfa), PFA)


@both
def test_too_many_states_are_explained(momata, train, method):
    done = momata("learn", method, train, "--out", "m.npz", "--states", 500)
    assert "status RANK_DEFICIENT" in done.out
    assert done.err.startswith("momata: RANK_DEFICIENT: ")


@both
@pytest.mark.parametrize("text", ["a b a b b\n", "\n\n\n", "a\n", "a\na a\n"])
def test_tiny_data(momata, folder, text, method):
    (folder / "t.txt").write_text(text)
    found = momata("learn", method, "t.txt", "--out", "m.npz", "--json").json()
    assert found["n_states"] >= 1
    assert all(float(x) <= 1e-12 for x in momata("score", "m.npz", "t.txt").out.split())
    if not text.strip():
        assert (found["n_states"], found["n_symbols"]) == (1, 0)


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("method", "words", "message"),
    [
        *[(method, ["--states", "0"], "0 is no number of states") for method in METHODS],
        *[(method, ["--polish", "-1"], "--polish") for method in METHODS],
        *[(method, ["--svd", "dense"], f"learn {method} has no option --svd. It has: --states") for method in METHODS],
        *[(method, ["--ends", "start"], f"learn {method} has no option --ends") for method in METHODS],
        *[(method, ["--order", "3"], f"learn {method} has no option --order") for method in METHODS],
        *[(method, ["--statistic", "factor"], "'factor' is not one of string, prefix") for method in METHODS],
        ("residual", ["--nmf", "cd"], "learn residual has no option --nmf"),
        ("residual", ["--restarts", "2"], "learn residual has no option --restarts"),
        ("residual", ["--operators", "shifted"], "learn residual has no option --operators"),
        ("spectral", ["--nmf", "cd"], "learn spectral has no option --nmf"),
        ("em", ["--nmf", "cd"], "learn em has no option --nmf"),
        ("nonnegative", ["--nmf", "mu"], "'mu' is not one of 'cd', 'anls'"),
        ("nonnegative", ["--operators", "x"], "'x' is not one of 'shifted', 'selection'"),
        ("nonnegative", ["--restarts", "0"], "--restarts"),
        ("nonnegative", ["--prior", "1"], "learn nonnegative has no option --prior"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_options_that_cannot_be(momata, train, method, words, message):
    done = momata("learn", method, train, "--out", "m.npz", *words, code=2)
    assert message in done.err
    assert not train.with_name("m.npz").exists()


@both
def test_bases_that_cannot_be(momata, train, folder, method):
    done = momata("learn", method, train, "--out", "m.npz", "--basis", "symbols", code=1)
    assert "need the empty string among the suffixes" in done.err
    (folder / "t.txt").write_text("a a a a a a\n" * 5)
    words = ("--statistic", "string", "--basis", "symbols+")
    done = momata("learn", method, "t.txt", "--out", "m.npz", *words, code=1)
    assert "the Hankel block of this basis is all 0" in done.err
    assert not (folder / "m.npz").exists()
