"""Hankel blocks: the statistics from which automata are learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from momata.core.alphabet import Alphabet
from momata.core.basis import Basis
from momata.core.wfa import WFA, Statistic

__all__ = ["HankelBlocks", "exact_blocks"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class HankelBlocks:
    r"""The blocks of the Hankel matrix of a function f over a basis of prefixes p and suffixes s.

    Attributes
    ----------
    hankel : (n_prefixes, n_suffixes) array
        :math:`H[p, s] = f(ps)`.
    hankel_sigma : (n_symbols, n_prefixes, n_suffixes) array
        :math:`H_\sigma[p, s] = f(p \sigma s)`.
    h_p : (n_prefixes,) array
        :math:`f(p)`, the column of the empty suffix; read on its own, so that this need not be in the basis.
    h_s : (n_suffixes,) array
        :math:`f(s)`, the row of the empty prefix.
    basis : Basis
    alphabet : Alphabet
    statistic : {"string", "prefix", "suffix", "substring"}
    """

    hankel: Array
    hankel_sigma: Array
    h_p: Array
    h_s: Array
    basis: Basis
    alphabet: Alphabet
    statistic: Statistic

    def __repr__(self) -> str:
        n, m = self.hankel.shape
        return f"HankelBlocks({n} prefixes, {m} suffixes, {len(self.alphabet)} symbols, {self.statistic} statistic)"


def exact_blocks(wfa: WFA, basis: Basis) -> HankelBlocks:
    r"""Return the Hankel blocks of the function that an automaton computes.

    With forward vectors of the prefixes as rows of P and backward vectors of the suffixes as columns of S,
    :math:`H = PS` and :math:`H_\sigma = P A_\sigma S`.

    Examples
    --------
    >>> geometric = WFA([1.0], [0.5], [[[0.5]]], Alphabet("a"))
    >>> exact_blocks(geometric, Basis.of(["", "a"], ["", "a"])).hankel
    array([[0.5  , 0.25 ],
           [0.25 , 0.125]])
    """
    P = np.array([wfa.forward(prefix)[-1] for prefix in basis.prefixes])
    S = np.array([wfa.backward(suffix)[0] for suffix in basis.suffixes]).T
    return HankelBlocks(
        P @ S, P @ wfa.operators @ S, P @ wfa.final, wfa.initial @ S, basis, wfa.alphabet, wfa.statistic
    )
