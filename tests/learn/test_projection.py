"""From any automaton to one that can start EM."""

from __future__ import annotations

import brute
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import corpora, stochastic_wfas

from momata.core.alphabet import Alphabet
from momata.core.basis import Basis
from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes
from momata.core.expectation import log_likelihood
from momata.core.plan import plan_walk
from momata.core.probabilistic import PFA, normalise, random_hmm, random_pfa
from momata.core.wfa import WFA, convert
from momata.learn.em_step import event_shares
from momata.learn.projection import as_start, project
from momata.learn.spectral import learn_spectral
from momata.predict.automaton_model import AutomatonModel
from momata.predict.language_model import LanguageModel

AB = Alphabet("ab", closed=True)
PURE = PFA(  # states that a short prefix makes certain: "" the first, "a" the second, "aa" the third
    [1.0, 0.0, 0.0],
    [0.1, 0.2, 0.4],
    [[[0.0, 0.7, 0.0], [0.0, 0.0, 0.2], [0.1, 0.0, 0.0]], [[0.2, 0.0, 0.0], [0.6, 0.0, 0.0], [0.0, 0.0, 0.5]]],
    AB,
)


def signed_twin(pfa: PFA, seed: int = 0) -> WFA:
    """The same function, with weights of both signs."""
    Q = np.random.default_rng(seed).normal(size=(pfa.n_states, pfa.n_states)) + 0.5 * np.eye(pfa.n_states)
    return WFA(pfa.initial, pfa.final, pfa.operators, pfa.alphabet).change_basis(Q)


@pytest.mark.parametrize("statistic", ["string", "prefix", "substring"])
def test_pure_states_are_found(statistic):
    """Forward vectors of prefixes are the states themselves, so only the 1 % of all events is between them."""
    corpus = LanguageModel(PURE).sample(3000, seed=0)
    tree, shares = count_prefixes(corpus), event_shares(corpus)
    signed = convert(signed_twin(PURE), statistic)
    found = project(signed, tree, shares)
    assert not signed.is_nonnegative()
    assert found.is_probabilistic(1e-12)
    assert found.n_states == 3
    strings = list(brute.all_strings("ab", 5))
    want = PURE.weights(strings)
    assert np.abs(found.weights(strings) - want).max() < 0.006
    likely = want > 5e-3
    np.testing.assert_allclose(found.weights(strings)[likely], want[likely], rtol=0.25)


def test_the_projection_of_a_learned_automaton_is_a_good_start():
    corpus = LanguageModel(PURE).sample(5000, seed=1)
    tree, shares = count_prefixes(corpus), event_shares(corpus)
    signed = learn_spectral(corpus, 3).automaton
    plan = plan_walk(tree)
    truth = log_likelihood(plan, PFA(PURE.initial, PURE.final, PURE.operators, corpus.alphabet))
    one_state = log_likelihood(plan, PFA([1.0], shares[-1:], shares[:-1, None, None], corpus.alphabet))
    start = log_likelihood(plan, as_start(signed, tree, shares))
    assert start > one_state + 0.8 * (truth - one_state)


@settings(max_examples=80)
@given(
    corpora(min_sequences=1, weights=True),
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.sampled_from([None, 1, 3, 6]),
    st.sampled_from([0.3, 1.0]),
    st.sampled_from(["string", "prefix", "substring"]),
)
def test_always_a_pfa(corpus, seed, n, n_states, density, statistic):
    """Whatever the automaton: signed weights of any size, zeros, infinite sums."""
    rng, k = np.random.default_rng(seed), len(corpus.alphabet)

    def some(*shape):
        return rng.normal(size=shape) * (rng.random(shape) < density) * rng.choice([0.3, 1.0, 30.0])

    wfa = WFA(some(n), some(n), some(k, n, n), corpus.alphabet, statistic)
    tree, shares = count_prefixes(corpus), event_shares(corpus)
    for make in (project, as_start):
        found = make(wfa, tree, shares, n_states)
        assert found.is_probabilistic(1e-12)
        wanted = n if n_states is None else n_states
        assert 1 <= found.n_states <= wanted, "fewer where not as many differ"
        assert np.all(found.operators > 0), "EM keeps zeros, so there are none"
        assert np.all(found.final > 0)
        assert np.isfinite(log_likelihood(plan_walk(tree), found))
        assert np.array_equal(found.operators, make(wfa, tree, shares, n_states).operators)


@given(stochastic_wfas())
def test_a_pfa_starts_as_it_is(wfa):
    tree = count_prefixes(Corpus.from_sequences([[]], wfa.alphabet))
    shares = np.full(wfa.n_symbols + 1, 1 / (wfa.n_symbols + 1))
    found = as_start(wfa, tree, shares)
    assert isinstance(found, PFA)
    np.testing.assert_allclose(found.operators, wfa.operators, rtol=1e-12, atol=0)
    assert np.array_equal(found.operators == 0, wfa.operators == 0)
    assert as_start(found, tree, shares, wfa.n_states) is found


def test_a_multiple_of_a_pfa_is_normalised_and_mixed():
    wfa = WFA([2.0, 0.0], [0.3, 0.2], [[[0.2, 0.1], [0.0, 0.4]], [[0.1, 0.0], [0.2, 0.1]]], AB)
    corpus = Corpus.from_sequences(["ab", "a", ""], AB)
    shares = event_shares(corpus)
    found = as_start(wfa, count_prefixes(corpus), shares)
    exact = normalise(wfa)[0]
    np.testing.assert_allclose(found.operators, 0.99 * exact.operators + 0.01 * shares[:-1, None, None] / 2, rtol=1e-12)
    np.testing.assert_allclose(found.final, 0.99 * exact.final + 0.01 * shares[-1], rtol=1e-12)
    np.testing.assert_allclose(found.initial, 0.99 * exact.initial + 0.005, rtol=1e-12)


@pytest.mark.parametrize(
    "wfa",
    [
        WFA([0.0], [0.0], np.zeros((2, 1, 1)), AB),
        WFA([0.0, 0.0], [1.0, -1.0], np.zeros((2, 2, 2)), AB),
        WFA([1.0, 1.0], [0.0, 0.0], np.ones((2, 2, 2)) / 8, AB),
        WFA([1.0], [1.0], [[[-0.5]], [[-0.5]]], AB),
        WFA([1.0, -1.0], [1.0, 1.0], np.tile(np.eye(2), (2, 1, 1)) / 4, AB),
        WFA([1.0], [1.0], [[[1e200]], [[1.0]]], AB),
        WFA([1e-300], [1e-300], [[[0.5]], [[0.2]]], AB),
    ],
    ids=["zero", "zero, signed", "never ends", "negative", "sums to zero", "explodes", "almost zero"],
)
@pytest.mark.parametrize("n_states", [None, 4])
def test_automata_without_sense(wfa, n_states):
    corpus = Corpus.from_sequences(["ab", "a", "", "bb"], AB)
    tree, shares = count_prefixes(corpus), event_shares(corpus)
    for make in (project, as_start):
        found = make(wfa, tree, shares, n_states)
        assert found.is_probabilistic(1e-12)
        assert np.isfinite(log_likelihood(plan_walk(tree), found))


def test_no_more_states_than_differ():
    """Of 12 states of a deterministic automaton with three the others would be copies, which EM cannot part."""
    corpus = LanguageModel(PURE).sample(500, seed=0)
    for some in (corpus, corpus[:1]):
        found = project(signed_twin(PURE), count_prefixes(some), event_shares(corpus), 12)
        assert 1 <= found.n_states <= PURE.n_states
        assert found.is_probabilistic(1e-12)


def test_more_states_than_the_automaton_has():
    source = random_hmm(3, 4, seed=2).to_pfa()
    corpus = LanguageModel(source).sample(500, seed=0)
    found = project(signed_twin(source), count_prefixes(corpus), event_shares(corpus), 12)
    assert found.n_states == 12
    assert found.is_probabilistic(1e-12)


def test_the_projection_is_read_as_the_model_is():
    """Of a PFA in disguise the next-event chances after the chosen prefixes are those of the automaton."""
    corpus = LanguageModel(PURE).sample(3000, seed=0)
    found = project(signed_twin(PURE), count_prefixes(corpus), event_shares(corpus))
    one, other = AutomatonModel(found), AutomatonModel(PURE)
    for prefix in ("", "a", "aa", "ab", "b"):
        np.testing.assert_allclose(one.next_symbols([prefix]), other.next_symbols([prefix]), atol=0.03)


def test_spectral_from_exact_blocks():
    """The blocks of the PFA itself: the automaton is exact, the projection near."""
    from momata.core.hankel import exact_blocks
    from momata.learn.factors import rank_path

    strings = list(brute.all_strings("ab", 3))
    blocks = exact_blocks(PURE, Basis(tuple(strings), tuple(strings)))
    wfa = rank_path(blocks, 3).automaton(3)
    brute.assert_same_function(PURE, convert(wfa, "string"), 6, 1e-8)
    corpus = LanguageModel(PURE).sample(3000, seed=0)
    found = project(wfa, count_prefixes(corpus), event_shares(corpus))
    assert np.abs(found.weights(strings) - PURE.weights(strings)).max() < 0.01


def test_the_same_sample_as_a_twin_from_random_targets():
    """Looser where no prefix makes a state certain: still nearer than independent events."""
    for seed in range(4):
        pfa = random_pfa(4, 2, seed=seed, sparsity=0.2, mean_length=6)
        corpus = LanguageModel(pfa).sample(2000, seed=seed)
        tree, shares = count_prefixes(corpus), event_shares(corpus)
        plan = plan_walk(tree)
        found = project(signed_twin(pfa, seed), tree, shares)
        one_state = PFA([1.0], shares[-1:], shares[:-1, None, None], corpus.alphabet)
        assert log_likelihood(plan, found) > log_likelihood(plan, one_state)
