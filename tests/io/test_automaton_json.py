"""Models as JSON."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from strategies import wfas

from momata.core.alphabet import Alphabet
from momata.core.probabilistic import random_pfa
from momata.core.wfa import WFA
from momata.errors import FormatError, ModelFileError, MomataError, OptionError
from momata.io.automaton_json import read_json, write_json
from momata.learn.ngram import learn_ngram
from momata.predict.automaton_model import AutomatonModel

SEQUENCES = ["abca", "ab", "", "cab", "aabbcc", "bca", "abc", "c"]


def parts_equal(a, b) -> bool:
    (arrays, values), (others, more) = a.to_parts(), b.to_parts()
    same = arrays.keys() == others.keys() and all(
        np.array_equal(arrays[k], others[k]) and arrays[k].dtype == others[k].dtype for k in arrays
    )
    return same and values == more and a.training == b.training


@given(wfas())
def test_automata_come_back_bit_for_bit(tmp_path_factory, wfa):
    path = tmp_path_factory.mktemp("json") / "a.json"
    model = AutomatonModel(wfa, share=0.1, training={"note": ["x", 1]})
    write_json(model, path)
    found = read_json(path)
    model.training.setdefault("versions", found.training["versions"])
    assert parts_equal(found, model)
    assert found.alphabet == wfa.alphabet
    assert found.alphabet.closed == wfa.alphabet.closed


@pytest.mark.parametrize("smoothing", ["kn", "mkn", "none"])
def test_ngrams_and_backings_come_back(tmp_path, smoothing):
    ngram = learn_ngram(SEQUENCES, order=3, smoothing=smoothing).model
    own = Alphabet([s for s in ngram.alphabet if s != "<unk>"])
    rng = np.random.default_rng(0)
    wfa = WFA(rng.normal(size=2), rng.normal(size=2), rng.normal(size=(len(own), 2, 2)) / 4, own, "substring")
    for k, model in enumerate([ngram, AutomatonModel(wfa, ngram, 0.3, 0.5)]):
        write_json(model, tmp_path / f"{k}.json.gz")
        found = read_json(tmp_path / f"{k}.json.gz")
        assert np.array_equal(found.log_prob(SEQUENCES), model.log_prob(SEQUENCES))
        assert found.alphabet == model.alphabet


def good(tmp_path) -> str:
    write_json(AutomatonModel(random_pfa(2, 2)), tmp_path / "good.json", force=True)
    return (tmp_path / "good.json").read_text()


def test_it_is_strict_json(tmp_path):
    def refuse(word):
        raise AssertionError(word)

    found = json.loads(good(tmp_path), parse_constant=refuse)
    assert found["arrays"]["operators"]["shape"] == [2, 2, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: is no JSON"),
        ('{"a": 1,\n "b" 2}', "line 2, column 6: is no JSON"),
        ('{"NaN": "NaN",\n "b": [1, NaN]}', "line 2, column 11: NaN is no JSON"),
        ('{"a": -Infinity}', "line 1, column 7: -Infinity"),
        ('{"a": 1, "a": 2}', "the name 'a' twice"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 9999 + "}", "9999 digits is too long"),
    ],
)
def test_no_json(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_json(tmp_path / "a.json")


def changed(**changes):
    def change(found):
        found.update(changes)

    return change


def of_arrays(name, **changes):
    def change(found):
        found["arrays"][name].update(changes)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found.clear(), "does not describe a model"),
        (changed(format="x"), "does not describe a model"),
        (changed(version=True), "format version is 'True'"),
        (changed(version=99), "format version 99"),
        (changed(kind="pickle"), "kind 'pickle', unknown"),
        (changed(kind=["automaton"]), "unknown"),
        (changed(training=[]), "training summary"),
        (changed(arrays=[]), "not an object"),
        (lambda found: found.pop("arrays"), "'arrays' is missing"),
        (lambda found: found["arrays"].pop("final"), "'final' is missing"),
        (changed(statistic="x"), "is not known"),
        (changed(statistic=[]), "is not known"),
        (changed(alphabet=[]), "do not fit together"),
        (changed(alphabet={"symbols": [[1], 2], "closed": True}), "do not fit together"),
        (changed(alphabet={"symbols": ["a"], "closed": True}), "2 operators"),
        (changed(share=2.0), "must lie in"),
        (of_arrays("final", type="O"), "no array of a known type"),
        (of_arrays("final", type=["f8"]), "no array of a known type"),
        (of_arrays("final", shape=[10**12]), "should hold 1000000000000 numbers and holds 2"),
        (of_arrays("final", shape=[-2]), "lacks a list"),
        (of_arrays("final", shape=2), "lacks a list"),
        (of_arrays("final", values=[0.5, True]), "holds 'True'"),
        (of_arrays("final", values=[0.5, None]), "holds 'None'"),
        (of_arrays("final", values=[0.5, [1]]), "no number of its type"),
        (of_arrays("final", values=[0.5, float("inf")]), "Infinity is no JSON"),
        (of_arrays("final", values=[0.5, 10**400]), "do not fit together"),
        (of_arrays("final", type="i4", values=[10**12, 1]), "do not fit together"),
    ],
)
def test_no_model(tmp_path, change, message):
    found = json.loads(good(tmp_path))
    change(found)
    (tmp_path / "a.json").write_text(json.dumps(found))
    with pytest.raises(MomataError, match=message) as caught:
        read_json(tmp_path / "a.json")
    assert isinstance(caught.value, ModelFileError | FormatError)
    assert "a.json" in str(caught.value)


def test_a_number_too_large_for_a_weight(tmp_path):
    (tmp_path / "a.json").write_text(good(tmp_path).replace('"distrust": 0.0', '"distrust": 1e999'))
    with pytest.raises(FormatError, match="the number 1e999 is too large"):
        read_json(tmp_path / "a.json")


def test_claims_are_not_believed(tmp_path):
    found = json.loads(good(tmp_path))
    found["arrays"]["operators"] = {"type": "f8", "shape": [2**20, 2**20, 0, 2**39], "values": []}
    (tmp_path / "a.json").write_text(json.dumps(found))
    tracemalloc.start()
    with pytest.raises(ModelFileError):
        read_json(tmp_path / "a.json")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


def test_only_models(tmp_path):
    with pytest.raises(OptionError, match="a dict cannot be saved"):
        write_json({}, tmp_path / "a.json")
    model = AutomatonModel(random_pfa(2, 2), training={"note": object()})
    with pytest.raises(OptionError, match="training notes"):
        write_json(model, tmp_path / "a.json")
    assert not list(tmp_path.iterdir())
