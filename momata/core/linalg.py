"""Linear algebra that several rooms need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["orthonormal_extension", "spectral_radius", "symmetric_root"]

Array = NDArray[np.float64]

_DENSE_EIGENVALUES = 600  # sides up to which all eigenvalues are computed


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
