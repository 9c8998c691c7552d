"""Weighted automata against the sum over all paths."""

from __future__ import annotations

import numpy as np
import pytest
from brute import all_strings, wfa_weight
from hypothesis import given
from strategies import stochastic_wfas, wfas

from momata.core.alphabet import Alphabet
from momata.core.wfa import WFA
from momata.errors import AlphabetError, OptionError


@given(wfas())
def test_weight_is_the_sum_over_all_state_paths(wfa):
    strings = list(all_strings(wfa.alphabet, 3))
    expected = [
        wfa_weight(wfa.initial, wfa.final, wfa.operators, [wfa.alphabet.index(s) for s in string]) for string in strings
    ]
    # at most 4**4 paths of weights up to 1: rounding stays below 256 * 5 units in the last place of 1
    np.testing.assert_allclose(wfa.weights(strings), expected, rtol=1e-12, atol=256 * 5 * np.finfo(float).eps)


@given(stochastic_wfas())
def test_mass_of_a_stochastic_automaton_is_one_minus_what_is_still_running(wfa):
    longest = 4
    strings = list(all_strings(wfa.alphabet, longest))
    running = wfa.initial @ np.linalg.matrix_power(wfa.operators.sum(axis=0), longest + 1) @ np.ones(wfa.n_states)
    assert wfa.weights(strings).sum() == pytest.approx(1 - running, abs=1e-12)
    assert 0 <= running <= 0.8 ** (longest + 1) + 1e-12  # every state stops with probability 0.2 at least


def test_shapes_must_agree():
    with pytest.raises(OptionError, match=r"final has shape \(2,\); with 1 states and 1 symbols it must be \(1,\)"):
        WFA(np.ones(1), np.ones(2), np.ones((1, 1, 1)), Alphabet("a"))
    with pytest.raises(OptionError, match=r"operators has shape \(2, 1, 1\)"):
        WFA(np.ones(1), np.ones(1), np.ones((2, 1, 1)), Alphabet("a"))
    with pytest.raises(OptionError, match="initial has shape"):
        WFA(np.ones((1, 1)), np.ones(1), np.ones((1, 1, 1)), Alphabet("a"))


def test_arrays_are_own_and_read_only():
    initial = np.ones(1)
    wfa = WFA(initial, np.ones(1), np.ones((1, 1, 1)), Alphabet("a"))
    initial[0] = 5
    assert wfa.weights(["a"]).tolist() == [1.0]
    with pytest.raises(ValueError, match="read-only"):
        wfa.final[0] = 2


def test_unknown_symbol_is_refused():
    wfa = WFA([1.0], [0.5], [[[0.5]]], Alphabet("a"))
    with pytest.raises(AlphabetError, match="symbol 'b'"):
        wfa.weights(["ab"])


def test_over_another_alphabet() -> None:
    wfa = WFA([1.0], [0.5], [[[0.3]], [[0.2]]], Alphabet("ab"))
    other = wfa.over(Alphabet("cba"))
    assert other.weights(["ab", "ba", "cab"]).tolist() == [wfa.weight("ab"), wfa.weight("ba"), 0.0]
    assert wfa.over(Alphabet("b")).weights(["b", ""]).tolist() == [0.1, 0.5]
