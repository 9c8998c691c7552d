"""hmmlearn's models: the reference file without hmmlearn, the bridge with it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import brute
import numpy as np
import pytest

from momata.core.alphabet import Alphabet
from momata.core.probabilistic import HMM, PFA, random_hmm, random_pfa
from momata.core.wfa import WFA
from momata.errors import OptionError
from momata.io.hmmlearn_bridge import from_hmmlearn, to_hmmlearn
from momata.predict.automaton_model import AutomatonModel

REFERENCE = Path(__file__).parents[1] / "reference" / "hmmlearn.json"


def reference() -> SimpleNamespace:
    return SimpleNamespace(**json.loads(REFERENCE.read_text()))


def column(string) -> np.ndarray:
    return np.array(string, dtype=int).reshape(-1, 1)


def test_scores_are_weights_of_prefixes():
    model = reference()
    found = from_hmmlearn(model)
    assert found.statistic == "prefix"
    for string, score in model.scores:
        assert np.log(found.weight(string)) == pytest.approx(score, rel=1e-10)


def test_states_that_stop_equally_often():
    model = reference()
    found = from_hmmlearn(model, stopping=0.25)
    assert isinstance(found, PFA)
    for string, score in model.scores:
        assert np.log(found.weight(string)) == pytest.approx(
            score + len(string) * np.log(0.75) + np.log(0.25), rel=1e-10
        )


@pytest.mark.parametrize("make", [random_hmm, random_pfa])
def test_there_and_back(make):
    pytest.importorskip("hmmlearn")
    model = make(4, 3, seed=2)
    pfa = model.to_pfa() if isinstance(model, HMM) else model
    there = to_hmmlearn(AutomatonModel(pfa))
    assert there.n_features == 4
    back = from_hmmlearn(there, "symbol", Alphabet("xyz"))
    for string in brute.all_strings(range(3), 4):
        want = pfa.weight(string)
        assert back.weight(["xyz"[s] for s in string]) == pytest.approx(want, rel=1e-10, abs=1e-14)
        if want > 1e-12:
            assert there.score(column([*string, 3])) == pytest.approx(np.log(want), rel=1e-9)


def test_without_the_end():
    pytest.importorskip("hmmlearn")
    pfa = PFA([0.5, 0.5], [0.25, 0.25], np.full((2, 2, 2), 0.75 / 4), Alphabet("ab"))
    found = to_hmmlearn(pfa, stopping="drop")
    assert np.exp(found.score(column([0, 1]))) == pytest.approx(pfa.weight("ab") / (0.75**2 * 0.25), rel=1e-10)
    dead = HMM([1.0], [[1.0]], [[0.0, 0.0]], [1.0], Alphabet("ab"))
    assert np.array_equal(to_hmmlearn(dead, stopping="drop").emissionprob_, [[0.5, 0.5]])


def test_what_cannot_be():
    model = reference()
    signed = WFA([1.0], [0.5], [[[-0.5]]], Alphabet("a"))
    for call, message in [
        (lambda: to_hmmlearn(signed), "polish"),
        (lambda: to_hmmlearn(random_hmm(2, 2), stopping="x"), "no way to write"),
        (lambda: to_hmmlearn("x"), "a str is no sequence model"),
        (lambda: to_hmmlearn(PFA([1.0], [1.0], np.zeros((0, 1, 1)), Alphabet("")), stopping="drop"), "without symbols"),
        (lambda: from_hmmlearn(model, stopping=2.0), "must be a probability"),
        (lambda: from_hmmlearn(model, stopping=[0.1, 0.2]), "one for each of 3 states"),
        (lambda: from_hmmlearn(model, stopping="x"), "neither"),
        (lambda: from_hmmlearn(object()), "Give a CategoricalHMM"),
        (lambda: from_hmmlearn(type("MultinomialHMM", (), vars(model))()), "emits counts"),
        (lambda: from_hmmlearn(SimpleNamespace(**{**vars(model), "emissionprob_": [1.0, 2.0, 3.0]})), "shape"),
        (lambda: from_hmmlearn(model, alphabet=Alphabet("ab")), "must be"),
    ]:
        with pytest.raises(OptionError, match=message):
            call()


def test_without_hmmlearn(monkeypatch):
    monkeypatch.setitem(sys.modules, "hmmlearn.hmm", None)
    with pytest.raises(OptionError, match="pip install hmmlearn"):
        to_hmmlearn(random_hmm(2, 2))
