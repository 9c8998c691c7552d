"""n-gram models: interpolated Kneser-Ney, or plain relative frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from momata._kernels import ngrams
from momata.core.alphabet import START, UNKNOWN, Alphabet
from momata.core.tree import CountedTree
from momata.core.wfa import WFA
from momata.errors import ModelFileError, OptionError, whole
from momata.predict.language_model import LanguageModel

__all__ = ["NGramModel", "Smoothing"]

Smoothing = Literal["kn", "mkn", "none"]

MAX_ORDER = 10_000
FALLBACK_DISCOUNTS = (0.5, 1.0, 1.5)  # where the counts of counts give none


class NGramModel(LanguageModel):
    r"""A model that looks back at most ``order - 1`` symbols; start and end of a sequence are seen like symbols.

    With ``smoothing="kn"``, interpolated Kneser-Ney [1]_: after context :math:`u`,

    .. math:: p(\sigma \mid u) = \frac{\max(c(u\sigma) - D, 0)}{c(u)} + \gamma(u)\, p(\sigma \mid u'),
              \quad D = \frac{n_1}{n_1 + 2 n_2}

    where :math:`u'` is :math:`u` without its first symbol, :math:`\gamma(u)` what the discounts left over, and :math:`n_r`
    the number of n-grams of this order with count r. Counts :math:`c` are numbers of occurrences at full order and after the
    start of a sequence, and elsewhere numbers of different symbols (or the start) seen before the n-gram. Below one symbol
    stands the uniform distribution over all symbols and the end, so nothing has probability 0. ``"mkn"`` has a discount
    of its own for counts 1, 2 and from 3 on. Where :math:`n_1` or :math:`n_2` (for ``"mkn"`` also :math:`n_3` or
    :math:`n_4`) is 0, or a discount of count r is outside of (0, r], the discounts of that order are 0.5 (``"mkn"``: 0.5,
    1, 1.5).

    With ``smoothing="none"`` probabilities are relative frequencies after the context of full order.

    Parameters
    ----------
    counts : CountedTree
        Substring tree of the sequences with the mark of the start before each (`Corpus.with_start`), as deep as the order.
    alphabet : Alphabet
        Without the mark of the start.
    order : int
    smoothing : {"kn", "mkn", "none"}
    training : dict, optional

    References
    ----------
    .. [1] S. F. Chen and J. Goodman, "An empirical study of smoothing techniques for language modeling",
       Computer Speech and Language, 1999.
    """

    kind: ClassVar[str] = "ngram"

    def __init__(
        self,
        counts: CountedTree,
        alphabet: Alphabet,
        order: int,
        smoothing: Smoothing = "kn",
        training: dict[str, Any] | None = None,
    ) -> None:
        order = whole(order, "order")
        if not 1 <= order <= MAX_ORDER:
            raise OptionError(
                f"order={order} is no order of an n-gram model. Give a whole number from 1 to {MAX_ORDER}."
            )
        if smoothing not in get_args(Smoothing):
            raise OptionError(f"smoothing={smoothing!r} is not known. Use kn, mkn or none.")
        self.counts, self.alphabet, self.order = counts.cut(order), alphabet, order
        self.smoothing: Smoothing = smoothing
        self.training = training or {}
        self._weights = _estimate(self.counts, len(alphabet), order, smoothing)

    # ------------------------------------------------------------------ in and out of files

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return what a model file keeps: the counts, from which everything else is computed again."""
        tree = self.counts
        arrays = {
            "symbol": tree.symbol, "child_start": tree.child_start, "through": tree.through, "end": tree.end,
            "level_offsets": tree.level_offsets,
        }  # fmt: skip
        return arrays, {"statistic": "string", "order": self.order, "smoothing": self.smoothing}

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], values: dict[str, Any]) -> NGramModel:
        """Make a model of what `to_parts` gave, refusing anything that no corpus could have given."""
        alphabet, order = values["alphabet"], values["order"]
        if not isinstance(order, int) or isinstance(order, bool) or not 1 <= order <= MAX_ORDER:
            raise ModelFileError(f"the order is {order!r}")
        marked = Alphabet((*alphabet.symbols, START), closed=True, marks=True)
        counts = CountedTree.from_arrays(kind="substring", depth=order, alphabet=marked, **arrays)
        started = counts.find([START])
        if counts.end[0] != (counts.through[started] if started > 0 else 0):
            raise ModelFileError("not every sequence that was counted begins with the mark of the start")
        if np.any(counts.symbol[int(counts.level_offsets[2]) :] == len(alphabet)):
            raise ModelFileError("the mark of the start was counted inside of a sequence")
        if np.any(counts.through != np.rint(counts.through)):
            raise ModelFileError("n-gram counts need whole numbers, and some are not")
        model = cls(counts, alphabet, order, values["smoothing"], values["training"])
        impossible = np.flatnonzero(model._weights.nodes["prob"][:-1] == 0)  # the root, the mark, and nothing else
        if np.any(counts.symbol[impossible[1:]] != len(alphabet)):
            raise ModelFileError("an n-gram was counted, but nothing before it")
        return model

    # ------------------------------------------------------------------ what a language model says

    @property
    def n_states(self) -> int:
        """Number of contexts, the empty one included where it can be reached."""
        return self._first_leaf

    def summary(self) -> dict[str, Any]:
        """Return what there is to know about the model."""
        return {
            "kind": self.kind, "order": self.order, "smoothing": self.smoothing, "statistic": "string",
            "n_states": self.n_states, "n_ngrams": self.counts.n_nodes, "n_symbols": len(self.alphabet),
            "symbols": [str(s) for s in self.alphabet], "closed_alphabet": self.alphabet.closed,
            "discounts": [list(d) for d in self.discounts], "training": self.training,
        }  # fmt: skip

    @property
    def hidden_symbol(self) -> int:
        """Number of the symbol for unknown ones, if training never saw it as a symbol of its own, or -1."""
        found = self.alphabet.find(UNKNOWN)
        return -1 if found is None or self._weights.first[found] >= 0 else found

    @property
    def _first_leaf(self) -> int:
        return int(self.counts.level_offsets[self.order])

    @property
    def discounts(self) -> list[tuple[float, ...]]:
        """The discounts of counts 1, 2 and from 3 on, for each order from 1."""
        return self._weights.discounts

    def start_state(self) -> int:
        """Return the context before the first symbol."""
        return self._weights.start

    def next_state(self, state: int, sigma: int) -> tuple[int, float]:
        """Return the longest known context after a symbol, and the symbol's probability."""
        w = self._weights
        found: tuple[int, float] = ngrams.advance(
            self.counts.symbol, w.nodes, w.first, w.floor, self._first_leaf, state, sigma
        )
        return found

    def state_distribution(self, state: int) -> NDArray[np.float64]:
        """Return the probabilities after a context."""
        w, tree = self._weights, self.counts
        out = np.empty(len(self.alphabet) + 1)
        ngrams.fill_distribution(tree.symbol, w.nodes, w.stop, w.floor, state, out)
        return out

    def score_tokens(
        self, tokens: NDArray[np.int32], offsets: NDArray[np.int64], by_event: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return log probabilities of all events (empty unless ``by_event``) and of all sequences."""
        w, tree = self._weights, self.counts
        logp = np.empty(tokens.size + offsets.size - 1 if by_event else 0)
        total = np.empty(offsets.size - 1)
        ngrams.score_events(
            tree.symbol, w.nodes, w.first, w.stop, w.floor, self._first_leaf, w.start,
            tokens, offsets, logp, total,
        )  # fmt: skip
        return logp, total

    def _states_before(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the context before every event."""
        w, tree = self._weights, self.counts
        states = np.empty(tokens.size + offsets.size - 1, np.int32)
        ngrams.walk_states(tree.symbol, w.nodes, w.first, self._first_leaf, w.start, tokens, offsets, states)
        return states

    def states_after(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> Sequence[int]:
        """Return the context after each sequence of symbols: the one before its end."""
        ends = offsets[1:] + np.arange(offsets.size - 1)
        found: list[int] = self._states_before(tokens, offsets)[ends].tolist()
        return found

    def predict_tokens(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the likeliest event at every event."""
        return self._best[self._states_before(tokens, offsets)]

    # ------------------------------------------------------------------ as the backing of another model

    def walk_tree(self, tree: CountedTree) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """Return the context of every node of a prefix tree, the chance of its symbol, and of the end after it."""
        w, own = self._weights, self.counts
        states = np.empty(tree.n_nodes, np.int32)
        chance, stop = np.empty(tree.n_nodes), np.empty(tree.n_nodes)
        ngrams.walk_tree(
            own.symbol, w.nodes, w.first, w.stop, w.floor, self._first_leaf, w.start,
            tree.symbol, tree.parent, states, chance, stop,
        )  # fmt: skip
        return states, chance, stop

    def distributions(self, states: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the probabilities after several contexts, a row each."""
        return np.array([self.state_distribution(int(s)) for s in states]).reshape(len(states), -1)

    def draw_events(self, states: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw one event after each context."""
        own = self.counts
        return ngrams.draw_events(
            own.symbol, self._weights.nodes, self._cumulative, self._weights.own_stop, len(self.alphabet),
            states, rng,
        )  # fmt: skip

    def follow(self, states: NDArray[np.int32], sigmas: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the contexts after reading one symbol each."""
        own = self.counts
        return ngrams.follow_all(own.symbol, self._weights.nodes, self._weights.first, self._first_leaf, states, sigmas)

    @cached_property
    def _best(self) -> NDArray[np.int32]:
        w, tree = self._weights, self.counts
        return ngrams.best_events(tree.symbol, w.nodes, w.stop, w.floor, len(self.alphabet))

    def sample_tokens(
        self, state: int, n: int, rng: np.random.Generator, max_length: int, hidden: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
        """Draw sequences."""
        w, tree = self._weights, self.counts
        return ngrams.sample_sequences(
            tree.symbol, w.nodes, w.first, self._cumulative, w.own_stop, self._first_leaf, state,
            len(self.alphabet), hidden, n, max_length, rng,
        )  # fmt: skip

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        """Mass that each context gives, without its back-off, to each child and its lower siblings."""
        total = np.concatenate([[0.0], np.cumsum(self._weights.own)])
        before = total[self.counts.child_start[np.maximum(self.counts.parent, 0)]]
        found: NDArray[np.float64] = total[1:] - before
        return found

    def to_wfa(self) -> WFA:
        """Return the model as a deterministic weighted automaton, with a state for each context.

        With ``smoothing="none"`` these are the baselines of the forward-backward paper: a unigram model has one state, a
        bigram model a start state and one for each symbol (here without the symbols that never occur).
        """
        n = self._first_leaf
        size = n * n * len(self.alphabet)
        if size > 2**27:
            raise OptionError(
                f"an automaton of {n} contexts over {len(self.alphabet)} symbols has {size} weights, too many to write out. "
                "Use the model itself, or a lower order."
            )
        operators = np.zeros((len(self.alphabet), n, n))
        for state in range(n):
            for sigma in range(len(self.alphabet)):
                target, chance = self.next_state(state, sigma)
                operators[sigma, state, target] = chance
        keep = self._reachable(operators)
        initial = np.zeros(n)
        initial[self._weights.start] = 1.0
        return WFA(initial[keep], self._weights.stop[:n][keep], operators[:, keep][:, :, keep], self.alphabet)

    def _reachable(self, operators: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the contexts that some sequence reaches with positive probability, that of the start first."""
        steps = operators.sum(axis=0) > 0
        seen = np.zeros(steps.shape[0], dtype=bool)
        frontier = [self._weights.start]
        while frontier:
            state = frontier.pop()
            if not seen[state]:
                seen[state] = True
                frontier.extend(np.flatnonzero(steps[state] & ~seen).tolist())
        seen[self._weights.start] = False
        return np.concatenate([[self._weights.start], np.flatnonzero(seen)])


@dataclass(frozen=True, eq=False)
class _Weights:
    """The arrays that `momata._kernels.ngrams` walks over."""

    nodes: NDArray[np.void]  # (n_nodes + 1,) records of type ngrams.CONTEXT
    stop: NDArray[np.float64]  # (n_contexts,)
    own: NDArray[np.float64]  # (n_nodes,) part of prob that is not backed off
    own_stop: NDArray[np.float64]  # (n_contexts,)
    floor: float
    start: int
    first: NDArray[np.int32]  # (n_symbols,) child of the root for each symbol, or -1
    discounts: list[tuple[float, ...]]


def _estimate(tree: CountedTree, n_symbols: int, order: int, smoothing: Smoothing) -> _Weights:
    """Turn counts into probabilities, level by level."""
    levels = tree.level_offsets
    n_contexts = int(levels[order])
    count, stop_count, start = _event_counts(tree, n_symbols, order, smoothing)
    prob, own = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    stop, own_stop, back = np.zeros(n_contexts), np.zeros(n_contexts), np.zeros(n_contexts)
    uniform = 1.0 / (n_symbols + 1)
    floor = 0.0
    discounts = []
    for k in range(1, order + 1):
        above, here = tree.level(k - 1), tree.level(k)
        c, c_stop = count[here], stop_count[above]
        parents = tree.parent[here] - above.start
        n_above = above.stop - above.start
        total = np.bincount(parents, c, minlength=n_above) + c_stop
        total = np.where(total > 0, total, 1.0)  # only where a corpus is empty
        steps = _discounts(np.concatenate([c, c_stop]), smoothing)
        discounts.append(steps)
        cut, cut_stop = _cut(c, steps), _cut(c_stop, steps)
        left = (np.bincount(parents, cut, minlength=n_above) + cut_stop) / total
        own[here], own_stop[above] = (c - cut) / total[parents], (c_stop - cut_stop) / total
        if k == 1:
            left = left if (c.sum() + c_stop.sum()) or smoothing == "none" else np.ones(1)
            floor = float(left[0]) * uniform
            lower, lower_stop = np.full(c.size, uniform), np.full(1, uniform)
        else:
            lower, lower_stop = prob[tree.suffix_link[here]], stop[tree.suffix_link[above]]
        back[above] = left
        prob[here] = own[here] + left[parents] * lower
        stop[above] = own_stop[above] + left * lower_stop
    if order > 1 or tree.n_nodes > 1:
        prob[count == 0] = 0.0  # the mark of the start is no event
    first = np.full(n_symbols + 1, -1, np.int32)  # one more for the mark of the start
    roots = tree.level(1)
    first[tree.symbol[roots]] = np.arange(roots.start, roots.stop)
    return _Weights(_records(tree, prob, back), stop, own, own_stop, floor, start, first[:n_symbols], discounts)


def _records(tree: CountedTree, prob: NDArray[np.float64], back: NDArray[np.float64]) -> NDArray[np.void]:
    """Put together what a walk needs to know of each node; one more record ends the last node's children."""
    nodes = np.zeros(tree.n_nodes + 1, ngrams.CONTEXT)
    nodes["child_start"] = tree.child_start
    nodes["link"][:-1], nodes["prob"][:-1] = tree.suffix_link, prob
    nodes["back"][: back.size] = back
    return nodes


def _event_counts(
    tree: CountedTree, n_symbols: int, order: int, smoothing: Smoothing
) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    """Return the count of each n-gram as an event, that of the end after each context, and the context of the start."""
    levels, link = tree.level_offsets, tree.suffix_link
    count, stop_count = tree.through.astype(np.float64), tree.end[: int(levels[order])].astype(np.float64)
    started = int(levels[2]) - 1 if order > 0 and levels[2] > 1 else 0  # the mark sorts last
    has_start = started > 0 and int(tree.symbol[started]) == n_symbols
    first_started = started if has_start else int(levels[2])
    if smoothing != "none":
        for k in range(order):
            plain = slice(int(levels[k]), first_started if k else 1)  # strings of this level without the mark
            longer = np.arange(levels[k + 1], levels[k + 2]) if k + 1 <= order else np.empty(0, np.int64)
            kinds = np.bincount(link[longer], minlength=tree.n_nodes)
            ended = longer[tree.end[longer] > 0]
            kinds_stop = np.bincount(link[ended], minlength=tree.n_nodes)
            if k > 0:
                count[plain] = kinds[plain]
            if k < order - 1:
                stop_count[plain] = kinds_stop[plain]
            if k:
                first_started = int(tree.child_start[first_started])
    if has_start:
        count[started] = 0.0
    count[0] = 0.0
    return count, stop_count, started if has_start and order > 1 else 0


def _discounts(counts: NDArray[np.float64], smoothing: Smoothing) -> tuple[float, ...]:
    """Return what counts of 1, 2 and from 3 on lose."""
    if smoothing == "none":
        return (0.0, 0.0, 0.0)
    n1, n2, n3, n4 = (int(np.count_nonzero(counts == r)) for r in (1, 2, 3, 4))
    plain = n1 / (n1 + 2 * n2) if n1 and n2 else FALLBACK_DISCOUNTS[0]
    if smoothing == "kn":
        return (plain, plain, plain)
    if not (n1 and n2 and n3 and n4):
        return FALLBACK_DISCOUNTS
    steps = tuple(r - (r + 1) * plain * more / fewer for r, fewer, more in ((1, n1, n2), (2, n2, n3), (3, n3, n4)))
    return steps if all(0 < d <= r for r, d in enumerate(steps, 1)) else FALLBACK_DISCOUNTS


def _cut(counts: NDArray[np.float64], steps: tuple[float, ...]) -> NDArray[np.float64]:
    """Return what each count loses."""
    by_count = np.array([0.0, *steps])
    return by_count[np.minimum(counts, 3).astype(np.int64)]
