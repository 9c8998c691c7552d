"""Truncated singular value decompositions: three methods, one answer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

from momata.core import linalg
from momata.core.linalg import spectral_norm, truncated_svd
from momata.errors import OptionError

METHODS = ["auto", "dense", "arpack", "random"]


def with_values(shape: tuple[int, int], values: list[float], seed: int = 0) -> np.ndarray:
    """Return a matrix with given singular values."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((side, len(values))))[0] for side in shape)
    return (U * values) @ V.T


def check(matrix: np.ndarray, rank: int, U: np.ndarray, s: np.ndarray, V: np.ndarray) -> None:
    """What holds for every answer, whoever found it."""
    m, k = matrix.shape
    n = min(rank, m, k)
    assert (U.shape, s.shape, V.shape) == ((m, n), (n,), (k, n))
    assert all(a.flags.c_contiguous and a.dtype == np.float64 for a in (U, s, V))
    np.testing.assert_allclose(U.T @ U, np.eye(n), atol=1e-12)
    np.testing.assert_allclose(V.T @ V, np.eye(n), atol=1e-12)
    assert np.all(np.diff(s) <= 0)
    assert np.all(s >= 0)
    assert np.all(U[np.abs(U).argmax(axis=0), np.arange(n)] > 0)
    np.testing.assert_allclose(matrix @ V, U * s, atol=1e-10 * max(1.0, s[:1].sum()))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sparse", [False, True])
@given(shape=st.tuples(st.integers(1, 12), st.integers(1, 12)), rank=st.integers(1, 14), seed=st.integers(0, 10**6))
def test_triplets_are_those_of_numpy(method, sparse, shape, rank, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal(shape) * (rng.random(shape) < (0.5 if sparse else 1.0))
    values = np.linalg.svd(matrix, compute_uv=False)
    if (
        method == "arpack"
    ):  # squares the values, so that it loses those below 1e-8 of the largest, and cannot part pairs
        assume(values[0] > 0 and np.all(values[:-1] - values[1:] > 1e-3 * values[0]) and values[-1] > 1e-3 * values[0])
    U, s, V = truncated_svd(csr_array(matrix) if sparse else matrix, rank, method, seed)
    check(matrix, rank, U, s, V)
    np.testing.assert_allclose(s, values[:rank], atol=1e-10)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_methods_agree_signs_included(sparse):
    matrix = with_values((60, 45), [0.8**i for i in range(45)])
    expected = truncated_svd(matrix, 6, "dense")
    for method in ("arpack", "random"):
        for seed in (0, 1):
            found = truncated_svd(csr_array(matrix) if sparse else matrix, 6, method, seed)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-8)  # gaps are 0.2 of a value: 7 passes leave 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_bits(method):
    matrix = random_array((80, 70), density=0.1, rng=np.random.default_rng(3)).tocsr()
    one, two, other = (truncated_svd(matrix, 5, method, seed) for seed in (4, 4, 5))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    np.testing.assert_allclose(one[1], other[1], rtol=1e-2)  # random: 7 passes over a flat spectrum
    if method in ("arpack", "random"):
        assert not np.array_equal(one[0], other[0]), "the start is drawn by the seed"


def test_more_passes_are_more_exact():
    matrix = with_values((100, 80), [0.95**i for i in range(80)])
    exact = truncated_svd(matrix, 4, "dense")[1]
    errors = [np.abs(truncated_svd(matrix, 4, "random", 0, n)[1] - exact).max() for n in (0, 2, 7)]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert np.all(truncated_svd(matrix, 4, "random", 0, 0)[1] <= exact), "a projection never has larger values"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_rank_above_the_true_one(method, sparse):
    matrix = with_values((30, 20), [3.0, 1.0])
    U, s, V = truncated_svd(csr_array(matrix) if sparse else matrix, 5, method)
    np.testing.assert_allclose(s[:2], [3.0, 1.0], rtol=1e-12)
    assert np.all(s[2:] < 1e-14)  # a few units of rounding of the largest value
    np.testing.assert_allclose((U * s) @ V.T, matrix, atol=1e-13)
    check(matrix, 2, *(np.ascontiguousarray(a[..., :2]) for a in (U, s, V)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(6, 5), (5, 6), (1, 1), (40, 3)])
def test_a_matrix_of_zeros(method, sparse, shape):
    """Lanczos cannot start from one: ARPACK ends with an error of its own."""
    matrix = np.zeros(shape)
    U, s, V = truncated_svd(csr_array(matrix) if sparse else matrix, 2, method)
    n = min(2, *shape)
    assert s.tolist() == [0.0] * n
    assert (U.shape, V.shape) == ((shape[0], n), (shape[1], n))
    assert spectral_norm(matrix) == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_repeated_values_span_the_right_space(method):
    matrix = with_values((25, 20), [2.0, 2.0, 2.0, 0.5, 0.1])
    U, s, V = truncated_svd(matrix, 3, method)
    np.testing.assert_allclose(s, [2.0, 2.0, 2.0], rtol=1e-10)
    whole = np.linalg.svd(matrix)
    np.testing.assert_allclose(U @ U.T, whole[0][:, :3] @ whole[0][:, :3].T, atol=1e-9)
    np.testing.assert_allclose((U * s) @ V.T, 2.0 * whole[0][:, :3] @ whole[2][:3], atol=1e-9)


def test_signs_do_not_depend_on_the_sign_of_the_matrix_on_the_left():
    matrix = with_values((9, 7), [4.0, 2.0, 1.0])
    U, s, V = truncated_svd(matrix, 3)
    flipped = truncated_svd(-matrix, 3)
    np.testing.assert_allclose(flipped[0], U, atol=1e-12)
    np.testing.assert_allclose(flipped[1], s, rtol=1e-12)
    np.testing.assert_allclose(flipped[2], -V, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "rank", "expected"), [((8, 8), 2, "dense"), ((40, 40), 2, "arpack"), ((40, 40), 20, "dense")]
)
def test_which_method_is_chosen(monkeypatch, shape, rank, expected):
    """Dense where the matrix is small or half of the values are wanted."""
    import scipy.sparse.linalg

    monkeypatch.setattr(linalg, "_DENSE_CELLS", 1000)
    called = []
    original = scipy.sparse.linalg.svds
    monkeypatch.setattr(scipy.sparse.linalg, "svds", lambda *a, **k: (called.append(k), original(*a, **k))[1])
    matrix = with_values(shape, [0.7**i for i in range(shape[0])])
    found = truncated_svd(csr_array(matrix), rank)
    assert len(called) == (expected == "arpack")
    np.testing.assert_allclose(found[1], [0.7**i for i in range(rank)], rtol=1e-9)


def test_options_that_are_none():
    with pytest.raises(OptionError, match=r"svd='qr' is not known. Use auto, dense, arpack or random"):
        truncated_svd(np.eye(3), 1, "qr")
    with pytest.raises(OptionError, match="n_passes=-1 is no number of passes"):
        truncated_svd(np.eye(3), 1, "random", n_passes=-1)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 10**6))
def test_the_spectral_norm_is_the_largest_stretch(m, k, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((m, k))
    assert spectral_norm(matrix) == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-12)
    assert spectral_norm(csr_array(matrix)) == pytest.approx(np.linalg.norm(matrix, 2), rel=1e-12)


def test_the_spectral_norm_of_nothing():
    assert spectral_norm(np.empty((0, 4))) == 0.0
    assert spectral_norm(csr_array((3, 4))) == 0.0
