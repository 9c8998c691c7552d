"""Write the reference files of this folder; README.md says with which packages and which command."""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
# A deterministic automaton over a, b, ö: state -> symbol -> (target, probability); and where it stops.
ARCS = {0: {"a": (1, 0.5), "b": (0, 0.25)}, 1: {"b": (2, 0.375), "ö": (0, 0.25)}, 2: {"a": (2, 0.125), "ö": (1, 0.75)}}
STOPS = {0: 0.25, 1: 0.375, 2: 0.125}
SYMBOLS = ("a", "b", "ö")


def strings() -> Iterator[tuple[str, ...]]:
    for length in range(5):
        yield from itertools.product(SYMBOLS, repeat=length)


def with_kaldifst() -> None:
    import kaldifst

    table = kaldifst.SymbolTable()
    for name in ("<eps>", *SYMBOLS):
        table.add_symbol(name)
    machine = kaldifst.StdVectorFst()
    for _ in ARCS:
        machine.add_state()
    number = {2: 0, 0: 1, 1: 2}  # another order than ours
    machine.start = number[0]
    for state, arcs in ARCS.items():
        for symbol, (target, probability) in arcs.items():
            label = table.find(symbol)
            machine.add_arc(number[state], kaldifst.StdArc(label, label, -math.log(probability), number[target]))
        machine.set_final(number[state], -math.log(STOPS[state]))
    costs = {}
    for string in strings():
        line = kaldifst.make_linear_acceptor([table.find(s) for s in string])
        best = kaldifst.shortest_path(kaldifst.compose(line, machine))
        text = best.to_str(is_acceptor=True, show_weight_one=True).split("\n")
        costs[" ".join(string)] = sum(float(row.split()[-1]) for row in text if row) if best.num_states else None
    (HERE / "kaldifst_labels.att").write_text(machine.to_str(is_acceptor=True), encoding="utf-8")
    machine.input_symbols = machine.output_symbols = table
    (HERE / "kaldifst_names.att").write_text(machine.to_str(is_acceptor=True), encoding="utf-8")
    (HERE / "kaldifst_both.att").write_text(machine.to_str(), encoding="utf-8")
    for name in ("labels", "names", "both"):
        table.write_text(str(HERE / f"kaldifst_{name}.syms"))
    (HERE / "kaldifst_costs.json").write_text(json.dumps(costs, indent=1, ensure_ascii=False), encoding="utf-8")


def with_hfst() -> None:
    import hfst

    machine = hfst.HfstBasicTransducer()
    for state, arcs in ARCS.items():
        for symbol, (target, probability) in arcs.items():
            machine.add_transition(state, target, symbol, symbol, -math.log(probability))
        machine.set_final_weight(state, -math.log(STOPS[state]))
    costs = {}
    compiled = hfst.HfstTransducer(machine)
    for string in strings():
        found = hfst.HfstTransducer(compiled)
        line = hfst.tokenized_fst([(s, s) for s in string]) if string else hfst.epsilon_fst()
        line.compose(found)
        paths = line.extract_paths(output="raw")
        costs[" ".join(string)] = paths[0][0] if paths else None
    with (HERE / "hfst.att").open("w", encoding="utf-8") as file:
        compiled.write_att(file, True)
    (HERE / "hfst_costs.json").write_text(json.dumps(costs, indent=1, ensure_ascii=False), encoding="utf-8")


def with_hmmlearn() -> None:
    import numpy as np
    from hmmlearn.hmm import CategoricalHMM

    rng = np.random.default_rng(0)
    data = rng.choice(4, size=(600, 1), p=[0.1, 0.2, 0.3, 0.4])
    data[1::2] = (data[::2] + 1) % 4
    model = CategoricalHMM(n_components=3, n_iter=20, random_state=0).fit(data, [20] * 30)
    scored = [rng.integers(0, 4, n).tolist() for n in (1, 2, 3, 5, 8, 40)]
    found = {name: getattr(model, name).tolist() for name in ("startprob_", "transmat_", "emissionprob_")}
    found["scores"] = [[x, float(model.score(np.array(x)[:, None]))] for x in scored]
    (HERE / "hmmlearn.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:] or ("kaldifst", "hfst", "hmmlearn"):
        if importlib.util.find_spec(name):
            globals()[f"with_{name}"]()
            print(f"{name}: written")
        else:
            print(f"{name}: not installed")
