"""Automata read next-symbol scores along a tree, or along one growing sequence.

The state is a forward vector, kept normalised, ``q . e = 1``, where ``e`` turns it into the mass of all continuations;
``scores`` has a column ``A_sigma e`` for each symbol and, last, ``alpha_inf``, so that one product gives the scores of all
next events, and they sum to 1. A state that carries no information any more is *lost*.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from momata._kernels._jit import kernel

__all__ = [
    "advance_state",
    "clip_scores",
    "events_of_nodes",
    "node_values",
    "sum_down",
    "walk_plain",
    "walk_probabilistic",
    "walk_scores",
]

Reals = NDArray[np.float64]
Nodes = NDArray[np.int32]
Levels = NDArray[np.int64]


@kernel
def _times(row: Reals, matrix: Reals, out: Reals) -> None:
    """Write ``row @ matrix``."""
    out[:] = 0.0
    for i in range(row.size):
        factor = row[i]
        if factor != 0.0:
            for j in range(out.size):
                out[j] += factor * matrix[i, j]


@kernel
def _dot(one: Reals, other: Reals) -> float:
    total = 0.0
    for i in range(one.size):
        total += one[i] * other[i]
    return total


@kernel
def _widest(levels: Levels) -> int:
    widest = 1
    for level in range(levels.size - 1):
        widest = max(widest, levels[level + 1] - levels[level])
    return int(widest)


@kernel
def node_values(
    symbol: Nodes, parent: Nodes, levels: Levels, initial: Reals, operators: Reals, final: Reals, values: Reals
) -> None:
    """Write the weight of every node's string. The rows of two levels are kept."""
    rows = np.empty((2, _widest(levels), initial.size))
    rows[0, 0] = initial
    values[0] = _dot(initial, final)
    for level in range(1, levels.size - 1):
        low, start = levels[level], levels[level - 1]
        above, here = rows[(level - 1) % 2], rows[level % 2]
        for node in range(low, levels[level + 1]):
            row = here[node - low]
            _times(above[parent[node] - start], operators[symbol[node]], row)
            values[node] = _dot(row, final)


@kernel
def walk_probabilistic(
    symbol: Nodes,
    parent: Nodes,
    levels: Levels,
    initial: Reals,
    operators: Reals,
    final: Reals,
    n_known: int,
    chance: Reals,
    stop: Reals,
    lost: NDArray[np.bool_],
) -> None:
    """Walk a PFA down a tree: write the chance of each node's symbol after its parent, and of the end after each node.

    The sums of rows are the chances themselves: nothing else is computed. Symbols from ``n_known`` on have no chance; their
    operator, the sum of all others, takes the state past them. After an impossible symbol the state is lost.
    """
    n = initial.size
    rows = np.empty((2, _widest(levels), n))
    rows[0, 0] = initial
    chance[0], stop[0], lost[0] = 1.0, _dot(initial, final), False
    for level in range(1, levels.size - 1):
        low, start = levels[level], levels[level - 1]
        above, here = rows[(level - 1) % 2], rows[level % 2]
        for node in range(low, levels[level + 1]):
            up, sigma = parent[node], symbol[node]
            z = 0.0
            if not lost[up]:
                row = here[node - low]
                _times(above[up - start], operators[sigma], row)
                for i in range(n):
                    z += row[i]
            chance[node] = z if sigma < n_known else 0.0
            lost[node] = not z > 0.0
            stop[node] = 0.0
            if not lost[node]:
                z = 1.0 / z
                for i in range(n):
                    row[i] *= z
                stop[node] = _dot(row, final)


@kernel
def walk_scores(
    symbol: Nodes,
    parent: Nodes,
    levels: Levels,
    initial: Reals,
    operators: Reals,
    norms: Reals,
    scores: Reals,
    epsilon: float,
    least: float,
    most: float,
    chance: Reals,
    stop: Reals,
    negative: Reals,
    lost: NDArray[np.bool_],
    table: Reals,
    table_row: Nodes,
    share: float,
    distrust: float,
    best: Nodes,
) -> None:
    """Walk any automaton down a tree: write clipped and renormalised chances, and each node's share of negative mass.

    Scores below 0 become 0, each gets ``epsilon`` more, and they are divided by their sum. ``initial`` is normalised, or all
    zeros if that cannot be. After symbol ``sigma`` the state is divided by its product with ``norms[sigma]``; it is lost where
    that is at most ``least``, or when an entry passes ``most``.

    Unless ``best`` is empty it gets the likeliest event after each node, ties to the lower one, when the chances are mixed
    with those in row ``table_row[node]`` of ``table``, whose share is ``share + distrust * negative``, at most 1, and 1 for
    the lost.
    """
    n, n_events = scores.shape
    widest = _widest(levels)
    rows, events = np.empty((2, widest, n)), np.empty((2, widest, n_events))
    for level in range(levels.size - 1):
        low = levels[level]
        start = levels[level - 1] if level else 0
        above, here = (level - 1) % 2, level % 2
        for node in range(low, levels[level + 1]):
            row, found = rows[here, node - low], events[here, node - low]
            if level == 0:
                row[:] = initial
                chance[node] = 1.0
                lost[node] = not np.any(row != 0.0)
            else:
                up, sigma = parent[node] - start, symbol[node]
                chance[node] = events[above, up, sigma]
                lost[node] = lost[parent[node]]
                if not lost[node]:
                    _times(rows[above, up], operators[sigma], row)
                    score = _dot(rows[above, up], norms[sigma])
                    lost[node] = not score > least
                    if not lost[node]:
                        for i in range(n):
                            row[i] /= score
                            if not abs(row[i]) <= most:
                                lost[node] = True
            negative[node] = 0.0 if lost[node] else clip_scores(row, scores, epsilon, found)
            if negative[node] < 0.0 or lost[node]:
                found[:] = 1.0 / n_events
                negative[node], lost[node] = 0.0, True
            stop[node] = found[n_events - 1]
            if best.size:
                mixed = 1.0 if lost[node] else min(1.0, share + distrust * negative[node])
                best[node] = _likeliest(found, table[table_row[node]], mixed)


@kernel
def walk_plain(
    symbol: Nodes,
    parent: Nodes,
    levels: Levels,
    initial: Reals,
    operators: Reals,
    norms: Reals,
    final: Reals,
    chance: Reals,
    stop: Reals,
) -> None:
    """Walk any automaton down a tree and write its normalised scores as they are; a state divided by 0 stays as it is."""
    rows = np.empty((2, _widest(levels), initial.size))
    rows[0, 0] = initial
    chance[0], stop[0] = 1.0, _dot(initial, final)
    for level in range(1, levels.size - 1):
        low, start = levels[level], levels[level - 1]
        above, here = rows[(level - 1) % 2], rows[level % 2]
        for node in range(low, levels[level + 1]):
            before, row, sigma = above[parent[node] - start], here[node - low], symbol[node]
            _times(before, operators[sigma], row)
            chance[node] = _dot(before, norms[sigma])
            if chance[node] != 0.0:
                for i in range(row.size):
                    row[i] /= chance[node]
            stop[node] = _dot(row, final)


@kernel
def clip_scores(row: Reals, scores: Reals, epsilon: float, found: Reals) -> float:
    """Write the distribution of the next event; return the negative share of its scores, or -1 where there is none."""
    _times(row, scores, found)
    above, below = 0.0, 0.0
    for k in range(found.size):
        if found[k] > 0.0:
            above += found[k]
        else:
            below -= found[k]
            found[k] = 0.0
    total = above + epsilon * found.size
    if not 0.0 < total < 1e300:
        return -1.0
    for k in range(found.size):
        found[k] = (found[k] + epsilon) / total
    return below / (above + below) if above + below > 0.0 else 0.0


@kernel
def advance_state(row: Reals, operator: Reals, norm: Reals, least: float, most: float) -> tuple[Reals, bool]:
    """Return the state after one symbol, and whether it is still of use."""
    after = np.empty(row.size)
    score = _dot(row, norm)
    if not score > least:
        return after, False
    _times(row, operator, after)
    usable = True
    for i in range(after.size):
        after[i] /= score
        if not abs(after[i]) <= most:
            usable = False
    return after, usable


@kernel
def _likeliest(own: Reals, other: Reals, share: float) -> int:
    best, chance = 0, -1.0
    for k in range(own.size):
        mixed = (1.0 - share) * own[k] + share * other[k]
        if mixed > chance:
            best, chance = k, mixed
    return best


@kernel
def sum_down(parent: Nodes, values: Reals) -> Reals:
    """Return for each node the sum of ``values`` over its path from below the root; parents come before children."""
    found = np.empty(values.size)
    found[0] = 0.0
    for node in range(1, values.size):
        found[node] = found[parent[node]] + values[node]
    return found


@kernel
def events_of_nodes(
    parent: Nodes, end: Nodes, offsets: Levels, symbol_values: Reals, stop_values: Reals, out: Reals
) -> None:
    """Write the values of all events of each sequence: of the nodes on the path to ``end``, then of the end itself."""
    for i in range(offsets.size - 1):
        node = end[i]
        out[offsets[i + 1] + i] = stop_values[node]
        for p in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
            out[p + i] = symbol_values[node]
            node = parent[node]
