"""Hidden paths, gaps and likeliest strings against enumeration; divergences against sums."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from brute import all_strings
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import stochastic_wfas

import momata as mo
from momata.core.probabilistic import PFA, random_hmm, random_pfa
from momata.core.wfa import WFA
from momata.errors import DataError, OptionError
from momata.predict.decode import infill, likeliest_strings, posteriors, viterbi
from momata.predict.divergence import compare_models, entropy, kl_divergence, l2_distance, total_variation


def paths(pfa: PFA, tokens: list[int]):
    """Yield every path of hidden states with its joint probability."""
    for path in itertools.product(range(pfa.n_states), repeat=len(tokens) + 1):
        p = pfa.initial[path[0]] * pfa.final[path[-1]]
        for t, sigma in enumerate(tokens):
            p *= pfa.operators[sigma, path[t], path[t + 1]]
        yield path, p


@given(stochastic_wfas(max_states=3, max_symbols=2), st.lists(st.integers(0, 1), max_size=4))
def test_viterbi_and_posteriors_equal_enumeration(wfa: WFA, tokens: list[int]) -> None:
    pfa = PFA.of(wfa)
    tokens = [t % pfa.n_symbols for t in tokens]
    string = [pfa.alphabet[t] for t in tokens]
    every = list(paths(pfa, tokens))
    assume(sum(p for _, p in every) > 1e-12)
    states, logp = viterbi(pfa, string)
    best = max(p for _, p in every)
    assert np.exp(logp) == pytest.approx(best, rel=1e-9)
    assert dict(every)[tuple(states.tolist())] == pytest.approx(best, rel=1e-9)
    chances = np.zeros((len(tokens) + 1, pfa.n_states))
    for path, p in every:
        chances[np.arange(len(path)), path] += p
    np.testing.assert_allclose(posteriors(pfa, string), chances / chances.sum(axis=1, keepdims=True), atol=1e-9)


def test_an_hmm_and_a_model_of_it_decode_alike() -> None:
    hmm = random_hmm(3, 3, seed=1)
    string = mo.LanguageModel(hmm.to_pfa()).sample(1, seed=3)[0]
    for other in (hmm.to_pfa(), mo.LanguageModel(hmm.to_pfa())):
        assert np.array_equal(viterbi(hmm, string)[0], viterbi(other, string)[0])
    with pytest.raises(OptionError, match="is none"):
        viterbi(mo.learn_ngram(["ab"], order=1).model, "ab")


@given(stochastic_wfas(max_states=3, max_symbols=3), st.lists(st.sampled_from("ab?"), min_size=1, max_size=4))
def test_infilling_equals_enumeration(wfa: WFA, known: list[str]) -> None:
    pfa = PFA.of(wfa)
    known = [s if s == "?" or s in pfa.alphabet else "a" for s in known]
    choices = [list(pfa.alphabet) if s == "?" else [s] for s in known]
    ways = list(itertools.product(*choices))
    weights = pfa.weights(ways)
    assume(weights.sum() > 1e-12)
    found = infill(pfa, known)
    assert np.exp(found.log_prob) == pytest.approx(weights.sum(), rel=1e-9)
    assert set(found.marginals) == {t for t, s in enumerate(known) if s == "?"}
    for t, marginal in found.marginals.items():
        for symbol, p in marginal.items():
            share = sum(w for way, w in zip(ways, weights, strict=True) if way[t] == symbol) / weights.sum()
            assert p == pytest.approx(share, abs=1e-9)
    joint = {way: max(p for _, p in paths(pfa, [pfa.alphabet.index(s) for s in way])) for way in ways}
    assert joint[found.best] == pytest.approx(max(joint.values()), rel=1e-9)


def test_impossible_sequences_are_refused() -> None:
    pfa = PFA([1.0, 0.0], [0.0, 1.0], [[[0.0, 1.0], [0.0, 0.0]]], mo.Alphabet("a"))
    for function in (viterbi, posteriors, infill):
        with pytest.raises(DataError, match="probability 0"):
            function(pfa, "aa")


@given(stochastic_wfas(max_states=3, max_symbols=2, min_stop=0.4), st.booleans())
def test_likeliest_strings_in_order(wfa: WFA, alone: bool) -> None:
    model = mo.LanguageModel(wfa)
    if not alone:
        model = mo.learn_ngram(model.sample(30, seed=1), order=2).model
    every = list(all_strings([s for s in model.alphabet if s != mo.UNKNOWN], 8))
    top = np.sort(np.exp(model.log_prob(every)))[::-1][:4]
    found = likeliest_strings(model, 4)
    np.testing.assert_allclose([p for _, p in found], top, rtol=1e-9)
    np.testing.assert_allclose(np.exp(model.log_prob([s for s, _ in found])), top, rtol=1e-9)


def test_likeliest_strings_of_a_finite_language_and_limits() -> None:
    two = PFA([1.0, 0.0], [0.3, 1.0], [[[0.0, 0.7], [0.0, 0.0]]], mo.Alphabet("a"))
    assert likeliest_strings(mo.LanguageModel(two), 5) == [(("a",), 0.7), ((), 0.3)]
    flat = mo.LanguageModel(random_pfa(3, 8, seed=1, mean_length=200))
    with pytest.raises(OptionError, match="spread over too many"):
        likeliest_strings(flat, 1000, max_steps=50)


def test_divergences_equal_their_sums() -> None:
    p, q = (mo.LanguageModel(random_pfa(3, 2, seed=s, mean_length=1.0, sparsity=0.2)) for s in (1, 2))
    every = list(all_strings(p.alphabet, 12))
    a, b = np.exp(p.log_prob(every)), np.exp(q.log_prob(every))
    assert a.sum() > 1 - 1e-3
    n = 20_000
    for estimate, exact in (
        (kl_divergence(p, q, n, 1), a @ np.log(a / b)),
        (total_variation(p, q, n, 1), 0.5 * np.abs(a - b).sum()),
        (entropy(p, n, 1), -a @ np.log(a)),
    ):
        assert 0 < estimate.error < 0.1
        assert abs(estimate.value - exact) < 5 * estimate.error + 0.02  # 0.02: what strings over 12 symbols may add
    assert l2_distance(p, q) == pytest.approx(np.linalg.norm(a - b), abs=1e-4)
    found = compare_models(p, p, 100)
    assert (found["kl"], found["total_variation"]) == (0.0, 0.0)
    assert found["l2"] == pytest.approx(0.0, abs=1e-7)


def test_divergence_from_what_has_zeros_is_infinite() -> None:
    p = mo.LanguageModel(random_pfa(3, 2, seed=1, sparsity=0.0))
    q = mo.learn_ngram([[0, 1]], order=2, smoothing="none").model
    assert kl_divergence(p, q, 50).value == np.inf
    with pytest.raises(OptionError, match="standard error"):
        entropy(p, 1)


def test_divergences_count_the_share_for_unknown_symbols() -> None:
    """Unigram models, so that the sums over all strings are known in closed form."""
    p = mo.learn_ngram(["abc", "ab", "ca", "bc"], order=1).model
    q = mo.learn_ngram(["abc" * 4, "ab", "ca", "bc"], order=1).model
    a, b = (np.asarray(m.next_symbol()) for m in (p, q))
    length = 1.0 / a[-1]  # expected number of events
    n = 40_000
    for estimate, exact in (
        (entropy(p, n, 1), -length * (a @ np.log(a))),
        (kl_divergence(p, q, n, 1), length * (a @ np.log(a / b))),
    ):
        assert abs(estimate.value - exact) < 5 * estimate.error
    one, two = total_variation(p, q, n, 1), total_variation(q, p, n, 2)
    assert abs(one.value - two.value) < 5 * np.hypot(one.error, two.error)


def test_models_over_different_alphabets_are_compared() -> None:
    p = mo.LanguageModel(PFA([1.0], [0.5], [[[0.25]], [[0.25]]], mo.Alphabet("ab")))
    q = mo.LanguageModel(PFA([1.0], [0.5], [[[0.5]]], mo.Alphabet("a")))
    found = compare_models(p, q, 2000)
    assert found["kl"] == np.inf
    assert found["kl_reverse"] == pytest.approx(np.log(2), abs=5 * found["kl_reverse_error"])
    assert 0 < found["total_variation"] < 1


def test_none_may_be_the_mark_of_a_gap() -> None:
    pfa = random_hmm(2, 2, seed=1).to_pfa()
    assert infill(pfa, [0, None], missing=None).marginals == infill(pfa, [0, "?"]).marginals
