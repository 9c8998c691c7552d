"""``momata learn em``: its options, what it prints, what it leaves on the disk; and ``--polish``."""

from __future__ import annotations

import json

import numpy as np
import pytest

from momata.core.probabilistic import HMM
from momata.io import load, read_corpus, save
from momata.learn.em import learn_em
from momata.learn.spectral import learn_spectral

pytestmark = pytest.mark.usefixtures("no_leftovers")


def same_weights(one, other) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("initial", "final", "operators"))


def test_the_contract_of_json(momata, train):
    found = momata("learn", "em", train, "--out", "m.npz", "--json", "--states", 3, "--steps", 20).json()
    assert set(found) == {
        "method", "n_states", "statistic", "status", "n_sequences", "n_tokens", "n_symbols", "seconds", "curve", "trace", "model",
    }  # fmt: skip
    assert (found["method"], found["statistic"], found["model"], found["n_states"]) == ("em", "string", "m.npz", 3)
    assert (found["n_sequences"], found["n_tokens"], found["n_symbols"]) == (36, len(train.read_text().split()), 3)
    assert found["status"] in ("OK", "NOT_CONVERGED")
    assert set(found["seconds"]) == {"read", "count", "select", "finish", "write"}
    (entry,) = found["curve"]
    assert set(entry) == {"n_states", "validation_log_prob", "validation_perplexity_per_symbol", "n_steps", "converged"}
    assert {e["stage"] for e in found["trace"]} == {"trial", "run", "finish"}
    assert load("m.npz").wfa.is_probabilistic()


def test_it_is_one_call_of_the_function(momata, train):
    """The model on the disk is the one of Python, to the bit; each option arrives."""
    options = {
        "max_states": 4, "init": "hmm", "restarts": 2, "prior": 0.3, "patience": 4, "temperature": 1.5, "precision": "float32",
        "seed": 4,
    }  # fmt: skip
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    flags = ("--tied", "--hard", "--grow")
    found = momata("learn", "em", train, "--out", "m.npz", "--json", *words, *flags, "--steps", 18).json()
    result = learn_em(read_corpus(train), **options, n_steps=18, tied=True, hard=True, grow=True)
    assert found["curve"] == result.curve
    assert found["trace"] == result.trace
    model = load("m.npz")
    assert same_weights(model.wfa, result.wfa)
    kept = {name: value for name, value in model.training.items() if name != "versions"}
    assert kept == result.model.training | {"chars": False}
    assert HMM.of(model.wfa) is not None


def test_text_names_the_file_and_the_chosen_size(momata, train):
    done = momata("learn", "em", train, "--out", "m.npz", "--max-states", 5, "--steps", 20)
    *table, last = done.out.splitlines()
    assert table[0].split() == ["states", "held-out", "log", "prob"]
    (chosen,) = [row.split() for row in table if row.endswith("*")]
    assert last.startswith(f"m.npz: em, {chosen[0]} states, 3 symbols; status ")


def test_a_status_other_than_ok_is_explained(momata, train):
    done = momata("learn", "em", train, "--out", "m.npz", "--states", 2, "--steps", 2)
    assert "status NOT_CONVERGED" in done.out
    assert done.err.startswith("momata: NOT_CONVERGED: The iteration stopped at its limit of steps")


def test_the_same_seed_gives_the_same_bytes(momata, train, folder):
    for name, seed in [("a", 1), ("b", 1), ("c", 2)]:
        momata("learn", "em", train, "--out", f"{name}.npz", "--seed", seed, "--states", 3, "--steps", 18)
    assert (folder / "a.npz").read_bytes() == (folder / "b.npz").read_bytes()
    assert not same_weights(load("a.npz").wfa, load("c.npz").wfa)
    momata("learn", "em", train, "--out", "d.npz", "--seed", 1, "--states", 3, "--steps", 18, "--threads", 1)
    np.testing.assert_allclose(load("a.npz").wfa.operators, load("d.npz").wfa.operators, rtol=1e-9)


def test_held_out_data(momata, train, folder):
    (folder / "valid.txt").write_text("a b c a\nb zebra\n" * 4)
    found = momata("learn", "em", train, "--out", "m.npz", "--valid", "valid.txt", "--json", "--states", 2).json()
    (folder / "known.txt").write_text("a b c a\n" * 4)
    total = momata("score", "m.npz", "known.txt", "--json").rows()[-1]["total"]["log_prob"]
    assert total == pytest.approx(found["curve"][0]["validation_log_prob"], rel=1e-10)


def test_the_model_goes_through_every_command(momata, train):
    momata("learn", "em", train, "--out", "m.npz", "--states", 3, "--steps", 20)
    info = momata("info", "m.npz", "--json").json()
    assert (info["kind"], info["n_states"], info["training"]["method"]) == ("automaton", 3, "em")
    assert momata("sample", "m.npz", "-n", 5).out.count("\n") == 5
    assert momata("predict", "m.npz", train).out.count("\n") == 36
    assert momata("evaluate", "m.npz", train, "--json").json()["wer"] < 100
    piped = momata("learn", "em", "-", "--out", "-", "--states", 3, "--steps", 20, stdin=train.read_bytes())
    assert piped.raw == train.with_name("m.npz").read_bytes()


@pytest.mark.parametrize("name", ["m.att", "m.json"])
def test_other_formats_keep_the_scores(momata, train, name):
    momata("learn", "em", train, "--out", "m.npz", "--states", 3, "--steps", 20)
    momata("convert", "m.npz", "--out", name)
    one, other = ([float(x) for x in momata("score", model, train).out.split()] for model in ("m.npz", name))
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_plot(momata, train, folder):
    pytest.importorskip("matplotlib")
    momata("learn", "em", train, "--out", "m.npz", "--max-states", 2, "--steps", 5, "--plot", "c.svg")
    assert "<svg" in (folder / "c.svg").read_text()


# ---------------------------------------------------------------------- what it starts from


@pytest.mark.parametrize("init", ["random", "hmm", "left-to-right", "spectral"])
def test_starts_by_name(momata, train, init):
    momata("learn", "em", train, "--out", "m.npz", "--states", 3, "--init", init, "--steps", 5)
    model = load("m.npz")
    assert model.training["init"] == init
    assert (not np.tril(model.wfa.total, -1).any()) == (init == "left-to-right")


def test_a_model_to_start_from(momata, train):
    momata("learn", "em", train, "--out", "first.npz", "--states", 3, "--steps", 3)
    momata("convert", "first.npz", "--out", "first.json")
    found = momata("learn", "em", train, "--out", "m.npz", "--init", "first.json", "--json", "--steps", 5).json()
    assert found["n_states"] == 3
    expected = learn_em(read_corpus(train), init=load("first.npz").wfa, n_steps=5)
    np.testing.assert_allclose(load("m.npz").wfa.operators, expected.wfa.operators, rtol=1e-9)
    assert load("m.npz").training["init"] == "automaton"
    done = momata("learn", "em", train, "--out", "n.npz", "--init", "first.json", "--states", 4, code=2)
    assert "n_states=4, but the automaton to start from has 3" in done.err
    momata("learn", "spectral", train, "--out", "signed.npz", "--states", 4)
    momata("learn", "em", train, "--out", "m.npz", "--force", "--init", "signed.npz", "--steps", 3)
    assert load("m.npz").wfa.n_states == 4


def test_a_model_over_other_symbols_to_start_from(momata, train, folder):
    """Symbols that the data lack are left out, and what remains is a start."""
    (folder / "more.txt").write_text("a b c d\nd a\nb\n" * 9)
    momata("learn", "em", "more.txt", "--out", "first.npz", "--states", 2, "--steps", 5)
    momata("learn", "em", train, "--out", "m.npz", "--init", "first.npz", "--steps", 5)
    assert [*load("m.npz").alphabet] == ["a", "b", "c"]
    assert all(np.isfinite(float(x)) for x in momata("score", "m.npz", train).out.split())


def test_models_that_cannot_start(momata, train):
    done = momata("learn", "em", train, "--out", "m.npz", "--init", "nothing.npz", code=2)
    assert "'nothing.npz' is neither random, hmm, left-to-right or spectral, nor a file that exists" in done.err
    assert "model" in momata("learn", "em", train, "--out", "m.npz", "--init", train, code=1).err


# ---------------------------------------------------------------------- checkpoints

OPTIONS = ("--states", 3, "--steps", 22, "--restarts", 2)


def checkpoint(train, which: int = 2, **options) -> tuple:
    kept: list = []
    result = learn_em(read_corpus(train), 3, **{"n_steps": 22, "restarts": 2} | options, keep=kept.append)
    save(kept[which], "point.npz")
    return kept, result


def test_a_checkpoint_is_kept_and_removed_at_the_end(momata, train, folder, monkeypatch):
    monkeypatch.setattr("momata.cli.learn.CHECKPOINT_SECONDS", -1.0)
    saved = []
    import momata.io as io

    def watch(state, path, *rest, **options):
        saved.append((state.step, str(path)))
        return save(state, path, *rest, **options)

    monkeypatch.setattr(io, "save", watch)
    momata("learn", "em", train, "--out", "m.npz", *OPTIONS, "--checkpoint", "point.npz")
    assert saved == [(step, "point.npz") for step in range(saved[0][0], saved[-1][0] + 1)]
    assert len(saved) >= 2
    assert not (folder / "point.npz").exists()
    momata("learn", "em", train, "--out", "n.npz", *OPTIONS)
    assert (folder / "m.npz").read_bytes() == (folder / "n.npz").read_bytes()


def test_an_interrupted_search_goes_on(momata, train, folder):
    _, whole = checkpoint(train)
    done = momata("learn", "em", train, "--out", "m.npz", *OPTIONS, "--checkpoint", "point.npz")
    assert "momata: going on from point.npz: 3 states, step 18." in done.err
    assert not (folder / "point.npz").exists()
    assert same_weights(load("m.npz").wfa, whole.wfa)
    momata("learn", "em", train, "--out", "n.npz", *OPTIONS)
    assert (folder / "m.npz").read_bytes() == (folder / "n.npz").read_bytes()


def test_an_interruption_leaves_the_last_checkpoint(momata, train, folder, monkeypatch):
    """Whatever stops it: the next call with the same options ends as if nothing had been."""
    monkeypatch.setattr("momata.cli.learn.CHECKPOINT_SECONDS", -1.0)
    import momata.io as io

    def stop(state, path, *rest, **options):
        save(state, path, *rest, **options)
        if state.step == 19:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(io, "save", stop)
        momata("learn", "em", train, "--out", "m.npz", *OPTIONS, "--checkpoint", "point.npz", code=130)
    assert (folder / "point.npz").exists()
    assert not (folder / "m.npz").exists()
    done = momata("learn", "em", train, "--out", "m.npz", *OPTIONS, "--checkpoint", "point.npz")
    assert "going on from point.npz: 3 states, step 19" in done.err
    momata("learn", "em", train, "--out", "n.npz", *OPTIONS)
    assert (folder / "m.npz").read_bytes() == (folder / "n.npz").read_bytes()


def test_a_checkpoint_is_no_model(momata, train, folder):
    checkpoint(train)
    before = (folder / "point.npz").read_bytes()
    for words in (
        ("score", "point.npz", train),
        ("info", "point.npz"),
        ("sample", "point.npz"),
        ("convert", "point.npz", "--out", "x.json"),
    ):
        done = momata(*words, code=1)
        assert "checkpoint" in done.err
    assert (folder / "point.npz").read_bytes() == before


def test_checkpoints_that_do_not_fit(momata, train, folder):
    checkpoint(train)
    words = ("learn", "em", train, "--out", "m.npz", "--checkpoint", "point.npz")
    done = momata(*words, *OPTIONS, "--prior", 0.5, code=2)
    assert "what is to go on was begun with other prior" in done.err
    assert (folder / "point.npz").exists()
    momata("learn", "em", train, "--out", "model.npz", "--states", 2, "--steps", 2)
    done = momata("learn", "em", train, "--out", "m.npz", "--checkpoint", "model.npz", code=2)
    assert "model.npz is no checkpoint but a model" in done.err
    assert (folder / "model.npz").exists()
    (folder / "point.npz").write_bytes(b"PK nonsense")
    momata(*words, *OPTIONS, code=1)
    assert not (folder / "m.npz").exists()


# ---------------------------------------------------------------------- polish


def test_polish(momata, train):
    found = momata("learn", "spectral", train, "--out", "m.npz", "--json", "--states", 3, "--polish", 5).json()
    assert (found["method"], found["status"]) == ("spectral", "OK")
    assert all(entry["stage"] == "polish" for entry in found["trace"])
    assert "polish" in found["seconds"]
    model = load("m.npz")
    expected = learn_spectral(read_corpus(train), 3, polish=5)
    assert model.wfa.is_probabilistic() == (model.training["polish"] > 0) == expected.wfa.is_probabilistic()
    assert found["statistic"] == expected.statistic
    assert same_weights(model.wfa, expected.wfa)
    assert all(float(x) < 0 for x in momata("score", "m.npz", train).out.split())
    momata("learn", "spectral", train, "--out", "rough.npz", "--states", 3)
    assert not load("rough.npz").wfa.is_probabilistic()


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--states", "0"], "0 is no number of states"),
        (["--max-states", "0"], "--max-states"),
        (["--restarts", "0"], "--restarts"),
        (["--prior", "-1"], "--prior"),
        (["--prior", "nan"], "prior"),
        (["--steps", "-1"], "--steps"),
        (["--patience", "0"], "--patience"),
        (["--temperature", "0.5"], "--temperature"),
        (["--precision", "float16"], "'float16' is not one of"),
        (["--order", "3"], "learn em has no option --order"),
        (["--basis", "all"], "learn em has no option --basis"),
        (["--statistic", "string"], "learn em has no option --statistic"),
        (["--select", "wer"], "learn em has no option --select"),
        (["--polish", "3"], "learn em has no option --polish"),
    ],
    ids=" ".join,
)
def test_options_that_cannot_be(momata, train, words, message):
    done = momata("learn", "em", train, "--out", "m.npz", *words, code=2)
    assert message in done.err
    assert not train.with_name("m.npz").exists()


@pytest.mark.parametrize("words", [
    ["--init", "hmm"], ["--restarts", "2"], ["--prior", "1"], ["--steps", "5"], ["--patience", "2"], ["--tied"], ["--hard"],
    ["--temperature", "2"], ["--precision", "float32"], ["--checkpoint", "x"],
], ids=lambda words: words[0])  # fmt: skip
@pytest.mark.parametrize("method", ["ngram", "spectral"])
def test_its_options_are_its_own(momata, train, method, words):
    done = momata("learn", method, train, "--out", "m.npz", *words, code=2)
    assert f"learn {method} has no option {words[0]}" in done.err


@pytest.mark.parametrize("text", ["a b a b b\n", "\n\n\n", "a\n", "a\na a\n", "a\n" * 9])
def test_tiny_data(momata, folder, text):
    (folder / "t.txt").write_text(text)
    found = momata("learn", "em", "t.txt", "--out", "m.npz", "--json", "--steps", 20).json()
    assert found["n_states"] >= 1
    assert all(float(x) <= 1e-12 for x in momata("score", "m.npz", "t.txt").out.split())


def test_a_process_of_its_own(run_cli, tmp_path):
    (tmp_path / "t.txt").write_text("a b\na\n" * 20)
    done = run_cli("learn", "em", "t.txt", "--out", "m.npz", "--json", "--states", 2, "--steps", 5)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["method"] == "em"
