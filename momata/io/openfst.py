r"""Automata as OpenFst's text (AT&T format), with symbol tables.

A line ``source target symbol weight`` an arc, a line ``state weight`` a state that may stop; the source of the first line is
the state that starts. A weight that is left out is 1.

- Non-negative string automata are written as OpenFst reads them: weights are costs, :math:`-\log w`, of the tropical or the
  log semiring. Reading takes parallel arcs together, as the log semiring does.
- All others are written with their weights as they are, signs included, below a first line
  ``# semiring=real statistic=STATISTIC`` of our own, which OpenFst refuses rather than misreads.

Beside ``NAME.att`` lies the symbol table ``NAME.syms``: ``<eps> 0`` and then the alphabet in its order, from 1. OpenFst needs
it to compile the text; reading here does not, but without it the alphabet is what occurs, sorted, and open, and whole numbers
are texts. Names that begin with a backslash are ours: behind it stands a symbol as JSON where it cannot stand as it is (white
space, the empty text, a float, a tuple); ``\!closed`` and ``\!integers``, behind the alphabet, say that the alphabet is
complete, and that whole numbers are numbers.
"""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any, get_args

import numpy as np

from momata.core.alphabet import Alphabet, sort_symbols
from momata.core.probabilistic import PFA
from momata.core.wfa import WFA, Statistic
from momata.errors import FormatError, MomataError
from momata.io import model_parts
from momata.io.automata import FORMATS, Array, Row, Rows, check_size, start_of
from momata.io.streams import PathLike, atomic_write, check_writable

__all__ = ["read_openfst", "symbol_table_of", "write_openfst"]

_EPSILONS = ("<eps>", "<epsilon>", "@0@", "@_EPSILON_SYMBOL_@")
_CLOSED, _INTEGERS = "\\!closed", "\\!integers"
_PLAIN = re.compile(r"[^\s\\\x00-\x20\x7f][^\s\x00-\x20\x7f]*")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_PARTS = ("source", "target", "symbol", "weight")


def symbol_table_of(path: PathLike) -> str:
    """Return the name of the symbol table beside a file: its ending replaced by ``.syms``."""
    name = os.fspath(path)
    for ending in (".gz", *FORMATS["att"].endings):
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return name + ".syms"


# ---------------------------------------------------------------------- writing


def write_openfst(wfa: WFA, path: PathLike, force: bool = False) -> None:
    """Write an automaton, and beside it its symbol table (none beside standard output).

    Exact for real weights; costs keep weights to some 15 digits.
    """
    started, start = start_of(wfa)
    check_size(started.n_states, started.n_symbols)
    names, marks = _names_of(wfa.alphabet)
    table = None if os.fspath(path) == "-" else symbol_table_of(path)
    if table is not None:  # both or none
        check_writable(path, force)
        check_writable(table, force)
    with atomic_write(path, force) as file:
        as_costs = wfa.statistic == "string" and started.is_nonnegative()
        if not as_costs:
            file.write(f"# semiring=real statistic={wfa.statistic}\n")
        for state in [start, *(i for i in range(started.n_states) if i != start)]:
            file.writelines(_lines_of(started, state, names, as_costs))
    if table is not None:
        with atomic_write(table, force) as file:
            file.writelines(f"{name}\t{i}\n" for i, name in enumerate(["<eps>", *names, *marks]))


def _lines_of(wfa: WFA, state: int, names: list[str], as_costs: bool) -> list[str]:
    """Return the arcs of a state and its final weight; at least one line, so that no state gets lost."""
    rows = wfa.operators[:, state]
    symbols, targets = np.nonzero(rows)
    weights = _texts(rows[symbols, targets], as_costs)
    arcs = zip(symbols.tolist(), targets.tolist(), weights, strict=True)
    lines = [f"{state}\t{target}\t{names[symbol]}\t{weight}\n" for symbol, target, weight in arcs]
    if wfa.final[state] != 0.0 or not lines:
        lines.append(f"{state}\t{_texts(wfa.final[state : state + 1], as_costs)[0]}\n")
    return lines


def _texts(weights: Array, as_costs: bool) -> list[str]:
    if not as_costs:
        return [repr(w) for w in weights.tolist()]
    with np.errstate(divide="ignore"):
        costs = 0.0 - np.log(weights)  # 0.0, not -0.0, where the weight is 1
    return ["Infinity" if math.isinf(c) else repr(c) for c in costs.tolist()]


def _names_of(alphabet: Alphabet) -> tuple[list[str], list[str]]:
    """Return how symbols are written, and the marks that say what the names do not."""
    numbers = any(isinstance(s, int) and not isinstance(s, bool) for s in alphabet)
    names = [_name_of(symbol, numbers) for symbol in alphabet]
    return names, [mark for mark, holds in ((_CLOSED, alphabet.closed), (_INTEGERS, numbers)) if holds]


def _name_of(symbol: Any, numbers: bool) -> str:
    value = model_parts.symbol_out(symbol)  # refuses what cannot be written at all
    if isinstance(value, int) and not isinstance(value, bool) and _WHOLE.fullmatch(str(value)):
        return str(value)
    looks_like_number = numbers and isinstance(value, str) and _WHOLE.fullmatch(value)
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in _EPSILONS and not looks_like_number:
        return value
    return "\\" + json.dumps(value, separators=(",", ":"), allow_nan=False).replace(" ", "\\u0020")


# ---------------------------------------------------------------------- reading


def read_openfst(path: PathLike) -> WFA:
    """Read an automaton; a PFA where its weights are probabilities.

    Parameters
    ----------
    path : str or path
        Acceptor lines; lines of a transducer are taken where input and output are the same symbol. If ``NAME.syms`` lies beside,
        symbols may be its names or its numbers.
    """
    rows = Rows(path)
    body = list(rows)
    statistic = _header(rows, body)
    arcs, finals, start = _arcs_of(rows, body, statistic is not None)
    alphabet, numbers = _alphabet_of(rows, arcs, path)
    states = sorted({start, *finals, *(a[0] for a in arcs), *(a[1] for a in arcs)})
    rows.check_size(len(states), len(alphabet))
    number = {state: i for i, state in enumerate(states)}
    initial, final = np.zeros(len(states)), np.zeros(len(states))
    operators = np.zeros((len(alphabet), len(states), len(states)))
    initial[number[start]] = 1.0
    for state, weight in finals.items():
        final[number[state]] = weight
    for source, target, name, weight, row in arcs:
        at = (numbers[name], number[source], number[target])
        total = float(operators[at]) + weight
        if not math.isfinite(total):
            raise rows.error("the weights of this arc add up to more than a number can be. Correct them.", row, 3)
        operators[at] = total
    wfa = WFA(initial, final, operators, alphabet, statistic or "string")
    return PFA.of(wfa) if wfa.is_probabilistic() else wfa


_Arc = tuple[int, int, str, float, Row]


def _header(rows: Rows, body: list[Row]) -> Statistic | None:
    """Return the statistic that a first line of our own declares, and take the line away; None without one."""
    if not body:
        raise rows.error("is empty, and an automaton has one line at least. Check that this is the file you mean.")
    if not body[0].words[0].startswith("#"):
        return None
    row = body.pop(0)
    for statistic in get_args(Statistic):
        if row.words == ["#", "semiring=real", f"statistic={statistic}"]:
            if not body:
                raise rows.error("nothing follows the first line. Fetch the file again.", row)
            return statistic  # type: ignore[no-any-return]
    raise rows.error(
        "a first line with # must say 'semiring=real statistic=' and string, prefix, suffix or substring; "
        "OpenFst's text has no comments. Correct it or take it out.",
        row,
    )


def _arcs_of(rows: Rows, body: list[Row], is_real: bool) -> tuple[list[_Arc], dict[int, float], int]:
    """Return arcs, final weights, and the start."""
    transducer = any(len(row.words) == 5 for row in body)
    arcs: list[_Arc] = []
    finals: dict[int, float] = {}
    for row in body:
        n = len(row.words)
        if n > 5:
            raise rows.error(
                f"{n} words, and a line has 5 at most: {', '.join(_PARTS)}, and an output symbol before the weight. "
                "White space in a symbol must be escaped.",
                row, 5,
            )  # fmt: skip
        state = rows.whole(row, 0, "a state")
        if n <= 2:
            if state in finals:
                raise rows.error(f"state {state} has a final weight twice. Keep one.", row)
            finals[state] = _weight(rows, row, 1, is_real) if n == 2 else 1.0
            continue
        target = rows.whole(row, 1, "a state")
        behind = _end_of_labels(row, transducer)
        if behind == 4 and row.words[3] != row.words[2]:
            raise rows.error(
                f"input {row.words[2][:40]!r} and output {row.words[3][:40]!r} differ: a transducer, and an acceptor is needed. "
                "Project it on one side first (fstproject).",
                row, 3,
            )  # fmt: skip
        if row.words[2] in _EPSILONS:
            raise rows.error("an empty move. Take them out first (fstrmepsilon).", row, 2)
        weight = _weight(rows, row, behind, is_real) if n > behind else 1.0
        arcs.append((state, target, row.words[2], weight, row))
    return arcs, finals, int(body[0].words[0])


def _end_of_labels(row: Row, transducer: bool) -> int:
    """Return the column of the weight: in a transducer's file there are two labels before it."""
    words = row.words
    if len(words) == 4 and not transducer and words[2] == words[3]:
        try:
            float(words[3])
        except ValueError:
            return 4
        return 3
    return 4 if transducer and len(words) >= 4 else 3


def _weight(rows: Rows, row: Row, i: int, is_real: bool) -> float:
    value = rows.number(row, i, "a weight")
    if not is_real:
        if value < -709.0:
            raise rows.error(f"{row.words[i][:40]} stands for a weight that is too large. Correct it.", row, i)
        return math.exp(-value)
    if math.isinf(value):
        raise rows.error(f"{row.words[i][:40]} is infinite, and real weights are finite. Correct it.", row, i)
    return value


# ---------------------------------------------------------------------- symbols


def _alphabet_of(rows: Rows, arcs: list[_Arc], path: PathLike) -> tuple[Alphabet, dict[str, int]]:
    """Return the alphabet, and the number of the symbol that each name in the arcs stands for."""
    table = "" if os.fspath(path) == "-" else symbol_table_of(path)
    used: dict[str, Row] = {}
    for arc in arcs:
        used.setdefault(arc[2], arc[4])
    if table and os.fspath(path) != table and Path(table).is_file():
        return _alphabet_of_table(rows, used, table)
    symbols = {name: _symbol_of(rows, name, False, row) for name, row in used.items()}
    try:
        alphabet = Alphabet(sort_symbols(dict.fromkeys(symbols.values())))
        return alphabet, {name: alphabet.index(symbol) for name, symbol in symbols.items()}
    except (MomataError, TypeError) as error:
        raise rows.error(f"these symbols make no alphabet: {error}") from None


def _alphabet_of_table(rows: Rows, used: dict[str, Row], table: str) -> tuple[Alphabet, dict[str, int]]:
    """Read the symbol table, and look up the names; where they are none of its names, as its labels."""
    entries = Rows(table)
    labels: dict[str, int] = {}
    taken: set[int] = set()
    where: dict[str, Row] = {}
    for row in entries:
        if len(row.words) != 2:
            raise entries.error(f"{len(row.words)} words, and a line of a symbol table has a name and a number.", row)
        name, label = row.words[0], entries.whole(row, 1, "the number of a symbol")
        if name in labels or label in taken:
            raise entries.error(f"{name[:40]!r} or its number {label} stands here a second time. Keep one.", row)
        labels[name], where[name] = label, row
        taken.add(label)
    numbers = _INTEGERS in labels
    names = [n for n in sorted(labels, key=labels.__getitem__) if labels[n] and n not in (_CLOSED, _INTEGERS)]
    names = [n for n in names if n not in _EPSILONS]
    try:
        found = [_symbol_of(entries, name, numbers, where[name]) for name in names]
        alphabet = Alphabet(found, closed=_CLOSED in labels)
    except FormatError:
        raise
    except (MomataError, TypeError) as error:
        raise entries.error(f"these symbols make no alphabet: {error}") from None
    place = {name: i for i, name in enumerate(names)}
    if not used.keys() <= place.keys():
        by_label = {str(labels[name]): i for i, name in enumerate(names)}
        if used.keys() <= by_label.keys():
            return alphabet, by_label
        lost = next(name for name in used if name not in place)
        raise rows.error(
            f"symbol {lost[:40]!r} is not in the symbol table {table}. "
            "Correct the table, or take it away if it belongs elsewhere.",
            used[lost], 2,
        )  # fmt: skip
    return alphabet, place


def _symbol_of(rows: Rows, name: str, numbers: bool, row: Row) -> Any:
    """Return the symbol that a name stands for."""
    if numbers and _WHOLE.fullmatch(name):
        return int(name)
    if not name.startswith("\\"):
        return name
    try:
        symbol = model_parts.symbol_in(json.loads(name[1:], parse_constant=model_parts.no_constant))
        hash(symbol)
    except (KeyError, TypeError, ValueError, RecursionError):
        raise rows.error(
            f"{name[:40]!r}: what follows the backslash is no symbol in JSON. Write other symbols without one.",
            row, row.words.index(name),
        ) from None  # fmt: skip
    return symbol
