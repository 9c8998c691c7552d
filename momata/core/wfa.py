"""Weighted automata: vectors, matrices, and the algebra of the functions they compute."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from momata._kernels import automata
from momata.core.alphabet import Alphabet
from momata.core.corpus import as_corpus
from momata.core.counting import count_prefixes
from momata.core.linalg import spectral_radius
from momata.errors import AlphabetError, OptionError

__all__ = ["WFA", "Statistic", "convert"]

Statistic = Literal["string", "prefix", "suffix", "substring"]

Array = NDArray[np.float64]
_Automaton = TypeVar("_Automaton", bound="WFA")

_STARTS_ANYWHERE = ("suffix", "substring")  # statistics whose initial vector is summed over all strings before
_ENDS_ANYWHERE = ("prefix", "substring")  # and those whose final vector is summed over all strings behind


@dataclass(frozen=True, eq=False, repr=False)
class WFA:
    r"""A weighted automaton: a function of strings given by vectors and matrices.

    .. math:: f(x_1 \dots x_T) = \alpha_1^\top A_{x_1} \cdots A_{x_T} \alpha_\infty

    Immutable: every operation returns a new automaton.

    Parameters
    ----------
    initial : (n_states,) array
        The row vector :math:`\alpha_1`.
    final : (n_states,) array
        The column vector :math:`\alpha_\infty`.
    operators : (n_symbols, n_states, n_states) array
        :math:`A_\sigma`, a matrix for each symbol.
    alphabet : Alphabet
    statistic : {"string", "prefix", "suffix", "substring"}
        Which expectation the weights stand for; `convert` changes it.

    Examples
    --------
    >>> geometric = WFA([1.0], [0.5], [[[0.5]]], Alphabet("a"))
    >>> geometric.weights(["", "a", "aa"])
    array([0.5  , 0.25 , 0.125])
    """

    initial: Array
    final: Array
    operators: Array
    alphabet: Alphabet
    statistic: Statistic = "string"

    def __post_init__(self) -> None:
        if self.statistic not in get_args(Statistic):
            raise OptionError(f"statistic={self.statistic!r} is not known. Use string, prefix, suffix or substring.")
        n, n_symbols = np.size(self.initial), len(self.alphabet)
        shapes = {"initial": (n,), "final": (n,), "operators": (n_symbols, n, n)}
        for name, shape in shapes.items():
            array = np.array(getattr(self, name), dtype=np.float64)
            if not n_symbols and not array.size and name == "operators":
                array = array.reshape(shape)
            if array.shape != shape:
                raise OptionError(
                    f"{name} has shape {array.shape}; with {n} states and {n_symbols} symbols it must be {shape}."
                )
            if not np.all(np.isfinite(array)):
                raise OptionError(
                    f"{np.count_nonzero(~np.isfinite(array))} of {array.size} weights in {name} are NaN or infinite."
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        name, states = type(self).__name__, f"{self.n_states} state{'s' if self.n_states != 1 else ''}"
        return f"{name}({states} over {self.n_symbols} symbols, {self.statistic} statistic)"

    # ------------------------------------------------------------------ looking

    @property
    def n_states(self) -> int:
        """Number of states."""
        return int(self.initial.size)

    @property
    def n_symbols(self) -> int:
        """Size of the alphabet."""
        return len(self.alphabet)

    @cached_property
    def total(self) -> Array:
        r"""The summed operator :math:`A = \sum_\sigma A_\sigma`."""
        return np.asarray(self.operators.sum(axis=0))

    @cached_property
    def spectral_radius(self) -> float:
        """Largest absolute eigenvalue of the summed operator; sums over all strings converge if it is below 1."""
        return spectral_radius(self.total)

    def is_summable(self, tol: float = 1e-12) -> bool:
        """Return whether the spectral radius is below ``1 - tol``, so that sums over all strings converge."""
        return self.spectral_radius < 1 - tol

    def is_nonnegative(self, tol: float = 0.0) -> bool:
        """Return whether no weight is below ``-tol``."""
        arrays = (self.initial, self.final, self.operators)
        return all(float(a.min(initial=0.0)) >= -tol for a in arrays)

    def is_probabilistic(self, tol: float = 1e-9) -> bool:
        """Return whether this is a PFA.

        That is: string statistic, no weight below ``-tol``, and the initial weights and those that leave each state sum to
        1, give or take ``tol``.
        """
        rows = self.total.sum(axis=1) + self.final
        sums_to_one = abs(self.initial.sum() - 1) <= tol and bool(np.all(np.abs(rows - 1) <= tol))
        return self.statistic == "string" and self.is_nonnegative(tol) and sums_to_one

    def encode(self, string: Iterable[Hashable]) -> NDArray[np.int32]:
        """Return the numbers of a string's symbols."""
        return np.array([self.alphabet.index(s) for s in string], dtype=np.int32)

    def forward(self, string: Iterable[Hashable] = ()) -> Array:
        """Return the row vectors after each prefix of a string, shape (T + 1, n_states)."""
        found = [self.initial]
        for sigma in self.encode(string):
            found.append(found[-1] @ self.operators[sigma])
        return np.array(found)

    def backward(self, string: Iterable[Hashable] = ()) -> Array:
        """Return the column vectors before each suffix of a string, shape (T + 1, n_states); the last one is ``final``."""
        found = [self.final]
        for sigma in self.encode(string)[::-1]:
            found.append(self.operators[sigma] @ found[-1])
        return np.array(found[::-1])

    def weight(self, string: Iterable[Hashable]) -> float:
        """Return the weight of one string."""
        return float(self.forward(string)[-1] @ self.final)

    def weights(self, sequences: Any) -> Array:
        """Return the weight of each sequence; prefixes that sequences share are computed once."""
        tree = count_prefixes(as_corpus(sequences, self.alphabet, "error"))
        values = np.empty(tree.n_nodes)
        automata.node_values(
            tree.symbol, tree.parent, tree.level_offsets, self.initial, self.operators, self.final, values
        )
        assert tree.sequence_node is not None
        found: Array = values[tree.sequence_node]
        return found

    # ------------------------------------------------------------------ algebra

    def replace(self, initial: ArrayLike, final: ArrayLike, operators: ArrayLike) -> WFA:
        """Return an automaton with other weights over the same alphabet, for the same statistic."""
        return WFA(np.asarray(initial), np.asarray(final), np.asarray(operators), self.alphabet, self.statistic)

    def over(self, alphabet: Alphabet) -> WFA:
        """Return the automaton over another alphabet: strings with symbols that it did not have get weight 0."""
        operators = np.zeros((len(alphabet), self.n_states, self.n_states))
        for i, symbol in enumerate(alphabet):
            sigma = self.alphabet.find(symbol)
            if sigma is not None:
                operators[i] = self.operators[sigma]
        return WFA(self.initial, self.final, operators, alphabet, self.statistic)

    def reverse(self) -> WFA:
        r"""Return the automaton of :math:`f(x_T \dots x_1)`; prefixes become suffixes."""
        mirrored: dict[str, Statistic] = {"prefix": "suffix", "suffix": "prefix"}
        statistic = mirrored.get(self.statistic, self.statistic)
        return WFA(self.final, self.initial, self.operators.transpose(0, 2, 1), self.alphabet, statistic)

    def change_basis(self, Q: ArrayLike) -> WFA:
        r"""Return :math:`\langle \alpha_1^\top Q, Q^{-1} \alpha_\infty, Q^{-1} A_\sigma Q \rangle`: the same function."""
        matrix = np.asarray(Q, dtype=np.float64)
        if matrix.shape != (self.n_states, self.n_states):
            raise OptionError(
                f"Q has shape {matrix.shape}; with {self.n_states} states it must be square of that size."
            )
        try:
            solved = np.linalg.solve(matrix[None], self.operators @ matrix)
            return self.replace(self.initial @ matrix, np.linalg.solve(matrix, self.final), solved)
        except np.linalg.LinAlgError:
            raise OptionError("Q is singular, so it is no change of basis. Give an invertible matrix.") from None

    def scale(self, factor: float) -> WFA:
        """Return the automaton of ``factor`` times the function."""
        return self.replace(self.initial * factor, self.final, self.operators)

    def __add__(self, other: WFA) -> WFA:
        """Return the automaton of the sum of two functions: their states side by side."""
        if not isinstance(other, WFA):
            return NotImplemented
        self._check_partner(other)
        n, m = self.n_states, other.n_states
        operators = np.zeros((self.n_symbols, n + m, n + m))
        operators[:, :n, :n], operators[:, n:, n:] = self.operators, other.operators
        return self.replace(np.append(self.initial, other.initial), np.append(self.final, other.final), operators)

    def __neg__(self) -> WFA:
        return self.scale(-1.0)

    def __sub__(self, other: WFA) -> WFA:
        if not isinstance(other, WFA):
            return NotImplemented
        return self + (-other)

    def __mul__(self, other: WFA) -> WFA:
        """Return the automaton of the product, string by string (Hadamard): its states are pairs."""
        if not isinstance(other, WFA):
            return NotImplemented
        self._check_partner(other)
        n = self.n_states * other.n_states
        operators = np.einsum("sij,skl->sikjl", self.operators, other.operators).reshape(self.n_symbols, n, n)
        return self.replace(np.kron(self.initial, other.initial), np.kron(self.final, other.final), operators)

    def _check_partner(self, other: WFA) -> None:
        if self.alphabet != other.alphabet:
            raise AlphabetError(
                f"automata over different alphabets ({self.n_symbols} and {other.n_symbols} symbols) cannot be combined. "
                "Write both over the union of their alphabets."
            )
        if self.statistic != other.statistic:
            raise OptionError(
                f"a {self.statistic} automaton and a {other.statistic} automaton cannot be combined. Convert one of them."
            )

    def total_mass(self) -> float:
        r"""Return the sum of the weights of all strings, :math:`\alpha_1^\top (I - A)^{-1} \alpha_\infty`."""
        return float(self.initial @ self._summed(self.final))

    def _summed(self, vector: Array) -> Array:
        r"""Return :math:`(I - A)^{-1} v`."""
        if not self.is_summable():
            raise OptionError(
                f"the spectral radius of the summed operators is {self.spectral_radius:.6g}, so sums over all strings diverge. "
                "Try a smaller rank, the substring statistic, or more data."
            )
        return np.asarray(np.linalg.solve(np.eye(self.n_states) - self.total, vector), dtype=np.float64)


def convert(wfa: WFA, to: Statistic) -> WFA:
    r"""Return the automaton of another statistic of the same distribution (Lemma 3.1 of the forward-backward paper).

    The operators stay. Where strings may start anywhere the initial vector is :math:`(I - A)^{-\top} \alpha_1`, where they
    may end anywhere the final vector is :math:`(I - A)^{-1} \alpha_\infty`. Towards these the spectral radius of :math:`A`
    must be below 1; the way back is a product and always possible.

    Examples
    --------
    >>> geometric = WFA([1.0], [0.5], [[[0.5]]], Alphabet("a"))
    >>> convert(geometric, to="prefix").weights(["", "a", "aa"])
    array([1.  , 0.5 , 0.25])
    """
    if to not in get_args(Statistic):
        raise OptionError(f"to={to!r} is not a statistic. Use string, prefix, suffix or substring.")
    initial = _with_ends(wfa, wfa.initial, wfa.statistic in _STARTS_ANYWHERE, to in _STARTS_ANYWHERE, transpose=True)
    final = _with_ends(wfa, wfa.final, wfa.statistic in _ENDS_ANYWHERE, to in _ENDS_ANYWHERE, transpose=False)
    return WFA(initial, final, wfa.operators, wfa.alphabet, to)


def _with_ends(wfa: WFA, vector: Array, now: bool, wanted: bool, transpose: bool) -> Array:
    if now == wanted:
        return vector
    if wanted:
        return wfa.reverse()._summed(vector) if transpose else wfa._summed(vector)
    return np.asarray(vector - (vector @ wfa.total if transpose else wfa.total @ vector))
