"""Choosing among automata on held-out data, with the score that will be used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from momata.core.alphabet import UNKNOWN, Alphabet
from momata.core.corpus import Corpus, as_corpus
from momata.core.counting import count_prefixes
from momata.core.wfa import WFA
from momata.errors import AlphabetError, DataError, OptionError
from momata.predict.automaton_model import AutomatonModel, choose_share
from momata.predict.metrics import word_errors
from momata.predict.ngram_model import NGramModel

__all__ = ["Candidate", "Choice", "Criterion", "choose_automaton", "held_out_corpus", "hold_out"]

Criterion = Literal["log_prob", "wer"]

_MOST_HELD_OUT = 200_000  # events that are enough to choose by


@dataclass(frozen=True, eq=False)
class Candidate:
    """An automaton to be tried, and the options that led to it."""

    wfa: WFA
    options: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Choice:
    """The best candidate as a language model, and what was seen of all.

    Attributes
    ----------
    model : AutomatonModel
        With the share of its backing that suits held-out data best.
    options : dict
        Of the best candidate.
    curve : list of dict
        For each candidate its ``n_states``, other options, ``validation_log_prob``, ``share``, ...
    """

    model: AutomatonModel
    options: dict[str, Any]
    curve: list[dict[str, Any]]


def hold_out(corpus: Corpus, fraction: float = 0.1, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Return a part to learn from and a part to choose by, never more than suffices.

    A corpus of a single sequence is cut in its middle.
    """
    if len(corpus) < 2:
        return _cut_in_two(corpus)
    n_events = corpus.n_tokens + len(corpus)
    return corpus.split(min(fraction, _MOST_HELD_OUT / n_events) if 0 < fraction < 1 else fraction, seed)


def _cut_in_two(corpus: Corpus) -> tuple[Corpus, Corpus]:
    if not len(corpus):
        raise DataError("a corpus without sequences cannot be learned from. Give at least one, which may be empty.")
    middle = (corpus.n_tokens + 1) // 2
    parts = corpus.tokens[:middle], corpus.tokens[middle:]
    one, other = (Corpus(p, np.array([0, p.size]), corpus.alphabet, corpus.weights) for p in parts)
    return one, other


def held_out_corpus(valid: Any, alphabet: Alphabet) -> Corpus:
    """Return held-out data over the alphabet of a model; what training lacks takes the share for unknown symbols."""
    given = as_corpus(valid)
    if not len(given):
        raise DataError("held-out data without sequences cannot choose anything. Give some, or leave them to be drawn.")
    missing = given.first_unknown(alphabet)
    if missing and alphabet.find(UNKNOWN) is None:
        raise AlphabetError(
            f"the held-out data have {missing}, which training lacks, and the model will keep no share for unknown symbols. "
            "Leave such sequences out, or smooth a model over an open alphabet."
        )
    return given.recode(alphabet, "share")


def choose_automaton(
    candidates: Iterable[Candidate],
    backing: NGramModel | None,
    held_out: Corpus,
    criterion: Criterion = "log_prob",
    callback: Callable[[dict[str, Any]], None] | None = None,
) -> Choice:
    """Return the candidate whose language model suits held-out data best; of equal ones the first.

    Parameters
    ----------
    candidates : iterable of Candidate
        Made one at a time, as they are needed.
    backing : NGramModel or None
    held_out : Corpus
        Over the alphabet of the backing.
    criterion : {"log_prob", "wer"}
        The held-out likelihood, or the number of events at which another one was the likeliest (of equal ones the
        likelihood decides).
    callback : function, optional
        Called with each entry of the curve.
    """
    if criterion not in get_args(Criterion):
        raise OptionError(f"select={criterion!r} is not known. Use log_prob or wer.")
    tree = count_prefixes(held_out)
    backed = None if backing is None else backing.walk_tree(tree)[1:]
    weights = np.ones(len(held_out)) if held_out.weights is None else held_out.weights
    n_events = float(weights @ (held_out.lengths + 1))
    best: tuple[tuple[float, ...], Choice] | None = None
    curve: list[dict[str, Any]] = []
    for candidate in candidates:
        scores = AutomatonModel(candidate.wfa, backing).node_scores(tree, backed)
        model = choose_share(AutomatonModel(candidate.wfa, backing), scores)
        log_prob = scores.total(model.share, model.distrust)
        entry = {"n_states": candidate.wfa.n_states, **candidate.options} | {
            "validation_log_prob": log_prob,
            "validation_perplexity_per_symbol": _perplexity(-log_prob / n_events),
            "backing_share": model.share, "distrust": model.distrust, "negative_mass": scores.mean_negative(),
        }  # fmt: skip
        rank: tuple[float, ...] = (log_prob,)
        if criterion == "wer":
            errors = float(weights @ word_errors(model, held_out))
            entry["validation_wer"] = 100.0 * errors / n_events
            rank = (-errors, log_prob)
        curve.append(entry)
        if callback:
            callback(entry)
        if best is None or rank > best[0]:
            best = rank, Choice(model, candidate.options, curve)
    assert best is not None
    return best[1]


def _perplexity(cross_entropy: float) -> float | None:
    return float(np.exp(cross_entropy)) if cross_entropy < 700 else None
