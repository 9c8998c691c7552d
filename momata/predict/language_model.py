"""What every sequence model can do once it is a proper distribution."""

from __future__ import annotations

import abc
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from momata.core.alphabet import START, STOP, UNKNOWN, Alphabet, UnknownPolicy
from momata.core.corpus import Corpus, as_corpus
from momata.errors import AlphabetError, DataError, OptionError, generator, whole

__all__ = ["Distribution", "LanguageModel", "Stream"]

_AT_ONCE = 2**16  # sequences drawn by one call of compiled code

Unknown = str | UnknownPolicy | None


class Distribution(Mapping[Hashable, float]):
    """Probabilities of the next symbol, the end of the sequence (`STOP`) included.

    A mapping from symbols to probabilities, in the order of the alphabet with `STOP` last; ``np.asarray`` gives the array.
    """

    def __init__(self, alphabet: Alphabet, probabilities: NDArray[np.float64]) -> None:
        self.alphabet, self.probabilities = alphabet, probabilities

    def __getitem__(self, symbol: Hashable) -> float:
        if symbol == STOP:
            return float(self.probabilities[-1])
        index = self.alphabet.find(symbol)
        if index is None:
            raise KeyError(symbol)
        return float(self.probabilities[index])

    def __iter__(self) -> Iterator[Hashable]:
        yield from self.alphabet
        yield STOP

    def __len__(self) -> int:
        return int(self.probabilities.size)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.probabilities, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        shown = ", ".join(f"{s!r}: {p:.4g}" for s, p in self.top(6))
        return f"Distribution({{{shown}{', ...' if len(self) > 6 else ''}}})"

    def sum(self) -> float:
        """Return the sum of all probabilities: 1."""
        return float(self.probabilities.sum())

    def top(self, k: int) -> list[tuple[Hashable, float]]:
        """Return the ``k`` likeliest next symbols with their probabilities; ties in the order of the alphabet."""
        order = np.argsort(-self.probabilities, kind="stable")[:k]
        names = [*self.alphabet, STOP]
        return [(names[i], float(self.probabilities[i])) for i in order]


class LanguageModel(abc.ABC):
    """A probability distribution over sequences, as a product of conditionals over next symbols and the end.

    A kind of model says how it scores and predicts flat arrays of symbols; everything that people call is here, once.

    Attributes
    ----------
    alphabet : Alphabet
        Where it has the symbol ``"<unk>"``, that is the share for all symbols never seen in training.
    training : dict
        How the model came about: method, options, seed, versions, held-out curve. Plain values; stored with the model.
    """

    kind: ClassVar[str]
    alphabet: Alphabet
    training: dict[str, Any]

    def __new__(cls, *args: Any, **options: Any) -> LanguageModel:
        """Make ``LanguageModel(wfa)`` an `AutomatonModel`, as ``pathlib.Path`` makes the path of the system it runs on."""
        if cls is LanguageModel:
            from momata.predict.automaton_model import AutomatonModel

            cls = AutomatonModel
        return super().__new__(cls)

    # ------------------------------------------------------------------ what a kind of model must say

    @property
    @abc.abstractmethod
    def n_states(self) -> int:
        """Number of states, or of contexts."""

    @abc.abstractmethod
    def summary(self) -> dict[str, Any]:
        """Return what there is to know about the model, as plain values."""

    @abc.abstractmethod
    def score_tokens(
        self, tokens: NDArray[np.int32], offsets: NDArray[np.int64], by_event: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return log probabilities of all events (empty unless ``by_event``) and of all sequences."""

    @abc.abstractmethod
    def predict_tokens(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the likeliest event at every event (``n_symbols`` is the end); ties to the lower number."""

    @abc.abstractmethod
    def sample_tokens(
        self, state: Any, n: int, rng: np.random.Generator, max_length: int, hidden: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
        """Draw what follows a state, but never the symbol ``hidden``; return tokens, offsets, and how many were cut."""

    @abc.abstractmethod
    def start_state(self) -> Any:
        """Return the state before the first symbol (a value that is never changed)."""

    @abc.abstractmethod
    def next_state(self, state: Any, sigma: int) -> tuple[Any, float]:
        """Return the state after symbol number ``sigma``, and the symbol's probability."""

    @abc.abstractmethod
    def state_distribution(self, state: Any) -> NDArray[np.float64]:
        """Return the probabilities of all symbols and, last, of the end."""

    def states_after(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> Sequence[Any]:
        """Return the state after each sequence of symbols."""
        states = []
        for low, high in pairwise(offsets.tolist()):
            state = self.start_state()
            for sigma in tokens[low:high].tolist():
                state, _ = self.next_state(state, sigma)
            states.append(state)
        return states

    # ------------------------------------------------------------------ what everybody calls

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_states} states over {len(self.alphabet)} symbols)"

    def encode(self, sequences: Any, unknown: Unknown = None) -> Corpus:
        """Return sequences over the model's alphabet; ``unknown`` says what a symbol outside it becomes."""
        return as_corpus(sequences, self.alphabet, unknown)

    def log_prob(self, sequences: Any, unknown: Unknown = None) -> NDArray[np.float64]:
        """Return the natural log probability of each sequence.

        Examples
        --------
        >>> import momata as mo
        >>> model = mo.learn_ngram(mo.Corpus.from_sequences(["ab", "ab", "b"]), order=2, smoothing="none").model
        >>> np.exp(model.log_prob(["ab", "b", "a"])).round(3)
        array([0.667, 0.333, 0.   ])
        """
        corpus = self.encode(sequences, unknown)
        return self.score_tokens(corpus.tokens, corpus.offsets, by_event=False)[1]

    def event_log_probs(self, sequences: Any, unknown: Unknown = None) -> list[NDArray[np.float64]]:
        """Return for each sequence the log probability of each of its symbols and, last, of its end."""
        corpus = self.encode(sequences, unknown)
        if not len(corpus):
            return []
        values, _ = self.score_tokens(corpus.tokens, corpus.offsets, by_event=True)
        return np.split(values, (corpus.offsets + np.arange(len(corpus) + 1))[1:-1])

    def next_symbol(self, prefix: Iterable[Hashable] = (), unknown: Unknown = None) -> Distribution:
        """Return the distribution of what follows one prefix."""
        return self.stream(prefix, unknown).distribution()

    def next_symbols(self, prefixes: Any, unknown: Unknown = None) -> NDArray[np.float64]:
        """Return an array with a row of probabilities for each prefix: all symbols, then the end."""
        corpus = self.encode(prefixes, unknown)
        rows = np.empty((len(corpus), len(self.alphabet) + 1))
        for i, state in enumerate(self.states_after(corpus.tokens, corpus.offsets)):
            rows[i] = self.state_distribution(state)
        return rows

    def stream(self, prefix: Iterable[Hashable] = (), unknown: Unknown = None) -> Stream:
        """Start reading a sequence symbol by symbol."""
        stream = Stream(self, unknown)
        for symbol in prefix:
            stream.push(symbol)
        return stream

    def sample(
        self,
        n: int = 1,
        seed: int | np.random.Generator = 0,
        max_length: int = 1_000_000,
        prefix: Iterable[Hashable] = (),
        with_unknown: bool = False,
    ) -> Corpus:
        """Draw sequences; the same seed gives the same ones.

        Parameters
        ----------
        n : int
        seed : int or Generator
        max_length : int
            A sequence that has not ended after so many drawn symbols is an error.
        prefix : iterable of symbols
            All sequences begin with it; what follows is drawn given it.
        with_unknown : bool
            Draw the symbol for unknown symbols too, with its share. By default an event that would be one is drawn again.
        """
        n, max_length = whole(n, "n"), whole(max_length, "max_length")
        if n < 0 or max_length < 0:
            raise OptionError(f"n={n} sequences of up to {max_length} symbols cannot be drawn. Give numbers from 0.")
        given = self.encode([list(prefix)]).tokens
        if given.size and self.stream(prefix).log_prob == -np.inf:
            raise DataError("the prefix has probability 0, so nothing can follow it. Give one that the model allows.")
        state = self.states_after(given, np.array([0, given.size]))[0]
        hidden = -1 if with_unknown else self.hidden_symbol
        tokens, offsets, n_cut = self._drawn(state, n, generator(seed), max_length, hidden)
        if n_cut:
            raise DataError(
                f"{n_cut} of {n} sampled sequences did not end within max_length={max_length} symbols. "
                "Give a larger max_length, or look whether the model gives its end any probability."
            )
        if given.size:
            tokens = np.insert(tokens, np.repeat(offsets[:-1], given.size), np.tile(given, n))
            offsets = offsets + given.size * np.arange(n + 1)
        drawn = Corpus(tokens, offsets, self.alphabet)
        if hidden < 0 or hidden in given:
            return drawn
        return drawn.recode(Alphabet((s for s in self.alphabet if s != UNKNOWN), closed=self.alphabet.closed))

    def _drawn(
        self, state: Any, n: int, rng: np.random.Generator, max_length: int, hidden: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
        """Draw some sequences at a time, so that an interruption need not wait for all."""
        tokens, offsets, n_cut = [np.empty(0, np.int32)], [np.zeros(1, np.int64)], 0
        for low in range(0, n, _AT_ONCE):
            more, bounds, cut = self.sample_tokens(state, min(_AT_ONCE, n - low), rng, max_length, hidden)
            tokens.append(more)
            offsets.append(bounds[1:] + offsets[-1][-1])
            n_cut += cut
        return np.concatenate(tokens), np.concatenate(offsets), n_cut

    @property
    @abc.abstractmethod
    def hidden_symbol(self) -> int:
        """Number of the symbol that stands for unknown ones and was never seen itself, or -1; neither drawn nor proposed."""


class Stream:
    """One sequence being read: push symbols, ask what comes next at any time."""

    def __init__(self, model: LanguageModel, unknown: Unknown = None) -> None:
        self.model = model
        self.log_prob = 0.0
        self.n_unknown = 0
        self._policy = UnknownPolicy.parse(unknown)
        self._state = model.start_state()

    def push(self, symbol: Hashable) -> float:
        """Read one symbol and return its probability; ``log_prob`` keeps the sum of the logarithms."""
        alphabet = self.model.alphabet
        if symbol in (START, STOP):
            raise AlphabetError(
                f"{symbol!r} is no symbol that can be read. A stream starts by itself; ask for its distribution."
            )
        sigma = alphabet.find(symbol)
        if sigma is None:
            sigma = self._policy.target(alphabet)
            if sigma is None:
                alphabet.index(symbol)  # raises
                raise AssertionError
            self.n_unknown += 1
            if sigma < 0:
                return 1.0
        self._state, chance = self.model.next_state(self._state, sigma)
        with np.errstate(divide="ignore"):
            self.log_prob += float(np.log(chance))
        return float(chance)

    def distribution(self) -> Distribution:
        """Return the distribution of what comes next."""
        return Distribution(self.model.alphabet, self.model.state_distribution(self._state))

    def copy(self) -> Stream:
        """Return a stream that goes on from here on its own."""
        twin = Stream(self.model, self._policy)
        twin.log_prob, twin.n_unknown, twin._state = self.log_prob, self.n_unknown, self._state
        return twin
