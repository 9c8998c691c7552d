"""A small complete run on made-up data, so small that the truth is known.

Visitors of a little shop leave sequences of clicks. They come from an automaton with four hidden states, so the
probability of every sequence is known, and how far a learned model is from the truth can be said exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.core.alphabet import Alphabet
from momata.core.corpus import Corpus
from momata.core.wfa import WFA
from momata.learn.ngram import learn_ngram
from momata.learn.result import FitResult
from momata.predict.language_model import LanguageModel
from momata.predict.metrics import evaluate, perplexity

__all__ = ["Demo", "run_demo", "shop"]

CLICKS = ("home", "search", "view", "cart", "pay", "help")

#            home  search view  cart  pay   help     stop
_EMIT = [
    [0.35, 0.35, 0.20, 0.00, 0.00, 0.02, 0.08],  # arriving
    [0.05, 0.20, 0.55, 0.12, 0.00, 0.03, 0.05],  # looking around
    [0.00, 0.05, 0.25, 0.35, 0.30, 0.03, 0.02],  # buying
    [0.10, 0.10, 0.10, 0.00, 0.00, 0.40, 0.30],  # lost
]
_MOVE = [
    [0.30, 0.60, 0.05, 0.05],
    [0.05, 0.70, 0.20, 0.05],
    [0.05, 0.15, 0.75, 0.05],
    [0.10, 0.20, 0.05, 0.65],
]


@dataclass(frozen=True)
class Demo:
    """What the demo found: the measured figures, and what a report is made of."""

    figures: list[dict[str, Any]]
    held_out: dict[str, Any]
    learning: dict[str, Any]
    result: FitResult
    train: Corpus


def shop() -> WFA:
    """Return the source: an automaton whose weights are the true probabilities."""
    emit, move = np.array(_EMIT), np.array(_MOVE)
    operators = emit[:, :-1].T[:, :, None] * move[None]
    return WFA(np.array([0.9, 0.1, 0.0, 0.0]), emit[:, -1], operators, Alphabet(CLICKS, closed=True))


def run_demo(n_train: int = 2000, n_test: int = 1000, seed: int = 0) -> Demo:
    """Draw sequences, learn from one part, and compare with the truth on another.

    Divergence is the mean of log p - log q over sequences drawn from the source: what the model loses to the truth.
    """
    source, rng = shop(), np.random.default_rng(seed)
    train, test = _draw(source, n_train, rng), _draw(source, n_test, rng)
    result = learn_ngram(train, seed=seed)
    baseline = learn_ngram(train, order=1).model
    distinct = test.deduplicate()
    distinct = Corpus(distinct.tokens, distinct.offsets, distinct.alphabet)
    truth = source.weights(distinct)
    log_truth = np.log(source.weights(test))
    models = [("unigram", baseline), (f"n-gram, order {result.model.training['order']}", result.model)]
    figures = [_figures("the source itself", lambda x: np.log(source.weights(x)), test, distinct, truth, log_truth)]
    figures += [_figures(name, m.log_prob, test, distinct, truth, log_truth, m) for name, m in models]
    sizes = np.unique(np.geomspace(50, n_train, 7).astype(int))
    losses = [float(np.mean(log_truth - learn_ngram(train[: int(n)], seed=seed).model.log_prob(test))) for n in sizes]
    curve = result.curve
    held_out = {
        "name": "held-out data",
        "x": [c["order"] for c in curve],
        "y": [c["validation_perplexity_per_symbol"] for c in curve],
    }
    learning = {"name": "n-gram, order chosen", "x": sizes.tolist(), "y": losses}
    return Demo(figures, held_out, learning, result, train)


def _figures(
    name: str, log_prob: Callable[[Corpus], NDArray[np.float64]], test: Corpus, distinct: Corpus,
    truth: NDArray[np.float64], log_truth: NDArray[np.float64], model: LanguageModel | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Measure one model against the source."""
    logp = log_prob(test)
    loss = log_truth - logp
    return {
        "model": name,
        "perplexity": perplexity(log_prob(distinct), truth),
        "perplexity_per_symbol": float(np.exp(-logp.sum() / (test.n_tokens + len(test)))),
        "divergence": float(loss.mean()),
        "divergence_error": float(loss.std(ddof=1) / np.sqrt(len(test))),
        "wer": None if model is None else evaluate(model, test)["wer"],
    }


def _draw(source: WFA, n: int, rng: np.random.Generator) -> Corpus:
    """Draw sequences from a probabilistic automaton, state by state."""
    n_symbols, n_states = len(source.alphabet), source.n_states
    table = np.concatenate([source.operators.transpose(1, 0, 2).reshape(n_states, -1), source.final[:, None]], axis=1)
    cumulative = np.cumsum(table, axis=1)
    starts = np.cumsum(source.initial)
    sequences = []
    for _ in range(n):
        state, sequence = int(np.searchsorted(starts, rng.random())), []
        while (event := int(np.searchsorted(cumulative[state], rng.random(), side="right"))) < n_symbols * n_states:
            sequence.append(source.alphabet[event // n_states])
            state = event % n_states
        sequences.append(sequence)
    return Corpus.from_sequences(sequences, source.alphabet)
