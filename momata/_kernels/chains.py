"""Forward and backward vectors over a prefix tree at the speed of matrix products.

A *plan* arranges the nodes of a tree in *blocks*, each a prefix tree of its own of some of the strings. The slots of a block
go level by level, within a level by last symbol, and within a symbol nodes with children come before leaves; slot 0 is the
root. Slots with one level and symbol are a *group*, for which a step down or up is one product with one operator.

With fwd a forward vector that sums to 1 and bwd a backward vector weighted by counts,

    z(u sigma) = fwd(u) A_sigma 1               fwd(u sigma) = fwd(u) A_sigma / z(u sigma)
    last(u) = fwd(u) alpha_inf                  bwd(u) = end(u) / last(u) alpha_inf + sum_sigma A_sigma bwd(u sigma) / z(u sigma)
    counts of sigma += fwd(u)^T bwd(u sigma) / z(u sigma)

so that ``fwd(u) . bwd(u)`` is how many strings pass through u. Rows are divided by z before the product, and leaves, whose
backward vectors are multiples of alpha_inf, need no product at all. The cost is three products of (inner nodes, n, n).

Chances below 1e-290 (1e-30 in float32) count as 0, so that one over them is a number. Where fwd is 0, what bwd would be says
nothing and may have no number (a lost state that would make much more of the rest): it is set to 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata._kernels._jit import kernel

__all__ = ["arrange_block", "best_paths_block", "expect_block", "log_likelihood_block"]

Slots = NDArray[np.int32]
Groups = NDArray[np.int64]
Matrix = NDArray[Any]

_CHUNK = 256  # rows of a product: what is gathered for one stays in the cache
_THIN = 4  # rows up to which a loop beats a product
_TINY, _HUGE = 2.0**-500, 2.0**500
_LOG_HUGE = 500 * np.log(2.0)


@kernel
def _is_leaf(child_start: Slots, low: Groups, high: Groups, level: int, node: int) -> int:
    """Return 1 for a node without children in its block."""
    if level + 1 >= low.size:
        return 1
    return int(min(child_start[node + 1], high[level + 1]) <= max(child_start[node], low[level + 1]))


@kernel
def arrange_block(
    symbol: Slots,
    parent: Slots,
    child_start: Slots,
    end: NDArray[np.float64],
    low: Groups,
    high: Groups,
    shared: NDArray[np.bool_],
    n_symbols: int,
    slot_of: Slots,
    node_at: Slots,
    parent_slot: Slots,
    end_at: NDArray[np.float64],
    groups: Groups,
) -> int:
    """Arrange the nodes ``low[k]`` up to ``high[k]`` of each level k; return the number of groups.

    The end of a level's first node does not count where an earlier block has it too (``shared``). A row of ``groups`` is a
    symbol, its first slot, its first leaf, the slot behind its last. ``slot_of`` is scratch space of one entry a node.
    """
    count = np.zeros((n_symbols, 2), np.int64)
    slot_of[low[0]], node_at[0], parent_slot[0] = 0, low[0], 0
    end_at[0] = 0.0 if shared[0] else end[low[0]]
    n_groups, slot = 0, 1
    for level in range(1, low.size):
        for node in range(low[level], high[level]):
            count[symbol[node], _is_leaf(child_start, low, high, level, node)] += 1
        for sigma in range(n_symbols):
            inner, leaves = count[sigma, 0], count[sigma, 1]
            if inner + leaves > 0:
                groups[n_groups, 0], groups[n_groups, 1] = sigma, slot
                groups[n_groups, 2], groups[n_groups, 3] = slot + inner, slot + inner + leaves
                n_groups += 1
            count[sigma, 0], count[sigma, 1] = slot, slot + inner
            slot += inner + leaves
        for node in range(low[level], high[level]):
            leaf = _is_leaf(child_start, low, high, level, node)
            own = count[symbol[node], leaf]
            count[symbol[node], leaf] += 1
            slot_of[node], node_at[own] = own, node
            parent_slot[own] = slot_of[parent[node]]
            end_at[own] = 0.0 if shared[level] and node == low[level] else end[node]
        count[:] = 0
    return n_groups


@kernel
def _row_dot(rows: Matrix, r: int, vector: Matrix) -> float:
    """Return the product of one row with a vector; four sums, so that additions need not wait for each other."""
    n = vector.size
    a = b = c = d = 0.0
    full = n - n % 4
    for i in range(0, full, 4):
        a += rows[r, i] * vector[i]
        b += rows[r, i + 1] * vector[i + 1]
        c += rows[r, i + 2] * vector[i + 2]
        d += rows[r, i + 3] * vector[i + 3]
    for i in range(full, n):
        a += rows[r, i] * vector[i]
    return float((a + b) + (c + d))


@kernel
def _times(product: float, power: int, z: float) -> tuple[float, int]:
    """Return the product with z: a number between ``_TINY`` and ``_HUGE`` times a power of ``_TINY``."""
    if z < _TINY:
        z *= _HUGE
        power += 1
    elif z > _HUGE:
        z *= _TINY
        power -= 1
    product *= z
    if product > _HUGE:
        product *= _TINY
        power -= 1
    elif product < _TINY:
        product *= _HUGE
        power += 1
    return product, power


@kernel
def _log_of(last: float, product: float, power: int) -> float:
    """Return the logarithm of ``last`` times a product and a power of ``_TINY``."""
    if last <= 0.0 or product <= 0.0:
        return -np.inf
    value = last * product
    if 1e-290 < value < 1e290:
        return float(np.log(value) - power * _LOG_HUGE)
    return float(np.log(last) + np.log(product) - power * _LOG_HUGE)


@kernel
def _multiply(rows: Matrix, matrix: Matrix, out: Matrix) -> None:
    """Write ``rows @ matrix``: by the library, or by a loop where there are few rows."""
    if rows.shape[0] > _THIN:
        np.dot(rows, matrix, out)
        return
    n = matrix.shape[0]
    for r in range(rows.shape[0]):
        for j in range(n):
            out[r, j] = rows[r, 0] * matrix[0, j]
        for i in range(1, n):
            factor = rows[r, i]
            for j in range(n):
                out[r, j] += factor * matrix[i, j]


@kernel
def _add_products(rows: Matrix, others: Matrix, scratch: Matrix, out: NDArray[np.float64]) -> None:
    """Add ``rows.T @ others``."""
    n = out.shape[0]
    if rows.shape[0] > _THIN:
        np.dot(rows.T, others, scratch)
        for i in range(n):
            for j in range(n):
                out[i, j] += scratch[i, j]
        return
    for r in range(rows.shape[0]):
        for i in range(n):
            factor = rows[r, i]
            for j in range(n):
                out[i, j] += factor * others[r, j]


@kernel
def log_likelihood_block(
    parent_slot: Slots, end: NDArray[np.float64], groups: Groups, initial: Matrix, operators: Matrix, final: Matrix,
    sums: Matrix, ends: Matrix, fwd: Matrix, scaled: Matrix, inverse: Matrix, product: NDArray[np.float64], power: Slots,
) -> float:  # fmt: skip
    """Return the log-likelihood of the strings of a block; leave the forward vectors of its inner slots in ``fwd``.

    ``sums`` are the rows A_sigma 1, ``ends`` A_sigma alpha_inf. ``scaled`` gets the parents' forward vectors divided by z,
    ``inverse`` 1 / z, or 0 where a string is impossible. The z of a path multiply to ``product`` times a power of ``_TINY``.
    """
    n = initial.size
    total, least = 0.0, 1e-30 if fwd.itemsize == 4 else 1e-290
    fwd[0] = initial
    product[0], power[0] = 1.0, 0
    if end[0] > 0.0:
        last = _row_dot(fwd, 0, final)
        total += end[0] * _log_of(last if last > least else 0.0, 1.0, 0)
    for g in range(groups.shape[0]):
        sigma, start, leaf, stop = groups[g, 0], groups[g, 1], groups[g, 2], groups[g, 3]
        for low in range(start, leaf, _CHUNK):
            high = min(low + _CHUNK, leaf)
            for slot in range(low, high):
                up = parent_slot[slot]
                z = _row_dot(fwd, up, sums[sigma])
                factor = 1.0 / z if z > least else 0.0
                inverse[slot] = factor
                for i in range(n):
                    scaled[slot, i] = fwd[up, i] * inverse[slot]
                product[slot], power[slot] = _times(product[up], power[up], z if z > least else 0.0)
            _multiply(scaled[low:high], operators[sigma], fwd[low:high])
            for slot in range(low, high):
                if end[slot] > 0.0:
                    last = _row_dot(fwd, slot, final)
                    total += end[slot] * _log_of(last if last > least else 0.0, product[slot], power[slot])
        for slot in range(leaf, stop):
            if end[slot] > 0.0:
                up = parent_slot[slot]
                last = _row_dot(fwd, up, ends[sigma])
                total += end[slot] * _log_of(last if last > least else 0.0, product[up], power[up])
    return total


@kernel
def expect_block(
    parent_slot: Slots, end: NDArray[np.float64], groups: Groups, initial: Matrix, operators: Matrix, final: Matrix,
    sums: Matrix, ends: Matrix, fwd: Matrix, scaled: Matrix, inverse: Matrix, product: NDArray[np.float64], power: Slots,
    transposed: Matrix, bwd: Matrix, counts: NDArray[np.float64], stops: NDArray[np.float64], starts: NDArray[np.float64],
) -> float:  # fmt: skip
    """Return the log-likelihood of a block's strings, and add the expected uses of every weight.

    ``counts`` are still to be multiplied by the operators, ``stops`` by alpha_inf, ``starts`` by alpha_1. What is impossible
    is not counted. The rest as in `log_likelihood_block`; ``transposed`` are the operators' transposes.
    """
    n = initial.size
    total = log_likelihood_block(
        parent_slot, end, groups, initial, operators, final, sums, ends, fwd, scaled, inverse, product, power
    )
    step, used, outer = np.empty((_CHUNK, n), bwd.dtype), np.empty((n, n), bwd.dtype), np.empty(n)
    least = 1e-30 if fwd.itemsize == 4 else 1e-290
    for g in range(-1, groups.shape[0]):
        low, high = (0, 1) if g < 0 else (groups[g, 1], groups[g, 2])
        for slot in range(low, high):
            last = _row_dot(fwd, slot, final) if end[slot] > 0.0 else 0.0
            weight = end[slot] / last if last > least else 0.0
            for i in range(n):
                bwd[slot, i] = weight * final[i]
            if weight > 0.0:
                for i in range(n):
                    stops[i] += weight * fwd[slot, i]
    for g in range(groups.shape[0] - 1, -1, -1):
        sigma, start, leaf, stop = groups[g, 0], groups[g, 1], groups[g, 2], groups[g, 3]
        if leaf < stop:
            outer[:] = 0.0
            for slot in range(leaf, stop):
                up = parent_slot[slot]
                last = _row_dot(fwd, up, ends[sigma])
                if last > least:
                    weight = end[slot] / last
                    for i in range(n):
                        outer[i] += weight * fwd[up, i]
                        bwd[up, i] += weight * ends[sigma, i]
            for i in range(n):
                for j in range(n):
                    counts[sigma, i, j] += outer[i] * final[j]
                    stops[j] += outer[i] * operators[sigma, i, j]
        for low in range(start, leaf, _CHUNK):
            high = min(low + _CHUNK, leaf)
            for slot in range(low, high):
                for i in range(n):
                    if fwd[slot, i] < least:
                        bwd[slot, i] = 0.0
            _add_products(scaled[low:high], bwd[low:high], used, counts[sigma])
            _multiply(bwd[low:high], transposed[sigma], step[: high - low])
            for slot in range(low, high):
                up = parent_slot[slot]
                for i in range(n):
                    bwd[up, i] += inverse[slot] * step[slot - low, i]
    for i in range(n):
        if fwd[0, i] >= least:
            starts[i] += bwd[0, i]
    return total


@kernel
def best_paths_block(
    parent_slot: Slots, end: NDArray[np.float64], groups: Groups, initial: Matrix, operators: Matrix, final: Matrix,
    best: Matrix, back: Slots, used: NDArray[np.float64], logs: NDArray[np.float64],
    counts: NDArray[np.float64], stops: NDArray[np.float64], starts: NDArray[np.float64],
) -> float:  # fmt: skip
    """Return the log chance of the best path of each string of a block, summed, and add how often these use each weight.

    ``best[slot, j]`` is the chance of the best path that ends in state j, over its largest value in the row, whose logarithm
    is in ``logs``; ``back`` the state before j; ``used`` how many best paths go through. Of equal paths the first.
    """
    n = initial.size
    total = 0.0
    used[: parent_slot.size] = 0.0
    best[0], logs[0] = initial, 0.0
    for g in range(-1, groups.shape[0]):
        low, high = (0, 1) if g < 0 else (groups[g, 1], groups[g, 3])
        for slot in range(low, high):
            if g >= 0:
                sigma, up = groups[g, 0], parent_slot[slot]
                largest = 0.0
                for j in range(n):
                    best[slot, j], back[slot, j] = 0.0, 0
                for i in range(n):
                    chance = best[up, i]
                    if chance > 0.0:
                        for j in range(n):
                            longer = chance * operators[sigma, i, j]
                            if longer > best[slot, j]:
                                best[slot, j], back[slot, j] = longer, i
                for j in range(n):
                    largest = max(largest, best[slot, j])
                if largest > 0.0:
                    for j in range(n):
                        best[slot, j] /= largest
                logs[slot] = logs[up] + (np.log(largest) if largest > 0.0 else -np.inf)
            if end[slot] > 0.0:
                state, chance = 0, 0.0
                for j in range(n):
                    if best[slot, j] * final[j] > chance:
                        state, chance = j, best[slot, j] * final[j]
                total += end[slot] * (np.log(chance) + logs[slot] if chance > 0.0 else -np.inf)
                if chance > 0.0:
                    used[slot, state] += end[slot]
                    stops[state] += end[slot]
    for g in range(groups.shape[0] - 1, -1, -1):
        sigma = groups[g, 0]
        for slot in range(groups[g, 1], groups[g, 3]):
            for j in range(n):
                if used[slot, j] > 0.0:
                    counts[sigma, back[slot, j], j] += used[slot, j]
                    used[parent_slot[slot], back[slot, j]] += used[slot, j]
    for i in range(n):
        starts[i] += used[0, i]
    return total
