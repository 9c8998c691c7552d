"""Counting by sorting packed windows: each window of a corpus is one machine word.

The first ``n_lead`` symbols of a window choose its *bucket* (digits ``symbol + 1`` in base ``n_symbols + 1``, 0 where the
window has ended). The next ``n_fields`` symbols are fields of ``bits`` bits, the same way, and the last bit says whether the
sequence ends with a window of full length. So words in order are windows in lexicographic order, and the tree can be
read off them front to back: no window is looked up in the corpus again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata._kernels._jit import kernel

__all__ = ["bucket_sizes", "count_packed_nodes", "fill_packed_nodes", "pack_windows"]


@kernel
def bucket_sizes(
    tokens: NDArray[np.int32], offsets: NDArray[np.int64], base: int, n_lead: int, sizes: NDArray[np.int64]
) -> None:
    """Count the windows of each bucket."""
    top = base ** (n_lead - 1)
    for i in range(offsets.size - 1):
        lead = 0
        for p in range(offsets[i + 1] - 1, offsets[i] - 1, -1):
            lead = (tokens[p] + 1) * top + (lead // base if n_lead > 1 else 0)
            sizes[lead] += 1


@kernel
def pack_windows(
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    base: int,
    n_lead: int,
    n_fields: int,
    bits: int,
    cursor: NDArray[np.int64],
    words: NDArray[np.uint64],
) -> None:
    """Write the word of each window to the next free place of its bucket; from the end of each sequence to its start."""
    top = base ** (n_lead - 1)
    first_field = np.uint64(bits * (n_fields - 1))
    width = np.uint64(bits)
    one = np.uint64(1)
    for i in range(offsets.size - 1):
        stop = offsets[i + 1]
        lead = 0
        fields = np.uint64(0)
        for p in range(stop - 1, offsets[i] - 1, -1):
            lead = (tokens[p] + 1) * top + (lead // base if n_lead > 1 else 0)
            behind = p + n_lead
            if behind < stop:
                fields = (fields >> width) | (np.uint64(tokens[behind] + 1) << first_field)
            word = fields << one
            if stop - p == n_lead + n_fields:
                word |= one
            words[cursor[lead]] = word
            cursor[lead] += 1


@kernel
def _length(code: int, word: np.uint64, base: int, n_lead: int, n_fields: int, bits: int) -> int:
    """Return the number of symbols of a window."""
    length = n_lead
    while code % base == 0:  # only windows shorter than the lead; code is never 0
        code //= base
        length -= 1
    if length < n_lead:
        return length
    length += n_fields
    field = np.uint64((1 << bits) - 1)
    word >>= np.uint64(1)
    while length > n_lead and word & field == 0:
        word >>= np.uint64(bits)
        length -= 1
    return length


@kernel
def _common(one: np.uint64, other: np.uint64, n_fields: int, bits: int) -> int:
    """Return how many leading fields of two words are equal."""
    different = one ^ other
    common = 0
    while common < n_fields and different >> np.uint64(bits * (n_fields - 1 - common) + 1) == 0:
        common += 1
    return common


@kernel
def _common_lead(one: int, other: int, base: int, n_lead: int) -> int:
    common = n_lead
    while one != other:
        one, other = one // base, other // base
        common -= 1
    return common


@kernel
def count_packed_nodes(
    words: NDArray[np.uint64],
    bucket_start: NDArray[np.int64],
    first_bucket: int,
    last_bucket: int,
    base: int,
    n_lead: int,
    n_fields: int,
    bits: int,
) -> NDArray[np.int64]:
    """Return how many nodes the sorted words of a range of buckets have on each level from 0 (the root is not theirs)."""
    depth = n_lead + n_fields
    change = np.zeros(depth + 2, np.int64)
    before = -1
    for bucket in range(first_bucket, last_bucket):
        low, high = bucket_start[bucket], bucket_start[bucket + 1]
        if low == high:
            continue
        shared = 0 if before < 0 else _common_lead(before, bucket, base, n_lead)
        before = bucket
        for i in range(low, high):
            if i > low:
                if words[i] == words[i - 1]:
                    continue
                shared = n_lead + _common(words[i - 1], words[i], n_fields, bits)
            change[shared + 1] += 1
            change[_length(bucket, words[i], base, n_lead, n_fields, bits) + 1] -= 1
    return np.cumsum(change)[: depth + 1]


@kernel
def fill_packed_nodes(
    words: NDArray[np.uint64],
    bucket_start: NDArray[np.int64],
    first_bucket: int,
    last_bucket: int,
    base: int,
    n_lead: int,
    n_fields: int,
    bits: int,
    first_node: NDArray[np.int64],
    symbol: NDArray[np.int32],
    parent: NDArray[np.int32],
    child_start: NDArray[np.int32],
    through: NDArray[Any],
    end: NDArray[Any],
) -> None:
    """Write the nodes of the sorted words of a range of buckets; ``first_node`` as in `windows.fill_nodes`."""
    depth = n_lead + n_fields
    field = np.uint64((1 << bits) - 1)
    cursor = first_node.copy()
    path = np.zeros(depth + 2, np.int64)  # open nodes by level; the root is node 0
    opened = np.zeros(depth + 2, np.int64)  # index of the first word of each open node
    digits = np.zeros(n_lead, np.int64)
    length = 0
    before = -1
    for bucket in range(first_bucket, last_bucket):
        low, high = bucket_start[bucket], bucket_start[bucket + 1]
        if low == high:
            continue
        shared = 0 if before < 0 else _common_lead(before, bucket, base, n_lead)
        before = bucket
        code = bucket
        for k in range(n_lead - 1, -1, -1):
            digits[k] = code % base - 1
            code //= base
        for i in range(low, high):
            word = words[i]
            if i == low or word != words[i - 1]:
                if i > low:
                    shared = n_lead + _common(words[i - 1], word, n_fields, bits)
                for k in range(shared + 1, length + 1):
                    through[path[k]] = i - opened[k]
                length = _length(bucket, word, base, n_lead, n_fields, bits)
                for k in range(shared + 1, length + 1):
                    node = cursor[k]
                    cursor[k] += 1
                    if k <= n_lead:
                        symbol[node] = digits[k - 1]
                    else:
                        symbol[node] = np.int32((word >> np.uint64(bits * (depth - k) + 1)) & field) - 1
                    parent[node] = path[k - 1]
                    child_start[node] = cursor[k + 1]
                    path[k] = node
                    opened[k] = i
            if length < depth or word & np.uint64(1):
                end[path[length]] += 1
    for k in range(1, length + 1):
        through[path[k]] = bucket_start[last_bucket] - opened[k]
