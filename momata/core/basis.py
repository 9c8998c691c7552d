"""Which prefixes and suffixes index the rows and columns of a Hankel matrix, and ways to choose them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.core.alphabet import Alphabet
from momata.core.corpus import Corpus, as_corpus
from momata.core.statistics import Counts, count_statistic, read_cells
from momata.core.tree import CountedTree
from momata.core.wfa import Statistic
from momata.errors import BasisError, OptionError, generator, whole

__all__ = ["Basis", "basis_from_counts", "check_basis_name", "longest_of", "select_basis"]

String = tuple[Hashable, ...]

_PLAIN = ("symbols", "symbols+", "all")
_SIZED = ("length", "top", "sample", "matching")
_NAMES = "symbols, symbols+, length:K, top:K, sample:K, matching:K, all, or closed: and one of these"
_WIDER = 4  # a matching is sought among this many times as many frequent strings as it may have pairs


@dataclass(frozen=True)
class Basis:
    """Prefixes and suffixes: the rows and the columns of a Hankel block.

    Parameters
    ----------
    prefixes, suffixes : tuple of strings
        Each string a tuple of symbols, each once.

    Examples
    --------
    >>> basis = Basis.of(["", "a"], ["", "b", "ab"])
    >>> basis.prefixes, len(basis.suffixes)
    (((), ('a',)), 3)
    """

    prefixes: tuple[String, ...]
    suffixes: tuple[String, ...]

    def __post_init__(self) -> None:
        for name, strings in (("prefixes", self.prefixes), ("suffixes", self.suffixes)):
            if not strings:
                raise BasisError(
                    f"a basis without {name} has an empty Hankel block. Give at least one, maybe the empty string."
                )
            if len(set(strings)) != len(strings):
                twice = next(s for s in strings if strings.count(s) > 1)
                raise BasisError(f"{twice!r} stands twice among the {name}. Give each string once.")

    @classmethod
    def of(cls, prefixes: Iterable[Iterable[Hashable]], suffixes: Iterable[Iterable[Hashable]]) -> Basis:
        """Return a basis of any collections of strings; a text is the string of its characters."""
        return cls(tuple(map(tuple, prefixes)), tuple(map(tuple, suffixes)))

    def __repr__(self) -> str:
        return f"Basis({len(self.prefixes)} prefixes, {len(self.suffixes)} suffixes)"

    @cached_property
    def longest_prefix(self) -> int:
        """Length of the longest prefix."""
        return max(map(len, self.prefixes))

    @cached_property
    def longest_suffix(self) -> int:
        """Length of the longest suffix."""
        return max(map(len, self.suffixes))

    def p_closure(self, alphabet: Alphabet) -> Basis:
        r"""Return the basis whose prefixes are those of this one, and those followed by any symbol: :math:`P\Sigma'`."""
        longer = ((*p, sigma) for p in self.prefixes for sigma in alphabet)
        return Basis(tuple(dict.fromkeys((*self.prefixes, *longer))), self.suffixes)

    def suffix_closure(self) -> Basis:
        """Return the basis whose suffixes are those of this one and all their suffixes, the empty string included."""
        closed = (s[i:] for s in self.suffixes for i in range(len(s) + 1))
        return Basis(self.prefixes, tuple(dict.fromkeys(closed)))

    def encode(self, alphabet: Alphabet) -> tuple[Corpus, Corpus]:
        """Return prefixes and suffixes as corpora over an alphabet."""
        prefixes, suffixes = (_encoded(s, alphabet) for s in (self.prefixes, self.suffixes))
        return prefixes, suffixes


def _encoded(strings: tuple[String, ...], alphabet: Alphabet) -> Corpus:
    found = [[alphabet.find(symbol) for symbol in s] for s in strings]
    for string, numbers in zip(strings, found, strict=True):
        if None in numbers:
            raise BasisError(
                f"{string[numbers.index(None)]!r} in the basis string {string!r} is not in the alphabet of {len(alphabet)} "
                "symbols. Leave that string out of the basis."
            )
    tokens = np.array([t for numbers in found for t in numbers], dtype=np.int32)
    return Corpus(tokens, np.concatenate([[0], np.cumsum([len(s) for s in strings])]).astype(np.int64), alphabet)


# ------------------------------------------------------------------ choosing


def select_basis(
    corpus: Any, spec: str | Basis, max_length: int = 4, statistic: Statistic = "substring", seed: int = 0
) -> Basis:
    """Choose a basis for a corpus.

    Parameters
    ----------
    corpus : Corpus or collection of sequences
    spec : str or Basis
        ``"symbols"`` (all symbols), ``"symbols+"`` (and the empty string), ``"length:K"`` (all observed strings up to
        length K), ``"top:K"`` (the K most frequent ones), ``"sample:K"`` (K drawn at random by frequency), ``"all"``
        (all observed ones), ``"matching:K"`` (at most K rows and columns that a maximum matching of the cells that are not
        0 pairs: a block of full structural rank); ``"closed:..."`` (the p-closure and the suffix-closure of one of these).
        All but ``"symbols"`` contain the empty string. A `Basis` is returned as it is.
    max_length : int
        Of the strings considered, where ``spec`` does not say.
    statistic : {"string", "prefix", "suffix", "substring"}
        Prefixes of sequences count as prefixes for the string and prefix statistics, their suffixes as suffixes for the
        string and suffix statistics; otherwise occurrences anywhere count.
    seed : int
        For ``"sample:K"``.

    Examples
    --------
    >>> select_basis(["abab", "ab", "b"], "top:3").prefixes
    ((), ('b',), ('a',))
    """
    if isinstance(spec, Basis):
        return spec
    lengths = longest_of(spec, max_length)
    return basis_from_counts(count_statistic(as_corpus(corpus), statistic, *lengths), spec, max_length, seed)


def check_basis_name(spec: str) -> None:
    """Raise `OptionError` unless ``spec`` names a basis."""
    _parsed(spec)


def _parsed(spec: Any) -> tuple[bool, tuple[str, int]]:
    """Return whether the basis is to be closed, its kind, and its number (0 where it has none)."""
    text = spec if isinstance(spec, str) else ""
    rest = text.removeprefix("closed:")
    kind, colon, number = rest.partition(":")
    if not colon and kind in _PLAIN:
        return rest != text, (kind, 0)
    if (
        kind in _SIZED
        and number.isascii()
        and number.isdigit()
        and len(number) < 10
        and int(number) >= (kind != "length")
    ):
        return rest != text, (kind, int(number))
    raise OptionError(f"basis={spec!r} is not known. Use {_NAMES}, with a whole number K, for instance top:400.")


def longest_of(spec: str | Basis, max_length: int) -> tuple[int, int]:
    """Return the lengths of the longest prefix and the longest suffix that may come into a basis."""
    if isinstance(spec, Basis):
        return spec.longest_prefix, spec.longest_suffix
    closed, _ = _parsed(spec)
    longest = _longest(spec, max_length)
    return longest + closed, longest


def _longest(spec: str, max_length: int) -> int:
    """Return the length of the longest string of a named basis, before it is closed."""
    _, (kind, k) = _parsed(spec)
    if whole(max_length, "max_length") < 0:
        raise OptionError(f"max_length={max_length} is no length of a string. Give a number from 0.")
    return 1 if kind in ("symbols", "symbols+") else k if kind == "length" else max_length


def basis_from_counts(counts: Counts, spec: str | Basis, max_length: int = 4, seed: int = 0) -> Basis:
    """Choose a basis by counts at hand; see `select_basis`."""
    if isinstance(spec, Basis):
        return spec
    closed, (kind, k) = _parsed(spec)
    if kind in ("symbols", "symbols+"):
        strings: tuple[String, ...] = tuple((symbol,) for symbol in counts.tree.alphabet)
        if kind == "symbols+" or not strings:
            strings = ((), *strings)
        basis = Basis(strings, strings)
    elif kind == "matching":
        basis = _matched(counts, k, max_length)
    else:
        rng = generator(seed)
        choose = {"length": _observed, "all": _observed, "top": _frequent, "sample": _drawn}[kind]
        longest = _longest(spec, max_length)
        rows, columns = counts.rows(longest), counts.columns(longest)
        basis = Basis(_strings(rows[0], choose(rows[1], k, rng)), _strings(columns[0], choose(columns[1], k, rng)))
    return _closure(basis, counts.tree) if closed else basis


def _closure(basis: Basis, tree: CountedTree) -> Basis:
    """Close a basis, but for what never occurs: rows of zeros teach nothing."""
    longer = [(*p, tree.alphabet[int(tree.symbol[c])]) for p in basis.prefixes for c in _children(tree, tree.find(p))]
    return Basis(tuple(dict.fromkeys((*basis.prefixes, *longer))), basis.suffixes).suffix_closure()


def _children(tree: CountedTree, node: int) -> range:
    return range(0) if node < 0 else tree.children(node)


def _observed(values: NDArray[Any], k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.append(0, np.flatnonzero(values[1:] > 0) + 1)


def _frequent(values: NDArray[Any], k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the root and the nodes with the highest values; of equal ones the first: shorter strings, then by symbols."""
    order = np.argsort(-values[1:], kind="stable")[: k - 1] + 1
    return np.append(0, order[values[order] > 0])


def _drawn(values: NDArray[Any], k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw nodes without replacement, each time by the values of those that are left: the winners of exponential races."""
    found = np.flatnonzero(values[1:] > 0) + 1
    times = rng.exponential(size=found.size) / values[found]
    return np.append(0, found[np.argsort(times, kind="stable")[: k - 1]])


def _strings(tree: CountedTree, nodes: NDArray[np.int64]) -> tuple[String, ...]:
    return tuple(tree.string(int(node)) for node in nodes)


def _matched(counts: Counts, k: int, max_length: int) -> Basis:
    """Return the rows and columns of a maximum matching of the cells that are not 0, the most frequent rows first."""
    from scipy.sparse.csgraph import maximum_bipartite_matching

    rng = np.random.default_rng(0)
    rows, columns = counts.rows(max_length), counts.columns(max_length)
    prefixes, suffixes = (_strings(tree, _frequent(values, _WIDER * k, rng)) for tree, values in (rows, columns))
    coded = Basis(prefixes, suffixes).encode(counts.tree.alphabet)
    pattern = read_cells(counts.tree, counts.values, coded[1], counts.tree.find_all(coded[0]))
    match = maximum_bipartite_matching(pattern, perm_type="column")
    pairs = [(i, int(j)) for i, j in enumerate(match) if j >= 0]
    if pattern[0, 0]:
        pairs = [(0, 0), *((i, j) for i, j in pairs if i and j)]  # the empty string is paired with itself
    del pairs[k:]
    while True:
        P, S = (tuple(dict.fromkeys([0, *(pair[side] for pair in pairs)])) for side in (0, 1))
        if max(len(P), len(S)) <= k:
            return Basis(tuple(prefixes[i] for i in P), tuple(suffixes[j] for j in S))
        pairs.pop()
