"""Sampling: seeds, frequencies, limits."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from brute import all_strings
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import corpora

import momata as mo
from momata.core.alphabet import UNKNOWN, Alphabet
from momata.core.corpus import Corpus
from momata.errors import DataError, OptionError
from momata.learn.ngram import learn_ngram

ROWS = ["abab", "ab", "b", "", "ababab", "ba"]


def rows(corpus) -> list[tuple]:
    return list(corpus)


@given(corpora(min_sequences=1), st.integers(1, 3), st.sampled_from(["kn", "mkn", "none"]), st.integers(0, 5))
def test_same_seed_same_sequences(corpus, order, smoothing, seed):
    model = learn_ngram(corpus, order=order, smoothing=smoothing).model
    once, again = model.sample(5, seed), model.sample(5, np.random.default_rng(seed))
    assert rows(once) == rows(again)
    assert len(once) == 5
    assert once.alphabet.symbols == tuple(s for s in model.alphabet if s != UNKNOWN)
    assert np.all(np.isfinite(model.log_prob(once)))


def test_other_seed_other_sequences():
    model = learn_ngram(ROWS, order=2).model
    assert len({str(rows(model.sample(10, seed))) for seed in range(5)}) == 5


@pytest.mark.parametrize("smoothing", ["kn", "mkn", "none"])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_frequencies_are_probabilities(order, smoothing):
    """Each of the 31 strings up to length 4 over two symbols, within 5 standard deviations."""
    corpus = Corpus.from_sequences(ROWS, Alphabet("ab", closed=True))
    model = learn_ngram(corpus, order=order, smoothing=smoothing).model
    n = 4000
    found = Counter(rows(model.sample(n, seed=3)))
    strings = list(all_strings("ab", 4))
    for string, p in zip(strings, np.exp(model.log_prob(strings)), strict=True):
        assert abs(found[string] / n - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-12, (string, p)


def test_symbols_never_seen_but_declared_are_drawn_as_often_as_they_should():
    corpus = Corpus.from_sequences(["a", "aa", "b", ""], Alphabet("abcd", closed=True))
    model = learn_ngram(corpus, order=3).model
    n = 20_000
    found = Counter(row[:1] for row in model.sample(n, seed=1))
    for symbol, p in model.next_symbol("").items():
        key = () if symbol == "</s>" else (symbol,)
        assert abs(found[key] / n - p) <= 5 * np.sqrt(p * (1 - p) / n), symbol
        assert found[key] > 0


def test_unknown_is_never_drawn_and_its_share_goes_to_the_others_in_proportion():
    model = learn_ngram(["abc"], order=1).model
    first = model.next_symbol("")
    assert first[UNKNOWN] == pytest.approx(0.1)  # at the first place 400 times, if it could be drawn
    n = 4000
    sampled = rows(model.sample(n, seed=2))
    assert not any(UNKNOWN in row for row in sampled)
    found = Counter(row[:1] for row in sampled)
    for symbol in "abc":
        p = first[symbol] / (1 - first[UNKNOWN])
        assert abs(found[(symbol,)] / n - p) <= 5 * np.sqrt(p * (1 - p) / n)


def test_the_limit_is_an_error_and_says_what_to_do():
    model = learn_ngram(["a" * 50], order=2, smoothing="none").model
    with pytest.raises(DataError, match=r"\d+ of 20 sampled sequences did not end within max_length=3 symbols"):
        model.sample(20, max_length=3)
    assert all(len(row) < 10_000 for row in model.sample(20, max_length=10_000))


@settings(max_examples=10)
@given(st.integers(0, 4))
def test_the_limit_is_a_length_that_is_allowed(length):
    model = learn_ngram(["a" * length], order=6, smoothing="none").model  # always exactly this string
    assert rows(model.sample(3, max_length=length)) == [("a",) * length] * 3
    if length:
        with pytest.raises(DataError, match="3 of 3 sampled sequences"):
            model.sample(3, max_length=length - 1)


def test_none_can_be_drawn_but_not_fewer():
    model = learn_ngram(ROWS, order=2).model
    assert rows(model.sample(0)) == []
    with pytest.raises(OptionError, match="n=-1 sequences"):
        model.sample(-1)
    with pytest.raises(OptionError, match="cannot be drawn"):
        model.sample(1, max_length=-1)


def test_what_follows_a_prefix_is_drawn_given_it() -> None:
    from momata.core.probabilistic import random_hmm
    from momata.errors import DataError
    from momata.predict.automaton_model import AutomatonModel

    pfa = random_hmm(3, 2, seed=4, mean_length=2).to_pfa()
    whole = mo.LanguageModel(pfa)
    signed = AutomatonModel(pfa.change_basis(np.random.default_rng(1).standard_normal((3, 3))))
    ngram = mo.learn_ngram(whole.sample(200, seed=1), order=3).model
    prefix, n = (1, 0), 20_000
    for model in (whole, signed, ngram, AutomatonModel(pfa, ngram, 0.3)):
        drawn = model.sample(n, seed=5, prefix=prefix)
        assert all(s[:2] == prefix for s in drawn[:100])
        ended = np.count_nonzero(drawn.lengths == 2) / n
        p = model.next_symbol(prefix)[mo.STOP]
        assert abs(ended - p) <= 5 * np.sqrt(p * (1 - p) / n)
        following = drawn.tokens[drawn.offsets[:-1][drawn.lengths > 2] + 2]
        p = model.next_symbol(prefix)[1]
        assert abs(np.count_nonzero(following == 1) / n - p) <= 5 * np.sqrt(p * (1 - p) / n)
    never = mo.learn_ngram([[0]], order=2, smoothing="none").model
    with pytest.raises(DataError, match="prefix has probability 0"):
        never.sample(1, prefix=[0, 0])


def test_a_literal_unknown_symbol_is_a_symbol_like_any_other() -> None:
    rows = [["a", "<unk>"]] * 50 + [["a", "b"]]
    model = mo.learn_ngram(rows, order=2).model
    assert model.hidden_symbol == -1
    assert model.next_symbol(["a"]).top(1)[0][0] == "<unk>"
    drawn = model.sample(200, seed=1)
    assert sum("<unk>" in s for s in drawn) > 100
    only = mo.learn_ngram([["<unk>", "<unk>"]] * 20, order=2, smoothing="none").model
    assert set(only.sample(3, seed=0)[0]) == {"<unk>"}  # and it ends


def test_what_was_written_out_as_an_automaton_samples() -> None:
    wfa = mo.learn_ngram(["abc", "ab", "ca"], order=2).model.to_wfa()
    assert len(mo.LanguageModel(wfa).sample(20_000, seed=0)) == 20_000


def test_many_sequences_are_drawn_in_parts_that_fit_together(monkeypatch) -> None:
    from momata.predict import language_model

    model = mo.learn_ngram(["abc", "ab", "ca"], order=2).model
    whole = model.sample(1000, seed=3)
    monkeypatch.setattr(language_model, "_AT_ONCE", 7)
    parts = model.sample(1000, seed=3)
    assert np.array_equal(whole.tokens, parts.tokens)
    assert np.array_equal(whole.offsets, parts.offsets)


@pytest.mark.parametrize(("name", "value"), [("n", 2.5), ("seed", -1), ("max_length", "x"), ("n", True)])
def test_numbers_that_are_none(name, value) -> None:
    with pytest.raises(OptionError, match=name):
        mo.learn_ngram(["ab"], order=1).model.sample(**{name: value})
