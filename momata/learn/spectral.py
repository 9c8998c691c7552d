"""The spectral learner: every rank from one singular value decomposition."""

from __future__ import annotations

import time
from typing import Any, Literal

from momata.core.basis import Basis
from momata.core.hankel import HankelBlocks
from momata.core.linalg import SVDMethod
from momata.errors import OptionError
from momata.learn.by_moments import (
    MUCH_NEGATIVE,
    Callback,
    Settings,
    Several,
    check_polish,
    learn_by_moments,
    several,
    status_of,
)
from momata.learn.factors import Ends, Operators, rank_path
from momata.learn.result import FitResult
from momata.learn.selection import Criterion
from momata.predict.automaton_model import AutomatonModel

__all__ = ["MUCH_NEGATIVE", "learn_spectral", "several"]


def learn_spectral(
    data: Any,
    n_states: int | Literal["auto"] = "auto",
    max_states: int = 40,
    statistic: Several = "substring",
    basis: Several | Basis = "top:400",
    max_length: int = 4,
    scaling: Several = "roots",
    operators: Operators = "shifted",
    ends: Ends = "start",
    svd: SVDMethod = "auto",
    select: Criterion = "log_prob",
    polish: int = 0,
    valid: Any = None,
    fraction: float = 0.1,
    seed: int = 0,
    callback: Callback | None = None,
) -> FitResult:
    r"""Learn a weighted automaton by the spectral method.

    The Hankel block of a basis is factorised by a truncated SVD, once for all numbers of states; each automaton is read as a
    distribution with an n-gram model behind it, and the one that gives held-out data the highest likelihood wins. Then all
    data are factorised with what was chosen.

    Parameters
    ----------
    data : Corpus, collection of sequences, or HankelBlocks
        Of blocks nothing is chosen or held out: the language model has no n-gram model behind it, and ``"auto"`` means the
        rank, for blocks that are exact. The options of counting do not apply.
    n_states : int or "auto"
        Chosen up to ``max_states`` on held-out data; polishing then tries up to twice as many.
    max_states : int
    statistic : {"substring", "string", "prefix", "suffix"}, or several
        From which expectations to learn.
    basis : str, Basis, or several
        See `select_basis`.
    max_length : int
        Of the strings in a basis.
    scaling, operators, ends, svd
        See `rank_path`; several scalings may be given.
    select : {"log_prob", "wer"}
        By what to choose.
    polish : int
        Finish by likelihood: at most so many steps of EM, as many as suit held-out data best; see `momata.polish`. The result
        then is a PFA, unless no step is better than none.
    valid : Corpus or collection of sequences, optional
        Held-out data; by default ``fraction`` of the sequences, drawn by ``seed``, and no more than suffices.
    fraction, seed : float, int
    callback : function, optional
        Called with each entry of the curve.

    Returns
    -------
    FitResult
        Where several values of an option are given, all combinations are tried, and the curve names them.

    Examples
    --------
    >>> result = learn_spectral(["abab", "ab", "", "ababab"] * 50, n_states=2)
    >>> result.model.next_symbol("aba").top(1)[0][0]
    'b'
    """
    settings = Settings(
        "spectral", n_states, max_states, max_length, operators, ends, svd, select, seed,
        statistics=several(statistic), bases=several(basis), scalings=several(scaling),
    )  # fmt: skip
    check_polish(polish)
    if isinstance(data, HankelBlocks):
        if polish:
            raise OptionError(
                "polish needs the sequences, and these are blocks of their moments. Give the corpus instead."
            )
        return _learn_from_blocks(data, settings)
    return learn_by_moments(data, settings, polish, valid, fraction, callback)


def _learn_from_blocks(blocks: HankelBlocks, settings: Settings) -> FitResult:
    began = time.perf_counter()
    if settings.n_states == "auto" and blocks.n_sequences is not None:
        raise OptionError(
            "n_states='auto' needs held-out data, and these blocks were counted. Give a number, or the corpus instead."
        )
    max_rank = min(blocks.shape) if settings.n_states == "auto" else settings.n_states
    path = rank_path(
        blocks, max_rank, settings.scalings[0], settings.operators, settings.ends, settings.svd, settings.seed
    )
    wfa = path.automaton(path.max_rank)
    seconds = {"factorise": time.perf_counter() - began}
    training = {"method": "spectral", "statistic": blocks.statistic, "scaling": settings.scalings[0]}
    model = AutomatonModel(wfa, training=training)
    negative = model.negative_mass() if blocks.n_sequences is not None else 0.0
    status = status_of(model, settings.n_states != "auto" and wfa.n_states < settings.n_states, negative or 0.0)
    return FitResult(model, wfa, status, "spectral", blocks.statistic, wfa.n_states, [], seconds, path.singular_values)
