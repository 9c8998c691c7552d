"""Counted trees: what all statistics are read from.

In the *prefix tree* of a corpus a node's end count is the string statistic of its string, its through count the prefix
statistic. In the *substring tree*, cut to a depth, the through count is the substring statistic and the end count the suffix
statistic.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from momata._kernels import trees
from momata.core.alphabet import Alphabet
from momata.core.corpus import Corpus
from momata.errors import AlphabetError, OptionError

__all__ = ["CountedTree"]

Kind = Literal["prefix", "substring"]


@dataclass(frozen=True, eq=False, repr=False)
class CountedTree:
    """A tree of strings with counts, as flat arrays; nodes are numbered level by level, in order of their strings.

    So siblings lie side by side, sorted by symbol, and the children of node ``u`` are ``child_start[u]`` up to
    ``child_start[u + 1]``. Node 0 is the root, the empty string.

    Parameters
    ----------
    kind : {"prefix", "substring"}
    depth : int
        Strings up to this length are in the tree.
    alphabet : Alphabet
    symbol : (n_nodes,) int32 array
        Last symbol of each node's string; -1 for the root.
    parent : (n_nodes,) int32 array
        Node of the string without its last symbol; -1 for the root.
    child_start : (n_nodes + 1,) int32 array
    through, end : (n_nodes,) arrays
        Counts: whole numbers, or reals where the corpus has real weights. ``through`` is how often the string occurs (at
        the start of a sequence, or anywhere), ``end`` how often a sequence ends with that occurrence. The empty string
        occurs once more in a sequence than the sequence has symbols.
    level_offsets : (depth + 2,) int64 array
        Level ``k`` is the nodes ``level_offsets[k]`` up to ``level_offsets[k + 1]``.
    sequence_node : (n_sequences,) int32 array or None
        In a prefix tree made from a corpus, the node of each sequence (of its first ``depth`` symbols).
    """

    kind: Kind
    depth: int
    alphabet: Alphabet
    symbol: NDArray[np.int32]
    parent: NDArray[np.int32]
    child_start: NDArray[np.int32]
    through: NDArray[Any]
    end: NDArray[Any]
    level_offsets: NDArray[np.int64]
    sequence_node: NDArray[np.int32] | None = None

    def __repr__(self) -> str:
        return f"CountedTree({self.kind} tree, {self.n_nodes} strings up to length {self.depth})"

    @classmethod
    def from_arrays(
        cls,
        kind: Kind,
        depth: int,
        alphabet: Alphabet,
        symbol: NDArray[Any],
        child_start: NDArray[Any],
        through: NDArray[Any],
        end: NDArray[Any],
        level_offsets: NDArray[Any],
    ) -> CountedTree:
        """Make a tree of arrays from outside; raise `OptionError` unless they are a tree whose counts add up."""
        n = symbol.size
        same = all(
            a.ndim == 1 and a.dtype == t
            for a, t in ((symbol, np.int32), (child_start, np.int32), (level_offsets, np.int64))
        )
        if not same or n < 1 or child_start.size != n + 1 or through.shape != (n,) or end.shape != (n,):
            raise OptionError("the arrays of the tree have wrong types or sizes")
        if through.dtype != end.dtype or through.dtype not in (np.int64, np.float64):
            raise OptionError(f"counts of types {through.dtype} and {end.dtype}")
        if child_start[0] != 1 or child_start[-1] != n or np.any(np.diff(child_start) < 0):
            raise OptionError("the children of the tree's nodes do not follow each other")
        if np.any(child_start[:-1] <= np.arange(n)):
            raise OptionError("a node of the tree comes after its children")
        if (
            level_offsets.size != depth + 2
            or not np.array_equal(level_offsets, levels_of(child_start, depth))
            or level_offsets[-1] != n
        ):
            raise OptionError(f"the levels of the tree do not go down to depth {depth}")
        parent = np.full(n, -1, np.int32)
        parent[1:] = np.repeat(np.arange(n, dtype=np.int32), np.diff(child_start))
        siblings = parent[1:-1] == parent[2:]
        if (
            symbol[0] != -1
            or np.any(symbol[1:] < 0)
            or np.any(symbol >= len(alphabet))
            or np.any((np.diff(symbol[1:]) <= 0) & siblings)
        ):
            raise OptionError("symbols of the tree are outside of the alphabet or out of order")
        inner = slice(0, int(level_offsets[depth]))
        below = np.bincount(parent[1:], through[1:], minlength=n)[inner]
        if (
            not np.isfinite(through[0])
            or through[0] < 0
            or np.any(through[1:] <= 0)  # a string that never occurs has no node
            or np.any(end < 0)
            or np.any(end > through)
            or not np.allclose(below + end[inner], through[inner], rtol=1e-9)
        ):
            raise OptionError("the counts of the tree do not add up")
        tree = cls(kind, depth, alphabet, symbol, parent, child_start, through, end, level_offsets)
        if kind == "substring" and np.any(tree.suffix_link[1:] < 0):
            raise OptionError("a string of the tree has a suffix that is not in it")
        return tree

    @property
    def n_nodes(self) -> int:
        """Number of strings in the tree, the empty one included."""
        return int(self.symbol.size)

    @property
    def n_bytes(self) -> int:
        """Memory that the arrays of the tree take."""
        arrays = (self.symbol, self.parent, self.child_start, self.through, self.end)
        return sum(a.nbytes for a in arrays)

    def level(self, k: int) -> slice:
        """Return the nodes whose strings have length ``k``."""
        return slice(int(self.level_offsets[k]), int(self.level_offsets[k + 1]))

    def children(self, node: int) -> range:
        """Return the nodes one symbol longer than ``node``."""
        return range(int(self.child_start[node]), int(self.child_start[node + 1]))

    def string(self, node: int) -> tuple[Hashable, ...]:
        """Return the string of a node."""
        found: list[Hashable] = []
        while node > 0:
            found.append(self.alphabet[int(self.symbol[node])])
            node = int(self.parent[node])
        return tuple(reversed(found))

    def find(self, string: Iterable[Hashable]) -> int:
        """Return the node of one string, or -1 if it was never seen."""
        node = 0
        for symbol in string:
            sigma = self.alphabet.find(symbol)
            if sigma is None or node < 0:
                return -1
            below = self.children(node)
            node = int(trees.child_of(self.symbol, below.start, below.stop, sigma))
        return node

    def find_all(self, strings: Corpus) -> NDArray[np.int64]:
        """Return the nodes of many strings, -1 for those never seen."""
        coded = strings.recode(self.alphabet)
        return trees.find_strings(self.symbol, self.child_start, coded.tokens, coded.offsets)

    @cached_property
    def suffix_link(self) -> NDArray[np.int32]:
        """Node of each string without its first symbol; -1 for the root (in a prefix tree also where there is none)."""
        return trees.suffix_links(self.symbol, self.parent, self.child_start)

    def cut(self, depth: int) -> CountedTree:
        """Return the tree of the strings up to a smaller depth; arrays are views where they can be."""
        if depth >= self.depth:
            return self
        if depth < 0:
            raise OptionError(f"depth={depth} is no length of a string. Give a number from 0.")
        n = int(self.level_offsets[depth + 1])
        child_start = np.minimum(self.child_start[: n + 1], n)
        return replace(
            self, depth=depth, symbol=self.symbol[:n], parent=self.parent[:n], child_start=child_start,
            through=self.through[:n], end=self.end[:n],
            level_offsets=self.level_offsets[: depth + 2], sequence_node=None,
        )  # fmt: skip

    def over(self, alphabet: Alphabet) -> CountedTree:
        """Return the same tree over an alphabet that has its symbols in the same order, and maybe others."""
        if alphabet == self.alphabet:
            return replace(self, alphabet=alphabet)
        table = np.array([-1 if (found := alphabet.find(s)) is None else found for s in self.alphabet], dtype=np.int32)
        seen = table[np.unique(self.symbol[1:])]
        if np.any(seen < 0) or np.any(np.diff(seen) <= 0):
            raise AlphabetError(
                f"a tree over {len(self.alphabet)} symbols cannot be read over these {len(alphabet)}: some are missing or in "
                "another order. Recode the corpus and count again."
            )
        symbol = np.append(self.symbol[:1], table[self.symbol[1:]])
        return replace(self, alphabet=alphabet, symbol=symbol)

    def merge(self, other: CountedTree) -> CountedTree:
        """Return the tree of both corpora together: counts add, exactly and in any order of merging."""
        if (self.kind, self.depth) != (other.kind, other.depth):
            raise OptionError(
                f"a {self.kind} tree of depth {self.depth} and a {other.kind} tree of depth {other.depth} cannot be merged. "
                "Count both in the same way, or cut the deeper one."
            )
        if self.alphabet != other.alphabet:
            raise AlphabetError(
                f"trees over different alphabets ({len(self.alphabet)} and {len(other.alphabet)} symbols) cannot be merged. "
                "Recode both corpora over the union of their alphabets before counting."
            )
        bound = self.n_nodes + other.n_nodes
        from_one, from_other = np.empty(bound, np.int32), np.empty(bound, np.int32)
        child_start = np.empty(bound + 1, np.int32)
        n = trees.merge_nodes(
            self.symbol, self.child_start, other.symbol, other.child_start, from_one, from_other, child_start
        )
        one, two, child_start = from_one[:n], from_other[:n], child_start[: n + 1].copy()
        parent = np.full(n, -1, np.int32)
        parent[1:] = np.repeat(np.arange(n, dtype=np.int32), np.diff(child_start))
        return CountedTree(
            self.kind, self.depth, self.alphabet,
            symbol=np.where(one >= 0, self.symbol[one], other.symbol[two]),
            parent=parent,
            child_start=child_start,
            through=np.where(one >= 0, self.through[one], 0) + np.where(two >= 0, other.through[two], 0),
            end=np.where(one >= 0, self.end[one], 0) + np.where(two >= 0, other.end[two], 0),
            level_offsets=levels_of(child_start, self.depth),
        )  # fmt: skip


def levels_of(child_start: NDArray[np.int32], depth: int) -> NDArray[np.int64]:
    """Return where each level of a tree starts."""
    offsets = np.zeros(depth + 2, np.int64)
    offsets[1] = 1
    for k in range(2, depth + 2):
        offsets[k] = child_start[offsets[k - 1]] if offsets[k - 1] < child_start.size else child_start[-1]
    return offsets
