"""Hidden states of a PFA, one sequence at a time: the likeliest path, and posterior chances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from momata._kernels._jit import kernel

__all__ = ["best_path", "forward_backward"]

Reals = NDArray[np.float64]


@kernel
def best_path(
    log_initial: Reals, log_operators: Reals, log_final: Reals, tokens: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], float]:
    """Return the likeliest states (T + 1 of them), the symbols read on the way, and the log probability of both together.

    A token of -1 may be any symbol: the likeliest one is taken along. Ties go to the lower state and symbol.
    """
    n_symbols, n = log_operators.shape[0], log_initial.size
    length = tokens.size
    origin = np.empty((length, n), np.int32)
    chosen = np.empty((length, n), np.int32)
    score = log_initial.copy()
    for t in range(length):
        better = np.full(n, -np.inf)
        low = 0 if tokens[t] < 0 else tokens[t]
        high = n_symbols if tokens[t] < 0 else tokens[t] + 1
        for j in range(n):
            origin[t, j], chosen[t, j] = 0, low
        for sigma in range(low, high):
            for i in range(n):
                if score[i] > -np.inf:
                    for j in range(n):
                        value = score[i] + log_operators[sigma, i, j]
                        if value > better[j]:
                            better[j], origin[t, j], chosen[t, j] = value, i, sigma
        score = better
    states, symbols = np.empty(length + 1, np.int32), np.empty(length, np.int32)
    last, total = 0, -np.inf
    for i in range(n):
        if score[i] + log_final[i] > total:
            last, total = i, score[i] + log_final[i]
    states[length] = last
    for t in range(length - 1, -1, -1):
        symbols[t] = chosen[t, states[t + 1]]
        states[t] = origin[t, states[t + 1]]
    return states, symbols, total


@kernel
def forward_backward(
    initial: Reals, operators: Reals, total: Reals, final: Reals, tokens: NDArray[np.int32]
) -> tuple[Reals, Reals, float]:
    """Return forward vectors, each with sum 1, backward vectors, and the log probability; a token of -1 may be any symbol.

    Backward vectors are scaled such that their product with the forward vector of the same place is 1.
    """
    n, length = initial.size, tokens.size
    forward, backward = np.zeros((length + 1, n)), np.zeros((length + 1, n))
    scale = np.ones(length + 1)
    forward[0] = initial
    logp = 0.0
    for t in range(length):
        operator = total if tokens[t] < 0 else operators[tokens[t]]
        for i in range(n):
            for j in range(n):
                forward[t + 1, j] += forward[t, i] * operator[i, j]
        scale[t + 1] = forward[t + 1].sum()
        if not scale[t + 1] > 0.0:
            return forward, backward, -np.inf
        forward[t + 1] /= scale[t + 1]
        logp += np.log(scale[t + 1])
    ending = 0.0
    for i in range(n):
        ending += forward[length, i] * final[i]
    if not ending > 0.0:
        return forward, backward, -np.inf
    backward[length] = final / ending
    for t in range(length - 1, -1, -1):
        operator = total if tokens[t] < 0 else operators[tokens[t]]
        for i in range(n):
            for j in range(n):
                backward[t, i] += operator[i, j] * backward[t + 1, j] / scale[t + 1]
    return forward, backward, logp + np.log(ending)
