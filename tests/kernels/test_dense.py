"""The table of all strings, against a loop over windows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata._kernels.dense import dense_windows


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@given(corpus=corpora(weights=True), depth=st.integers(1, 4))
def test_cells_hold_full_windows_and_ends(dtype, corpus, depth):
    n = corpus.n_symbols
    level_start = np.concatenate([[0], np.cumsum([n**k for k in range(depth + 1)])]).astype(np.int64)
    weights = np.empty(0, dtype) if corpus.weights is None else corpus.weights.astype(dtype)
    full, ends = np.zeros(n**depth, dtype), np.zeros(level_start[-1], dtype)
    dense_windows(corpus.tokens, corpus.offsets, weights, n, level_start, full, ends)

    def code(row: tuple[int, ...]) -> int:
        return sum(t * n**i for i, t in enumerate(reversed(row)))

    expected_full, expected_ends = Counter(), Counter()
    for i in range(len(corpus)):
        row = tuple(corpus.tokens[corpus.offsets[i] : corpus.offsets[i + 1]].tolist())
        weight = 1 if corpus.weights is None else int(corpus.weights[i])
        for p in range(len(row) - depth + 1):
            expected_full[code(row[p : p + depth])] += weight
        for k in range(min(depth, len(row)) + 1):
            expected_ends[int(level_start[k]) + code(row[len(row) - k :])] += weight
    assert {int(c): int(full[c]) for c in np.flatnonzero(full)} == expected_full
    assert {int(c): int(ends[c]) for c in np.flatnonzero(ends)} == expected_ends
