"""Perplexity, word error rate, ranking: each defined once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from momata.core.alphabet import STOP
from momata.core.corpus import Corpus, as_corpus
from momata.errors import DataError, OptionError
from momata.predict import conventions
from momata.predict.language_model import LanguageModel, Unknown

__all__ = ["evaluate", "ndcg", "perplexity", "word_errors"]


def evaluate(
    model: LanguageModel,
    corpus: Any,
    target: ArrayLike | None = None,
    unknown: Unknown = None,
    convention: str = "proper",
) -> dict[str, Any]:
    """Measure a model on sequences.

    Parameters
    ----------
    model : LanguageModel
    corpus : Corpus or collection of sequences
    target : (n_sequences,) array, optional
        True probabilities of the sequences, up to a common factor.
    unknown : {"share", "error", "skip", "map=SYMBOL"}, optional
        What a symbol that the model does not know becomes.
    convention : {"proper", "raw", "absolute", "clamp", "floor"}
        How an automaton is read: as the proper distribution, or as the papers do (see `momata.predict.conventions`).

    Returns
    -------
    dict
        ``perplexity`` (only with ``target``), ``perplexity_per_string``, ``perplexity_per_symbol``, ``wer`` (percent),
        ``log_prob`` (total, natural), ``n_sequences``, ``n_events`` (ends included), ``unknown_symbols``.
        Perplexities are infinite where something that occurs has probability 0.

    Examples
    --------
    >>> import momata as mo
    >>> model = mo.learn_ngram(["ab", "ab", "b"], order=2, smoothing="none").model
    >>> round(mo.evaluate(model, ["ab", "b"])["wer"], 1)
    20.0
    """
    if not isinstance(model, LanguageModel):
        raise OptionError(
            f"a {type(model).__name__} cannot be evaluated. Give a language model: a result's .model, an estimator's "
            ".language_model_, or LanguageModel(automaton)."
        )
    given = as_corpus(corpus)
    if not len(given):
        raise DataError("a corpus without sequences cannot be evaluated on. Give at least one sequence.")
    coded, n_unknown = given.recode_counting(model.alphabet, unknown or "share")
    weights = np.ones(len(coded)) if coded.weights is None else np.asarray(coded.weights, dtype=np.float64)
    logp, guess = _read(model, coded, convention)
    total, n_sequences = float(weights @ logp), float(weights.sum())
    n_events = float(weights @ (coded.lengths + 1))
    found: dict[str, Any] = {}
    if target is not None:
        found["perplexity"] = perplexity(logp, target, normalised=convention in ("proper", "absolute"))
    return found | {
        "perplexity_per_string": _exp(-total / n_sequences),
        "perplexity_per_symbol": _exp(-total / n_events),
        "wer": 100.0 * float(weights @ word_errors(guess, coded)) / n_events,
        "log_prob": total,
        "n_sequences": _whole(n_sequences),
        "n_events": _whole(n_events),
        "unknown_symbols": n_unknown,
    }


def _read(model: LanguageModel, corpus: Corpus, convention: str) -> tuple[NDArray[np.float64], LanguageModel]:
    """Return log probabilities (or what a convention has in their place), and the model whose guesses count."""
    if convention == "proper":
        return model.score_tokens(corpus.tokens, corpus.offsets, by_event=False)[1], model
    return conventions.log_weights(model, corpus, convention), conventions.bare(model)


def perplexity(logp: NDArray[np.float64], target: ArrayLike, normalised: bool = True) -> float:
    r"""Return the perplexity of the PAutomaC competition, :math:`2^{-\sum_x p(x) \log_2 q(x)}`.

    The target :math:`p` and, if ``normalised``, the model :math:`q` (here its natural log probabilities) are made to sum to 1
    over the test strings.
    """
    p = np.asarray(target, dtype=np.float64)
    if p.shape != logp.shape:
        raise DataError(
            f"the target has {p.size} probabilities for {logp.size} sequences. Give one for each, in order."
        )
    if not (np.all(np.isfinite(p)) and p.min(initial=0) >= 0 and p.sum() > 0):
        raise DataError("target probabilities must be finite, not negative, and not all 0.")
    p = p / p.sum()
    top = logp.max()
    if top == -np.inf:
        return float("inf")
    log_q = logp - (top + np.log(np.exp(logp - top).sum())) if normalised else logp
    occurs = p > 0
    return _exp(-float(p[occurs] @ log_q[occurs]))


def word_errors(model: LanguageModel, corpus: Corpus) -> NDArray[np.int64]:
    """Return for each sequence at how many of its events, the end included, another one was the likeliest."""
    predicted = model.predict_tokens(corpus.tokens, corpus.offsets)
    truth = np.full(predicted.size, len(model.alphabet), np.int32)
    is_symbol = np.ones(predicted.size, dtype=bool)
    starts = corpus.offsets + np.arange(len(corpus) + 1)
    is_symbol[starts[1:] - 1] = False
    truth[is_symbol] = corpus.tokens
    return np.add.reduceat(predicted != truth, starts[:-1], dtype=np.int64)


def ndcg(
    model: LanguageModel,
    prefixes: Any,
    ideal: ArrayLike,
    truth: Sequence[Mapping[int, float]] | Sequence[Mapping[str, float]],
    k: int = 5,
    unknown: Unknown = None,
) -> float:
    r"""Return the mean normalised discounted cumulative gain of the model's ``k`` likeliest next symbols.

    For each prefix, the ranking :math:`a_1 \dots a_k` scores :math:`\sum_i p(a_i) / \log_2(i + 1)`, divided by the ideal
    score: the definition of the SPiCe competition.

    Parameters
    ----------
    ideal : (n_prefixes,) array
        The score of the best ranking of each prefix.
    truth : sequence of mappings from symbols to probabilities
        One for each prefix; the end of the sequence is `STOP`, or -1 as in SPiCe's files.
    """
    corpus = model.encode(prefixes, unknown)
    best = np.asarray(ideal, dtype=np.float64)
    if best.shape != (len(corpus),) or len(truth) != len(corpus):
        raise DataError(f"there are {len(truth)} rankings for {len(corpus)} prefixes. Give one for each, in order.")
    if k < 1 or not len(corpus) or not np.all(best > 0):
        raise OptionError(
            f"k={k} symbols, {len(corpus)} prefixes, ideal scores from {best.min(initial=np.inf)}: each must be above 0."
        )
    n_symbols = len(model.alphabet)
    discount = 1.0 / np.log2(np.arange(2, k + 2))
    gains = np.zeros(len(corpus))
    at_once = max(1, 2**22 // (n_symbols + 1))
    for i in range(len(corpus)):
        if i % at_once == 0:
            rows = model.next_symbols(corpus[i : i + at_once])
            rows[:, model.hidden_symbol] = -1.0 if model.hidden_symbol >= 0 else rows[:, -1]
        row = rows[i % at_once]
        gain = np.zeros(n_symbols + 1)
        for symbol, p in truth[i].items():
            index = n_symbols if symbol in (STOP, -1) else model.alphabet.find(symbol)
            if index is not None:
                gain[index] = p
        ranked = np.argsort(-row, kind="stable")[:k]
        gains[i] = gain[ranked] @ discount[: ranked.size]
    return float(np.mean(gains / best))


def _exp(x: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(x))


def _whole(x: float) -> int | float:
    return int(x) if x == int(x) else x
