"""Non-negative least squares: optimality, degenerate columns, agreement with SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from momata.core.nnls import nnls, nnls_gram
from momata.errors import OptionError


@st.composite
def problems(draw) -> tuple[np.ndarray, np.ndarray]:
    """Tall, wide and square; zeros, whole numbers, columns that repeat, oppose or add up to others, scales far apart."""
    m, n, k = draw(st.integers(1, 8)), draw(st.integers(1, 7)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["whole", "positive", "signed"]))
    A = {"whole": rng.integers(-2, 3, (m, n)), "positive": rng.random((m, n)), "signed": rng.normal(size=(m, n))}[kind]
    A = A.astype(float)
    for _ in range(draw(st.integers(0, 3))):
        i, j, to = rng.integers(0, n, 3)
        A[:, to] = draw(st.sampled_from([A[:, i], -A[:, i], A[:, i] + A[:, j], np.zeros(m)]))
    B = A @ rng.exponential(size=(n, k)) if draw(st.booleans()) else rng.normal(size=(m, k))
    A = A * 10.0 ** rng.integers(-3, 4, n) if draw(st.booleans()) else A
    return A, B * draw(st.sampled_from([0.0, 1e-30, 1.0, 1e8]))


@given(problems())
def test_optimality(problem):
    """In units where columns have length 1: no gradient where x > 0, none that points inwards elsewhere."""
    A, B = problem
    X = nnls(A, B)
    assert X.shape == (A.shape[1], B.shape[1])
    assert np.all(X >= 0)
    lengths = np.linalg.norm(A, axis=0)
    lengths[lengths == 0] = 1.0
    gradient = (A / lengths).T @ (A @ X - B)
    # rounding of the normal equations: products with columns of length 1, of numbers as large as these
    tol = 1e-11 * (np.linalg.norm(B, axis=0) + (X * lengths[:, None]).sum(axis=0))
    assert np.all(gradient >= -tol)
    assert np.all(np.abs(gradient) * (X > 0) <= tol)


@given(problems())
def test_the_residual_is_scipys(problem):
    A, B = problem
    for b, x in zip(B.T, nnls(A, B).T, strict=True):
        other = scipy.optimize.nnls(A, b)[1]
        assert np.linalg.norm(A @ x - b) == pytest.approx(other, abs=1e-9 * np.linalg.norm(b))


@given(problems())
def test_right_hand_sides_do_not_see_each_other(problem):
    A, B = problem
    gram, products = A.T @ A, A.T @ B
    X = nnls_gram(gram, products)
    np.testing.assert_array_equal(nnls(A, B), X)
    for j in range(B.shape[1]):
        np.testing.assert_array_equal(nnls_gram(gram, products[:, j : j + 1])[:, 0], X[:, j])
        left = [np.linalg.norm(A @ x - B[:, j]) for x in (nnls(A, B[:, j]), X[:, j])]  # columns that repeat may swap
        assert left[0] == pytest.approx(left[1], abs=1e-9 * np.linalg.norm(B[:, j]))


def test_by_hand():
    np.testing.assert_allclose(nnls([[2.0, 0.0], [0.0, 4.0]], [[2.0, -1.0], [2.0, 4.0]]), [[1.0, 0.0], [0.5, 1.0]])
    np.testing.assert_allclose(nnls([[1.0, 1.0], [1.0, 1.0]], [3.0, 1.0]), [2.0, 0.0])  # the second adds nothing
    assert nnls([[0.0]], [1.0]).tolist() == [0.0]
    assert nnls([[1.0, -1.0]], [-2.0]).tolist() == [0.0, 2.0]


def test_the_unconstrained_solution_where_it_is_positive():
    rng = np.random.default_rng(0)
    A, X = rng.normal(size=(60, 40)), rng.uniform(0.5, 1.0, (40, 5))
    np.testing.assert_allclose(nnls(A, A @ X), X, rtol=1e-9)


def test_many_unknowns_of_hankel_kind():
    """Nearly dependent non-negative columns, as futures of states are."""
    rng = np.random.default_rng(1)
    A = rng.dirichlet(np.ones(5), 60) @ rng.random((5, 30)) + 1e-4 * rng.random((60, 30))
    B = A @ rng.exponential(size=(30, 8)) * (1 + 0.01 * rng.normal(size=(60, 8)))
    X = nnls(A, B)
    for b, x in zip(B.T, X.T, strict=True):
        assert np.linalg.norm(A @ x - b) == pytest.approx(scipy.optimize.nnls(A, b)[1], rel=1e-5)


@pytest.mark.parametrize("shape", [(0, 2), (3, 0), (0, 0)])
def test_nothing_to_fit_or_to_fit_with(shape):
    assert nnls(np.zeros(shape), np.zeros(shape[0])).tolist() == [0.0] * shape[1]
    assert nnls(np.zeros(shape), np.zeros((shape[0], 4))).shape == (shape[1], 4)
    assert nnls(np.ones((3, 2)), np.ones((3, 0))).shape == (2, 0)


@pytest.mark.parametrize(
    ("A", "B"),
    [(np.ones(3), np.ones(3)), (np.ones((3, 2)), np.ones(2)), (np.ones((3, 2)), np.ones((3, 1, 1))), (1.0, 1.0)],
)
def test_shapes_that_do_not_fit(A, B):
    with pytest.raises(OptionError, match="they need the same number of rows"):
        nnls(A, B)


@pytest.mark.parametrize("gram", [np.eye(2), np.ones((3, 2)), np.ones((1, 3)), np.eye(4)])
def test_gram_matrices_that_do_not_fit(gram):
    with pytest.raises(OptionError, match="do not belong together"):
        nnls_gram(gram, np.ones((3, 2)))
    with pytest.raises(OptionError, match="do not belong together"):
        nnls_gram(np.eye(3), np.ones((1, 2)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite(bad):
    with pytest.raises(OptionError, match="must be finite"):
        nnls([[bad]], [1.0])
    with pytest.raises(OptionError, match="must be finite"):
        nnls([[1.0]], [bad])
