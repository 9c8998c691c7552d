"""Expected uses of weights, against the sum over all paths."""

from __future__ import annotations

from itertools import pairwise

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata._kernels import chains
from momata.core.alphabet import Alphabet
from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes
from momata.core.expectation import Expectations, _Operands, expect, expect_best_paths, log_likelihood
from momata.core.plan import WalkPlan, plan_walk
from momata.core.probabilistic import random_pfa
from momata.core.wfa import WFA
from momata.predict.language_model import LanguageModel
from momata.threads import limit_threads


def rows_of(corpus: Corpus) -> list[tuple[int, ...]]:
    return [tuple(corpus.tokens[a:b].tolist()) for a, b in pairwise(corpus.offsets.tolist())]


def times_of(corpus: Corpus) -> np.ndarray:
    return np.ones(len(corpus)) if corpus.weights is None else corpus.weights.astype(float)


@st.composite
def automata_over(draw, alphabet: Alphabet, max_states: int = 4) -> WFA:
    """A non-negative automaton: weights of any size, some of them 0, or a PFA."""
    n, k = draw(st.integers(1, max_states)), len(alphabet)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density = draw(st.sampled_from([0.5, 1.0]))
    initial, final, operators = (rng.random(s) * (rng.random(s) < density) for s in (n, n, (k, n, n)))
    if draw(st.booleans()):
        initial = np.ones(n) if not initial.any() else initial
        final = final + 0.01
        rows = operators.sum(axis=(0, 2)) + final
        initial, final, operators = initial / initial.sum(), final / rows, operators / rows[:, None]
    return WFA(initial, final, operators, alphabet)


@st.composite
def cases(draw, max_length: int = 3) -> tuple[Corpus, WFA, int]:
    corpus = draw(corpora(min_sequences=1, max_length=max_length, weights=True).filter(lambda c: c.lengths.max() <= 6))
    return corpus, draw(automata_over(corpus.alphabet, 3)), draw(st.integers(2, 30))


def assert_uses(found: Expectations, expected, rtol: float = 1e-10) -> None:
    log_likelihood, starts, stops, arcs = expected
    assert found.log_likelihood == pytest.approx(log_likelihood, rel=rtol, abs=rtol)
    table = np.zeros(found.operators.shape)
    for place, count in arcs.items():
        table[place] = count
    np.testing.assert_allclose(found.initial, starts, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(found.final, stops, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(found.operators, table, rtol=rtol, atol=rtol)


@given(cases())
def test_uses_are_sums_over_all_paths(case):
    corpus, wfa, block_nodes = case
    plan = plan_walk(count_prefixes(corpus), block_nodes)
    found = expect(plan, wfa)
    assert_uses(found, brute.expected_uses(wfa.initial, wfa.final, wfa.operators, rows_of(corpus), times_of(corpus)))
    assert log_likelihood(plan, wfa) == found.log_likelihood


@given(cases())
def test_best_paths_are_the_best_of_all(case):
    corpus, wfa, block_nodes = case
    found = expect_best_paths(plan_walk(count_prefixes(corpus), block_nodes), wfa)
    assert_uses(found, brute.best_uses(wfa.initial, wfa.final, wfa.operators, rows_of(corpus), times_of(corpus)))


def test_of_equal_paths_one_is_taken():
    """All paths alike: still one start and one stop for each string, and an arc for each symbol."""
    wfa = WFA([0.5, 0.5], [0.5, 0.5], np.full((1, 2, 2), 0.25), Alphabet("a"))
    found = expect_best_paths(plan_walk(count_prefixes(Corpus.from_sequences(["aa", "a", ""]))), wfa)
    assert found.initial.tolist() == [3, 0]
    assert found.final.tolist() == [3, 0]
    assert found.operators.tolist() == [[[3, 0], [0, 0]]]


@given(corpora(min_sequences=1, weights=True), st.integers(0, 2**32 - 1), st.integers(2, 30))
def test_the_likelihood_is_that_of_the_weights_and_every_event_is_counted(corpus, seed, block_nodes):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 5)), len(corpus.alphabet)
    wfa = WFA(rng.random(n) + 0.1, rng.random(n) + 0.1, rng.random((k, n, n)) + 0.01, corpus.alphabet)
    plan, times = plan_walk(count_prefixes(corpus), block_nodes), times_of(corpus)
    found = expect(plan, wfa)
    assert found.log_likelihood == pytest.approx(times @ np.log(wfa.weights(corpus)), rel=1e-10, abs=1e-10)
    assert found.initial.sum() == pytest.approx(times.sum(), rel=1e-12)
    assert found.final.sum() == pytest.approx(times.sum(), rel=1e-12)
    by_symbol = np.bincount(corpus.tokens, np.repeat(times, corpus.lengths), minlength=k)
    np.testing.assert_allclose(found.operators.sum(axis=(1, 2)), by_symbol, rtol=1e-11)
    arriving = found.initial + found.operators.sum(axis=(0, 1))
    np.testing.assert_allclose(arriving, found.operators.sum(axis=(0, 2)) + found.final, rtol=1e-11)


def run_kernel(block, wfa: WFA):
    operands, n = _Operands(wfa, "float64"), wfa.n_states
    plan = WalkPlan([block], wfa.alphabet, 1.0, 1.0)
    with operands.space(plan) as (fwd, scaled, bwd, inverse, product, power):
        space = (fwd, scaled, inverse, product, power)
        sums = (operands.transposed, bwd, np.zeros(wfa.operators.shape), np.zeros(n), np.zeros(n))
        chains.expect_block(block.parent_slot, block.end, block.groups, *operands.all, *space, *sums)
    return fwd, bwd


@given(corpora(min_sequences=1, weights=True, max_sequences=12), st.integers(0, 2**32 - 1), st.integers(2, 40))
def test_forward_times_backward_is_the_through_count(corpus, seed, block_nodes):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(1, 7)), len(corpus.alphabet)  # on both sides of the four sums of a row
    wfa = WFA(rng.random(n) + 0.1, rng.random(n) + 0.1, rng.random((k, n, n)) + 0.01, corpus.alphabet)
    tree = count_prefixes(corpus)
    through = np.zeros(tree.n_nodes)
    inside = np.zeros(tree.n_nodes, bool)
    for block in plan_walk(tree, block_nodes).blocks:
        fwd, bwd = run_kernel(block, wfa)
        inner = np.unique(np.append(0, block.parent_slot))
        through[block.node_at[inner]] += (fwd[inner] * bwd[inner]).sum(axis=1)
        below = block.end.copy()
        for slot in range(block.n_slots - 1, 0, -1):
            below[block.parent_slot[slot]] += below[slot]
        np.testing.assert_allclose((fwd[inner] * bwd[inner]).sum(axis=1), below[inner], rtol=1e-11)
        inside[block.node_at[inner]] = True
    everywhere = np.diff(tree.child_start) > 0
    everywhere[0] = True
    if len(plan_walk(tree, block_nodes).blocks) == 1:
        assert np.array_equal(inside, everywhere)
        np.testing.assert_allclose(through[inside], tree.through[inside], rtol=1e-11)


def test_forward_vectors_sum_to_one():
    corpus = Corpus.from_sequences(["abba", "ab", "bbbb", "", "abab"])
    pfa = random_pfa(3, 2, seed=1)
    wfa = WFA(pfa.initial, pfa.final, pfa.operators, corpus.alphabet)
    (block,) = plan_walk(count_prefixes(corpus)).blocks
    fwd, _ = run_kernel(block, wfa)
    inner = np.unique(block.parent_slot)
    np.testing.assert_allclose(fwd[inner].sum(axis=1), 1.0, rtol=1e-14)


# ---------------------------------------------------------------------- sizes, threads, precision


def some_corpus(n_states: int = 6, n_symbols: int = 4, n: int = 400, seed: int = 3) -> tuple[Corpus, WFA]:
    pfa = random_pfa(n_states, n_symbols, seed=seed, sparsity=0.0)
    return LanguageModel(pfa).sample(n, seed=0), random_pfa(n_states, n_symbols, seed=seed + 1, sparsity=0.0)


def parts_of(found: Expectations) -> list:
    return [np.array(found.log_likelihood), found.operators, found.final, found.initial]


@pytest.mark.parametrize("find", [expect, expect_best_paths])
def test_the_size_of_blocks_changes_rounding_only(find):
    corpus, wfa = some_corpus(n_states=5, n=200)
    tree = count_prefixes(corpus)
    whole = find(plan_walk(tree), wfa)
    for size in (2, 10, 64, 500):
        assert len(plan_walk(tree, size).blocks) > 1
        for one, other in zip(parts_of(whole), parts_of(find(plan_walk(tree, size), wfa)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("find", [expect, expect_best_paths, lambda plan, wfa: expect(plan, wfa, "float32")])
def test_threads_change_nothing(find):
    corpus, wfa = some_corpus()
    plan = plan_walk(count_prefixes(corpus), 50)
    assert len(plan.blocks) > 8, "more blocks than lanes"
    found = []
    for n in (1, 2, 3):
        with limit_threads(n):
            found.append([*parts_of(find(plan, wfa)), np.array(log_likelihood(plan, wfa))])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert np.array_equal(one, other)


def test_half_the_precision():
    corpus, wfa = some_corpus(n_states=9)
    plan = plan_walk(count_prefixes(corpus))
    exact, rough = expect(plan, wfa), expect(plan, wfa, "float32")
    assert rough.log_likelihood == pytest.approx(exact.log_likelihood, rel=1e-5)
    assert rough.log_likelihood != exact.log_likelihood
    for one, other in zip(parts_of(exact)[1:], parts_of(rough)[1:], strict=True):
        assert other.dtype == np.float64
        large = one > 1e-3 * one.max()
        np.testing.assert_allclose(other[large], one[large], rtol=1e-4)
        np.testing.assert_allclose(other, one, atol=1e-4 * one.max())
    assert log_likelihood(plan, wfa, "float32") == rough.log_likelihood


# ---------------------------------------------------------------------- odd data


@pytest.mark.parametrize("find", [expect, expect_best_paths])
def test_impossible_strings_are_left_out(find):
    wfa = WFA([1.0, 0.0], [0.5, 0.5], [[[0.5, 0.0], [0.0, 0.5]], np.zeros((2, 2))], Alphabet("ab"))
    corpus = Corpus.from_sequences(["a", "b", "ba", "ab", "bb", "aba", "", "aa"], Alphabet("ab"))
    for size in (2, 100):
        plan = plan_walk(count_prefixes(corpus), size)
        found = find(plan, wfa)
        assert found.log_likelihood == -np.inf
        assert log_likelihood(plan, wfa) == -np.inf
        np.testing.assert_allclose(found.operators, [[[3, 0], [0, 0]], np.zeros((2, 2))], rtol=1e-13)
        np.testing.assert_allclose(found.initial, [3, 0], rtol=1e-13)
        np.testing.assert_allclose(found.final, [3, 0], rtol=1e-13)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_long_strings_neither_underflow_nor_overflow(precision):
    """Chances far below the least number, weights far above 1."""
    string = [0, 1] * 5000
    corpus = Corpus.from_sequences([string, string[:7], []], Alphabet.of_size(2))
    plan = plan_walk(count_prefixes(corpus))
    for scale in (1e-3, 1.0, 50.0):
        operators = scale * np.array([[[0.1, 0.2], [0.3, 0.1]], [[0.2, 0.2], [0.1, 0.3]]])
        found = expect(plan, WFA([0.5, 0.5], [0.3, 0.1], operators, corpus.alphabet), precision)
        row, total = np.array([0.5, 0.5]), 0.0
        totals = {0: np.log(row @ [0.3, 0.1])}
        for t, sigma in enumerate(string, 1):
            row = row @ operators[sigma]
            total += np.log(row.sum())
            row = row / row.sum()
            totals[t] = total + np.log(row @ [0.3, 0.1])
        rtol = 1e-11 if precision == "float64" else 1e-5
        assert found.log_likelihood == pytest.approx(totals[0] + totals[7] + totals[10_000], rel=rtol)
        np.testing.assert_allclose(found.operators.sum(axis=(1, 2)), [5004, 5003], rtol=max(rtol, 1e-9))
        np.testing.assert_allclose(found.final.sum(), 3, rtol=max(rtol, 1e-9))


@pytest.mark.parametrize("tiny", [1e-100, 1e-160, 1e-200, 1e-280])
@pytest.mark.parametrize("length", [1, 2, 5, 9])
def test_steps_of_almost_no_chance(tiny, length):
    """As EM without a prior makes them: the logarithm stays exact, and nothing becomes NaN."""
    wfa = WFA([1.0], [0.5], [[[tiny]]], Alphabet("a"))
    plan = plan_walk(count_prefixes(Corpus.from_sequences(["a" * length, "a" * (length + 1)])))
    found = expect(plan, wfa)
    want = (2 * length + 1) * np.log(tiny) + 2 * np.log(0.5)
    assert found.log_likelihood == pytest.approx(want, rel=1e-12)
    assert found.operators[0, 0, 0] == pytest.approx(2 * length + 1, rel=1e-9)
    best = expect_best_paths(plan, wfa)
    assert best.log_likelihood == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_denormal_weights_make_no_nan(precision):
    """Smaller than one over the largest number."""
    for tiny in (5e-324, 1e-310, 1e-45, 1e-40):
        wfa = WFA([0.5, 0.5], [0.5, tiny], [[[tiny, 0.0], [tiny, tiny]], [[0.25, 0.25], [0.5, tiny]]], Alphabet("ab"))
        plan = plan_walk(count_prefixes(Corpus.from_sequences(["ab", "a", "aab", "b", "aaa", "bb", ""])))
        found = expect(plan, wfa, precision)
        assert not np.isnan(found.log_likelihood)
        assert found.log_likelihood < 0
        assert all(np.all(np.isfinite(part)) for part in parts_of(found)[1:])
        assert found.initial.sum() <= 7 * (1 + 1e-5)
        assert found.operators.sum() <= 12 * (1 + 1e-5)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_states_that_would_have_been_much_better(order, precision):
    """Two halves that do not meet, or meet in one direction: what a lost state would make of the rest has no number."""
    by_state = np.array([[0.9, 0.05], [0.05, 0.9]])[order]
    operators = np.zeros((2, 2, 2))
    operators[:, [0, 1], [0, 1]] = by_state.T
    operators[:, 0, 1] = 0.01
    wfa = WFA([1.0, 0.0], [0.04, 0.05], operators, Alphabet("ab"))
    corpus = Corpus.from_sequences(["a" * 3000 + "b" * 3000, "b" * 3000 + "a" * 3000, "a" * 6000, "ab"])
    found = expect(plan_walk(count_prefixes(corpus)), wfa, precision)
    assert np.isfinite(found.log_likelihood)
    rtol = 1e-9 if precision == "float64" else 1e-3
    np.testing.assert_allclose(found.operators.sum(axis=(1, 2)), [12_001, 6001], rtol=rtol)
    np.testing.assert_allclose([found.initial.sum(), found.final.sum()], 4, rtol=rtol)
    assert not found.operators[operators == 0].any(), "zeros are not used"


def test_an_alphabet_without_symbols():
    corpus = Corpus.from_sequences([[], []])
    found = expect(
        plan_walk(count_prefixes(corpus)), WFA([0.25, 0.75], [1.0, 0.5], np.zeros((0, 2, 2)), corpus.alphabet)
    )
    assert found.log_likelihood == pytest.approx(2 * np.log(0.625), rel=1e-14)
    np.testing.assert_allclose(found.initial, [0.8, 1.2], rtol=1e-14)
    assert found.operators.shape == (0, 2, 2)
