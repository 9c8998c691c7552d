"""What all learners by moments do: count, choose on held-out data, learn from all data, finish by likelihood."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from momata.core.basis import Basis, basis_from_counts, longest_of
from momata.core.corpus import Corpus, as_corpus
from momata.core.hankel import Scaling, hankel_from_counts
from momata.core.linalg import SVDMethod
from momata.core.statistics import check_statistic
from momata.core.wfa import WFA, Statistic
from momata.errors import BasisError, DataError, OptionError, whole
from momata.learn.factors import Ends, Operators, rank_path
from momata.learn.moments import Moments, count_moments
from momata.learn.ngram import best_order, choose_order
from momata.learn.nonnegative_factors import NMFMethod, NonNegativePath, ResidualPath
from momata.learn.polishing import finish_by_likelihood
from momata.learn.result import FitResult, Status
from momata.learn.selection import Candidate, Criterion, choose_automaton, held_out_corpus, hold_out
from momata.predict.automaton_model import AutomatonModel

__all__ = ["Settings", "Several", "check_polish", "fit_moments", "learn_by_moments", "several", "status_of"]

Several = str | Sequence[str]
Callback = Callable[[dict[str, Any]], None]
Method = Literal["spectral", "nonnegative", "residual"]

BACKING_DEPTH = 6  # orders tried for the n-gram model behind an automaton where data come piece by piece
MUCH_NEGATIVE = 0.1  # mean share of negative mass from which a fit is reported


class Path(Protocol):
    """Automata of several numbers of states, learned from one Hankel block."""

    @property
    def max_rank(self) -> int:
        """The largest number of states."""

    @property
    def ranks(self) -> Iterable[int]:
        """Numbers of states to try."""

    @property
    def singular_values(self) -> NDArray[np.float64] | None:
        """Where there are some."""

    def automaton(self, n_states: int) -> WFA:
        """Return the automaton of one number of states."""


@dataclass(frozen=True)
class Settings:
    """The options of the learners by moments, see `learn_spectral`; each of the last three may have several values to try."""

    method: Method = "spectral"
    n_states: int | Literal["auto"] = "auto"
    max_states: int = 40
    max_length: int = 4
    operators: Operators = "shifted"
    ends: Ends = "start"
    svd: SVDMethod = "auto"
    select: Criterion = "log_prob"
    seed: int = 0
    nmf: NMFMethod = "cd"
    restarts: int = 1
    statistics: tuple[Statistic, ...] = ("substring",)
    bases: tuple[str | Basis, ...] = ("top:400",)
    scalings: tuple[Scaling, ...] = ("roots",)

    def __post_init__(self) -> None:
        if self.n_states != "auto" and whole(self.n_states, "n_states") < 1:
            raise OptionError(f"n_states={self.n_states}: an automaton has at least 1 state. Or use 'auto'.")
        if whole(self.max_states, "max_states") < 1:
            raise OptionError(f"max_states={self.max_states}: an automaton has at least 1 state.")
        for statistic in self.statistics:
            check_statistic(statistic)
        if not (self.statistics and self.bases and self.scalings):
            raise OptionError("statistic, basis and scaling need one value each, or several to try.")

    @property
    def lengths(self) -> tuple[int, int]:
        """Lengths of the longest prefix and the longest suffix of all bases."""
        pairs = [longest_of(basis, self.max_length) for basis in self.bases]
        return max(p for p, _ in pairs), max(s for _, s in pairs)

    @property
    def max_rank(self) -> int:
        """The largest number of states that may be tried."""
        return self.max_states if self.n_states == "auto" else self.n_states

    def count(self, corpus: Corpus, order: int = BACKING_DEPTH) -> Moments:
        """Count what these settings need, and n-grams up to an order."""
        return count_moments(corpus, self.statistics, *self.lengths, order)

    def path(self, moments: Moments, max_rank: int) -> Path:
        """Return the automata of all ranks, by the first of each setting."""
        counts = moments.counts[self.statistics[0]]
        basis = basis_from_counts(counts, self.bases[0], self.max_length, self.seed)
        blocks = hankel_from_counts(counts, basis)
        if self.method == "nonnegative":
            return NonNegativePath(
                blocks, max_rank, self.scalings[0], self.operators, self.nmf, self.restarts, self.seed
            )
        if self.method == "residual":
            return ResidualPath(blocks, max_rank, self.scalings[0])
        return rank_path(blocks, max_rank, self.scalings[0], self.operators, self.ends, self.svd, self.seed)

    def each(self) -> Iterator[Settings]:
        """Return settings with one value each, in all combinations."""
        for statistic, basis, scaling in product(self.statistics, self.bases, self.scalings):
            yield replace(self, statistics=(statistic,), bases=(basis,), scalings=(scaling,))


def learn_by_moments(
    data: Any,
    settings: Settings,
    polish: int = 0,
    valid: Any = None,
    fraction: float = 0.1,
    callback: Callback | None = None,
) -> FitResult:
    """Count, choose on held-out data, learn from all data, and finish by likelihood if asked."""
    check_polish(polish)
    began = time.perf_counter()
    corpus = as_corpus(data)
    if not len(corpus):
        raise DataError("a corpus without sequences cannot be learned from. Give at least one, which may be empty.")
    if valid is None:
        train, held_out = hold_out(corpus, fraction, settings.seed)
        order = _order(train, held_out)
        whole_sample = settings.count(corpus, order)
        moments = settings.count(train, order).like(whole_sample)
    else:
        train, held_out = corpus, as_corpus(valid)
        moments = whole_sample = settings.count(corpus, _order(train, held_out))
    held_out = held_out_corpus(held_out, moments.model_alphabet)
    counted = time.perf_counter()
    result, rough = fit_moments(moments, whole_sample, held_out, settings, callback)
    if polish:
        most_states = 2 * settings.max_states if settings.n_states == "auto" else 0
        result = finish_by_likelihood(result, rough, train, held_out, corpus, polish, most_states, callback=callback)
    result.seconds["count"] = counted - began
    result.model.training["n_sequences"], result.model.training["n_tokens"] = len(corpus), corpus.n_tokens
    return result


def _order(train: Corpus, held_out: Corpus) -> int:
    """Return the order of the n-gram model behind an automaton that suits held-out data best."""
    if train.weights is not None and np.any(train.weights != np.rint(train.weights)):
        return 1
    if not train.alphabet.closed:
        train = train.recode(train.alphabet.with_unknown())
    return choose_order(train, held_out_corpus(held_out, train.alphabet))[0]


def check_polish(polish: int) -> None:
    """Raise `OptionError` unless ``polish`` is a number of steps."""
    if whole(polish, "polish") < 0:
        raise OptionError(f"polish={polish} is no number of steps. Give a whole number from 0.")


def several(value: Any) -> tuple[Any, ...]:
    """Return one value, or several, of an option as a tuple."""
    return (value,) if isinstance(value, str | Basis) or not isinstance(value, Sequence) else tuple(value)


def fit_moments(
    moments: Moments, whole_sample: Moments, held_out: Corpus, settings: Settings, callback: Callback | None = None
) -> tuple[FitResult, AutomatonModel]:
    """Choose on held-out data among what ``moments`` give, then learn that from the moments of the whole sample.

    The second value is the model that was chosen, from ``moments`` alone.
    """
    began = time.perf_counter()
    order = 0
    if moments.ngrams is not None:
        tree = moments.ngrams
        order = best_order(lambda _: tree, moments.model_alphabet, held_out, max_order=tree.depth)[0]
    show = callback and (lambda entry: callback({name: value for name, value in entry.items() if name != "settings"}))
    choice = choose_automaton(_candidates(moments, settings), moments.backing(order), held_out, settings.select, show)
    chosen = choice.options["settings"]
    tried = next(e for e in choice.curve if e["settings"] is chosen and e["n_states"] == choice.model.n_states)
    for entry in choice.curve:
        del entry["settings"]
    selected = time.perf_counter()
    wanted = choice.model.n_states if settings.n_states == "auto" else settings.n_states
    path = chosen.path(whole_sample, wanted)
    wfa = path.automaton(min(wanted, path.max_rank))
    training = {
        "method": settings.method, "statistic": chosen.statistics[0], "basis": str(chosen.bases[0]),
        "max_length": settings.max_length, "scaling": chosen.scalings[0], "operators": settings.operators,
        "ends": settings.ends, "select": settings.select, "seed": settings.seed, "curve": choice.curve,
    }  # fmt: skip
    model = AutomatonModel(wfa, whole_sample.backing(order), choice.model.share, choice.model.distrust, training)
    status = status_of(model, settings.n_states != "auto" and wfa.n_states < wanted, float(tried["negative_mass"]))
    seconds = {"select": selected - began, "factorise": time.perf_counter() - selected}
    result = FitResult(
        model,
        wfa,
        status,
        settings.method,
        chosen.statistics[0],
        wfa.n_states,
        choice.curve,
        seconds,
        path.singular_values,
    )
    return result, choice.model


def _candidates(moments: Moments, settings: Settings) -> Iterator[Candidate]:
    every = list(settings.each())
    failed: list[BasisError] = []
    for one in every:
        try:
            path = one.path(moments, settings.max_rank)
        except BasisError as error:  # others may do
            failed.append(error)
            if len(failed) == len(every):
                raise
            continue
        options: dict[str, Any] = {"settings": one}
        if len(settings.statistics) > 1:
            options["statistic"] = one.statistics[0]
        if len(settings.bases) > 1:
            options["basis"] = str(one.bases[0])
        if len(settings.scalings) > 1:
            options["scaling"] = one.scalings[0]
        for n in path.ranks if settings.n_states == "auto" else [min(settings.n_states, path.max_rank)]:
            yield Candidate(path.automaton(n), options)


def status_of(model: AutomatonModel, deficient: bool, negative: float) -> Status:
    """Return how a fit ended."""
    if deficient:
        return Status.RANK_DEFICIENT
    if not model.wfa.is_summable():
        return Status.NOT_SUMMABLE
    return Status.NEGATIVE_WEIGHTS if negative > MUCH_NEGATIVE else Status.OK
