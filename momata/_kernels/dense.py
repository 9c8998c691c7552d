"""Counting by a table with a cell for every string up to a depth, where that many cells can be afforded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata._kernels._jit import kernel

__all__ = ["dense_windows", "nodes_of_cells", "sum_upwards"]


@kernel
def dense_windows(
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    weights: NDArray[Any],
    n_symbols: int,
    level_start: NDArray[np.int64],
    full: NDArray[Any],
    ends: NDArray[Any],
) -> None:
    """Add the windows of full depth to ``full`` and all ends of sequences to ``ends``.

    A string of length k with code c (its symbols as digits in base ``n_symbols``) has the cell ``level_start[k] + c`` of
    ``ends``; ``full`` holds the longest strings only. One pass; ``weights`` is empty if all are 1.
    """
    depth = level_start.size - 2
    top = level_start[depth + 1] - level_start[depth]  # n_symbols ** depth
    lead = top // n_symbols  # value of the leading digit
    for i in range(offsets.size - 1):
        start, stop = offsets[i], offsets[i + 1]
        weight = weights[i] if weights.size else full.dtype.type(1)
        code = 0
        for p in range(start, min(start + depth, stop)):
            code = code * n_symbols + tokens[p]
        if stop - start >= depth:
            full[code] += weight
            for p in range(start + depth, stop):
                code = (code - tokens[p - depth] * lead) * n_symbols + tokens[p]
                full[code] += weight
        for k in range(min(depth, stop - start) + 1):
            size = level_start[k + 1] - level_start[k]
            ends[level_start[k] + code % size] += weight


@kernel
def sum_upwards(level_start: NDArray[np.int64], n_symbols: int, full: NDArray[Any], ends: NDArray[Any]) -> NDArray[Any]:
    """Return the through counts of all cells: ``full`` for the longest strings, else own ends and the children's counts."""
    depth = level_start.size - 2
    through = np.empty(level_start[depth + 1], full.dtype)
    through[level_start[depth] :] = full
    for k in range(depth - 1, -1, -1):
        child = level_start[k + 1]
        for cell in range(level_start[k], level_start[k + 1]):
            total = ends[cell]
            for _ in range(n_symbols):
                total += through[child]
                child += 1
            through[cell] = total
    return through


@kernel
def nodes_of_cells(
    level_start: NDArray[np.int64],
    n_symbols: int,
    through: NDArray[Any],
    cell_of: NDArray[np.int64],
    symbol: NDArray[np.int32],
    parent: NDArray[np.int32],
    child_start: NDArray[np.int32],
    level_offsets: NDArray[np.int64],
) -> None:
    """Write the nodes of a tree: the cells that are not zero, level by level; the root is one in any case."""
    depth = level_start.size - 2
    cell_of[0], symbol[0], parent[0] = 0, -1, -1
    level_offsets[0], level_offsets[1] = 0, 1
    n_nodes = 1
    for k in range(1, depth + 1):
        for above in range(level_offsets[k - 1], level_offsets[k]):
            child_start[above] = n_nodes
            first = level_start[k] + (cell_of[above] - level_start[k - 1]) * n_symbols
            for sigma in range(n_symbols):
                if through[first + sigma] != 0:
                    cell_of[n_nodes], symbol[n_nodes], parent[n_nodes] = first + sigma, sigma, above
                    n_nodes += 1
        level_offsets[k + 1] = n_nodes
    for node in range(level_offsets[depth], n_nodes + 1):
        child_start[node] = n_nodes
