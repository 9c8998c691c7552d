"""Equality, minimisation, and the geometry of weighted automata."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.core.linalg import orthonormal_extension, symmetric_root
from momata.core.wfa import WFA
from momata.errors import OptionError

__all__ = [
    "SingularValueAutomaton",
    "approximate",
    "basis_between",
    "counterexample",
    "distance",
    "equivalent",
    "gramians",
    "inner_product",
    "minimise",
    "norm",
    "singular_value_automaton",
]

Array = NDArray[np.float64]

_ROUNDING = 1e-14  # a product shorter than this share of what it could be is nothing but rounding
_DENSE_GRAMIAN = 40  # states up to which the linear system of a Gramian is written out


# ------------------------------------------------------------------ equality and minimisation


@dataclass(frozen=True)
class _Reach:
    """The space of forward vectors, by words that span it."""

    basis: Array  # (rank, n) orthonormal rows
    vectors: Array  # (rank, n) unit forward vectors of the words
    words: list[tuple[int, ...]]


def _forward_space(wfa: WFA, tol: float) -> _Reach:
    """Span the forward vectors by a breadth-first search over words; a word that adds nothing is not extended."""
    basis = np.empty((0, wfa.n_states))
    vectors: list[Array] = []
    words: list[tuple[int, ...]] = []
    queue: deque[tuple[Array, tuple[int, ...]]] = deque([(wfa.initial, ())])
    while queue and basis.shape[0] < wfa.n_states:
        vector, word = queue.popleft()
        direction = orthonormal_extension(basis, vector, tol)
        if direction is None:
            continue
        unit = vector / np.linalg.norm(vector)
        basis = np.vstack([basis, direction])
        vectors.append(unit)
        words.append(word)
        for sigma, operator in enumerate(wfa.operators):
            following = unit @ operator
            if np.linalg.norm(following) > _ROUNDING * np.linalg.norm(operator):
                queue.append((following, (*word, sigma)))
    return _Reach(basis, np.array(vectors).reshape(len(vectors), wfa.n_states), words)


def _restricted(wfa: WFA, basis: Array) -> WFA:
    """Return the automaton in coordinates of a space that holds all its forward vectors."""
    return wfa.replace(basis @ wfa.initial, basis @ wfa.final, basis @ wfa.operators @ basis.T)


def minimise(wfa: WFA, tol: float = 1e-10) -> WFA:
    """Return the automaton with the fewest states that computes the same function.

    First what no string reaches is left out, then, on the reversed automaton, what no string can tell apart. A direction
    counts as reached if it is longer than ``tol``, as a share of the forward vector that points there.
    """
    reached = _restricted(wfa, _forward_space(wfa, tol).basis).reverse()
    return _restricted(reached, _forward_space(reached, tol).basis).reverse()


def counterexample(f: WFA, g: WFA, tol: float = 1e-9) -> tuple[Hashable, ...] | None:
    """Return a shortest string with different weights, or None if the automata compute the same function.

    Weights differ if they do so by more than ``tol`` times the lengths of the forward and final vectors they come from.
    """
    difference = f - g
    scale = np.linalg.norm(difference.final)
    if not scale:
        return None
    reach = _forward_space(difference, 1e-12)
    for vector, word in zip(reach.vectors, reach.words, strict=True):
        if abs(vector @ difference.final) > tol * scale:
            return tuple(f.alphabet[sigma] for sigma in word)
    return None


def equivalent(f: WFA, g: WFA, tol: float = 1e-9) -> bool:
    """Return whether two automata compute the same function."""
    return counterexample(f, g, tol) is None


def basis_between(f: WFA, g: WFA, tol: float = 1e-10) -> Array:
    r"""Return Q with ``g = f.change_basis(Q)`` for two minimal automata of one function.

    Corollary 4.2 of the forward-backward paper: with the forward vectors of the same words as rows of :math:`P_f` and
    :math:`P_g`, :math:`Q = P_f^+ P_g`.
    """
    if f.n_states != g.n_states:
        raise OptionError(
            f"automata with {f.n_states} and {g.n_states} states have no change of basis between them. Minimise both first."
        )
    words = _forward_space(f, tol).words
    if len(words) < f.n_states:
        raise OptionError(
            f"the first automaton has {f.n_states} states and needs only {len(words)}. Minimise it first."
        )
    P_f, P_g = (np.array([_forward(wfa, word) for word in words]) for wfa in (f, g))
    scale = np.linalg.norm(P_f, axis=1, keepdims=True)
    return np.asarray(np.linalg.lstsq(P_f / scale, P_g / scale, rcond=None)[0], dtype=np.float64)


def _forward(wfa: WFA, word: tuple[int, ...]) -> Array:
    row = wfa.initial
    for sigma in word:
        row = row @ wfa.operators[sigma]
    return row


# ------------------------------------------------------------------ geometry


def inner_product(f: WFA, g: WFA) -> float:
    r"""Return :math:`\sum_x f(x) g(x)`; both functions must be square summable."""
    f._check_partner(g)
    X = _fixed_point(f.operators, g.operators, np.outer(f.final, g.final))
    return float(f.initial @ X @ g.initial)


def norm(wfa: WFA) -> float:
    r"""Return the length :math:`(\sum_x f(x)^2)^{1/2}`."""
    return float(np.sqrt(max(inner_product(wfa, wfa), 0.0)))


def distance(f: WFA, g: WFA) -> float:
    r"""Return :math:`(\sum_x (f(x) - g(x))^2)^{1/2}`, exactly: the norm of the difference automaton."""
    return norm(f - g)


def gramians(wfa: WFA) -> tuple[Array, Array]:
    r"""Return :math:`G_P` and :math:`G_S`, the sums over all strings of outer products of forward and of backward vectors.

    They solve :math:`G_P = \sum_\sigma A_\sigma^\top G_P A_\sigma + \alpha_1 \alpha_1^\top` and
    :math:`G_S = \sum_\sigma A_\sigma G_S A_\sigma^\top + \alpha_\infty \alpha_\infty^\top`.
    """
    transposed = wfa.operators.transpose(0, 2, 1)
    G_P = _fixed_point(transposed, transposed, np.outer(wfa.initial, wfa.initial))
    G_S = _fixed_point(wfa.operators, wfa.operators, np.outer(wfa.final, wfa.final))
    return (G_P + G_P.T) / 2, (G_S + G_S.T) / 2


def squared_radius(wfa: WFA) -> float:
    r"""Return the spectral radius of :math:`X \mapsto \sum_\sigma A_\sigma X A_\sigma^\top`; below 1, squares sum up."""
    return _map_radius(wfa.operators, wfa.operators)


def _apply(A: Array, B: Array, X: Array) -> Array:
    r"""Return :math:`\sum_\sigma A_\sigma X B_\sigma^\top`."""
    return np.asarray((A @ X @ B.transpose(0, 2, 1)).sum(axis=0))


def _map_radius(A: Array, B: Array) -> float:
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

    n, m = A.shape[1], B.shape[1]
    if n * m <= 64:
        matrix = np.einsum("sij,skl->ikjl", A, B).reshape(n * m, n * m)
        return float(np.abs(np.linalg.eigvals(matrix)).max(initial=0.0))
    operator = LinearOperator((n * m, n * m), matvec=lambda x: _apply(A, B, x.reshape(n, m)).ravel(), dtype=np.float64)
    try:
        start = np.eye(n, m).ravel() + 1e-3
        found = eigs(operator, k=1, which="LM", v0=start, return_eigenvectors=False, tol=1e-9)
        return float(np.abs(found[0]))
    except ArpackNoConvergence as error:
        return float(np.abs(error.eigenvalues).max()) if len(error.eigenvalues) else float("nan")


def _fixed_point(A: Array, B: Array, C: Array) -> Array:
    r"""Solve :math:`X = \sum_\sigma A_\sigma X B_\sigma^\top + C`."""
    radius = max(_map_radius(A, A), _map_radius(B, B))  # bounds that of the mixed map, whose sums might cancel
    if not radius < 1 - 1e-12:
        raise OptionError(
            f"the squares of the weights do not sum up: the spectral radius of X -> sum A X A' is {radius:.6g}, not below 1. "
            "Scale the operators, or compare the automata on samples instead."
        )
    n, m = C.shape
    if n * m <= _DENSE_GRAMIAN**2:
        matrix = np.eye(n * m) - np.einsum("sij,skl->ikjl", A, B).reshape(n * m, n * m)
        return np.asarray(np.linalg.solve(matrix, C.ravel()).reshape(n, m))
    return _iterated(A, B, C)


def _iterated(A: Array, B: Array, C: Array) -> Array:
    """Solve by GMRES, which needs far fewer steps than summing the series where that converges slowly."""
    from scipy.sparse.linalg import LinearOperator, gmres

    def residual(x: Any) -> Any:
        X = x.reshape(C.shape)
        return (X - _apply(A, B, X)).ravel()

    operator = LinearOperator((C.size, C.size), matvec=residual, dtype=np.float64)
    found, failed = gmres(operator, C.ravel(), rtol=1e-13, atol=0.0, restart=60, maxiter=200)
    left = float(np.linalg.norm(residual(found) - C.ravel()))
    if failed and left > 1e-9 * float(np.linalg.norm(C)):
        raise OptionError(
            f"the Gramian was not found: a residual of {left:.3g} is left. Minimise or scale the automaton first."
        )
    return np.asarray(found.reshape(C.shape))


@dataclass(frozen=True, eq=False)
class SingularValueAutomaton:
    """An automaton in the coordinates in which both Gramians are the same diagonal matrix.

    Attributes
    ----------
    wfa : WFA
        Minimal; computes the same function.
    singular_values : (n_states,) array
        Those of the infinite Hankel matrix, largest first.
    """

    wfa: WFA
    singular_values: Array

    def truncate(self, n_states: int) -> WFA:
        """Return the automaton of the first coordinates only: the approximate minimisation."""
        n = self._checked(n_states)
        wfa = self.wfa
        return wfa.replace(wfa.initial[:n], wfa.final[:n], wfa.operators[:, :n, :n])

    def _checked(self, n_states: int) -> int:
        if not 0 <= n_states <= self.wfa.n_states:
            raise OptionError(
                f"n_states={n_states} is outside of 0 to {self.wfa.n_states}, the states of the minimal automaton."
            )
        return n_states


def singular_value_automaton(wfa: WFA, tol: float = 1e-12) -> SingularValueAutomaton:
    r"""Return the canonical form in which states are ordered by what they matter.

    With :math:`G_P = L_P L_P^\top`, :math:`G_S = L_S L_S^\top` and :math:`L_P^\top L_S = U D V^\top`, change to the basis
    :math:`Q = L_S V D^{-1/2}`, whose inverse is :math:`D^{-1/2} U^\top L_P^\top`. The automaton is minimised before, for a
    singular value of 0 is found no better than to the root of the rounding error; what is left below ``tol`` times the
    first is left out.
    """
    wfa = minimise(wfa)
    G_P, G_S = gramians(wfa)
    L_P, L_S = symmetric_root(G_P), symmetric_root(G_S)
    U, D, Vt = np.linalg.svd(L_P.T @ L_S)
    n = int(np.count_nonzero(tol * D[:1].sum() < D))
    root = np.sqrt(D[:n])
    Q, inverse = L_S @ Vt[:n].T / root, (U[:, :n] / root).T @ L_P.T
    found = wfa.replace(wfa.initial @ Q, inverse @ wfa.final, inverse @ wfa.operators @ Q)
    return SingularValueAutomaton(found, D[:n])


def approximate(wfa: WFA, n_states: int) -> tuple[WFA, float]:
    """Return an automaton with fewer states, and its exact distance from the function of ``wfa``."""
    smaller = singular_value_automaton(wfa).truncate(n_states)
    return smaller, distance(wfa, smaller)
