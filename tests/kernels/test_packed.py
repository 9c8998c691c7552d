"""Packed windows: words in order are windows in order, and the tree read off them is the right one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata._kernels.packed import bucket_sizes, count_packed_nodes, fill_packed_nodes, pack_windows

shapes = st.sampled_from([(1, 1), (1, 2), (1, 6), (2, 1), (2, 3), (3, 2)])


def windows_of(corpus, depth: int) -> list[tuple[tuple[int, ...], bool]]:
    """All windows of a corpus, and whether their sequence ends with them at full length."""
    found = []
    for i in range(len(corpus)):
        row = tuple(corpus.tokens[corpus.offsets[i] : corpus.offsets[i + 1]].tolist())
        found += [(row[p : p + depth], len(row) - p == depth) for p in range(len(row))]
    return found


def packed(corpus, n_lead: int, n_fields: int, bits: int):
    base = corpus.n_symbols + 1
    sizes = np.zeros(base**n_lead, np.int64)
    bucket_sizes(corpus.tokens, corpus.offsets, base, n_lead, sizes)
    bucket_start = np.concatenate([[0], np.cumsum(sizes)])
    words = np.zeros(corpus.n_tokens, np.uint64)
    cursor = bucket_start[:-1].copy()
    pack_windows(corpus.tokens, corpus.offsets, base, n_lead, n_fields, bits, cursor, words)
    assert np.array_equal(cursor, bucket_start[1:])  # every bucket is full
    for low, high in itertools.pairwise(bucket_start.tolist()):
        words[low:high].sort()
    return words, bucket_start


def unpacked(words, bucket_start, base: int, n_lead: int, n_fields: int, bits: int):
    """Read windows back from buckets and words with Python integers."""
    for bucket, (low, high) in enumerate(itertools.pairwise(bucket_start.tolist())):
        digits = [bucket // base**k % base for k in range(n_lead - 1, -1, -1)]
        for word in words[low:high].tolist():
            fields = [word >> (bits * k + 1) & ((1 << bits) - 1) for k in range(n_fields - 1, -1, -1)]
            yield tuple(d - 1 for d in digits + fields if d), bool(word & 1)


@given(corpora(), shapes, st.integers(0, 5))
def test_sorted_words_are_the_windows_in_order(corpus, shape, spare_bits):
    n_lead, n_fields = shape
    bits = corpus.n_symbols.bit_length() + spare_bits
    words, bucket_start = packed(corpus, n_lead, n_fields, bits)
    found = list(unpacked(words, bucket_start, corpus.n_symbols + 1, n_lead, n_fields, bits))
    assert found == sorted(windows_of(corpus, n_lead + n_fields))


@pytest.mark.parametrize("bits", [7, 9, 21, 31])
@given(corpus=corpora())
def test_the_highest_bit_is_used_and_kept(corpus, bits):
    n_fields = 63 // bits
    words, bucket_start = packed(corpus, 1, n_fields, bits)
    found = list(unpacked(words, bucket_start, corpus.n_symbols + 1, 1, n_fields, bits))
    assert found == sorted(windows_of(corpus, 1 + n_fields))


@given(corpora(), shapes)
def test_nodes_read_off_the_words(corpus, shape):
    n_lead, n_fields = shape
    depth, base, bits = n_lead + n_fields, corpus.n_symbols + 1, corpus.n_symbols.bit_length()
    words, bucket_start = packed(corpus, n_lead, n_fields, bits)
    arguments = (words, bucket_start, 0, base**n_lead, base, n_lead, n_fields, bits)
    all_windows = windows_of(corpus, depth)
    strings = {w[:k] for w, _ in all_windows for k in range(1, len(w) + 1)}
    per_level = count_packed_nodes(*arguments)
    assert per_level[1:].tolist() == [sum(len(s) == k for s in strings) for k in range(1, depth + 1)]

    order = [(), *sorted(strings, key=lambda s: (len(s), s))]
    offsets = np.cumsum([0, 1, *per_level[1:]])
    n = len(order)
    symbol, parent = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    child_start = np.full(n + 1, n, np.int32)
    through, end = np.zeros(n, np.int64), np.zeros(n, np.int64)
    fill_packed_nodes(*arguments, offsets, symbol, parent, child_start, through, end)
    for u, string in enumerate(order[1:], 1):
        assert symbol[u] == string[-1]
        assert order[parent[u]] == string[:-1]
        assert child_start[u] == sum(
            len(s) < len(string) + 1 or (len(s) == len(string) + 1 and s < (*string, -1)) for s in order
        )
        assert through[u] == sum(w[: len(string)] == string for w, _ in all_windows)
        assert end[u] == sum(w == string and (full or len(w) < depth) for w, full in all_windows)
