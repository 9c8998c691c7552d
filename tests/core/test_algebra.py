"""The algebra of automata against sums over enumerated strings."""

from __future__ import annotations

import numpy as np
import pytest
from brute import all_strings
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import stochastic_wfas, wfas

from momata.core.algebra import (
    approximate,
    basis_between,
    counterexample,
    distance,
    equivalent,
    gramians,
    inner_product,
    minimise,
    norm,
    singular_value_automaton,
    squared_radius,
)
from momata.core.alphabet import Alphabet
from momata.core.wfa import WFA, convert
from momata.errors import AlphabetError, OptionError

STATISTICS = ["string", "prefix", "suffix", "substring"]


def strings(wfa: WFA, longest: int = 5) -> list[tuple]:
    return list(all_strings(wfa.alphabet, longest))


def tamed(wfa: WFA, radius: float = 0.7) -> WFA:
    """Scale the operators so that weights and squares of weights sum up, and sums over long strings are small."""
    size = max(wfa.spectral_radius, np.sqrt(squared_radius(wfa)), 1e-3)
    return wfa.replace(wfa.initial, wfa.final, wfa.operators * (radius / size))


@st.composite
def pairs(draw) -> tuple[WFA, WFA]:
    f, g = draw(wfas(max_symbols=2)), draw(wfas(max_symbols=2))
    assume(f.alphabet == g.alphabet)
    return f, g


@given(pairs(), st.floats(-2, 2))
def test_operations_are_those_of_functions(both: tuple[WFA, WFA], factor: float) -> None:
    f, g = both
    words = strings(f)
    a, b = f.weights(words), g.weights(words)
    np.testing.assert_allclose((f + g).weights(words), a + b, atol=1e-12)
    np.testing.assert_allclose((f - g).weights(words), a - b, atol=1e-12)
    np.testing.assert_allclose((f * g).weights(words), a * b, atol=1e-12)
    np.testing.assert_allclose(f.scale(factor).weights(words), factor * a, atol=1e-12)
    np.testing.assert_allclose(f.reverse().weights([w[::-1] for w in words]), a, atol=1e-12)


@given(wfas(), st.integers(0, 2**32 - 1))
def test_weights_do_not_depend_on_the_basis(wfa: WFA, seed: int) -> None:
    rng = np.random.default_rng(seed)
    U, _ = np.linalg.qr(rng.standard_normal((wfa.n_states,) * 2))
    V, _ = np.linalg.qr(rng.standard_normal((wfa.n_states,) * 2))
    Q = U @ np.diag(np.geomspace(1.0, 1e3, wfa.n_states)) @ V
    words = strings(wfa)
    scale = max(1.0, float(np.abs(wfa.operators).max())) ** 5
    np.testing.assert_allclose(wfa.change_basis(Q).weights(words), wfa.weights(words), atol=1e-9 * scale)


@given(wfas())
def test_forward_and_backward_meet_everywhere(wfa: WFA) -> None:
    for word in strings(wfa, 4):
        products = np.einsum("ti,ti->t", wfa.forward(word), wfa.backward(word))
        np.testing.assert_allclose(products, wfa.weight(word), atol=1e-12)
        assert abs(wfa.weights([word])[0] - wfa.weight(word)) < 1e-12


@given(stochastic_wfas(), st.sampled_from(STATISTICS), st.sampled_from(STATISTICS))
def test_conversions_round_trip_and_mean_what_they_say(wfa: WFA, one: str, two: str) -> None:
    words = strings(wfa, 3)
    there = convert(convert(wfa, one), two)
    assert there.statistic == two
    np.testing.assert_allclose(convert(there, "string").weights(words), wfa.weights(words), rtol=1e-9, atol=1e-14)


@given(stochastic_wfas(max_states=3, max_symbols=2, min_stop=0.6))
def test_prefix_suffix_substring_by_enumeration(wfa: WFA) -> None:
    every = strings(wfa, 9)  # longer strings have mass below 0.4 ** 10
    mass = dict(zip(every, wfa.weights(every), strict=True))
    left = 0.4**9
    words = strings(wfa, 2)
    expected = {
        "prefix": [sum(p for x, p in mass.items() if x[: len(w)] == w) for w in words],
        "suffix": [sum(p for x, p in mass.items() if len(x) >= len(w) and x[len(x) - len(w) :] == w) for w in words],
        "substring": [
            sum(p * sum(x[i : i + len(w)] == w for i in range(len(x) - len(w) + 1)) for x, p in mass.items())
            for w in words
        ],
    }
    for statistic, values in expected.items():
        np.testing.assert_allclose(convert(wfa, statistic).weights(words), values, atol=12 * left)
    mean_length = sum(p * len(x) for x, p in mass.items())
    assert abs(convert(wfa, "substring").weight(()) - (mean_length + 1)) < 12 * left
    assert abs(wfa.total_mass() - 1) < 1e-9


def padded(wfa: WFA, seed: int) -> WFA:
    """The same function with every state twice, and one that is reached but leads nowhere."""
    n, rng = wfa.n_states, np.random.default_rng(seed)
    operators = np.zeros((wfa.n_symbols, 2 * n + 1, 2 * n + 1))
    operators[:, :n, :n] = operators[:, n : 2 * n, n : 2 * n] = wfa.operators
    operators[:, : 2 * n, 2 * n] = rng.standard_normal((wfa.n_symbols, 2 * n))
    initial = np.concatenate([0.3 * wfa.initial, 0.7 * wfa.initial, [0.0]])
    return wfa.replace(initial, np.concatenate([wfa.final, wfa.final, [0.0]]), operators)


@given(wfas(), st.integers(0, 100))
def test_minimise_finds_the_rank_and_keeps_the_function(wfa: WFA, seed: int) -> None:
    words = strings(wfa, 7 if wfa.n_symbols < 3 else 5)
    big = padded(wfa, seed)
    small = minimise(big)
    short = strings(wfa, 3)
    hankel = np.array([[wfa.weight(u + v) for v in short] for u in short])
    values = np.linalg.svd(hankel, compute_uv=False)
    rank = int(np.count_nonzero(values > 1e-9 * max(values[0], 1e-300)))
    assume(values[0] == 0 or not np.any((values > 1e-12 * values[0]) & (values < 1e-6 * values[0])))  # a clear rank
    assert small.n_states == rank
    np.testing.assert_allclose(small.weights(words), wfa.weights(words), atol=1e-9)
    assert equivalent(big, wfa)


def test_counterexample_is_a_shortest_one() -> None:
    operators = np.zeros((2, 4, 4))
    operators[0, 0, 1] = operators[0, 1, 2] = operators[1, 2, 3] = 1.0
    f = WFA([1, 0, 0, 0], [0, 0, 0, 1], operators, Alphabet("ab"))
    g = f.replace(f.initial, np.zeros(4), f.operators)
    assert counterexample(f, g) == ("a", "a", "b")
    assert counterexample(f, f) is None
    assert not equivalent(f, f.scale(1.001))


@given(wfas(), st.integers(0, 1000))
def test_basis_between_minimal_automata_of_one_function(wfa: WFA, seed: int) -> None:
    f = minimise(wfa)
    assume(f.n_states > 0)
    Q = np.eye(f.n_states) + 0.3 * np.random.default_rng(seed).standard_normal((f.n_states,) * 2)
    assume(np.linalg.cond(Q) < 1e3)
    g = f.change_basis(Q)
    found = basis_between(f, g)
    words = strings(f, 4)
    np.testing.assert_allclose(
        f.change_basis(found).operators, g.operators, atol=1e-5 * (1 + np.abs(g.operators).max())
    )
    np.testing.assert_allclose(f.change_basis(found).weights(words), g.weights(words), atol=1e-7)


def test_basis_between_needs_minimal_automata_of_one_size() -> None:
    f = WFA([1.0], [0.5], [[[0.5]]], Alphabet("a"))
    with pytest.raises(OptionError, match="Minimise both first"):
        basis_between(f, f + f)
    with pytest.raises(OptionError, match="needs only 1"):
        basis_between(f + f, f + f)


@given(pairs())
def test_norm_inner_product_and_distance_by_enumeration(both: tuple[WFA, WFA]) -> None:
    f, g = (tamed(x, 0.5) for x in both)
    words = strings(f, 9)
    a, b = f.weights(words), g.weights(words)
    # What longer strings can add: squares shrink at least like radius ** (2 k) times a constant of the Gramians' size.
    left = 0.5**16 * 50 * max(norm(f), norm(g), 1e-12) ** 2
    assert abs(inner_product(f, g) - a @ b) <= left + 1e-12
    assert abs(norm(f) ** 2 - a @ a) <= left + 1e-12
    assert abs(distance(f, g) ** 2 - (a - b) @ (a - b)) <= 4 * left + 1e-12


@given(wfas())
def test_singular_value_automaton_balances_the_gramians(wfa: WFA) -> None:
    f = tamed(wfa)
    assume(norm(f) > 1e-6)
    found = singular_value_automaton(padded(f, 0))
    assume(found.singular_values[-1] > 1e-6 * found.singular_values[0])
    for gramian in gramians(found.wfa):
        np.testing.assert_allclose(
            gramian, np.diag(found.singular_values), atol=1e-5 * found.singular_values[0]
        )  # roots of nearly singular Gramians
    words = strings(f, 4)
    np.testing.assert_allclose(found.wfa.weights(words), f.weights(words), atol=1e-8 * max(1.0, norm(f)))


@given(wfas(max_symbols=2))
def test_approximation_error_is_exact(wfa: WFA) -> None:
    f = tamed(wfa, 0.5)
    smallest = minimise(f)
    assume(smallest.n_states > 1)
    smaller, error = approximate(f, smallest.n_states - 1)
    assume(squared_radius(smaller) < 0.5)  # so that what longer strings add is below 0.5 ** 10 of the whole
    words = strings(f, 40 if f.n_symbols == 1 else 10)
    gap = f.weights(words) - smaller.weights(words)
    assert abs(error - np.linalg.norm(gap)) <= 0.01 * norm(f) + 1e-9
    assert smaller.n_states == smallest.n_states - 1


def test_large_gramians_solve_their_equations() -> None:
    from momata.core.probabilistic import random_hmm

    wfa = random_hmm(45, 4, seed=2).to_pfa()
    G_P, G_S = gramians(wfa)
    A = wfa.operators
    np.testing.assert_allclose(
        G_S, (A @ G_S @ A.transpose(0, 2, 1)).sum(0) + np.outer(wfa.final, wfa.final), atol=1e-10
    )
    np.testing.assert_allclose(
        G_P, (A.transpose(0, 2, 1) @ G_P @ A).sum(0) + np.outer(wfa.initial, wfa.initial), atol=1e-9
    )


def test_what_does_not_sum_up_is_refused() -> None:
    alphabet = Alphabet("a")
    growing = WFA([1.0], [1.0], [[[1.1]]], alphabet)
    for function in (norm, gramians):
        with pytest.raises(OptionError, match=r"1\.21"):
            function(growing)
    with pytest.raises(OptionError, match=r"spectral radius of the summed operators is 1\.1,"):
        convert(growing, "prefix")
    assert not growing.is_summable()
    with pytest.raises(OptionError, match="diverge"):
        growing.total_mass()


def test_partners_must_agree() -> None:
    f, g = (WFA([1.0], [0.5], [[[0.5]]], Alphabet(x)) for x in "ab")
    with pytest.raises(AlphabetError, match="different alphabets"):
        f + g
    with pytest.raises(OptionError, match="Convert one of them"):
        f + convert(f, "prefix")
