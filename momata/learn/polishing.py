"""Moments first, likelihood last: what a moment learner found, finished by EM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes
from momata.learn.em import polish
from momata.learn.result import FitResult, Status
from momata.predict.automaton_model import AutomatonModel, choose_share

__all__ = ["finish_by_likelihood"]


def finish_by_likelihood(
    result: FitResult,
    rough: AutomatonModel,
    train: Corpus,
    held_out: Corpus,
    corpus: Corpus,
    n_steps: int,
    prior: float = 0.1,
    callback: Callable[[dict[str, Any]], None] | None = None,
) -> FitResult:
    """Return a fit polished by EM, for as many steps as suit held-out data best, at most ``n_steps``.

    Parameters
    ----------
    result : FitResult
        Learned from all data.
    rough : AutomatonModel
        The same, learned from ``train`` alone.
    train, held_out, corpus : Corpus
        What is learned from while the number of steps is chosen, what chooses it, and all data.
    n_steps, prior, callback
        See `polish`.
    """
    assert result.wfa is not None
    assert isinstance(result.model, AutomatonModel)
    tried = polish(rough.wfa, train, n_steps, prior, held_out, callback=callback)
    best = tried.model.training["best_step"]
    chosen = choose_share(AutomatonModel(tried.automaton, rough.backing), count_prefixes(held_out))
    final = polish(result.wfa, corpus, best, prior)
    training = result.model.training | {"polish": best, "prior": prior}
    model = AutomatonModel(final.automaton, result.model.backing, chosen.share, chosen.distrust, training)
    seconds = result.seconds | {"polish": tried.seconds["polish"] + final.seconds["polish"]}
    return replace(
        result, model=model, wfa=model.wfa, status=Status.OK, statistic="string", n_states=model.n_states, seconds=seconds,
        trace=tried.trace,
    )  # fmt: skip
