"""Weighted automata as proper distributions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momata._kernels import automata
from momata.core.alphabet import UNKNOWN, Alphabet
from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes
from momata.core.probabilistic import PFA
from momata.core.tree import CountedTree
from momata.core.wfa import WFA
from momata.errors import AlphabetError, DataError, ModelFileError, OptionError
from momata.predict import sample
from momata.predict.language_model import LanguageModel
from momata.predict.ngram_model import NGramModel

__all__ = ["AutomatonModel", "NodeScores", "choose_share"]

Array = NDArray[np.float64]

EPSILON = 1e-6  # what every score gets, so that clipping leaves no zero
LEAST, MOST = 1e-9, 1e4  # a state is lost where it is divided by less, or grows beyond
DEFAULT_SHARE = 0.02
SHARES = (0.001, 0.003, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 0.8, 0.95, 0.99)
DISTRUSTS = (0.0, 0.5, 1.0, 2.0, 4.0)
_TABLE = 2**23  # cells of distributions held at once


@dataclass(frozen=True, eq=False)
class NodeScores:
    """What an automaton says at the nodes of a prefix tree, before its backing is mixed in.

    Kept apart so that shares of the backing can be compared without walking again.
    """

    tree: CountedTree
    chance: Array  # of each node's symbol after its parent
    stop: Array  # of the end after each node
    negative: Array  # share of negative mass among the scores at each node
    lost: NDArray[np.bool_]
    backing_chance: Array
    backing_stop: Array

    def log_probs(self, share: float, distrust: float) -> tuple[Array, Array]:
        """Return the log chance of each node's symbol and of the end after each node."""
        mixed = np.where(self.lost, 1.0, np.minimum(1.0, share + distrust * self.negative))
        above = mixed[np.maximum(self.tree.parent, 0)]
        with np.errstate(divide="ignore"):
            symbol = np.log((1.0 - above) * self.chance + above * self.backing_chance)
            stop = np.log((1.0 - mixed) * self.stop + mixed * self.backing_stop)
        symbol[0] = 0.0
        return symbol, stop

    def total(self, share: float, distrust: float) -> float:
        """Return the log probability of all sequences counted in the tree."""
        symbol, stop = self.log_probs(share, distrust)
        through, end = self.tree.through, self.tree.end
        occurs, ends = through > 0, end > 0
        return float(through[occurs] @ symbol[occurs] + end[ends] @ stop[ends])

    def mean_negative(self) -> float:
        """Return the mean share of negative mass over all events: a measure of quality, best at 0."""
        return float(self.tree.through @ self.negative / self.tree.through.sum())


class Ready(NamedTuple):
    """An automaton as the walks want it; where the alphabet has a symbol for unknown ones, it has an operator, the sum."""

    initial: Array  # (n,) normalised, or zeros if that cannot be
    final: Array  # (n,) of the string statistic
    operators: Array  # (n_symbols, n, n)
    norms: Array  # (n_symbols, n): operators times e
    scores: Array  # (n, n_symbols + 1): what gives the scores of all next events


class AutomatonModel(LanguageModel):
    r"""Any weighted automaton, read as a distribution by its next-symbol scores.

    With a normalised state :math:`q`, the scores of the next events are :math:`q A_\sigma e` and :math:`q \alpha_\infty`, where
    :math:`e` is the final vector of the prefix statistic; they sum to 1, with any signs. They are clipped at 0, given
    1e-6 each, renormalised, and mixed with the backing's probabilities, whose share is ``share`` plus ``distrust`` times the
    negative part of the scores. The product of these conditionals is a proper distribution whatever the automaton does.
    Where the state is lost (it is divided by almost nothing, or explodes) the backing alone speaks for the rest of the
    sequence. A PFA needs none of this: its own probabilities are used as they are, and without a backing exactly.

    Parameters
    ----------
    wfa : WFA
        For any statistic.
    backing : NGramModel, optional
        Over the same alphabet, maybe with the symbol for unknown ones; by default the uniform distribution.
    share, distrust : float, optional
        By default 0.02 of a backing, 0 without one; and 0.
    training : dict, optional
    """

    kind: ClassVar[str] = "automaton"

    def __init__(
        self,
        wfa: WFA,
        backing: NGramModel | None = None,
        share: float | None = None,
        distrust: float = 0.0,
        training: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(wfa, WFA):
            raise OptionError(
                f"a language model is made of a weighted automaton, not of a {type(wfa).__name__}. "
                "Of an HMM take to_pfa(); what a learner returns has its language model already, as .model."
            )
        self.is_pfa = wfa.is_probabilistic()
        self.wfa = PFA.of(wfa) if self.is_pfa else wfa
        self.backing = backing
        self.alphabet = wfa.alphabet if backing is None else _common_alphabet(wfa.alphabet, backing.alphabet)
        self.share = (DEFAULT_SHARE if backing is not None else 0.0) if share is None else share
        self.distrust = distrust
        if not (0 <= self.share <= 1 and 0 <= self.distrust < np.inf):
            raise OptionError(
                f"share={share} must lie in [0, 1], and distrust={distrust} must be finite and not negative."
            )
        self.training = training or {}

    # ------------------------------------------------------------------ the automaton made ready

    @cached_property
    def ready(self) -> Ready:
        """The automaton as the walks want it."""
        wfa = self.wfa
        n, has_unknown = wfa.n_states, len(self.alphabet) > wfa.n_symbols
        if self.is_pfa:
            final, ends, initial = wfa.final, np.ones(n), wfa.initial
        else:
            final, ends, initial = _ends(wfa)
        with np.errstate(over="ignore", invalid="ignore"):
            mass = initial @ ends
        usable = np.isfinite(mass) and abs(mass) > 1e-12 and np.abs(initial / mass).max(initial=0.0) <= MOST
        initial = initial / mass if usable else np.zeros(n)
        operators = np.concatenate([wfa.operators, wfa.total[None]]) if has_unknown else wfa.operators
        ends = np.nan_to_num(ends, nan=0.0, posinf=0.0, neginf=0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.nan_to_num(operators @ ends, nan=0.0, posinf=0.0, neginf=0.0)
        scores = np.concatenate([norms, final[None]])
        if has_unknown:
            scores[-2] = 0.0  # an automaton gives no mass to what it has never seen
        return Ready(initial, final, operators, norms, np.ascontiguousarray(scores.T))

    @property
    def limits(self) -> tuple[float, float, float]:
        """What every score gets; what a state must not be divided by; what no entry of it may pass."""
        return (0.0, 0.0, np.inf) if self.is_pfa else (EPSILON, LEAST, MOST)

    @property
    def hidden_symbol(self) -> int:
        """Number of the symbol for unknown ones, if it is the backing's alone, or -1."""
        return self.wfa.n_symbols if len(self.alphabet) > self.wfa.n_symbols else -1

    @property
    def n_states(self) -> int:
        """Number of states of the automaton."""
        return self.wfa.n_states

    def summary(self) -> dict[str, Any]:
        """Return what there is to know about the model, as plain values."""
        wfa = self.wfa
        found = {
            "kind": self.kind, "n_states": wfa.n_states, "n_symbols": len(self.alphabet), "statistic": wfa.statistic,
            "is_pfa": self.is_pfa, "spectral_radius": wfa.spectral_radius, "backing_share": self.share, "distrust": self.distrust,
            "backing_order": None if self.backing is None else self.backing.order,
            "symbols": [str(s) for s in self.alphabet], "closed_alphabet": self.alphabet.closed, "training": self.training,
        }  # fmt: skip
        found["negative_mass"] = self.negative_mass()
        if wfa.is_summable():
            string = wfa if wfa.statistic == "string" else _as_string(wfa)
            found["mass"] = string.total_mass()
        return found

    def negative_mass(self, n: int = 200, seed: int = 0) -> float | None:
        """Return the mean share of negative mass among the scores along ``n`` sampled sequences: 0 is best.

        None where sampled sequences hardly end.
        """
        if self.is_pfa:
            return 0.0
        try:
            drawn = self.sample(n, seed, max_length=10_000)
        except DataError:
            return None
        return self.node_scores(count_prefixes(self.encode(drawn))).mean_negative()

    # ------------------------------------------------------------------ whole corpora, over their prefix tree

    def node_scores(self, tree: CountedTree, backed: tuple[Array, Array] | None = None) -> NodeScores:
        """Return what the automaton says at every node of a prefix tree.

        ``backed`` are the backing's chances of each node's symbol and of the end after it, where they are known already.
        """
        ready, n = self.ready, tree.n_nodes
        chance, stop, negative, lost = np.empty(n), np.empty(n), np.zeros(n), np.empty(n, bool)
        where = (tree.symbol, tree.parent, tree.level_offsets, ready.initial, ready.operators)
        if self.is_pfa:
            automata.walk_probabilistic(*where, ready.final, self.wfa.n_symbols, chance, stop, lost)
        else:
            automata.walk_scores(
                *where, ready.norms, ready.scores, *self.limits, chance, stop, negative, lost, *_NO_TABLE
            )
        if self.backing is None:
            uniform = np.full(n, 1.0 / (len(self.alphabet) + 1))
            return NodeScores(tree, chance, stop, negative, lost, uniform, uniform)
        return NodeScores(tree, chance, stop, negative, lost, *(backed or self.backing.walk_tree(tree)[1:]))

    def plain_scores(self, tree: CountedTree) -> tuple[Array, Array]:
        """Return the automaton's own scores, of any sign: of each node's symbol after its parent, of the end after each node."""
        ready, n = self.ready, tree.n_nodes
        chance, stop = np.empty(n), np.empty(n)
        automata.walk_plain(
            tree.symbol,
            tree.parent,
            tree.level_offsets,
            ready.initial,
            ready.operators,
            ready.norms,
            ready.final,
            chance,
            stop,
        )
        return chance, stop

    def score_tokens(
        self, tokens: NDArray[np.int32], offsets: NDArray[np.int64], by_event: bool
    ) -> tuple[Array, Array]:
        """Return log probabilities of all events (empty unless ``by_event``) and of all sequences."""
        tree = count_prefixes(Corpus(tokens, offsets, self.alphabet))
        assert tree.sequence_node is not None
        symbol, stop = self.node_scores(tree).log_probs(self.share, self.distrust)
        total = (automata.sum_down(tree.parent, symbol) + stop)[tree.sequence_node]
        events = np.empty(tokens.size + offsets.size - 1 if by_event else 0)
        if by_event:
            automata.events_of_nodes(tree.parent, tree.sequence_node, offsets, symbol, stop, events)
        return events, total

    def predict_tokens(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the likeliest event at every event, some sequences at a time."""
        corpus = Corpus(tokens, offsets, self.alphabet)
        at_once = max(1, _TABLE // (len(self.alphabet) + 1))
        cuts = np.unique(np.searchsorted(offsets, np.arange(at_once, offsets[-1], at_once)))
        bounds = [0, *cuts[(cuts > 0) & (cuts < len(corpus))].tolist(), len(corpus)]
        parts = [self._predict(corpus[low:high]) for low, high in pairwise(bounds)]
        return np.concatenate(parts)

    def _predict(self, corpus: Corpus) -> NDArray[np.int32]:
        tree = count_prefixes(corpus)
        assert tree.sequence_node is not None
        ready, n = self.ready, tree.n_nodes
        if self.backing is None:
            table, row = self._uniform[None], np.zeros(n, np.int32)
        else:
            states, found = np.unique(self.backing.walk_tree(tree)[0], return_inverse=True)
            table, row = self.backing.distributions(states), found.astype(np.int32)
        chance, stop, negative, lost = np.empty(n), np.empty(n), np.empty(n), np.empty(n, bool)
        best = np.empty(n, np.int32)
        automata.walk_scores(
            tree.symbol, tree.parent, tree.level_offsets, ready.initial, ready.operators, ready.norms, ready.scores,
            *self.limits, chance, stop, negative, lost, table, row, self.share, self.distrust, best,
        )  # fmt: skip
        events = np.empty(corpus.n_tokens + len(corpus))
        guess = best.astype(np.float64)  # of a node: what follows it; of an event: what follows the node before
        above = guess[np.maximum(tree.parent, 0)]
        automata.events_of_nodes(tree.parent, tree.sequence_node, corpus.offsets, above, guess, events)
        return events.astype(np.int32)

    # ------------------------------------------------------------------ one sequence at a time

    def start_state(self) -> tuple[Array | None, int]:
        """Return the normalised forward vector, None if it is lost, and the backing's context."""
        initial = self.ready.initial
        return initial if initial.any() else None, -1 if self.backing is None else self.backing.start_state()

    def next_state(self, state: tuple[Array | None, int], sigma: int) -> tuple[tuple[Array | None, int], float]:
        """Return the state after a symbol, and the symbol's probability."""
        row, context = state
        own, mixed = self._event_chances(row)
        other = 1.0 / own.size
        if self.backing is not None:
            context, other = self.backing.next_state(context, sigma)
        chance = (1.0 - mixed) * float(own[sigma]) + mixed * other
        if row is None:
            return (None, context), chance
        ready, (_, least, most) = self.ready, self.limits
        after, usable = automata.advance_state(row, ready.operators[sigma], ready.norms[sigma], least, most)
        return (after if usable else None, context), chance

    def state_distribution(self, state: tuple[Array | None, int]) -> Array:
        """Return the probabilities of all symbols and, last, of the end."""
        row, context = state
        own, mixed = self._event_chances(row)
        if mixed == 0.0:
            return own
        other = self._uniform if self.backing is None else self.backing.state_distribution(context)
        return (1.0 - mixed) * own + mixed * other

    def _event_chances(self, row: Array | None) -> tuple[Array, float]:
        """Return the automaton's own distribution after one state, and the share of the backing."""
        if row is None:
            return self._uniform, 1.0
        own = np.empty(self.ready.scores.shape[1])
        negative = automata.clip_scores(row, self.ready.scores, self.limits[0], own)
        if negative < 0.0:
            return self._uniform, 1.0
        return own, min(1.0, self.share + self.distrust * negative)

    @property
    def _uniform(self) -> Array:
        n_events = len(self.alphabet) + 1
        return np.full(n_events, 1.0 / n_events)

    def own_chances(self, rows: Array) -> tuple[Array, Array]:
        """Return the automaton's own distributions after many states, and the share of the backing."""
        epsilon = self.limits[0]
        found = rows @ self.ready.scores
        above = np.maximum(found, 0.0)
        positive, below = above.sum(axis=1), (above - found).sum(axis=1)
        total = positive + epsilon * found.shape[1]
        fine = (total > 0) & (total < 1e300)
        own = np.where(fine[:, None], (above + epsilon) / np.where(fine, total, 1.0)[:, None], 1.0 / found.shape[1])
        both = positive + below
        negative = np.where(both > 0, below / np.where(both > 0, both, 1.0), 0.0)
        return own, np.where(fine, np.minimum(1.0, self.share + self.distrust * negative), 1.0)

    def sample_tokens(
        self, state: tuple[Array | None, int], n: int, rng: np.random.Generator, max_length: int, hidden: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
        """Draw sequences: from hidden states where the automaton is a PFA and stands alone, else from the conditionals."""
        row, context = state
        if row is not None and self.is_pfa and (self.backing is None or self.share == 0.0):
            return sample.sample_hidden(self.wfa, row, n, rng, max_length)
        return sample.sample_together(self, row, context, n, rng, max_length, hidden)

    # ------------------------------------------------------------------ in and out of files

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return what a model file keeps."""
        wfa = self.wfa
        arrays: dict[str, NDArray[Any]] = {"initial": wfa.initial, "final": wfa.final, "operators": wfa.operators}
        values: dict[str, Any] = {"statistic": wfa.statistic, "share": self.share, "distrust": self.distrust}
        if self.backing is not None:
            more, values["backing"] = self.backing.to_parts()
            arrays |= {f"backing_{name}": array for name, array in more.items()}
        return arrays, values

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], values: dict[str, Any]) -> AutomatonModel:
        """Make a model of what `to_parts` gave."""
        alphabet, backing = values["alphabet"], None
        if "backing" in values:
            own = {name.removeprefix("backing_"): a for name, a in arrays.items() if name.startswith("backing_")}
            backing = NGramModel.from_parts(own, values["backing"] | {"alphabet": alphabet, "training": {}})
        n_symbols = arrays["operators"].shape[0]
        if not 0 <= len(alphabet) - n_symbols <= (backing is not None):
            raise ModelFileError(f"{n_symbols} operators for an alphabet of {len(alphabet)} symbols")
        symbols = Alphabet(alphabet.symbols[:n_symbols], closed=alphabet.closed)
        wfa = WFA(arrays["initial"], arrays["final"], arrays["operators"], symbols, values["statistic"])
        share, distrust = (float(values[name]) for name in ("share", "distrust"))
        return cls(wfa, backing, share, distrust, values["training"])


_NO_TABLE: tuple[Any, ...] = (np.empty((0, 0)), np.empty(0, np.int32), 0.0, 0.0, np.empty(0, np.int32))


def choose_share(model: AutomatonModel, held_out: CountedTree | NodeScores) -> AutomatonModel:
    """Return the model with the share of its backing, and the distrust of negative mass, that suit held-out data best.

    ``held_out`` is the prefix tree of sequences over the model's alphabet, or what `AutomatonModel.node_scores` said of it;
    the automaton walks it once for all candidates.
    """
    scores = held_out if isinstance(held_out, NodeScores) else model.node_scores(held_out)
    candidates = [(share, distrust) for share in SHARES for distrust in DISTRUSTS]
    share, distrust = max(candidates, key=lambda c: scores.total(*c))
    return AutomatonModel(model.wfa, model.backing, share, distrust, model.training)


def _common_alphabet(own: Alphabet, backing: Alphabet) -> Alphabet:
    if backing.symbols not in (own.symbols, (*own.symbols, UNKNOWN)):
        raise AlphabetError(
            f"the automaton has {len(own)} symbols and its backing {len(backing)}, and they are not the same in the same order "
            f"(but for {UNKNOWN} at the end). Recode the data of both to one alphabet."
        )
    return backing


def _ends(wfa: WFA) -> tuple[Array, Array, Array]:
    r"""Return :math:`\alpha_\infty` of strings, :math:`e` of prefixes and :math:`\alpha_1` of strings, also where sums diverge.

    Next-symbol scores sum to 1 as soon as :math:`A e + \alpha_\infty = e`, which has a solution whenever 1 is no eigenvalue.
    """
    gap: Array = np.eye(wfa.n_states) - wfa.total
    with np.errstate(over="ignore", invalid="ignore"):
        return _solved_ends(wfa, gap)


def _solved_ends(wfa: WFA, gap: Array) -> tuple[Array, Array, Array]:
    initial = wfa.initial @ gap if wfa.statistic in ("suffix", "substring") else wfa.initial
    if wfa.statistic in ("prefix", "substring"):
        return gap @ wfa.final, wfa.final, initial
    return wfa.final, np.asarray(np.linalg.lstsq(gap, wfa.final, rcond=None)[0], dtype=np.float64), initial


def _as_string(wfa: WFA) -> WFA:
    final, _, initial = _ends(wfa)
    return WFA(initial, final, wfa.operators, wfa.alphabet)
