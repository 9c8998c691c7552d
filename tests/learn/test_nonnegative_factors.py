"""Non-negative factorisations, and PFAs from them or from chosen rows: exact where rows separate, valid always."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from brute import all_strings, assert_same_function
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import corpora, stochastic_wfas

from momata.core.algebra import minimise
from momata.core.alphabet import Alphabet
from momata.core.basis import Basis, select_basis
from momata.core.hankel import HankelBlocks, estimate_hankel, exact_blocks, hankel_from_table
from momata.core.probabilistic import PFA, random_pdfa
from momata.core.wfa import WFA, convert
from momata.errors import BasisError, OptionError
from momata.learn import nonnegative_factors
from momata.learn.nonnegative_factors import RANKS, NonNegativePath, ResidualPath, factorise

STATISTICS = ["string", "prefix", "suffix", "substring"]
SCALINGS = ["none", "roots", "sums", "counts"]
METHODS = ["cd", "anls"]
statistics, scalings = st.sampled_from(STATISTICS), st.sampled_from(SCALINGS)


# ------------------------------------------------------------------ factorisation


def some_matrix(seed: int = 0, noise: float = 0.01) -> np.ndarray:
    """Of non-negative rank 3, and noise."""
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(20, 3)) @ rng.exponential(size=(3, 15)) + noise * rng.random((20, 15))


def left_over(M: np.ndarray, factors: tuple[np.ndarray, np.ndarray]) -> float:
    return float(np.linalg.norm(M - factors[0] @ factors[1]) / np.linalg.norm(M))


@st.composite
def counts(draw) -> np.ndarray:
    """A tiny table of counts, sparse, some rows and columns all 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    return rng.integers(0, 4, shape) * (rng.random(shape) < draw(st.sampled_from([0.3, 1.0]))) * 1.0


@given(counts(), st.integers(1, 7), st.sampled_from(METHODS), st.booleans(), st.integers(1, 2))
def test_factors_are_not_negative_and_better_than_nothing(M, rank, method, sparse, restarts):
    F, G = factorise(csr_array(M) if sparse else M, rank, method, restarts)
    rank = min(rank, *M.shape)
    assert (F.shape, G.shape) == ((M.shape[0], rank), (rank, M.shape[1]))
    assert np.all(np.isfinite(F))
    assert np.all(np.isfinite(G))
    assert min(F.min(), G.min()) >= 0
    assert np.linalg.norm(M - F @ G) <= (1 + 1e-12) * np.linalg.norm(M)


@pytest.mark.parametrize("method", METHODS)
def test_the_residual_falls(method):
    M = some_matrix()
    by_rank = [left_over(M, factorise(M, n, method)) for n in (1, 2, 3)]
    assert by_rank == sorted(by_rank, reverse=True)
    assert by_rank[-1] < 0.02  # the noise is 0.01 of numbers around 3
    steps = [left_over(M, factorise(M, 3, method, n_steps=k, tol=0.0)) for k in (1, 2, 4, 8, 16, 32)]
    assert all(b <= a * (1 + 1e-9) for a, b in itertools.pairwise(steps))
    assert steps[-1] < 0.5 * steps[0]


@pytest.mark.parametrize("seed", range(5))
def test_both_methods_agree(seed):
    M = some_matrix(seed, noise=0.5)
    one, other = (left_over(M, factorise(M, 3, method, restarts=2)) for method in METHODS)
    assert one == pytest.approx(other, rel=0.05)


@pytest.mark.parametrize("method", METHODS)
def test_the_end_is_a_stationary_point(method):
    """The projected gradient vanishes: no entry can gain, but those at 0 that would have to become negative."""
    M = some_matrix(2, noise=0.5)
    F, G = factorise(M, 3, method, n_steps=5000, tol=1e-12)
    left = F @ G - M
    for gradient, x, scale in [(left @ G.T, F, M @ G.T), (F.T @ left, G, F.T @ M)]:
        projected = np.where(x > 0, gradient, np.minimum(gradient, 0.0))
        assert np.abs(projected).max() < 1e-4 * scale.max()


@pytest.mark.parametrize("method", METHODS)
def test_seeds_and_restarts(method):
    M = csr_array(some_matrix(3, noise=1.0))
    one, same, other = (factorise(M, 4, method, 2, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not np.array_equal(one[0], other[0])
    few, many = (left_over(M.toarray(), factorise(M, 4, method, k)) for k in (1, 5))
    assert many <= few * (1 + 1e-12), "the first start is the same"


def test_a_table_of_zeros():
    F, G = factorise(np.zeros((3, 2)), 2)
    assert not F.any()
    assert not G.any()


def test_methods_that_are_not_known():
    with pytest.raises(OptionError, match=r"nmf='mu' is not known. Use cd or anls"):
        factorise(np.ones((2, 2)), 1, "mu")


# ------------------------------------------------------------------ exact blocks


def chain(n: int, seed: int) -> PFA:
    """The last symbol is the state, whatever came before: every prefix but the empty one is pure."""
    rng = np.random.default_rng(seed)
    final = rng.uniform(0.2, 0.4, n)
    moves = rng.dirichlet(np.ones(n), n) * (1 - final)[:, None]
    operators = moves.T[:, :, None] * np.eye(n)[:, None, :]
    return PFA(np.eye(n)[0], final, operators, Alphabet("abc"[:n]))


def pairs(seed: int) -> PFA:
    """Symbols name the states before and after them: prefixes are pure, and so are suffixes."""
    rng = np.random.default_rng(seed)
    final = rng.uniform(0.2, 0.4, 2)
    moves = rng.dirichlet([2.0, 2.0], 2) * (1 - final)[:, None]
    operators = np.zeros((4, 2, 2))
    for i, j in np.ndindex(2, 2):
        operators[2 * i + j, i, j] = moves[i, j]
    return PFA([1.0, 0.0], final, operators, Alphabet("abcd"))


def exact(pfa: WFA, statistic: str, longest: int = 3) -> HankelBlocks:
    strings = list(all_strings(pfa.alphabet, longest))
    return exact_blocks(convert(pfa, statistic), Basis.of(strings, strings))


def smallest(pfa: WFA) -> bool:
    """Whether no smaller automaton computes the same, and rounding leaves it at that."""
    s = np.linalg.svd(exact(pfa, "string").hankel, compute_uv=False)
    return minimise(pfa).n_states == pfa.n_states and s[pfa.n_states - 1] > 1e-4 * s[0]


@settings(max_examples=30)
@given(st.integers(1, 3), st.integers(0, 1000), statistics, scalings)
def test_residual_is_exact_where_the_last_symbol_is_the_state(n, seed, statistic, scaling):
    pfa = chain(n, seed)
    assume(smallest(pfa))
    path = ResidualPath(exact(pfa, statistic), n + 2, scaling)
    assert path.max_rank == n, "the rank of exact blocks ends the path"
    found = path.automaton(n)
    assert isinstance(found, PFA)
    assert_same_function(pfa, found, 5, rtol=1e-6)


@pytest.mark.parametrize("statistic", ["string", "prefix"])
def test_residual_is_exact_on_deterministic_automata(statistic):
    """Every prefix is pure where sequences start; anywhere within them it need not be."""
    tried = 0
    for seed in range(30):
        pfa = random_pdfa(3, 2, seed, sparsity=0.2, mean_length=3.0)
        if not smallest(pfa):
            continue
        tried += 1
        for scaling in SCALINGS:
            found = ResidualPath(exact(pfa, statistic), 3, scaling).automaton(3)
            assert_same_function(pfa, found, 5, rtol=2e-6)  # a millionth is kept for ends that do not occur
    assert tried >= 5


@pytest.fixture
def to_the_end(monkeypatch):
    """Factorise until nothing changes."""
    monkeypatch.setattr(
        nonnegative_factors, "factorise", functools.partial(factorise, n_steps=3000, tol=1e-10), raising=True
    )


@pytest.mark.parametrize("operators", ["shifted", "selection"])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_nonnegative_is_exact_where_prefixes_and_suffixes_are_pure(statistic, operators, to_the_end):
    """Then there is one non-negative factorisation only, and the automaton follows from it."""
    for seed in range(3):
        pfa = pairs(seed)
        blocks = exact(pfa, statistic, 2)
        for scaling in ("roots", "sums"):
            found = NonNegativePath(blocks, 2, scaling, operators).automaton(2)
            assert isinstance(found, PFA)
            assert_same_function(pfa, found, 4, rtol=1e-6)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_nonnegative_as_it_stops_by_default(statistic):
    """Steps end at a hundred-thousandth of the first."""
    for method, rtol in [("cd", 1e-5), ("anls", 1e-2)]:
        found = NonNegativePath(exact(pairs(0), statistic, 2), 2, method=method).automaton(2)
        assert_same_function(pairs(0), found, 4, rtol=rtol)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_one_state_is_exact(statistic):
    """There a factorisation has no choice."""
    pfa = PFA([1.0], [0.3], [[[0.5]], [[0.2]]], Alphabet("ab"))
    blocks = exact(pfa, statistic)
    for path in (
        NonNegativePath(blocks, 1),
        NonNegativePath(blocks, 1, operators="selection", method="anls"),
        ResidualPath(blocks, 1),
    ):
        assert_same_function(pfa, path.automaton(1), 5, rtol=2e-6)


@given(stochastic_wfas(max_states=3, max_symbols=2), statistics, scalings, st.sampled_from(["shifted", "selection"]))
def test_any_automaton_gives_pfas_of_every_rank(wfa, statistic, scaling, operators):
    blocks = exact(wfa, statistic, 2)
    for path in (NonNegativePath(blocks, 3, scaling, operators), ResidualPath(blocks, 3, scaling)):
        for n in path.ranks:
            found = path.automaton(n)
            assert isinstance(found, PFA)
            assert found.is_probabilistic()
            assert found.is_summable()
            assert 1 <= found.n_states <= n


# ------------------------------------------------------------------ counted blocks


@given(
    corpora(min_sequences=1, weights=True), statistics, scalings, st.sampled_from(["shifted", "selection"]),
    st.sampled_from(METHODS), st.sampled_from(["symbols+", "top:9", "all"]),
)  # fmt: skip
def test_any_corpus_gives_pfas(corpus, statistic, scaling, operators, method, basis):
    chosen = select_basis(corpus, basis, max_length=2)
    assume(() in chosen.suffixes)
    blocks = estimate_hankel(corpus, chosen, statistic)
    paths = (
        lambda: NonNegativePath(blocks, 3, scaling, operators, method),
        lambda: ResidualPath(blocks, 3, scaling),
    )
    for path in paths:
        try:
            automata = [path().automaton(n) for n in path().ranks]
        except BasisError as error:
            assert not blocks.hankel.sum() or "selection" in str(error) or "empty suffix" in str(error)  # noqa: PT017
            continue
        assert automata
        for found in automata:
            assert isinstance(found, PFA)
            assert found.is_probabilistic()
            assert found.is_summable()
            assert found.alphabet == blocks.alphabet


def test_a_rank_is_learned_once():
    path = NonNegativePath(exact(chain(3, 0), "substring"), 100)
    assert path.automaton(2) is path.automaton(2)
    assert path.max_rank == 40, "strings up to length 3"
    assert path.ranks == [n for n in RANKS if n <= 40]


def test_rows_that_are_rare_become_no_states():
    corpus = ["ab", "b"] * 50 + ["ccc"]
    blocks = estimate_hankel(corpus, select_basis(corpus, "all", max_length=2), "substring")
    path = ResidualPath(blocks, 10)
    chosen = [blocks.basis.prefixes[i] for i in path._rows]
    assert ("a",) in chosen
    assert not any("c" in prefix for prefix in chosen)


def test_unknown_columns_are_left_out():
    """Selection by suffixes that are not closed upwards: what is not there is not taken for 0."""
    pfa = PFA([1.0], [0.4], [[[0.6]]], Alphabet("a"))
    blocks = exact(pfa, "string", 1)
    found = NonNegativePath(blocks, 1, operators="selection").automaton(1)
    assert_same_function(pfa, found, 5, rtol=2e-6)


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("path", [NonNegativePath, ResidualPath])
def test_blocks_that_do_not_serve(path):
    pfa = chain(2, 0)
    with pytest.raises(BasisError, match="need the empty string among the suffixes"):
        path(exact_blocks(pfa, Basis.of(["", "a"], ["a", "b"])), 2)
    table = hankel_from_table([[0.5, 0.25], [0.25, 0.125]], ["", "a"], ["", "a"], "a")
    with pytest.raises(OptionError, match="do not say how sequences start and end"):
        path(table, 1)
    with pytest.raises(BasisError, match="is all 0"):
        path(estimate_hankel(["aaaa"], Basis.of(["", "a"], ["", "a"]), "string"), 1)
    with pytest.raises(OptionError, match="scaling='x' is not known"):
        path(exact(pfa, "string"), 1, "x").automaton(1)


def test_operators_that_cannot_be():
    blocks = exact(chain(2, 0), "string")
    with pytest.raises(OptionError, match=r"operators='x' is not known. Use shifted or selection"):
        NonNegativePath(blocks, 1, operators="x")
    with pytest.raises(BasisError, match="operators='selection' needs suffixes"):
        NonNegativePath(exact_blocks(chain(2, 0), Basis.of([""], ["", "ab"])), 1, operators="selection")
