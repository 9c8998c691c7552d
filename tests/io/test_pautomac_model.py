"""PAutomaC's model text."""

from __future__ import annotations

import numpy as np
import pytest

from momata.core.alphabet import Alphabet
from momata.core.probabilistic import PFA, random_hmm, random_pdfa, random_pfa
from momata.core.wfa import WFA
from momata.errors import FormatError, OptionError
from momata.io import read_corpus, read_target
from momata.io.automata import read_model
from momata.io.pautomac_model import read_pautomac_model, write_pautomac_model

PERPLEXITIES = {
    1: 29.898, 6: 66.985, 7: 51.224, 14: 116.792, 27: 42.427, 29: 24.031,
    33: 31.865, 39: 10.002, 42: 16.004, 43: 32.637, 45: 24.042, 46: 11.982,
}  # fmt: skip


@pytest.mark.data
@pytest.mark.parametrize("problem", PERPLEXITIES)
def test_the_targets_of_the_competition(data_folder, problem):
    path = data_folder / "pautomac" / f"{problem}.pautomac"
    model = read_model(f"{path}_model.txt")
    solution = np.asarray(read_target(f"{path}_solution.txt"))
    found = np.exp(model.log_prob(read_corpus(f"{path}.test")))
    found /= found.sum()
    assert np.abs(found / (solution / solution.sum()) - 1).max() < 1e-6
    assert 2 ** -(solution @ np.log2(found)) == pytest.approx(PERPLEXITIES[problem], abs=6e-4)  # three digits are given


@pytest.mark.parametrize("seed", range(4))
def test_a_pfa_comes_back(tmp_path, seed):
    for k, pfa in enumerate([random_pfa(6, 4, seed), random_pdfa(6, 4, seed), random_hmm(6, 4, seed).to_pfa()]):
        write_pautomac_model(pfa, tmp_path / f"{k}.pautomac")
        found = read_pautomac_model(tmp_path / f"{k}.pautomac")
        assert found.alphabet == pfa.alphabet
        assert found.alphabet.closed
        for name in ("initial", "final", "operators"):
            assert np.allclose(getattr(found, name), getattr(pfa, name), rtol=1e-12, atol=1e-15)


def test_the_ends_of_the_range(tmp_path):
    always = PFA([0, 1.0], [1.0, 1.0], np.zeros((3, 2, 2)), Alphabet("abc"))
    never = PFA([1.0], [0.0], [[[1.0]], [[0.0]]], Alphabet("ab"))
    empty = PFA([1.0], [1.0], np.zeros((0, 1, 1)), Alphabet(""))
    for k, pfa in enumerate([always, never, empty]):
        write_pautomac_model(pfa, tmp_path / f"{k}.pautomac")
        found = read_pautomac_model(tmp_path / f"{k}.pautomac")
        assert found.n_symbols == pfa.n_symbols
        assert np.array_equal(found.final, pfa.final)
        assert np.array_equal(found.operators, pfa.operators)


def test_only_a_pfa_can_be_written(tmp_path):
    signed = WFA([1.0], [0.5], [[[-0.5]]], Alphabet("a"))
    with pytest.raises(OptionError, match=r"lowest weight -0\.5.*polish"):
        write_pautomac_model(signed, tmp_path / "a.pautomac")
    assert not list(tmp_path.iterdir())


GOOD = """\
I: (state)
\t(0) 1.0
F: (state)
\t(1) 0.25
S: (state,symbol)
\t(0,0) 1.0
\t(1,1) 1.0
T: (state,symbol,state)
\t(0,0,1) 1.0
\t(1,1,0) 1.0
"""


def test_a_small_one(tmp_path):
    (tmp_path / "a").write_bytes(GOOD.replace("\n", " \r\n").replace(",", ", ").encode())
    assert read_pautomac_model(tmp_path / "a").weight([0]) == 0.25


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("I: (state)\n", "", r"line 1, column 2: '\(0\)': a PAutomaC model starts"),
        (GOOD, "", "ends without the section 'I:"),
        ("T: (state,symbol,state)\n\t(0,0,1) 1.0\n\t(1,1,0) 1.0\n", "", "ends without the section 'T:"),
        ("S:", "X:", "line 5, column 1: 'X:' begins no section"),
        ("F:", "I:", "line 3, column 1: 'I:' begins no section, or"),
        ("(1,1) 1.0", "(1,1,1) 1.0", r"line 7, column 2: an entry of section S is \(state,symbol\)"),
        ("(1) 0.25", "(1)", "line 4, column 2: an entry"),
        ("(1) 0.25", "(1) x", "line 4, column 6: 'x' stands where a probability"),
        ("(1) 0.25", "(1) -1", "line 4, column 6: -1 is no probability"),
        ("(1) 0.25", "(1) nan", "line 4, column 6: 'nan'"),
        ("(1,1) 1.0", "(0,0) 1.0", "line 7, column 2: S gives"),
        ("(1,1) 1.0", "(1,1) 0.9", "symbol probabilities .* of state 1 sum to 0.9"),
        ("(1,1,0) 1.0", "(1,1,0) 0.9", "transition probabilities .* of state 1 and symbol 1 sum to 0.9"),
        ("(0) 1.0", "(0) 0.9", "initial probabilities sum to 0.9"),
        ("(1,1,0) 1.0", f"(1,1,{10**12}) 1.0", "3 states occur and the highest is 1000000000000"),
        ("(1,1) 1.0", f"(1,{10**12}) 1.0", "too many for a file of"),
    ],
)
def test_errors_say_where(tmp_path, old, new, message):
    assert old in GOOD
    (tmp_path / "a").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(FormatError, match=message):
        read_pautomac_model(tmp_path / "a")
