"""How the papers read an automaton that is no distribution, for reproductions.

``raw``: the weight of the string itself, :math:`f(x)`. ``absolute``: :math:`|f(x)|`, to be normalised over the test strings,
as for the PAutomaC competition. ``floor``: :math:`f(x)` thresholded to :math:`(0, 1]`, as in the moments paper. ``clamp``:
the product of the conditional scores, each thresholded to :math:`[10^{-6}, 1]` and not renormalised. Guesses are the arg
max of the automaton's own scores.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from momata._kernels import automata
from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes
from momata.core.wfa import convert
from momata.errors import OptionError
from momata.predict.automaton_model import EPSILON, AutomatonModel
from momata.predict.language_model import LanguageModel

__all__ = ["bare", "log_weights"]

FLOOR = 1e-300
"""What a weight of 0 or below becomes under ``floor``."""


def bare(model: LanguageModel) -> AutomatonModel:
    """Return the automaton of a model without its backing."""
    if not isinstance(model, AutomatonModel):
        raise OptionError(
            f"conventions are for automata, and this is a model of kind {model.kind}. Use the proper distribution."
        )
    return AutomatonModel(model.wfa)


def log_weights(model: LanguageModel, corpus: Corpus, convention: str) -> NDArray[np.float64]:
    """Return the logarithm of what a convention takes for the probability of each sequence; -inf where that is not positive."""
    automaton = bare(model)
    coded = corpus.recode(automaton.alphabet, "error")
    with np.errstate(divide="ignore", invalid="ignore"):
        if convention == "clamp":
            return _clamped(automaton, coded)
        weights = convert(automaton.wfa, to="string").weights(coded)
        if convention == "absolute":
            return np.asarray(np.log(np.abs(weights)))
        if convention == "floor":
            return np.asarray(np.log(np.clip(weights, FLOOR, 1.0)))
        if convention == "raw":
            return np.where(weights > 0, np.log(np.maximum(weights, 0.0)), -np.inf)
    raise OptionError(f"convention={convention!r} is not known. Use proper, raw, absolute, clamp or floor.")


def _clamped(model: AutomatonModel, corpus: Corpus) -> NDArray[np.float64]:
    """Return the sum of the logarithms of conditional scores, each thresholded."""
    tree = count_prefixes(corpus)
    assert tree.sequence_node is not None
    chance, stop = model.plain_scores(tree)
    symbol, ending = (np.log(np.clip(x, EPSILON, 1.0)) for x in (chance, stop))
    symbol[0] = 0.0
    return np.asarray((automata.sum_down(tree.parent, symbol) + ending)[tree.sequence_node])
