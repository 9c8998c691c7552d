"""``momata convert``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from momata.cli.convert import convert
from momata.core.alphabet import Alphabet
from momata.core.probabilistic import PFA, random_pfa
from momata.core.wfa import WFA
from momata.errors import MomataError, OptionError
from momata.io import load, save
from momata.learn.ngram import learn_ngram
from momata.predict.automaton_model import AutomatonModel

SEQUENCES = ["abca", "ab", "", "cab", "aabbcc"]


def run(*arguments: object, stdin: bytes = b""):
    """Call the command as `momata.cli.main` does, which turns errors into exit codes."""
    return CliRunner().invoke(convert, list(map(str, arguments)), input=stdin, catch_exceptions=False)


@pytest.fixture
def model(folder) -> AutomatonModel:
    pfa = random_pfa(3, 3, seed=1)
    model = AutomatonModel(PFA(pfa.initial, pfa.final, pfa.operators, Alphabet("abc", closed=True)))
    save(model, "m.npz")
    return model


@pytest.mark.parametrize("ending", [".json", ".att", ".fst.txt", ".pautomac", ".treba", ".hmm", ".npz"])
def test_there_and_back(model, ending):
    there, back = f"x{ending}", f"back{ending}.npz"
    assert run("m.npz", "--out", there).exit_code == 0
    done = run(there, "--out", back)
    assert done.exit_code == 0
    assert done.stderr == ""
    found = load(back)
    numbers = ending in (".pautomac", ".treba", ".hmm")
    sequences = [[("abc".index(s) if numbers else s) for s in x] for x in SEQUENCES]
    assert np.abs(found.log_prob(sequences) - model.log_prob(SEQUENCES)).max() < 1e-9
    assert found.alphabet.closed
    assert found.kind == "automaton"
    assert found.is_pfa


def test_a_drawing(model):
    assert run("m.npz", "--out", "x.dot").exit_code == 0
    with pytest.raises(OptionError, match="cannot be read back"):
        run("x.dot", "--out", "y.npz")


def test_files_are_kept(model, folder):
    (folder / "x.json").write_text("mine")
    with pytest.raises(OptionError, match="--force"):
        run("m.npz", "--out", "x.json")
    assert (folder / "x.json").read_text() == "mine"
    run("m.npz", "--out", "x.json", "--force")
    assert json.loads((folder / "x.json").read_text())["kind"] == "automaton"


def test_a_bad_name_is_refused_before_reading(folder):
    with pytest.raises(OptionError, match="names no format"):
        run("absent.npz", "--out", "x.doc")
    with pytest.raises(MomataError, match="no such file"):
        run("absent.npz", "--out", "x.att")
    assert not list(folder.iterdir())


def test_what_is_lost_is_said(folder):
    save(learn_ngram(SEQUENCES, order=2).model, "n.npz")
    done = run("n.npz", "--out", "n.pautomac")
    assert done.exit_code == 0
    assert done.stdout == ""
    assert done.stderr.count("momata: n.pautomac: ") == 2


def test_a_signed_automaton_is_no_pautomac_model(folder):
    save(AutomatonModel(WFA([1.0], [0.5], [[[-0.5]]], Alphabet("a"))), "s.npz")
    with pytest.raises(OptionError, match="polish"):
        run("s.npz", "--out", "s.pautomac")


def test_standard_streams(model, folder):
    text = run("m.npz", "--out", "-", "--to", "att")
    assert text.exit_code == 0
    (folder / "y.txt").write_bytes(text.stdout_bytes)
    assert run("y.txt", "--from", "att", "--out", "y.npz").exit_code == 0
    assert np.allclose(load("y.npz").log_prob(SEQUENCES), model.log_prob(SEQUENCES), atol=1e-9)
    assert run("-", "--out", "z.json", stdin=(folder / "m.npz").read_bytes()).exit_code == 0


def test_help_ends_with_examples():
    lines = run("--help").stdout.rstrip().splitlines()
    assert lines[-3].strip() == "Examples:"
    assert all(line.strip().startswith("momata convert") for line in lines[-2:])
