"""Bases, and exact blocks of automata."""

from __future__ import annotations

import numpy as np
import pytest
from brute import all_strings
from hypothesis import given
from hypothesis import strategies as st
from strategies import stochastic_wfas, wfas

from momata.core.algebra import minimise
from momata.core.basis import Basis
from momata.core.hankel import exact_blocks
from momata.core.wfa import WFA, convert
from momata.errors import BasisError


@given(wfas(max_symbols=2), st.integers(0, 99))
def test_cells_are_weights_of_concatenations(wfa: WFA, seed: int) -> None:
    words = list(all_strings(wfa.alphabet, 2))
    rng = np.random.default_rng(seed)
    prefixes, suffixes = (rng.permutation(len(words))[: max(1, len(words) // 2)] for _ in range(2))
    basis = Basis.of([words[i] for i in prefixes], [words[i] for i in suffixes])
    blocks = exact_blocks(wfa, basis)
    for i, p in enumerate(basis.prefixes):
        assert blocks.h_p[i] == pytest.approx(wfa.weight(p), abs=1e-12)
        for j, s in enumerate(basis.suffixes):
            assert blocks.h_s[j] == pytest.approx(wfa.weight(s), abs=1e-12)
            assert blocks.hankel[i, j] == pytest.approx(wfa.weight(p + s), abs=1e-12)
            for sigma, symbol in enumerate(wfa.alphabet):
                assert blocks.hankel_sigma[sigma, i, j] == pytest.approx(wfa.weight((*p, symbol, *s)), abs=1e-12)


@given(stochastic_wfas(max_symbols=2), st.sampled_from(["string", "prefix", "suffix", "substring"]))
def test_the_rank_over_a_complete_basis_is_that_of_the_minimal_automaton(wfa: WFA, statistic: str) -> None:
    words = list(all_strings(wfa.alphabet, 3))
    blocks = exact_blocks(convert(wfa, statistic), Basis.of(words, words))
    assert blocks.statistic == statistic
    values = np.linalg.svd(blocks.hankel, compute_uv=False)
    rank = minimise(wfa).n_states
    assert np.all(values[rank:] <= 1e-9 * values[0])


def test_bases_that_cannot_be() -> None:
    with pytest.raises(BasisError, match="without prefixes"):
        Basis.of([], [""])
    with pytest.raises(BasisError, match=r"\('a',\) stands twice among the suffixes"):
        Basis.of([""], ["a", "b", "a"])
