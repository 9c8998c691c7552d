"""From a signed automaton to a non-negative one that can start EM."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.core.probabilistic import PFA, normalise
from momata.core.tree import CountedTree
from momata.core.wfa import WFA
from momata.errors import OptionError
from momata.predict.automaton_model import AutomatonModel

__all__ = ["as_start", "automaton_in", "project"]

Array = NDArray[np.float64]

_CANDIDATES = 2000  # frequent prefixes among which states are sought
_UNIFORM = 0.01  # of every row, so that no weight is 0


def automaton_in(given: Any) -> WFA:
    """Return an automaton, or the one that a model or a result has."""
    found = given if isinstance(given, WFA) else getattr(given, "wfa", None)
    if not isinstance(found, WFA):
        raise OptionError(
            f"a {type(given).__name__} has no automaton to start from. Give a WFA, or a model or a result with one (.wfa)."
        )
    return found


def as_start(wfa: WFA, tree: CountedTree, shares: Array, n_states: int | None = None, keep_zeros: bool = True) -> PFA:
    """Return a PFA from which EM can start: the automaton itself where it is non-negative, else its projection.

    A non-negative automaton of finite mass is a PFA times a constant. All rows get 1 % of what all events do, since EM keeps
    zeros; an automaton that is a PFA already keeps its zeros, unless ``keep_zeros`` is false.
    """
    if n_states in (None, wfa.n_states):
        if wfa.is_probabilistic():
            return PFA.of(wfa) if keep_zeros else _mixed(PFA.of(wfa), shares)
        if wfa.is_nonnegative() and wfa.statistic == "string" and wfa.is_summable() and wfa.total_mass() > 0:
            return _mixed(normalise(wfa)[0], shares)
    return project(wfa, tree, shares, n_states)


def project(wfa: WFA, tree: CountedTree, shares: Array, n_states: int | None = None) -> PFA:
    """Return a PFA that behaves much like a signed automaton.

    Its states are normalised forward vectors of frequent prefixes, chosen one after the other to be as different as can be
    (each time the one farthest from the span of those before). What an operator makes of a state is written as a
    non-negative mixture of states, by least squares in the space of what follows; stopping is read off the automaton.

    Parameters
    ----------
    wfa : WFA
        Of any statistic.
    tree : CountedTree
        Prefix tree of the sample.
    shares : (n_symbols + 1,) array
        What all events do, see `event_shares`: 1 % of every row.
    n_states : int, optional
        By default as many as the automaton has.
    """
    from scipy.optimize import nnls

    ready = AutomatonModel(wfa).ready
    order = np.argsort(-tree.through, kind="stable")[:_CANDIDATES]
    vectors, weights = _forward_vectors(tree, np.sort(order), ready.initial, ready.operators, ready.norms)
    future = np.concatenate(
        [ready.scores, _two_steps(ready.operators, ready.norms)], axis=1
    )  # what a state says of next events
    wanted = wfa.n_states if n_states is None else n_states
    chosen = _far_apart(vectors @ future, weights, wanted)
    states = vectors[chosen]  # (n, n_wfa)
    seen = states @ future
    operators = np.zeros((wfa.n_symbols, len(chosen), len(chosen)))
    for sigma in range(wfa.n_symbols):
        after = states @ ready.operators[sigma]
        mass = np.maximum(states @ ready.norms[sigma], 0.0)
        for i in np.flatnonzero(mass > 0):
            mixture = nnls(seen.T, (after[i] @ future) / mass[i])[0]
            total = mixture.sum()
            if total > 0:
                operators[sigma, i] = mass[i] * mixture / total
    final = np.maximum(states @ ready.scores[:, -1], 0.0)
    rows = operators.sum(axis=(0, 2)) + final
    lost = rows <= 0
    rows = np.where(lost, 1.0, rows)
    start = nnls(seen.T, ready.initial @ future)[0]
    initial = start / start.sum() if start.sum() > 0 else np.full(len(chosen), 1.0 / len(chosen))
    final = np.where(lost, 1.0, final / rows)
    return _mixed(PFA(initial, final, operators / rows[:, None], wfa.alphabet), shares)


def _mixed(pfa: PFA, shares: Array) -> PFA:
    n = pfa.n_states
    operators = (1 - _UNIFORM) * pfa.operators + _UNIFORM * shares[:-1, None, None] / n
    final = (1 - _UNIFORM) * pfa.final + _UNIFORM * shares[-1]
    return PFA((1 - _UNIFORM) * pfa.initial + _UNIFORM / n, final, operators, pfa.alphabet)


def _forward_vectors(
    tree: CountedTree, nodes: NDArray[np.int64], initial: Array, operators: Array, norms: Array
) -> tuple[Array, Array]:
    """Return the normalised forward vectors of nodes whose parents are among them too, but for the lost; and their counts."""
    place = {0: 0}
    rows, weights = [initial], [float(tree.through[0])]
    for node in nodes.tolist():
        up = place.get(int(tree.parent[node]))
        if node == 0 or up is None:
            continue
        sigma = int(tree.symbol[node])
        score = float(rows[up] @ norms[sigma])
        if score > 1e-6:
            row = rows[up] @ operators[sigma] / score
            if np.all(np.abs(row) < 1e4):
                place[node] = len(rows)
                rows.append(row)
                weights.append(float(tree.through[node]))
    return np.array(rows), np.array(weights)


def _far_apart(points: Array, weights: Array, n: int) -> list[int]:
    """Return n points that are far apart, or as many as differ; reliable ones preferred.

    The first are far from the span of those before; when that leaves nothing, the farthest from their nearest neighbour.
    """
    trust = np.sqrt(weights / (weights + 200.0))
    left = points * trust[:, None]
    least = 1e-12 * float((left**2).sum(axis=1).max())
    chosen: list[int] = []
    for _ in range(n):
        lengths = (left**2).sum(axis=1)
        best = int(lengths.argmax())
        if lengths[best] <= least:
            break
        chosen.append(best)
        unit = left[best] / np.sqrt(lengths[best])
        left = left - np.outer(left @ unit, unit)
    chosen = chosen or [0]  # nothing is known of any
    nearest = np.min([((points - points[i]) ** 2).sum(axis=1) for i in chosen], axis=0) * trust**2
    while len(chosen) < n:
        best = int(nearest.argmax())
        if nearest[best] <= least:
            break  # two equal states would never part
        chosen.append(best)
        nearest = np.minimum(nearest, ((points - points[best]) ** 2).sum(axis=1) * trust**2)
    return chosen


def _two_steps(operators: Array, norms: Array) -> Array:
    """Return the columns that give the scores of the next two symbols, of at most 500 pairs."""
    n_symbols = min(len(operators), 22)
    pairs = operators[:n_symbols] @ norms[:n_symbols].T  # (n_symbols, n, n_symbols)
    return np.asarray(pairs.transpose(1, 0, 2).reshape(operators.shape[1], -1))
