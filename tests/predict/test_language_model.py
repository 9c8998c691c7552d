"""Distributions, streams and policies: what every language model has from the base class."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata.core.alphabet import STOP, UNKNOWN, Alphabet
from momata.core.corpus import Corpus
from momata.errors import AlphabetError
from momata.learn.ngram import learn_ngram
from momata.predict.language_model import Distribution, LanguageModel

CLOSED = Corpus.from_sequences(["abab", "ab", "b", ""], Alphabet("ab", closed=True))


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return learn_ngram(CLOSED, order=3).model


@pytest.fixture(scope="module")
def shared() -> LanguageModel:
    return learn_ngram(["abab", "ab", "b", ""], order=3).model


def test_distribution_is_a_mapping_in_order():
    found = Distribution(Alphabet([3, 1]), np.array([0.25, 0.25, 0.5]))
    assert list(found) == [3, 1, STOP]
    assert len(found) == 3
    assert dict(found) == {3: 0.25, 1: 0.25, STOP: 0.5}
    assert found["3"] == 0.25  # as alphabets find it
    assert 2 not in found
    assert found.get(2) is None
    assert STOP in found
    with pytest.raises(KeyError):
        found[2]
    assert found.sum() == 1.0
    assert np.asarray(found).tolist() == [0.25, 0.25, 0.5]
    assert np.asarray(found, dtype=np.float32).dtype == np.float32


def test_top_breaks_ties_by_the_alphabet():
    found = Distribution(Alphabet("ba"), np.array([0.25, 0.25, 0.5]))
    assert found.top(2) == [(STOP, 0.5), ("b", 0.25)]
    assert found.top(10) == [(STOP, 0.5), ("b", 0.25), ("a", 0.25)]
    assert repr(found) == "Distribution({'</s>': 0.5, 'b': 0.25, 'a': 0.25})"


@given(corpora(min_sequences=1), st.integers(1, 4))
def test_copies_of_a_stream_go_their_own_ways(corpus, order):
    model = learn_ngram(corpus, order=order).model
    symbols = list(model.alphabet)
    stream = model.stream([symbols[0]])
    before, logp = np.asarray(stream.distribution()), stream.log_prob
    twin = stream.copy()
    assert np.array_equal(np.asarray(twin.distribution()), before)
    for symbol in [*symbols, *symbols]:
        twin.push(symbol)
    assert np.array_equal(np.asarray(stream.distribution()), before)
    assert stream.log_prob == logp
    assert twin.log_prob < logp
    expected = np.concatenate(model.event_log_probs([[symbols[0], *symbols, *symbols]]))[:-1].sum()
    assert twin.log_prob == pytest.approx(expected, rel=1e-12)


def test_stream_keeps_unknown_symbols_apart(model, shared):
    stream = shared.stream(["a", "?", "b"])
    assert stream.n_unknown == 1
    assert stream.copy().n_unknown == 1
    assert np.array_equal(np.asarray(stream.distribution()), np.asarray(shared.next_symbol(["a", UNKNOWN, "b"])))
    skipping = model.stream(["a", "?", "b"], unknown="skip")
    assert (skipping.n_unknown, skipping.push("?")) == (1, 1.0)
    assert np.array_equal(np.asarray(skipping.distribution()), np.asarray(model.next_symbol("ab")))
    assert skipping.log_prob == pytest.approx(model.stream("ab").log_prob, rel=1e-14)
    assert skipping.copy().push("?") == 1.0  # the policy is copied too


def test_policies_when_scoring(model, shared):
    assert model.log_prob(["a?b"], unknown="skip")[0] == model.log_prob(["ab"])[0]
    assert model.log_prob(["a?b"], unknown="map=b")[0] == model.log_prob(["abb"])[0]
    assert shared.log_prob(["a?b"])[0] == shared.log_prob([["a", UNKNOWN, "b"]])[0] > -np.inf
    for unknown in (None, "share", "error"):
        with pytest.raises(AlphabetError, match=r"symbol '\?'"):
            model.log_prob(["a?b"], unknown=unknown)
        with pytest.raises(AlphabetError, match=r"symbol '\?'"):
            model.next_symbol("a?b", unknown=unknown)
    with pytest.raises(AlphabetError, match=r"symbol '\?'"):
        shared.log_prob(["a?b"], unknown="error")
    with pytest.raises(AlphabetError, match="is not in the model's alphabet of 2 symbols either"):
        model.log_prob(["a?"], unknown="map=z")


def test_hidden_symbol(model, shared):
    assert model.hidden_symbol == -1
    assert shared.hidden_symbol == 2


def test_nothing_to_score(model):
    assert model.log_prob([]).shape == (0,)
    assert model.event_log_probs([]) == [] or [e.size for e in model.event_log_probs([])] == [0]
    assert model.next_symbols([]).shape == (0, 3)


def test_zero_probabilities_are_minus_infinity_without_a_warning():
    model = learn_ngram(["ab"], order=2, smoothing="none").model
    assert model.log_prob(["ab", "ba"]).tolist() == [0.0, -np.inf]
    stream = model.stream()
    assert stream.push("b") == 0.0
    assert stream.log_prob == -np.inf
