"""n-gram models: the baseline that every learner is compared with, and the backing of every language model."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from momata.core.alphabet import Alphabet
from momata.core.corpus import Corpus, as_corpus
from momata.core.counting import count_substrings
from momata.core.tree import CountedTree
from momata.core.wfa import WFA
from momata.errors import DataError, OptionError, whole
from momata.learn.result import FitResult, Status
from momata.learn.selection import held_out_corpus
from momata.predict.ngram_model import MAX_ORDER, NGramModel, Smoothing

__all__ = ["best_order", "choose_order", "count_ngrams", "learn_ngram"]

HIGHEST_TRIED = 12
PATIENCE = 2  # orders that may be worse than the best before the search stops
FALLBACK_ORDER = 3  # where nothing can be held out
_MANAGEABLE = 2**22  # weights up to which the automaton is written out


def learn_ngram(
    corpus: Any,
    order: int | None = None,
    smoothing: Smoothing = "kn",
    valid: Any = None,
    max_order: int = HIGHEST_TRIED,
    fraction: float = 0.1,
    seed: int = 0,
    callback: Callable[[dict[str, Any]], None] | None = None,
) -> FitResult:
    """Learn an n-gram model.

    Parameters
    ----------
    corpus : Corpus or collection of sequences
    order : int, optional
        By default chosen: the order with the highest likelihood on held-out data, searched upwards from 1 until two
        orders in a row are no better; then all of ``corpus`` is used.
    smoothing : {"kn", "mkn", "none"}
        Interpolated Kneser-Ney with one discount an order or with three, or relative frequencies.
    valid : Corpus or collection of sequences, optional
        Held-out data; by default ``fraction`` of the sequences, drawn by ``seed``. A corpus of a single sequence has
        nothing to hold out, and gets order 3.
    max_order : int
        The highest order tried.
    fraction, seed : float, int
        How much is held out, and the seed by which it is drawn.
    callback : function, optional
        Called with each entry of the curve.

    Returns
    -------
    FitResult
        Its ``model`` is an `NGramModel`. Over an open alphabet a smoothed model keeps a share for unknown symbols.

    Examples
    --------
    >>> result = learn_ngram(Corpus.from_sequences(["abab", "ab", "ababab"]), order=3)
    >>> result.model.next_symbol("ab").top(1)[0][0]
    'a'
    """
    corpus = as_corpus(corpus)
    if not len(corpus):
        raise DataError("a corpus without sequences cannot be learned from. Give at least one, which may be empty.")
    if corpus.weights is not None and np.any(corpus.weights != np.rint(corpus.weights)):
        raise DataError("n-gram counts need whole numbers, and some weights are not. Give multiplicities.")
    max_order = whole(max_order, "max_order")
    order = None if order is None else whole(order, "order")
    if not all(1 <= n <= MAX_ORDER for n in (max_order, 1 if order is None else order)):
        raise OptionError(f"order={order}, max_order={max_order}: an order is a whole number from 1 to {MAX_ORDER}.")
    if smoothing != "none" and not corpus.alphabet.closed:
        corpus = corpus.recode(corpus.alphabet.with_unknown())
    seconds: dict[str, float] = {}
    curve: list[dict[str, Any]] = []
    if order is None:
        began = time.perf_counter()
        order, curve = _choose_order(corpus, smoothing, valid, max_order, fraction, seed, callback)
        seconds["select"] = time.perf_counter() - began
    began = time.perf_counter()
    model = NGramModel(count_ngrams(corpus, order), corpus.alphabet, order, smoothing)
    seconds["count"] = time.perf_counter() - began
    model.training = {
        "method": "ngram", "order": order, "smoothing": smoothing, "seed": seed, "curve": curve,
        "n_sequences": len(corpus), "n_tokens": corpus.n_tokens,
    }  # fmt: skip
    return FitResult(model, _automaton(model), Status.OK, "ngram", "string", model.n_states, curve, seconds)


def count_ngrams(corpus: Corpus, order: int) -> CountedTree:
    """Count all n-grams up to an order, with the mark of the start before every sequence."""
    return count_substrings(corpus.with_start(), order)


def _automaton(model: NGramModel) -> WFA | None:
    return model.to_wfa() if model.n_states**2 * len(model.alphabet) <= _MANAGEABLE else None


def _choose_order(
    corpus: Corpus,
    smoothing: Smoothing,
    valid: Any,
    max_order: int,
    fraction: float,
    seed: int,
    callback: Callable[[dict[str, Any]], None] | None,
) -> tuple[int, list[dict[str, Any]]]:
    """Hold data out and return the order that suits them best, and the whole curve."""
    if valid is None and len(corpus) < 2:
        return min(FALLBACK_ORDER, max_order), []
    train, held_out = (
        corpus.split(fraction, seed) if valid is None else (corpus, held_out_corpus(valid, corpus.alphabet))
    )
    return choose_order(train, held_out, smoothing, max_order, callback)


def choose_order(
    train: Corpus,
    held_out: Corpus,
    smoothing: Smoothing = "kn",
    max_order: int = HIGHEST_TRIED,
    callback: Callable[[dict[str, Any]], None] | None = None,
) -> tuple[int, list[dict[str, Any]]]:
    """Return the order that gives held-out data the highest likelihood, and the whole curve; count no deeper than needed."""
    tree: CountedTree | None = None

    def counted(order: int) -> CountedTree:
        nonlocal tree
        if tree is None or order > tree.depth:
            tree = count_ngrams(train, min(max(4, 2 * tree.depth if tree else 0), max_order))
        return tree

    return best_order(counted, train.alphabet, held_out, smoothing, max_order, callback)


def best_order(
    counted: Callable[[int], CountedTree],
    alphabet: Alphabet,
    held_out: Corpus,
    smoothing: Smoothing = "kn",
    max_order: int = HIGHEST_TRIED,
    callback: Callable[[dict[str, Any]], None] | None = None,
) -> tuple[int, list[dict[str, Any]]]:
    """Return the order, tried upwards, that gives held-out data the highest likelihood, and the whole curve.

    ``counted`` returns n-gram counts that reach an order.
    """
    weights = np.ones(len(held_out)) if held_out.weights is None else held_out.weights
    n_events = float(weights @ (held_out.lengths + 1))
    curve: list[dict[str, Any]] = []
    best, found = -np.inf, 1
    for order in range(1, max_order + 1):
        model = NGramModel(counted(order), alphabet, order, smoothing)
        score = float(model.log_prob(held_out) @ weights)
        curve.append({
            "order": order, "n_states": model.n_states, "validation_log_prob": score,
            "validation_perplexity_per_symbol": float(np.exp(-score / n_events)) if np.isfinite(score) else None,
        })  # fmt: skip
        if callback:
            callback(curve[-1])
        if score > best:
            best, found = score, order
        elif order >= found + PATIENCE:
            break
    if best == -np.inf:
        raise DataError(
            f"held-out data have probability 0 under every order from 1 to {curve[-1]['order']}, so none can be chosen. "
            "Smooth (kn, mkn), or name the order."
        )
    return found, curve
