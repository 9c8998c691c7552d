"""``momata convert``."""

from __future__ import annotations

import json

import numpy as np
import pytest

from momata.core.alphabet import Alphabet
from momata.core.probabilistic import PFA, random_pfa
from momata.core.wfa import WFA
from momata.io import load, save
from momata.io.automaton_json import read_json as load_json
from momata.learn.ngram import learn_ngram
from momata.predict.automaton_model import AutomatonModel

SEQUENCES = ["abca", "ab", "", "cab", "aabbcc"]


@pytest.fixture
def model(folder) -> AutomatonModel:
    pfa = random_pfa(3, 3, seed=1)
    model = AutomatonModel(PFA(pfa.initial, pfa.final, pfa.operators, Alphabet("abc", closed=True)))
    save(model, "m.npz")
    return model


@pytest.mark.parametrize("ending", [".json", ".att", ".fst.txt", ".pautomac", ".treba", ".hmm", ".npz"])
def test_there_and_back(momata, model, ending):
    there, back = f"x{ending}", f"back{ending}.npz"
    momata("convert", "m.npz", "--out", there)
    done = momata("convert", there, "--out", back)
    assert done.err == ""
    found = load(back)
    numbers = ending in (".pautomac", ".treba", ".hmm")
    sequences = [[("abc".index(s) if numbers else s) for s in x] for x in SEQUENCES]
    assert np.abs(found.log_prob(sequences) - model.log_prob(SEQUENCES)).max() < 1e-9
    assert found.alphabet.closed
    assert found.kind == "automaton"
    assert found.is_pfa


def test_a_drawing(momata, model):
    momata("convert", "m.npz", "--out", "x.dot")
    assert "cannot be read back" in momata("convert", "x.dot", "--out", "y.npz", code=2).err


def test_files_are_kept(momata, model, folder):
    (folder / "x.json").write_text("mine")
    assert "--force" in momata("convert", "m.npz", "--out", "x.json", code=2).err
    assert (folder / "x.json").read_text() == "mine"
    momata("convert", "m.npz", "--out", "x.json", "--force")
    assert json.loads((folder / "x.json").read_text())["kind"] == "automaton"


def test_a_bad_name_is_refused_before_reading(momata, folder):
    assert "names no format" in momata("convert", "absent.npz", "--out", "x.doc", code=2).err
    assert "no such file" in momata("convert", "absent.npz", "--out", "x.att", code=1).err
    assert not list(folder.iterdir())


def test_what_is_lost_is_said(momata, folder):
    save(learn_ngram(SEQUENCES, order=2).model, "n.npz")
    done = momata("convert", "n.npz", "--out", "n.pautomac")
    assert done.out == ""
    assert done.err.count("momata: n.pautomac: ") == 2


def test_a_signed_automaton_is_no_pautomac_model(momata, folder):
    save(AutomatonModel(WFA([1.0], [0.5], [[[-0.5]]], Alphabet("a"))), "s.npz")
    assert "polish" in momata("convert", "s.npz", "--out", "s.pautomac", code=2).err


def test_standard_streams(momata, model, folder):
    text = momata("convert", "m.npz", "--out", "-", "--to", "att")
    (folder / "y.txt").write_bytes(text.raw)
    momata("convert", "y.txt", "--from", "att", "--out", "y.npz")
    assert np.allclose(load("y.npz").log_prob(SEQUENCES), model.log_prob(SEQUENCES), atol=1e-9)
    momata("convert", "-", "--out", "z.json", stdin=(folder / "m.npz").read_bytes())
    assert load_json("z.json").log_prob(SEQUENCES).tolist() == model.log_prob(SEQUENCES).tolist()


def test_every_command_reads_every_format(momata, model):
    momata("convert", "m.npz", "--out", "m.json")
    one = momata("score", "m.npz", "-", stdin="a b\n").out
    assert momata("score", "m.json", "-", stdin="a b\n").out == one
    assert "automaton" in momata("info", "m.json").out
    assert momata("sample", "m.json", "-n", "3").out == momata("sample", "m.npz", "-n", "3").out
    assert momata("compare-models", "m.json", "m.npz", "--samples", "10", "--json").json()["kl"] == 0.0


def test_models_are_written_in_the_format_of_their_name(momata, folder):
    (folder / "t.txt").write_text("a b\nb\n")
    momata("learn", "ngram", "t.txt", "--order", "2", "--out", "m.json")
    assert json.loads((folder / "m.json").read_text())["kind"] == "ngram"
    momata("source", "--states", "2", "--symbols", "2", "--out", "s.pautomac")
    assert (folder / "s.pautomac").read_text().startswith("I: (state)")
