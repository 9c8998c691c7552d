"""What moment learners count of a sample: all they need, and it adds up over samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from momata.core.alphabet import START, Alphabet
from momata.core.corpus import Corpus
from momata.core.statistics import Counts, count_statistic
from momata.core.tree import CountedTree
from momata.core.wfa import Statistic
from momata.learn.ngram import count_ngrams
from momata.predict.ngram_model import NGramModel, Smoothing

__all__ = ["Moments", "count_moments"]


@dataclass(frozen=True, eq=False)
class Moments:
    """The counts of a sample from which an automaton and the n-gram model behind it are made.

    Attributes
    ----------
    counts : mapping from statistics to Counts
    ngrams : CountedTree or None
        For the backing; None where weights are no whole numbers.
    alphabet : Alphabet
        Of the automaton; the backing's has a symbol for unknown ones too, if this one is open.
    """

    counts: Mapping[Statistic, Counts]
    ngrams: CountedTree | None
    alphabet: Alphabet

    @property
    def model_alphabet(self) -> Alphabet:
        """The alphabet of the language model."""
        return self.alphabet if self.ngrams is None else _backing_alphabet(self.alphabet)

    def backing(self, order: int, smoothing: Smoothing = "kn") -> NGramModel | None:
        """Return the n-gram model of an order, at most the depth that was counted."""
        if self.ngrams is None:
            return None
        return NGramModel(self.ngrams, self.model_alphabet, min(order, self.ngrams.depth), smoothing)

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both samples together, exactly."""
        counts = {name: one.merge(other.counts[name]) for name, one in self.counts.items()}
        ngrams = None if self.ngrams is None or other.ngrams is None else self.ngrams.merge(other.ngrams)
        return Moments(counts, ngrams, self.alphabet)

    def like(self, whole: Moments) -> Moments:
        """Return the moments of a part of a sample, without the n-grams that the whole lacks."""
        return replace(self, ngrams=None) if whole.ngrams is None else self

    def over(self, alphabet: Alphabet) -> Moments:
        """Return the same moments over an alphabet with more symbols behind those that there are."""
        counts = {
            name: replace(
                one, prefix_tree=one.prefix_tree.over(alphabet), substring_tree=one.substring_tree.over(alphabet)
            )
            for name, one in self.counts.items()
        }
        marked = Alphabet((*_backing_alphabet(alphabet).symbols, START), closed=True, marks=True)
        return Moments(counts, None if self.ngrams is None else self.ngrams.over(marked), alphabet)


def _backing_alphabet(alphabet: Alphabet) -> Alphabet:
    return alphabet if alphabet.closed else alphabet.with_unknown()


def count_moments(
    corpus: Corpus, statistics: Iterable[Statistic], longest_prefix: int, longest_suffix: int, order: int
) -> Moments:
    """Count a sample: for Hankel blocks with prefixes and suffixes up to these lengths, and for n-grams up to an order."""
    counts = {name: count_statistic(corpus, name, longest_prefix, longest_suffix) for name in statistics}
    whole = corpus.weights is None or not np.any(corpus.weights != np.rint(corpus.weights))
    ngrams = count_ngrams(corpus.recode(_backing_alphabet(corpus.alphabet)), order) if whole else None
    return Moments(counts, ngrams, corpus.alphabet)
