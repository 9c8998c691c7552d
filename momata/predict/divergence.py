"""How far apart two models are: exactly where that can be, by sampling with standard errors elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.core.algebra import distance
from momata.core.alphabet import UNKNOWN, Alphabet
from momata.core.corpus import Corpus
from momata.core.wfa import WFA, convert
from momata.errors import MomataError, OptionError
from momata.predict.automaton_model import AutomatonModel
from momata.predict.language_model import LanguageModel
from momata.predict.ngram_model import NGramModel

__all__ = ["Estimate", "compare_models", "entropy", "kl_divergence", "l2_distance", "total_variation"]

_WRITTEN_OUT = 2**20  # weights up to which an n-gram model is compared as an automaton


@dataclass(frozen=True)
class Estimate:
    """A mean over samples and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, samples: NDArray[np.float64]) -> Estimate:
        """Return the mean of independent samples."""
        if not np.all(np.isfinite(samples)):
            return cls(float("inf"), float("nan"))
        return cls(float(samples.mean()), float(samples.std(ddof=1) / np.sqrt(samples.size)))


def entropy(model: LanguageModel, n: int = 10_000, seed: int = 0) -> Estimate:
    """Return the entropy of a string in nats, from ``n`` sampled ones."""
    return Estimate.of(-model.log_prob(model.sample(_checked(n), seed, with_unknown=True)))


def kl_divergence(p: LanguageModel, q: LanguageModel, n: int = 10_000, seed: int = 0) -> Estimate:
    r"""Return :math:`\sum_x p(x) \log(p(x) / q(x))` in nats, from ``n`` strings sampled from ``p``."""
    return Estimate.of(_log_ratios(p, q, n, seed))


def total_variation(p: LanguageModel, q: LanguageModel, n: int = 10_000, seed: int = 0) -> Estimate:
    r"""Return :math:`\frac{1}{2} \sum_x |p(x) - q(x)| = E_p[\max(0, 1 - q/p)]`, from strings sampled from ``p``."""
    ratio = np.exp(np.minimum(-_log_ratios(p, q, n, seed), 0.0))
    return Estimate.of(1.0 - ratio)


def _log_ratios(p: LanguageModel, q: LanguageModel, n: int, seed: int) -> NDArray[np.float64]:
    drawn = p.sample(_checked(n), seed, with_unknown=True)
    return p.log_prob(drawn) - _log_prob_or_never(q, drawn)


def _log_prob_or_never(model: LanguageModel, drawn: Corpus) -> NDArray[np.float64]:
    """Return log probabilities; a sequence with a symbol that the model cannot have, and keeps no share for, has none."""
    if model.alphabet.find(UNKNOWN) is not None:
        return model.log_prob(drawn, "share")
    missing = np.array([model.alphabet.find(symbol) is None for symbol in drawn.alphabet], dtype=bool)
    n_missing = np.concatenate([[0], np.cumsum(missing[drawn.tokens])])
    possible = n_missing[drawn.offsets[1:]] == n_missing[drawn.offsets[:-1]]
    found = np.full(len(drawn), -np.inf)
    found[possible] = model.log_prob(drawn[possible])
    return found


def _checked(n: int) -> int:
    if n < 2:
        raise OptionError(f"n={n} samples have no standard error. Draw at least 2.")
    return n


def l2_distance(p: LanguageModel, q: LanguageModel) -> float | None:
    """Return the exact distance between two models as functions of strings, None where they are no small automata."""
    one, two = _automaton_of(p), _automaton_of(q)
    if one is None or two is None:
        return None
    more = [symbol for symbol in two.alphabet if one.alphabet.find(symbol) is None]
    union = Alphabet((*one.alphabet, *more))
    try:
        return distance(one.over(union), two.over(union))
    except MomataError:  # squares that do not sum up
        return None


def _automaton_of(model: LanguageModel) -> WFA | None:
    """Return the automaton that computes exactly a model's probabilities, if there is one of small size."""
    if isinstance(model, AutomatonModel):
        exact = model.is_pfa and (
            model.backing is None or (model.share == 0.0 and len(model.alphabet) == model.wfa.n_symbols)
        )
        return convert(model.wfa, to="string") if exact else None
    if isinstance(model, NGramModel) and model.n_states**2 * len(model.alphabet) <= _WRITTEN_OUT:
        return model.to_wfa()
    return None


def compare_models(p: LanguageModel, q: LanguageModel, n: int = 10_000, seed: int = 0) -> dict[str, Any]:
    """Return all distances between two models, as plain values.

    Keys: ``kl``, ``kl_reverse``, ``total_variation``, each with its ``_error``; ``l2`` (exact, or None where the models are no
    small automata); ``entropy`` and ``entropy_other`` with errors; ``n_samples``.
    """
    measured = {
        "kl": kl_divergence(p, q, n, seed),
        "kl_reverse": kl_divergence(q, p, n, seed + 1),
        "total_variation": total_variation(p, q, n, seed),
        "entropy": entropy(p, n, seed),
        "entropy_other": entropy(q, n, seed + 1),
    }
    found: dict[str, Any] = {}
    for name, estimate in measured.items():
        found[name], found[f"{name}_error"] = estimate.value, estimate.error
    return found | {"l2": l2_distance(p, q), "n_samples": n}
