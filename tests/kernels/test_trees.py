"""Walks over trees, against loops over their strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from momata._kernels.trees import child_of, find_strings, merge_nodes, suffix_links


@st.composite
def prefix_closed(draw) -> list[tuple[int, ...]]:
    """The strings of a tree, level by level and in order."""
    words = draw(st.lists(st.lists(st.integers(0, 3), max_size=4).map(tuple), max_size=8))
    strings = {w[:k] for w in words for k in range(len(w) + 1)} | {()}
    return sorted(strings, key=lambda s: (len(s), s))


def arrays(strings: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    number = {s: u for u, s in enumerate(strings)}
    symbol = np.array([s[-1] if s else -1 for s in strings], np.int32)
    parent = np.array([number[s[:-1]] if s else -1 for s in strings], np.int32)
    child_start = np.array([1 + sum(p < u for p in parent[1:]) for u in range(len(strings) + 1)], np.int32)
    return symbol, parent, child_start


@given(st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=20), st.integers(0, 2**31 - 1), st.integers(0, 3))
def test_child_is_found_by_bisection(symbols, wanted, before):
    symbol = np.array([7] * before + sorted(symbols) + [wanted], np.int32)  # neighbours are not to be looked at
    expected = before + sorted(symbols).index(wanted) if wanted in symbols else -1
    assert child_of(symbol, before, before + len(symbols), wanted) == expected
    for i, sigma in enumerate(sorted(symbols)):
        assert child_of(symbol, before, before + len(symbols), sigma) == before + i


@given(prefix_closed(), st.lists(st.lists(st.integers(0, 3), max_size=5).map(tuple), max_size=10))
def test_strings_are_found(strings, wanted):
    symbol, _, child_start = arrays(strings)
    tokens = np.array([t for w in wanted for t in w], np.int32)
    offsets = np.cumsum([0, *map(len, wanted)])
    expected = [strings.index(w) if w in strings else -1 for w in wanted]
    assert find_strings(symbol, child_start, tokens, offsets).tolist() == expected


@given(prefix_closed())
def test_suffix_links(strings):
    expected = [strings.index(s[1:]) if s and s[1:] in strings else -1 for s in strings]
    assert suffix_links(*arrays(strings)).tolist() == expected


@given(prefix_closed(), prefix_closed())
def test_merged_nodes_are_the_union(one, other):
    union = sorted({*one, *other}, key=lambda s: (len(s), s))
    bound = len(one) + len(other)
    from_one, from_other = np.full(bound, -9, np.int32), np.full(bound, -9, np.int32)
    child_start = np.full(bound + 1, -9, np.int32)
    one_symbol, _, one_start = arrays(one)
    other_symbol, _, other_start = arrays(other)
    n = merge_nodes(one_symbol, one_start, other_symbol, other_start, from_one, from_other, child_start)
    assert n == len(union)
    assert from_one[:n].tolist() == [one.index(s) if s in one else -1 for s in union]
    assert from_other[:n].tolist() == [other.index(s) if s in other else -1 for s in union]
    assert child_start[: n + 1].tolist() == arrays(union)[2].tolist()


@pytest.mark.parametrize("n", [0, 1])
def test_no_children(n):
    assert child_of(np.array([5], np.int32), 0, n, 4) == -1
