"""Prefix trees arranged so that a step down or up is a matrix product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata._kernels import chains
from momata.core.alphabet import Alphabet
from momata.core.tree import CountedTree

__all__ = ["Block", "WalkPlan", "plan_walk"]

BLOCK_NODES = 16384  # so many rows, and what is computed of them, stay in the cache; and blocks can go to threads


@dataclass(frozen=True, eq=False)
class Block:
    """Some of the strings of a tree, as a prefix tree of its own; see `momata._kernels.chains`.

    Attributes
    ----------
    node_at, parent_slot : (n_slots,) int32 arrays
    end : (n_slots,) array
        How many strings end at each slot.
    groups : (n_groups, 4) int64 array
        Symbol, first slot, first leaf, slot behind the last.
    """

    node_at: NDArray[np.int32]
    parent_slot: NDArray[np.int32]
    end: NDArray[np.float64]
    groups: NDArray[np.int64]

    @property
    def n_slots(self) -> int:
        """Number of nodes, those shared with other blocks included."""
        return int(self.parent_slot.size)


@dataclass(frozen=True, eq=False)
class WalkPlan:
    """A whole prefix tree, block by block.

    Attributes
    ----------
    blocks : list of Block
    alphabet : Alphabet
    n_strings, n_events : float
        Weighted numbers of strings, and of their symbols and ends.
    spare : list
        Memory for the vectors of a block, lent to one walk after another: to get it anew would cost more than to fill it.
    """

    blocks: list[Block]
    alphabet: Alphabet
    n_strings: float
    n_events: float
    spare: list[Any] = field(default_factory=list, repr=False)

    @property
    def most_slots(self) -> int:
        """Size of the largest block."""
        return max(block.n_slots for block in self.blocks)


def plan_walk(tree: CountedTree, block_nodes: int = BLOCK_NODES) -> WalkPlan:
    """Arrange a prefix tree; the arrangement depends on nothing but the tree."""
    end = tree.end.astype(np.float64)
    slot_of = np.empty(tree.n_nodes, np.int32)
    blocks = []
    for low, high, shared in _ranges(tree, block_nodes):
        n_slots = int((high - low).sum())
        node_at, parent_slot = np.empty(n_slots, np.int32), np.empty(n_slots, np.int32)
        end_at, groups = np.empty(n_slots), np.empty((n_slots, 4), np.int64)
        n_groups = chains.arrange_block(
            tree.symbol, tree.parent, tree.child_start, end, low, high, shared, len(tree.alphabet), slot_of,
            node_at, parent_slot, end_at, groups,
        )  # fmt: skip
        blocks.append(Block(node_at, parent_slot, end_at, groups[:n_groups].copy()))
    n_strings = float(tree.through[0])
    return WalkPlan(blocks, tree.alphabet, n_strings, float(tree.through.sum()))


def _ranges(
    tree: CountedTree, block_nodes: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield blocks as ranges of nodes, level by level, and whether each range's first node is in an earlier block too.

    The tree is cut between nodes of one level: their descendants are ranges of deeper levels, their ancestors of those above.
    """
    n_levels = int(np.count_nonzero(np.diff(tree.level_offsets)))
    offsets = tree.level_offsets[: n_levels + 1]
    n_blocks = -(-tree.n_nodes // block_nodes)
    widths = np.diff(offsets)
    enough = np.flatnonzero(widths >= 16 * n_blocks)
    level = int(enough[0]) if enough.size else int(widths.argmax())
    bounds = np.arange(offsets[level], offsets[level + 1] + 1)
    below = np.empty((n_levels - level, bounds.size), np.int64)  # where the descendants of each node begin
    below[0] = bounds
    for k in range(1, n_levels - level):
        below[k] = tree.child_start[below[k - 1]]
    before = (below - below[:, :1]).sum(axis=0)  # nodes of whole subtrees to the left
    cuts = np.unique(np.searchsorted(before, np.arange(1, n_blocks) * before[-1] / n_blocks))
    cuts = np.concatenate([[0], cuts[(cuts > 0) & (cuts < bounds.size - 1)], [bounds.size - 1]])
    high_before = offsets[:-1]
    for first, last in pairwise(cuts.tolist()):
        low, high = np.empty(n_levels, np.int64), np.empty(n_levels, np.int64)
        low[level:], high[level:] = below[:, first], below[:, last]
        left, right = int(bounds[first]), int(bounds[last])
        for k in range(level - 1, -1, -1):
            last_above = int(tree.parent[high[k + 1] - 1])
            left = int(offsets[k]) if first == 0 else int(tree.parent[left])
            right = int(offsets[k + 1]) if last == bounds.size - 1 else int(tree.parent[right])
            low[k], high[k] = left, max(right, last_above + 1)
        yield low, high, high_before > low
        high_before = high
