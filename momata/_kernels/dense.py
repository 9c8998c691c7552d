"""Counting by a table with a cell for every string up to a depth, where that many cells can be afforded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata._kernels._jit import kernel

__all__ = ["dense_windows"]


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
