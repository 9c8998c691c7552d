"""Counting by sorting references to windows: any windows, any depth, with weights.

A *window* ``s`` starts at token ``starts[s]`` (or at token ``s`` itself where ``starts`` is empty: all windows of a
corpus). ``reach[s]`` is how many symbols its sequence still has from there, cut to one more than the depth; so the window
is ``min(reach[s], depth)`` symbols long, and its sequence ends with it if and only if ``reach[s] <= depth``.

Windows are sorted many symbols at a time, packed in one word; the tree is read off the sorted list and the lengths of the
common prefixes of neighbours, for windows in order are a depth-first walk of the tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata._kernels._jit import kernel

__all__ = [
    "count_nodes",
    "fill_nodes",
    "leading_codes",
    "reach_of_positions",
    "sort_windows",
]

_INSERTION = 48  # groups up to this size are sorted by insertion


@kernel
def reach_of_positions(offsets: NDArray[np.int64], limit: int, reach: NDArray[Any]) -> None:
    """Write for each token how many symbols its sequence has from there on, itself included, at most ``limit``."""
    for i in range(offsets.size - 1):
        stop = offsets[i + 1]
        for p in range(offsets[i], stop):
            reach[p] = min(stop - p, limit)


@kernel
def leading_codes(
    tokens: NDArray[np.int32],
    starts: NDArray[np.int64],
    reach: NDArray[Any],
    base: int,
    n_lead: int,
    histogram: NDArray[np.int64],
) -> None:
    """Count the windows by their first ``n_lead`` symbols: digits ``symbol + 1`` in the given base, 0 where a window ends."""
    for s in range(reach.size):
        histogram[_lead(tokens, starts, reach, s, base, n_lead)] += 1


@kernel
def _lead(
    tokens: NDArray[np.int32], starts: NDArray[np.int64], reach: NDArray[Any], s: int, base: int, n_lead: int
) -> int:
    p = starts[s] if starts.size else s
    code = 0
    for k in range(n_lead):
        code = code * base + (tokens[p + k] + 1 if k < reach[s] else 0)
    return code


@kernel
def sort_windows(
    tokens: NDArray[np.int32],
    starts: NDArray[np.int64],
    reach: NDArray[Any],
    depth: int,
    base: int,
    n_lead: int,
    bucket_start: NDArray[np.int64],
    first_bucket: int,
    last_bucket: int,
    order: NDArray[Any],
    shared: NDArray[Any],
) -> None:
    """Sort the windows of a range of buckets; a bucket holds the windows with one leading code.

    Writes ``order`` (windows in lexicographic order, a prefix before its extensions) and ``shared`` (length of the
    common prefix with the window before; 0 for the first one of the range).
    """
    cursor = bucket_start[first_bucket : last_bucket + 1].copy()
    for s in range(reach.size):
        code = _lead(tokens, starts, reach, s, base, n_lead)
        if first_bucket <= code < last_bucket:
            order[cursor[code - first_bucket]] = s
            cursor[code - first_bucket] += 1
    largest = 0
    for bucket in range(first_bucket, last_bucket):
        largest = max(largest, bucket_start[bucket + 1] - bucket_start[bucket])
    words, spare_words = np.empty(largest, np.uint64), np.empty(largest, np.uint64)
    spare_order = np.empty(largest, order.dtype)
    pending = np.empty((64, 3), np.int64)  # stack of groups (low, high, symbols in common) still to be sorted
    previous_code = -1
    for bucket in range(first_bucket, last_bucket):
        low, high = bucket_start[bucket], bucket_start[bucket + 1]
        if low == high:
            continue
        shared[low] = 0 if previous_code < 0 else _common_digits(previous_code, bucket, base, n_lead)
        previous_code = bucket
        pending[0, 0], pending[0, 1], pending[0, 2] = low, high, n_lead
        n_pending = 1
        while n_pending:
            n_pending -= 1
            pending, n_pending = _sort_group(
                tokens, starts, reach, depth, base, order, shared, words, spare_words, spare_order, pending, n_pending
            )


@kernel
def _common_digits(one: int, other: int, base: int, n_digits: int) -> int:
    common = n_digits
    while one != other:
        one, other = one // base, other // base
        common -= 1
    return common


@kernel
def _sort_group(
    tokens: NDArray[np.int32],
    starts: NDArray[np.int64],
    reach: NDArray[Any],
    depth: int,
    base: int,
    order: NDArray[Any],
    shared: NDArray[Any],
    words: NDArray[np.uint64],
    spare_words: NDArray[np.uint64],
    spare_order: NDArray[Any],
    pending: NDArray[np.int64],
    top: int,
) -> tuple[NDArray[np.int64], int]:
    """Sort the group at the top of the stack by its next word; groups that stay equal go on the stack again."""
    low, high, known = pending[top, 0], pending[top, 1], pending[top, 2]
    size = high - low
    bits = 1
    while (1 << bits) < base:
        bits += 1
    n_fields = min(64 // bits, depth - known)
    if n_fields <= 0 or size == 1 or reach[order[low]] < known:  # all alike
        for i in range(low + 1, high):
            shared[i] = min(reach[order[i]], depth)
        return pending, top
    varying = np.uint64(0)
    for i in range(size):
        s = order[low + i]
        p = (starts[s] if starts.size else s) + known
        left = min(reach[s] - known, n_fields)
        word = np.uint64(0)
        for k in range(left):
            word = (word << np.uint64(bits)) | np.uint64(tokens[p + k] + 1)
        if left > 0:
            word <<= np.uint64(bits * (n_fields - left))
        words[i] = word
        varying |= word ^ words[0]
    chosen = order[low:high]
    if size <= _INSERTION:
        _insertion_sort(words, chosen, size)
    else:
        _radix_sort(words, chosen, spare_words, spare_order, size, varying)
    first = 0
    field = np.uint64((1 << bits) - 1)
    for i in range(1, size + 1):
        if i < size:
            common = _common_fields(words[i - 1], words[i], n_fields, bits)
            shared[low + i] = known + common
            if words[i] == words[i - 1]:
                continue
        if i - first > 1 and (words[first] & field) != 0 and known + n_fields < depth:
            if top == pending.shape[0]:
                grown = np.empty((2 * top, 3), np.int64)
                grown[:top] = pending
                pending = grown
            pending[top, 0], pending[top, 1], pending[top, 2] = low + first, low + i, known + n_fields
            top += 1
        first = i
    return pending, top


@kernel
def _common_fields(one: np.uint64, other: np.uint64, n_fields: int, bits: int) -> int:
    """Count the leading symbols that two words have in common (fields of 0 are no symbols)."""
    common = 0
    for k in range(n_fields):
        shift = np.uint64(bits * (n_fields - 1 - k))
        head = one >> shift
        if head != other >> shift or (head & np.uint64((1 << bits) - 1)) == 0:
            break
        common += 1
    return common


@kernel
def _insertion_sort(words: NDArray[np.uint64], order: NDArray[Any], size: int) -> None:
    for i in range(1, size):
        word, s = words[i], order[i]
        j = i
        while j > 0 and words[j - 1] > word:
            words[j], order[j] = words[j - 1], order[j - 1]
            j -= 1
        words[j], order[j] = word, s


@kernel
def _radix_sort(
    words: NDArray[np.uint64],
    order: NDArray[Any],
    spare_words: NDArray[np.uint64],
    spare_order: NDArray[Any],
    size: int,
    varying: np.uint64,
) -> None:
    """Sort stably by bytes from the least, skipping bytes that do not vary."""
    count = np.empty(257, np.int64)
    in_spare = False
    for byte in range(8):
        shift = np.uint64(8 * byte)
        if (varying >> shift) & np.uint64(255) == 0:
            continue
        if in_spare:
            _radix_pass(spare_words, spare_order, words, order, size, shift, count)
        else:
            _radix_pass(words, order, spare_words, spare_order, size, shift, count)
        in_spare = not in_spare
    if in_spare:
        for i in range(size):
            words[i], order[i] = spare_words[i], spare_order[i]


@kernel
def _radix_pass(
    words: NDArray[np.uint64],
    order: NDArray[Any],
    to_words: NDArray[np.uint64],
    to_order: NDArray[Any],
    size: int,
    shift: np.uint64,
    count: NDArray[np.int64],
) -> None:
    count[:] = 0
    for i in range(size):
        count[np.int64((words[i] >> shift) & np.uint64(255)) + 1] += 1
    for digit in range(256):
        count[digit + 1] += count[digit]
    for i in range(size):
        place = np.int64((words[i] >> shift) & np.uint64(255))
        to_words[count[place]], to_order[count[place]] = words[i], order[i]
        count[place] += 1


@kernel
def count_nodes(
    reach: NDArray[Any], depth: int, order: NDArray[Any], shared: NDArray[Any], low: int, high: int
) -> NDArray[np.int64]:
    """Return how many nodes the sorted windows from ``low`` to ``high`` have on each level from 0 (the root is not theirs)."""
    change = np.zeros(depth + 2, np.int64)
    for i in range(low, high):
        change[shared[i] + 1] += 1
        change[min(reach[order[i]], depth) + 1] -= 1
    return np.cumsum(change)[: depth + 1]


@kernel
def fill_nodes(
    tokens: NDArray[np.int32],
    starts: NDArray[np.int64],
    reach: NDArray[Any],
    weights: NDArray[Any],
    depth: int,
    order: NDArray[Any],
    shared: NDArray[Any],
    low: int,
    high: int,
    first_node: NDArray[np.int64],
    symbol: NDArray[np.int32],
    parent: NDArray[np.int32],
    child_start: NDArray[np.int32],
    through: NDArray[Any],
    end: NDArray[Any],
    window_node: NDArray[np.int32],
) -> None:
    """Write the nodes of the sorted windows from ``low`` to ``high``.

    ``first_node[k]`` is the number of their first node on level k (of the next level's first node for ``depth + 1``). A
    node's through count is the weight of the windows that stop at it plus the through counts of its children: no difference
    of large sums is taken, so small weights beside large ones keep their digits.
    ``window_node``, unless empty, gets the node at which each window ends.
    """
    cursor = first_node.copy()
    path = np.zeros(depth + 2, np.int64)  # open nodes by level; the root is node 0
    length = 0
    for i in range(low, high):
        s = order[i]
        for k in range(length, max(shared[i], 1), -1):
            through[path[k - 1]] += through[path[k]]
        p = starts[s] if starts.size else s
        length = min(reach[s], depth)
        for k in range(shared[i] + 1, length + 1):
            node = cursor[k]
            cursor[k] += 1
            symbol[node] = tokens[p + k - 1]
            parent[node] = path[k - 1]
            child_start[node] = cursor[k + 1]
            path[k] = node
        weight = weights[s] if weights.size else through.dtype.type(1)
        through[path[length]] += weight
        if reach[s] <= depth:
            end[path[length]] += weight
        if window_node.size:
            window_node[s] = path[length]
    for k in range(length, 1, -1):
        through[path[k - 1]] += through[path[k]]
