"""Drawing sequences from automata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from momata._kernels import sampling
from momata.core.wfa import WFA

if TYPE_CHECKING:
    from momata.predict.automaton_model import AutomatonModel

__all__ = ["sample_hidden", "sample_together"]

Drawn = tuple[NDArray[np.int32], NDArray[np.int64], int]


def sample_hidden(pfa: WFA, start: NDArray[np.float64], n: int, rng: np.random.Generator, max_length: int) -> Drawn:
    """Draw sequences from a PFA by its hidden states, the first by the chances ``start``.

    Return tokens, offsets, and how many sequences were cut at ``max_length``.
    """
    return sampling.sample_paths(np.cumsum(start), *_choices(pfa), n, max_length, rng)


def _choices(wfa: WFA) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """Return what each state of a PFA can do, as `sampling.sample_paths` wants it."""
    state, symbol, target = np.nonzero(wfa.operators.transpose(1, 0, 2))
    stopping = np.flatnonzero(wfa.final)
    owner = np.concatenate([state, stopping])
    order = np.argsort(owner, kind="stable")
    weight = np.concatenate([wfa.operators[symbol, state, target], wfa.final[stopping]])[order]
    event = np.concatenate([symbol, np.full(stopping.size, -1)])[order].astype(np.int32)
    row_start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=wfa.n_states))]).astype(np.int64)
    total = np.concatenate([[0.0], np.cumsum(weight)])
    cumulative = total[1:] - np.repeat(total[row_start[:-1]], np.diff(row_start))
    moves = np.concatenate([target, np.zeros(stopping.size, np.int64)])[order].astype(np.int32)
    return row_start, cumulative, event, moves


def sample_together(
    model: AutomatonModel,
    start: NDArray[np.float64] | None,
    context: int,
    n: int,
    rng: np.random.Generator,
    max_length: int,
    hidden: int,
) -> Drawn:
    """Draw sequences from any automaton's conditionals: all grow by one symbol at a time, as rows of one matrix.

    They start in the state ``start``, None if it is lost, and the backing's ``context``.
    """
    backing = model.backing
    stop_event = len(model.alphabet)
    rows = np.tile(np.zeros(model.n_states) if start is None else start, (n, 1))
    lost, contexts = np.full(n, start is None), np.full(n, context, np.int32)
    alive = np.arange(n)
    drawn: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
    for _ in range(max_length + 1):
        if not alive.size:
            break
        events = _draw(model, rows, lost, contexts, rng)
        while np.any(again := events == hidden):
            events[again] = _draw(model, rows[again], lost[again], contexts[again], rng)
        going = events != stop_event
        alive, events, rows, lost, contexts = (x[going] for x in (alive, events, rows, lost, contexts))
        drawn.append((alive, events))
        rows, lost = _step(model, rows, lost, events)
        if backing is not None:
            contexts = backing.follow(contexts, events)
    if alive.size:
        drawn.pop()
    return *_by_sequence(drawn, n), alive.size


def _draw(
    model: AutomatonModel,
    rows: NDArray[np.float64],
    lost: NDArray[np.bool_],
    contexts: NDArray[np.int32],
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Draw the next event of each row: from the automaton, or, with the share of the backing, from that."""
    own, mixed = model.own_chances(rows)
    mixed[lost] = 1.0
    cumulative = np.cumsum(own, axis=1)
    r = rng.random(len(rows)) * cumulative[:, -1]
    events = (cumulative > r[:, None]).argmax(axis=1).astype(np.int32)
    other = rng.random(len(rows)) < mixed
    if model.backing is None:
        events[other] = rng.integers(0, own.shape[1], np.count_nonzero(other))
    elif other.any():
        events[other] = model.backing.draw_events(contexts[other], rng)
    return np.asarray(events)


def _step(
    model: AutomatonModel, rows: NDArray[np.float64], lost: NDArray[np.bool_], events: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the states after one event each, and which are lost."""
    _, least, most = model.limits
    score = np.einsum("ij,ij->i", rows, model.ready.norms[events])
    lost = lost | ~(score > least)
    after = np.zeros_like(rows)
    for sigma in np.unique(events[~lost]):
        chosen = (events == sigma) & ~lost
        after[chosen] = rows[chosen] @ model.ready.operators[sigma] / score[chosen, None]
    lost |= ~np.all(np.abs(after) <= most, axis=1)
    after[lost] = 0.0
    return after, lost


def _by_sequence(
    drawn: list[tuple[NDArray[np.int64], NDArray[np.int32]]], n: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Sort symbols drawn step by step into sequences."""
    if not drawn:
        return np.empty(0, np.int32), np.zeros(n + 1, np.int64)
    owner = np.concatenate([who for who, _ in drawn])
    order = np.argsort(owner, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n))]).astype(np.int64)
    return np.concatenate([what for _, what in drawn])[order].astype(np.int32), offsets
