"""Many sequences in two flat arrays."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from momata.core.alphabet import START, Alphabet, UnknownPolicy, sort_symbols
from momata.errors import AlphabetError, DataError, OptionError, generator

__all__ = ["Corpus", "Source", "as_corpus"]


class Source(Protocol):
    """Where a corpus came from; knows how to point at one of its symbols."""

    path: str

    def locate(self, sequence: int, position: int) -> str:
        """Describe a place for a message, for instance ``line 14, column 3 of dev.txt``."""


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Sequences over one alphabet, stored flat; all parts are views where they can be.

    Sequence ``i`` is ``tokens[offsets[i]:offsets[i + 1]]``. Make one with `from_sequences`, or read one from a file.

    Parameters
    ----------
    tokens : (n_tokens,) int32 array
        Numbers of symbols.
    offsets : (n_sequences + 1,) int64 array
        Starts with 0, never falls, ends with ``n_tokens``.
    alphabet : Alphabet
    weights : (n_sequences,) array or None
        How often each sequence counts: whole numbers (multiplicities) or positive reals; None means once each.
    source : Source or None
        Used in messages only.

    Examples
    --------
    >>> corpus = Corpus.from_sequences([["a", "b"], "abba", []])
    >>> len(corpus), corpus.n_tokens, corpus[1]
    (3, 6, ('a', 'b', 'b', 'a'))
    """

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    alphabet: Alphabet
    weights: NDArray[Any] | None = None
    source: Source | None = None

    def __post_init__(self) -> None:
        tokens = np.ascontiguousarray(self.tokens, dtype=np.int32)
        offsets = np.ascontiguousarray(self.offsets, dtype=np.int64)
        if (
            offsets.ndim != 1
            or offsets.size == 0
            or offsets[0] != 0
            or offsets[-1] != tokens.size
            or np.any(np.diff(offsets) < 0)
        ):
            raise OptionError(f"offsets must rise from 0 to the number of tokens ({tokens.size}); got {offsets!r}.")
        if tokens.size and (int(tokens.min()) < 0 or int(tokens.max()) >= len(self.alphabet)):
            raise AlphabetError(
                f"tokens lie in [{tokens.min()}, {tokens.max()}], outside the alphabet of {len(self.alphabet)} symbols."
            )
        object.__setattr__(self, "tokens", tokens)
        object.__setattr__(self, "offsets", offsets)
        if self.weights is not None:
            object.__setattr__(self, "weights", _checked_weights(self.weights, offsets.size - 1))

    # ------------------------------------------------------------------ making

    @classmethod
    def from_sequences(
        cls,
        sequences: Iterable[Any],
        alphabet: Alphabet | Iterable[Any] | None = None,
        weights: ArrayLike | None = None,
        unknown: str | UnknownPolicy | None = None,
    ) -> Corpus:
        """Make a corpus from any collection of sequences of hashable symbols.

        Parameters
        ----------
        sequences : iterable of iterables, 2-d integer array, or Arrow list array
            A string is the sequence of its characters. Iterators are read once.
        alphabet : Alphabet or iterable of symbols, optional
            By default the symbols found: numbers and whole-number texts by value, other texts by code point,
            anything else by first appearance.
        weights : array-like of shape (n_sequences,), optional
            Multiplicities.
        unknown : {"error", "skip", "share", "map=SYMBOL"}, optional
            What a symbol outside a given ``alphabet`` becomes.
        """
        if isinstance(sequences, Mapping | Set) or hasattr(sequences, "columns"):
            raise OptionError(
                f"a {type(sequences).__name__} is no ordered collection of sequences. Give a list of them, or of its values. "
                "Tables of events are read by read_events."
            )
        if isinstance(sequences, str | bytes):
            raise OptionError(
                f"a corpus is a collection of sequences, and {sequences[:20]!r} is a single one. "
                f"Put it in a list: [{sequences[:20]!r}]."
            )
        if isinstance(sequences, Corpus):
            found = sequences
        elif hasattr(sequences, "value_lengths") or hasattr(sequences, "combine_chunks"):
            found = cls.from_arrow(sequences)
        elif isinstance(sequences, np.ndarray) and sequences.ndim == 2 and sequences.dtype.kind in "iu":
            found = _from_matrix(sequences)
        else:
            found = _from_iterables(sequences)
        if weights is not None:
            found = Corpus(found.tokens, found.offsets, found.alphabet, np.asarray(weights), found.source)
        if alphabet is None:
            return found
        return found.recode(alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet), unknown or "error")

    @classmethod
    def from_arrow(cls, lists: Any) -> Corpus:
        """Make a corpus from an Arrow array (or chunked array) of lists, without a loop over its items."""
        if hasattr(lists, "combine_chunks"):
            lists = lists.combine_chunks()
        if lists.null_count:
            raise OptionError(
                f"{lists.null_count} of {len(lists)} lists are null. Fill them with empty lists or leave them out."
            )
        values = lists.flatten()
        if values.null_count:
            raise OptionError(
                f"{values.null_count} of {len(values)} symbols are null. Map missing values to a symbol of their own."
            )
        encoded = values.dictionary_encode()
        lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
        return _in_order(
            encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32),
            _offsets_of(lengths),
            encoded.dictionary.to_pylist(),
        )

    # ------------------------------------------------------------------ looking

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def n_tokens(self) -> int:
        """Number of stored symbols, multiplicities not counted."""
        return int(self.tokens.size)

    @property
    def n_symbols(self) -> int:
        """Size of the alphabet."""
        return len(self.alphabet)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each sequence."""
        return np.diff(self.offsets)

    @property
    def total_weight(self) -> float:
        """Number of sequences, multiplicities counted."""
        return float(len(self) if self.weights is None else self.weights.sum())

    @property
    def shape(self) -> tuple[int]:
        """The number of sequences, as of an array, so that scikit-learn's cross-validation keeps weights."""
        return (len(self),)

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        return f"Corpus({len(self)} sequences, {self.n_tokens} symbols over an alphabet of {self.n_symbols}{weighted})"

    def __iter__(self) -> Iterator[tuple[Hashable, ...]]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, key: int) -> tuple[Hashable, ...]: ...
    @overload
    def __getitem__(self, key: slice | NDArray[Any]) -> Corpus: ...
    def __getitem__(self, key: Any) -> Any:
        """Return one sequence as a tuple of symbols, or several as a corpus (a slice of step 1 is a view)."""
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step != 1:
                return self.select(np.arange(start, stop, step))
            stop = max(start, stop)
            low, high = self.offsets[start], self.offsets[stop]
            weights = None if self.weights is None else self.weights[start:stop]
            return Corpus(self.tokens[low:high], self.offsets[start : stop + 1] - low, self.alphabet, weights)
        if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis:  # how scikit-learn takes rows of an array
            key = key[0]
        if isinstance(key, np.ndarray | list):
            return self.select(self._rows(np.asarray(key)))
        i = range(len(self))[key]
        symbols = self.alphabet.symbols
        return tuple(symbols[t] for t in self.tokens[self.offsets[i] : self.offsets[i + 1]])

    def _rows(self, key: NDArray[Any]) -> NDArray[np.int64]:
        """Return the numbers of sequences that an array of numbers or of truth values means."""
        if key.dtype == bool and key.shape == (len(self),):
            return np.flatnonzero(key)
        if key.ndim != 1 or (key.size and key.dtype.kind not in "iu"):
            raise IndexError(
                f"{len(self)} sequences cannot be chosen by an array of shape {key.shape} and type {key.dtype}."
            )
        return key.astype(np.int64)

    def select(self, sequences: ArrayLike) -> Corpus:
        """Return the sequences with these numbers, in this order."""
        chosen = np.asarray(sequences, dtype=np.int64)
        lengths = self.lengths[chosen]
        offsets = _offsets_of(lengths)
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][chosen] - offsets[:-1], lengths)
        return Corpus(
            self.tokens[places], offsets, self.alphabet, None if self.weights is None else self.weights[chosen]
        )

    # ------------------------------------------------------------------ changing

    def split(self, fraction: float = 0.1, seed: int = 0) -> tuple[Corpus, Corpus]:
        """Return a large and a small part, drawn at random by ``seed``; each keeps the order of the corpus.

        The small part has ``fraction`` of the sequences, at least one; so has the large part.
        """
        if not 0 < fraction < 1:
            raise OptionError(f"fraction={fraction} of a corpus cannot be held out. Give a number between 0 and 1.")
        if len(self) < 2:
            raise DataError(
                f"a corpus of {len(self)} sequences cannot be split in two. Give validation data, or fix the sizes to be chosen."
            )
        n_small = min(max(1, round(fraction * len(self))), len(self) - 1)
        held_out = np.zeros(len(self), dtype=bool)
        held_out[generator(seed).choice(len(self), n_small, replace=False)] = True
        return self[~held_out], self[held_out]

    def deduplicate(self) -> Corpus:
        """Return the distinct sequences, by first appearance, with how often each occurs as weights."""
        first: dict[bytes, int] = {}
        width, raw = self.tokens.itemsize, self.tokens.tobytes()
        bounds = (self.offsets * width).tolist()
        group = np.fromiter(
            (first.setdefault(raw[a:b], len(first)) for a, b in pairwise(bounds)),
            dtype=np.int64,
            count=len(self),
        )
        representatives = np.unique(group, return_index=True)[1]
        weights = np.bincount(group, self.weights, minlength=len(first))
        if self.weights is None or self.weights.dtype.kind == "i":
            weights = np.rint(weights).astype(np.int64)
        distinct = self.select(representatives)
        return Corpus(distinct.tokens, distinct.offsets, self.alphabet, weights)

    @staticmethod
    def concatenate(corpora: Sequence[Corpus]) -> Corpus:
        """Return all sequences of several corpora, over the union of their alphabets (order: first corpus first)."""
        if not corpora:
            raise OptionError("there is nothing to concatenate: the list of corpora is empty.")
        alphabet = corpora[0].alphabet
        if any(c.alphabet != alphabet or c.alphabet.closed != alphabet.closed for c in corpora):
            union = dict.fromkeys(symbol for c in corpora for symbol in c.alphabet)
            alphabet = Alphabet(union, closed=all(c.alphabet.closed for c in corpora))
        parts = [c.recode(alphabet) for c in corpora]
        weights = None
        if any(c.weights is not None for c in parts):
            weights = np.concatenate([np.ones(len(c), np.int64) if c.weights is None else c.weights for c in parts])
        tokens = np.concatenate([c.tokens for c in parts])
        return Corpus(tokens, _offsets_of(np.concatenate([c.lengths for c in parts])), alphabet, weights)

    def with_start(self) -> Corpus:
        """Return every sequence with the mark `START` before it, as the last symbol of the alphabet."""
        alphabet = Alphabet((*self.alphabet.symbols, START), closed=True, marks=True)
        offsets = self.offsets + np.arange(len(self) + 1)
        tokens = np.empty(offsets[-1], np.int32)
        is_start = np.zeros(tokens.size, dtype=bool)
        is_start[offsets[:-1]] = True
        tokens[is_start] = len(self.alphabet)
        tokens[~is_start] = self.tokens
        return Corpus(tokens, offsets, alphabet, self.weights)

    def recode(self, alphabet: Alphabet, unknown: str | UnknownPolicy | None = "error") -> Corpus:
        """Return the same sequences over another alphabet; ``unknown`` says what becomes of symbols it lacks."""
        return self.recode_counting(alphabet, unknown)[0]

    def recode_counting(self, alphabet: Alphabet, unknown: str | UnknownPolicy | None = "error") -> tuple[Corpus, int]:
        """Like `recode`, and also return how many symbols (by weight) were unknown."""
        if alphabet is self.alphabet:
            return self, 0
        if alphabet == self.alphabet:  # but perhaps not declared complete alike
            return Corpus(self.tokens, self.offsets, alphabet, self.weights, self.source), 0
        policy = UnknownPolicy.parse(unknown)
        table = np.array([-2 if (found := alphabet.find(s)) is None else found for s in self.alphabet], dtype=np.int32)
        tokens = table[self.tokens] if self.n_tokens else self.tokens
        missing = np.flatnonzero(tokens == -2)
        if not missing.size:
            return Corpus(tokens, self.offsets, alphabet, self.weights, self.source), 0
        target = policy.target(alphabet)
        if target is None:
            raise AlphabetError(
                f"{self.first_unknown(alphabet)} is not in the model's alphabet of {len(alphabet)} symbols. "
                "Use --unknown skip or --unknown map=SYMBOL (in Python: unknown=...)."
            )
        rows = np.searchsorted(self.offsets, missing, side="right") - 1
        n_unknown = missing.size if self.weights is None else round(float(self.weights[rows].sum()))
        if target >= 0:
            tokens[missing] = target
            return Corpus(tokens, self.offsets, alphabet, self.weights, self.source), n_unknown
        lengths = self.lengths - np.bincount(rows, minlength=len(self))
        return Corpus(tokens[tokens >= 0], _offsets_of(lengths), alphabet, self.weights), n_unknown

    def first_unknown(self, alphabet: Alphabet) -> str | None:
        """Describe the first symbol that another alphabet lacks, and its place, for a message; None if it has them all."""
        known = np.array([alphabet.find(s) is not None for s in self.alphabet], dtype=bool)
        missing = np.flatnonzero(~known[self.tokens]) if self.n_tokens else self.tokens
        if not missing.size:
            return None
        token = int(missing[0])
        row = int(np.searchsorted(self.offsets, token, side="right")) - 1
        position = token - int(self.offsets[row])
        place = (
            f"sequence {row + 1}, symbol {position + 1}" if self.source is None else self.source.locate(row, position)
        )
        return f"symbol {self.alphabet[self.tokens[token]]!r} ({place})"


def as_corpus(sequences: Any, alphabet: Alphabet | None = None, unknown: str | UnknownPolicy | None = None) -> Corpus:
    """Return anything that `Corpus.from_sequences` takes as a corpus, over ``alphabet`` if one is given."""
    return Corpus.from_sequences(sequences, alphabet, unknown=unknown or "share")


def _offsets_of(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _checked_weights(weights: NDArray[Any], n_sequences: int) -> NDArray[Any]:
    given = np.asarray(weights)
    if given.shape != (n_sequences,) or given.dtype.kind not in "iuf":
        raise DataError(
            f"weights must be {n_sequences} numbers, one a sequence; got an array of shape {given.shape} and type {given.dtype}."
        )
    if given.size and not (np.all(np.isfinite(given)) and given.min() > 0):
        raise DataError("weights must be finite and above 0. Leave sequences that do not count out.")
    return np.ascontiguousarray(given, dtype=np.float64 if given.dtype.kind == "f" else np.int64)


def _in_order(codes: NDArray[np.int32], offsets: NDArray[np.int64], symbols: list[Any]) -> Corpus:
    """Renumber codes that stand for ``symbols`` so that the alphabet has its canonical order."""
    if not symbols:
        return Corpus(codes, offsets, Alphabet(()))
    alphabet = Alphabet(sort_symbols(Alphabet(symbols).symbols))
    table = np.array([alphabet.index(s) for s in symbols], dtype=np.int32)
    return Corpus(table[codes], offsets, alphabet)


def _from_matrix(rows: NDArray[Any]) -> Corpus:
    values, codes = np.unique(rows, return_inverse=True)
    offsets = np.arange(rows.shape[0] + 1, dtype=np.int64) * rows.shape[1]
    return Corpus(codes.reshape(-1).astype(np.int32), offsets, Alphabet(values.tolist()))


def _iterated(sequences: Any) -> Iterator[Any]:
    try:
        return iter(sequences)
    except TypeError:
        raise OptionError(
            f"{sequences!r:.60} is no collection of sequences. Give a list of lists, tuples or strings."
        ) from None


def _from_iterables(sequences: Iterable[Any]) -> Corpus:
    numbers: dict[Any, int] = {}
    codes, offsets = array("i"), array("q", [0])
    for i, sequence in enumerate(_iterated(sequences)):
        try:
            if isinstance(sequence, Mapping | Set):
                raise TypeError(f"a {type(sequence).__name__} has no order")
            codes.extend([numbers.setdefault(symbol, len(numbers)) for symbol in sequence])
        except TypeError as error:
            raise OptionError(
                f"sequence {i + 1} is {sequence!r:.60}, which is not a sequence of hashable symbols ({error}). "
                "A corpus is a collection of sequences, each a list, tuple or string."
            ) from None
        offsets.append(len(codes))
    return _in_order(np.array(codes, dtype=np.int32), np.array(offsets, dtype=np.int64), list(numbers))
