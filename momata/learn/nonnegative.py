"""Non-negative learners: NNSpectral, and the residual learner; what they find is a probabilistic automaton."""

from __future__ import annotations

from typing import Any, Literal

from momata.core.basis import Basis
from momata.learn.by_moments import Callback, Settings, Several, learn_by_moments, several
from momata.learn.factors import Operators
from momata.learn.nonnegative_factors import NMFMethod
from momata.learn.result import FitResult
from momata.learn.selection import Criterion

__all__ = ["learn_nonnegative", "learn_residual"]


def learn_nonnegative(
    data: Any,
    n_states: int | Literal["auto"] = "auto",
    max_states: int = 40,
    statistic: Several = "substring",
    basis: Several | Basis = "top:400",
    max_length: int = 4,
    scaling: Several = "roots",
    operators: Operators = "shifted",
    nmf: NMFMethod = "cd",
    restarts: int = 1,
    select: Criterion = "log_prob",
    polish: int = 0,
    valid: Any = None,
    fraction: float = 0.1,
    seed: int = 0,
    callback: Callback | None = None,
) -> FitResult:
    r"""Learn a PFA by a non-negative factorisation of the Hankel block (NNSpectral [1]_).

    With :math:`D_p H D_s \approx F G`, both non-negative, the rows of G are the futures of the states; what follows after a
    symbol is written as a non-negative mixture of them, by least squares. The automaton is made a PFA exactly where cells are
    probabilities of strings; for prefixes and substrings rows are made to sum to 1 by what their futures say.

    Parameters
    ----------
    data : Corpus or collection of sequences
    n_states, max_states, statistic, basis, max_length, scaling, select, valid, fraction, seed, callback
        See `learn_spectral`. The empty string must be a suffix of the basis.
    operators : {"shifted", "selection"}
        What follows after a symbol: from the shifted blocks, or from the columns that start with it (the paper's form; for
        bases with closed suffixes).
    nmf : {"cd", "anls"}
        How to factorise: by coordinate descent, or by alternating non-negative least squares.
    restarts : int
        Factorisations, the first from singular vectors, the others from random starts; the best is taken.
    polish : int
        See `learn_spectral`.

    Returns
    -------
    FitResult
        Its ``wfa`` is a PFA.

    Examples
    --------
    >>> result = learn_nonnegative(["abab", "ab", "", "ababab"] * 50, n_states=2)
    >>> result.wfa.is_probabilistic()
    True

    References
    ----------
    .. [1] H. Glaude, C. Enderli, O. Pietquin, "Non-negative spectral learning for linear sequential systems", ICONIP, 2015.
    """
    settings = Settings(
        "nonnegative", n_states, max_states, max_length, operators, select=select, seed=seed, nmf=nmf, restarts=restarts,
        statistics=several(statistic), bases=several(basis), scalings=several(scaling),
    )  # fmt: skip
    return learn_by_moments(data, settings, polish, valid, fraction, callback)


def learn_residual(
    data: Any,
    n_states: int | Literal["auto"] = "auto",
    max_states: int = 40,
    statistic: Several = "substring",
    basis: Several | Basis = "top:400",
    max_length: int = 4,
    scaling: Several = "roots",
    select: Criterion = "log_prob",
    polish: int = 0,
    valid: Any = None,
    fraction: float = 0.1,
    seed: int = 0,
    callback: Callback | None = None,
) -> FitResult:
    """Learn a PFA each of whose states is the future of some observed prefix, without any factorisation.

    The prefixes are chosen one after the other to be as different as can be; what follows after a symbol is written as a
    non-negative mixture of their futures. The result is biased where no prefix is purely in one state, and an excellent start
    for likelihood (``polish``).

    Parameters
    ----------
    data : Corpus or collection of sequences
    n_states, max_states, statistic, basis, max_length, scaling, select, polish, valid, fraction, seed, callback
        See `learn_spectral`. The empty string must be a suffix of the basis.

    Examples
    --------
    >>> learn_residual(["abab", "ab", "", "ababab"] * 50, n_states=2).wfa.is_probabilistic()
    True
    """
    settings = Settings(
        "residual", n_states, max_states, max_length, select=select, seed=seed,
        statistics=several(statistic), bases=several(basis), scalings=several(scaling),
    )  # fmt: skip
    return learn_by_moments(data, settings, polish, valid, fraction, callback)
