"""Non-negative least squares for many right-hand sides that share one Gram matrix: active sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from momata._kernels._jit import kernel

__all__ = ["solve_nnls"]

Reals = NDArray[np.float64]


@kernel
def _solve_passive(gram: Reals, target: Reals, passive: NDArray[np.int64], m: int, lower: Reals, out: Reals) -> bool:
    """Solve the normal equations of the first m ``passive`` unknowns by Cholesky; return whether the matrix is definite."""
    for a in range(m):
        i = passive[a]
        for b in range(a + 1):
            total = gram[i, passive[b]]
            for c in range(b):
                total -= lower[a, c] * lower[b, c]
            if a == b:
                if not total > 1e-14 * gram[i, i]:
                    return False
                lower[a, a] = np.sqrt(total)
            else:
                lower[a, b] = total / lower[b, b]
    for a in range(m):
        total = target[passive[a]]
        for c in range(a):
            total -= lower[a, c] * out[c]
        out[a] = total / lower[a, a]
    for a in range(m - 1, -1, -1):
        total = out[a]
        for c in range(a + 1, m):
            total -= lower[c, a] * out[c]
        out[a] = total / lower[a, a]
    return True


@kernel
def solve_nnls(gram: Reals, targets: Reals, tol: float, most_steps: int, found: Reals) -> int:
    """Minimise ``x gram x / 2 - x target`` over x >= 0 for each row of ``targets``; return how many did not converge.

    Lawson and Hanson: the unknown with the largest gradient joins the passive set, whose least squares solution is taken as
    far as no unknown becomes negative; those that reach 0 leave.
    """
    k, n = targets.shape
    passive, lower, step = np.empty(n, np.int64), np.empty((n, n)), np.empty(n)
    inside = np.empty(n, np.bool_)
    gradient = np.empty(n)
    failed = 0
    for r in range(k):
        x, target = found[r], targets[r]
        x[:] = 0.0
        inside[:] = False
        m = 0
        scale = 0.0
        for i in range(n):
            gradient[i] = target[i]
            scale = max(scale, abs(target[i]))
        steps = 0
        while m < n and steps < most_steps:
            best, largest = -1, tol * scale
            for i in range(n):
                if not inside[i] and gradient[i] > largest:
                    best, largest = i, gradient[i]
            if best < 0:
                break
            passive[m] = best
            inside[best] = True
            m += 1
            while steps < most_steps:
                steps += 1
                if not _solve_passive(gram, target, passive, m, lower, step):
                    # the newcomer lies in the span of the others: leave it out, now and for this row
                    m -= 1
                    inside[passive[m]] = False
                    x[passive[m]] = 0.0
                    gradient[passive[m]] = -1.0
                    best = -2
                    break
                share = 1.0
                for a in range(m):
                    i = passive[a]
                    if step[a] <= 0.0:
                        share = min(share, x[i] / (x[i] - step[a]) if x[i] > step[a] else 0.0)
                for a in range(m):
                    i = passive[a]
                    x[i] += share * (step[a] - x[i])
                if share >= 1.0:
                    break
                kept = 0
                for a in range(m):
                    i = passive[a]
                    if x[i] > 1e-15 * abs(step[a]) and not (step[a] <= 0.0 and x[i] <= 1e-14):
                        passive[kept] = i
                        kept += 1
                    else:
                        x[i] = 0.0
                        inside[i] = False
                m = kept
            barred = best == -2
            for i in range(n):
                if barred and not inside[i] and gradient[i] == -1.0:
                    continue
                total = target[i]
                for a in range(m):
                    total -= gram[i, passive[a]] * x[passive[a]]
                gradient[i] = total
        failed += steps >= most_steps
    return failed
