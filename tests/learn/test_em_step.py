"""One step of EM: what it must not lose, and what it starts from."""

from __future__ import annotations

from dataclasses import replace

import brute
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
from momata.core.probabilistic import HMM, PFA, random_pfa
from momata.core.wfa import WFA
from momata.learn.em_step import EMStep, event_shares, random_start, split_states
from momata.predict.language_model import LanguageModel

KINDS = ("random", "hmm", "left-to-right")


def start_of(kind: str, n: int, corpus: Corpus, seed: int = 0) -> PFA:
    drawn = "random" if kind == "left-to-right" else kind
    shares, rng = event_shares(corpus), np.random.default_rng(seed)
    return random_start(drawn, n, corpus.alphabet, shares, rng, kind == "left-to-right")


def pfa_over(alphabet: Alphabet, n: int, seed: int, density: float = 1.0) -> PFA:
    rng, k = np.random.default_rng(seed), len(alphabet)
    operators = rng.random((k, n, n)) * (rng.random((k, n, n)) < density)
    final = rng.random(n) + 0.01
    rows = operators.sum(axis=(0, 2)) + final
    return PFA(rng.dirichlet(np.ones(n)), final / rows, operators / rows[:, None], alphabet)


# ---------------------------------------------------------------------- it never falls


@settings(max_examples=100)
@given(
    corpora(min_sequences=1, weights=True),
    st.sampled_from(KINDS),
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.1, 3.0]),
    st.booleans(),
)
def test_likelihood_and_prior_never_fall(corpus, kind, n, seed, prior, tied):
    pfa = start_of("hmm" if tied and kind == "random" else kind, n, corpus, seed)
    if tied and kind == "left-to-right":  # one matrix of moves for all symbols
        moves = np.triu(np.random.default_rng(seed).random((n, n)) + 0.1)
        moves /= moves.sum(axis=1, keepdims=True)
        pfa = PFA(pfa.initial, pfa.final, pfa.operators.sum(axis=2)[:, :, None] * moves, corpus.alphabet)
    zeros = pfa.operators == 0
    plan, step = plan_walk(count_prefixes(corpus), 10), EMStep(event_shares(corpus), prior, tied)
    before, history = -np.inf, []
    for _ in range(12):
        after, logp = step(plan, pfa)
        assert logp == pytest.approx(log_likelihood(plan, pfa), rel=1e-12, abs=1e-12)
        value = logp + step.log_prior(pfa)
        assert value >= before - 1e-9 * (1 + abs(before)), history
        history.append(value)
        before, pfa = value, after
        assert pfa.is_probabilistic()
        assert not pfa.operators[zeros].any()
        if tied:
            assert HMM.of(pfa) is not None
    assert np.isfinite(before)


@settings(max_examples=60)
@given(corpora(min_sequences=1, weights=True), st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_best_paths_never_get_worse(corpus, n, seed, tied):
    pfa = start_of("hmm", n, corpus, seed)
    plan, step, before = (
        plan_walk(count_prefixes(corpus), 10),
        EMStep(event_shares(corpus), 0.0, tied, hard=True),
        -np.inf,
    )
    for _ in range(8):
        pfa, logp = step(plan, pfa)
        assert logp >= before - 1e-9 * (1 + abs(before))
        before = logp
    assert np.isfinite(before)


@given(corpora(min_sequences=1), st.integers(1, 3), st.integers(0, 2**32 - 1), st.sampled_from([0.3, 0.7]))
def test_any_pattern_of_zeros_stays(corpus, n, seed, density):
    pfa = pfa_over(corpus.alphabet, n, seed, density)
    for prior in (0.0, 0.5):
        after, _ = EMStep(event_shares(corpus), prior)(plan_walk(count_prefixes(corpus)), pfa)
        assert after.is_probabilistic()
        assert not after.operators[pfa.operators == 0].any()
        if prior:
            assert np.array_equal(after.operators > 0, pfa.operators > 0)
            assert np.all(after.final > 0)


# ---------------------------------------------------------------------- what a step computes


def small() -> tuple[Corpus, list[tuple[int, ...]]]:
    rows = ["ab", "b", "", "aab", "ab", "ba"]
    return Corpus.from_sequences(rows), [tuple("ab".index(s) for s in row) for row in rows]


@pytest.mark.parametrize("prior", [0.0, 0.6])
def test_a_step_from_all_paths(prior):
    """Counts by enumeration, plus the prior, divided by their sums."""
    corpus, rows = small()
    pfa, shares = pfa_over(corpus.alphabet, 3, 5), event_shares(corpus)
    _, starts, stops, arcs = brute.expected_uses(pfa.initial, pfa.final, pfa.operators, rows, [1] * len(rows))
    after, _ = EMStep(shares, prior)(plan_walk(count_prefixes(corpus)), pfa)
    for i in range(3):
        own = [arcs[sigma, i, j] + prior * shares[sigma] / 3 for sigma in range(2) for j in range(3)]
        stop = stops[i] + prior * shares[2]
        total = sum(own) + stop
        np.testing.assert_allclose(after.operators[:, i].ravel(), np.array(own) / total, rtol=1e-10)
        assert after.final[i] == pytest.approx(stop / total, rel=1e-10)
    np.testing.assert_allclose(after.initial, (np.array(starts) + prior / 3) / (len(rows) + prior), rtol=1e-10)


def test_a_tied_step_from_all_paths():
    corpus, rows = small()
    pfa, shares = start_of("hmm", 2, corpus, 3), event_shares(corpus)
    _, _, stops, arcs = brute.expected_uses(pfa.initial, pfa.final, pfa.operators, rows, [1] * len(rows))
    after, _ = EMStep(shares, tied=True)(plan_walk(count_prefixes(corpus)), pfa)
    for i in range(2):
        emitted = [sum(arcs[sigma, i, j] for j in range(2)) for sigma in range(2)]
        moved = [sum(arcs[sigma, i, j] for sigma in range(2)) for j in range(2)]
        for sigma in range(2):
            for j in range(2):
                want = emitted[sigma] / (sum(emitted) + stops[i]) * moved[j] / sum(moved)
                assert after.operators[sigma, i, j] == pytest.approx(want, rel=1e-10)


def test_the_prior_is_what_it_says():
    """The step is the maximum of expected log-likelihood plus the log prior: no PFA near it does better."""
    corpus, _ = small()
    plan, step = plan_walk(count_prefixes(corpus)), EMStep(event_shares(corpus), 2.0)
    pfa = pfa_over(corpus.alphabet, 2, 1)
    found = step.expectations(plan, pfa)
    best = step.maximise(found, pfa)

    def objective(one: WFA) -> float:
        parts = ((found.operators, one.operators), (found.final, one.final), (found.initial, one.initial))
        return sum(float((uses * np.log(w)).sum()) for uses, w in parts) + step.log_prior(one)

    rng, top = np.random.default_rng(0), objective(best)
    for _ in range(200):
        operators = best.operators * rng.uniform(0.95, 1.05, best.operators.shape)
        final, initial = best.final * rng.uniform(0.95, 1.05, 2), best.initial * rng.uniform(0.95, 1.05, 2)
        rows = operators.sum(axis=(0, 2)) + final
        assert objective(PFA(initial / initial.sum(), final / rows, operators / rows[:, None], best.alphabet)) < top


def test_without_a_prior_there_is_no_log_prior():
    corpus, _ = small()
    assert EMStep(event_shares(corpus)).log_prior(pfa_over(corpus.alphabet, 2, 0)) == 0.0


def test_states_that_nobody_reaches_stay():
    alphabet = Alphabet("a")
    pfa = PFA([1.0, 0.0], [0.5, 0.3], [[[0.5, 0.0], [0.3, 0.4]]], alphabet)
    corpus = Corpus.from_sequences(["aaa", "a", ""])
    after, _ = EMStep(event_shares(corpus))(plan_walk(count_prefixes(corpus)), pfa)
    assert after.final.tolist() == [pytest.approx(3 / 7), 0.3]
    np.testing.assert_allclose(after.operators[0], [[4 / 7, 0], [0.3, 0.4]], rtol=1e-14)
    prior, _ = EMStep(event_shares(corpus), 0.5)(plan_walk(count_prefixes(corpus)), pfa)
    shares = event_shares(corpus)
    assert prior.final[1] == pytest.approx(shares[1] / (shares[0] + shares[1]), rel=1e-12)


def test_only_impossible_strings_change_nothing():
    alphabet = Alphabet("ab")
    pfa = PFA([1.0], [0.5], [[[0.5]], [[0.0]]], alphabet)
    after, logp = EMStep(np.full(3, 1 / 3))(
        plan_walk(count_prefixes(Corpus.from_sequences(["b", "ab"], alphabet))), pfa
    )
    assert logp == -np.inf
    assert np.array_equal(after.operators, pfa.operators)
    assert np.array_equal(after.final, pfa.final)
    assert np.array_equal(after.initial, pfa.initial)


def test_temperature_flattens():
    corpus, _ = small()
    plan, step, pfa = plan_walk(count_prefixes(corpus)), EMStep(event_shares(corpus)), pfa_over(Alphabet("ab"), 3, 2)
    cold, hot = step.expectations(plan, pfa), step.expectations(plan, pfa, 1e6)
    assert np.array_equal(step.expectations(plan, pfa, 1.0).operators, cold.operators)
    np.testing.assert_allclose(hot.initial, np.full(3, 2.0), rtol=1e-4)  # at infinity all paths are alike
    flat = WFA(np.sqrt(pfa.initial), np.sqrt(pfa.final), np.sqrt(pfa.operators), pfa.alphabet)
    np.testing.assert_allclose(
        step.expectations(plan, pfa, 2.0).operators, step.expectations(plan, flat).operators, rtol=1e-13
    )


def test_precision_reaches_the_expectation():
    corpus, _ = small()
    plan, pfa, step = plan_walk(count_prefixes(corpus)), pfa_over(Alphabet("ab"), 3, 2), EMStep(event_shares(corpus))
    exact, rough = step(plan, pfa), replace(step, precision="float32")(plan, pfa)
    assert 0 < abs(exact[1] - rough[1]) < 1e-4
    np.testing.assert_allclose(rough[0].operators, exact[0].operators, rtol=1e-4)


# ---------------------------------------------------------------------- beside hmmlearn


def pad(pfa: PFA) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The HMM without stopping of an HMM with stopping: one more symbol, the end, which is emitted before an inert move.

    A string x is x with the end behind it: then the chance of the symbols that were seen, whatever comes later, is the chance
    of the string.
    """
    hmm = HMM.of(pfa)
    assert hmm is not None
    return hmm.initial, hmm.transitions, np.column_stack([hmm.emissions, hmm.stopping])


@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_steps_of_hmmlearn(implementation):
    """The same HMM, without stopping, over the same strings with an end symbol: five steps, each weight and likelihood.

    hmmlearn counts a move only between two symbols: none behind the end, and ours none of a state that stops.
    """
    learn = pytest.importorskip("hmmlearn.hmm")
    corpus = LanguageModel(random_pfa(3, 3, seed=4, mean_length=6)).sample(120, seed=0)
    pfa = start_of("hmm", 3, corpus, 1)
    tokens = np.concatenate(
        [np.append(corpus.tokens[a:b], 3) for a, b in zip(corpus.offsets, corpus.offsets[1:], strict=False)]
    )
    lengths = corpus.lengths + 1
    other = learn.CategoricalHMM(3, n_iter=1, tol=-np.inf, init_params="", implementation=implementation)
    other.n_features = 4
    other.startprob_, other.transmat_, other.emissionprob_ = pad(pfa)
    plan, step = plan_walk(count_prefixes(corpus)), EMStep(event_shares(corpus), tied=True)
    for _ in range(5):
        theirs = other.score(tokens[:, None], lengths)
        other.fit(tokens[:, None], lengths)
        pfa, ours = step(plan, pfa)
        assert ours == pytest.approx(theirs, rel=1e-10)
        for one, another in zip(pad(pfa), (other.startprob_, other.transmat_, other.emissionprob_), strict=True):
            np.testing.assert_allclose(one, another, rtol=1e-8, atol=1e-10)


# ---------------------------------------------------------------------- starts


@given(corpora(min_sequences=1, weights=True))
def test_shares_of_events(corpus):
    shares = event_shares(corpus)
    times = np.ones(len(corpus)) if corpus.weights is None else corpus.weights
    counts = [0.5] * (corpus.n_symbols + 1)
    for row, weight in zip(corpus, times, strict=True):
        for symbol in row:
            counts[corpus.alphabet.index(symbol)] += weight
        counts[-1] += weight
    np.testing.assert_allclose(shares, np.array(counts) / sum(counts), rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_starts(kind, n):
    corpus = Corpus.from_sequences(["abca", "ab", "", "c"])
    pfa = start_of(kind, n, corpus, 3)
    assert pfa.n_states == n
    assert pfa.is_probabilistic(1e-12)
    assert np.array_equal(pfa.operators, start_of(kind, n, corpus, 3).operators)
    if n > 1:
        assert not np.array_equal(pfa.operators, start_of(kind, n, corpus, 4).operators)
    shares = event_shares(corpus)
    if kind == "hmm":
        assert HMM.of(pfa) is not None
        if n > 2:  # emissions of their own
            assert np.ptp(pfa.final) > 0
    else:
        np.testing.assert_allclose(pfa.final, shares[-1], rtol=1e-12)
        np.testing.assert_allclose(pfa.operators.sum(axis=2), np.tile(shares[:-1, None], n), rtol=1e-12)
    upper = np.triu(np.ones((n, n), bool))
    if kind == "left-to-right":
        assert pfa.initial.tolist() == [1.0] + [0.0] * (n - 1)
        assert np.all((pfa.operators > 0) == upper)
    else:
        assert np.all(pfa.operators > 0)


def test_splitting_keeps_the_function_but_for_a_fifth():
    pfa = pfa_over(Alphabet("ab"), 3, 7)
    strings = list(brute.all_strings("ab", 4))
    for n_more in (1, 2, 6):
        more = split_states(pfa, np.array([1.0, 5.0, 2.0]), n_more, np.random.default_rng(0))
        assert more.n_states == 3 + n_more
        assert more.is_probabilistic(1e-12)
        ratio = more.weights(strings) / pfa.weights(strings)
        assert 1e-4 < np.abs(ratio - 1).max() < 0.8  # a fifth of each change, of up to five events; far less of most
    one = split_states(pfa, np.array([1.0, 5.0, 2.0]), 1, np.random.default_rng(0))
    np.testing.assert_allclose(one.initial[[1, 3]], pfa.initial[1] / 2, rtol=1e-12)
    np.testing.assert_allclose(one.operators[:, 1] / one.operators[:, 3], 1.0, atol=0.5)
    assert not np.allclose(one.operators[:, 1], one.operators[:, 3], rtol=1e-5), "twins must differ to part ways"


def test_the_busiest_is_split_first_and_again_when_its_halves_are_still_busiest():
    pfa = PFA([0.5, 0.5], [0.9, 0.1], [[[0.1, 0.0], [0.0, 0.9]]], Alphabet("a"))
    more = split_states(pfa, np.array([1.0, 9.0]), 3, np.random.default_rng(0))
    np.testing.assert_allclose(more.final[2:], 0.1, atol=0.01)
    np.testing.assert_allclose(more.initial[[0, 1, 2, 3, 4]], [0.5, 0.125, 0.125, 0.125, 0.125], rtol=1e-12)
