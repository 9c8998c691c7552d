"""Numerical accidents, by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from brute import KneserNey
from brute import count_substrings as brute_substrings
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata.core.alphabet import STOP, Alphabet
from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes, count_substrings
from momata.learn.ngram import learn_ngram
from momata.predict.metrics import evaluate, perplexity

HUGE = 2**40


def strings_of(tree) -> dict:
    return {tree.string(u): (int(tree.through[u]), int(tree.end[u])) for u in range(tree.n_nodes)}


# ------------------------------------------------------------------ a string of 10,000 symbols


@pytest.mark.parametrize("depth", [1, 5, 40])
def test_one_string_of_10000_symbols_is_counted(depth):
    rng = np.random.default_rng(0)
    row = (np.cumsum(rng.random(10_000) < 0.01) % 2).tolist()  # long runs
    tree = count_substrings(Corpus.from_sequences([row]), depth)
    for length in (1, depth):
        codes: dict[tuple, int] = {}
        for p in range(len(row) - length + 1):
            codes[tuple(row[p : p + length])] = codes.get(tuple(row[p : p + length]), 0) + 1
        level = tree.level(length)
        assert {tree.string(u): int(tree.through[u]) for u in range(level.start, level.stop)} == codes
    assert tree.through[0] == 10_001


def test_prefix_tree_of_a_string_of_10000_symbols():
    rng = np.random.default_rng(1)
    row = rng.integers(0, 3, 10_000)
    other = np.append(row[:9_990], [0, 1])
    tree = count_prefixes(Corpus.from_sequences([row, other, row[:5000]], Alphabet.of_size(3)))
    assert tree.depth == 10_000
    assert [tree.through[tree.find(row[:k].tolist())] for k in (0, 5000, 5001, 9_990, 10_000)] == [3, 3, 2, 2, 1]
    assert tree.string(tree.n_nodes - 1) == tuple(row.tolist())
    assert tree.end.sum() == 3


@pytest.mark.parametrize("smoothing", ["kn", "none"])
def test_log_probability_of_10000_symbols_does_not_underflow(smoothing):
    """The probability itself is far below the smallest number there is; its logarithm is a sum of equal parts."""
    rows = ["ab" * k for k in (1, 2, 3, 4)] * 3
    model = learn_ngram(Corpus.from_sequences(rows, Alphabet("ab", closed=True)), order=3, smoothing=smoothing).model
    slow = KneserNey(rows, "ab", 3, smoothing)
    text = "ab" * 5_000
    first, second = (math.log(slow.prob(x, text[:4])) if x == "a" else math.log(slow.prob(x, text[:5])) for x in "ab")
    head = sum(map(math.log, slow.event_probs(text[:4])[:-1]))
    expected = head + 4_998 * (first + second) + math.log(slow.prob(STOP, text[:4]))
    found = model.log_prob([text])[0]
    assert found == pytest.approx(expected, rel=1e-11)  # 10,001 roundings of relative size 1e-16
    assert found < -745  # log of the smallest positive number
    assert model.event_log_probs([text])[0].sum() == pytest.approx(found, rel=1e-11)
    assert model.stream(text).log_prob == pytest.approx(found - math.log(slow.prob(STOP, text[:4])), rel=1e-11)


def test_perplexities_of_strings_whose_probabilities_underflow():
    model = learn_ngram(Corpus.from_sequences(["ab" * 3, "ba"], Alphabet("ab", closed=True)), order=2).model
    test = ["ab" * 3000, "ab" * 3001]
    logp = model.log_prob(test)
    found = evaluate(model, test, target=[1e-300, 1e-300])
    q = 1 / (1 + math.exp(logp[1] - logp[0]))
    assert found["perplexity"] == pytest.approx(2 ** -(0.5 * math.log2(q) + 0.5 * math.log2(1 - q)), rel=1e-8)
    assert found["perplexity_per_symbol"] == pytest.approx(math.exp(-logp.sum() / 12_004), rel=1e-12)
    assert found["perplexity_per_string"] == math.inf  # beyond the largest number, and said so without a warning


def test_perplexity_of_targets_that_underflow_when_multiplied():
    assert perplexity(np.array([-2000.0, -2000.0, -2000.0]), [1e-320, 1e-320, 1e-320]) == pytest.approx(3, rel=1e-12)


# ------------------------------------------------------------------ huge multiplicities


@given(corpora(min_sequences=1), st.integers(0, 4))
def test_huge_multiplicities_are_counted_exactly(corpus, depth):
    weights = [HUGE + i for i in range(len(corpus))]
    heavy = Corpus(corpus.tokens, corpus.offsets, corpus.alphabet, np.array(weights))
    assert strings_of(count_substrings(heavy, depth)) == brute_substrings(corpus, depth, weights)
    tree = count_prefixes(heavy)
    assert tree.through[0] == tree.end.sum() == sum(weights)
    assert strings_of(tree.merge(tree))[()][0] == 2 * sum(weights)
    assert heavy.deduplicate().weights.sum() == sum(weights)


@given(corpora(min_sequences=1), st.integers(1, 3))
def test_models_of_huge_multiplicities_are_relative_frequencies(corpus, order):
    """With counts of 2**40 the discounts at full order are nothing beside them."""
    heavy = Corpus(corpus.tokens, corpus.offsets, corpus.alphabet, np.full(len(corpus), HUGE))
    model = learn_ngram(heavy, order=order).model
    plain = learn_ngram(corpus, order=order, smoothing="none").model
    contexts = [row[:k] for row in corpus for k in range(len(row) + 1)]
    found = model.next_symbols(contexts)
    assert np.all(np.abs(found.sum(axis=1) - 1) <= 1e-12)
    assert found.min() > 0
    seen = np.array([[*p.values()] for p in map(plain.next_symbol, contexts)])
    kept = [i for i, s in enumerate([*model.alphabet, STOP]) if s in [*plain.alphabet, STOP]]
    # at most 5 events lose up to 1 each, of a total of 2**40 at least
    np.testing.assert_allclose(found[:, kept], seen, rtol=0, atol=10 / HUGE)


def test_real_weights_of_very_different_sizes():
    corpus = Corpus.from_sequences(["a", "ab", "c"], weights=[1e15, 1e-3, 1e-9])
    for tree in (count_prefixes(corpus), count_substrings(corpus, 2)):
        assert tree.through[tree.find("ab")] == 1e-3
        assert tree.end[tree.find("c")] == tree.through[tree.find("c")] == 1e-9
        again = type(tree).from_arrays(
            tree.kind,
            tree.depth,
            tree.alphabet,
            tree.symbol,
            tree.child_start,
            tree.through,
            tree.end,
            tree.level_offsets,
        )
        assert np.array_equal(again.through, tree.through)


# ------------------------------------------------------------------ small and large alphabets


@pytest.mark.parametrize("order", [1, 2, 6])
@pytest.mark.parametrize("smoothing", ["kn", "mkn", "none"])
def test_alphabet_of_one_symbol(order, smoothing):
    rows = ["a" * k for k in (0, 1, 1, 2, 5, 40)]
    model = learn_ngram(Corpus.from_sequences(rows, Alphabet("a", closed=True)), order=order, smoothing=smoothing).model
    slow = KneserNey(rows, "a", order, smoothing)
    asked = ["a" * k for k in range(60)]
    expected = np.array([slow.string_prob(s) for s in asked])
    np.testing.assert_allclose(np.exp(model.log_prob(asked)), expected, rtol=1e-10, atol=0)
    assert all(set(row) <= {"a"} for row in model.sample(20, seed=0))


def test_hundred_thousand_declared_symbols_of_which_three_occur():
    n = 100_000
    used = [7, 50_000, 99_999]
    rows = [[used[0], used[1]], [used[2]], [used[0]], [used[1], used[1], used[2]]]
    corpus = Corpus.from_sequences(rows, Alphabet.of_size(n))
    assert strings_of(count_substrings(corpus, 3)) == brute_substrings(rows, 3)
    assert strings_of(
        count_substrings(Corpus.from_sequences(rows, Alphabet.of_size(n), [2] * 4), 3)
    ) == brute_substrings(rows, 3, [2] * 4)
    model = learn_ngram(corpus, order=3).model
    assert len(model.alphabet) == n
    slow = KneserNey(rows, range(n), 3)
    for prefix in ([], [7], [50_000, 50_000], [123], [123, 7]):
        found = np.asarray(model.next_symbol(prefix))
        assert abs(found.sum() - 1) <= 1e-12
        for symbol in (*used, 0, 123):
            assert found[symbol] == pytest.approx(slow.prob(symbol, tuple(prefix)), rel=1e-10)
        assert found[-1] == pytest.approx(slow.prob(STOP, tuple(prefix)), rel=1e-10)
    assert model.predict_tokens(np.array([7], np.int32), np.array([0, 1])).tolist() == [
        int(np.argmax(np.asarray(model.next_symbol(p)))) for p in ([], [7])
    ]
    assert model.log_prob([[123, 456]])[0] == pytest.approx(math.log(slow.string_prob((123, 456))), rel=1e-12)


def test_probabilities_of_rare_events_keep_their_digits():
    """An event a hundred million times less likely than another one, against the definition."""
    corpus = Corpus.from_sequences(["a", "b"], Alphabet("ab", closed=True), weights=[10**8, 1])
    for smoothing in ("kn", "mkn", "none"):
        model = learn_ngram(corpus, order=2, smoothing=smoothing).model
        slow = KneserNey(["a", "b"], "ab", 2, smoothing, weights=[10**8, 1])
        assert model.log_prob(["b"])[0] == pytest.approx(math.log(slow.string_prob("b")), rel=1e-13)
