"""treba's automata and hidden Markov models."""

from __future__ import annotations

import brute
import numpy as np
import pytest

from momata.core.alphabet import Alphabet
from momata.core.probabilistic import PFA, random_hmm, random_pdfa, random_pfa
from momata.core.wfa import WFA
from momata.errors import FormatError, OptionError
from momata.io.treba import read_treba, write_treba, write_treba_hmm

PFSA = "# an automaton\n0 0 0 0.25\n0 1 1 0.5\n1 0 1 0.375\n\n0 0.25\n1 0.625\n"
HMM = "0 > 1 0.5\n0 > 2 0.25\n0 > 3 0.25\n1 > 1 0.5\n1 > 3 0.5\n2 > 1 1\n1 0 0.75\n1 1 0.25\n2 1\n"


def assert_same(found: WFA, wanted: WFA) -> None:
    for string in brute.all_strings(range(wanted.n_symbols), 4):
        x = [wanted.alphabet[s] for s in string]
        assert found.weight(string) == pytest.approx(wanted.weight(x), rel=1e-11, abs=1e-15)


def test_an_automaton_by_hand(tmp_path):
    (tmp_path / "a").write_text(PFSA)
    found = read_treba(tmp_path / "a")
    assert [found.weight(x) for x in ([], [0], [1], [1, 1], [0, 1])] == [0.25, 0.0625, 0.3125, 0.046875, 0.078125]


def test_an_hmm_by_hand(tmp_path):
    (tmp_path / "a").write_text(HMM)
    found = read_treba(tmp_path / "a")
    assert found.n_states == 3
    # the empty string; 0 in state 1; 1 in state 1; 1 in state 2, then 0 in state 1, or both in state 1
    assert [found.weight(x) for x in ([], [0], [1], [1, 0])] == [
        0.25,
        0.1875,
        0.0625,
        0.25 * 0.75 * 0.5 + 0.5 * 0.25 * 0.5 * 0.75 * 0.5,
    ]


@pytest.mark.parametrize("write", [write_treba, write_treba_hmm])
@pytest.mark.parametrize("seed", range(3))
def test_a_pfa_comes_back(tmp_path, write, seed):
    pfas = [
        random_pfa(4, 3, seed),
        random_pdfa(4, 3, seed),
        random_hmm(4, 3, seed).to_pfa(),
        random_hmm(4, 3, seed).to_pfa(),
    ]
    pfas[-1] = PFA(pfas[-1].initial, pfas[-1].final, pfas[-1].operators, Alphabet("xyz"))
    for k, pfa in enumerate(pfas):
        write(pfa, tmp_path / f"{k}")
        found = read_treba(tmp_path / f"{k}")
        assert found.alphabet == Alphabet.of_size(3)
        assert_same(found, pfa)


def test_an_hmm_keeps_its_states(tmp_path):
    write_treba_hmm(random_hmm(5, 3, sparsity=0.0).to_pfa(), tmp_path / "a")
    once = read_treba(tmp_path / "a")
    write_treba_hmm(once, tmp_path / "b")
    assert once.n_states == 6
    assert read_treba(tmp_path / "b").n_states == 6


@pytest.mark.parametrize("write", [write_treba, write_treba_hmm])
def test_the_ends_of_the_range(tmp_path, write):
    always = PFA([0, 1.0], [1.0, 1.0], np.zeros((3, 2, 2)), Alphabet.of_size(3))
    never = PFA([1.0], [0.0], [[[1.0]], [[0.0]]], Alphabet.of_size(2))
    for k, pfa in enumerate([always, never]):
        write(pfa, tmp_path / f"{k}")
        found = read_treba(tmp_path / f"{k}")
        assert found.n_symbols == pfa.n_symbols
        assert_same(found, pfa)


@pytest.mark.parametrize("write", [write_treba, write_treba_hmm])
def test_only_a_pfa_can_be_written(tmp_path, write):
    with pytest.raises(OptionError, match="polish"):
        write(WFA([1.0], [0.5], [[[-0.5]]], Alphabet("a")), tmp_path / "a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing\n", "is empty"),
        ("0 0 0 0.5 1\n", "line 1, column 11: 5 words"),
        ("0 0 a 0.5\n", "line 1, column 5: 'a' stands where a state or a symbol"),
        ("0 0 0 -0.5\n", "line 1, column 7: -0.5 is no probability"),
        ("0 0.5\n0 0.5\n", "line 2, column 1: a second line"),
        ("0 0.5\n", "probabilities that leave sum to 0.5"),
        ("0 1 0 1\n1 0.5\n", "of state 1 sum to 0.5"),
        (f"0 {10**12} 0 1\n", "2 states occur"),
        (f"0 0 {10**12} 1\n", "too many for a file"),
        ("0 > 1\n> 1 2\n", "line 2, column 1: a transition"),
        ("0 > 1\n1\n", "line 2, column 1: an emission"),
        ("0 > 1\n1 > 0 1\n", "state 0 must start"),
        ("0 > 1\n0 0 1\n", "state 0 must start"),
        ("0 > 1\n1 > 2\n1 0 0.5\n", "emissions of state 1 sum to 0.5"),
        ("0 > 0\n", "state 0 must start"),
    ],
)
def test_errors_say_where(tmp_path, text, message):
    (tmp_path / "a").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_treba(tmp_path / "a")
