"""What a PFA says about a sequence beyond its probability: hidden states, missing symbols; and its likeliest strings."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata._kernels import decoding
from momata.core.probabilistic import HMM, PFA
from momata.core.wfa import WFA
from momata.errors import DataError, OptionError
from momata.predict.automaton_model import AutomatonModel
from momata.predict.language_model import LanguageModel

__all__ = ["Infilling", "infill", "likeliest_strings", "posteriors", "viterbi"]

Array = NDArray[np.float64]

MISSING = "?"


def _as_pfa(model: Any) -> PFA:
    """Return a PFA, an HMM, or a model that stands on one, as a PFA."""
    found = model.wfa if isinstance(model, AutomatonModel) else model
    if isinstance(found, HMM):
        return found.to_pfa()
    if not isinstance(found, WFA) or not found.is_probabilistic():
        raise OptionError(
            f"hidden states need a PFA or an HMM, and this {type(model).__name__} is none. Polish it first."
        )
    return PFA.of(found)


def _tokens(pfa: PFA, sequence: Iterable[Hashable], *missing: Hashable) -> NDArray[np.int32]:
    return np.array([-1 if s in missing else pfa.alphabet.index(s) for s in sequence], np.int32)


def viterbi(model: PFA | HMM | AutomatonModel, sequence: Iterable[Hashable]) -> tuple[NDArray[np.int32], float]:
    """Return the likeliest path of hidden states, and the log probability of path and sequence together.

    The path has one state more than the sequence has symbols: the state before each symbol, and the one that stops.
    """
    pfa = _as_pfa(model)
    states, _, logp = _best_path(pfa, _tokens(pfa, sequence))
    return states, logp


def _best_path(pfa: PFA, tokens: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32], float]:
    with np.errstate(divide="ignore"):
        logs = np.log(pfa.initial), np.log(pfa.operators), np.log(pfa.final)
    states, symbols, logp = decoding.best_path(*logs, tokens)
    if logp == -np.inf:
        raise DataError("this sequence has probability 0, so no path of hidden states explains it.")
    return states, symbols, float(logp)


def posteriors(model: PFA | HMM | AutomatonModel, sequence: Iterable[Hashable]) -> Array:
    """Return the chance of each hidden state at each place, given the whole sequence; shape (T + 1, n_states)."""
    pfa = _as_pfa(model)
    forward, backward, logp = decoding.forward_backward(
        pfa.initial, pfa.operators, pfa.total, pfa.final, _tokens(pfa, sequence)
    )
    if logp == -np.inf:
        raise DataError("this sequence has probability 0, so no hidden states explain it.")
    return np.asarray(forward * backward)


@dataclass(frozen=True)
class Infilling:
    """What may stand at the missing places of a sequence.

    Attributes
    ----------
    best : tuple
        The sequence with the symbols of the likeliest path of hidden states in the gaps.
    marginals : dict
        For each missing place, the probability of each symbol given all that is known.
    log_prob : float
        Of what is known: the sum over all ways to fill the gaps.
    """

    best: tuple[Hashable, ...]
    marginals: dict[int, dict[Hashable, float]]
    log_prob: float


def infill(model: PFA | HMM | AutomatonModel, sequence: Iterable[Hashable], missing: Hashable = MISSING) -> Infilling:
    """Fill the places of a sequence that hold ``missing``."""
    pfa, known = _as_pfa(model), list(sequence)
    tokens = _tokens(pfa, known, missing)
    forward, backward, logp = decoding.forward_backward(pfa.initial, pfa.operators, pfa.total, pfa.final, tokens)
    if logp == -np.inf:
        raise DataError("what is known of this sequence has probability 0, so the gaps cannot be filled.")
    marginals = {}
    for t in np.flatnonzero(tokens < 0):
        weight = np.einsum("i,sij,j->s", forward[t], pfa.operators, backward[t + 1])
        marginals[int(t)] = dict(zip(pfa.alphabet.symbols, (weight / weight.sum()).tolist(), strict=True))
    symbols = _best_path(pfa, tokens)[1]
    return Infilling(tuple(pfa.alphabet[int(s)] for s in symbols), marginals, float(logp))


def likeliest_strings(
    model: LanguageModel, k: int = 10, max_steps: int = 100_000
) -> list[tuple[tuple[Hashable, ...], float]]:
    r"""Return the ``k`` most probable strings with their probabilities, the most probable first.

    Best-first search over prefixes. A prefix is worth at most its own probability; for a PFA alone at most
    :math:`q u` with :math:`u_i = \max(\alpha_\infty(i), \max_\sigma (A_\sigma u)_i)`, which bounds what any ending can reach
    from state i. So what comes off the queue complete is the next best string, exactly.
    """
    if k < 0:
        raise OptionError(f"k={k} strings cannot be listed. Give a number from 0.")
    bound = _completion_bound(model)
    hidden, alphabet = model.hidden_symbol, model.alphabet
    counter = itertools.count()
    state = model.start_state()
    queue: list[tuple[float, int, tuple[int, ...], Any, float]] = [(-1.0, next(counter), (), state, 1.0)]
    found: list[tuple[tuple[Hashable, ...], float]] = []
    for _ in range(max_steps):
        if not queue or len(found) == k:
            return found
        negative, _, string, state, mass = heapq.heappop(queue)
        if state is None:
            found.append((tuple(alphabet[s] for s in string), -negative))
            continue
        chances = model.state_distribution(state)
        if chances[-1] > 0:
            heapq.heappush(queue, (-mass * float(chances[-1]), next(counter), string, None, 0.0))
        for sigma in np.flatnonzero(chances[:-1] > 0).tolist():
            if sigma != hidden:
                after, chance = model.next_state(state, sigma)
                best = mass * chance * (1.0 if bound is None or after[0] is None else min(1.0, float(after[0] @ bound)))
                heapq.heappush(queue, (-best, next(counter), (*string, sigma), after, mass * chance))
    raise OptionError(
        f"{len(found)} of {k} strings were found in max_steps={max_steps} steps: probability is spread over too many. "
        "Allow more steps, or ask for fewer strings."
    )


def _completion_bound(model: LanguageModel) -> Array | None:
    """Return an upper bound of what any ending can reach from each state of a PFA, None for other models."""
    if not isinstance(model, AutomatonModel) or not model.is_pfa or model.backing is not None:
        return None
    u: Array = model.wfa.final
    for _ in range(10_000):
        better = np.maximum(u, (model.wfa.operators @ u).max(axis=0, initial=0.0))
        if np.allclose(better, u, rtol=1e-12, atol=0.0):
            break
        u = better
    return np.asarray(better * (1.0 + 1e-9))
