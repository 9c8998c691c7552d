"""One step of expectation and maximisation, and what to start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from momata.core.alphabet import Alphabet
from momata.core.corpus import Corpus
from momata.core.expectation import Expectations, Precision, expect, expect_best_paths
from momata.core.plan import WalkPlan
from momata.core.probabilistic import PFA
from momata.core.wfa import WFA

__all__ = ["EMStep", "event_shares", "random_start", "split_states"]

Array = NDArray[np.float64]


def event_shares(corpus: Corpus) -> Array:
    """Return the share of each symbol, and last of the end, among all events; half an event is added to each."""
    weights = np.ones(len(corpus)) if corpus.weights is None else corpus.weights.astype(np.float64)
    counts = np.bincount(corpus.tokens, np.repeat(weights, corpus.lengths), minlength=corpus.n_symbols)
    events = np.append(counts, weights.sum()) + 0.5
    return np.asarray(events / events.sum())


@dataclass(frozen=True, eq=False)
class EMStep:
    r"""How a step is made.

    Attributes
    ----------
    shares : (n_symbols + 1,) array
        Mean of the Dirichlet prior of what each state does, see `event_shares`; all next states are alike.
    prior : float
        How many uses the prior is worth, for each state. Weights that are 0 get none: zeros stay zeros.
    tied : bool
        As in hidden Markov models, the next state does not depend on the symbol: :math:`A_\\sigma = diag(O_\\sigma) T`.
    hard : bool
        Viterbi training: only the best path of each string counts.
    precision : {"float64", "float32"}
    """

    shares: Array
    prior: float = 0.0
    tied: bool = False
    hard: bool = False
    precision: Precision = "float64"

    def __call__(self, plan: WalkPlan, pfa: WFA, temperature: float = 1.0) -> tuple[PFA, float]:
        """Return the automaton after a step, and the log-likelihood before it (hard: of the best paths).

        With a temperature above 1 all weights are taken to its inverse power in the expectation.
        """
        found = self.expectations(plan, pfa, temperature)
        return self.maximise(found, pfa), found.log_likelihood

    def expectations(self, plan: WalkPlan, pfa: WFA, temperature: float = 1.0) -> Expectations:
        """Return how often each weight is used."""
        if temperature != 1.0:
            initial, final, operators = (a ** (1.0 / temperature) for a in (pfa.initial, pfa.final, pfa.operators))
            pfa = WFA(initial, final, operators, pfa.alphabet)
        return expect_best_paths(plan, pfa) if self.hard else expect(plan, pfa, self.precision)

    def maximise(self, found: Expectations, pfa: WFA) -> PFA:
        """Return the automaton that makes these uses, and those of the prior, likeliest; rows that are not used stay."""
        n = pfa.n_states
        extra = (pfa.operators > 0) * (self.prior * self.shares[:-1, None, None] / n)
        counts = found.operators + extra
        stops = found.final + (pfa.final > 0) * (self.prior * self.shares[-1])
        starts = found.initial + (pfa.initial > 0) * (self.prior / n)
        emitted = counts.sum(axis=2)  # (n_symbols, n)
        rows = emitted.sum(axis=0) + stops
        used = rows > 0
        rows = np.where(used, rows, 1.0)
        if self.tied:
            moves = counts.sum(axis=0)
            total = moves.sum(axis=1, keepdims=True)
            counts = emitted[:, :, None] * (moves / np.where(total > 0, total, 1.0))
        operators = np.where(used[:, None], counts / rows[:, None], pfa.operators)
        final = np.where(used, stops / rows, pfa.final)
        initial = starts / starts.sum() if starts.sum() > 0 else pfa.initial
        return PFA(initial, final, operators, pfa.alphabet)

    def log_prior(self, pfa: WFA) -> float:
        """Return the logarithm of the prior of an automaton, up to a constant: what likelihood and prior sum to never falls."""
        if not self.prior:
            return 0.0
        n = pfa.n_states
        by_symbol = np.log(pfa.operators, where=pfa.operators > 0, out=np.zeros_like(pfa.operators)).sum(axis=(1, 2))
        ends, starts = (float(np.log(a[a > 0]).sum()) for a in (pfa.final, pfa.initial))
        return float(self.prior * (by_symbol @ self.shares[:-1] / n + ends * self.shares[-1] + starts / n))


def random_start(
    kind: str, n_states: int, alphabet: Alphabet, shares: Array, rng: np.random.Generator, left_to_right: bool = False
) -> PFA:
    """Draw an automaton to start from.

    Parameters
    ----------
    kind : {"random", "hmm"}
        ``"random"``: every state does what all events do, and after each symbol goes where it likes. ``"hmm"``, as in the
        papers: each state has emissions of its own, around the shares of all events, and one row of transitions.
    n_states, alphabet
    shares : (n_symbols + 1,) array
        See `event_shares`.
    rng : Generator
    left_to_right : bool
        Only to states that are not before this one; the first starts.
    """
    n_symbols, n = len(alphabet), n_states
    if kind == "hmm":
        events = shares * rng.gamma(1.0, size=(n, n_symbols + 1))
        events /= events.sum(axis=1, keepdims=True)
        moves = rng.dirichlet(np.ones(n), size=n)[None]
    else:
        events = np.tile(shares, (n, 1))
        moves = rng.dirichlet(np.ones(n), size=(n_symbols, n)).reshape(n_symbols, n, n)
    moves = np.maximum(moves, 1e-3 / n)
    initial = rng.dirichlet(np.ones(n))
    if left_to_right:
        moves = np.triu(np.broadcast_to(moves, (n_symbols, n, n)))
        initial = np.eye(n)[0]
    moves = moves / moves.sum(axis=2, keepdims=True)
    return PFA(initial, events[:, -1], events[:, :-1].T[:, :, None] * moves, alphabet)


def split_states(pfa: WFA, visits: Array, n_more: int, rng: np.random.Generator) -> PFA:
    """Return an automaton with ``n_more`` states: the busiest are split in two that differ by up to a fifth.

    Halves that differ less take many steps to part.

    Parameters
    ----------
    pfa : WFA
    visits : (n,) array
        Expected number of visits to each state.
    """
    initial, final, operators = pfa.initial.copy(), pfa.final.copy(), pfa.operators.copy()
    load = visits.astype(np.float64).copy()
    for _ in range(n_more):
        i = int(load.argmax())
        load[i] /= 2.0
        load = np.append(load, load[i])
        share = 0.5 * (1.0 + 0.2 * rng.uniform(-1.0, 1.0, operators.shape[:2]))
        arriving = operators[:, :, i].copy()
        operators = np.concatenate([operators, (arriving * (1.0 - share))[:, :, None]], axis=2)
        operators[:, :, i] = arriving * share
        operators = np.concatenate([operators, operators[:, i : i + 1]], axis=1)
        operators[:, i] *= 1.0 + 0.2 * rng.uniform(-1.0, 1.0, operators[:, i].shape)
        initial, final = np.append(initial, initial[i] / 2.0), np.append(final, final[i])
        initial[i] /= 2.0
    rows = operators.sum(axis=(0, 2)) + final
    return PFA(initial / initial.sum(), final / rows, operators / rows[:, None], pfa.alphabet)
