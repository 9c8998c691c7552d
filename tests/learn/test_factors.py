"""From factorisations to automata: any factorisation, all ranks, and every option against plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from brute import all_strings, assert_same_function
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import stochastic_wfas

from momata.core.algebra import minimise
from momata.core.alphabet import Alphabet
from momata.core.basis import Basis, select_basis
from momata.core.corpus import Corpus
from momata.core.hankel import HankelBlocks, estimate_hankel, exact_blocks, hankel_from_table
from momata.core.probabilistic import random_pfa
from momata.core.wfa import WFA, convert
from momata.errors import BasisError, OptionError
from momata.learn.factors import automaton_of_factors, rank_path
from momata.predict.automaton_model import AutomatonModel

STATISTICS = ["string", "prefix", "suffix", "substring"]
SCALINGS = ["none", "roots", "sums", "counts"]
statistics, scalings = st.sampled_from(STATISTICS), st.sampled_from(SCALINGS)


def sample(n: int = 400, seed: int = 0) -> Corpus:
    """Sequences of a random target: its blocks are noisy, so of full rank."""
    return AutomatonModel(random_pfa(4, 3, seed, mean_length=4.0)).sample(n, seed)


def counted(statistic: str = "substring", basis: str = "top:25", seed: int = 0) -> HankelBlocks:
    corpus = sample(seed=seed)
    return estimate_hankel(corpus, select_basis(corpus, basis, 3, statistic), statistic)


def complete(wfa: WFA, statistic: str, longest: int = 2) -> HankelBlocks:
    """Return exact blocks over all strings up to a length, of an automaton whose states they tell apart well."""
    words = list(all_strings(wfa.alphabet, longest))
    blocks = exact_blocks(convert(wfa, statistic), Basis.of(words, words))
    values = np.linalg.svd(blocks.hankel, compute_uv=False)
    assume(values[minimise(wfa).n_states - 1] > 1e-4 * values[0])  # else rounding is amplified to the size of 1e-8
    return blocks


def well_conditioned(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    return (U * rng.uniform(0.5, 2.0, n)) @ V


# ------------------------------------------------------------------ any factorisation


@given(stochastic_wfas(max_states=3, max_symbols=2), statistics, st.integers(0, 999))
def test_any_rank_factorisation_of_exact_blocks_gives_the_function(wfa, statistic, seed):
    """Lemma 4.1: P M and the inverse of M times S factorise the same block."""
    blocks = complete(wfa, statistic)
    n = minimise(wfa).n_states
    U, s, Vt = np.linalg.svd(blocks.hankel)
    M = well_conditioned(n, seed)
    found = automaton_of_factors(blocks, U[:, :n] * s[:n] @ M, np.linalg.solve(M, Vt[:n]))
    assert (found.n_states, found.statistic, found.alphabet) == (n, statistic, wfa.alphabet)
    assert_same_function(convert(wfa, statistic), found)


@given(stochastic_wfas(max_states=3, max_symbols=2), statistics)
def test_the_factors_of_a_minimal_automaton_give_back_its_weights(wfa, statistic):
    blocks = complete(wfa, statistic)
    assume(minimise(wfa).n_states == wfa.n_states)
    wfa = convert(wfa, statistic)
    P = [wfa.forward(p)[-1] for p in blocks.basis.prefixes]
    S = np.transpose([wfa.backward(s)[0] for s in blocks.basis.suffixes])
    found = automaton_of_factors(blocks, P, S)
    for name in ("initial", "final", "operators"):
        expected = getattr(wfa, name)
        np.testing.assert_allclose(getattr(found, name), expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("n", [1, 3, 6])
def test_factors_of_noisy_blocks_give_one_function_and_that_of_the_path(statistic, n):
    blocks = counted(statistic)
    U, s, Vt = np.linalg.svd(blocks.hankel.toarray())
    plain = automaton_of_factors(blocks, U[:, :n] * s[:n], Vt[:n])
    for seed in range(3):
        M = well_conditioned(n, seed)
        mixed = automaton_of_factors(blocks, U[:, :n] * s[:n] @ M, np.linalg.solve(M, Vt[:n]))
        assert_same_function(plain, mixed, 4)
    path = rank_path(blocks, n, scaling="none", ends="lemma")
    assert_same_function(plain, path.automaton(n), 4)


def test_factors_that_do_not_make_the_block():
    blocks = counted()
    m, k = blocks.shape
    for P, S in [
        (np.ones((m, 2)), np.ones((3, k))),
        (np.ones((m + 1, 2)), np.ones((2, k))),
        (np.ones((m, 2)), np.ones((2, k + 1))),
        (np.ones(m), np.ones((1, k))),
        (np.ones((m, 2)), np.ones(2)),
    ]:
        with pytest.raises(OptionError, match=r"factors of shapes .* do not make a block of shape \(25, 25\)"):
            automaton_of_factors(blocks, P, S)


# ------------------------------------------------------------------ against plain formulas


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("ends", ["start", "lemma", "observed"])
def test_the_path_is_that_of_the_formulas(statistic, scaling, ends):
    blocks = counted(statistic)
    n, (d_p, d_s) = 4, blocks.weights(scaling)
    U, s, Vt = np.linalg.svd(np.diag(d_p) @ blocks.hankel.toarray() @ np.diag(d_s))
    L = np.diag(1 / s[:n]) @ U[:, :n].T @ np.diag(d_p)
    R = np.diag(d_s) @ Vt[:n].T
    start = {"lemma": blocks.h_s, "start": blocks.starts, "observed": blocks.starts}[ends]
    end = blocks.ends if ends == "observed" else blocks.h_p
    to_end = statistic in ("string", "suffix")
    made = {"lemma": statistic, "start": "string" if to_end else "prefix", "observed": "string"}[ends]
    expected = WFA(start @ R, L @ end, [L @ H.toarray() @ R for H in blocks.hankel_sigma], blocks.alphabet, made)
    path = rank_path(blocks, n, scaling, ends=ends)
    found = path.automaton(n)
    assert found.statistic == path.statistic == made
    np.testing.assert_allclose(path.singular_values, s[: n + 1], rtol=1e-10)
    assert_same_function(expected, found, 4, rtol=1e-10)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("scaling", SCALINGS)
def test_operators_by_selection_are_weighted_least_squares(statistic, scaling):
    """Of all A with A B_s close to B_{sigma s}: errors count by the weights of the columns s."""
    blocks = counted(statistic, "length:2")
    n, (d_p, d_s) = 3, blocks.weights(scaling)
    Vt = np.linalg.svd(np.diag(d_p) @ blocks.hankel.toarray() @ np.diag(d_s))[2][:n]
    backward = Vt / d_s  # (n, suffixes)
    column = {s: j for j, s in enumerate(blocks.basis.suffixes)}
    found = rank_path(blocks, n, scaling, operators="selection").automaton(n)
    signs = np.sign(found.initial) * np.sign(blocks.starts @ (Vt * d_s).T)
    for x, A in zip(blocks.alphabet, found.operators, strict=True):
        short = [s for s in column if (x, *s) in column]
        j, k = [column[s] for s in short], [column[(x, *s)] for s in short]
        assert len(short) >= n
        expected = np.linalg.lstsq((backward[:, j] * d_s[j]).T, (backward[:, k] * d_s[j]).T, rcond=None)[0].T
        np.testing.assert_allclose(A, signs[:, None] * expected * signs, atol=1e-9 * np.abs(expected).max())


@given(stochastic_wfas(max_states=2, max_symbols=2), statistics, scalings)
def test_selection_over_all_strings_up_to_a_length_is_exact(wfa, statistic, scaling):
    """From H alone: the shifted blocks may hold anything."""
    blocks = complete(wfa, statistic)
    nonsense = np.full_like(blocks.hankel_sigma, 7.0)
    blind = HankelBlocks(blocks.hankel, nonsense, blocks.h_p, blocks.h_s, blocks.basis, blocks.alphabet, statistic)
    n = minimise(wfa).n_states
    assert_same_function(
        convert(wfa, statistic), rank_path(blind, n, scaling, operators="selection", ends="lemma").automaton(n)
    )


# ------------------------------------------------------------------ all ranks


@pytest.mark.parametrize("operators", ["shifted", "selection"])
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("scaling", SCALINGS)
def test_each_rank_of_the_path_is_that_rank_alone(statistic, scaling, operators):
    blocks = counted(statistic, "closed:top:12")
    path = rank_path(blocks, 8, scaling, operators)
    assert path.max_rank == 8
    assert path.singular_values.shape == (9,), "one more, so that the last gap shows"
    for n in range(1, 9):
        alone = rank_path(blocks, n, scaling, operators)
        assert (alone.max_rank, alone.singular_values.shape) == (n, (n + 1,))
        one, other = path.automaton(n), alone.automaton(n)
        for name in ("initial", "final", "operators"):
            expected = getattr(one, name)
            np.testing.assert_allclose(getattr(other, name), expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("svd", ["arpack", "random"])
def test_the_path_of_other_methods(svd):
    """Seven passes over a spectrum whose gaps are some tenths leave less than 1e-4."""
    blocks = counted()
    exact = rank_path(blocks, 4)
    for seed in (0, 1):
        path = rank_path(blocks, 4, svd=svd, seed=seed, n_passes=30)
        for n in range(1, 5):
            assert_same_function(exact.automaton(n), path.automaton(n), 4, rtol=1e-6)
        again = rank_path(blocks, 4, svd=svd, seed=seed, n_passes=30)
        assert np.array_equal(path.operators, again.operators)


def test_the_path_ends_where_values_are_rounding():
    target = random_pfa(3, 2, seed=1, mean_length=3.0)
    words = list(all_strings(target.alphabet, 2))
    path = rank_path(exact_blocks(target, Basis.of(words, words)), 7)
    assert path.max_rank == 3
    assert path.singular_values.shape == (4,)
    assert path.singular_values[3] < 1e-13 * path.singular_values[0]
    assert_same_function(target, path.automaton(3))
    whole = rank_path(counted(basis="symbols+"), 50)
    assert whole.max_rank == whole.singular_values.size == 4, "there is no value beyond the last"


# ------------------------------------------------------------------ invariance


@given(st.sampled_from(STATISTICS), scalings, st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_order_of_the_basis_does_not_matter(statistic, scaling, n, random):
    corpus = sample(60)
    basis = select_basis(corpus, "top:12", 3, statistic)
    mixed = Basis(*(tuple(random.sample(s, len(s))) for s in (basis.prefixes, basis.suffixes)))
    paths = [rank_path(estimate_hankel(corpus, b, statistic), n, scaling) for b in (basis, mixed)]
    s = paths[0].singular_values
    assume(s[n - 1] - s[n] > 1e-3 * s[0])  # the space of the first n directions must be well defined
    np.testing.assert_allclose(paths[1].singular_values, s, rtol=1e-9)
    assert_same_function(paths[0].automaton(n), paths[1].automaton(n), 4)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("scaling", SCALINGS)
def test_reversed_sequences_give_the_reversed_function(statistic, scaling):
    corpus = sample()
    basis = select_basis(corpus, "top:20", 3, statistic)
    mirrored = Corpus.from_sequences([row[::-1] for row in corpus], corpus.alphabet)
    back = Basis(tuple(s[::-1] for s in basis.suffixes), tuple(p[::-1] for p in basis.prefixes))
    twin = {"prefix": "suffix", "suffix": "prefix"}.get(statistic, statistic)
    one = rank_path(estimate_hankel(corpus, basis, statistic), 4, scaling, ends="lemma").automaton(4)
    other = rank_path(estimate_hankel(mirrored, back, twin), 4, scaling, ends="lemma").automaton(4)
    assert other.statistic == twin
    assert_same_function(one, other.reverse(), 4)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_other_names_of_symbols_give_the_same_function(statistic):
    corpus = sample()
    basis = select_basis(corpus, "top:20", 3, statistic)
    names = dict(zip(corpus.alphabet, "zxy", strict=True))
    renamed = Corpus.from_sequences([[names[x] for x in row] for row in corpus], Alphabet("xyz"))
    named = Basis(*(tuple(tuple(names[x] for x in s) for s in side) for side in (basis.prefixes, basis.suffixes)))
    one = rank_path(estimate_hankel(corpus, basis, statistic), 4).automaton(4)
    other = rank_path(estimate_hankel(renamed, named, statistic), 4).automaton(4)
    for string in all_strings(corpus.alphabet, 4):
        assert other.weight(tuple(names[x] for x in string)) == pytest.approx(one.weight(string), abs=1e-10)


# ------------------------------------------------------------------ what is refused


def test_ranks_that_are_not_there():
    blocks = counted()
    for rank in (0, -1):
        with pytest.raises(OptionError, match=f"max_rank={rank}: an automaton has at least 1 state"):
            rank_path(blocks, rank)
    path = rank_path(blocks, 3)
    for n in (0, 4, -1):
        with pytest.raises(OptionError, match=f"n_states={n}: this factorisation has ranks from 1 to 3"):
            path.automaton(n)


def test_options_that_are_none():
    blocks = counted()
    with pytest.raises(OptionError, match=r"operators='guessed' is not known. Use shifted or selection"):
        rank_path(blocks, 2, operators="guessed")
    with pytest.raises(OptionError, match=r"ends='loose' is not known. Use start, lemma or observed"):
        rank_path(blocks, 2, ends="loose")
    with pytest.raises(OptionError, match="scaling='x' is not known"):
        rank_path(blocks, 2, scaling="x")
    with pytest.raises(OptionError, match="svd='x' is not known"):
        rank_path(blocks, 2, svd="x")


def test_a_table_has_no_observed_ends():
    table = hankel_from_table([[0.5, 0.25], [0.25, 0.125]], ["", "a"], ["", "a"], "a")
    with pytest.raises(OptionError, match="these blocks do not say how sequences start and end"):
        rank_path(table, 1, ends="observed")
    assert_same_function(rank_path(table, 1, ends="lemma").automaton(1), rank_path(table, 1, ends="start").automaton(1))


@pytest.mark.parametrize("svd", ["auto", "dense", "arpack", "random"])
def test_a_block_of_zeros_teaches_nothing(svd):
    blocks = estimate_hankel(["a", "b", "a"], Basis.of(["a", "b", "aa"], ["a", "b", "bb"]), "string")
    assert blocks.h_p.any()
    with pytest.raises(BasisError, match="the Hankel block of this basis is all 0"):
        rank_path(blocks, 2, svd=svd)
