"""Perplexity, word error rate and ranking against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from brute import STOP, KneserNey, all_strings
from brute import ndcg as slow_ndcg
from brute import perplexity as slow_perplexity
from brute import word_errors as slow_word_errors
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata.core.alphabet import UNKNOWN, Alphabet
from momata.core.corpus import Corpus
from momata.errors import DataError, OptionError
from momata.learn.ngram import learn_ngram
from momata.predict.metrics import evaluate, ndcg, perplexity, word_errors


@given(corpora(min_sequences=1, closed=True), st.data(), st.integers(1, 3))
def test_evaluate_equals_the_definitions(corpus, data, order):
    model = learn_ngram(corpus, order=order).model
    slow = KneserNey(corpus, corpus.alphabet, order)
    letters = st.lists(st.sampled_from(list(corpus.alphabet)), max_size=5).map(tuple)
    test = data.draw(st.lists(letters, min_size=1, max_size=5))
    times = data.draw(st.one_of(st.none(), st.lists(st.integers(1, 3), min_size=len(test), max_size=len(test))))
    target = data.draw(st.lists(st.floats(0.01, 1), min_size=len(test), max_size=len(test)))
    found = evaluate(model, Corpus.from_sequences(test, corpus.alphabet, weights=times), target)
    weights = times or [1] * len(test)
    log_prob = sum(w * math.log(slow.string_prob(s)) for w, s in zip(weights, test, strict=True))
    n_events = sum(w * (len(s) + 1) for w, s in zip(weights, test, strict=True))
    n_bits = [w * math.log2(p) for w, s in zip(weights, test, strict=True) for p in slow.event_probs(s)]
    # ties within rounding make the oracle's arg max its own: count errors with the model's distributions, by definition
    errors = 0
    for w, s in zip(weights, test, strict=True):
        for k, truth in enumerate((*s, STOP)):
            row = model.next_symbol(s[:k])
            errors += w * (max(row, key=row.__getitem__) != truth)
    assert found.pop("unknown_symbols") == 0
    assert found == pytest.approx(
        {
            "perplexity": slow_perplexity(target, [slow.string_prob(s) for s in test]),
            "perplexity_per_string": math.exp(-log_prob / sum(weights)),
            "perplexity_per_symbol": 2 ** -(sum(n_bits) / n_events),
            "wer": 100 * errors / n_events,
            "log_prob": log_prob,
            "n_sequences": sum(weights),
            "n_events": n_events,
        },
        rel=1e-9,
    )
    assert type(found["n_sequences"]) is type(found["n_events"]) is int


def test_word_errors_of_a_model_without_ties():
    rows = ["aab", "aab", "ab", "b", "aabb", "aaa"]
    corpus = Corpus.from_sequences(rows, Alphabet("ab", closed=True))
    for order in (1, 2, 3):
        slow = KneserNey(rows, "ab", order)
        test = list(all_strings("ab", 4))
        values = {tuple(s): slow.next_symbol(s) for s in test}
        assert all(sorted(v)[-1] - sorted(v)[-2] > 1e-9 for v in values.values())
        model = learn_ngram(corpus, order=order).model
        found = word_errors(model, Corpus.from_sequences(test, corpus.alphabet))
        assert found.tolist() == [slow_word_errors(slow, s) for s in test]


def test_perplexity_normalises_both_sides():
    target, model = [0.1, 0.3, 0.2], [0.2, 0.1, 0.1]
    expected = slow_perplexity(target, model)
    assert perplexity(np.log(model), target) == pytest.approx(expected, rel=1e-13)
    assert perplexity(np.log(model) - 900, np.array(target) * 1e-200) == pytest.approx(expected, rel=1e-11)
    # a model that is the target has the lowest perplexity there is: that of the target's entropy
    own = slow_perplexity(target, target)
    assert perplexity(np.log(target), target) == pytest.approx(own, rel=1e-13)
    assert own < expected


def test_perplexity_with_zeros():
    assert perplexity(np.array([0.0, -np.inf]), [1.0, 0.0]) == 1.0
    assert perplexity(np.array([0.0, -np.inf]), [0.5, 0.5]) == np.inf
    assert perplexity(np.array([-np.inf, -np.inf]), [0.5, 0.5]) == np.inf


@pytest.mark.parametrize("target", [[0.5], [0.5, 0.25, 0.25], [[0.5, 0.5]]])
def test_target_of_another_size_is_refused(target):
    with pytest.raises(DataError, match=r"the target has \d probabilities for 2 sequences"):
        perplexity(np.zeros(2), target)


@pytest.mark.parametrize("target", [[0, 0], [1, -0.1], [1, np.nan], [1, np.inf]])
def test_target_that_is_no_distribution_is_refused(target):
    with pytest.raises(DataError, match="finite, not negative, and not all 0"):
        perplexity(np.zeros(2), target)


def test_evaluate_counts_unknown_symbols_by_weight():
    model = learn_ngram(["ab", "b"], order=2).model
    test = Corpus.from_sequences(["a?", "b"], weights=[3, 1])
    assert evaluate(model, test)["unknown_symbols"] == 3
    assert evaluate(model, test, unknown="skip")["n_events"] == 3 * 2 + 2
    assert evaluate(model, [["a", UNKNOWN]])["unknown_symbols"] == 0


def test_evaluate_with_real_weights_and_impossible_strings():
    model = learn_ngram(["ab", "ab", "b"], order=2, smoothing="none").model
    found = evaluate(model, Corpus.from_sequences(["ab", "b"], weights=[0.5, 0.25]))
    assert found["n_sequences"] == 0.75
    assert found["log_prob"] == pytest.approx(0.5 * math.log(2 / 3) + 0.25 * math.log(1 / 3), rel=1e-13)
    impossible = evaluate(model, ["ba"])
    assert impossible["perplexity_per_string"] == impossible["perplexity_per_symbol"] == np.inf
    assert "perplexity" not in impossible


def test_nothing_to_evaluate_is_refused():
    with pytest.raises(DataError, match="cannot be evaluated on"):
        evaluate(learn_ngram(["ab"], order=1).model, [])


# ------------------------------------------------------------------ ranking


@given(corpora(min_sequences=1), st.integers(1, 6), st.data())
def test_ndcg_equals_the_definition(corpus, k, data):
    model = learn_ngram(corpus, order=2).model
    symbols = st.sampled_from(list(model.alphabet))
    prefixes = data.draw(st.lists(st.lists(symbols, max_size=3), min_size=1, max_size=4))
    events = [*model.alphabet, STOP]
    truth = [
        {e: data.draw(st.floats(0, 1)) for e in data.draw(st.lists(st.sampled_from(events), unique=True))}
        for _ in prefixes
    ]
    ideal = [data.draw(st.floats(0.1, 3)) for _ in prefixes]
    rankings = []
    for prefix in prefixes:
        row = model.next_symbol(prefix)
        rankings.append(sorted(events, key=lambda e, row=row: -row[e]))
    assert ndcg(model, prefixes, ideal, truth, k) == pytest.approx(slow_ndcg(rankings, ideal, truth, k), rel=1e-12)


def test_ndcg_by_hand():
    """After nothing the model ranks a, the end, b: gains 0.5, 0.3, 0.2 in another order than the ideal one."""
    corpus = Corpus.from_sequences([[0], [0], [0], [], [], [1]], Alphabet.of_size(2))
    model = learn_ngram(corpus, order=2, smoothing="none").model
    truth = [{0: 0.3, -1: 0.5, 1: 0.2}]
    ideal = 0.5 + 0.3 / math.log2(3) + 0.2 / 2
    assert ndcg(model, [[]], [ideal], truth, k=3) == pytest.approx((0.3 + 0.5 / math.log2(3) + 0.1) / ideal, rel=1e-14)
    assert ndcg(model, [[]], [0.5], truth, k=1) == pytest.approx(0.6, rel=1e-14)
    named = [{"0": 0.3, STOP: 0.5, "1": 0.2, "never": 0.9}]
    assert ndcg(model, [[]], [ideal], named, k=3) == ndcg(model, [[]], [ideal], truth, k=3)
    perfect = [{0: 0.5, -1: 0.3, 1: 0.2}]
    assert ndcg(model, [[]], [ideal], perfect, k=5) == pytest.approx(1, rel=1e-14)


def test_ndcg_refuses_what_does_not_fit():
    model = learn_ngram(["ab"], order=1).model
    with pytest.raises(DataError, match="there are 1 rankings for 2 prefixes"):
        ndcg(model, ["", "a"], [1.0, 1.0], [{"a": 1.0}])
    with pytest.raises(DataError, match="Give one for each"):
        ndcg(model, ["", "a"], [1.0], [{"a": 1.0}] * 2)
    for k, ideal in ((0, [1.0]), (5, [0.0]), (5, [-1.0])):
        with pytest.raises(OptionError, match="each must be above 0"):
            ndcg(model, [""], ideal, [{"a": 1.0}], k=k)
    with pytest.raises(OptionError, match="0 prefixes"):
        ndcg(model, [], [], [])
