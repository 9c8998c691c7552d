"""Counts of the four statistics against plain loops, and cells read off counted trees."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from brute import all_strings, expectation
from hypothesis import given
from hypothesis import strategies as st
from strategies import bases, corpora

from momata.core.alphabet import Alphabet
from momata.core.corpus import Corpus
from momata.core.counting import count_substrings
from momata.core.statistics import check_statistic, count_statistic, read_cells, values_at
from momata.core.wfa import Statistic
from momata.errors import OptionError

statistics = st.sampled_from(["string", "prefix", "suffix", "substring"])
ROWS = {"string": "prefix", "prefix": "prefix", "suffix": "substring", "substring": "substring"}
COLUMNS = {"string": "suffix", "prefix": "substring", "suffix": "suffix", "substring": "substring"}


def test_the_four_statistics_are_known():
    assert set(ROWS) == set(COLUMNS) == set(get_args(Statistic))
    for statistic in ROWS:
        check_statistic(statistic)
    for wrong in ("factor", "", None, 3):
        with pytest.raises(OptionError, match=r"statistic=.* is not known. Use string, prefix, suffix or substring"):
            check_statistic(wrong)
    with pytest.raises(OptionError, match="statistic='factor' is not known"):
        count_statistic(Corpus.from_sequences(["a"]), "factor", 1, 1)


@given(corpora(min_sequences=1, weights=True), statistics, st.integers(0, 2), st.integers(0, 2))
def test_values_are_how_often_the_string_is_counted(corpus, statistic, longest_prefix, longest_suffix):
    counts = count_statistic(corpus, statistic, longest_prefix, longest_suffix)
    N = counts.n_sequences
    assert (len(corpus) if corpus.weights is None else corpus.weights.sum()) == N
    assert counts.tree.depth == longest_prefix + 1 + longest_suffix
    nodes = np.array([counts.tree.find(s) for s in all_strings(corpus.alphabet, 3)])
    values = values_at(counts.values, nodes)
    for string, value in zip(all_strings(corpus.alphabet, 3), values, strict=True):
        if len(string) <= counts.tree.depth:
            assert value / N == expectation(corpus, statistic, string, corpus.weights)
        else:
            assert value == 0


@given(corpora(min_sequences=1, weights=True), statistics, st.integers(0, 3))
def test_prefixes_count_as_prefixes_and_suffixes_as_suffixes(corpus, statistic, longest):
    counts = count_statistic(corpus, statistic, longest, longest)
    for (tree, values), kind in [
        (counts.rows(longest), ROWS[statistic]),
        (counts.columns(longest), COLUMNS[statistic]),
    ]:
        found = {tree.string(u): values[u] / counts.n_sequences for u in range(tree.n_nodes)}
        for string in all_strings(corpus.alphabet, longest):
            assert found.pop(string, 0.0) == expectation(corpus, kind, string, corpus.weights)
        assert not found, "no string is longer"


@given(statistics, corpora(weights=True), corpora(weights=True), st.integers(0, 2), st.integers(0, 2))
def test_merging_is_counting_together(statistic, one, other, longest_prefix, longest_suffix):
    alphabet = Alphabet("abcd")
    one, other = one.recode(alphabet), other.recode(alphabet)
    lengths = longest_prefix, longest_suffix
    merged = count_statistic(one, statistic, *lengths).merge(count_statistic(other, statistic, *lengths))
    whole = count_statistic(Corpus.concatenate([one, other]), statistic, *lengths)
    assert merged.statistic == statistic
    for found, expected in [(merged.prefix_tree, whole.prefix_tree), (merged.substring_tree, whole.substring_tree)]:
        assert (found.kind, found.depth, found.alphabet) == (expected.kind, expected.depth, expected.alphabet)
        for name in ("symbol", "child_start", "through", "end"):
            assert np.array_equal(getattr(found, name), getattr(expected, name))


@given(corpora(), st.data())
def test_cells_are_values_of_what_a_row_goes_on_with(corpus, data):
    """For any values, negative ones and zeros too, any starts, -1 among them, and suffixes in any order."""
    tree = count_substrings(corpus, 5)
    suffixes = data.draw(bases(corpus.alphabet)).suffixes
    starts = data.draw(st.lists(st.integers(-1, tree.n_nodes - 1), max_size=6))
    values = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-2, 3, tree.n_nodes)
    coded = Corpus.from_sequences(suffixes, corpus.alphabet)
    cells = read_cells(tree, values, coded, np.array(starts, dtype=np.int64))
    assert cells.shape == (len(starts), len(suffixes))
    expected = np.zeros(cells.shape)
    for i, start in enumerate(starts):
        for j, suffix in enumerate(suffixes):
            node = tree.find(tree.string(start) + suffix) if start >= 0 else -1
            expected[i, j] = values[node] if node >= 0 else 0
    assert np.array_equal(cells.toarray(), expected)
    assert cells.nnz == np.count_nonzero(expected), "zeros are not kept"


def test_values_of_nodes_that_are_not_there_are_zero():
    assert values_at(np.array([5, 7]), np.array([1, -1, 0, -1])).tolist() == [7, 0, 5, 0]
