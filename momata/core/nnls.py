"""Non-negative least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from momata._kernels import nnls as kernels
from momata.errors import OptionError

__all__ = ["nnls", "nnls_gram"]

Array = NDArray[np.float64]

_TOLERANCE = 1e-12  # of the gradient, relative to the right-hand side


def nnls(A: ArrayLike, B: ArrayLike) -> Array:
    r"""Return :math:`X \ge 0` that minimises :math:`\|A X - B\|_F`; the columns of B share one Gram matrix.

    Parameters
    ----------
    A : (m, n) array
    B : (m,) or (m, k) array

    Returns
    -------
    (n,) or (n, k) array

    Examples
    --------
    >>> nnls([[1.0, 0.0], [0.0, 1.0]], [2.0, -1.0])
    array([2., 0.])
    """
    left, right = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    if left.ndim != 2 or right.ndim not in (1, 2) or right.shape[0] != left.shape[0]:
        raise OptionError(f"A has shape {left.shape} and B {right.shape}; they need the same number of rows.")
    if not (np.all(np.isfinite(left)) and np.all(np.isfinite(right))):
        raise OptionError("A and B must be finite, and some of their numbers are not.")
    products = left.T @ right
    found = nnls_gram(left.T @ left, products[:, None] if right.ndim == 1 else products)
    return found[:, 0] if right.ndim == 1 else found


def nnls_gram(gram: Array, products: Array) -> Array:
    r"""Return the same, given :math:`A^\top A` and :math:`A^\top B`.

    An unknown that is a combination of others is left at 0.
    """
    n, k = products.shape
    if gram.shape != (n, n):
        raise OptionError(f"a Gram matrix of shape {gram.shape} and {n} rows of products do not belong together.")
    scale = np.sqrt(np.maximum(np.diag(gram), 0.0))
    unit = np.where(scale > 0, scale, 1.0)
    found = np.empty((k, n))
    kernels.solve_nnls(
        np.ascontiguousarray(gram / np.outer(unit, unit)), np.ascontiguousarray((products / unit[:, None]).T),
        _TOLERANCE, 10 * n + 50, found,
    )  # fmt: skip
    return np.ascontiguousarray(found.T / unit[:, None])
