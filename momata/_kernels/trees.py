"""Walks over counted trees, whose nodes are numbered level by level with siblings side by side in order of symbol."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from momata._kernels._jit import kernel

__all__ = [
    "child_of",
    "count_row_cells",
    "fill_row_cells",
    "find_strings",
    "merge_nodes",
    "place_children",
    "suffix_links",
]


@kernel
def child_of(symbol: NDArray[np.int32], low: int, high: int, sigma: int) -> int:
    """Return the node in ``low..high`` (siblings) with symbol ``sigma``, or -1; by bisection."""
    size = high - low
    if size <= 0:
        return -1
    while size > 1:  # without a branch in the loop: its outcome could not be predicted
        half = size >> 1
        low += half if symbol[low + half] <= sigma else 0
        size -= half
    return low if symbol[low] == sigma else -1


@kernel
def find_strings(
    symbol: NDArray[np.int32], child_start: NDArray[np.int32], tokens: NDArray[np.int32], offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the node of each string, -1 where the tree has none."""
    found = np.empty(offsets.size - 1, np.int64)
    for i in range(offsets.size - 1):
        node = 0
        for p in range(offsets[i], offsets[i + 1]):
            node = child_of(symbol, child_start[node], child_start[node + 1], tokens[p])
            if node < 0:
                break
        found[i] = node
    return found


@kernel
def suffix_links(
    symbol: NDArray[np.int32], parent: NDArray[np.int32], child_start: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return for each node the node of its string without the first symbol; -1 where there is none (always for the root)."""
    link = np.empty(symbol.size, np.int32)
    link[0] = -1
    for node in range(1, symbol.size):
        if parent[node] == 0:
            link[node] = 0
        else:
            above = link[parent[node]]
            link[node] = -1 if above < 0 else child_of(symbol, child_start[above], child_start[above + 1], symbol[node])
    return link


@kernel
def merge_nodes(
    one_symbol: NDArray[np.int32],
    one_start: NDArray[np.int32],
    other_symbol: NDArray[np.int32],
    other_start: NDArray[np.int32],
    from_one: NDArray[np.int32],
    from_other: NDArray[np.int32],
    child_start: NDArray[np.int32],
) -> int:
    """Write which nodes of two trees make each node of their union (-1: none); return the number of nodes.

    Breadth first, children merged in order of symbol, so the union is numbered like any other tree.
    """
    from_one[0], from_other[0] = 0, 0
    n_nodes = 1
    node = 0
    while node < n_nodes:
        child_start[node] = n_nodes
        a, a_stop, b, b_stop = 0, 0, 0, 0
        if from_one[node] >= 0:
            a, a_stop = one_start[from_one[node]], one_start[from_one[node] + 1]
        if from_other[node] >= 0:
            b, b_stop = other_start[from_other[node]], other_start[from_other[node] + 1]
        while a < a_stop or b < b_stop:
            take_one = b == b_stop or (a < a_stop and one_symbol[a] <= other_symbol[b])
            take_other = a == a_stop or (b < b_stop and other_symbol[b] <= one_symbol[a])
            from_one[n_nodes] = a if take_one else -1
            from_other[n_nodes] = b if take_other else -1
            a += take_one
            b += take_other
            n_nodes += 1
        node += 1
    child_start[n_nodes] = n_nodes
    return n_nodes


@kernel
def place_children(
    symbol: NDArray[np.int32], child_start: NDArray[np.int32], nodes: NDArray[np.int64], found: NDArray[np.int64]
) -> None:
    """Write in ``found[sigma, i]`` the node of ``nodes[i]`` and then symbol ``sigma``; entries without one stay as they are."""
    for i in range(nodes.size):
        if nodes[i] >= 0:
            for child in range(child_start[nodes[i]], child_start[nodes[i] + 1]):
                found[symbol[child], i] = child


@kernel
def _push_common_children(
    symbol: NDArray[np.int32],
    child_start: NDArray[np.int32],
    trie_symbol: NDArray[np.int32],
    trie_start: NDArray[np.int32],
    pairs: NDArray[np.int64],
    top: int,
) -> int:
    """Replace the pair (node, trie node) on top of the stack by the pairs of children with equal symbols."""
    node, twin = pairs[top, 0], pairs[top, 1]
    low, high = child_start[node], child_start[node + 1]
    trie_low, trie_high = trie_start[twin], trie_start[twin + 1]
    if high - low < trie_high - trie_low:
        for child in range(low, high):
            match = child_of(trie_symbol, trie_low, trie_high, symbol[child])
            if match >= 0:
                pairs[top, 0], pairs[top, 1] = child, match
                top += 1
    else:
        for match in range(trie_low, trie_high):
            child = child_of(symbol, low, high, trie_symbol[match])
            if child >= 0:
                pairs[top, 0], pairs[top, 1] = child, match
                top += 1
    return top


@kernel
def count_row_cells(
    symbol: NDArray[np.int32],
    child_start: NDArray[np.int32],
    counts: NDArray[np.float64],
    trie_symbol: NDArray[np.int32],
    trie_start: NDArray[np.int32],
    column: NDArray[np.int32],
    starts: NDArray[np.int64],
    n_cells: NDArray[np.int64],
) -> None:
    """Write how many suffixes, the strings of a trie that have a column, follow each start with a count.

    Tree and trie are walked down together from the start and the root: the cost is that of the strings they share.
    """
    pairs = np.empty((trie_symbol.size + 1, 2), np.int64)
    for row in range(starts.size):
        n_cells[row] = 0
        if starts[row] < 0:
            continue
        pairs[0, 0], pairs[0, 1] = starts[row], 0
        top = 1
        while top > 0:
            top -= 1
            n_cells[row] += column[pairs[top, 1]] >= 0 and counts[pairs[top, 0]] != 0
            top = _push_common_children(symbol, child_start, trie_symbol, trie_start, pairs, top)


@kernel
def fill_row_cells(
    symbol: NDArray[np.int32],
    child_start: NDArray[np.int32],
    counts: NDArray[np.float64],
    trie_symbol: NDArray[np.int32],
    trie_start: NDArray[np.int32],
    column: NDArray[np.int32],
    starts: NDArray[np.int64],
    row_start: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float64],
) -> None:
    """Write the columns and counts of what `count_row_cells` counted, row after row."""
    pairs = np.empty((trie_symbol.size + 1, 2), np.int64)
    for row in range(starts.size):
        if row_start[row] == row_start[row + 1]:
            continue
        cell = row_start[row]
        pairs[0, 0], pairs[0, 1] = starts[row], 0
        top = 1
        while top > 0:
            top -= 1
            node, twin = pairs[top, 0], pairs[top, 1]
            if column[twin] >= 0 and counts[node] != 0:
                columns[cell] = column[twin]
                values[cell] = counts[node]
                cell += 1
            top = _push_common_children(symbol, child_start, trie_symbol, trie_start, pairs, top)
