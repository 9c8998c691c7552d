"""From factorisations of a Hankel block to automata: of any factorisation, and of all ranks of a truncated SVD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from momata.core.alphabet import Alphabet
from momata.core.hankel import HankelBlocks, Scaling, scaled
from momata.core.linalg import SVDMethod, truncated_svd
from momata.core.wfa import WFA, Statistic
from momata.errors import BasisError, OptionError

__all__ = ["Ends", "Operators", "RankPath", "automaton_of_factors", "rank_path"]

Array = NDArray[np.float64]
Operators = Literal["shifted", "selection"]
Ends = Literal["start", "lemma", "observed"]


def automaton_of_factors(blocks: HankelBlocks, P: ArrayLike, S: ArrayLike) -> WFA:
    r"""Return the automaton of any rank factorisation :math:`H = PS` (Lemma 4.1 of the forward-backward paper).

    .. math:: \alpha_1^\top = h_S^\top S^+, \quad \alpha_\infty = P^+ h_P, \quad A_\sigma = P^+ H_\sigma S^+

    Parameters
    ----------
    blocks : HankelBlocks
    P : (n_prefixes, n) array
    S : (n, n_suffixes) array
    """
    left, right = np.asarray(P, dtype=np.float64), np.asarray(S, dtype=np.float64)
    if left.ndim != 2 or right.shape[:1] != left.shape[1:] or (left.shape[0], right.shape[-1]) != blocks.shape:
        raise OptionError(
            f"factors of shapes {left.shape} and {right.shape} do not make a block of shape {blocks.shape}. "
            "Give one of (prefixes, n) and one of (n, suffixes)."
        )
    L, R = (np.asarray(np.linalg.pinv(factor), dtype=np.float64) for factor in (left, right))
    return WFA(blocks.h_s @ R, L @ blocks.h_p, _between(blocks, L, R), blocks.alphabet, blocks.statistic)


@dataclass(frozen=True, eq=False)
class RankPath:
    r"""The automata of every rank that one factorisation gives, each a slice of the largest.

    With :math:`D_p H D_s \approx U \Lambda V^\top` the operator of rank n is the leading n × n block of
    :math:`\Lambda^{-1} U^\top D_p H_\sigma D_s V`.

    Attributes
    ----------
    singular_values : array
        One more than the largest rank, where there is one more, so that the last gap shows.
    initial, final, operators : arrays
        Of the largest rank.
    gram : array or None
        For operators by selection: the Gram matrices by whose leading blocks operators are still to be divided.
    alphabet : Alphabet
    statistic : {"string", "prefix", "suffix", "substring"}
    """

    singular_values: Array
    initial: Array
    final: Array
    operators: Array
    gram: Array | None
    alphabet: Alphabet
    statistic: Statistic

    @property
    def max_rank(self) -> int:
        """The largest rank."""
        return int(self.initial.size)

    @property
    def ranks(self) -> range:
        """All ranks: each costs next to nothing."""
        return range(1, self.max_rank + 1)

    def automaton(self, n_states: int) -> WFA:
        """Return the automaton of one rank."""
        n = n_states
        if not 1 <= n <= self.max_rank:
            raise OptionError(f"n_states={n}: this factorisation has ranks from 1 to {self.max_rank}.")
        operators = self.operators[:, :n, :n]
        if self.gram is not None:
            operators = operators @ np.linalg.pinv(self.gram[:, :n, :n], rcond=_RELATIVE_ZERO, hermitian=True)
        return WFA(self.initial[:n], self.final[:n], operators, self.alphabet, self.statistic)


_RELATIVE_ZERO = 1e-13
_SMALL_CELLS = 2**20  # of a block for which one BLAS thread is fastest


def rank_path(
    blocks: HankelBlocks,
    max_rank: int,
    scaling: Scaling = "roots",
    operators: Operators = "shifted",
    ends: Ends = "start",
    svd: SVDMethod = "auto",
    seed: int = 0,
    n_passes: int = 7,
) -> RankPath:
    r"""Factorise a Hankel block once and return the automata of all ranks.

    With :math:`D_p H D_s \approx U \Lambda V^\top`, :math:`L = \Lambda^{-1} U^\top D_p` and :math:`R = D_s V`,

    .. math:: \alpha_1^\top = h_S^\top R, \quad \alpha_\infty = L h_P, \quad A_\sigma = L H_\sigma R .

    The path ends where singular values are rounding error.

    Parameters
    ----------
    blocks : HankelBlocks
    max_rank : int
    scaling : {"none", "roots", "sums", "counts"}
        :math:`D_p` and :math:`D_s`, see `HankelBlocks.weights`. The ends are not scaled.
    operators : {"shifted", "selection"}
        From :math:`H_\sigma`, or from H alone, over suffixes closed under removal of the first symbol (Algorithm 1 of the
        non-negative paper; here by least squares, since :math:`\sigma s` is not in the basis for every s).
    ends : {"start", "lemma", "observed"}
        ``"lemma"``: the automaton has the statistic of the blocks, and Lemma 3.1 converts it. ``"start"``: the initial vector
        is read off the starts of sequences instead, which holds up where strings are long or few. ``"observed"``: the final
        one off their ends as well (equations 11 to 13 of the parsing paper); the automaton is one of strings.
    svd, seed, n_passes
        See `truncated_svd`.
    """
    if max_rank < 1:
        raise OptionError(f"max_rank={max_rank}: an automaton has at least 1 state.")
    d_p, d_s = blocks.weights(scaling)
    small = blocks.shape[0] * blocks.shape[1] <= _SMALL_CELLS
    with threadpool_limits(limits=1 if small else None, user_api="blas"):
        U, s, V = truncated_svd(scaled(blocks.hankel, d_p, d_s), max_rank + 1, svd, seed, n_passes)
        n = min(max_rank, int(np.count_nonzero(s > _RELATIVE_ZERO * s[0])))
        if not n:
            raise BasisError(
                "the Hankel block of this basis is all 0, so nothing can be learned from it. Select a larger basis."
            )
        L, R = (U[:, :n] * d_p[:, None] / s[:n]).T, V[:, :n] * d_s[:, None]
        h_s, h_p, statistic = _chosen_ends(blocks, ends)
        gram = None
        if operators == "shifted":
            matrices = _between(blocks, L, R)
        elif operators == "selection":
            matrices, gram = _selected(blocks, V[:, :n], d_s)
        else:
            raise OptionError(f"operators={operators!r} is not known. Use shifted or selection.")
        return RankPath(s[: n + 1], h_s @ R, L @ h_p, matrices, gram, blocks.alphabet, statistic)


def _chosen_ends(blocks: HankelBlocks, ends: Ends) -> tuple[Array, Array, Statistic]:
    """Return the row and the column that give the ends, and the statistic that they make."""
    if ends == "lemma" or (ends == "start" and blocks.starts is None):
        return blocks.h_s, blocks.h_p, blocks.statistic
    if ends not in ("start", "observed"):
        raise OptionError(f"ends={ends!r} is not known. Use start, lemma or observed.")
    if blocks.starts is None or blocks.ends is None:
        raise OptionError("ends='observed': these blocks do not say how sequences start and end. Use ends='lemma'.")
    if ends == "observed":
        return blocks.starts, blocks.ends, "string"
    return blocks.starts, blocks.h_p, "string" if blocks.statistic in ("string", "suffix") else "prefix"


def _between(blocks: HankelBlocks, L: Array, R: Array) -> Array:
    r"""Return :math:`L H_\sigma R` for every symbol."""
    found = np.empty((len(blocks.alphabet), L.shape[0], R.shape[1]))
    for sigma in range(len(found)):
        found[sigma] = L @ (blocks.hankel_sigma[sigma] @ R)
    return found


def _selected(blocks: HankelBlocks, V: Array, d_s: Array) -> tuple[Array, Array]:
    r"""Return what gives operators by selection of columns, without the shifted blocks.

    Reading a symbol is a selection of columns: with backward vectors :math:`B = V^\top D_s^{-1}` of the suffixes, and the
    suffixes s for which :math:`\sigma s` is one too, :math:`A_\sigma B_s = B_{\sigma s}`; least squares, weighted as the
    factorisation is.
    """
    column = {s: j for j, s in enumerate(blocks.basis.suffixes)}
    n = V.shape[1]
    products, gram = np.zeros((2, len(blocks.alphabet), n, n))
    for sigma, symbol in enumerate(blocks.alphabet):
        pairs = [(j, column[longer]) for s, j in column.items() if (longer := (symbol, *s)) in column]
        if pairs:
            short, long = np.array(pairs).T
            products[sigma] = (V[long] * (d_s[short] / d_s[long])[:, None]).T @ V[short]
            gram[sigma] = V[short].T @ V[short]
    if not gram.any():
        raise BasisError(
            "operators='selection' needs suffixes of which some are others with a symbol before them, and this basis has none. "
            "Use closed: and its name, or operators='shifted'."
        )
    return products, gram
