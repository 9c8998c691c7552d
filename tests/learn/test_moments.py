"""What moment learners count: it adds up over samples, and goes over to larger alphabets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata.core.alphabet import START, UNKNOWN, Alphabet
from momata.core.corpus import Corpus
from momata.core.tree import CountedTree
from momata.errors import AlphabetError, OptionError
from momata.learn.moments import Moments, count_moments
from momata.learn.ngram import learn_ngram

STATISTICS = ("string", "prefix", "suffix", "substring")


def trees(moments: Moments) -> list[CountedTree]:
    found = [tree for one in moments.counts.values() for tree in (one.prefix_tree, one.substring_tree)]
    return found if moments.ngrams is None else [*found, moments.ngrams]


def assert_same(one: Moments, other: Moments) -> None:
    assert list(one.counts) == list(other.counts)
    assert (one.ngrams is None) == (other.ngrams is None)
    assert (one.alphabet, one.model_alphabet) == (other.alphabet, other.model_alphabet)
    for a, b in zip(trees(one), trees(other), strict=True):
        assert (a.kind, a.depth, a.alphabet.symbols) == (b.kind, b.depth, b.alphabet.symbols)
        for name in ("symbol", "parent", "child_start", "through", "end", "level_offsets"):
            assert np.array_equal(getattr(a, name), getattr(b, name)), name


def count(corpus: Corpus, lengths: tuple[int, int] = (2, 1), order: int = 3) -> Moments:
    return count_moments(corpus, STATISTICS, *lengths, order)


shards = st.lists(corpora(weights=True, closed=False), min_size=3, max_size=3)


@given(shards, st.tuples(st.integers(0, 2), st.integers(0, 2)), st.integers(1, 4))
def test_merging_is_counting_together_in_any_order(parts, lengths, order):
    alphabet = Alphabet("abcd")
    parts = [c.recode(alphabet) for c in parts]
    one, two, three = (count(c, lengths, order) for c in parts)
    whole = count(Corpus.concatenate(parts), lengths, order)
    assert_same(one.merge(two).merge(three), whole)
    assert_same(three.merge(one.merge(two)), whole)


@given(corpora(weights=True), st.integers(0, 3))
def test_over_more_symbols_is_counting_over_them(corpus, n_new):
    """The mark of the start and the symbol for unknown ones stay behind all others."""
    alphabet = Alphabet((*corpus.alphabet, *"wxyz"[:n_new]), closed=corpus.alphabet.closed and not n_new)
    assert_same(count(corpus).over(alphabet), count(corpus.recode(alphabet)))


@given(corpora(min_sequences=1, max_symbols=2, closed=False), corpora(min_sequences=1, weights=True, closed=False))
def test_new_symbols_may_come_with_a_later_sample(first, second):
    union = Alphabet(dict.fromkeys([*first.alphabet, *second.alphabet]))
    merged = count(first).over(union).merge(count(second.recode(union)))
    assert_same(merged, count(Corpus.concatenate([first, second])))


def test_alphabets_must_be_those_of_each_other():
    with pytest.raises(AlphabetError, match="over different alphabets"):
        count(Corpus.from_sequences(["ab"])).merge(count(Corpus.from_sequences(["abc"])))
    with pytest.raises(AlphabetError, match="cannot be read over these 1"):
        count(Corpus.from_sequences(["ab"])).over(Alphabet("a"))
    with pytest.raises(OptionError, match=r"of depth 4 and a .* of depth 5 cannot be merged"):
        count(Corpus.from_sequences(["ab"]), (2, 1)).merge(count(Corpus.from_sequences(["ab"]), (2, 2)))


@given(corpora(min_sequences=1, weights=True), st.integers(1, 5), st.sampled_from(["kn", "mkn", "none"]))
def test_the_backing_is_the_ngram_model_of_the_sample(corpus, order, smoothing):
    model = count(corpus, order=3).backing(order, smoothing)
    assert model.order == min(order, 3)
    over = corpus if corpus.alphabet.closed else corpus.recode(corpus.alphabet.with_unknown())
    alone = learn_ngram(over, model.order, smoothing).model
    assert model.alphabet == alone.alphabet
    assert np.array_equal(model.next_symbols(list(over)), alone.next_symbols(list(over)))


def test_only_an_open_alphabet_has_a_symbol_for_unknown_ones():
    corpus = Corpus.from_sequences(["ab"])
    assert count(corpus).model_alphabet.symbols == ("a", "b", UNKNOWN)
    assert count(corpus).ngrams.alphabet.symbols == ("a", "b", UNKNOWN, START)
    closed = count(corpus.recode(Alphabet("ab", closed=True)))
    assert closed.model_alphabet.symbols == ("a", "b")
    assert closed.alphabet.closed


def test_weights_that_are_no_whole_numbers_have_no_backing():
    real = count(Corpus.from_sequences(["ab", "b"], weights=[0.5, 1.0]))
    whole = count(Corpus.from_sequences(["ab", "b"], weights=[2.0, 1.0]))
    assert real.ngrams is None
    assert real.backing(3) is None
    assert real.model_alphabet is real.alphabet
    assert whole.backing(2).order == 2
    for merged in (real.merge(whole), whole.merge(real)):
        assert merged.ngrams is None
        assert merged.counts["string"].n_sequences == 4.5
    assert whole.like(real).ngrams is None
    assert whole.like(whole) is whole
    assert real.over(Alphabet("abc")).ngrams is None
