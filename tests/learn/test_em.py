"""EM as a learner: the search, going on after a stop, odd data, and batches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from momata.core.alphabet import Alphabet
from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes
from momata.core.expectation import log_likelihood
from momata.core.plan import plan_walk
from momata.core.probabilistic import HMM, PFA, random_pfa
from momata.core.wfa import WFA
from momata.errors import AlphabetError, DataError, OptionError
from momata.io import load, save
from momata.learn.em import FINISH, LADDER, TOLERANCE, TRIAL_STEPS, EMState, learn_em, learn_online, polish
from momata.learn.em_step import EMStep, event_shares, random_start
from momata.learn.result import Status
from momata.learn.selection import hold_out
from momata.predict.language_model import LanguageModel
from momata.threads import limit_threads

SOURCE = PFA(
    [1.0, 0.0, 0.0],
    [0.05, 0.1, 0.5],
    [[[0.05, 0.8, 0.0], [0.1, 0.0, 0.0], [0.0, 0.05, 0.05]], [[0.1, 0.0, 0.0], [0.0, 0.1, 0.7], [0.3, 0.0, 0.1]]],
    Alphabet("ab", closed=True),
)
DATA = LanguageModel(SOURCE).sample(400, seed=0)
FRESH = LanguageModel(SOURCE).sample(2000, seed=1)
QUICK = {"n_states": 3, "n_steps": 25, "restarts": 2}


def assert_same(one, other) -> None:
    """Two results, to the bit."""
    for name in ("initial", "final", "operators"):
        assert np.array_equal(getattr(one.wfa, name), getattr(other.wfa, name)), name
    assert one.curve == other.curve
    assert one.trace == other.trace
    assert one.status == other.status


def assert_sound(result) -> None:
    """A PFA without NaN that every string over its alphabet has a finite score under."""
    assert result.wfa.is_probabilistic()
    assert all(np.all(np.isfinite(getattr(result.wfa, name))) for name in ("initial", "final", "operators"))
    assert not any(np.isnan(entry["log_likelihood"]) for entry in result.trace)
    assert not any(np.isnan(entry["validation_log_prob"]) for entry in result.curve)
    assert result.n_states == result.wfa.n_states == result.model.n_states
    assert result.status in (Status.OK, Status.NOT_CONVERGED)


def per_event(model, corpus: Corpus) -> float:
    return float(model.log_prob(corpus).sum() / (corpus.n_tokens + len(corpus)))


# ---------------------------------------------------------------------- the result


def test_it_finds_the_source():
    """States chosen; as good as the source on fresh strings, within what 400 strings can tell."""
    result = learn_em(DATA, max_states=10)
    assert_sound(result)
    assert result.method == "em"
    assert result.statistic == "string"
    assert result.status is Status.OK
    truth, found = per_event(LanguageModel(SOURCE), FRESH), per_event(result.model, FRESH)
    one_state = per_event(learn_em(DATA, n_states=1).model, FRESH)
    n_events = DATA.n_tokens + len(DATA)
    assert found > truth - 30 / n_events  # about as many free weights lose half a nat each
    assert found > one_state + 0.5 * (truth - one_state)
    assert 2 <= result.n_states <= 10


def test_every_string_has_a_score():
    result = learn_em(DATA, **QUICK)
    first, second = DATA.alphabet.symbols
    unseen = [[], [first] * 40, [second] * 60, [first, second, second] * 50]
    assert np.all(np.isfinite(result.model.log_prob(unseen)))


def test_curve_and_trace():
    seen = []
    result = learn_em(DATA, max_states=3, n_steps=30, restarts=2, callback=seen.append)
    assert seen == result.trace
    assert [e["n_states"] for e in result.curve] == [1, 2, 3][: len(result.curve)]
    held_out = hold_out(DATA, 0.1, 0)[1]
    n_events = held_out.n_tokens + len(held_out)
    for entry in result.curve:
        assert set(entry) == {
            "n_states", "validation_log_prob", "validation_perplexity_per_symbol", "n_steps", "converged",
        }  # fmt: skip
        assert entry["validation_perplexity_per_symbol"] == pytest.approx(
            np.exp(-entry["validation_log_prob"] / n_events)
        )
        runs = [e for e in result.trace if e["stage"] == "run" and e["n_states"] == entry["n_states"]]
        assert max(e["validation_log_prob"] for e in runs) <= entry["validation_log_prob"]
        (own,) = [e for e in runs if e["step"] == entry["n_steps"]] or [
            {"validation_log_prob": entry["validation_log_prob"]}
        ]
        assert own["validation_log_prob"] == entry["validation_log_prob"]
        assert [e["step"] for e in runs] == list(range(TRIAL_STEPS + 1, TRIAL_STEPS + 1 + len(runs)))
        trials = [
            (e["start"], e["step"])
            for e in result.trace
            if e["stage"] == "trial" and e["n_states"] == entry["n_states"]
        ]
        assert trials == [(start, step) for start in (0, 1) for step in range(TRIAL_STEPS)]
    best = max(result.curve, key=lambda e: e["validation_log_prob"])
    assert result.n_states == best["n_states"]
    assert [e["stage"] for e in result.trace[-FINISH:]] == ["finish"] * FINISH
    assert result.trace[-FINISH - 1]["stage"] == "run"
    assert set(result.seconds) == {"count", "select", "finish"}
    assert result.model.training["curve"] == result.curve
    assert result.model.training["n_states"] == result.n_states


def test_likelihood_in_the_trace_never_falls():
    result = learn_em(DATA, n_states=4, prior=0.0, n_steps=60)
    for stage, start in (("trial", 0), ("trial", 1), ("trial", 2), ("run", None), ("finish", None)):
        logs = [e["log_likelihood"] for e in result.trace if e["stage"] == stage and e.get("start") == start]
        assert len(logs) >= 5
        assert np.all(np.diff(logs) >= -1e-9 * abs(logs[0])), stage


def test_the_best_start_goes_on():
    one = learn_em(DATA, n_states=3, restarts=4, n_steps=TRIAL_STEPS + 1)
    scores = {}
    train, held_out = (plan_walk(count_prefixes(c)) for c in hold_out(DATA, 0.1, 0))
    for entry in one.trace:
        if entry["stage"] == "trial":
            scores[entry["start"]] = entry["log_likelihood"]
    (run,) = [e for e in one.trace if e["stage"] == "run"]
    assert run["step"] == TRIAL_STEPS + 1
    assert len(scores) == 4
    assert min(scores.values()) < run["log_likelihood"]
    assert train.n_strings + held_out.n_strings == len(DATA)


def test_not_converged():
    result = learn_em(DATA, n_states=3, n_steps=3)
    assert result.status is Status.NOT_CONVERGED
    assert not result.curve[0]["converged"]
    assert [e["stage"] for e in result.trace] == ["run"] * 3 + ["finish"] * 3
    none = learn_em(DATA, n_states=3, n_steps=0)
    assert none.status is Status.NOT_CONVERGED
    assert none.trace == []
    np.testing.assert_allclose(none.wfa.final, event_shares(DATA)[-1], rtol=1e-9)


def test_patience():
    short, long = (learn_em(DATA, n_states=3, patience=p, restarts=1) for p in (1, 20))
    n_short, n_long = (sum(e["stage"] == "run" for e in r.trace) for r in (short, long))
    assert n_short < n_long
    assert long.curve[0]["validation_log_prob"] >= short.curve[0]["validation_log_prob"]


def test_steps_that_gain_little_count_together():
    """Patience ends when so many steps in a row stay within 1e-5 of the last mark, not of the step before."""
    shares, held_out = event_shares(DATA), plan_walk(count_prefixes(hold_out(DATA, 0.1, 0)[1]))
    for n, patience in ((3, 2), (4, 4), (6, 5)):
        result = learn_em(DATA, n_states=n, restarts=1, patience=patience)
        start = random_start("random", n, DATA.alphabet, shares, np.random.default_rng([0, n]))
        mark, last_gain = log_likelihood(held_out, start), 0
        scores = [e["validation_log_prob"] for e in result.trace if e["stage"] == "run"]
        for step, score in enumerate(scores, 1):
            assert step - 1 - last_gain < patience, "it should have stopped before"
            if score > mark + TOLERANCE * abs(mark):
                mark, last_gain = score, step
        assert len(scores) - last_gain == patience
        assert result.status is Status.OK


def test_the_ladder_stops_when_more_states_do_not_help():
    rows = LanguageModel(random_pfa(1, 2, seed=0)).sample(300, seed=0)
    result = learn_em(rows, n_steps=20)
    assert [e["n_states"] for e in result.curve] == list(LADDER[: len(result.curve)])
    assert len(result.curve) < 6, "one state made the data"
    scores = [e["validation_log_prob"] for e in result.curve]
    assert len(result.curve) - 1 - int(np.argmax(scores)) == 2
    assert [e["n_states"] for e in learn_em(rows, max_states=2, n_steps=5).curve] == [1, 2]
    assert [e["n_states"] for e in learn_em(rows, max_states=1, n_steps=5).curve] == [1]


def test_weights_are_repetitions():
    rows = ["ab", "a", "", "abab", "b", "ba"]
    times = [5, 4, 7, 3, 2, 2]
    repeated = Corpus.from_sequences([row for row, n in zip(rows, times, strict=True) for _ in range(n)])
    weighted = Corpus.from_sequences(rows, weights=times)
    one, other = (learn_em(c, n_states=2, n_steps=10, valid=rows, seed=3) for c in (repeated, weighted))
    np.testing.assert_allclose(one.wfa.operators, other.wfa.operators, rtol=1e-10)


# ---------------------------------------------------------------------- same seed, same result


def test_same_seed_same_bits():
    with limit_threads(1):
        assert_same(learn_em(DATA, **QUICK, seed=5), learn_em(DATA, **QUICK, seed=5))
    assert not np.array_equal(
        learn_em(DATA, **QUICK, seed=5).wfa.operators, learn_em(DATA, **QUICK, seed=6).wfa.operators
    )


@pytest.mark.parametrize("options", [{}, {"tied": True}, {"hard": True}, {"precision": "float32"}], ids=str)
def test_threads_change_nothing(options, monkeypatch):
    monkeypatch.setattr("momata.learn.em.plan_walk", lambda tree: plan_walk(tree, 40))
    found = []
    for n in (1, 2, 3):
        with limit_threads(n):
            found.append(learn_em(DATA, n_states=3, n_steps=12, restarts=1, **options))
    for other in found[1:]:
        np.testing.assert_allclose(other.wfa.operators, found[0].wfa.operators, rtol=1e-9)
        assert_same(found[0], other)  # even to the bit


# ---------------------------------------------------------------------- options


@pytest.mark.parametrize("init", ["random", "hmm", "left-to-right", "spectral"])
def test_starts(init):
    result = learn_em(DATA, n_states=3, init=init, n_steps=20)
    assert_sound(result)
    n_trials = len({e["start"] for e in result.trace if e["stage"] == "trial"})
    assert n_trials == (0 if init == "spectral" else 3)
    below = np.tril(np.ones((3, 3), bool), -1)
    assert (not result.wfa.operators[:, below].any()) == (init == "left-to-right")
    if init == "left-to-right":
        assert result.wfa.initial.tolist() == [1, 0, 0]
    assert result.model.training["init"] == init


def test_an_automaton_to_start_from():
    start = random_pfa(3, 2, seed=9, sparsity=0.5)
    start = PFA(start.initial, start.final, start.operators, DATA.alphabet)
    result = learn_em(DATA, init=start, n_steps=20)
    assert result.n_states == 3
    assert result.model.training["init"] == "automaton"
    assert not result.wfa.operators[start.operators == 0].any()
    assert not [e for e in result.trace if e["stage"] == "trial"]
    signed = WFA([1.0, -0.2], [0.3, 0.1], [[[0.3, 0.1], [-0.1, 0.2]], [[0.2, 0.0], [0.1, 0.3]]], DATA.alphabet)
    assert_sound(learn_em(DATA, init=signed, n_steps=10))
    with pytest.raises(OptionError, match="n_states=4, but the automaton to start from has 3"):
        learn_em(DATA, init=start, n_states=4)
    with pytest.raises(OptionError, match=r"wfa\.over\(corpus\.alphabet\)"):
        learn_em(DATA, init=random_pfa(2, 3, seed=0))


def test_the_source_as_start_stays_near():
    source = PFA(SOURCE.initial, SOURCE.final, SOURCE.operators, DATA.alphabet)
    result = learn_em(DATA, init=source)
    assert per_event(result.model, DATA) > per_event(LanguageModel(source), DATA) - 1e-6
    assert np.abs(result.wfa.total - source.total).max() < 0.25


def test_growing_starts_from_the_best_smaller_one():
    result = learn_em(DATA, max_states=5, grow=True, n_steps=25, restarts=3)
    sizes = [e["n_states"] for e in result.curve]
    assert sizes == [1, 2, 5][: len(sizes)]
    trials = {e["n_states"] for e in result.trace if e["stage"] == "trial"}
    assert trials == {1}, "later ones have one start each"
    for n, fewer in zip(sizes[1:], sizes, strict=False):
        before = next(e["validation_log_prob"] for e in result.curve if e["n_states"] == fewer)
        first = next(e for e in result.trace if e["stage"] == "run" and e["n_states"] == n)
        assert first["validation_log_prob"] == pytest.approx(before, rel=0.02)
    assert_sound(result)


def test_annealing():
    cold, hot = (learn_em(DATA, n_states=3, temperature=t, n_steps=60, restarts=1) for t in (1.0, 3.0))
    assert_sound(hot)
    # 3 * 0.9 ** 11 is the first below 1, from step 22: until then no step counts as one without gain
    assert max(e["step"] for e in hot.trace if e["stage"] == "run") >= 21 + 10
    assert hot.curve[0]["n_steps"] >= 20
    assert hot.trace[0]["log_likelihood"] > cold.trace[0]["log_likelihood"], "flat weights sum to more than 1"
    assert per_event(hot.model, FRESH) > per_event(learn_em(DATA, n_states=1).model, FRESH)


def test_hard():
    result = learn_em(DATA, n_states=3, hard=True, prior=0.0, n_steps=30, restarts=1)
    assert result.wfa.is_probabilistic()
    logs = [e["log_likelihood"] for e in result.trace if e["stage"] == "run"]
    assert np.all(np.diff(logs) >= -1e-9 * abs(logs[0]))
    finish = [e["log_likelihood"] for e in result.trace if e["stage"] == "finish"]
    assert finish[-1] <= log_likelihood(plan_walk(count_prefixes(DATA)), result.wfa), "a path is less than all"
    assert_sound(learn_em(DATA, n_states=3, hard=True))


def test_tied():
    result = learn_em(DATA, n_states=3, tied=True, n_steps=40)
    assert_sound(result)
    assert HMM.of(result.wfa) is not None
    for i in range(3):  # the same mixture of next states after each symbol
        assert np.linalg.svd(result.wfa.operators[:, i])[1][1] < 1e-12
    assert HMM.of(learn_em(DATA, n_states=3, n_steps=40).wfa, tol=1e-3) is None


def test_single_precision():
    exact, rough = (learn_em(DATA, **QUICK, precision=p) for p in ("float64", "float32"))
    assert_sound(rough)
    assert rough.wfa.operators.dtype == np.float64
    assert not np.array_equal(exact.wfa.operators, rough.wfa.operators)
    assert per_event(rough.model, FRESH) == pytest.approx(per_event(exact.model, FRESH), rel=1e-3)


def test_held_out_data_may_be_given():
    valid = FRESH[:100]
    result = learn_em(DATA, n_states=3, valid=valid, n_steps=40)
    assert not [e for e in result.trace if e["stage"] == "finish"], "all data were learned from already"
    assert result.model.log_prob(valid).sum() == pytest.approx(result.curve[0]["validation_log_prob"], rel=1e-10)


def test_held_out_sequences_with_other_symbols_are_left_out():
    rows = ["ab", "b", "", "abab", "aab"] * 6
    known = ["ab", "", "ba"]
    mixed = ["ab", "xab", "", "z", "ba", "bx"]
    one, other = (learn_em(rows, n_states=2, n_steps=10, valid=v) for v in (known, mixed))
    assert_same(one, other)
    assert learn_em(rows, n_states=2, n_steps=2, valid=["x", ""]).curve[0]["validation_log_prob"] < 0
    for nothing in (["x", "zz"], []):
        with pytest.raises(DataError, match="no held-out sequence is made of symbols of the training data only"):
            learn_em(rows, valid=nothing)


def test_a_prior_gives_unseen_symbols_a_chance():
    corpus = Corpus.from_sequences(["ab", "b", "a"] * 5, Alphabet("abc"))
    smooth, bare = (learn_em(corpus, n_states=2, prior=p, n_steps=20) for p in (0.1, 0.0))
    assert np.all(np.isfinite(smooth.model.log_prob(["c", "abcc"])))
    assert bare.wfa.weight("c") == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_states": 0}, "n_states=0: an automaton has at least 1 state"),
        ({"n_states": 2.5}, "n_states=2.5 is not a whole number"),
        ({"n_states": True}, "n_states=True is not a whole number"),
        ({"n_states": "many"}, "n_states='many' is not a whole number"),
        ({"max_states": 0}, "max_states=0 is too small. Give a whole number from 1"),
        ({"restarts": 0}, "restarts=0 is too small"),
        ({"n_steps": -1}, "n_steps=-1 is too small. Give a whole number from 0"),
        ({"patience": 0}, "patience=0 is too small"),
        ({"prior": -0.1}, "prior=-0.1 is no number of uses"),
        ({"prior": np.inf}, "prior=inf is no number of uses"),
        ({"prior": np.nan}, "prior=nan is no number of uses"),
        ({"temperature": 0.5}, "temperature=0.5: annealing starts"),
        ({"temperature": np.nan}, "temperature=nan: annealing starts"),
        ({"precision": "float16"}, "precision='float16' is not known. Use float64 or float32"),
        ({"init": "best"}, "init='best' is not known. Use random, hmm, left-to-right, spectral"),
        ({"fraction": 1.5}, "fraction"),
        ({"seed": -1}, "seed"),
    ],
    ids=str,
)  # fmt: skip
def test_options_that_cannot_be(options, message):
    with pytest.raises(OptionError, match=message):
        learn_em(DATA, **{"n_states": 1, "n_steps": 1} | options)


def test_nothing_to_learn_from():
    with pytest.raises(DataError, match="a corpus without sequences cannot be learned from"):
        learn_em([])


# ---------------------------------------------------------------------- stopping and going on


def states_of(**options) -> tuple[list[EMState], object]:
    kept: list[EMState] = []
    return kept, learn_em(DATA, keep=kept.append, **options)


@pytest.mark.parametrize("options", [{}, {"grow": True}, {"init": "spectral"}, {"hard": True}], ids=str)
def test_a_search_goes_on_where_it_stopped(options):
    options = {"max_states": 5, "n_steps": 24, "patience": 3, "restarts": 2} | options
    kept, whole = states_of(**options)
    for state in (kept[0], kept[len(kept) // 2], kept[-1]):
        again = learn_em(DATA, resume=state, **options)
        assert_same(whole, again)


def test_a_kept_state_does_not_change():
    kept, _ = states_of(**QUICK)
    lengths = [len(state.trace) for state in kept]
    assert lengths == sorted(set(lengths)), "each step adds one entry, to its own list"
    before = list(kept[0].trace)
    learn_em(DATA, resume=kept[0], **QUICK)
    assert kept[0].trace == before


def test_a_state_goes_through_a_file(tmp_path):
    options = {"max_states": 3, "n_steps": 24, "restarts": 2}
    kept, whole = states_of(**options)
    for state in (kept[1], kept[-1]):
        save(state, tmp_path / "state.npz")
        loaded = load(tmp_path / "state.npz")
        assert isinstance(loaded, EMState)
        assert loaded.alphabet == DATA.alphabet
        for one in ("step", "best_step", "last_gain", "best_score", "curve", "trace"):
            assert getattr(loaded, one) == getattr(state, one), one
        assert np.array_equal(loaded.best.operators, state.best.operators)
        assert (loaded.winner is None) == (state.winner is None)
        assert_same(whole, learn_em(DATA, resume=loaded, **options))


def test_states_of_score_minus_infinity_go_through_a_file(tmp_path):
    """Zeros stay zeros, so held-out data may be impossible."""
    rows, valid = (Corpus.from_sequences(some, Alphabet("abc")) for some in (["ab", "ab", "a"], ["cc", "a"]))
    init = PFA(
        [0.5, 0.5], [0.5, 0.2], [[[0.1, 0.2], [0.3, 0.1]], [[0.1, 0.1], [0.2, 0.2]], np.zeros((2, 2))], rows.alphabet
    )
    options = {"init": init, "n_steps": 6, "valid": valid}
    kept = []
    whole = learn_em(rows, keep=kept.append, **options)
    assert kept[2].best_score == -np.inf
    assert whole.curve[0]["validation_perplexity_per_symbol"] is None
    assert whole.status is Status.NOT_CONVERGED
    save(kept[2], tmp_path / "state.npz")
    assert_same(whole, learn_em(rows, resume=load(tmp_path / "state.npz"), **options))


@pytest.mark.parametrize(
    "other", [{"n_states": 4}, {"prior": 0.2}, {"seed": 1}, {"n_steps": 26}, {"tied": True}, {"init": "hmm"}], ids=str
)
def test_other_options_cannot_go_on(other):
    kept, _ = states_of(**QUICK)
    (name,) = other
    with pytest.raises(OptionError, match=f"what is to go on was begun with other {name}"):
        learn_em(DATA, resume=kept[0], **QUICK | other)


def test_other_data_or_another_share_cannot_go_on():
    kept, _ = states_of(**QUICK)
    with pytest.raises(OptionError, match="begun with other data, n_sequences, n_tokens"):
        learn_em(DATA[:300], resume=kept[0], **QUICK)
    with pytest.raises(OptionError, match="begun with other"):
        learn_em(DATA, resume=kept[0], **QUICK, fraction=0.2)
    with pytest.raises(OptionError, match="begun with other"):
        learn_em(DATA, resume=kept[0], **QUICK, valid=FRESH[:50])


def test_damaged_states():
    kept, _ = states_of(**QUICK)
    for part, value in [("step", "3"), ("step", True), ("curve", {}), ("trace", None), ("best_score", "high")]:
        arrays, values = kept[0].to_parts()
        with pytest.raises(OptionError, match=f"{part} is "):
            EMState.from_parts(arrays, values | {part: value, "alphabet": DATA.alphabet, "training": {}})


# ---------------------------------------------------------------------- odd data


ODD = {
    "empty strings only": [[], [], []],
    "one empty string": [[]],
    "one symbol": ["a", "aa", "", "aaa"] * 3,
    "one string": ["abab"],
    "one symbol, once": ["a"],
    "all alike": ["abc"] * 20,
    "fewer strings than states": ["ab", "b"],
    "symbols that never come": Corpus.from_sequences(["a", "ab"] * 4, Alphabet("abcd")),
    "tiny weights": Corpus.from_sequences(["a", "ab", "b"], weights=[1e-9, 1e-9, 1e-9]),
}


@pytest.mark.parametrize("options", [
    {}, {"prior": 0.0}, {"init": "hmm", "tied": True}, {"init": "left-to-right"}, {"init": "spectral"}, {"hard": True},
    {"hard": True, "prior": 0.0}, {"grow": True}, {"precision": "float32"}, {"temperature": 2.0},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("rows", ODD.values(), ids=ODD)
def test_odd_data(rows, options):
    for n_states in ("auto", 7):
        result = learn_em(rows, n_states=n_states, max_states=5, n_steps=20, **options)
        assert_sound(result)
        scores = result.model.log_prob(rows)
        assert not np.isnan(scores).any()
        if options.get("prior", 0.1):
            assert np.all(np.isfinite(scores))


def test_all_alike_becomes_certain():
    result = learn_em(["abc"] * 200, n_states=4, prior=1e-3)
    assert result.wfa.weight("abc") > 0.9


def test_empty_strings_only_stop_at_once():
    result = learn_em([[]] * 10, n_states=3)
    assert result.wfa.weight([]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "options", [{}, {"init": "left-to-right", "prior": 0.0}, {"hard": True}, {"precision": "float32"}], ids=str
)
def test_a_string_of_ten_thousand(options):
    rows = ["a" * 5000 + "b" * 5000, "b" * 5000 + "a" * 5000, "ab", "a"]
    result = learn_em(rows, n_states=3, n_steps=17, restarts=2, valid=rows, **options)
    assert_sound(result)
    scores = result.model.log_prob(rows)
    assert np.all(np.isfinite(scores))
    assert scores[0] / 10_001 > np.log(1 / 3), "better than the uniform distribution"


def test_one_sequence_is_cut_in_two():
    result = learn_em(["ab" * 40], n_states=2)
    assert_sound(result)
    assert result.model.training["n_sequences"] == 1


# ---------------------------------------------------------------------- batches


def batches_of(corpus: Corpus, size: int) -> list[Corpus]:
    return [corpus[k : k + size] for k in range(0, len(corpus), size)]


def test_batches_come_near_all_data_at_once():
    source = random_pfa(2, 2, seed=5, sparsity=0.0, mean_length=5)
    corpus = LanguageModel(source).sample(6000, seed=2)
    fresh = LanguageModel(source).sample(2000, seed=3)
    start = learn_em(corpus[:50], n_states=2, n_steps=1, restarts=1).wfa
    whole = polish(start, corpus, n_steps=60)
    online = learn_online(batches_of(corpus, 100), start)
    before, after, best = (per_event(LanguageModel(w), fresh) for w in (start, online.wfa, whole.wfa))
    assert online.method == "em"
    assert online.status is Status.OK
    assert len(online.trace) == 60
    assert after > before
    assert after == pytest.approx(best, abs=0.01)


def test_one_batch_is_one_step():
    start = PFA([0.4, 0.6], [0.3, 0.5], np.full((2, 2, 2), [[0.175], [0.125]]), DATA.alphabet)
    online = learn_online([DATA], start, prior=0.3)
    expected, logp = EMStep(event_shares(DATA), 0.3)(plan_walk(count_prefixes(DATA)), start)
    np.testing.assert_allclose(online.wfa.operators, expected.operators, rtol=1e-12)
    np.testing.assert_allclose(online.wfa.initial, expected.initial, rtol=1e-12)
    assert online.trace == [{"stage": "online", "step": 1, "n_states": 2, "log_likelihood": logp}]


def test_two_batches_by_hand():
    one, two = DATA[:100], DATA[100:160]
    start = learn_em(DATA[:50], n_states=2, n_steps=1, restarts=1).automaton
    online = learn_online([one, two], start, prior=0.0, decay=0.6)
    step = EMStep(event_shares(one))
    first = step.expectations(plan_walk(count_prefixes(one)), start)
    middle = step.maximise(first, start)
    second = step.expectations(plan_walk(count_prefixes(two)), middle)
    eta = 2.0**-0.6
    mixed = replace(
        first,
        operators=(1 - eta) * first.operators / 100 + eta * second.operators / 60,
        final=(1 - eta) * first.final / 100 + eta * second.final / 60,
        initial=(1 - eta) * first.initial / 100 + eta * second.initial / 60,
    )
    expected = step.maximise(mixed, middle)
    np.testing.assert_allclose(online.wfa.operators, expected.operators, rtol=1e-10)
    np.testing.assert_allclose(online.wfa.final, expected.final, rtol=1e-10)


def test_batches_from_a_number_of_states():
    seen = []
    empty = DATA[:0]
    one = learn_online(iter([empty, *batches_of(DATA, 50)]), 3, seed=4, callback=seen.append)
    assert seen == one.trace
    assert one.n_states == 3
    assert one.wfa.is_probabilistic()
    other = learn_online(batches_of(DATA, 50), 3, seed=4)
    assert np.array_equal(one.wfa.operators, other.wfa.operators)
    assert np.all(np.isfinite(one.model.log_prob(FRESH)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: learn_online([], 2), DataError, "there are no batches"),
        (lambda: learn_online([DATA[:0]], 2), DataError, "there are no batches"),
        (lambda: learn_online([DATA], 2, decay=0.5), OptionError, "decay=0.5: steps must shrink"),
        (lambda: learn_online([DATA], 2, decay=1.01), OptionError, "decay=1.01"),
        (lambda: learn_online([DATA], 2, decay=np.nan), OptionError, "decay=nan"),
        (lambda: learn_online([DATA], 2.5), OptionError, "start=2.5 is not a whole number"),
        (lambda: learn_online([DATA], 0), OptionError, "start=0"),
        (lambda: learn_online([DATA], 2, prior=-1.0), OptionError, "prior=-1"),
        (lambda: learn_online([DATA], 2, prior=np.nan), OptionError, "prior=nan"),
        (lambda: learn_online([DATA], 2, seed=-1), OptionError, "seed=-1"),
        (lambda: learn_online([DATA, Corpus.from_sequences(["x"])], 2), OptionError, "batches must be over one alphabet"),
        (lambda: learn_online([DATA], random_pfa(2, 5, seed=0)), (OptionError, AlphabetError), "alphabet"),
    ],
)  # fmt: skip
def test_batches_that_cannot_be(call, error, message):
    with pytest.raises(error, match=message):
        call()
