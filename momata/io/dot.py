"""Automata as drawings in the DOT language of Graphviz."""

from __future__ import annotations

import numpy as np

from momata.core.wfa import WFA
from momata.errors import OptionError
from momata.io.streams import PathLike, atomic_write

__all__ = ["to_dot", "write_dot"]

_MOST_ARCS = 2**20


def write_dot(wfa: WFA, path: PathLike, force: bool = False) -> None:
    """Write `to_dot` to a file."""
    text = to_dot(wfa)
    with atomic_write(path, force) as file:
        file.write(text)


def to_dot(wfa: WFA) -> str:
    """Return an automaton as a directed graph: one edge for all symbols between two states, weights to three digits.

    An arrow from nowhere shows where it starts; a double circle where it may stop, with the weight. Weights of 0 are left out.
    """
    n_arcs = int(np.count_nonzero(wfa.operators))
    if n_arcs > _MOST_ARCS:
        raise OptionError(
            f"the automaton has {n_arcs} arcs, more than the {_MOST_ARCS} that a drawing can hold. "
            "Draw a smaller one, or write .json or .att."
        )
    names = [str(s) for s in wfa.alphabet]
    lines = ["digraph automaton {", "  rankdir=LR;", '  node [shape=circle, fontname="sans-serif"];']
    lines += ['  edge [fontname="sans-serif"];']
    for state, weight in enumerate(wfa.final.tolist()):
        shape = f', shape=doublecircle, xlabel="stop {weight:.3g}"' if weight else ""
        lines.append(f'  {state} [label="{state}"{shape}];')
    for state in np.flatnonzero(wfa.initial).tolist():
        lines.append(f'  start{state} [shape=point, label=""];')
        lines.append(f'  start{state} -> {state} [label="{wfa.initial[state]:.3g}"];')
    labels: dict[tuple[int, int], list[str]] = {}
    sources, targets, symbols = np.nonzero(wfa.operators.transpose(1, 2, 0))
    for source, target, symbol in zip(sources.tolist(), targets.tolist(), symbols.tolist(), strict=True):
        text = f"{_escaped(names[symbol])} {wfa.operators[symbol, source, target]:.3g}"
        labels.setdefault((source, target), []).append(text)
    for (source, target), texts in labels.items():
        label = "\\n".join(texts)
        lines.append(f'  {source} -> {target} [label="{label}"];')
    return "\n".join([*lines, "}", ""])


def _escaped(name: str) -> str:
    """Return a symbol as it may stand in a quoted label, in one line."""
    shown = name if name.strip() else repr(name)
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)
    return printable.replace("\\", "\\\\").replace('"', '\\"')
