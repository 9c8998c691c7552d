"""Moments first, likelihood last: what a moment learner found, finished by EM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes
from momata.learn.em import FINISH, polish
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
    most_states: int = 0,
    prior: float = 0.1,
    callback: Callable[[dict[str, Any]], None] | None = None,
) -> FitResult:
    """Return a fit polished by EM, with as many states and steps as suit held-out data best; at last some steps on all data.

    Where polishing does not help, the fit is returned as it is. Likelihood can use more states than moments can tell apart:
    the number is doubled as long as held-out data gain.

    Parameters
    ----------
    result : FitResult
        Learned from all data.
    rough : AutomatonModel
        The same, learned from ``train`` alone.
    train, held_out, corpus : Corpus
        What is learned from while numbers of states and steps are chosen, what chooses them, and all data.
    n_steps : int
        The most steps.
    most_states : int
        Up to which the number of states is doubled; by default it stays.
    prior, callback
        See `polish`.
    """
    assert isinstance(result.model, AutomatonModel)
    tree = count_prefixes(held_out)
    best: tuple[float, FitResult, AutomatonModel] | None = None
    unpolished = rough.node_scores(tree).total(rough.share, rough.distrust)
    polished: list[dict[str, Any]] = []
    spent = 0.0
    for n in _sizes(rough.n_states, most_states):
        tried = polish(rough.wfa, train, n_steps, prior, held_out, n, keep_zeros=False, callback=callback)
        model = choose_share(AutomatonModel(tried.automaton, rough.backing), tree)
        score = model.node_scores(tree).total(model.share, model.distrust)
        polished.append({"n_states": n, "n_steps": tried.model.training["best_step"], "validation_log_prob": score})
        spent += tried.seconds["polish"]
        if best is not None and score <= best[0]:
            break
        best = score, tried, model
    assert best is not None
    score, tried, chosen = best
    if score <= unpolished:  # no step is better than none
        result.model.training |= {"polish": 0, "prior": prior, "polished": polished}
        return replace(result, seconds=result.seconds | {"polish": spent}, trace=tried.trace)
    steps = tried.model.training["best_step"]
    final = polish(tried.automaton, corpus, min(FINISH, n_steps), prior)
    training = result.model.training | {"polish": steps, "prior": prior, "polished": polished}
    model = AutomatonModel(final.automaton, result.model.backing, chosen.share, chosen.distrust, training)
    return replace(
        result, model=model, wfa=model.wfa, status=Status.OK, statistic="string", n_states=model.n_states,
        seconds=result.seconds | {"polish": spent + final.seconds["polish"]}, trace=tried.trace,
    )  # fmt: skip


def _sizes(n: int, most: int) -> Iterator[int]:
    yield n
    while 2 * n <= most:
        n *= 2
        yield n
