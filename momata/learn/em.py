"""Maximum likelihood by expectation and maximisation: the baseline of all five papers, and the finish of our moments."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from momata.core.alphabet import Alphabet
from momata.core.basis import basis_from_counts
from momata.core.corpus import Corpus, as_corpus
from momata.core.counting import count_prefixes
from momata.core.expectation import Expectations, Precision, log_likelihood
from momata.core.hankel import hankel_from_counts
from momata.core.plan import WalkPlan, plan_walk
from momata.core.probabilistic import PFA
from momata.core.statistics import count_statistic
from momata.core.wfa import WFA
from momata.errors import DataError, OptionError, generator, whole
from momata.learn.em_step import EMStep, event_shares, random_start, split_states
from momata.learn.factors import RankPath, rank_path
from momata.learn.projection import as_start, automaton_in
from momata.learn.result import FitResult, Status
from momata.learn.selection import hold_out
from momata.predict.automaton_model import AutomatonModel

__all__ = ["EMState", "learn_em", "learn_online", "polish"]

Array = NDArray[np.float64]
Callback = Callable[[dict[str, Any]], None]
Start = Literal["random", "hmm", "left-to-right", "spectral"]

LADDER = (1, 2, 5, 10, 20, 40, 80, 160, 320, 640)  # numbers of states that are tried
RUNG_PATIENCE = 2  # numbers of states that may be no better before the search stops
TRIAL_STEPS = 15  # after which the best of several starts is kept
FINISH = 10  # steps on all data at the end
PATIENCE = 10  # steps of polishing that may bring no gain
TOLERANCE = 1e-5  # relative gain of held-out likelihood that counts


@dataclass(frozen=True, eq=False)
class EMState:
    """Where a search stands, so that it can go on later; it can be saved like a model.

    Attributes
    ----------
    pfa, best : PFA
        Of the present run: the automaton after ``step`` steps, and the best so far on held-out data.
    step, best_step, last_gain : int
    best_score, mark : float
        The best so far on held-out data, and what the last gain that counts came to.
    winner : PFA or None
        The best of the numbers of states that are done.
    curve, trace : list
    training : dict
        What is learned, from what: only the same goes on.
    """

    kind: ClassVar[str] = "em_state"

    pfa: PFA
    best: PFA
    step: int
    best_step: int
    last_gain: int
    best_score: float
    mark: float
    winner: PFA | None
    curve: list[dict[str, Any]]
    trace: list[dict[str, Any]]
    training: dict[str, Any] = field(default_factory=dict)

    @property
    def alphabet(self) -> Alphabet:
        """The alphabet of all three automata."""
        return self.pfa.alphabet

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return what a file keeps."""
        automata = {"pfa": self.pfa, "best": self.best} | ({} if self.winner is None else {"winner": self.winner})
        arrays = {f"{name}_{part}": getattr(one, part) for name, one in automata.items() for part in _PARTS}
        return arrays, {name: getattr(self, name) for name in _PLAIN_FIELDS}

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], values: dict[str, Any]) -> EMState:
        """Make a state of what `to_parts` gave."""
        automata = {}
        for name in ("pfa", "best", "winner"):
            if f"{name}_initial" in arrays:
                parts: Any = [arrays[f"{name}_{part}"] for part in _PARTS]
                initial, final, operators = parts
                automata[name] = PFA(initial, final, operators, values["alphabet"])
        plain = {name: _known(values[name]) for name in _PLAIN_FIELDS}
        plain |= {name: -np.inf for name in ("best_score", "mark") if plain[name] is None}
        for name, kind in _PLAIN_FIELDS.items():
            if type(plain[name]) is not kind:
                raise OptionError(f"{name} is {plain[name]!r:.40}")
        return cls(
            automata["pfa"], automata["best"], winner=automata.get("winner"), **plain, training=values["training"]
        )


_PARTS = ("initial", "final", "operators")
_PLAIN_FIELDS = {
    "step": int,
    "best_step": int,
    "last_gain": int,
    "best_score": float,
    "mark": float,
    "curve": list,
    "trace": list,
}


_SCORES = ("validation_log_prob", "log_likelihood")


def _known(entries: Any) -> Any:
    """Return the entries of a curve or trace as they were: files have no infinite numbers, so a score of -inf came as None."""
    if not isinstance(entries, list):
        return entries
    return [e | {key: -np.inf for key in _SCORES if key in e and e[key] is None} for e in entries]


def learn_em(
    data: Any,
    n_states: int | Literal["auto"] = "auto",
    max_states: int = 80,
    init: Start | WFA = "random",
    restarts: int = 3,
    prior: float = 0.1,
    n_steps: int = 400,
    patience: int = 10,
    tied: bool = False,
    hard: bool = False,
    grow: bool = False,
    temperature: float = 1.0,
    precision: Precision = "float64",
    valid: Any = None,
    fraction: float = 0.1,
    seed: int = 0,
    callback: Callback | None = None,
    keep: Callable[[EMState], None] | None = None,
    resume: EMState | None = None,
) -> FitResult:
    r"""Learn a probabilistic automaton by expectation and maximisation on the prefix tree.

    For each number of states the best of several random starts is run until held-out likelihood gains no more; the best of
    all goes on for a few steps on all data. The result is a PFA, and its probabilities are used as they are.

    Parameters
    ----------
    data : Corpus or collection of sequences
    n_states : int or "auto"
        ``"auto"`` tries 1, 2, 5, 10, 20, 40, 80, ... up to ``max_states``, until two in a row are no better.
    max_states : int
    init : {"random", "hmm", "left-to-right", "spectral"} or WFA
        What to start from, see `momata.learn.em_step.random_start`; or a projection of what the spectral method finds; or an
        automaton, which says the number of states too.
    restarts : int
        Random starts, compared after 15 steps.
    prior : float
        Dirichlet prior, in uses of each state, spread as all events are; it also gives every symbol a chance.
    n_steps, patience : int
        The most steps of a run, and after how many that gain less than 1e-5 of the held-out likelihood it ends.
    tied : bool
        A hidden Markov model: the next state does not depend on the symbol.
    hard : bool
        Viterbi training: only the best path of each string counts.
    grow : bool
        Start larger numbers of states from the best smaller one, its busiest states split in two.
    temperature : float
        Deterministic annealing: from this temperature down to 1, by a tenth every second step.
    precision : {"float64", "float32"}
        Of the expectation step.
    valid : Corpus or collection of sequences, optional
        Held-out data, by default ``fraction`` of the sequences, drawn by ``seed``. Sequences with symbols that training
        lacks are left out.
    fraction, seed : float, int
    callback : function, optional
        Called after each step with its entry of the trace.
    keep : function, optional
        Called after each step with an `EMState`, from which ``resume`` goes on with the same result.

    Returns
    -------
    FitResult
        ``curve`` has an entry for each number of states, ``trace`` one for each step.

    Examples
    --------
    >>> result = learn_em(["abab", "ab", "", "ababab"] * 20, n_states=2)
    >>> result.wfa.is_probabilistic(), result.status.name
    (True, 'OK')
    """
    began = time.perf_counter()
    options = EMOptions(
        n_states, max_states, init, restarts, prior, n_steps, patience, tied, hard, grow, temperature, precision, seed
    )
    corpus = as_corpus(data)
    if not len(corpus):
        raise DataError("a corpus without sequences cannot be learned from. Give at least one, which may be empty.")
    _check_start(init, n_states, corpus)
    train, held_out = hold_out(corpus, fraction, seed) if valid is None else (corpus, _usable(valid, corpus))
    training = options.summary() | {"data": _fingerprint(corpus, init),
        "fraction": fraction if valid is None else None, "n_sequences": len(corpus), "n_tokens": corpus.n_tokens,
        "n_held_out": len(held_out),
    }  # fmt: skip
    _check_resume(resume, training)
    search = _Search(train, held_out, event_shares(corpus), options, training, callback, keep)
    counted = time.perf_counter()
    state = search.run(_sizes(options), resume)
    selected = time.perf_counter()
    pfa, trace = state.winner, state.trace
    assert pfa is not None
    if valid is None:
        plan = plan_walk(count_prefixes(corpus))
        for _ in range(min(FINISH, n_steps)):
            pfa, logp = search.step(plan, pfa)
            search.tell(trace, {"stage": "finish", "n_states": pfa.n_states, "log_likelihood": logp})
    best = state.curve[_best_entry(state.curve)]
    seconds = {"count": counted - began, "select": selected - counted, "finish": time.perf_counter() - selected}
    status = Status.OK if best["converged"] else Status.NOT_CONVERGED
    model = AutomatonModel(pfa, training=training | {"n_states": pfa.n_states, "curve": state.curve})
    return FitResult(model, pfa, status, "em", "string", pfa.n_states, state.curve, seconds, trace=trace)


@dataclass(frozen=True, eq=False)
class EMOptions:
    """The options of `learn_em`."""

    n_states: int | Literal["auto"]
    max_states: int
    init: Start | WFA
    restarts: int
    prior: float
    n_steps: int
    patience: int
    tied: bool
    hard: bool
    grow: bool
    temperature: float
    precision: Precision
    seed: int

    def __post_init__(self) -> None:
        if self.n_states != "auto" and whole(self.n_states, "n_states") < 1:
            raise OptionError(f"n_states={self.n_states}: an automaton has at least 1 state. Or use 'auto'.")
        for name, least in (("max_states", 1), ("restarts", 1), ("n_steps", 0), ("patience", 1)):
            if whole(getattr(self, name), name) < least:
                raise OptionError(f"{name}={getattr(self, name)} is too small. Give a whole number from {least}.")
        _check_prior(self.prior)
        if not 1 <= self.temperature < np.inf:
            raise OptionError(f"temperature={self.temperature}: annealing starts at a finite temperature from 1.")
        if self.precision not in get_args(Precision):
            raise OptionError(f"precision={self.precision!r} is not known. Use float64 or float32.")
        if not isinstance(self.init, WFA | str):
            raise OptionError(
                f"init is a {type(self.init).__name__}. Use {', '.join(get_args(Start))}, or a WFA (of a model or a result, "
                "its .wfa)."
            )
        if not isinstance(self.init, WFA) and self.init not in get_args(Start):
            raise OptionError(
                f"init={self.init!r} is not known. Use {', '.join(get_args(Start))}, or an automaton to start from."
            )

    def summary(self) -> dict[str, Any]:
        """Return the options as plain values."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"method": "em"} | plain | {"init": self.init if isinstance(self.init, str) else "automaton"}


def _check_prior(prior: float) -> None:
    if not 0 <= prior < np.inf:
        raise OptionError(f"prior={prior} is no number of uses. Give a finite number from 0.")


def _fingerprint(corpus: Corpus, init: Any) -> str:
    """Return what tells one corpus, and one automaton to start from, from others."""
    digest = hashlib.sha256(repr(corpus.alphabet.symbols).encode("utf-8", "surrogatepass"))
    arrays: list[Any] = [corpus.tokens, corpus.offsets]
    arrays += [] if corpus.weights is None else [corpus.weights]
    arrays += [init.initial, init.final, init.operators] if isinstance(init, WFA) else []
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:32]


def _check_start(init: Any, n_states: Any, corpus: Corpus) -> None:
    if isinstance(init, WFA):
        if init.alphabet != corpus.alphabet:
            raise OptionError(
                f"the automaton to start from has {init.n_symbols} symbols, and the data {corpus.n_symbols}, not the same in the "
                "same order. Write it over the alphabet of the data: wfa.over(corpus.alphabet)."
            )
        if n_states not in ("auto", init.n_states):
            raise OptionError(f"n_states={n_states}, but the automaton to start from has {init.n_states}.")


def _check_resume(state: EMState | None, training: dict[str, Any]) -> None:
    if state is not None and {k: v for k, v in state.training.items() if k != "versions"} != training:
        differing = [key for key in training if state.training.get(key) != training[key]]
        raise OptionError(
            f"what is to go on was begun with other {', '.join(differing) or 'options'}. Use the same data and options, or "
            "begin anew."
        )


def _usable(valid: Any, corpus: Corpus) -> Corpus:
    """Return held-out sequences over the alphabet of training; those with other symbols would have probability 0."""
    given = as_corpus(valid)
    known = np.array([corpus.alphabet.find(s) is not None for s in given.alphabet], dtype=bool)
    fine = np.add.reduceat(np.append(~known[given.tokens], False), given.offsets[:-1]) == 0 if len(given) else []
    fine = np.asarray(fine, dtype=bool) | (given.lengths == 0)
    if not fine.any():
        raise DataError(
            "no held-out sequence is made of symbols of the training data only, so none can be used to choose. Give others."
        )
    return given[np.flatnonzero(fine)].recode(corpus.alphabet)


def _sizes(options: EMOptions) -> list[int]:
    if isinstance(options.init, WFA):
        return [options.init.n_states]
    if options.n_states != "auto":
        return [int(options.n_states)]
    smaller = [n for n in LADDER if n < options.max_states]
    return smaller + [options.max_states] * (options.max_states <= LADDER[-1])


class _Search:
    """The search over numbers of states, starts and steps."""

    def __init__(
        self, train: Corpus, held_out: Corpus, shares: Array, options: EMOptions, training: dict[str, Any],
        callback: Callback | None, keep: Callable[[EMState], None] | None,
    ) -> None:  # fmt: skip
        self.tree = count_prefixes(train)
        self.train, self.held_out = plan_walk(self.tree), plan_walk(count_prefixes(held_out))
        self.step = EMStep(shares, options.prior, options.tied, options.hard, options.precision)
        self.options, self.training, self.callback, self.keep = options, training, callback, keep
        self.corpus = train

    def run(self, sizes: list[int], state: EMState | None) -> EMState:
        """Return the state after the last run."""
        if state is None:
            state = self._begin(sizes[0], None)
        else:
            state = replace(state, trace=[*state.trace])
        while True:
            state = self._finish_run(state)
            done = len(state.curve)
            since = done - 1 - _best_entry(state.curve)
            if done == len(sizes) or since >= RUNG_PATIENCE:
                return state
            state = self._begin(sizes[done], state)

    def _begin(self, n: int, before: EMState | None) -> EMState:
        """Choose among starts and return the state of a new run."""
        rng = generator([self.options.seed, n])
        curve, trace = (before.curve, before.trace) if before else ([], [])
        winner = before.winner if before else None
        starts = self._starts(n, winner, rng)
        pfa, step = next(starts), 0
        if self.options.restarts > 1 and self.options.n_steps > TRIAL_STEPS and (second := next(starts, None)):
            tried = (self._trial(start, k, trace) for k, start in enumerate(chain([pfa, second], starts)))
            pfa, step = max(tried, key=lambda t: t[1])[0], TRIAL_STEPS
        score = self._score(pfa)
        return EMState(pfa, pfa, step, step, step, score, score, winner, curve, trace, self.training)

    def _starts(self, n: int, winner: PFA | None, rng: np.random.Generator) -> Iterator[PFA]:
        init, shares = self.options.init, self.step.shares
        if isinstance(init, WFA):
            start = as_start(init, self.tree, shares)
            if (
                log_likelihood(self.train, start) == -np.inf
            ):  # it cannot say what the data hold: give everything a chance
                start = as_start(init, self.tree, shares, keep_zeros=False)
            return iter([start])
        if self.options.grow and winner is not None and winner.n_states < n:
            found = self.step.expectations(self.train, winner)
            return iter([split_states(winner, _visits(found), n - winner.n_states, rng)])
        if init == "spectral":
            path = self.spectral_path
            return iter([as_start(path.automaton(min(n, path.max_rank)), self.tree, shares, n)])
        kind = "hmm" if self.options.tied or init == "hmm" else "random"
        draws = range(self.options.restarts)
        return (random_start(kind, n, self.tree.alphabet, shares, rng, init == "left-to-right") for _ in draws)

    @cached_property
    def spectral_path(self) -> RankPath:
        """Automata of all ranks by the spectral method, from the part that is learned from."""
        counts = count_statistic(self.corpus, "substring", 4, 4)
        blocks = hankel_from_counts(counts, basis_from_counts(counts, "top:400"))
        return rank_path(blocks, _sizes(self.options)[-1])

    def _trial(self, pfa: PFA, start: int, trace: list[dict[str, Any]]) -> tuple[PFA, float]:
        for k in range(TRIAL_STEPS):
            pfa, logp = self.step(self.train, pfa, self._heat(k))
            self.tell(
                trace, {"stage": "trial", "start": start, "n_states": pfa.n_states, "step": k, "log_likelihood": logp}
            )
        return pfa, self._score(pfa)

    def _finish_run(self, s: EMState) -> EMState:
        """Step until held-out likelihood gains no more; then the run's entry is the last of the curve."""
        while s.step < self.options.n_steps and s.step - s.last_gain < self.options.patience:
            pfa, logp = self.step(self.train, s.pfa, self._heat(s.step))
            score, step = self._score(pfa), s.step + 1
            self.tell(s.trace, {
                "stage": "run", "n_states": pfa.n_states, "step": step, "log_likelihood": logp, "validation_log_prob": score,
            })  # fmt: skip
            hot = self._heat(step) > 1.0
            s = replace(s, pfa=pfa, step=step)
            if hot or not score <= s.mark + TOLERANCE * abs(s.mark):
                s = replace(s, last_gain=step, mark=score)
            if score > s.best_score or hot:
                s = replace(s, best=pfa, best_step=step, best_score=score)
            if self.keep:
                self.keep(replace(s, trace=[*s.trace]))
        entry = {
            "n_states": s.best.n_states, "validation_log_prob": s.best_score,
            "validation_perplexity_per_symbol": _perplexity(s.best_score, self.held_out.n_events),
            "n_steps": s.best_step, "converged": s.step - s.last_gain >= self.options.patience,
        }  # fmt: skip
        ahead = all(_is_better(s.best_score, e["validation_log_prob"]) for e in s.curve)
        return replace(s, curve=[*s.curve, entry], winner=s.best if ahead or s.winner is None else s.winner)

    def _score(self, pfa: PFA) -> float:
        return log_likelihood(self.held_out, pfa)

    def _heat(self, k: int) -> float:
        return max(1.0, self.options.temperature * 0.9 ** (k // 2))

    def tell(self, trace: list[dict[str, Any]], entry: dict[str, Any]) -> None:
        trace.append(entry)
        if self.callback:
            self.callback(entry)


def _is_better(score: float, other: float) -> bool:
    """Return whether a score is higher by more than rounding."""
    return score > other + 1e-7 * abs(other) + 1e-9 if np.isfinite(other) else score > other


def _best_entry(curve: list[dict[str, Any]]) -> int:
    """Return the first entry than which none is better."""
    best = 0
    for k, entry in enumerate(curve):
        if _is_better(entry["validation_log_prob"], curve[best]["validation_log_prob"]):
            best = k
    return best


def _visits(found: Expectations) -> Array:
    return np.asarray(found.operators.sum(axis=(0, 2)) + found.final)


def _perplexity(log_prob: float, n_events: float) -> float | None:
    return float(np.exp(-log_prob / n_events)) if log_prob > -700 * n_events else None


def polish(
    wfa: WFA,
    data: Any,
    n_steps: int = 20,
    prior: float = 0.1,
    valid: Any = None,
    n_states: int | None = None,
    keep_zeros: bool = True,
    precision: Precision = "float64",
    callback: Callback | None = None,
) -> FitResult:
    """Finish an automaton by likelihood: EM from there.

    Parameters
    ----------
    wfa : WFA
        Or a model or a result that has one. A PFA is taken as it is, zeros included. Another non-negative automaton of finite
        mass is normalised, and a signed one projected, see `momata.learn.projection.project`.
    data : Corpus or collection of sequences
        Over the automaton's alphabet.
    n_steps : int
    prior : float
        See `learn_em`.
    valid : Corpus or collection of sequences, optional
        The step that suits it best is taken, the start included, and steps end when ten brought no gain; by default all are
        made, and the last is taken.
    n_states : int, optional
        Of the projection, if not as many as the automaton has.
    keep_zeros : bool
        Whether a PFA keeps its zeros; else it is mixed with 1 % of what all events do, so that all can change.
    precision, callback
        See `learn_em`.

    Returns
    -------
    FitResult
        Its ``wfa`` is a PFA.

    Examples
    --------
    >>> import momata as mo
    >>> corpus = mo.Corpus.from_sequences(["abab", "ab", "", "ababab"] * 20)
    >>> rough = mo.learn_spectral(corpus, n_states=2).wfa
    >>> polish(rough, corpus, n_steps=10).wfa.is_probabilistic()
    True
    """
    began = time.perf_counter()
    wfa = automaton_in(wfa)
    if n_states is not None and whole(n_states, "n_states") < 1:
        raise OptionError(f"n_states={n_states}: an automaton has at least 1 state.")
    corpus = as_corpus(data, wfa.alphabet, "error")
    if not len(corpus):
        raise DataError("a corpus without sequences cannot be learned from. Give at least one, which may be empty.")
    if whole(n_steps, "n_steps") < 0:
        raise OptionError(f"n_steps={n_steps} is no number of steps. Give a whole number from 0.")
    _check_prior(prior)
    tree = count_prefixes(corpus)
    shares = event_shares(corpus)
    step, plan = EMStep(shares, prior, precision=precision), plan_walk(tree)
    held_out = None if valid is None else plan_walk(count_prefixes(_usable(valid, corpus)))
    pfa = best = as_start(wfa, tree, shares, n_states, keep_zeros)
    best_step = last_gain = 0
    best_score = mark = -np.inf if held_out is None else log_likelihood(held_out, pfa)
    trace: list[dict[str, Any]] = []
    for k in range(n_steps):
        pfa, logp = step(plan, pfa)
        entry = {"stage": "polish", "n_states": pfa.n_states, "step": k + 1, "log_likelihood": logp}
        if held_out is not None:
            entry["validation_log_prob"] = score = log_likelihood(held_out, pfa)
            if score > mark + TOLERANCE * abs(mark):
                last_gain, mark = k + 1, score
            if score > best_score:
                best, best_score, best_step = pfa, score, k + 1
        trace.append(entry)
        if callback:
            callback(entry)
        if held_out is not None and k + 1 - last_gain >= PATIENCE:
            break
    found, best_step = (pfa, n_steps) if held_out is None else (best, best_step)
    training = {"method": "polish", "n_steps": n_steps, "best_step": best_step, "prior": prior}
    if held_out is not None:
        training["validation_log_prob"] = best_score
    model = AutomatonModel(found, training=training)
    seconds = {"polish": time.perf_counter() - began}
    return FitResult(model, found, Status.OK, "polish", "string", found.n_states, [], seconds, trace=trace)


def learn_online(
    batches: Iterable[Corpus],
    start: WFA | int,
    prior: float = 0.1,
    decay: float = 0.7,
    seed: int = 0,
    callback: Callback | None = None,
) -> FitResult:
    r"""Learn a PFA from batches, each seen once and then forgotten: for data that memory cannot hold.

    After batch k the expected uses are :math:`(1 - \eta_k)` of those before and :math:`\eta_k` of the batch's, as shares of
    its strings, with :math:`\eta_k = (k + 1)^{-decay}` [1]_.

    Parameters
    ----------
    batches : iterable of Corpus
        Over one alphabet.
    start : WFA or int
        What to start from, or how many states a random start has.
    prior : float
        See `learn_em`; in uses of each state in all data so far.
    decay : float
        Above 0.5 and at most 1: the higher, the longer old batches are remembered.
    seed, callback
        See `learn_em`.

    References
    ----------
    .. [1] O. Cappé and E. Moulines, "On-line expectation-maximization algorithm for latent data models",
       Journal of the Royal Statistical Society B, 2009.
    """
    if not 0.5 < decay <= 1:
        raise OptionError(f"decay={decay}: steps must shrink, but not too fast. Give a number above 0.5, at most 1.")
    _check_prior(prior)
    if not isinstance(start, WFA) and whole(start, "start") < 1:
        raise OptionError(f"start={start}: an automaton has at least 1 state. Or give one to start from.")
    began = time.perf_counter()
    pfa: PFA | None = None
    kept: Expectations | None = None
    seen, trace = 0.0, []
    for k, (batch, plan, shares) in enumerate(_planned(batches)):
        if pfa is None:
            _check_start(start, "auto", batch)
            if isinstance(start, WFA):
                pfa = as_start(start, count_prefixes(batch), shares)
            else:
                pfa = random_start("random", start, batch.alphabet, shares, generator(seed))
        elif batch.alphabet != pfa.alphabet:
            raise OptionError("batches must be over one alphabet. Recode them: batch.recode(alphabet).")
        found = EMStep(shares).expectations(plan, pfa)
        seen += plan.n_strings
        kept = _mixed(kept, found, plan.n_strings, (k + 1.0) ** -decay)
        scaled = Expectations(0.0, kept.operators * seen, kept.final * seen, kept.initial * seen)
        pfa = EMStep(shares, prior).maximise(scaled, pfa)
        trace.append(
            {"stage": "online", "step": k + 1, "n_states": pfa.n_states, "log_likelihood": found.log_likelihood}
        )
        if callback:
            callback(trace[-1])
    if pfa is None:
        raise DataError("there are no batches to learn from. Give at least one.")
    model = AutomatonModel(pfa, training={"method": "em", "online": True, "decay": decay, "prior": prior, "seed": seed})
    seconds = {"online": time.perf_counter() - began}
    return FitResult(model, pfa, Status.OK, "em", "string", pfa.n_states, [], seconds, trace=trace)


def _planned(batches: Iterable[Any]) -> Iterator[tuple[Corpus, WalkPlan, Array]]:
    if isinstance(batches, Corpus | str):
        raise OptionError(
            "batches must be several corpora, one after the other, and this is a single one. Put it in a list."
        )
    for batch in map(as_corpus, batches):
        if len(batch):
            yield batch, plan_walk(count_prefixes(batch)), event_shares(batch)


def _mixed(kept: Expectations | None, found: Expectations, n_strings: float, eta: float) -> Expectations:
    """Return expected uses for each string, the newest with share ``eta``."""
    new = Expectations(0.0, found.operators / n_strings, found.final / n_strings, found.initial / n_strings)
    if kept is None:
        return new
    pairs = ((kept.operators, new.operators), (kept.final, new.final), (kept.initial, new.initial))
    return Expectations(0.0, *((1.0 - eta) * old + eta * fresh for old, fresh in pairs))
