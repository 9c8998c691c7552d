r"""The text formats of treba [1]_: probabilistic automata and hidden Markov models, symbols as numbers from 0.

- An automaton (PFSA) has lines ``source target symbol probability`` and ``state probability`` (the end); it starts in state 0.
- In an HMM, lines ``source > target probability`` are transitions and ``state symbol probability`` emissions. State 0 starts, the
  highest state ends, and neither emits; the others emit when they are entered:
  :math:`A_\sigma[i, j] = T_{ij}\, O_{j \sigma}`, and :math:`T_{i, end}` is the chance to stop after state i.

Probabilities are real numbers (treba's default, not its logarithms); lines that begin with ``#`` are comments.

References
----------
.. [1] M. Hulden, "Treba: Efficient Numerically Stable EM for PFA", ICGI 2012.
"""

from __future__ import annotations

from typing import IO

import numpy as np

from momata.core.alphabet import Alphabet
from momata.core.probabilistic import HMM, PFA
from momata.core.wfa import WFA
from momata.io.automata import Array, Row, Rows, as_pfa, check_size, start_of
from momata.io.streams import PathLike, atomic_write

__all__ = ["read_treba", "write_treba", "write_treba_hmm"]

_Entries = dict[tuple[int, ...], float]
_EQUAL = 1e-12  # how far weights may be from those of an HMM


def read_treba(path: PathLike) -> PFA:
    """Read an automaton or an HMM of treba; transitions with ``>`` tell which.

    Sums may be off by 1e-6, since files print few digits; they are made exact. An HMM becomes the PFA whose states are its
    states but the last.
    """
    rows = Rows(path)
    body = [row for row in rows if not row.words[0].startswith("#")]
    if not body:
        raise rows.error("is empty, and an automaton has one line at least. Check that this is the file you mean.")
    return _read_hmm(rows, body) if any(">" in row.words for row in body) else _read_pfsa(rows, body)


def _read_pfsa(rows: Rows, body: list[Row]) -> PFA:
    arcs: _Entries = {}
    finals: _Entries = {}
    for row in body:
        n = len(row.words)
        if n > 4:
            raise rows.error(f"{n} words, and a line has 4 at most: source, target, symbol, probability.", row, 4)
        n_key = 1 if n <= 2 else 3
        _enter(rows, row, arcs if n > 2 else finals, tuple(range(n_key)), n_key)
    states = {0} | {key[0] for key in finals} | {s for key in arcs for s in key[:2]}
    n, n_symbols = 1 + max(states), 1 + max((key[2] for key in arcs), default=-1)
    _check_states(rows, states, n)
    rows.check_size(n, n_symbols)
    initial, final, operators = np.eye(1, n)[0], np.zeros(n), np.zeros((n_symbols, n, n))
    for (state,), value in finals.items():
        final[state] = value
    for (source, target, symbol), value in arcs.items():
        operators[symbol, source, target] = value
    return _normalised(rows, initial, final, operators)


def _read_hmm(rows: Rows, body: list[Row]) -> PFA:
    moves: _Entries = {}
    emissions: _Entries = {}
    for row in body:
        if ">" in row.words:
            if row.words.index(">") != 1 or not 3 <= len(row.words) <= 4:
                raise rows.error("a transition of an HMM is 'source > target probability'. Correct the line.", row)
            _enter(rows, row, moves, (0, 2), 3)
        elif 2 <= len(row.words) <= 3:
            _enter(rows, row, emissions, (0, 1), 2)
        else:
            raise rows.error("an emission of an HMM is 'state symbol probability'. Correct the line.", row)
    states = {0} | {s for key in moves for s in key} | {key[0] for key in emissions}
    end, n_symbols = max(states), 1 + max((key[1] for key in emissions), default=-1)
    _check_states(rows, states, end + 1)
    rows.check_size(end + 1, n_symbols)
    transitions, emit = np.zeros((end + 1, end + 1)), np.zeros((end + 1, n_symbols))
    for key, value in moves.items():
        transitions[key] = value
    for key, value in emissions.items():
        emit[key] = value
    if end == 0 or transitions[end].any() or transitions[:, 0].any() or emit[0].any() or emit[end].any():
        raise rows.error(
            f"state 0 must start and the highest one, {end}, end: nothing leads to the first or from the last, "
            "and neither emits. Number the states so."
        )
    used = transitions[:, :end].any(axis=0)
    rows.sums_to_one(np.where(used, emit[:end].sum(axis=1), 1.0), "emissions")
    emit[:end][used] /= emit[:end][used].sum(axis=1, keepdims=True)
    operators = transitions[None, :end, :end] * emit[:end].T[:, None, :]
    return _normalised(rows, np.eye(1, end)[0], transitions[:end, end], operators)


def _enter(rows: Rows, row: Row, table: _Entries, places: tuple[int, ...], at: int) -> None:
    """Enter a line in a table: the numbers at some places, with the probability that follows, or 1."""
    key = tuple(rows.whole(row, i, "a state or a symbol") for i in places)
    if key in table:
        raise rows.error("a second line for the same thing. Keep one.", row)
    table[key] = rows.probability(row, at) if len(row.words) > at else 1.0


def _check_states(rows: Rows, states: set[int], n: int) -> None:
    if len(states) != n:
        raise rows.error(
            f"{len(states)} states occur and the highest is {n - 1}. Number the states from 0 without gaps."
        )


def _normalised(rows: Rows, initial: Array, final: Array, operators: Array) -> PFA:
    sums = operators.sum(axis=(0, 2)) + final
    rows.sums_to_one(sums, "probabilities that leave")
    return PFA(initial, final / sums, operators / sums[:, None], Alphabet.of_size(operators.shape[0]))


# ---------------------------------------------------------------------- writing


def write_treba(wfa: WFA, path: PathLike, force: bool = False) -> None:
    """Write a PFA as treba's automaton; what is none is refused. Symbols are written as their numbers."""
    started, start = start_of(as_pfa(wfa, "treba's text"))
    check_size(started.n_states, started.n_symbols)
    number = _start_first(started.n_states, start)
    with atomic_write(path, force) as file:
        for state in np.argsort(number).tolist():
            targets, symbols = np.nonzero(started.operators[:, state].T)
            values = started.operators[symbols, state, targets].tolist()
            arcs = zip(number[targets].tolist(), symbols.tolist(), values, strict=True)
            file.writelines(f"{number[state]} {target} {symbol} {value!r}\n" for target, symbol, value in arcs)
        if started.n_symbols and not started.operators[-1].any():  # so that the size of the alphabet stays
            file.write(f"0 0 {started.n_symbols - 1} 0.0\n")
        for state in np.argsort(number).tolist():
            if started.final[state] or state == start:
                file.write(f"{number[state]} {float(started.final[state])!r}\n")


def _start_first(n: int, start: int) -> np.ndarray:
    """Return the new numbers of states when one of them becomes the first."""
    return np.where(np.arange(n) == start, 0, np.arange(n) + (np.arange(n) < start))


def write_treba_hmm(wfa: WFA, path: PathLike, force: bool = False) -> None:
    r"""Write a PFA as treba's HMM, with as few states as its form allows.

    Where what a state emits on entry does not depend on where one came from, its own states are enough; otherwise those of
    `PFA.to_hmm`, at most :math:`\min(n^2, n |\Sigma|)`.
    """
    pfa = as_pfa(wfa, "treba's HMM text")
    check_size(pfa.n_states, pfa.n_symbols)
    start, moves, ends, emit = _on_entry(pfa) or _on_leaving(HMM.of(pfa, tol=_EQUAL) or pfa.to_hmm())
    keep = start[:-1] + moves.sum(axis=0) > 0  # states that are never entered are left out
    moves, ends, emit = moves[keep][:, keep], ends[keep], emit[keep]
    n = int(keep.sum())
    with atomic_write(path, force) as file:
        _write_moves(file, 0, np.append(start[:-1][keep], start[-1]), end=True)
        for state in range(n):
            _write_moves(file, state + 1, np.append(moves[state], ends[state]), end=False)
        for state, symbol in zip(*np.nonzero(emit), strict=True):
            file.write(f"{state + 1} {symbol} {float(emit[state, symbol])!r}\n")
        if pfa.n_symbols and not emit[:, -1].any():  # so that the size of the alphabet stays
            file.write(f"1 {pfa.n_symbols - 1} 0.0\n")


def _write_moves(file: IO[str], state: int, row: Array, end: bool) -> None:
    """Write where a state leads; ``end`` says that the last one is named also with probability 0."""
    for target, value in enumerate(row.tolist(), 1):
        if value or (end and target == row.size):
            file.write(f"{state} > {target} {value!r}\n")


_Parts = tuple[Array, Array, Array, Array]  # from the start (and, last, to the end), moves, to the end, emissions


def _on_entry(pfa: PFA) -> _Parts | None:
    """Return the HMM on the same states, if what they emit when entered does not depend on where one came from."""
    moves = pfa.total
    emit = pfa.operators.sum(axis=1).T
    entered = emit.sum(axis=1, keepdims=True)
    emit = np.divide(emit, entered, out=np.zeros_like(emit), where=entered > 0)
    for symbol in range(pfa.n_symbols):
        if np.abs(pfa.operators[symbol] - moves * emit[:, symbol]).max(initial=0.0) > _EQUAL:
            return None
    return np.append(pfa.initial @ moves, pfa.initial @ pfa.final), moves, pfa.final, emit


def _on_leaving(hmm: HMM) -> _Parts:
    """Return the HMM with the decision to stop taken one step earlier, on the way into a state."""
    going_on = 1.0 - hmm.stopping
    sums = hmm.emissions.sum(axis=1, keepdims=True)
    emit = np.divide(hmm.emissions, sums, out=np.zeros_like(hmm.emissions), where=sums > 0)
    start = np.append(hmm.initial * going_on, hmm.initial @ hmm.stopping)
    return start, hmm.transitions * going_on, hmm.transitions @ hmm.stopping, emit
