"""What every learner returns."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.core.wfa import WFA
from momata.predict.language_model import LanguageModel

__all__ = ["FitResult", "Status"]


class Status(enum.Enum):
    """How a fit ended; the value of each member says what it means and what to try."""

    OK = "The fit ended as it should."
    NOT_CONVERGED = "The iteration stopped at its limit of steps. Allow more steps, or less patience."
    RANK_DEFICIENT = (
        "Fewer independent directions than states asked for. Ask for fewer states, or select a larger basis."
    )
    NOT_SUMMABLE = (
        "The spectral radius of the summed operators is 1 or more, so expectations over all strings diverge. "
        "Try a smaller rank, the substring statistic, or more data."
    )
    NEGATIVE_WEIGHTS = (
        "Much of the automaton's mass is negative, so its probabilities lean on smoothing. "
        "Try another number of states, more data, or polish."
    )


@dataclass(frozen=True, eq=False, repr=False)
class FitResult:
    """What a learner found.

    Attributes
    ----------
    model : LanguageModel
        The proper distribution to score, predict and sample with.
    wfa : WFA or None
        The automaton itself, where there is one of manageable size.
    status : Status
    method, statistic : str
    n_states : int
        States of the automaton, or contexts of the n-gram model.
    curve : list of dict
        What was tried on held-out data: ``n_states``, ``validation_log_prob`` and more, one entry a candidate.
    seconds : dict
        Time by stage.
    trace : list of dict
        What each step of an iteration found: ``log_likelihood`` and more.
    singular_values : array or None
        One past ``n_states`` where a learner factorises, so that the gap shows.
    """

    model: LanguageModel
    wfa: WFA | None
    status: Status
    method: str
    statistic: str
    n_states: int
    curve: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    singular_values: NDArray[np.float64] | None = None
    trace: list[dict[str, Any]] = field(default_factory=list)

    @property
    def automaton(self) -> WFA:
        """The automaton, where there must be one."""
        assert self.wfa is not None
        return self.wfa

    def __repr__(self) -> str:
        return (
            f"FitResult({self.method}, {self.n_states} states, {self.statistic} statistic, status {self.status.name})"
        )
