"""Hypothesis strategies for tiny inputs, ugly where it is allowed."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from momata.core.alphabet import Alphabet
from momata.core.basis import Basis
from momata.core.corpus import Corpus
from momata.core.wfa import WFA

LETTERS = "abcd"


@st.composite
def alphabets(draw, min_symbols: int = 1, max_symbols: int = 3) -> Alphabet:
    """A small alphabet of letters, of integers, or of tuples; open or closed."""
    n = draw(st.integers(min_symbols, max_symbols))
    symbols = draw(st.sampled_from([LETTERS, range(4), [("a", 1), ("b",), (), "a"]]))
    return Alphabet(list(symbols)[:n], closed=draw(st.booleans()))


@st.composite
def corpora(
    draw,
    min_sequences: int = 0,
    max_sequences: int = 8,
    max_symbols: int = 3,
    max_length: int = 7,
    weights: bool = False,
    closed: bool | None = None,
) -> Corpus:
    """A tiny corpus: empty and repeated sequences, periodic ones, symbols that never occur, whole-number weights if wanted."""
    n = draw(st.integers(1, max_symbols))
    sequence = st.lists(st.integers(0, n - 1), max_size=max_length)
    periodic = st.builds(
        lambda s, k: (s * k)[: 2 * max_length], st.lists(st.integers(0, n - 1), max_size=2), st.just(7)
    )
    pool = draw(st.lists(st.one_of(sequence, periodic), min_size=1, max_size=max_sequences))
    size = draw(st.integers(min_sequences, max_sequences))
    rows = draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size))
    n_declared = n + draw(st.integers(0, len(LETTERS) - n))
    alphabet = Alphabet(LETTERS[:n_declared], closed=draw(st.booleans()) if closed is None else closed)
    tokens = np.array([t for row in rows for t in row], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    found = None
    if weights and draw(st.booleans()):
        found = np.array(draw(st.lists(st.integers(1, 4), min_size=size, max_size=size)), dtype=np.int64)
    return Corpus(tokens, offsets, alphabet, found)


@st.composite
def bases(draw, alphabet: Alphabet, max_strings: int = 5, max_length: int = 3) -> Basis:
    """Any basis: of strings that occur or not, in any order, with the empty string or without."""
    symbols = st.sampled_from(alphabet.symbols) if len(alphabet) else st.nothing()
    string = st.lists(symbols, max_size=max_length if len(alphabet) else 0).map(tuple)
    strings = st.lists(string, min_size=1, max_size=max_strings, unique=True)
    return Basis(tuple(draw(strings)), tuple(draw(strings)))


@st.composite
def wfas(draw, max_states: int = 4, max_symbols: int = 3) -> WFA:
    """Any automaton: weights of both signs, some of them 0."""
    n, k = draw(st.integers(1, max_states)), draw(st.integers(1, max_symbols))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density = draw(st.sampled_from([0.3, 1.0]))

    def some(*shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, shape) * (rng.random(shape) < density)

    return WFA(some(n), some(n), some(k, n, n), Alphabet(LETTERS[:k], closed=True))


@st.composite
def stochastic_wfas(draw, max_states: int = 4, max_symbols: int = 3, min_stop: float = 0.2) -> WFA:
    """A probabilistic automaton: each state's arcs and its stop sum to 1, and every state stops often enough."""
    n, k = draw(st.integers(1, max_states)), draw(st.integers(1, max_symbols))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    arcs = rng.random((n, k * n)) * (rng.random((n, k * n)) < draw(st.sampled_from([0.4, 1.0]))) + 1e-3
    final = rng.uniform(min_stop, 1.0, n)
    arcs *= ((1 - final) / arcs.sum(axis=1))[:, None]
    operators = arcs.reshape(n, k, n).transpose(1, 0, 2)
    return WFA(rng.dirichlet(np.ones(n)), final, operators, Alphabet(LETTERS[:k], closed=True))
