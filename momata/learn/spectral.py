"""The spectral learner: count, factorise once, choose the number of states on held-out data, factorise all data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

from momata.core.basis import Basis, basis_from_counts, longest_of
from momata.core.corpus import Corpus, as_corpus
from momata.core.hankel import HankelBlocks, Scaling, hankel_from_counts
from momata.core.linalg import SVDMethod
from momata.core.statistics import check_statistic
from momata.core.wfa import Statistic
from momata.errors import BasisError, DataError, OptionError, whole
from momata.learn.factors import Ends, Operators, RankPath, rank_path
from momata.learn.moments import Moments, count_moments
from momata.learn.ngram import best_order
from momata.learn.polishing import finish_by_likelihood
from momata.learn.result import FitResult, Status
from momata.learn.selection import Candidate, Criterion, choose_automaton, held_out_corpus, hold_out
from momata.predict.automaton_model import AutomatonModel

__all__ = ["Settings", "fit_moments", "learn_spectral", "several"]

Several = str | Sequence[str]
Callback = Callable[[dict[str, Any]], None]

BACKING_DEPTH = 6  # orders tried for the n-gram model behind an automaton
MUCH_NEGATIVE = 0.1  # mean share of negative mass from which a fit is reported


@dataclass(frozen=True)
class Settings:
    """The options of the spectral learner, see `learn_spectral`; each of the last three may have several values to try."""

    n_states: int | Literal["auto"] = "auto"
    max_states: int = 40
    max_length: int = 4
    operators: Operators = "shifted"
    ends: Ends = "start"
    svd: SVDMethod = "auto"
    select: Criterion = "log_prob"
    seed: int = 0
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

    def count(self, corpus: Corpus) -> Moments:
        """Count what these settings need."""
        return count_moments(corpus, self.statistics, *self.lengths, BACKING_DEPTH)

    def path(self, moments: Moments, max_rank: int) -> RankPath:
        """Factorise, by the first of each setting."""
        counts = moments.counts[self.statistics[0]]
        basis = basis_from_counts(counts, self.bases[0], self.max_length, self.seed)
        blocks = hankel_from_counts(counts, basis)
        return rank_path(blocks, max_rank, self.scalings[0], self.operators, self.ends, self.svd, self.seed)

    def each(self) -> Iterator[Settings]:
        """Return settings with one value each, in all combinations."""
        for statistic, basis, scaling in product(self.statistics, self.bases, self.scalings):
            yield replace(self, statistics=(statistic,), bases=(basis,), scalings=(scaling,))


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
        Chosen up to ``max_states`` on held-out data.
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
        then is a PFA.
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
        n_states, max_states, max_length, operators, ends, svd, select, seed,
        several(statistic), several(basis), several(scaling),
    )  # fmt: skip
    if whole(polish, "polish") < 0:
        raise OptionError(f"polish={polish} is no number of steps. Give a whole number from 0.")
    if isinstance(data, HankelBlocks):
        if polish:
            raise OptionError(
                "polish needs the sequences, and these are blocks of their moments. Give the corpus instead."
            )
        return _learn_from_blocks(data, settings)
    began = time.perf_counter()
    corpus = as_corpus(data)
    if not len(corpus):
        raise DataError("a corpus without sequences cannot be learned from. Give at least one, which may be empty.")
    if valid is None:
        train, held_out = hold_out(corpus, fraction, seed)
        whole_sample = settings.count(corpus)
        moments = settings.count(train).like(whole_sample)
    else:
        train, held_out = corpus, as_corpus(valid)
        moments = whole_sample = settings.count(corpus)
    held_out = held_out_corpus(held_out, moments.model_alphabet)
    counted = time.perf_counter()
    result, rough = fit_moments(moments, whole_sample, held_out, settings, callback)
    if polish:
        result = finish_by_likelihood(
            result, rough, train, held_out, corpus, polish, grow=n_states == "auto", callback=callback
        )
    result.seconds["count"] = counted - began
    result.model.training["n_sequences"], result.model.training["n_tokens"] = len(corpus), corpus.n_tokens
    return result


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
        "method": "spectral", "statistic": chosen.statistics[0], "basis": str(chosen.bases[0]), "max_length": settings.max_length,
        "scaling": chosen.scalings[0], "operators": settings.operators, "ends": settings.ends, "select": settings.select,
        "seed": settings.seed, "curve": choice.curve,
    }  # fmt: skip
    model = AutomatonModel(wfa, whole_sample.backing(order), choice.model.share, choice.model.distrust, training)
    status = _status(model, settings.n_states != "auto" and wfa.n_states < wanted, float(tried["negative_mass"]))
    seconds = {"select": selected - began, "factorise": time.perf_counter() - selected}
    result = FitResult(
        model, wfa, status, "spectral", chosen.statistics[0], wfa.n_states, choice.curve, seconds, path.singular_values
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
        lowest = 1 if settings.n_states == "auto" else min(settings.n_states, path.max_rank)
        for n in range(lowest, path.max_rank + 1):
            yield Candidate(path.automaton(n), options)


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
    status = _status(model, settings.n_states != "auto" and wfa.n_states < settings.n_states, negative or 0.0)
    return FitResult(model, wfa, status, "spectral", blocks.statistic, wfa.n_states, [], seconds, path.singular_values)


def _status(model: AutomatonModel, deficient: bool, negative: float) -> Status:
    if not model.wfa.is_summable():
        return Status.NOT_SUMMABLE
    if deficient:
        return Status.RANK_DEFICIENT
    return Status.NEGATIVE_WEIGHTS if negative > MUCH_NEGATIVE else Status.OK
