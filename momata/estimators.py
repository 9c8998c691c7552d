"""The learners with scikit-learn's face."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from momata.core.alphabet import STOP, Alphabet
from momata.core.corpus import Corpus, as_corpus
from momata.core.expectation import Precision
from momata.core.linalg import SVDMethod
from momata.errors import DataError, OptionError
from momata.learn.by_moments import Settings, fit_moments, several
from momata.learn.em import learn_em
from momata.learn.factors import Ends, Operators
from momata.learn.moments import Moments
from momata.learn.ngram import learn_ngram
from momata.learn.nonnegative import learn_nonnegative, learn_residual
from momata.learn.nonnegative_factors import NMFMethod
from momata.learn.result import FitResult
from momata.learn.selection import Criterion, held_out_corpus, hold_out
from momata.learn.spectral import learn_spectral
from momata.predict.language_model import LanguageModel
from momata.predict.ngram_model import Smoothing

__all__ = ["EMLearner", "NGramLearner", "NonNegativeLearner", "ResidualLearner", "SpectralLearner"]


class _SequenceLearner(BaseEstimator):  # type: ignore[misc]
    """What all learners share: prediction, scoring and sampling with the language model that `fit` leaves behind.

    ``X`` is a collection of sequences throughout; ``y`` is ignored.
    """

    result_: FitResult
    language_model_: LanguageModel

    def _keep(self, result: FitResult) -> Any:
        self.result_ = result
        self.language_model_ = result.model
        self.automaton_ = result.wfa
        self.n_states_ = result.n_states
        self.classes_ = [*result.model.alphabet, STOP]
        return self

    def predict(self, X: Any) -> list[Hashable]:
        """Return the likeliest next symbol, or `STOP`, after each sequence."""
        check_is_fitted(self, "language_model_")
        corpus = self.language_model_.encode(X)
        at_once = max(1, 2**22 // len(self.classes_))
        parts = [corpus[i : i + at_once] for i in range(0, len(corpus), at_once)]
        best = [i for part in parts for i in self.language_model_.next_symbols(part).argmax(axis=1)]
        return [self.classes_[i] for i in best]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of all next symbols after each sequence; columns as in ``classes_``."""
        check_is_fitted(self, "language_model_")
        return self.language_model_.next_symbols(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log probability of an event (symbols and ends): higher is better, 0 is perfect."""
        check_is_fitted(self, "language_model_")
        corpus = self.language_model_.encode(X)
        if not len(corpus):
            raise DataError("no sequences to score. Give at least one.")
        weights = np.ones(len(corpus)) if corpus.weights is None else corpus.weights
        return float(weights @ self.language_model_.log_prob(corpus) / (weights @ (corpus.lengths + 1)))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the log probability of each sequence."""
        check_is_fitted(self, "language_model_")
        return self.language_model_.log_prob(X)

    def sample(self, n: int = 1, seed: int = 0) -> Corpus:
        """Draw sequences."""
        check_is_fitted(self, "language_model_")
        return self.language_model_.sample(n, seed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


class NGramLearner(_SequenceLearner):
    """Learn an n-gram model; see `learn_ngram` for the parameters."""

    def __init__(
        self,
        order: int | None = None,
        smoothing: Smoothing = "kn",
        max_order: int = 12,
        fraction: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.order = order
        self.smoothing = smoothing
        self.max_order = max_order
        self.fraction = fraction
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> NGramLearner:
        """Learn from a collection of sequences."""
        result = learn_ngram(
            X, self.order, self.smoothing, max_order=self.max_order, fraction=self.fraction, seed=self.seed
        )
        self.order_ = result.model.training["order"]
        return self._keep(result)  # type: ignore[no-any-return]


class SpectralLearner(_SequenceLearner):
    """Learn a weighted automaton by the spectral method; see `learn_spectral` for the parameters."""

    def __init__(
        self,
        n_states: Any = "auto",
        max_states: int = 40,
        statistic: Any = "substring",
        basis: Any = "top:400",
        max_length: int = 4,
        scaling: Any = "roots",
        operators: Operators = "shifted",
        ends: Ends = "start",
        svd: SVDMethod = "auto",
        select: Criterion = "log_prob",
        polish: int = 0,
        fraction: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.n_states = n_states
        self.max_states = max_states
        self.statistic = statistic
        self.basis = basis
        self.max_length = max_length
        self.scaling = scaling
        self.operators = operators
        self.ends = ends
        self.svd = svd
        self.select = select
        self.polish = polish
        self.fraction = fraction
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> SpectralLearner:
        """Learn from a collection of sequences."""
        self.moments_ = None  # fit keeps no counts
        return self._keep(learn_spectral(X, **self.get_params()))  # type: ignore[no-any-return]

    def partial_fit(self, X: Any, y: Any = None) -> SpectralLearner:
        """Learn from one more collection of sequences, as if all had come at once: only counts are kept, and they add up.

        Of each collection a part is held out, and these parts are kept. New symbols may appear at any time.
        """
        if self.polish:
            raise OptionError(
                "polish needs all sequences, and partial_fit keeps their counts only. Use fit, or polish=0."
            )
        if getattr(self, "moments_", self) is None:
            raise OptionError(
                "fit keeps no counts, so there is nothing to add to. Begin with partial_fit, on a fresh learner."
            )
        settings = self._settings()
        corpus = as_corpus(X)
        before: tuple[Moments, Moments, Corpus] | None = getattr(self, "moments_", None)
        if before is not None:
            new = [s for s in corpus.alphabet if before[0].alphabet.find(s) is None]
            closed = before[0].alphabet.closed and not new
            corpus = corpus.recode(Alphabet((*before[0].alphabet, *new), closed=closed))
        train, held_out = hold_out(corpus, self.fraction, self.seed)
        parts = settings.count(train), settings.count(corpus)
        if before is not None:
            old = [moments.over(corpus.alphabet) for moments in before[:2]]
            parts = old[0].merge(parts[0]), old[1].merge(parts[1])
            held_out = Corpus.concatenate([before[2].recode(corpus.alphabet), held_out])
        parts = parts[0].like(parts[1]), parts[1]
        coded = held_out_corpus(held_out, parts[0].model_alphabet)
        result = fit_moments(*parts, coded, settings)[0]
        self.moments_ = (*parts, held_out)
        return self._keep(result)  # type: ignore[no-any-return]

    def _settings(self) -> Settings:
        return Settings(
            "spectral", self.n_states, self.max_states, self.max_length, self.operators, self.ends, self.svd, self.select,
            self.seed, statistics=several(self.statistic), bases=several(self.basis), scalings=several(self.scaling),
        )  # fmt: skip


class NonNegativeLearner(_SequenceLearner):
    """Learn a PFA by non-negative factorisation; see `learn_nonnegative` for the parameters."""

    def __init__(
        self,
        n_states: Any = "auto",
        max_states: int = 40,
        statistic: Any = "substring",
        basis: Any = "top:400",
        max_length: int = 4,
        scaling: Any = "roots",
        operators: Operators = "shifted",
        nmf: NMFMethod = "cd",
        restarts: int = 1,
        select: Criterion = "log_prob",
        polish: int = 0,
        fraction: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.n_states = n_states
        self.max_states = max_states
        self.statistic = statistic
        self.basis = basis
        self.max_length = max_length
        self.scaling = scaling
        self.operators = operators
        self.nmf = nmf
        self.restarts = restarts
        self.select = select
        self.polish = polish
        self.fraction = fraction
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> NonNegativeLearner:
        """Learn from a collection of sequences."""
        return self._keep(learn_nonnegative(X, **self.get_params()))  # type: ignore[no-any-return]


class ResidualLearner(_SequenceLearner):
    """Learn a PFA from the futures of observed prefixes; see `learn_residual` for the parameters."""

    def __init__(
        self,
        n_states: Any = "auto",
        max_states: int = 40,
        statistic: Any = "substring",
        basis: Any = "top:400",
        max_length: int = 4,
        scaling: Any = "roots",
        select: Criterion = "log_prob",
        polish: int = 0,
        fraction: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.n_states = n_states
        self.max_states = max_states
        self.statistic = statistic
        self.basis = basis
        self.max_length = max_length
        self.scaling = scaling
        self.select = select
        self.polish = polish
        self.fraction = fraction
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> ResidualLearner:
        """Learn from a collection of sequences."""
        return self._keep(learn_residual(X, **self.get_params()))  # type: ignore[no-any-return]


class EMLearner(_SequenceLearner):
    """Learn a PFA by expectation and maximisation; see `learn_em` for the parameters."""

    def __init__(
        self,
        n_states: Any = "auto",
        max_states: int = 80,
        init: Any = "random",
        restarts: int = 3,
        prior: float = 0.1,
        n_steps: int = 400,
        patience: int = 10,
        tied: bool = False,
        hard: bool = False,
        grow: bool = False,
        temperature: float = 1.0,
        precision: Precision = "float64",
        fraction: float = 0.1,
        seed: int = 0,
    ) -> None:
        self.n_states = n_states
        self.max_states = max_states
        self.init = init
        self.restarts = restarts
        self.prior = prior
        self.n_steps = n_steps
        self.patience = patience
        self.tied = tied
        self.hard = hard
        self.grow = grow
        self.temperature = temperature
        self.precision = precision
        self.fraction = fraction
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> EMLearner:
        """Learn from a collection of sequences."""
        return self._keep(learn_em(X, **self.get_params()))  # type: ignore[no-any-return]
