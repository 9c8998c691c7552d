"""Walks over an n-gram model, whose contexts and n-grams are the nodes of one counted tree.

What a walk needs to know of a node stands together in one record, so that it comes with one access to memory: ``prob``, the
probability of the node's last symbol after the rest of it; for contexts also ``back``, the share that they leave to their
suffix ``link``; and ``child_start``, the first of the children. ``stop[u]`` is the probability of the end of the sequence
after context ``u``. So an event never seen after ``u`` has ``back`` times its probability after ``link``, and ``floor`` at
the root. Nodes from ``first_leaf`` on are n-grams of full order; they are no contexts. ``first[sigma]`` is the root's child
for a symbol, or -1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from momata._kernels._jit import kernel

__all__ = ["CONTEXT", "advance", "best_events", "fill_distribution", "sample_sequences", "score_events", "walk_states"]

Reals = NDArray[np.float64]
Nodes = NDArray[np.int32]
Contexts = NDArray[np.void]

CONTEXT = np.dtype([("child_start", np.int32), ("link", np.int32), ("back", np.float64), ("prob", np.float64)])


@kernel
def _child(symbol: Nodes, nodes: Contexts, first: Nodes, state: int, sigma: int) -> int:
    """Return the node one symbol longer, or -1; by bisection without a branch, whose outcome could not be predicted."""
    if state == 0:
        return int(first[sigma])
    low = nodes[state]["child_start"]
    size = nodes[state + 1]["child_start"] - low
    if size <= 0:
        return -1
    while size > 1:
        half = size >> 1
        low += half if symbol[low + half] <= sigma else 0
        size -= half
    return int(low) if symbol[low] == sigma else -1


@kernel
def advance(
    symbol: Nodes, nodes: Contexts, first: Nodes, floor: float, first_leaf: int,
    state: int, sigma: int,
) -> tuple[int, float]:  # fmt: skip
    """Read one symbol: return the longest context known after it, and the symbol's probability."""
    share = 1.0
    node = _child(symbol, nodes, first, state, sigma)
    while node < 0:
        if state == 0:
            return 0, share * floor
        share *= nodes[state]["back"]
        state = nodes[state]["link"]
        node = _child(symbol, nodes, first, state, sigma)
    return (nodes[node]["link"] if node >= first_leaf else node), share * nodes[node]["prob"]


@kernel
def _follow(symbol: Nodes, nodes: Contexts, first: Nodes, first_leaf: int, state: int, sigma: int) -> int:
    """Return the longest context known after a symbol."""
    node = _child(symbol, nodes, first, state, sigma)
    while node < 0 and state > 0:
        state = nodes[state]["link"]
        node = _child(symbol, nodes, first, state, sigma)
    if node < 0:
        return 0
    return int(nodes[node]["link"] if node >= first_leaf else node)


@kernel
def score_events(
    symbol: Nodes,
    nodes: Contexts,
    first: Nodes,
    stop: Reals,
    floor: float,
    first_leaf: int,
    start: int,
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    logp: Reals,
    total: Reals,
) -> None:
    """Write log probabilities: of every event, ends included, into ``logp`` (unless empty), of every sequence into ``total``."""
    by_event = logp.size > 0
    for i in range(offsets.size - 1):
        state = start
        found = 0.0
        for p in range(offsets[i], offsets[i + 1]):
            sigma = tokens[p]
            share = 1.0  # what follows is `advance`, written out for speed
            node = _child(symbol, nodes, first, state, sigma)
            while node < 0 and state > 0:
                share *= nodes[state]["back"]
                state = nodes[state]["link"]
                node = _child(symbol, nodes, first, state, sigma)
            if node < 0:
                state = 0
                share *= floor
            else:
                share *= nodes[node]["prob"]
                state = nodes[node]["link"] if node >= first_leaf else node
            one = math.log(share) if share > 0.0 else -np.inf
            found += one
            if by_event:
                logp[p + i] = one
        one = math.log(stop[state]) if stop[state] > 0.0 else -np.inf
        if by_event:
            logp[offsets[i + 1] + i] = one
        total[i] = found + one


@kernel
def walk_states(
    symbol: Nodes,
    nodes: Contexts,
    first: Nodes,
    first_leaf: int,
    start: int,
    tokens: NDArray[np.int32],
    offsets: NDArray[np.int64],
    states: Nodes,
) -> None:
    """Write the context before every event; sequence ``i`` has ``offsets[i + 1] - offsets[i] + 1`` events."""
    for i in range(offsets.size - 1):
        state = start
        for p in range(offsets[i], offsets[i + 1]):
            states[p + i] = state
            state = _follow(symbol, nodes, first, first_leaf, state, tokens[p])
        states[offsets[i + 1] + i] = state


@kernel
def fill_distribution(
    symbol: Nodes,
    nodes: Contexts,
    stop: Reals,
    floor: float,
    state: int,
    out: Reals,
) -> None:
    """Write the probability of each symbol and, last, of the end after a context: from the root's to ever longer contexts."""
    chain = np.empty(0, np.int64)
    node = state
    while node > 0:
        chain = np.append(chain, np.int64(node))
        node = nodes[node]["link"]
    out[:] = floor
    n_symbols = out.size - 1
    for i in range(chain.size, -1, -1):
        context = 0 if i == chain.size else chain[i]
        if context:
            out *= nodes[context]["back"]
        for child in range(nodes[context]["child_start"], nodes[context + 1]["child_start"]):
            if symbol[child] < n_symbols:  # not the mark of the start
                out[symbol[child]] = nodes[child]["prob"]
        out[n_symbols] = stop[context]


@kernel
def best_events(symbol: Nodes, nodes: Contexts, stop: Reals, floor: float, n_symbols: int) -> Nodes:
    """Return the likeliest event after each context; ties go to the lower symbol, the end being the highest.

    No look at all symbols is needed: the likeliest of the unseen events is the likeliest after ``link``, or it was seen.
    """
    n_contexts = stop.size
    best = np.empty(n_contexts, np.int32)
    chance = np.empty(n_contexts)
    for u in range(n_contexts):
        if u == 0:
            best[u], chance[u] = 0, floor
        else:
            best[u], chance[u] = best[nodes[u]["link"]], nodes[u]["back"] * chance[nodes[u]["link"]]
        if best[u] == n_symbols or chance[u] < stop[u]:
            best[u], chance[u] = n_symbols, stop[u]
        for child in range(nodes[u]["child_start"], nodes[u + 1]["child_start"]):
            sigma = symbol[child]
            if sigma < n_symbols and (
                nodes[child]["prob"] > chance[u] or (nodes[child]["prob"] == chance[u] and sigma < best[u])
            ):
                best[u], chance[u] = sigma, nodes[child]["prob"]
    return best


@kernel
def sample_sequences(
    symbol: Nodes,
    nodes: Contexts,
    first: Nodes,
    cumulative: Reals,
    own_stop: Reals,
    first_leaf: int,
    start: int,
    n_symbols: int,
    hidden: int,
    n: int,
    max_length: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """Draw sequences; return their tokens and offsets, and how many were cut at ``max_length``.

    ``cumulative[v]`` is the mass that a context gives, itself, to ``v`` and its lower siblings, ``own_stop`` the same for the
    end; what is missing to 1 is the share of the next shorter context. The symbol ``hidden`` is never drawn.
    """
    tokens = np.empty(1024, np.int32)
    offsets = np.zeros(n + 1, np.int64)
    size = 0
    n_cut = 0
    for i in range(n):
        state = start
        length = 0
        while True:
            sigma = hidden
            while sigma == hidden:
                sigma = _draw(symbol, nodes, cumulative, own_stop, n_symbols, state, rng)
            if sigma == n_symbols:
                break
            if length == max_length:
                n_cut += 1
                break
            if size == tokens.size:
                grown = np.empty(2 * size, np.int32)
                grown[:size] = tokens
                tokens = grown
            tokens[size] = sigma
            size += 1
            length += 1
            state = _follow(symbol, nodes, first, first_leaf, state, sigma)
        offsets[i + 1] = size
    return tokens[:size].copy(), offsets, n_cut


@kernel
def _draw(
    symbol: Nodes,
    nodes: Contexts,
    cumulative: Reals,
    own_stop: Reals,
    n_symbols: int,
    state: int,
    rng: np.random.Generator,
) -> int:
    while True:
        r = rng.random()
        low, high = nodes[state]["child_start"], nodes[state + 1]["child_start"]
        seen = cumulative[high - 1] if high > low else 0.0
        if r < seen:
            while low < high:  # the first child whose cumulative mass passes r
                middle = (low + high) >> 1
                if cumulative[middle] > r:
                    high = middle
                else:
                    low = middle + 1
            return int(symbol[low])
        if r < seen + own_stop[state]:
            return n_symbols
        if state == 0:
            return int(rng.random() * (n_symbols + 1))
        state = nodes[state]["link"]


@kernel
def walk_tree(
    symbol: Nodes,
    nodes: Contexts,
    first: Nodes,
    stop: Reals,
    floor: float,
    first_leaf: int,
    start: int,
    tree_symbol: Nodes,
    tree_parent: Nodes,
    state: Nodes,
    chance: Reals,
    ending: Reals,
) -> None:
    """Write the context of every node of another tree, the chance of its symbol after its parent, and of the end after it."""
    state[0], chance[0], ending[0] = start, 1.0, stop[start]
    for node in range(1, tree_symbol.size):
        found, chance[node] = advance(
            symbol, nodes, first, floor, first_leaf, state[tree_parent[node]], tree_symbol[node]
        )
        state[node], ending[node] = found, stop[found]


@kernel
def draw_events(
    symbol: Nodes,
    nodes: Contexts,
    cumulative: Reals,
    own_stop: Reals,
    n_symbols: int,
    states: Nodes,
    rng: np.random.Generator,
) -> Nodes:
    """Draw one event after each context."""
    drawn = np.empty(states.size, np.int32)
    for i in range(states.size):
        drawn[i] = _draw(symbol, nodes, cumulative, own_stop, n_symbols, states[i], rng)
    return drawn


@kernel
def follow_all(symbol: Nodes, nodes: Contexts, first: Nodes, first_leaf: int, states: Nodes, sigmas: Nodes) -> Nodes:
    """Return the contexts after reading one symbol each."""
    found = np.empty(states.size, np.int32)
    for i in range(states.size):
        found[i] = _follow(symbol, nodes, first, first_leaf, states[i], sigmas[i])
    return found
