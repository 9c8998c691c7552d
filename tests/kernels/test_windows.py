"""Sorting references to windows, against `sorted`."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata._kernels.windows import (
    _insertion_sort,
    _radix_sort,
    count_nodes,
    fill_nodes,
    leading_codes,
    reach_of_positions,
    sort_windows,
)

NO_STARTS = np.empty(0, np.int64)


def rows_of(corpus) -> list[tuple[int, ...]]:
    return [tuple(corpus.tokens[a:b].tolist()) for a, b in itertools.pairwise(corpus.offsets.tolist())]


def common(one: tuple, other: tuple) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def sort_all(tokens, starts, reach, depth, base, n_lead):
    sizes = np.zeros(base**n_lead, np.int64)
    leading_codes(tokens, starts, reach, base, n_lead, sizes)
    assert sizes.sum() == reach.size
    bucket_start = np.concatenate([[0], np.cumsum(sizes)])
    order, shared = np.full(reach.size, -1, np.int32), np.full(reach.size, -1, reach.dtype)
    sort_windows(tokens, starts, reach, depth, base, n_lead, bucket_start, 0, base**n_lead, order, shared)
    return order, shared


def check_sorted(windows: list[tuple[int, ...]], order, shared) -> None:
    assert sorted(order.tolist()) == list(range(len(windows)))
    found = [windows[s] for s in order]
    assert found == sorted(windows)
    assert shared.tolist() == [0 if i == 0 else common(found[i - 1], found[i]) for i in range(len(found))]


@given(corpora(), st.integers(1, 9), st.integers(1, 3))
def test_all_windows_of_a_corpus_are_sorted(corpus, depth, n_lead):
    reach = np.empty(corpus.n_tokens, np.int32)
    reach_of_positions(corpus.offsets, depth + 1, reach)
    rows = rows_of(corpus)
    assert reach.tolist() == [min(len(row) - p, depth + 1) for row in rows for p in range(len(row))]
    windows = [row[p : p + depth] for row in rows for p in range(len(row))]
    check_sorted(windows, *sort_all(corpus.tokens, NO_STARTS, reach, depth, corpus.n_symbols + 1, min(n_lead, depth)))


@pytest.mark.parametrize("n_symbols", [1, 2, 300, 100_000])
@pytest.mark.parametrize("depth", [1, 2, 3, 40, 200])
def test_groups_large_and_small_of_windows_alike_and_not(n_symbols, depth):
    """More windows than insertion sort takes, several words long, with many ties: deep stacks, radix passes."""
    rng = np.random.default_rng(depth)
    used = np.unique([0, n_symbols // 2, n_symbols - 1])
    rows = [used[rng.integers(0, used.size, 150)], np.repeat(used[-1:], 150), np.tile(used, 50), np.tile(used, 50)]
    tokens = np.concatenate(rows).astype(np.int32)
    starts, reach, windows = [], [], []
    first = 0
    for row in rows:
        for p in range(len(row)):
            starts.append(first + p)
            reach.append(min(len(row) - p, depth + 1))
            windows.append(tuple(row[p : p + depth].tolist()))
        first += len(row)
    order, shared = sort_all(tokens, np.array(starts), np.array(reach, np.int32), depth, n_symbols + 1, 1)
    check_sorted(windows, order, shared)


@pytest.mark.parametrize("top", [1, 2**8, 2**20, 2**64 - 1])
@pytest.mark.parametrize("size", [1, 2, 47, 300])
def test_both_sorts_are_stable(top, size):
    rng = np.random.default_rng(size)
    words = rng.integers(0, top, size, dtype=np.uint64, endpoint=True)
    words[size // 2] = words[0]
    expected = np.argsort(words, kind="stable")
    varying = np.bitwise_or.reduce(words ^ words[0])
    for sort in ("insertion", "radix"):
        own, order = words.copy(), np.arange(size, dtype=np.int32)
        if sort == "insertion":
            _insertion_sort(own, order, size)
        else:
            _radix_sort(own, order, np.empty_like(own), np.empty_like(order), size, varying)
        assert order.tolist() == expected.tolist(), sort
        assert own.tolist() == words[expected].tolist(), sort


@given(corpora(weights=True, min_sequences=1), st.integers(1, 6))
def test_nodes_read_off_sorted_windows(corpus, depth):
    """Windows are whole sequences here, as in a prefix tree."""
    chosen = np.flatnonzero(corpus.lengths)
    starts = corpus.offsets[:-1][chosen]
    reach = np.minimum(corpus.lengths[chosen], depth + 1).astype(np.int32)
    weights = np.empty(0, np.int64) if corpus.weights is None else corpus.weights[chosen]
    own = np.ones(chosen.size, np.int64) if corpus.weights is None else weights
    order, shared = sort_all(corpus.tokens, starts, reach, depth, corpus.n_symbols + 1, 1)
    rows = [row for row in rows_of(corpus) if row]
    strings = {row[:k] for row in rows for k in range(1, min(len(row), depth) + 1)}
    per_level = count_nodes(reach, depth, order, shared, 0, reach.size)
    assert per_level[1:].tolist() == [sum(len(s) == k for s in strings) for k in range(1, depth + 1)]
    nodes = [(), *sorted(strings, key=lambda s: (len(s), s))]
    n = len(nodes)
    symbol, parent = np.full(n, -1, np.int32), np.full(n, -1, np.int32)
    child_start, window_node = np.full(n + 1, n, np.int32), np.full(chosen.size, -1, np.int32)
    through, end = np.zeros(n, np.int64), np.zeros(n, np.int64)
    offsets = np.cumsum([0, 1, *per_level[1:]])
    fill_nodes(
        corpus.tokens, starts, reach, weights, depth, order, shared, 0, reach.size, offsets,
        symbol, parent, child_start, through, end, window_node,
    )  # fmt: skip
    for u, string in enumerate(nodes[1:], 1):
        assert nodes[parent[u]] == string[:-1]
        assert symbol[u] == string[-1]
        assert through[u] == sum(w for row, w in zip(rows, own, strict=True) if row[: len(string)] == string)
        assert end[u] == sum(w for row, w in zip(rows, own, strict=True) if row == string)
    assert [nodes[u] for u in window_node] == [row[:depth] for row in rows]
