"""Drawings."""

from __future__ import annotations

import numpy as np
import pytest

from momata.core.alphabet import Alphabet
from momata.core.probabilistic import random_pfa
from momata.core.wfa import WFA
from momata.errors import OptionError
from momata.io import dot

DRAWING = """\
digraph automaton {
  rankdir=LR;
  node [shape=circle, fontname="sans-serif"];
  edge [fontname="sans-serif"];
  0 [label="0"];
  1 [label="1", shape=doublecircle, xlabel="stop 0.333"];
  start0 [shape=point, label=""];
  start0 -> 0 [label="1"];
  0 -> 1 [label="a 0.5\\n\\"q\\\\ -2"];
  1 -> 1 [label="a 0.667"];
}
"""


def test_a_drawing(tmp_path):
    wfa = WFA([1, 0], [0, 1 / 3], [[[0, 0.5], [0, 2 / 3]], [[0, -2], [0, 0]]], Alphabet(["a", '"q\\']))
    dot.write_dot(wfa, tmp_path / "a.dot")
    assert (tmp_path / "a.dot").read_text() == DRAWING
    with pytest.raises(OptionError, match="exists"):
        dot.write_dot(wfa, tmp_path / "a.dot")


def test_odd_symbols_stay_in_their_line():
    symbols = ["\n", "", " ", "\ud800", "a\tb", 3, ("x", 1)]
    wfa = WFA([1.0], [1.0], np.ones((7, 1, 1)), Alphabet(symbols))
    text = dot.to_dot(wfa)
    assert text.count("\n") == 9
    text.encode()


def test_too_many_arcs(monkeypatch):
    monkeypatch.setattr(dot, "_MOST_ARCS", 5)
    with pytest.raises(OptionError, match="arcs, more than the 5"):
        dot.to_dot(random_pfa(3, 2, sparsity=0.0))
