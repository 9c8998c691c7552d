"""Hankel blocks: counted ones against plain loops, exact ones of automata, those of a table."""

from __future__ import annotations

import numpy as np
import pytest
from brute import all_strings, expectation
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import bases, corpora, stochastic_wfas, wfas

from momata.core.algebra import minimise
from momata.core.alphabet import Alphabet
from momata.core.basis import Basis, select_basis
from momata.core.corpus import Corpus
from momata.core.hankel import (
    HankelBlocks,
    estimate_hankel,
    exact_blocks,
    hankel_from_counts,
    hankel_from_table,
    noise_level,
    scaled,
)
from momata.core.probabilistic import random_pfa
from momata.core.statistics import count_statistic
from momata.core.wfa import WFA, convert
from momata.errors import BasisError, DataError, OptionError
from momata.predict.automaton_model import AutomatonModel

STATISTICS = ["string", "prefix", "suffix", "substring"]
SCALINGS = ["none", "roots", "sums", "counts"]
statistics = st.sampled_from(STATISTICS)


@st.composite
def samples(draw, **options) -> tuple[Corpus, Basis]:
    """A corpus with sequences, and a basis over its alphabet."""
    corpus = draw(corpora(min_sequences=1, weights=True, **options))
    return corpus, draw(bases(corpus.alphabet))


def dense(blocks: HankelBlocks) -> np.ndarray:
    """Return H and, behind it, all shifted blocks."""
    return np.array([blocks.hankel.toarray(), *(H.toarray() for H in blocks.hankel_sigma)])


# ------------------------------------------------------------------ counted


@given(samples(), statistics)
def test_cells_are_relative_frequencies_of_concatenations(sample, statistic):
    """Against plain loops over places: every block, both vectors, and the two that are read off the ends of sequences."""
    corpus, basis = sample

    def f(string: tuple, kind: str = statistic) -> float:
        return expectation(corpus, kind, string, corpus.weights)

    blocks = estimate_hankel(corpus, basis, statistic)
    P, S = basis.prefixes, basis.suffixes
    assert blocks.shape == (len(P), len(S)) == blocks.hankel.shape
    assert blocks.hankel.toarray().tolist() == [[f(p + s) for s in S] for p in P]
    assert len(blocks.hankel_sigma) == len(corpus.alphabet)
    for x, H in zip(corpus.alphabet, blocks.hankel_sigma, strict=True):
        assert H.toarray().tolist() == [[f((*p, x, *s)) for s in S] for p in P]
    assert blocks.h_p.tolist() == [f(p) for p in P]
    assert blocks.h_s.tolist() == [f(s) for s in S]
    to_end = statistic in ("string", "suffix")
    assert blocks.starts.tolist() == [f(s, "string" if to_end else "prefix") for s in S]
    assert blocks.ends.tolist() == [f(p, "string" if statistic in ("string", "prefix") else "suffix") for p in P]
    assert (blocks.statistic, blocks.basis) == (statistic, basis)
    assert blocks.alphabet is corpus.alphabet
    assert blocks.n_sequences == (len(corpus) if corpus.weights is None else corpus.weights.sum())


@given(samples(), statistics)
def test_only_what_occurs_is_kept(sample, statistic):
    corpus, basis = sample
    blocks = estimate_hankel(corpus, basis, statistic)
    for H in (blocks.hankel, *blocks.hankel_sigma):
        assert isinstance(H, csr_array)
        assert H.nnz == np.count_nonzero(H.toarray())


@given(samples(), statistics)
def test_equal_concatenations_have_equal_cells(sample, statistic):
    """The check that catches almost every counting mistake, over the p-closure: H_sigma[p, s] = H[p sigma, s]."""
    corpus, basis = sample
    basis = basis.p_closure(corpus.alphabet)
    blocks = estimate_hankel(corpus, basis, statistic)
    H = blocks.hankel.toarray()
    known: dict[tuple, float] = {}
    for i, p in enumerate(basis.prefixes):
        for j, s in enumerate(basis.suffixes):
            assert H[i, j] == known.setdefault(p + s, H[i, j])
    row = {p: i for i, p in enumerate(basis.prefixes)}
    for x, shifted in zip(corpus.alphabet, blocks.hankel_sigma, strict=True):
        for p, i in row.items():
            if (*p, x) in row:
                assert np.array_equal(shifted.toarray()[i], H[row[(*p, x)]])
    if () in row:
        assert np.array_equal(H[row[()]], blocks.h_s)
    if () in basis.suffixes:
        assert np.array_equal(H[:, basis.suffixes.index(())], blocks.h_p)


@given(samples(), statistics)
def test_what_follows_a_string_adds_up_to_it(sample, statistic):
    """For the statistics of strings that may go on: each occurrence of p is followed by a symbol or is an end."""
    if statistic in ("string", "suffix"):
        statistic = "substring"
    corpus, basis = sample
    basis = Basis(basis.prefixes, ((),))
    blocks = estimate_hankel(corpus, basis, statistic)
    followed = sum(H.toarray()[:, 0] for H in blocks.hankel_sigma)
    np.testing.assert_allclose(followed + blocks.ends, blocks.h_p, atol=1e-12)  # sums of a few numbers below 15


@given(samples(), statistics)
def test_a_corpus_twice_has_the_same_blocks(sample, statistic):
    corpus, basis = sample
    once, twice = (estimate_hankel(c, basis, statistic) for c in (corpus, Corpus.concatenate([corpus, corpus])))
    assert np.array_equal(dense(once), dense(twice))
    assert np.array_equal(once.starts, twice.starts)
    assert twice.n_sequences == 2 * once.n_sequences


@given(samples(), statistics, st.randoms(use_true_random=False))
def test_the_order_of_the_basis_is_that_of_rows_and_columns(sample, statistic, random):
    corpus, basis = sample
    rows, columns = (random.sample(range(n), n) for n in (len(basis.prefixes), len(basis.suffixes)))
    mixed = Basis(tuple(basis.prefixes[i] for i in rows), tuple(basis.suffixes[j] for j in columns))
    plain, found = estimate_hankel(corpus, basis, statistic), estimate_hankel(corpus, mixed, statistic)
    assert np.array_equal(dense(found), dense(plain)[:, rows][:, :, columns])
    for name, order in [("h_p", rows), ("ends", rows), ("h_s", columns), ("starts", columns)]:
        assert np.array_equal(getattr(found, name), getattr(plain, name)[order])


@given(samples(), statistics)
def test_reversed_sequences_have_transposed_blocks(sample, statistic):
    corpus, basis = sample
    mirrored = Corpus.from_sequences([row[::-1] for row in corpus], corpus.alphabet, weights=corpus.weights)
    back = Basis(tuple(s[::-1] for s in basis.suffixes), tuple(p[::-1] for p in basis.prefixes))
    twin = {"prefix": "suffix", "suffix": "prefix"}.get(statistic, statistic)
    one, other = estimate_hankel(corpus, basis, statistic), estimate_hankel(mirrored, back, twin)
    assert np.array_equal(dense(one), dense(other).transpose(0, 2, 1))
    assert np.array_equal(one.h_p, other.h_s)
    assert np.array_equal(one.starts, other.ends)
    assert np.array_equal(one.ends, other.starts)


@given(samples(), statistics, st.integers(0, 2), st.integers(0, 2))
def test_counts_that_go_deeper_give_the_same_blocks(sample, statistic, more, still_more):
    corpus, basis = sample
    counts = count_statistic(corpus, statistic, basis.longest_prefix + more, basis.longest_suffix + still_more)
    assert np.array_equal(dense(hankel_from_counts(counts, basis)), dense(estimate_hankel(corpus, basis, statistic)))


def test_real_weights():
    blocks = estimate_hankel(
        Corpus.from_sequences(["ab", "b"], weights=[0.5, 1.5]), Basis.of(["", "a"], ["", "b"]), "string"
    )
    assert blocks.hankel.toarray().tolist() == [[0.0, 0.75], [0.0, 0.25]]
    assert blocks.n_sequences == 2.0


def test_a_representation_says_the_sizes():
    blocks = estimate_hankel(["ab"], Basis.of(["", "a"], ["b"]), "prefix")
    assert repr(blocks) == "HankelBlocks(2 prefixes, 1 suffixes, 2 symbols, prefix statistic)"


def test_an_empty_alphabet_has_no_shifted_blocks():
    for statistic in STATISTICS:
        blocks = estimate_hankel(["", ""], Basis.of([""], [""]), statistic)
        assert (blocks.hankel.toarray().tolist(), len(blocks.hankel_sigma)) == ([[1.0]], 0)


def test_what_cannot_be_counted():
    basis = Basis.of(["", "a"], ["", "b"])
    with pytest.raises(DataError, match="a corpus without sequences has no Hankel matrix"):
        estimate_hankel(Corpus.from_sequences([], Alphabet("ab")), basis)
    with pytest.raises(BasisError, match=r"'b' in the basis string .* is not in the alphabet of 1 symbols"):
        estimate_hankel(["a"], basis)
    with pytest.raises(OptionError, match="statistic='factor' is not known"):
        estimate_hankel(["ab"], basis, "factor")
    counts = count_statistic(Corpus.from_sequences(["ab"]), "prefix", 1, 0)
    with pytest.raises(BasisError, match="strings were counted up to length 2, and this basis needs 3"):
        hankel_from_counts(counts, basis)


@pytest.mark.parametrize("statistic", ["string", "prefix"])
def test_frequencies_come_as_near_as_chance_allows(statistic):
    """Each cell of a sample of N sequences is a binomial share of its exact value."""
    target, n = random_pfa(3, 2, seed=1, mean_length=3.0), 4000
    corpus = AutomatonModel(target).sample(n, seed=2)
    words = list(all_strings(target.alphabet, 2))
    exact = exact_blocks(convert(target, statistic), Basis.of(words, words))
    found = dense(estimate_hankel(corpus, exact.basis, statistic))
    p = np.array([exact.hankel, *exact.hankel_sigma])
    p = np.clip(p, 0, 1)  # what is certain is off by rounding
    assert np.all(np.abs(found - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-15)
    assert p.max() - p.min() > 20 * np.sqrt(0.25 / n), "the cells differ by more than that"


# ------------------------------------------------------------------ scaling


@given(samples(), statistics)
def test_weights_of_counted_blocks(sample, statistic):
    corpus, basis = sample
    blocks = estimate_hankel(corpus, basis, statistic)
    N, H = blocks.n_sequences, blocks.hankel.toarray()
    for side, axis, h in [(0, 1, blocks.h_p), (1, 0, blocks.h_s)]:
        sums = H.sum(axis=axis)
        expected = {
            "none": np.ones(H.shape[side]),
            "sums": (sums + 5 / N) ** -0.5,
            "roots": (sums + 5 / N) ** -0.25,
            "counts": np.sqrt(H.shape[1] / (N * h + 5)),
        }
        for scaling in SCALINGS:
            np.testing.assert_allclose(blocks.weights(scaling)[side], expected[scaling], rtol=1e-12)


@given(samples(), statistics, st.sampled_from(SCALINGS))
def test_scaling_multiplies_rows_and_columns_of_sparse_and_dense_blocks(sample, statistic, scaling):
    blocks = estimate_hankel(*sample, statistic)
    d_p, d_s = blocks.weights(scaling)
    before = blocks.hankel.toarray()
    expected = np.diag(d_p) @ before @ np.diag(d_s)
    np.testing.assert_allclose(scaled(blocks.hankel, d_p, d_s).toarray(), expected, rtol=1e-12)
    np.testing.assert_allclose(scaled(before, d_p, d_s), expected, rtol=1e-12)
    assert np.array_equal(blocks.hankel.toarray(), before), "the block itself stays as it is"


def test_sums_make_cells_about_equally_noisy():
    """Poisson counts of independent rows and columns whose expectations spread over three magnitudes."""
    rates = np.outer([1.0, 10.0, 100.0], [1.0, 5.0, 25.0])
    draws = np.random.default_rng(0).poisson(rates, (500, 3, 3)) / 1000.0
    basis, nothing = Basis.of(["", "a", "b"], ["", "a", "b"]), np.zeros(3)
    blocks = HankelBlocks(draws.mean(axis=0), [], nothing, nothing, basis, Alphabet(""), "substring", 1000.0)
    spread = {}
    for scaling in SCALINGS:
        d_p, d_s = blocks.weights(scaling)
        noise = (d_p[:, None] * draws * d_s).std(axis=0)
        spread[scaling] = noise.max() / noise.min()
    assert spread["none"] > 40  # the root of 2500 is 50
    assert spread["roots"] < 12
    assert spread["sums"] < 2


@pytest.mark.parametrize("scaling", ["roots", "sums", "counts"])
def test_weights_of_exact_blocks_with_negative_sums_are_finite(scaling):
    wfa = WFA([1.0, 0.0], [0.5, -0.9], [[[-0.5, 0.8], [-0.3, -0.2]]], Alphabet("a"))
    blocks = exact_blocks(wfa, Basis.of(["", "a", "aa"], ["", "a", "aa"]))
    assert blocks.hankel.sum(axis=1).min() < 0 < blocks.hankel.sum(axis=1).max()
    for weights in blocks.weights(scaling):
        assert np.all(np.isfinite(weights))
        assert np.all(weights > 0)
    nothing = exact_blocks(wfa.scale(0.0), Basis.of(["", "a"], [""]))
    assert [w.tolist() for w in nothing.weights(scaling)] == [[1.0, 1.0], [1.0]]


def test_scalings_that_are_none():
    with pytest.raises(OptionError, match=r"scaling='cubes' is not known. Use none, roots, sums or counts"):
        estimate_hankel(["ab"], Basis.of([""], [""])).weights("cubes")


# ------------------------------------------------------------------ computed


@given(wfas(max_symbols=2), st.integers(0, 99))
def test_cells_are_weights_of_concatenations(wfa: WFA, seed: int) -> None:
    words = list(all_strings(wfa.alphabet, 2))
    rng = np.random.default_rng(seed)
    prefixes, suffixes = (rng.permutation(len(words))[: max(1, len(words) // 2)] for _ in range(2))
    basis = Basis.of([words[i] for i in prefixes], [words[i] for i in suffixes])
    blocks = exact_blocks(wfa, basis)
    for i, p in enumerate(basis.prefixes):
        assert blocks.h_p[i] == pytest.approx(wfa.weight(p), abs=1e-12)
        for j, s in enumerate(basis.suffixes):
            assert blocks.h_s[j] == pytest.approx(wfa.weight(s), abs=1e-12)
            assert blocks.hankel[i, j] == pytest.approx(wfa.weight(p + s), abs=1e-12)
            for sigma, symbol in enumerate(wfa.alphabet):
                assert blocks.hankel_sigma[sigma, i, j] == pytest.approx(wfa.weight((*p, symbol, *s)), abs=1e-12)


@given(stochastic_wfas(max_symbols=2), statistics)
def test_exact_starts_and_ends_are_those_of_the_distribution(wfa, statistic):
    words = list(all_strings(wfa.alphabet, 2))
    blocks = exact_blocks(convert(wfa, statistic), Basis.of(words, words))
    starts = convert(wfa, "string" if statistic in ("string", "suffix") else "prefix")
    ends = convert(wfa, "string" if statistic in ("string", "prefix") else "suffix")
    np.testing.assert_allclose(blocks.starts, [starts.weight(w) for w in words], atol=1e-12)
    np.testing.assert_allclose(blocks.ends, [ends.weight(w) for w in words], atol=1e-12)
    assert blocks.n_sequences is None


@given(stochastic_wfas(max_symbols=2), statistics)
def test_the_rank_over_a_complete_basis_is_that_of_the_minimal_automaton(wfa: WFA, statistic: str) -> None:
    words = list(all_strings(wfa.alphabet, 3))
    blocks = exact_blocks(convert(wfa, statistic), Basis.of(words, words))
    assert blocks.statistic == statistic
    values = np.linalg.svd(blocks.hankel, compute_uv=False)
    rank = minimise(wfa).n_states
    assert np.all(values[rank:] <= 1e-9 * values[0])


# ------------------------------------------------------------------ of a table


@given(wfas(max_symbols=2), st.randoms(use_true_random=False))
def test_a_table_over_a_p_closed_set_of_rows_gives_the_blocks_of_its_root(wfa, random):
    root, suffixes = list(all_strings(wfa.alphabet, 1)), list(all_strings(wfa.alphabet, 2))
    rows = list(Basis.of(root, [""]).p_closure(wfa.alphabet).prefixes)
    random.shuffle(rows)
    random.shuffle(suffixes)
    table = [[wfa.weight(p + s) for s in suffixes] for p in rows]
    blocks = hankel_from_table(table, rows, suffixes, wfa.alphabet, "prefix")
    assert blocks.basis == Basis(tuple(p for p in rows if p in root), tuple(suffixes))
    exact = exact_blocks(wfa, blocks.basis)
    for name in ("hankel", "hankel_sigma", "h_p", "h_s"):
        np.testing.assert_allclose(getattr(blocks, name), getattr(exact, name), atol=1e-12)
    assert (blocks.statistic, blocks.n_sequences, blocks.starts, blocks.ends) == ("prefix", None, None, None)


def test_what_is_no_table():
    with pytest.raises(OptionError, match=r"shape \(2, 1\); with 2 prefixes and 2 suffixes it must be \(2, 2\)"):
        hankel_from_table([[1.0], [0.5]], ["", "a"], ["", "a"], "a")
    with pytest.raises(OptionError, match="all finite"):
        hankel_from_table([[np.nan], [0.5]], ["", "a"], [""], "a")
    for rows, columns in [(["a", "aa"], [""]), (["", "a"], ["a"])]:
        with pytest.raises(BasisError, match="the empty string must be a row and a column"):
            hankel_from_table([[1.0], [0.5]], rows, columns, "a")
    with pytest.raises(BasisError, match="no row p of the table has all 2 rows p followed by a symbol"):
        hankel_from_table([[1.0], [0.5]], ["", "a"], [""], "ab")
    with pytest.raises(OptionError, match="statistic='factor' is not known"):
        hankel_from_table([[1.0]], [""], [""], "", "factor")


# ------------------------------------------------------------------ how noisy


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_noise_level_is_half_of_what_two_halves_differ_by(statistic, scaling):
    corpus = Corpus.from_sequences(["ab", "abb", "b", "", "a", "bb"], weights=[1, 2, 1, 3, 1, 1])
    basis = select_basis(corpus, "all", 2)
    one, other = (estimate_hankel(half, basis, statistic).hankel.toarray() for half in corpus.split(0.5, seed=3))
    d_p, d_s = estimate_hankel(corpus, basis, statistic).weights(scaling)
    expected = np.linalg.norm(d_p[:, None] * (one - other) * d_s, 2) / 2
    assert expected > 0
    assert noise_level(corpus, basis, statistic, scaling, seed=3) == pytest.approx(expected, rel=1e-10)


def test_the_noise_level_falls_like_the_root_of_the_sample_and_tells_states_from_noise():
    target = random_pfa(2, 2, seed=0, mean_length=3.0)
    words = list(all_strings(target.alphabet, 2))
    basis, model = Basis.of(words, words), AutomatonModel(target)
    corpora = [model.sample(n, seed=1) for n in (500, 8000)]
    levels = [np.mean([noise_level(c, basis, "prefix", seed=s) for s in range(5)]) for c in corpora]
    assert 2 < levels[0] / levels[1] < 8  # the root of 16 is 4
    values = np.linalg.svd(estimate_hankel(corpora[1], basis, "prefix").hankel.toarray(), compute_uv=False)
    assert np.count_nonzero(values > levels[1]) == 2


def test_two_equal_halves_have_no_noise():
    basis = Basis.of(["", "a"], ["", "b"])
    assert noise_level(["ab"] * 6, basis) == 0.0
    with pytest.raises(DataError, match="cannot be split in two"):
        noise_level(["ab"], basis)
