"""String, prefix, suffix and substring expectations as readings of the two counted trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from momata._kernels import trees
from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes, count_substrings
from momata.core.tree import CountedTree
from momata.core.wfa import Statistic
from momata.errors import OptionError

__all__ = ["Counts", "check_statistic", "count_statistic", "read_cells"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts that one statistic needs: two trees, each as deep as its readings go.

    Attributes
    ----------
    statistic : {"string", "prefix", "suffix", "substring"}
    prefix_tree, substring_tree : CountedTree
    """

    statistic: Statistic
    prefix_tree: CountedTree
    substring_tree: CountedTree

    @property
    def n_sequences(self) -> float:
        """How many sequences were counted, weights included."""
        return float(self.prefix_tree.through[0])

    @property
    def from_start(self) -> bool:
        """Whether a cell counts strings from the start of a sequence on, or anywhere."""
        return self.statistic in ("string", "prefix")

    @property
    def to_end(self) -> bool:
        """Whether a cell counts strings up to the end of a sequence, or going on."""
        return self.statistic in ("string", "suffix")

    @property
    def tree(self) -> CountedTree:
        """The tree that holds the cells."""
        return self.prefix_tree if self.from_start else self.substring_tree

    @property
    def values(self) -> NDArray[Any]:
        """What is counted for each string of `tree`."""
        return self.tree.end if self.to_end else self.tree.through

    def rows(self, max_length: int) -> tuple[CountedTree, NDArray[Any]]:
        """Return what can be a prefix, up to a length, and how often each is one."""
        tree = self.tree.cut(max_length)
        return tree, tree.through

    def columns(self, max_length: int) -> tuple[CountedTree, NDArray[Any]]:
        """Return what can be a suffix, up to a length, and how often each is one."""
        tree = self.substring_tree.cut(max_length)
        return tree, tree.end if self.to_end else tree.through

    def merge(self, other: Counts) -> Counts:
        """Return the counts of both samples together, exactly."""
        trees = (
            self.prefix_tree.merge(other.prefix_tree),
            self.substring_tree.merge(other.substring_tree),
        )
        return Counts(self.statistic, *trees)


def check_statistic(statistic: Any) -> None:
    """Raise `OptionError` unless ``statistic`` is one."""
    if statistic not in get_args(Statistic):
        raise OptionError(f"statistic={statistic!r} is not known. Use string, prefix, suffix or substring.")


def count_statistic(corpus: Corpus, statistic: Statistic, longest_prefix: int, longest_suffix: int) -> Counts:
    """Count what Hankel blocks need: prefixes and suffixes up to these lengths, with one symbol between them."""
    check_statistic(statistic)
    deep, shallow = longest_prefix + longest_suffix + 1, max(longest_prefix, longest_suffix)
    if statistic in ("string", "prefix"):
        return Counts(statistic, count_prefixes(corpus, deep), count_substrings(corpus, shallow))
    return Counts(statistic, count_prefixes(corpus, shallow), count_substrings(corpus, deep))


def read_cells(tree: CountedTree, values: NDArray[Any], suffixes: Corpus, starts: NDArray[np.int64]) -> csr_array:
    """Return the matrix of the values of what starts at a node of the tree (a row) and goes on with a suffix (a column).

    Only what is not 0 is visited: tree and suffixes, themselves a tree, are walked down together.

    Parameters
    ----------
    tree : CountedTree
    values : (n_nodes,) array
    suffixes : Corpus
        Distinct strings over the tree's alphabet.
    starts : (n_rows,) array
        Nodes, or -1 for a row of zeros.
    """
    trie = count_prefixes(suffixes)
    assert trie.sequence_node is not None
    column = np.full(trie.n_nodes, -1, np.int32)
    column[trie.sequence_node] = np.arange(len(suffixes))
    where = (tree.symbol, tree.child_start, values.astype(np.float64), trie.symbol, trie.child_start, column, starts)
    n_cells = np.empty(starts.size, np.int64)
    trees.count_row_cells(*where, n_cells)
    row_start = np.concatenate([[0], np.cumsum(n_cells)])
    columns, cells = np.empty(row_start[-1], np.int32), np.empty(row_start[-1])
    trees.fill_row_cells(*where, row_start, columns, cells)
    pointers = row_start.astype(np.int32) if row_start[-1] < 2**31 else row_start
    return csr_array((cells, columns, pointers), shape=(starts.size, len(suffixes)))


def values_at(values: NDArray[Any], nodes: NDArray[np.int64]) -> Array:
    """Return the values of nodes, 0 where there is none."""
    return np.where(nodes >= 0, values[nodes], 0).astype(np.float64)
