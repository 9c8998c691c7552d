"""Weighted automata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from momata.core.alphabet import Alphabet
from momata.core.corpus import as_corpus
from momata.errors import OptionError

__all__ = ["WFA", "Statistic"]

Statistic = Literal["string", "prefix", "suffix", "substring"]


@dataclass(frozen=True, eq=False)
class WFA:
    r"""A weighted automaton: a function of strings given by vectors and matrices.

    .. math:: f(x_1 \dots x_T) = \alpha_1^\top A_{x_1} \cdots A_{x_T} \alpha_\infty

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
        Which expectation the weights stand for.
    """

    initial: NDArray[np.float64]
    final: NDArray[np.float64]
    operators: NDArray[np.float64]
    alphabet: Alphabet
    statistic: Statistic = "string"

    def __post_init__(self) -> None:
        n, n_symbols = np.size(self.initial), len(self.alphabet)
        shapes = {"initial": (n,), "final": (n,), "operators": (n_symbols, n, n)}
        for name, shape in shapes.items():
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != shape:
                raise OptionError(
                    f"{name} has shape {array.shape}; with {n} states and {n_symbols} symbols it must be {shape}."
                )
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def n_states(self) -> int:
        """Number of states."""
        return int(self.initial.size)

    def weights(self, sequences: Any) -> NDArray[np.float64]:
        """Return the weight of each sequence.

        Examples
        --------
        >>> geometric = WFA([1.0], [0.5], [[[0.5]]], Alphabet("a"))
        >>> geometric.weights(["", "a", "aa"])
        array([0.5  , 0.25 , 0.125])
        """
        corpus = as_corpus(sequences, self.alphabet, "error")
        found = np.empty(len(corpus))
        for i in range(len(corpus)):
            forward = self.initial
            for sigma in corpus.tokens[corpus.offsets[i] : corpus.offsets[i + 1]]:
                forward = forward @ self.operators[sigma]
            found[i] = forward @ self.final
        return found
