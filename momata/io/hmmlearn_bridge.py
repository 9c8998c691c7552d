r"""Models to and from hmmlearn's ``CategoricalHMM``, where hmmlearn is installed.

hmmlearn's models never stop: they are distributions over endless sequences, and the probability that ``score`` gives is that a
sequence *begins* so. A momata string distribution and such a model meet in three ways, named by ``stopping``:

- ``"symbol"``: one more symbol, the last, stands for the end. ``exp(score(x + end))`` is then exactly the probability of the
  string x (what hmmlearn draws behind the end has no meaning).
- ``"drop"`` (`to_hmmlearn` only): the model given that it never stops. Where all states stop equally often, ``exp(score(x))`` is
  the probability of x among the strings of its length.
- probabilities (`from_hmmlearn` only), or None: states stop so often; None keeps the model as it is, a `WFA` of
  prefixes, whose weight of x is ``exp(score(x))``.
"""

from __future__ import annotations

import importlib
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from momata.core.alphabet import Alphabet
from momata.core.probabilistic import HMM, PFA
from momata.core.wfa import WFA
from momata.errors import OptionError
from momata.io.automata import as_pfa, automaton_of

__all__ = ["from_hmmlearn", "to_hmmlearn"]

_EQUAL = 1e-12


def to_hmmlearn(model: Any, stopping: Literal["symbol", "drop"] = "symbol") -> Any:
    """Return a model as a ``CategoricalHMM``.

    Parameters
    ----------
    model : HMM, PFA or LanguageModel
        An automaton that is a PFA; it becomes an HMM on its own states where it is one, else on those of `PFA.to_hmm`.
    stopping : {"symbol", "drop"}
        What becomes of the end of strings; see the module. Symbols are numbers in the order of the alphabet.
    """
    if stopping not in ("symbol", "drop"):
        raise OptionError(f"stopping={stopping!r} is no way to write the end of strings. Use symbol or drop.")
    hmm = model if isinstance(model, HMM) else _hmm_of(as_pfa(automaton_of(model)[0], "hmmlearn"))
    emissions = hmm.emissions
    if stopping == "symbol":
        emissions = np.concatenate([emissions, hmm.stopping[:, None]], axis=1)
    elif not len(hmm.alphabet):
        raise OptionError("a model without symbols has nothing left without its end. Use stopping='symbol'.")
    sums = emissions.sum(axis=1, keepdims=True)
    found = _hmmlearn().CategoricalHMM(n_components=hmm.n_states, n_features=emissions.shape[1])
    found.startprob_ = hmm.initial / hmm.initial.sum()
    found.transmat_ = hmm.transitions / hmm.transitions.sum(axis=1, keepdims=True)
    uniform = np.full_like(emissions, 1.0 / emissions.shape[1])  # of a state that always stops
    found.emissionprob_ = np.divide(emissions, sums, out=uniform, where=sums > 0)
    return found


def from_hmmlearn(
    hmm: Any, stopping: Literal["symbol"] | float | ArrayLike | None = None, alphabet: Alphabet | None = None
) -> WFA:
    """Return a ``CategoricalHMM`` as an automaton.

    Parameters
    ----------
    hmm : hmmlearn.hmm.CategoricalHMM
        With its probabilities set or fitted.
    stopping : "symbol", float, (n_states,) array, or None
        ``"symbol"``: the last symbol is the end; the result is a PFA. Numbers from 0 to 1: how often each state stops instead of
        emitting; the result is a PFA, of strings that end with probability 1 only where they are not 0. None: the model
        never stops, and the result is a WFA of the prefix statistic.
    alphabet : Alphabet, optional
        Of the symbols, the end left out; by default whole numbers.
    """
    try:
        initial, moves, emit = (
            np.array(getattr(hmm, f"{name}_"), float) for name in ("startprob", "transmat", "emissionprob")
        )
    except (AttributeError, TypeError, ValueError):
        raise OptionError(
            f"a {type(hmm).__name__} has no startprob_, transmat_ and emissionprob_. Give a CategoricalHMM that is fitted."
        ) from None
    if type(hmm).__name__ == "MultinomialHMM":
        raise OptionError("a MultinomialHMM emits counts, not symbols. Give a CategoricalHMM.")
    by_symbol = isinstance(stopping, str)
    if by_symbol and stopping != "symbol":
        raise OptionError(f"stopping={stopping!r} is neither 'symbol' nor a probability.")
    if emit.ndim != 2:
        raise OptionError(f"emissionprob_ has shape {emit.shape}; it must be (states, symbols).")
    if by_symbol:
        stop, emit = emit[:, -1], emit[:, :-1]
    else:
        stop = _stopping(0.0 if stopping is None else stopping, emit.shape[0])
        emit = emit * (1.0 - stop)[:, None]
    found = HMM(initial, moves, emit, stop, Alphabet.of_size(emit.shape[1]) if alphabet is None else alphabet)
    pfa = found.to_pfa()
    return WFA(pfa.initial, np.ones(pfa.n_states), pfa.operators, pfa.alphabet, "prefix") if stopping is None else pfa


def _stopping(value: Any, n: int) -> Any:
    try:
        found = np.broadcast_to(np.asarray(value, dtype=float), (n,))
    except (TypeError, ValueError):
        found = np.full(n, np.nan)
    if not np.all((found >= 0) & (found <= 1)):
        raise OptionError(f"stopping={value!r:.60} must be a probability, or one for each of {n} states.")
    return found


def _hmm_of(pfa: PFA) -> HMM:
    return HMM.of(pfa, tol=_EQUAL) or pfa.to_hmm()


def _hmmlearn() -> Any:
    try:
        return importlib.import_module("hmmlearn.hmm")
    except ImportError:
        raise OptionError("hmmlearn is not installed. Install it: pip install hmmlearn.") from None
