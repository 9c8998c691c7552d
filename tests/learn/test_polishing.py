"""Finishing by likelihood what another method began."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import corpora

from momata.core.alphabet import Alphabet
from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes
from momata.core.expectation import log_likelihood
from momata.core.plan import plan_walk
from momata.core.probabilistic import PFA, random_pfa
from momata.core.wfa import WFA
from momata.errors import AlphabetError, DataError, OptionError
from momata.learn.em import polish
from momata.learn.em_step import EMStep, event_shares
from momata.learn.projection import as_start
from momata.learn.result import Status
from momata.learn.spectral import learn_spectral
from momata.predict.language_model import LanguageModel

SOURCE = random_pfa(3, 2, seed=11, sparsity=0.4, mean_length=5)
DATA = LanguageModel(SOURCE).sample(500, seed=0)
FRESH = LanguageModel(SOURCE).sample(500, seed=1)


def start() -> PFA:
    pfa = random_pfa(3, 2, seed=4, sparsity=0.4)
    return PFA(pfa.initial, pfa.final, pfa.operators, DATA.alphabet)


def logs_of(result) -> np.ndarray:
    return np.array([entry["log_likelihood"] for entry in result.trace])


def total(wfa: WFA, corpus: Corpus) -> float:
    return float(np.log(wfa.weights(corpus)).sum())


def test_from_a_pfa_zeros_stay():
    pfa = start()
    result = polish(pfa, DATA, n_steps=15, prior=0.0)
    assert result.method == "polish"
    assert result.status is Status.OK
    assert result.wfa.is_probabilistic()
    assert not result.wfa.operators[pfa.operators == 0].any()
    assert len(result.trace) == 15
    assert result.trace[0]["log_likelihood"] == pytest.approx(total(pfa, DATA), rel=1e-12)
    assert np.all(np.diff(logs_of(result)) >= -1e-9 * abs(logs_of(result)[0]))
    assert total(result.wfa, DATA) > logs_of(result)[0]


def test_it_is_steps_of_em():
    pfa, plan, step = start(), plan_walk(count_prefixes(DATA)), EMStep(event_shares(DATA), 0.3)
    seen = []
    result = polish(pfa, DATA, n_steps=4, prior=0.3, callback=seen.append)
    logs = []
    for _ in range(4):
        pfa, logp = step(plan, pfa)
        logs.append(logp)
    assert np.array_equal(result.wfa.operators, pfa.operators)
    assert logs_of(result).tolist() == logs
    assert seen == result.trace


def test_no_steps():
    pfa = start()
    result = polish(pfa, DATA, n_steps=0)
    assert np.array_equal(result.wfa.operators, pfa.operators)
    assert result.trace == []
    assert result.model.training["best_step"] == 0


def test_from_a_multiple_of_a_pfa():
    pfa = start()
    result = polish(WFA(3.0 * pfa.initial, pfa.final, pfa.operators, pfa.alphabet), DATA, n_steps=12, prior=0.0)
    assert result.wfa.is_probabilistic()
    assert np.all(np.diff(logs_of(result)) >= -1e-9 * abs(logs_of(result)[0]))
    assert logs_of(result)[0] == pytest.approx(total(pfa, DATA), rel=0.05), "1 % of all events apart, the same"
    assert logs_of(result)[0] != pytest.approx(total(pfa, DATA), rel=1e-9)


@pytest.mark.parametrize("statistic", ["string", "substring"])
@pytest.mark.parametrize("n_states", [2, 3, 5])
def test_from_what_the_spectral_method_finds(statistic, n_states):
    rough = learn_spectral(DATA, n_states, statistic=statistic).automaton
    assert not rough.is_nonnegative()
    result = polish(rough, DATA, n_steps=20, prior=0.0)
    assert result.wfa.is_probabilistic()
    assert result.n_states == rough.n_states
    logs = logs_of(result)
    assert np.all(np.diff(logs) >= -1e-9 * abs(logs[0]))
    shares = event_shares(DATA)
    independent = PFA([1.0], shares[-1:], shares[:-1, None, None], DATA.alphabet)
    assert total(result.wfa, DATA) > total(independent, DATA)


@settings(max_examples=40)
@given(
    corpora(min_sequences=1, weights=True), st.integers(1, 3), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.2])
)
def test_likelihood_and_prior_never_fall(corpus, n, seed, prior):
    """From any signed automaton."""
    rng, k = np.random.default_rng(seed), len(corpus.alphabet)
    wfa = WFA(rng.normal(size=n), rng.normal(size=n), rng.normal(size=(k, n, n)), corpus.alphabet)
    shares = event_shares(corpus)
    pfa, step, plan = (
        as_start(wfa, count_prefixes(corpus), shares),
        EMStep(shares, prior),
        plan_walk(count_prefixes(corpus)),
    )
    result = polish(wfa, corpus, n_steps=6, prior=prior)
    values = []
    for logp in logs_of(result):
        values.append(logp + step.log_prior(pfa))
        pfa, again = step(plan, pfa)
        assert again == logp
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) >= -1e-9 * (1 + abs(values[0])))


def test_held_out_data_choose_the_step():
    few = DATA[:12]  # learned by heart soon
    result = polish(random_six(), few, n_steps=60, prior=0.0, valid=FRESH)
    scores = [log_likelihood(plan_walk(count_prefixes(FRESH)), random_six())]
    scores += [entry["validation_log_prob"] for entry in result.trace]
    best = int(np.argmax(scores))
    assert best < len(result.trace), "the last step is not the best, or the test says nothing"
    assert result.model.training["best_step"] == best
    assert total(result.wfa, FRESH) == pytest.approx(max(scores), rel=1e-12)
    assert total(polish(random_six(), few, n_steps=best, prior=0.0).wfa, FRESH) == pytest.approx(max(scores), rel=1e-12)


def random_six() -> PFA:
    pfa = random_pfa(6, 2, seed=2, sparsity=0.0, mean_length=5)
    return PFA(pfa.initial, pfa.final, pfa.operators, DATA.alphabet)


def test_the_start_may_be_the_best():
    source = PFA(SOURCE.initial, SOURCE.final, SOURCE.operators, DATA.alphabet)
    result = polish(source, DATA[:3], n_steps=8, prior=0.0, valid=FRESH)
    assert result.model.training["best_step"] == 0
    assert np.array_equal(result.wfa.operators, source.operators)


def test_half_the_precision():
    exact, rough = (polish(start(), DATA, n_steps=5, precision=p) for p in ("float64", "float32"))
    assert not np.array_equal(exact.wfa.operators, rough.wfa.operators)
    np.testing.assert_allclose(exact.wfa.operators, rough.wfa.operators, atol=1e-4)


def test_data_of_other_symbols_are_refused():
    with pytest.raises(AlphabetError, match="'x'"):
        polish(start(), [["x"]])
    fewer = PFA(start().initial, start().final + start().operators[1].sum(axis=1), start().operators[:1], Alphabet("a"))
    with pytest.raises(AlphabetError):
        polish(fewer, DATA)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_steps": -1}, OptionError, "n_steps=-1 is no number of steps. Give a whole number from 0"),
        ({"n_steps": 1.5}, OptionError, "n_steps=1.5 is not a whole number"),
        ({"prior": -1.0}, OptionError, "prior=-1.0 is no number of uses"),
        ({"valid": [["x"]]}, DataError, "no held-out sequence is made of symbols of the training data only"),
        ({"data": []}, DataError, "a corpus without sequences cannot be learned from"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be(options, error, message):
    with pytest.raises(error, match=message):
        polish(start(), **{"data": DATA} | options)


# ---------------------------------------------------------------------- after another method


def test_the_spectral_learner_can_finish_by_likelihood():
    rough, fine = (learn_spectral(DATA, 3, polish=n) for n in (0, 15))
    assert not rough.automaton.is_probabilistic()
    assert fine.automaton.is_probabilistic()
    assert fine.method == "spectral"
    assert fine.status is Status.OK
    assert fine.statistic == "string"
    assert fine.seconds["polish"] > 0
    assert fine.trace
    assert all(entry["stage"] == "polish" for entry in fine.trace)
    assert 0 <= fine.model.training["polish"] <= 15
    assert fine.model.backing is not None
    assert np.all(np.isfinite(fine.model.log_prob(FRESH)))
    assert fine.model.log_prob(FRESH).sum() > rough.model.log_prob(FRESH).sum() - 5
    again = learn_spectral(DATA, 3, polish=15)
    assert np.array_equal(again.automaton.operators, fine.automaton.operators)


@pytest.mark.parametrize("rows", [[[], []], [["a"]], ["a" * 30], ["ab"] * 9], ids=str)
def test_polishing_on_little_data(rows):
    result = learn_spectral(rows, polish=5)
    assert result.automaton.is_probabilistic() or result.model.training["polish"] == 0
    assert not np.isnan(result.model.log_prob(rows)).any()
