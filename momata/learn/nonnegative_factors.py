"""From non-negative factorisations of a Hankel block, or from chosen rows of it, to probabilistic automata."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from momata.core.hankel import HankelBlocks, Scaling, scaled
from momata.core.nnls import nnls_gram
from momata.core.probabilistic import PFA
from momata.errors import BasisError, OptionError, generator
from momata.learn.factors import Operators

__all__ = ["NMFMethod", "NonNegativePath", "ResidualPath", "factorise"]

Array = NDArray[np.float64]
NMFMethod = Literal["cd", "anls"]

RANKS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 28, 34, 40, 48, 57, 68, 80, 96, 114, 136, 160)
LEAST_STOP = 1e-4  # chance of ending that every state keeps, so that strings are finite
RELIABLE = 30.0  # occurrences from which a row of relative frequencies may become a state
_RADIUS = 0.999  # of operators that would not sum
_TRUST = 200.0  # occurrences at which a row is trusted by half


def factorise(
    matrix: Any,
    rank: int,
    method: NMFMethod = "cd",
    restarts: int = 1,
    seed: int = 0,
    n_steps: int = 400,
    tol: float = 1e-5,
) -> tuple[Array, Array]:
    """Return non-negative F and G with ``F @ G`` close to a non-negative matrix, dense or sparse; the best of several starts.

    Parameters
    ----------
    matrix : (m, k) array or sparse array
    rank : int
    method : {"cd", "anls"}
        Coordinate descent, or alternating non-negative least squares.
    restarts : int
        The first start is made of singular vectors (NNDSVD), the others are random.
    seed : int
    n_steps, tol : int, float
        Steps end when the residual falls by less than ``tol`` of its norm, relative to the first step.
    """
    if method not in ("cd", "anls"):
        raise OptionError(f"nmf={method!r} is not known. Use cd or anls.")
    rank = min(rank, *matrix.shape)
    if not matrix.sum() > 0:
        return np.zeros((matrix.shape[0], rank)), np.zeros((rank, matrix.shape[1]))
    rng = generator([seed, rank])
    best: tuple[float, Array, Array] | None = None
    for k in range(max(1, restarts)):
        F, G = _start(matrix, rank, k, rng)
        F, G = (_descend if method == "cd" else _alternate)(matrix, F, G, n_steps, tol)
        error = _residual(matrix, F, G)
        if best is None or error < best[0]:
            best = error, F, G
    assert best is not None
    return best[1], best[2]


def _start(matrix: Any, rank: int, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    from sklearn.decomposition._nmf import _initialize_nmf

    kind = "nndsvda" if k == 0 and rank > 1 else "random"
    with np.errstate(invalid="ignore"):  # singular values that are 0 make factors that are not numbers
        F, G = _initialize_nmf(matrix, rank, init=kind, random_state=int(rng.integers(2**31)))
    mean = float(np.sqrt(matrix.mean() / rank))
    return np.nan_to_num(np.ascontiguousarray(F), nan=mean), np.nan_to_num(np.ascontiguousarray(G), nan=mean)


def _descend(matrix: Any, F: Array, G: Array, n_steps: int, tol: float) -> tuple[Array, Array]:
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    solver = NMF(F.shape[1], init="custom", solver="cd", max_iter=n_steps, tol=tol)
    with (
        warnings.catch_warnings(),
        np.errstate(invalid="ignore"),
    ):  # of the root of a residual that rounds to less than 0
        warnings.simplefilter("ignore", ConvergenceWarning)  # a start for what follows need not be exact
        found = solver.fit_transform(matrix, W=F, H=G)
    return found, solver.components_


def _alternate(matrix: Any, F: Array, G: Array, n_steps: int, tol: float) -> tuple[Array, Array]:
    first = before = _residual(matrix, F, G)
    for _ in range(n_steps):
        G = nnls_gram(F.T @ F, np.asarray(matrix.T @ F).T)
        F = nnls_gram(G @ G.T, np.asarray(matrix @ G.T).T).T
        after = _residual(matrix, F, G)
        if before - after <= tol * first:
            break
        before = after
    return F, G


def _residual(matrix: Any, F: Array, G: Array) -> float:
    """Return the squared Frobenius norm of what a factorisation leaves."""
    square = float((matrix.data**2).sum()) if hasattr(matrix, "tocsr") else float((matrix**2).sum())
    return square - 2.0 * float(((matrix @ G.T) * F).sum()) + float(((F.T @ F) * (G @ G.T)).sum())


@dataclass(eq=False)
class NonNegativePath:
    """PFAs of every rank by NNSpectral; each factorises anew, once.

    Attributes
    ----------
    blocks : HankelBlocks
        With the empty string among the suffixes.
    scaling : {"none", "roots", "sums", "counts"}
        Of the block that is factorised; undone afterwards.
    operators : {"shifted", "selection"}
    """

    blocks: HankelBlocks
    max_rank: int
    scaling: Scaling = "roots"
    operators: Operators = "shifted"
    method: NMFMethod = "cd"
    restarts: int = 1
    seed: int = 0
    singular_values: Array | None = None
    _found: dict[int, PFA] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.max_rank = min(self.max_rank, *self.blocks.shape)
        _check_blocks(self.blocks)
        if self.operators not in get_args(Operators):
            raise OptionError(f"operators={self.operators!r} is not known. Use shifted or selection.")
        symbols, suffixes = list(self.blocks.alphabet), set(self.blocks.basis.suffixes)
        if (
            self.operators == "selection"
            and symbols
            and not any((a, *s) in suffixes for a in symbols for s in suffixes)
        ):
            raise BasisError(
                "operators='selection' needs suffixes of which some are others with a symbol before them, and this basis "
                "has none. Use closed: and its name, or operators='shifted'."
            )

    @property
    def ranks(self) -> list[int]:
        """Numbers of states that are worth a factorisation each."""
        return [n for n in RANKS if n <= self.max_rank]

    def automaton(self, n_states: int) -> PFA:
        """Return the PFA of one rank."""
        if n_states not in self._found:
            self._found[n_states] = self._learn(n_states)
        return self._found[n_states]

    def _learn(self, n: int) -> PFA:
        blocks = self.blocks
        d_p, d_s = blocks.weights(self.scaling)
        F, G = factorise(scaled(blocks.hankel, d_p, d_s), n, self.method, self.restarts, self.seed)
        keep = (F.max(axis=0) > 0) & (G.max(axis=1) > 0)
        F, G = F[:, keep], G[keep]  # of D_p H D_s
        unit = _units(G / d_s, blocks)
        sound = unit > 1e-12 * unit.max(initial=0.0)
        if not sound.any():
            raise BasisError("no factor of the Hankel block gives mass to the empty suffix. Select a larger basis.")
        F, G = F[:, sound] * unit[sound], G[sound] / unit[sound, None]
        after = self._selected(G, d_s) if self.operators == "selection" else self._shifted(F, d_p, d_s)
        stops = nnls_gram(F.T @ F, (F.T @ (d_p * blocks.ends))[:, None])[:, 0]  # type: ignore[operator]
        return _pfa(blocks, after, stops, G, d_s)

    def _shifted(self, F: Array, d_p: Array, d_s: Array) -> list[Array]:
        r"""Return for every symbol the best :math:`X \ge 0` with :math:`F X = D_p H_\sigma D_s`: futures after that symbol."""
        gram = F.T @ F
        return [nnls_gram(gram, np.asarray(scaled(H, d_p, d_s).T @ F).T) for H in self.blocks.hankel_sigma]

    def _selected(self, G: Array, d_s: Array) -> list[Array]:
        r"""Return for every symbol the columns :math:`\sigma s` of G in the places of s, NaN where there is none."""
        column = {s: j for j, s in enumerate(self.blocks.basis.suffixes)}
        found = []
        for symbol in self.blocks.alphabet:
            target = np.full_like(G, np.nan)
            for s, j in column.items():
                if (longer := column.get((symbol, *s))) is not None:
                    target[:, j] = G[:, longer] / d_s[longer] * d_s[j]
            found.append(target)
        return found


@dataclass(eq=False)
class ResidualPath:
    """PFAs of every number of states, each state the future of some prefix: no factorisation.

    Rows of conditional frequencies are chosen one after the other, each the farthest from the span of those before; what a
    symbol makes of them is a mixture of them, by non-negative least squares.
    """

    blocks: HankelBlocks
    max_rank: int
    scaling: Scaling = "roots"
    singular_values: Array | None = None

    def __post_init__(self) -> None:
        _check_blocks(self.blocks)
        share = np.asarray(self.blocks.hankel.sum(axis=1)) if _of_strings(self.blocks) else self.blocks.h_p
        counts = share * (self.blocks.n_sequences or 1e12)
        self._rows = np.flatnonzero(counts >= min(RELIABLE, float(counts.max())))
        self._d_s = self.blocks.weights(self.scaling)[1]
        rows = _dense(self.blocks.hankel)[self._rows]
        self._units = _units(rows, self.blocks)
        sound = self._units > 0
        self._rows, self._units = self._rows[sound], self._units[sound]
        self._futures = rows[sound] / self._units[:, None]
        trust = np.sqrt(1.0 / (1.0 + _TRUST / counts[self._rows]))
        left = self._futures * self._d_s * trust[:, None]
        least = 1e-20 * float((left**2).sum(axis=1).max())
        self._chosen: list[int] = []
        for _ in range(min(self.max_rank, *self._futures.shape)):
            lengths = (left**2).sum(axis=1)
            best = int(lengths.argmax())
            if lengths[best] <= least:
                break
            self._chosen.append(best)
            unit = left[best] / np.sqrt(lengths[best])
            left = left - np.outer(left @ unit, unit)
        self.max_rank = len(self._chosen)

    @property
    def ranks(self) -> list[int]:
        """Numbers of states that are tried."""
        return [n for n in RANKS if n <= self.max_rank]

    def automaton(self, n_states: int) -> PFA:
        """Return the PFA of one number of states."""
        blocks, chosen = self.blocks, self._chosen[:n_states]
        G = self._futures[chosen] * self._d_s
        rows, units = self._rows[chosen], self._units[chosen, None]
        after = [_dense(H[rows]) / units * self._d_s for H in blocks.hankel_sigma]
        stops = blocks.ends[rows] / units[:, 0]  # type: ignore[index]
        return _pfa(blocks, after, stops, G, self._d_s)


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if hasattr(matrix, "tocsr") else matrix, dtype=np.float64)


def _check_blocks(blocks: HankelBlocks) -> None:
    if () not in blocks.basis.suffixes:
        raise BasisError("non-negative learners need the empty string among the suffixes. Add it, or use symbols+.")
    if blocks.starts is None or blocks.ends is None:
        raise OptionError(
            "these blocks do not say how sequences start and end, which a PFA needs. Count a corpus instead."
        )
    if not blocks.hankel.sum() > 0:
        raise BasisError(
            "the Hankel block of this basis is all 0, so nothing can be learned from it. Select a larger basis."
        )


def _of_strings(blocks: HankelBlocks) -> bool:
    """Return whether cells are chances of whole endings, not of what goes on."""
    return blocks.statistic in ("string", "suffix")


def _units(futures: Array, blocks: HankelBlocks) -> Array:
    """Return what rows of futures are divided by: what the empty suffix gets, or, of whole endings, their sum."""
    if _of_strings(blocks):
        return np.asarray(futures.sum(axis=1))
    return np.asarray(futures[:, blocks.basis.suffixes.index(())])


def _pfa(blocks: HankelBlocks, after: list[Array], stops: Array, G: Array, d_s: Array) -> PFA:
    r"""Return the PFA of states whose futures are the rows of ``G``; columns are scaled by ``d_s``.

    Parameters
    ----------
    after : list of (n, n_suffixes) arrays
        For each symbol the futures after it, which become mixtures of those of the states; NaN in columns that are not known.
    stops : (n,) array
        Chance that a state ends, where futures are of what goes on.

    Notes
    -----
    Where cells are chances of whole endings, the empty one is the final weight, and the non-negative automaton is normalised.
    Else the chance of a symbol is its future for the empty suffix; chances and ``stops`` are made to sum to 1.
    """
    gram, empty = G @ G.T, blocks.basis.suffixes.index(())
    mixtures = np.array([_mixtures(G, target) for target in after]).reshape(-1, *gram.shape)
    start = nnls_gram(gram, (G @ (blocks.starts * d_s))[:, None])[:, 0]  # type: ignore[operator]
    if not start.sum() > 0:
        start = np.ones(len(G))
    if _of_strings(blocks):
        return _normalised(start, G[:, empty] / d_s[empty], mixtures, blocks)
    sums = mixtures.sum(axis=2)  # (n_symbols, n)
    chances = np.array([target[:, empty] / d_s[empty] for target in after]).reshape(sums.shape)
    chances = np.where(np.isnan(chances), sums, np.maximum(chances, 0.0))
    mixtures *= (chances / np.where(sums > 0, sums, 1.0))[:, :, None]
    stops = np.clip(stops, LEAST_STOP, 1.0)
    rows = mixtures.sum(axis=(0, 2)) + stops
    return PFA(start / start.sum(), stops / rows, mixtures / rows[:, None], blocks.alphabet)


def _mixtures(G: Array, target: Array) -> Array:
    r"""Return the best :math:`X \ge 0` with :math:`X G` = ``target``, over the columns that are known."""
    known = ~np.isnan(target[0])
    part = G if known.all() else G[:, known]
    return np.ascontiguousarray(nnls_gram(part @ part.T, part @ target[:, known].T).T)


def _normalised(start: Array, final: Array, operators: Array, blocks: HankelBlocks) -> PFA:
    """Return the PFA of a non-negative automaton; a spectral radius of 1 or more is scaled down, states that never end stop."""
    radius = float(np.abs(np.linalg.eigvals(operators.sum(axis=0))).max())
    if radius >= _RADIUS:
        operators = operators * (_RADIUS / radius)
    final = final + 1e-6 * max(float(final.max()), 1e-300)
    total = np.linalg.solve(np.eye(len(start)) - operators.sum(axis=0), final)
    initial = start * total
    return PFA(initial / initial.sum(), final / total, operators * total / total[:, None], blocks.alphabet)
