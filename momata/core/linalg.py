"""Linear algebra that several rooms need."""

from __future__ import annotations

import contextlib
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from momata.errors import OptionError

__all__ = ["SVDMethod", "orthonormal_extension", "spectral_norm", "spectral_radius", "symmetric_root", "truncated_svd"]

Array = NDArray[np.float64]

SVDMethod = Literal["auto", "dense", "arpack", "random"]

_DENSE_EIGENVALUES = 600  # sides up to which all eigenvalues are computed
_DENSE_CELLS = 700 * 700  # of a matrix whose SVD is computed whole
_OVERSAMPLING = 10  # directions of a randomised SVD beyond the rank


def spectral_radius(matrix: Array) -> float:
    """Return the largest absolute eigenvalue of a square matrix."""
    if not matrix.size:
        return 0.0
    if matrix.shape[0] <= _DENSE_EIGENVALUES:
        return float(np.abs(np.linalg.eigvals(matrix)).max())
    from scipy.sparse.linalg import ArpackNoConvergence, eigs

    try:
        start = np.random.default_rng(0).standard_normal(matrix.shape[0])
        return float(np.abs(eigs(matrix, k=1, which="LM", v0=start, return_eigenvectors=False)).max())
    except ArpackNoConvergence:
        return float(np.abs(np.linalg.eigvals(matrix)).max())


def orthonormal_extension(basis: Array, vector: Array, tol: float) -> Array | None:
    """Return the unit vector by which ``vector`` extends the row space of an orthonormal ``basis``, or None if it lies inside.

    Inside means that what is left after projection, done twice for accuracy, is at most ``tol`` of the vector's length.
    """
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        return None
    rest: Any = vector / length
    for _ in range(2):
        rest = rest - (basis @ rest) @ basis
    left = float(np.linalg.norm(rest))
    return None if left <= tol else np.asarray(rest / left)


def symmetric_root(matrix: Array) -> Array:
    """Return L with ``L @ L.T`` equal to a symmetric positive semi-definite matrix, singular ones included."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def truncated_svd(
    matrix: Any, rank: int, method: SVDMethod = "auto", seed: int = 0, n_passes: int = 7
) -> tuple[Array, Array, Array]:
    r"""Return the largest singular triplets of a dense or sparse matrix, :math:`U, s, V` with :math:`M \approx U diag(s) V^\top`.

    Values fall; in each column of U the entry of largest absolute value, the first of equal ones, is positive.

    Parameters
    ----------
    matrix : (m, k) array or sparse array
    rank : int
        At most ``min(m, k)``; fewer triplets are returned where that is less.
    method : {"auto", "dense", "arpack", "random"}
        All of a dense SVD; Lanczos iteration (`ARPACK`, from a start drawn by ``seed``, with one BLAS thread); random
        projection with ``n_passes`` power iterations. ``"auto"`` is dense for small matrices, else Lanczos.
    seed, n_passes : int
    """
    if method not in ("auto", "dense", "arpack", "random"):
        raise OptionError(f"svd={method!r} is not known. Use auto, dense, arpack or random.")
    if n_passes < 0:
        raise OptionError(f"n_passes={n_passes} is no number of passes. Give a whole number from 0.")
    side, sparse = min(matrix.shape), hasattr(matrix, "tocsr")
    rank = min(rank, side)
    if method == "auto":
        method = "dense" if matrix.shape[0] * matrix.shape[1] <= _DENSE_CELLS or 2 * rank >= side else "arpack"
    if method == "arpack" and rank >= side:
        method = "dense"  # Lanczos finds all but one at most
    elif method == "arpack" and not np.any(matrix.data if sparse else matrix):
        method = "random"  # Lanczos cannot start from zeros
    with threadpool_limits(limits=1, user_api="blas") if method == "arpack" else _no_limits():
        if method == "dense":
            U, s, Vt = np.linalg.svd(matrix.toarray() if sparse else matrix, full_matrices=False)
        elif method == "arpack":
            from scipy.sparse.linalg import svds

            start = np.random.default_rng(seed).standard_normal(side)
            U, s, Vt = svds(matrix, k=rank, v0=start, solver="arpack")
        else:
            U, s, Vt = _random_svd(matrix, min(rank + _OVERSAMPLING, side), seed, n_passes)
    order = np.argsort(-s, kind="stable")[:rank]
    U, V = U[:, order], Vt[order].T
    signs = np.where(U[np.argmax(np.abs(U), axis=0), np.arange(order.size)] < 0, -1.0, 1.0)
    return np.ascontiguousarray(U * signs), np.ascontiguousarray(s[order]), np.ascontiguousarray(V * signs)


def _random_svd(matrix: Any, size: int, seed: int, n_passes: int) -> tuple[Array, Array, Array]:
    """Return the SVD of a matrix projected on the range of a random block, sharpened by power iterations."""
    block = matrix @ np.random.default_rng(seed).standard_normal((matrix.shape[1], size))
    Q = np.linalg.qr(block)[0]
    for _ in range(n_passes):
        Q = np.linalg.qr(matrix @ np.linalg.qr(matrix.T @ Q)[0])[0]
    small, s, Vt = np.linalg.svd((matrix.T @ Q).T, full_matrices=False)
    return Q @ small, s, Vt


def spectral_norm(matrix: Any, seed: int = 0) -> float:
    """Return the largest singular value of a dense or sparse matrix."""
    return float(truncated_svd(matrix, 1, seed=seed)[1][0]) if min(matrix.shape) else 0.0


def _no_limits() -> Any:
    return contextlib.nullcontext()
