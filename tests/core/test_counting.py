"""Counted trees, built in every way, against nested loops."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import brute
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata.core import counting
from momata.core.alphabet import Alphabet
from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes, count_substrings
from momata.core.tree import CountedTree
from momata.errors import OptionError
from momata.threads import limit_threads

ARRAYS = ("symbol", "parent", "child_start", "through", "end", "level_offsets")
WAYS = ["chosen", "table", "packed", "sorted"]
n_cells = counting._n_cells


@contextlib.contextmanager
def forced(way: str, threads: int = 1) -> Iterator[None]:
    """Make `count_substrings` go one way wherever that way exists, with few buckets; threads share even tiny corpora."""
    with pytest.MonkeyPatch.context() as patch, limit_threads(threads):
        if way == "table":
            patch.setattr(counting, "_n_cells", lambda n, depth, limit: n_cells(n, depth, 10**6))
        elif way != "chosen":
            patch.setattr(counting, "_n_cells", lambda *_: 0)
            patch.setattr(counting, "_MAX_LEADING", 20)
            if way == "sorted":
                patch.setattr(counting, "_packing", lambda *_: None)
        if threads > 1:
            patch.setattr(counting, "_WORTH_THREADS", 2)
        yield


def as_dict(tree: CountedTree) -> dict:
    return {tree.string(u): (tree.through[u], tree.end[u]) for u in range(tree.n_nodes)}


def check_shape(tree: CountedTree) -> None:
    """What holds for every tree, counts aside."""
    strings = [tree.string(u) for u in range(tree.n_nodes)]
    assert (tree.symbol[0], tree.parent[0]) == (-1, -1)
    assert tree.level_offsets.size == tree.depth + 2
    assert tree.child_start.size == tree.n_nodes + 1
    for k in range(tree.depth + 1):
        level = strings[tree.level(k)]
        assert all(len(s) == k for s in level)
        numbers = [tuple(map(tree.alphabet.index, s)) for s in level]
        assert numbers == sorted(set(numbers))
    assert sum(tree.level(k).stop - tree.level(k).start for k in range(tree.depth + 1)) == tree.n_nodes
    for u in range(tree.n_nodes):
        assert all(tree.parent[v] == u for v in tree.children(u))
        if u:
            assert u in tree.children(int(tree.parent[u]))
            assert strings[u] == (*strings[tree.parent[u]], tree.alphabet[int(tree.symbol[u])])
    dtypes = [getattr(tree, name).dtype for name in ("symbol", "parent", "child_start", "level_offsets")]
    assert dtypes == [np.int32, np.int32, np.int32, np.int64]


def assert_same(one: CountedTree, other: CountedTree) -> None:
    assert (one.kind, one.depth, one.alphabet) == (other.kind, other.depth, other.alphabet)
    for name in ARRAYS:
        a, b = getattr(one, name), getattr(other, name)
        assert a.dtype == b.dtype, name
        assert np.array_equal(a, b), name


@pytest.mark.parametrize("way", WAYS)
@given(corpus=corpora(weights=True), depth=st.integers(0, 9), threads=st.integers(1, 3))
def test_substring_tree_equals_nested_loops(way, corpus, depth, threads):
    with forced(way, threads):
        tree = count_substrings(corpus, depth)
    assert as_dict(tree) == brute.count_substrings(corpus, depth, corpus.weights)
    check_shape(tree)


@pytest.mark.parametrize("way", ["chosen", "sorted"])
@given(corpus=corpora(weights=True), depth=st.one_of(st.none(), st.integers(0, 9)), threads=st.integers(1, 3))
def test_prefix_tree_equals_a_loop(way, corpus, depth, threads):
    with forced(way, threads):
        tree = count_prefixes(corpus, depth)
    assert as_dict(tree) == brute.count_prefixes(corpus, depth, corpus.weights)
    check_shape(tree)
    assert tree.depth == (max(map(len, corpus), default=0) if depth is None else depth)
    assert [tree.string(int(u)) for u in tree.sequence_node] == [row[:depth] for row in corpus]


@given(corpora(weights=True), st.integers(0, 5))
def test_counts_add_up(corpus, depth):
    """A prefix statistic is the string statistic here plus the prefix statistics one symbol on."""
    for tree in (count_prefixes(corpus, depth), count_substrings(corpus, depth)):
        for u in range(int(tree.level_offsets[depth])):
            assert tree.through[u] == tree.end[u] + sum(tree.through[v] for v in tree.children(u))
        assert np.all(tree.end <= tree.through)
        assert np.all(tree.through[1:] > 0)
    total = len(corpus) if corpus.weights is None else corpus.weights.sum()
    assert count_prefixes(corpus, depth).through[0] == total
    events = corpus.lengths + 1
    assert count_substrings(corpus, depth).through[0] == (
        events.sum() if corpus.weights is None else events @ corpus.weights
    )


@given(corpora(weights=True))
def test_substring_counts_are_sums_of_prefix_counts(corpus):
    """The substring statistic of s is the sum over all p of the prefix statistic of ps."""
    prefixes = as_dict(count_prefixes(corpus))
    substrings = as_dict(count_substrings(corpus, 3))
    for string, (through, end) in substrings.items():
        ending = [p for p in prefixes if p[len(p) - len(string) :] == string]
        assert through == sum(prefixes[p][0] for p in ending)
        assert end == sum(prefixes[p][1] for p in ending)


@pytest.mark.parametrize("way", WAYS)
@given(corpus=corpora(weights=True), depth=st.integers(0, 6))
def test_the_number_of_threads_changes_no_bit(way, corpus, depth):
    real = Corpus(corpus.tokens, corpus.offsets, corpus.alphabet, np.linspace(0.1, 0.7, len(corpus)))
    for one in (corpus, real):
        with forced(way, 1):
            prefix, substring = count_prefixes(one, depth), count_substrings(one, depth)
        with forced(way, 2):
            prefix_too, substring_too = count_prefixes(one, depth), count_substrings(one, depth)
        if one is corpus:
            assert_same(prefix, prefix_too)
            assert_same(substring, substring_too)
        else:  # sums of reals in another order
            np.testing.assert_allclose(prefix.through, prefix_too.through, rtol=1e-12)
            np.testing.assert_allclose(substring.through, substring_too.through, rtol=1e-12)
            np.testing.assert_allclose(substring.end, substring_too.end, rtol=1e-12)


@given(corpora(weights=True), st.integers(0, 5))
def test_doubling_a_corpus_doubles_all_counts(corpus, depth):
    twice = Corpus.concatenate([corpus, corpus])
    weights = np.full(len(corpus), 2) if corpus.weights is None else 2 * corpus.weights
    heavier = Corpus(corpus.tokens, corpus.offsets, corpus.alphabet, weights)
    for count in (count_prefixes, count_substrings):
        once = count(corpus, depth)
        for doubled in (count(twice, depth), count(heavier, depth)):
            assert np.array_equal(doubled.symbol, once.symbol)
            assert np.array_equal(doubled.child_start, once.child_start)
            assert np.array_equal(doubled.through, 2 * once.through)
            assert np.array_equal(doubled.end, 2 * once.end)


@given(corpora(weights=True), st.integers(0, 5))
def test_weights_are_repetitions_and_order_does_not_matter(corpus, depth):
    distinct = corpus.deduplicate()
    times = np.ones(len(corpus), np.int64) if corpus.weights is None else corpus.weights
    repeated = corpus.select(np.repeat(np.arange(len(corpus)), times)[::-1])
    repeated = Corpus(repeated.tokens, repeated.offsets, corpus.alphabet)
    for count in (count_prefixes, count_substrings):
        assert_same(count(distinct, depth), count(repeated, depth))


@given(corpora(), st.permutations("abcd"), st.integers(0, 4))
def test_renaming_symbols_renames_the_strings(corpus, order, depth):
    renamed = corpus.recode(Alphabet(order))
    for count in (count_prefixes, count_substrings):
        assert as_dict(count(renamed, depth)) == as_dict(count(corpus, depth))


# ------------------------------------------------------------------ limits


@pytest.mark.parametrize("n_symbols", [1, 2, 200, 3000, 70_000])
@pytest.mark.parametrize("depth", [1, 4, 5, 8, 9, 10, 33, 64, 70])
def test_windows_of_more_than_one_word(n_symbols, depth):
    """63 bits hold 63 symbols of an alphabet of one, 31 of two, 7 of 200, 5 of 3,000 and 3 of 70,000."""
    rng = np.random.default_rng(depth * 7 + n_symbols)
    used = np.array([0, n_symbols // 2, n_symbols - 1])
    rows = [used[rng.integers(0, 3, size)] for size in (0, 1, 9, 30)]
    rows += [np.tile(rows[2], 9), np.tile(rows[2], 9), np.full(80, n_symbols - 1)]
    corpus = Corpus(
        np.concatenate(rows), np.concatenate([[0], np.cumsum([len(r) for r in rows])]), Alphabet.of_size(n_symbols)
    )
    expected = brute.count_substrings([r.tolist() for r in rows], depth)
    for way in ("packed", "sorted"):
        with forced(way, 2):
            assert as_dict(count_substrings(corpus, depth)) == expected, way


def test_packing_puts_symbols_that_do_not_fit_in_the_word_into_the_bucket():
    def packing(n_symbols: int, depth: int) -> tuple[int, int] | None:
        return counting._packing(Corpus.from_sequences([[]], Alphabet.of_size(n_symbols)), depth)

    assert packing(200, 8) == (1, 7)  # 8 bits a symbol, 7 of them in 63 bits
    assert packing(200, 9) == (2, 7)
    assert packing(200, 10) is None  # 201 ** 3 buckets are too many
    assert packing(1, 64) == (1, 63)
    assert packing(1, 65) == (2, 63)
    assert packing(3, 1) is None
    assert packing(0, 3) is None


@pytest.mark.parametrize("depth", [254, 255, 256, 300])
@pytest.mark.parametrize("way", ["chosen", "sorted"])
def test_depths_around_255(way, depth):
    rows = ["ab" * 140, "b" * 300, "ab" * 140, "a"]
    corpus = Corpus.from_sequences(rows)
    with forced(way):
        tree = count_substrings(corpus, depth)
    assert tree.depth == depth
    # b^k starts at 301 - k places; alternating strings that start with an "a" start at every other place
    for length in (1, 2, 253, 254, 255, 256, 279, 280, 300):
        if length <= depth:
            assert tree.through[tree.find("b" * length)] == 301 - length + (280 if length == 1 else 0)
            if 1 < length <= 280:
                assert tree.through[tree.find(("ab" * 150)[:length])] == 2 * ((280 - length) // 2 + 1)
    assert tree.end[tree.find("b" * min(depth, 300))] == 1
    prefixes = count_prefixes(corpus, depth)
    assert prefixes.n_nodes == 1 + min(depth, 280) + min(depth, 300)
    node = prefixes.find(rows[0][:depth])
    assert (prefixes.through[node], prefixes.end[node]) == (2, 2 if depth >= 280 else 0)


def test_depth_zero_and_no_sequences():
    corpus = Corpus.from_sequences(["ab", ""], weights=[2, 3])
    assert as_dict(count_substrings(corpus, 0)) == {(): (2 * 3 + 3, 5)}
    assert as_dict(count_prefixes(corpus, 0)) == {(): (5, 3)}
    nothing = Corpus.from_sequences([], Alphabet("ab"))
    for tree in (count_substrings(nothing, 3), count_prefixes(nothing, 3), count_prefixes(nothing)):
        assert as_dict(tree) == {(): (0, 0)}
    assert count_prefixes(nothing, 3).depth == 3


@pytest.mark.parametrize("depth", [-1, -5])
def test_negative_depths_are_refused(depth):
    corpus = Corpus.from_sequences(["ab"])
    for count in (count_prefixes, count_substrings):
        with pytest.raises(OptionError, match=f"depth={depth} is no length of a string"):
            count(corpus, depth)
    with pytest.raises(OptionError, match=f"depth={depth} is no length of a string"):
        count_prefixes(corpus).cut(depth)


def test_depth_beyond_the_longest_sequence_costs_nothing():
    corpus = Corpus.from_sequences(["abc", "b"])
    tree = count_substrings(corpus, 1000)
    assert tree.depth == 1000
    assert as_dict(tree) == brute.count_substrings(["abc", "b"], 1000)
    assert tree.level(999) == slice(tree.n_nodes, tree.n_nodes)


def test_too_many_nodes_are_refused(monkeypatch):
    monkeypatch.setattr(counting, "_MAX_NODES", 3)
    with pytest.raises(OptionError, match=r"prefix tree of depth 3 of this corpus has 4 nodes.*smaller depth"):
        count_prefixes(Corpus.from_sequences(["abc"]))


# ------------------------------------------------------------------ real weights


@pytest.mark.parametrize("way", WAYS)
@given(corpus=corpora(min_sequences=1), depth=st.integers(0, 5))
def test_real_weights_that_are_exact_in_binary_are_counted_exactly(way, corpus, depth):
    weights = 0.25 * np.arange(1, len(corpus) + 1)
    real = Corpus(corpus.tokens, corpus.offsets, corpus.alphabet, weights)
    with forced(way):
        tree, prefixes = count_substrings(real, depth), count_prefixes(real, depth)
    assert tree.through.dtype == tree.end.dtype == np.float64
    assert as_dict(tree) == brute.count_substrings(corpus, depth, weights.tolist())
    assert as_dict(prefixes) == brute.count_prefixes(corpus, depth, weights.tolist())


@pytest.mark.parametrize("way", WAYS)
def test_small_real_weights_beside_large_ones_keep_their_digits(way):
    """1e-6 vanishes in 1e12 + 1e-6; it must not vanish from the counts of a string of its own."""
    corpus = Corpus.from_sequences(["a", "b", "bc"], weights=[1e12, 1e-6, 1e-6])
    with forced(way):
        trees = count_substrings(corpus, 3), count_prefixes(corpus, 3)
    for tree, n_c in zip(trees, (1, 0), strict=True):
        assert tree.through[tree.find("b")] == 2e-6
        assert tree.end[tree.find("b")] == 1e-6
        if n_c:
            assert tree.through[tree.find("c")] == 1e-6
        assert np.all(tree.end <= tree.through)


# ------------------------------------------------------------------ large ones


def ranked(tokens: np.ndarray, offsets: np.ndarray, k: int) -> dict[bytes, int]:
    """Count the strings of length k by ranking rows with NumPy."""
    starts = np.concatenate([np.arange(a, b - k + 1) for a, b in itertools.pairwise(offsets.tolist())])
    values, counts = np.unique(tokens[starts[:, None] + np.arange(k)], axis=0, return_counts=True)
    return {v.tobytes(): int(c) for v, c in zip(values, counts, strict=True)}


@pytest.mark.compiled
@pytest.mark.parametrize(("n_symbols", "weights"), [(3, None), (12, None), (900, None), (900, 2)])
@pytest.mark.parametrize("threads", [1, 2])
def test_large_corpora_equal_ranking_by_numpy(n_symbols, weights, threads):
    """Large enough for radix passes, several threads and many buckets as they come."""
    rng = np.random.default_rng(n_symbols)
    tokens = (n_symbols * rng.random(120_000) ** 3).astype(np.int32)
    cuts = np.sort(rng.choice(tokens.size, 9_999, replace=False))
    offsets = np.concatenate([[0], cuts, [tokens.size]])
    multiplicities = None if weights is None else np.full(offsets.size - 1, weights)
    corpus = Corpus(tokens, offsets, Alphabet.of_size(n_symbols), multiplicities)
    with limit_threads(threads):
        tree = count_substrings(corpus, 4)
    for k in range(1, 5):
        expected = ranked(tokens, offsets, k)
        level = range(tree.level(k).start, tree.level(k).stop)
        assert len(level) == len(expected)
        found = {np.array(tree.string(u), np.int32).tobytes(): int(tree.through[u]) for u in level}
        assert found == {s: c * (weights or 1) for s, c in expected.items()}


def test_long_identical_sequences():
    corpus = Corpus.from_sequences([[0, 1, 1] * 300] * 6)
    for way in WAYS:
        with forced(way, 2):
            tree, prefixes = count_substrings(corpus, 12), count_prefixes(corpus)
        assert [tree.level(k).stop - tree.level(k).start for k in range(13)] == [1, 2, *[3] * 11]
        assert prefixes.n_nodes == 901
        assert set(prefixes.through.tolist()) == {6}
        assert prefixes.sequence_node.tolist() == [900] * 6
