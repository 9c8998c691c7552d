"""Hankel blocks: the statistics from which automata are learned."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from momata._kernels import trees
from momata.core.alphabet import Alphabet
from momata.core.basis import Basis, select_basis
from momata.core.corpus import as_corpus
from momata.core.linalg import spectral_norm
from momata.core.statistics import Counts, check_statistic, count_statistic, read_cells, values_at
from momata.core.wfa import WFA, Statistic
from momata.errors import BasisError, DataError, OptionError

__all__ = ["HankelBlocks", "estimate_hankel", "exact_blocks", "hankel_from_counts", "hankel_from_table", "noise_level"]

Array = NDArray[np.float64]
Matrix = Any  # a dense array or a csr_array
Scaling = Literal["none", "roots", "sums", "counts"]

_PSEUDO_COUNT = 5.0


@dataclass(frozen=True, eq=False, repr=False)
class HankelBlocks:
    r"""The blocks of the Hankel matrix of a function f over a basis of prefixes p and suffixes s.

    Attributes
    ----------
    hankel : (n_prefixes, n_suffixes) array or sparse array
        :math:`H[p, s] = f(ps)`.
    hankel_sigma : sequence of n_symbols matrices of that shape (dense: one array)
        :math:`H_\sigma[p, s] = f(p \sigma s)`.
    h_p : (n_prefixes,) array
        :math:`f(p)`, the column of the empty suffix; read on its own, so that this need not be in the basis.
    h_s : (n_suffixes,) array
        :math:`f(s)`, the row of the empty prefix.
    basis : Basis
    alphabet : Alphabet
    statistic : {"string", "prefix", "suffix", "substring"}
    n_sequences : float or None
        How many sequences were counted; None where the cells are exact.
    starts : (n_suffixes,) array or None
        What ``h_s`` would be if strings had to stand at the start of a sequence.
    ends : (n_prefixes,) array or None
        What ``h_p`` would be if strings had to stand at the end of a sequence.
    """

    hankel: Matrix
    hankel_sigma: Any
    h_p: Array
    h_s: Array
    basis: Basis
    alphabet: Alphabet
    statistic: Statistic
    n_sequences: float | None = None
    starts: Array | None = None
    ends: Array | None = None

    def __repr__(self) -> str:
        n, m = self.hankel.shape
        return f"HankelBlocks({n} prefixes, {m} suffixes, {len(self.alphabet)} symbols, {self.statistic} statistic)"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of prefixes, number of suffixes."""
        n, m = self.hankel.shape
        return int(n), int(m)

    def weights(self, scaling: Scaling) -> tuple[Array, Array]:
        r"""Return the diagonals of :math:`D_p` and :math:`D_s` by which rows and columns are scaled before factorising.

        Frequent rows dominate an unweighted SVD (``"none"``). With the row sums r of H, and likewise the column sums,
        ``"sums"`` is :math:`(r_p + 5/N)^{-1/2}`, which makes all cells about equally noisy, and ``"roots"`` the square root
        of that, halfway between. ``"counts"`` is :math:`\sqrt{|S| / (\#p + 5)}` with how often p was counted, as in the
        non-negative paper.
        """
        if scaling == "none":
            return np.ones(self.shape[0]), np.ones(self.shape[1])
        if scaling not in get_args(Scaling):
            raise OptionError(f"scaling={scaling!r} is not known. Use none, roots, sums or counts.")
        extra = 0.0 if self.n_sequences is None else _PSEUDO_COUNT / self.n_sequences
        if scaling == "counts":
            size = 1.0 if self.n_sequences is None else self.shape[1] / self.n_sequences
            return _power(self.h_p + extra, -0.5) * size**0.5, _power(self.h_s + extra, -0.5) * size**0.5
        power = -0.5 if scaling == "sums" else -0.25
        rows, columns = (np.asarray(self.hankel.sum(axis=axis)) + extra for axis in (1, 0))
        return _power(rows, power), _power(columns, power)


def _power(values: Array, power: float) -> Array:
    """Return a negative power; sums of exact cells that are 0 or less count as the smallest above 0."""
    above = values[values > 0]
    least = float(above.min()) if above.size else 1.0
    return np.asarray(np.maximum(values, least) ** power)


# ------------------------------------------------------------------ counted


def estimate_hankel(corpus: Any, basis: Basis | str, statistic: Statistic = "substring") -> HankelBlocks:
    """Estimate Hankel blocks by relative frequencies.

    Parameters
    ----------
    corpus : Corpus or collection of sequences
    basis : Basis or str
        See `select_basis`.
    statistic : {"string", "prefix", "suffix", "substring"}
        Probability of a string, probability that a sequence starts with it, expected number of sequences that end with it,
        expected number of occurrences in a sequence.

    Examples
    --------
    >>> blocks = estimate_hankel(["ab", "ab", "b", ""], Basis.of(["", "a"], ["", "b"]), "string")
    >>> blocks.hankel.toarray()
    array([[0.25, 0.25],
           [0.  , 0.5 ]])
    """
    corpus = as_corpus(corpus)
    basis = select_basis(corpus, basis, statistic=statistic)
    counts = count_statistic(corpus, statistic, basis.longest_prefix, basis.longest_suffix)
    return hankel_from_counts(counts, basis)


def hankel_from_counts(counts: Counts, basis: Basis) -> HankelBlocks:
    """Read Hankel blocks off counted trees, sparse, at the cost of the cells that are not 0."""
    N = counts.n_sequences
    if not N:
        raise DataError("a corpus without sequences has no Hankel matrix. Give at least one, which may be empty.")
    tree, values = counts.tree, counts.values / N
    needed = basis.longest_prefix + basis.longest_suffix + 1
    if tree.depth < needed:
        raise BasisError(
            f"strings were counted up to length {tree.depth}, and this basis needs {needed}: its longest prefix, a symbol, and "
            "its longest suffix. Count deeper, or choose a basis of shorter strings."
        )
    prefixes, suffixes = basis.encode(tree.alphabet)
    rows = tree.find_all(prefixes)
    after = np.full((len(tree.alphabet), rows.size), -1, np.int64)
    trees.place_children(tree.symbol, tree.child_start, rows, after)
    hankel = read_cells(tree, values, suffixes, rows)
    stacked = read_cells(tree, values, suffixes, after.ravel())
    at_start = counts.prefix_tree.end if counts.to_end else counts.prefix_tree.through
    starts = values_at(at_start, counts.prefix_tree.find_all(suffixes)) / N
    return HankelBlocks(
        hankel, _unstacked(stacked, rows.size), values_at(values, rows),
        values_at(values, tree.find_all(suffixes)), basis, tree.alphabet, counts.statistic, N,
        starts, values_at(tree.end, rows) / N,
    )  # fmt: skip


def _unstacked(stacked: csr_array, n_rows: int) -> list[csr_array]:
    """Cut a matrix of blocks one below the other into the blocks; data are shared."""
    pointers, data, columns = stacked.indptr, stacked.data, stacked.indices
    blocks = []
    for low in range(0, stacked.shape[0], n_rows):
        here = pointers[low : low + n_rows + 1]
        cells = slice(here[0], here[-1])
        blocks.append(csr_array((data[cells], columns[cells], here - here[0]), shape=(n_rows, stacked.shape[1])))
    return blocks


# ------------------------------------------------------------------ computed, or given


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
    gap = np.eye(wfa.n_states) - wfa.total
    start = wfa.initial @ gap if wfa.statistic in ("suffix", "substring") else wfa.initial
    end = gap @ wfa.final if wfa.statistic in ("prefix", "substring") else wfa.final
    return HankelBlocks(
        P @ S,
        P @ wfa.operators @ S,
        P @ wfa.final,
        wfa.initial @ S,
        basis,
        wfa.alphabet,
        wfa.statistic,
        None,
        start @ S,
        P @ end,
    )


def hankel_from_table(
    table: ArrayLike,
    prefixes: Iterable[Iterable[Hashable]],
    suffixes: Iterable[Iterable[Hashable]],
    alphabet: Alphabet | Iterable[Hashable],
    statistic: Statistic = "string",
) -> HankelBlocks:
    r"""Take Hankel blocks from a table of values f(ps), whose rows and columns the caller names.

    The basis has the rows p for which :math:`p\sigma` is a row too, for every symbol (the root of a p-closed set of rows),
    and all columns; the empty string must be a row and a column.

    Examples
    --------
    >>> table = [[0.5, 0.25], [0.25, 0.125]]
    >>> blocks = hankel_from_table(table, ["", "a"], ["", "a"], "a")
    >>> blocks.hankel, blocks.hankel_sigma[0]
    (array([[0.5 , 0.25]]), array([[0.25 , 0.125]]))
    """
    check_statistic(statistic)
    symbols = alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet)
    whole = Basis.of(prefixes, suffixes)
    values = np.asarray(table, dtype=np.float64)
    wanted = (len(whole.prefixes), len(whole.suffixes))
    if values.shape != wanted or not np.all(np.isfinite(values)):
        raise OptionError(
            f"the table has shape {values.shape}; with {wanted[0]} prefixes and {wanted[1]} suffixes it must be "
            f"{wanted}, all finite."
        )
    row = {p: i for i, p in enumerate(whole.prefixes)}
    if () not in row or () not in whole.suffixes:
        raise BasisError("the empty string must be a row and a column of the table. Add it.")
    root = [p for p in whole.prefixes if all((*p, sigma) in row for sigma in symbols)]
    if not root:
        raise BasisError(
            f"no row p of the table has all {len(symbols)} rows p followed by a symbol, so no operator can be read off. "
            "Add those rows for at least one p."
        )
    at = [row[p] for p in root]
    shifted = np.array([values[[row[(*p, sigma)] for p in root]] for sigma in symbols])
    empty = whole.suffixes.index(())
    return HankelBlocks(
        values[at], shifted.reshape(len(symbols), len(root), wanted[1]), values[at, empty], values[row[()]],
        Basis(tuple(root), whole.suffixes), symbols, statistic,
    )  # fmt: skip


# ------------------------------------------------------------------ how noisy


def noise_level(
    corpus: Any, basis: Basis | str, statistic: Statistic = "substring", scaling: Scaling = "none", seed: int = 0
) -> float:
    r"""Return about how large singular values are that noise alone makes: :math:`\|H_1 - H_2\|_2 / 2` of two random halves.

    Singular values above it stand for states that the sample can tell apart: a first guess of their number, without
    held-out data.
    """
    corpus = as_corpus(corpus)
    basis = select_basis(corpus, basis, statistic=statistic)
    d_p, d_s = estimate_hankel(corpus, basis, statistic).weights(scaling)
    one, other = (scaled(estimate_hankel(half, basis, statistic).hankel, d_p, d_s) for half in corpus.split(0.5, seed))
    return spectral_norm(one - other, seed) / 2.0


def scaled(hankel: Matrix, d_p: Array, d_s: Array) -> Matrix:
    """Return :math:`D_p H D_s`."""
    if not hasattr(hankel, "tocsr"):
        return d_p[:, None] * hankel * d_s
    found = hankel.copy()
    found.data *= np.repeat(d_p, np.diff(hankel.indptr)) * d_s[hankel.indices]
    return found
