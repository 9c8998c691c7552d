"""Drawing sequences from a PFA, hidden state by hidden state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from momata._kernels._jit import kernel

__all__ = ["sample_paths"]

Reals = NDArray[np.float64]


@kernel
def _pick(cumulative: Reals, low: int, high: int, r: float) -> int:
    """Return the first place in ``low..high`` whose cumulative mass passes ``r``."""
    while low < high - 1:
        middle = (low + high - 1) >> 1
        if cumulative[middle] > r:
            high = middle + 1
        else:
            low = middle + 1
    return low


@kernel
def sample_paths(
    starts: Reals,
    row_start: NDArray[np.int64],
    cumulative: Reals,
    event: NDArray[np.int32],
    target: NDArray[np.int32],
    n: int,
    max_length: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """Draw sequences; return their tokens and offsets, and how many were cut at ``max_length``.

    What state ``i`` can do is the entries ``row_start[i]`` up to ``row_start[i + 1]``: with the mass between neighbours in
    ``cumulative``, emit ``event`` (-1: stop) and move to ``target``.
    """
    tokens = np.empty(1024, np.int32)
    offsets = np.zeros(n + 1, np.int64)
    size = 0
    n_cut = 0
    for i in range(n):
        state = _pick(starts, 0, starts.size, rng.random() * starts[-1])
        length = 0
        while True:
            low, high = row_start[state], row_start[state + 1]
            entry = _pick(cumulative, low, high, rng.random())
            if event[entry] < 0:
                break
            if length == max_length:
                n_cut += 1
                break
            if size == tokens.size:
                grown = np.empty(2 * size, np.int32)
                grown[:size] = tokens
                tokens = grown
            tokens[size] = event[entry]
            size += 1
            length += 1
            state = target[entry]
        offsets[i + 1] = size
    return tokens[:size].copy(), offsets, n_cut
