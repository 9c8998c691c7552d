"""Automata that are distributions by construction: PFA, deterministic ones, and hidden Markov models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.core.alphabet import Alphabet
from momata.core.wfa import WFA
from momata.errors import OptionError, generator

__all__ = ["HMM", "PFA", "normalise", "random_hmm", "random_pdfa", "random_pfa"]

Array = NDArray[np.float64]

_SUMS = 1e-9  # how far sums may be from 1
_ROUNDING = 1e-13  # and how far they are after they were made 1


class PFA(WFA):
    r"""A probabilistic automaton: no negative weight, :math:`\alpha_1^\top 1 = 1`, :math:`A 1 + \alpha_\infty = 1`.

    State ``i`` stops with probability ``final[i]`` or emits ``sigma`` and moves to ``j`` with probability
    ``operators[sigma, i, j]``. Sums may be off by 1e-9; they are made exact.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_probabilistic(_SUMS):
            rows = self.total.sum(axis=1) + self.final
            lowest = min(float(a.min(initial=0.0)) for a in (self.initial, self.final, self.operators))
            raise OptionError(
                f"these weights are no PFA: lowest weight {lowest:.3g}, initial weights sum to {self.initial.sum():.9g}, "
                f"states sum to between {rows.min(initial=1.0):.9g} and {rows.max(initial=1.0):.9g} (wanted: 1), "
                f"statistic {self.statistic}. Normalise the automaton first."
            )
        if self.is_nonnegative() and self.is_probabilistic(_ROUNDING):
            return  # so that a PFA made of a PFA is the same to the bit
        operators, final = np.maximum(self.operators, 0.0), np.maximum(self.final, 0.0)
        initial = np.maximum(self.initial, 0.0)
        rows = operators.sum(axis=(0, 2)) + final
        for name, array in (
            ("initial", initial / initial.sum()),
            ("final", final / rows),
            ("operators", operators / rows[:, None]),
        ):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def of(cls, wfa: WFA) -> PFA:
        """Return a WFA whose weights already are probabilities as a PFA."""
        return wfa if isinstance(wfa, PFA) else cls(wfa.initial, wfa.final, wfa.operators, wfa.alphabet)

    def is_deterministic(self) -> bool:
        """Return whether one state starts and every symbol leads each state to one state at most: a PDFA."""
        one_start = np.count_nonzero(self.initial) == 1
        return one_start and bool(np.all(np.count_nonzero(self.operators, axis=2) <= 1))

    def expected_length(self) -> float:
        r"""Return :math:`E|x| = \alpha_1^\top (I - A)^{-1} 1 - 1`; infinite where some string never ends."""
        if not self.is_summable():
            return float("inf")
        return float(self.initial @ self._summed(np.ones(self.n_states))) - 1.0

    def to_hmm(self) -> HMM:
        r"""Return an HMM of the same distribution, with at most :math:`\min(n^2, n |\Sigma|)` states.

        A state of the HMM knows beforehand either which symbol comes next or which state: whichever needs fewer.
        """
        by_symbol = _decided(self.operators, self.final)
        by_state = _decided(self.operators.transpose(2, 1, 0), self.final)
        if np.count_nonzero(by_symbol[0]) <= np.count_nonzero(by_state[0]):
            return _hmm_knowing_symbol(self, by_symbol[0])
        return _hmm_knowing_state(self, by_state[0])


def _decided(table: Array, final: Array) -> tuple[Array]:
    """Return the chance of each first coordinate of ``table`` in each state, given that the state does not stop."""
    mass = table.sum(axis=2).T  # (n, choices)
    going_on = mass.sum(axis=1, keepdims=True)
    share = np.divide(mass, going_on, out=np.zeros_like(mass), where=going_on > 0)
    share[going_on[:, 0] == 0, 0] = 1.0  # a state that always stops: its choice never matters
    return (share,)


def _hmm_knowing_symbol(pfa: PFA, share: Array) -> HMM:
    state, symbol = np.nonzero(share)
    step = pfa.operators[symbol, state]  # (states of the HMM, n)
    step = _rows_to_one(step)
    emissions = np.zeros((state.size, pfa.n_symbols))
    emissions[np.arange(state.size), symbol] = 1.0 - pfa.final[state]
    arrival = share[state, symbol]
    return HMM(pfa.initial[state] * arrival, step[:, state] * arrival, emissions, pfa.final[state], pfa.alphabet)


def _hmm_knowing_state(pfa: PFA, share: Array) -> HMM:
    state, following = np.nonzero(share)
    emissions = _rows_to_one(pfa.operators[:, state, following].T) * (1.0 - pfa.final[state])[:, None]
    arrival = share[state, following]
    moves = (following[:, None] == state[None, :]) * arrival
    return HMM(pfa.initial[state] * arrival, moves, emissions, pfa.final[state], pfa.alphabet)


def _rows_to_one(matrix: Array) -> Array:
    """Scale rows to sum 1; a row of zeros becomes uniform."""
    sums = matrix.sum(axis=1, keepdims=True)
    return np.where(sums > 0, matrix / np.where(sums > 0, sums, 1.0), 1.0 / max(matrix.shape[1], 1))


@dataclass(frozen=True, eq=False)
class HMM:
    r"""A hidden Markov model with stopping: a state stops, or emits a symbol and then moves.

    Parameters
    ----------
    initial : (n_states,) array
        Sums to 1.
    transitions : (n_states, n_states) array
        Rows sum to 1.
    emissions : (n_states, n_symbols) array
        With ``stopping``, rows sum to 1: ``emissions[i, a]`` is the chance that state i does not stop and emits a.
    stopping : (n_states,) array
    alphabet : Alphabet
    """

    initial: Array
    transitions: Array
    emissions: Array
    stopping: Array
    alphabet: Alphabet

    def __post_init__(self) -> None:
        n, n_symbols = np.size(self.initial), len(self.alphabet)
        shapes = {"initial": (n,), "transitions": (n, n), "emissions": (n, n_symbols), "stopping": (n,)}
        for name, shape in shapes.items():
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape:
                raise OptionError(
                    f"{name} has shape {array.shape}; with {n} states and {n_symbols} symbols it must be {shape}."
                )
            if not (np.all(np.isfinite(array)) and array.min(initial=0.0) >= 0):
                raise OptionError(
                    f"{name} holds numbers that are no probabilities (lowest {array.min(initial=0.0):.3g})."
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        sums = {
            "initial": self.initial.sum(keepdims=True),
            "transitions": self.transitions.sum(axis=1),
            "emissions with stopping": self.emissions.sum(axis=1) + self.stopping,
        }
        for name, found in sums.items():
            if np.any(np.abs(found - 1) > _SUMS):
                raise OptionError(f"{name} must sum to 1 and sums to between {found.min():.9g} and {found.max():.9g}.")

    @property
    def n_states(self) -> int:
        """Number of hidden states."""
        return int(self.initial.size)

    def to_pfa(self) -> PFA:
        r"""Return the PFA of the same distribution and states, :math:`A_\sigma = \mathrm{diag}(O_\sigma) T`."""
        operators = self.emissions.T[:, :, None] * self.transitions[None]
        return PFA(self.initial, self.stopping, operators, self.alphabet)

    @classmethod
    def of(cls, pfa: PFA, tol: float = 1e-9) -> HMM | None:
        """Return a PFA as an HMM on the same states, or None if it is none: where a state goes may not depend on the symbol."""
        emissions = pfa.operators.sum(axis=2).T
        moves = pfa.total
        going_on = emissions.sum(axis=1)
        transitions = np.where(
            going_on[:, None] > 0, moves / np.where(going_on > 0, going_on, 1.0)[:, None], 1.0 / max(pfa.n_states, 1)
        )
        rebuilt = emissions.T[:, :, None] * transitions[None]
        if np.abs(rebuilt - pfa.operators).max(initial=0.0) > tol:
            return None
        return cls(pfa.initial, transitions, emissions, pfa.final, pfa.alphabet)


def normalise(wfa: WFA) -> tuple[PFA, float]:
    r"""Return a non-negative automaton of finite mass as a PFA, and the mass: the function is the mass times the PFA's.

    Exact: with :math:`s = (I - A)^{-1} \alpha_\infty` and :math:`Z = \alpha_1^\top s`, state ``i`` is measured in units of
    :math:`s_i`; states with :math:`s_i = 0` lead nowhere and are left out.
    """
    if wfa.statistic != "string":
        raise OptionError(
            f"a {wfa.statistic} automaton does not sum to a mass. Convert it to the string statistic first."
        )
    if not wfa.is_nonnegative():
        raise OptionError(
            "some weights are negative, so the automaton is no multiple of a PFA. Use polish, or a non-negative learner."
        )
    s = wfa._summed(wfa.final)
    keep = s > 0
    mass = float(wfa.initial @ s)
    if not mass > 0:
        raise OptionError("every string has weight 0, so there is nothing to normalise.")
    s = s[keep]
    operators = wfa.operators[:, keep][:, :, keep] * s / s[:, None]
    return PFA(wfa.initial[keep] * s / mass, wfa.final[keep] / s, operators, wfa.alphabet), mass


# ------------------------------------------------------------------ random targets


def random_hmm(n_states: int, n_symbols: int, seed: int = 0, sparsity: float = 0.5, mean_length: float = 10.0) -> HMM:
    """Draw an HMM in the manner of the PAutomaC competition.

    Of all pairs of states, and of all pairs of state and symbol, a share of ``1 - sparsity`` is kept (at least one a state), with
    probabilities from a flat Dirichlet distribution; stopping probabilities are drawn around ``1 / (mean_length + 1)``.
    """
    rng = _checked_target(n_states, n_symbols, sparsity, mean_length, seed)
    stopping = _stopping(n_states, mean_length, rng)
    emissions = _sparse_rows(n_states, n_symbols, sparsity, rng) * (1.0 - stopping)[:, None]
    transitions = _sparse_rows(n_states, n_states, sparsity, rng)
    return HMM(
        _sparse_rows(1, n_states, sparsity, rng)[0], transitions, emissions, stopping, Alphabet.of_size(n_symbols)
    )


def random_pfa(n_states: int, n_symbols: int, seed: int = 0, sparsity: float = 0.5, mean_length: float = 10.0) -> PFA:
    """Draw a PFA in the manner of the PAutomaC competition: of all transitions a share of ``1 - sparsity`` is kept."""
    rng = _checked_target(n_states, n_symbols, sparsity, mean_length, seed)
    stopping = _stopping(n_states, mean_length, rng)
    rows = _sparse_rows(n_states, n_symbols * n_states, sparsity, rng) * (1.0 - stopping)[:, None]
    operators = rows.reshape(n_states, n_symbols, n_states).transpose(1, 0, 2)
    return PFA(_sparse_rows(1, n_states, sparsity, rng)[0], stopping, operators, Alphabet.of_size(n_symbols))


def random_pdfa(n_states: int, n_symbols: int, seed: int = 0, sparsity: float = 0.5, mean_length: float = 10.0) -> PFA:
    """Draw a deterministic PFA: one start, and each kept pair of state and symbol leads to one state."""
    rng = _checked_target(n_states, n_symbols, sparsity, mean_length, seed)
    stopping = _stopping(n_states, mean_length, rng)
    emissions = _sparse_rows(n_states, n_symbols, sparsity, rng) * (1.0 - stopping)[:, None]
    target = rng.integers(0, n_states, (n_states, n_symbols))
    operators = np.zeros((n_symbols, n_states, n_states))
    state, symbol = np.indices((n_states, n_symbols))
    operators[symbol, state, target] = emissions
    initial = np.zeros(n_states)
    initial[0] = 1.0
    return PFA(initial, stopping, operators, Alphabet.of_size(n_symbols))


def _checked_target(
    n_states: int, n_symbols: int, sparsity: float, mean_length: float, seed: Any
) -> np.random.Generator:
    if n_states < 1 or n_symbols < 1 or not 0 <= sparsity < 1 or not 0.01 <= mean_length <= 1e6:
        raise OptionError(
            f"n_states={n_states}, n_symbols={n_symbols}, sparsity={sparsity}, mean_length={mean_length}: "
            "a target needs at least one state and symbol, a sparsity in [0, 1), and a mean length from 0.01 to a million."
        )
    return generator(seed)


def _stopping(n_states: int, mean_length: float, rng: np.random.Generator) -> Array:
    stop = 1.0 / (mean_length + 1.0)
    return rng.beta(2.0, 2.0 * (1.0 - stop) / stop, n_states)


def _sparse_rows(n_rows: int, n_columns: int, sparsity: float, rng: np.random.Generator) -> Array:
    """Draw rows that sum to 1, of which a share of about ``1 - sparsity`` of the entries is positive."""
    keep = rng.random((n_rows, n_columns)) >= sparsity
    keep[np.arange(n_rows), rng.integers(0, n_columns, n_rows)] = True
    rows = np.where(keep, rng.exponential(size=(n_rows, n_columns)), 0.0)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))
