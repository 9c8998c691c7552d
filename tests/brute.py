"""Slow twins: plain Python from the definitions, sharing no code with momata."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

String = tuple[Hashable, ...]

START, STOP = "<s>", "</s>"


def all_strings(symbols: Iterable[Hashable], longest: int) -> Iterator[String]:
    """Every string up to a length, shorter ones first."""
    symbols = list(symbols)
    for length in range(longest + 1):
        yield from itertools.product(symbols, repeat=length)


# ------------------------------------------------------------------ counting


def count_prefixes(
    sequences: Iterable[Sequence[Hashable]], depth: int | None = None, weights: Iterable[Any] | None = None
) -> dict[String, tuple[Any, Any]]:
    """String -> (how many sequences start with it, how many equal it); the empty string is always there."""
    through, end = Counter({(): 0}), Counter()
    sequences = list(sequences)
    for sequence, weight in zip(sequences, [1] * len(sequences) if weights is None else weights, strict=True):
        for length in range(len(sequence) + 1):
            if depth is None or length <= depth:
                through[tuple(sequence[:length])] += weight
        if depth is None or len(sequence) <= depth:
            end[tuple(sequence)] += weight
    return {string: (count, end[string]) for string, count in through.items()}


def count_substrings(
    sequences: Iterable[Sequence[Hashable]], depth: int, weights: Iterable[Any] | None = None
) -> dict[String, tuple[Any, Any]]:
    """String -> (how often it occurs, how often a sequence ends with it), by two nested loops over places."""
    through, end = Counter({(): 0}), Counter()
    sequences = list(sequences)
    for sequence, weight in zip(sequences, [1] * len(sequences) if weights is None else weights, strict=True):
        for first in range(len(sequence) + 1):
            for last in range(first, min(len(sequence), first + depth) + 1):
                through[tuple(sequence[first:last])] += weight
                if last == len(sequence):
                    end[tuple(sequence[first:last])] += weight
    return {string: (count, end[string]) for string, count in through.items()}


# ------------------------------------------------------------------ Hankel matrices


def expectation(
    sequences: Iterable[Sequence[Hashable]], statistic: str, string: String, weights: Iterable[Any] | None = None
) -> float:
    """How often a string is the whole of a sequence, its start, its end, or anywhere in it: the mean over the sequences."""
    counted = total = 0
    sequences = list(sequences)
    for sequence, weight in zip(sequences, [1] * len(sequences) if weights is None else weights, strict=True):
        total += weight
        for first in range(len(sequence) - len(string) + 1):
            at_start, at_end = first == 0, first + len(string) == len(sequence)
            if statistic in ("string", "prefix") and not at_start:
                continue
            if statistic in ("string", "suffix") and not at_end:
                continue
            if tuple(sequence[first : first + len(string)]) == string:
                counted += weight
    return counted / total


# ------------------------------------------------------------------ weighted automata


def wfa_weight(initial: Sequence[float], final: Sequence[float], operators: Any, string: Sequence[int]) -> float:
    """The weight of a string of symbol numbers: the sum over all paths of states."""
    total = 0.0
    for path in itertools.product(range(len(initial)), repeat=len(string) + 1):
        weight = float(initial[path[0]]) * float(final[path[-1]])
        for sigma, (here, there) in zip(string, itertools.pairwise(path), strict=True):
            weight *= float(operators[sigma][here][there])
        total += weight
    return total


def assert_same_function(f: Any, g: Any, longest: int = 6, rtol: float = 1e-8) -> None:
    """Two automata give every string up to a length the same weight, but for ``rtol`` times the largest weight of the first."""
    strings = list(all_strings(f.alphabet, longest))
    one, other = ([float(w) for w in wfa.weights(strings)] for wfa in (f, g))
    largest = max(map(abs, one))
    worst = max(range(len(strings)), key=lambda i: abs(one[i] - other[i]))
    assert abs(one[worst] - other[worst]) <= rtol * largest, (strings[worst], one[worst], other[worst], largest)


# ------------------------------------------------------------------ n-grams


class KneserNey:
    """Interpolated Kneser-Ney (``kn``, ``mkn``) and relative frequencies (``none``) on dictionaries.

    An n-gram is a tuple of symbols with the mark of the start in front of each sequence and, as its last item only, the mark
    of the end. ``symbols`` are those of the model; one of them may stand for unknown ones, which is nothing special here.
    """

    def __init__(
        self,
        sequences: Iterable[Sequence[Hashable]],
        symbols: Iterable[Hashable],
        order: int,
        smoothing: str = "kn",
        weights: Iterable[int] | None = None,
    ) -> None:
        self.symbols, self.order, self.smoothing = list(symbols), order, smoothing
        sequences = [tuple(s) for s in sequences]
        occurrences: dict[int, Counter[String]] = {k: Counter() for k in range(1, order + 1)}
        for sequence, weight in zip(sequences, [1] * len(sequences) if weights is None else weights, strict=True):
            padded = (START, *sequence, STOP)
            for event in range(1, len(padded)):
                for k in range(1, min(order, event + 1) + 1):
                    occurrences[k][padded[event - k + 1 : event + 1]] += int(weight)
        self.count: dict[int, dict[String, int]] = {}
        for k in range(1, order + 1):
            if k == order or smoothing == "none":
                self.count[k] = dict(occurrences[k])
                continue
            before = defaultdict(set)
            for gram in occurrences[k + 1]:
                before[gram[1:]].add(gram[0])
            self.count[k] = {
                gram: (number if gram[0] == START else len(before[gram])) for gram, number in occurrences[k].items()
            }
        self.discounts = {k: self._discounts(list(self.count[k].values())) for k in self.count}
        self.total: dict[String, int] = defaultdict(int)
        self.lost: dict[String, float] = defaultdict(float)
        for k in self.count:
            for gram, number in self.count[k].items():
                self.total[gram[:-1]] += number
                self.lost[gram[:-1]] += self.discounts[k][min(number, 3) - 1]

    def _discounts(self, counts: list[int]) -> tuple[float, float, float]:
        if self.smoothing == "none":
            return 0.0, 0.0, 0.0
        n = {r: counts.count(r) for r in (1, 2, 3, 4)}
        y = n[1] / (n[1] + 2 * n[2]) if n[1] and n[2] else None
        if self.smoothing == "kn":
            return (0.5, 0.5, 0.5) if y is None else (y, y, y)
        if y is None or not n[3] or not n[4]:
            return 0.5, 1.0, 1.5
        found = (1 - 2 * y * n[2] / n[1], 2 - 3 * y * n[3] / n[2], 3 - 4 * y * n[4] / n[3])
        return found if all(0 < d <= r for r, d in enumerate(found, 1)) else (0.5, 1.0, 1.5)

    def _chance(self, event: Hashable, context: String) -> float:
        if not self.total[context]:  # never seen
            return self._chance(event, context[1:]) if context else 1 / (len(self.symbols) + 1)
        gram = (*context, event)
        number = self.count[len(gram)].get(gram, 0)
        discount = self.discounts[len(gram)][min(number, 3) - 1] if number else 0.0
        own = (number - discount) / self.total[context]
        if self.smoothing == "none":
            return own
        lower = self._chance(event, context[1:]) if context else 1 / (len(self.symbols) + 1)
        return own + self.lost[context] / self.total[context] * lower

    def prob(self, event: Hashable, prefix: Sequence[Hashable]) -> float:
        """The probability of a symbol, or of `STOP`, after a whole prefix."""
        history = (START, *prefix)
        return self._chance(event, history[len(history) - self.order + 1 :] if self.order <= len(history) else history)

    def next_symbol(self, prefix: Sequence[Hashable]) -> list[float]:
        return [self.prob(event, prefix) for event in [*self.symbols, STOP]]

    def event_probs(self, string: Sequence[Hashable]) -> list[float]:
        string = tuple(string)
        return [self.prob(event, string[:i]) for i, event in enumerate((*string, STOP))]

    def string_prob(self, string: Sequence[Hashable]) -> float:
        return math.prod(self.event_probs(string))


# ------------------------------------------------------------------ metrics


def perplexity(target: Sequence[float], model: Sequence[float]) -> float:
    """2 ** -sum p log2 q, both normalised over the test strings."""
    p, q = [x / sum(target) for x in target], [x / sum(model) for x in model]
    return 2 ** -sum(a * math.log2(b) for a, b in zip(p, q, strict=True) if a > 0)


def word_errors(model: KneserNey, string: Sequence[Hashable]) -> int:
    """Events of one string at which another event was the likeliest; ties to the earlier symbol, the end last."""
    events = [*model.symbols, STOP]
    errors = 0
    for i, truth in enumerate((*string, STOP)):
        chances = model.next_symbol(tuple(string)[:i])
        errors += events[chances.index(max(chances))] != truth
    return errors


def ndcg(
    rankings: Sequence[Sequence[Hashable]], ideal: Sequence[float], truth: Sequence[Mapping[Hashable, float]], k: int
) -> float:
    """Mean over the prefixes of the discounted gain of the first ``k`` ranked events, over the ideal one."""
    scores = []
    for ranking, best, gains in zip(rankings, ideal, truth, strict=True):
        gained = sum(gains.get(event, 0.0) / math.log2(place + 1) for place, event in enumerate(ranking[:k], 1))
        scores.append(gained / best)
    return sum(scores) / len(scores)


# ------------------------------------------------------------------ expectation and maximisation


def expected_uses(
    initial: Sequence[float],
    final: Sequence[float],
    operators: Any,
    strings: Iterable[Sequence[int]],
    weights: Iterable[float],
) -> tuple[float, list[float], list[float], dict[tuple[int, int, int], float]]:
    """Log-likelihood, and how often each weight is used: over all paths of each string, by their shares of its weight.

    Strings of weight 0 make the likelihood -inf, and are not counted.
    """
    log_likelihood = 0.0
    starts, stops = [0.0] * len(initial), [0.0] * len(initial)
    arcs: dict[tuple[int, int, int], float] = defaultdict(float)
    for string, times in zip(strings, weights, strict=True):
        paths = dict(weighted_paths(initial, final, operators, string))
        total = sum(paths.values())
        log_likelihood += float(times) * (math.log(total) if total > 0 else -math.inf)
        if total > 0:
            for path, weight in paths.items():
                _count_path(path, string, float(times) * weight / total, starts, stops, arcs)
    return log_likelihood, starts, stops, arcs


def best_uses(
    initial: Sequence[float],
    final: Sequence[float],
    operators: Any,
    strings: Iterable[Sequence[int]],
    weights: Iterable[float],
) -> tuple[float, list[float], list[float], dict[tuple[int, int, int], float]]:
    """The same for the best path of each string alone. Only sensible where no two paths are the best."""
    log_chance = 0.0
    starts, stops = [0.0] * len(initial), [0.0] * len(initial)
    arcs: dict[tuple[int, int, int], float] = defaultdict(float)
    for string, times in zip(strings, weights, strict=True):
        path, weight = max(weighted_paths(initial, final, operators, string), key=lambda item: item[1])
        log_chance += float(times) * (math.log(weight) if weight > 0 else -math.inf)
        if weight > 0:
            _count_path(path, string, float(times), starts, stops, arcs)
    return log_chance, starts, stops, arcs


def weighted_paths(
    initial: Sequence[float], final: Sequence[float], operators: Any, string: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Every path of states of a string, and its weight."""
    for path in itertools.product(range(len(initial)), repeat=len(string) + 1):
        weight = float(initial[path[0]]) * float(final[path[-1]])
        for sigma, (here, there) in zip(string, itertools.pairwise(path), strict=True):
            weight *= float(operators[sigma][here][there])
        yield path, weight


def _count_path(
    path: tuple[int, ...], string: Sequence[int], times: float, starts: list[float], stops: list[float], arcs: Any
) -> None:
    starts[path[0]] += times
    stops[path[-1]] += times
    for sigma, (here, there) in zip(string, itertools.pairwise(path), strict=True):
        arcs[sigma, here, there] += times
