"""PFA, PDFA, HMM, and random targets."""

from __future__ import annotations

import numpy as np
import pytest
from brute import all_strings
from hypothesis import given
from hypothesis import strategies as st
from strategies import stochastic_wfas

from momata.core.alphabet import Alphabet
from momata.core.probabilistic import HMM, PFA, normalise, random_hmm, random_pdfa, random_pfa
from momata.core.wfa import WFA
from momata.errors import OptionError


def words(pfa: WFA, longest: int = 5) -> list[tuple]:
    return list(all_strings(pfa.alphabet, longest))


@given(stochastic_wfas(), st.floats(0.1, 10), st.integers(0, 99))
def test_normalise_is_exact(wfa: WFA, mass: float, seed: int) -> None:
    units = np.random.default_rng(seed).uniform(0.1, 10, wfa.n_states)
    found, total = normalise(wfa.scale(mass).change_basis(np.diag(units)))
    assert found.is_probabilistic()
    assert abs(total - mass) < 1e-9 * mass
    np.testing.assert_allclose(found.weights(words(wfa)), wfa.weights(words(wfa)), rtol=1e-9)


def test_normalise_drops_states_that_lead_nowhere() -> None:
    dead_end = WFA([0.5, 0.5], [1.0, 0.0], [[[0.0, 0.0], [0.0, 0.5]]], Alphabet("a"))
    found, mass = normalise(dead_end)
    assert (found.n_states, mass) == (1, 0.5)


@pytest.mark.parametrize(
    ("wfa", "message"),
    [
        (WFA([1.0], [1.0], [[[-0.1]]], Alphabet("a")), "negative"),
        (WFA([1.0], [0.0], [[[0.1]]], Alphabet("a")), "weight 0"),
        (WFA([1.0], [1.0], [[[1.0]]], Alphabet("a")), "diverge"),
        (WFA([1.0], [1.0], [[[0.5]]], Alphabet("a"), "prefix"), "Convert it"),
    ],
)
def test_what_cannot_be_normalised(wfa: WFA, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        normalise(wfa)


@given(stochastic_wfas(max_symbols=2))
def test_every_pfa_is_an_hmm_with_few_more_states(wfa: WFA) -> None:
    pfa = PFA.of(wfa)
    hmm = pfa.to_hmm()
    assert hmm.n_states <= min(pfa.n_states**2, pfa.n_states * pfa.n_symbols)
    np.testing.assert_allclose(hmm.to_pfa().weights(words(pfa)), pfa.weights(words(pfa)), rtol=1e-9, atol=1e-15)


def test_a_state_that_always_stops_survives_the_way_to_an_hmm() -> None:
    pfa = PFA([1.0, 0.0], [0.2, 1.0], [[[0.3, 0.1], [0.0, 0.0]], [[0.0, 0.4], [0.0, 0.0]]], Alphabet("ab"))
    np.testing.assert_allclose(pfa.to_hmm().to_pfa().weights(words(pfa)), pfa.weights(words(pfa)), atol=1e-15)


def test_hmm_is_recognised_on_its_own_states() -> None:
    hmm = random_hmm(4, 3, seed=5)
    back = HMM.of(hmm.to_pfa())
    assert back is not None
    for name in ("initial", "transitions", "emissions", "stopping"):
        np.testing.assert_allclose(getattr(back, name), getattr(hmm, name), atol=1e-12)
    assert HMM.of(random_pfa(4, 3, seed=5, sparsity=0.0)) is None


def test_pfa_and_hmm_refuse_what_is_no_distribution() -> None:
    with pytest.raises(OptionError, match=r"lowest weight -0\.1"):
        PFA([1.0], [0.5], [[[-0.1]], [[0.6]]], Alphabet("ab"))
    with pytest.raises(OptionError, match=r"sum to 0\.9"):
        PFA([0.9], [0.5], [[[0.5]]], Alphabet("a"))
    with pytest.raises(OptionError, match="transitions must sum to 1"):
        HMM([1.0], [[0.5]], [[0.5]], [0.5], Alphabet("a"))
    with pytest.raises(OptionError, match="emissions with stopping"):
        HMM([1.0], [[1.0]], [[0.5]], [0.4], Alphabet("a"))
    with pytest.raises(OptionError, match="no probabilities"):
        HMM([1.0], [[1.0]], [[1.5]], [-0.5], Alphabet("a"))
    with pytest.raises(OptionError, match="shape"):
        HMM([1.0], [[1.0]], [[0.5, 0.1]], [0.4], Alphabet("a"))


@pytest.mark.parametrize("draw", [random_hmm, random_pfa, random_pdfa])
def test_random_targets(draw) -> None:
    one, same, other = draw(6, 5, seed=3), draw(6, 5, seed=3), draw(6, 5, seed=4)
    one, same, other = (x.to_pfa() if isinstance(x, HMM) else x for x in (one, same, other))
    assert np.array_equal(one.operators, same.operators)
    assert not np.array_equal(one.operators, other.operators)
    assert one.is_probabilistic()
    assert one.is_summable()
    assert abs(one.total_mass() - 1) < 1e-9
    assert one.is_deterministic() == (draw is random_pdfa)
    lengths = [
        (x.to_pfa() if isinstance(x, HMM) else x).expected_length() for x in (draw(20, 5, seed=s) for s in range(20))
    ]
    assert 5 < np.mean(lengths) < 20  # aims at 10; stopping chances vary by state
    dense = draw(20, 10, seed=1, sparsity=0.0)
    sparse = draw(20, 10, seed=1, sparsity=0.8)
    counts = [np.count_nonzero((x.to_pfa() if isinstance(x, HMM) else x).operators) for x in (dense, sparse)]
    assert counts[1] < 0.4 * counts[0]


@pytest.mark.parametrize("options", [{"n_states": 0}, {"n_symbols": 0}, {"sparsity": 1.0}, {"mean_length": 0.0}])
def test_targets_that_cannot_be(options: dict) -> None:
    with pytest.raises(OptionError, match="at least one state"):
        random_pfa(**({"n_states": 2, "n_symbols": 2} | options))


def test_expected_length_by_enumeration_and_where_it_is_infinite() -> None:
    pfa = random_pfa(3, 2, seed=1, mean_length=1.0)
    every = words(pfa, 13)
    p = pfa.weights(every)
    assert abs(p @ [len(w) for w in every] - pfa.expected_length()) < 20 * (1 - p.sum()) + 1e-9
    endless = PFA([1.0], [0.0], [[[1.0]]], Alphabet("a"))
    assert endless.expected_length() == np.inf
