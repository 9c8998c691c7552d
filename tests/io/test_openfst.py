"""OpenFst's text: what is written comes back, other tools' files are read, and ours by them."""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import wfas

from momata.core.alphabet import Alphabet
from momata.core.probabilistic import PFA, random_pdfa, random_pfa
from momata.core.wfa import WFA
from momata.errors import FormatError, MomataError, OptionError
from momata.io.openfst import read_openfst, symbol_table_of, write_openfst

REFERENCE = Path(__file__).parents[1] / "reference"
ODD = [
    "",
    " ",
    "a b",
    "\t",
    "\\",
    "\\x",
    "<eps>",
    "#",
    "é",
    "\u3000",
    "1",
    1,
    -3,
    2.5,
    (1, ("x", " ")),
    None,
    True,
    "\\!closed",
]


def relabelled(wfa: WFA, symbols: list, closed: bool = False) -> WFA:
    return WFA(wfa.initial, wfa.final, wfa.operators, Alphabet(symbols, closed), wfa.statistic)


def assert_same(found: WFA, wanted: WFA, longest: int = 4, rtol: float = 1e-12) -> None:
    strings = list(brute.all_strings(range(wanted.n_symbols), longest))
    for string in strings:
        x = [wanted.alphabet[s] for s in string]
        assert math.isclose(found.weight(x), wanted.weight(x), rel_tol=rtol, abs_tol=1e-13), x


@given(wfas(), st.sampled_from(["string", "prefix", "suffix", "substring"]))
def test_any_automaton_comes_back(tmp_path_factory, wfa, statistic):
    wfa = WFA(wfa.initial, wfa.final, wfa.operators, wfa.alphabet, statistic)
    path = tmp_path_factory.mktemp("att") / "a.att"
    write_openfst(wfa, path)
    found = read_openfst(path)
    assert found.alphabet == wfa.alphabet
    assert found.alphabet.closed == wfa.alphabet.closed
    assert found.statistic == statistic or (statistic == "string" and isinstance(found, PFA))
    assert_same(found, wfa)


@pytest.mark.parametrize("seed", range(4))
def test_a_pfa_stays_one(tmp_path, seed):
    for k, pfa in enumerate([random_pfa(5, 3, seed), random_pdfa(5, 3, seed)]):
        path = tmp_path / f"{k}.att"
        write_openfst(pfa, path)
        found = read_openfst(path)
        assert isinstance(found, PFA)
        assert found.alphabet.symbols == (0, 1, 2)
        assert found.alphabet.closed
        assert_same(found, pfa)


def test_real_weights_come_back_bit_for_bit(tmp_path):
    rng = np.random.default_rng(0)
    wfa = WFA([0, 1.0, 0], rng.normal(size=3), rng.normal(size=(2, 3, 3)), Alphabet("ab"))
    write_openfst(wfa, tmp_path / "a.fst.txt")
    found = read_openfst(tmp_path / "a.fst.txt")
    for name in ("initial", "final", "operators"):
        assert np.array_equal(getattr(found, name), getattr(wfa, name))
    assert (tmp_path / "a.syms").is_file()


@pytest.mark.parametrize("closed", [False, True])
def test_odd_symbols_come_back(tmp_path, closed):
    symbols = ODD[:11] + ODD[12:16] if closed else [s for s in ODD if s is not True]
    wfa = relabelled(random_pfa(2, len(symbols), sparsity=0.0), symbols, closed)
    write_openfst(wfa, tmp_path / "a.att")
    found = read_openfst(tmp_path / "a.att").alphabet
    assert list(map(repr, found)) == list(map(repr, symbols))
    assert found.closed == closed


def test_without_its_table_the_symbols_are_those_that_occur(tmp_path):
    pfa = relabelled(random_pfa(3, 3, sparsity=0.0), ["b", "a b", "10"])
    write_openfst(pfa, tmp_path / "a.att")
    (tmp_path / "a.syms").unlink()
    found = read_openfst(tmp_path / "a.att")
    assert found.alphabet == Alphabet(["10", "a b", "b"])
    assert_same(found, pfa)
    numbers = random_pfa(3, 3, sparsity=0.0)
    write_openfst(numbers, tmp_path / "b.att")
    (tmp_path / "b.syms").unlink()
    assert_same(read_openfst(tmp_path / "b.att"), numbers)


def test_degenerate_automata(tmp_path):
    nothing = WFA([1.0], [0.0], np.zeros((1, 1, 1)), Alphabet("a"))
    stopping = WFA([0.5], [2.0], np.zeros((0, 1, 1)), Alphabet(""))
    none = WFA([], [], np.zeros((2, 0, 0)), Alphabet("ab"))
    large = WFA([1.0], [1e300], [[[1e-300]]], Alphabet("a"))
    for k, wfa in enumerate([nothing, stopping, none, large]):
        write_openfst(wfa, tmp_path / f"{k}.att")
        found = read_openfst(tmp_path / f"{k}.att")
        assert found.weight([]) == pytest.approx(wfa.weight([]), rel=1e-12)
        assert found.alphabet == wfa.alphabet


def test_both_files_or_none(tmp_path):
    pfa = random_pfa(2, 2)
    (tmp_path / "a.syms").write_text("mine")
    with pytest.raises(OptionError, match=r"a\.syms exists"):
        write_openfst(pfa, tmp_path / "a.att")
    assert not (tmp_path / "a.att").exists()
    write_openfst(pfa, tmp_path / "a.att", force=True)
    assert_same(read_openfst(tmp_path / "a.att"), pfa)
    assert symbol_table_of("x/y.FST.TXT.gz") == "x/y.syms"


# ---------------------------------------------------------------------- other tools


@pytest.mark.parametrize("name", ["kaldifst_names", "kaldifst_labels", "kaldifst_both", "hfst"])
def test_files_of_other_tools(name):
    found = read_openfst(REFERENCE / f"{name}.att")
    costs = json.loads((REFERENCE / f"{name.split('_')[0]}_costs.json").read_text(encoding="utf-8"))
    assert found.alphabet.symbols == ("a", "b", "ö")
    assert len(costs) == 121
    for string, cost in costs.items():
        weight = found.weight(string.split())
        assert weight == pytest.approx(0.0 if cost is None else math.exp(-cost), rel=3e-5)  # 6 digits of 5 costs


def test_kaldifst_reads_ours(tmp_path):
    kaldifst = pytest.importorskip("kaldifst")
    pdfa = relabelled(random_pdfa(4, 3, seed=3, sparsity=0.2), ["a", "b c", "ö"])
    write_openfst(pdfa, tmp_path / "a.att")
    table = kaldifst.SymbolTable.read_text(str(tmp_path / "a.syms"))
    machine = kaldifst.compile((tmp_path / "a.att").read_text(encoding="utf-8"), acceptor=True, isymbols=table)
    for string in itertools.product(range(3), repeat=3):
        best = kaldifst.shortest_path(kaldifst.compose(kaldifst.make_linear_acceptor([s + 1 for s in string]), machine))
        lines = best.to_str(is_acceptor=True, show_weight_one=True).split("\n")
        weight = math.exp(-sum(float(line.split()[-1]) for line in lines if line)) if best.num_states else 0.0
        assert weight == pytest.approx(pdfa.weight([pdfa.alphabet[s] for s in string]), rel=2e-5)  # 32 bits, 6 digits


HFST = """
import sys, hfst
machine = hfst.read_att_string(sys.stdin.read())
for string in sys.argv[1:]:
    paths = machine.lookup(string)
    print(paths[0][1] if paths else "inf")
"""


def test_hfst_reads_ours(tmp_path):
    if not importlib.util.find_spec("hfst"):
        pytest.skip("hfst is not installed")
    pdfa = relabelled(random_pdfa(4, 3, seed=3, sparsity=0.2), ["a", "b", "ö"])
    write_openfst(pdfa, tmp_path / "a.att")
    lines = [line.split("\t") for line in (tmp_path / "a.att").read_text(encoding="utf-8").splitlines()]
    text = "\n".join("\t".join([*w[:3], *w[2:]] if len(w) == 4 else w) for w in lines)  # its lines say symbols twice
    strings = ["".join(s) for s in itertools.product("abö", repeat=3)]
    done = subprocess.run(  # a process of its own: beside kaldifst, which brings another OpenFst, it hangs
        [sys.executable, "-c", HFST, *strings], input=text, capture_output=True, encoding="utf-8", timeout=60, check=True,
        env={**os.environ, "PYTHONUTF8": "1"},
    )  # fmt: skip
    for string, cost in zip(strings, done.stdout.split(), strict=True):
        assert math.exp(-float(cost)) == pytest.approx(pdfa.weight(string), rel=2e-5)


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.att: is empty"),
        ("0 1 a 1 1 1\n", "line 1, column 11: 6 words"),
        ("x 1 a\n", "line 1, column 1: 'x' stands where a state"),
        ("0 1 a 0.5\n\n0 -1 a\n", "line 3, column 3: '-1' stands"),
        (f"0 {10**30} a\n", "column 3: '1000"),
        ("0 1 a nan\n", "column 7: 'nan' stands where a weight"),
        ("0 1 a -1e9\n", "column 7: -1e9 stands for a weight that is too large"),
        ("0 1 a\n1 0.5\n1 0.5\n", "line 3, column 1: state 1 has a final weight twice"),
        ("0 1 a b 1\n", "column 7: input 'a' and output 'b' differ"),
        ("0 1 <eps> 1\n", "column 5: an empty move"),
        ("0 1 <s> 1\n", "'<s>' marks the start"),
        ("0 1 \\[1] 1\n", r"column 5: .*\[1]': what follows"),
        ("# semiring=tropical\n0 1 a\n", "line 1, column 1: a first line with #"),
        ("# semiring=real statistic=string\n", "nothing follows"),
        ("# semiring=real statistic=string\n0 1 a inf\n", "line 2, column 7: inf is infinite"),
        ("# semiring=real statistic=string\n0 1 a 1e308\n0 1 a 1e308\n", "line 3, column 7: the weights of this arc"),
        ("".join(f"{i} {i + 1} a{i}\n" for i in range(400)), "too many for a file of"),
    ],
)
def test_errors_say_where(tmp_path, text, message):
    (tmp_path / "a.att").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_openfst(tmp_path / "a.att")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("<eps> 0\na 1\na 2\n", "a.syms, line 3, column 1: 'a' or its number 2"),
        ("a 1\nb 1\n", "a.syms, line 2, column 1: 'b' or its number 1"),
        ("a b 1\n", "a.syms, line 1, column 1: 3 words"),
        ("a x\n", "a.syms, line 1, column 3: 'x' stands where the number"),
        ("b 1\n", "a.att, line 1, column 5: symbol 'a' is not in the symbol table"),
        ("a 1\n\\{ 2\n", "a.syms, line 2, column 1: .* what follows the backslash"),
        ('a 1\n\\"a" 2\n', "a.syms: these symbols make no alphabet"),
    ],
)
def test_errors_of_tables_say_where(tmp_path, table, message):
    (tmp_path / "a.att").write_text("0 1 a 1\n1\n")
    (tmp_path / "a.syms").write_text(table)
    with pytest.raises(FormatError, match=message):
        read_openfst(tmp_path / "a.att")


def test_what_cannot_be_a_symbol_is_refused(tmp_path):
    wfa = WFA([1.0], [1.0], np.zeros((1, 1, 1)), Alphabet([frozenset()]))
    with pytest.raises(MomataError, match="frozenset"):
        write_openfst(wfa, tmp_path / "a.att")
    assert not list(tmp_path.iterdir())


def test_large_state_numbers_are_only_names(tmp_path):
    (tmp_path / "a.att").write_text(f"{10**12}\t5\ta\t0\n5\t0\n")
    found = read_openfst(tmp_path / "a.att")
    assert found.n_states == 2
    assert found.weight("a") == 1.0


def test_parallel_arcs_add_up(tmp_path):
    cost = -math.log(0.25)
    (tmp_path / "a.att").write_text(f"0 1 a {cost}\n0 1 a {cost}\n1\n")
    assert read_openfst(tmp_path / "a.att").weight("a") == pytest.approx(0.5, rel=1e-15)
