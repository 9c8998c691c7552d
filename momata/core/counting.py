"""Counting strings: the one place where that is done.

The substring tree is built in the cheapest of three ways, which give the same tree: by a table with a cell for every
possible string, by sorting windows packed in one machine word each, or by sorting references to windows. The prefix tree
is always built in the last way, its windows being whole sequences. Threads share the work; the result does not depend on
their number (with real weights, but for rounding).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata._kernels import dense, packed, windows
from momata.core.corpus import Corpus
from momata.core.tree import CountedTree, Kind
from momata.errors import OptionError
from momata.threads import map_threads, n_threads

__all__ = ["count_prefixes", "count_substrings"]

_MAX_NODES = 2**31 - 2
_MAX_LEADING = 4096  # buckets of the first, coarse step of sorting references to windows
_MAX_BUCKETS = 65536  # buckets of packed windows
_WORTH_THREADS = 65536  # tokens below which one thread is faster than two


def count_prefixes(corpus: Corpus, depth: int | None = None) -> CountedTree:
    """Count how many sequences start with each string (``through``) and equal it (``end``).

    Parameters
    ----------
    corpus : Corpus
    depth : int, optional
        Strings up to this length; by default all. Where a sequence is longer its end is not counted.

    Examples
    --------
    >>> tree = count_prefixes(Corpus.from_sequences(["ab", "a", "b", "ab"]))
    >>> node = tree.find("a")
    >>> int(tree.through[node]), int(tree.end[node])
    (3, 1)
    """
    lengths = corpus.lengths
    longest = int(lengths.max(initial=0))
    depth = longest if depth is None else _checked_depth(depth)
    own_depth = min(depth, longest)
    chosen = np.flatnonzero(lengths)
    weights = _no_weights if corpus.weights is None else corpus.weights[chosen]
    reach = np.minimum(lengths[chosen], own_depth + 1).astype(np.int32)
    node = np.zeros(chosen.size, np.int32)
    tree = _sorted_tree("prefix", corpus, depth, own_depth, corpus.offsets[:-1][chosen], reach, weights, node)
    sequence_node = np.zeros(len(corpus), np.int32)
    sequence_node[chosen] = node
    empty = lengths == 0
    n_empty = np.count_nonzero(empty) if corpus.weights is None else corpus.weights[empty].sum()
    tree.through[0] += n_empty
    tree.end[0] += n_empty
    return replace(tree, sequence_node=sequence_node)


def count_substrings(corpus: Corpus, depth: int) -> CountedTree:
    """Count the occurrences of all strings up to a depth, anywhere (``through``) and at ends of sequences (``end``).

    Examples
    --------
    >>> tree = count_substrings(Corpus.from_sequences(["abab", "b"]), depth=2)
    >>> [int(tree.through[tree.find(w)]) for w in ("", "a", "b", "ab", "ba")]
    [7, 2, 3, 2, 1]
    """
    depth = _checked_depth(depth)
    own_depth = min(depth, int(corpus.lengths.max(initial=0)))
    if own_depth and _n_cells(corpus.n_symbols, own_depth, corpus.n_tokens // 4 + _MAX_LEADING):
        return _dense_tree(corpus, depth, own_depth)
    if own_depth and (packing := _packing(corpus, own_depth)):
        tree = _packed_tree(corpus, depth, *packing)
        tree.through[0] = corpus.n_tokens
    else:
        reach = np.empty(corpus.n_tokens, np.uint8 if own_depth < 255 else np.int32)
        windows.reach_of_positions(corpus.offsets, own_depth + 1, reach)
        weights = _no_weights if corpus.weights is None else np.repeat(corpus.weights, corpus.lengths)
        no_starts, no_nodes = np.empty(0, np.int64), np.empty(0, np.int32)
        tree = _sorted_tree("substring", corpus, depth, own_depth, no_starts, reach, weights, no_nodes)
    tree.through[0] += _total(corpus)
    tree.end[0] += _total(corpus)
    return tree


_no_weights = np.empty(0, np.int64)


def _checked_depth(depth: int) -> int:
    if depth < 0:
        raise OptionError(f"depth={depth} is no length of a string. Give a number from 0.")
    return int(depth)


def _total(corpus: Corpus) -> Any:
    return len(corpus) if corpus.weights is None else corpus.weights.sum()


def _n_cells(n_symbols: int, depth: int, limit: int) -> int:
    """Return how many strings up to ``depth`` there are, or 0 if more than ``limit``."""
    total = power = 1
    for _ in range(depth):
        power *= n_symbols
        total += power
        if total > limit:
            return 0
    return total


# ------------------------------------------------------------------ by a table of all strings


def _dense_tree(corpus: Corpus, depth: int, own_depth: int) -> CountedTree:
    n_symbols = max(corpus.n_symbols, 1)
    level_start = np.concatenate([[0], np.cumsum([n_symbols**k for k in range(own_depth + 1)])]).astype(np.int64)
    dtype = np.int64 if corpus.weights is None else corpus.weights.dtype
    pieces = _pieces(corpus, min(n_threads(), corpus.n_tokens // _WORTH_THREADS + 1))

    def count(low: int, high: int) -> tuple[NDArray[Any], NDArray[Any]]:
        full = np.zeros(level_start[-1] - level_start[-2], dtype)
        ends = np.zeros(level_start[-1], dtype)
        weights = _no_weights if corpus.weights is None else corpus.weights[low:high]
        dense.dense_windows(corpus.tokens, corpus.offsets[low : high + 1], weights, n_symbols, level_start, full, ends)
        return full, ends

    counted = map_threads(count, pieces)
    full, ends = (sum(part[1:], start=part[0]) for part in zip(*counted, strict=True))
    through = dense.sum_upwards(level_start, n_symbols, full, ends)
    n_nodes = int(np.count_nonzero(through[1:])) + 1
    cell_of, child_start = np.empty(n_nodes, np.int64), np.empty(n_nodes + 1, np.int32)
    symbol, parent = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
    levels = np.full(depth + 2, n_nodes, np.int64)
    dense.nodes_of_cells(level_start, n_symbols, through, cell_of, symbol, parent, child_start, levels[: own_depth + 2])
    return CountedTree(
        "substring", depth, corpus.alphabet, symbol, parent, child_start, through[cell_of], ends[cell_of], levels
    )


def _pieces(corpus: Corpus, n_pieces: int) -> list[tuple[int, int]]:
    """Cut the sequences into runs of about equally many tokens."""
    cuts = np.searchsorted(corpus.offsets, np.linspace(0, corpus.n_tokens, n_pieces + 1)[1:-1])
    bounds = [0, *map(int, cuts), len(corpus)]
    return list(pairwise(bounds))


# ------------------------------------------------------------------ by sorting


def _packing(corpus: Corpus, depth: int) -> tuple[int, int] | None:
    """Return (symbols in the bucket, symbols in the word) if windows of a depth can be packed, else None."""
    bits = corpus.n_symbols.bit_length()
    n_lead = depth - min(depth - 1, 63 // bits) if bits else 0
    if corpus.weights is not None or depth < 2 or not n_lead or bits > 31:
        return None
    base = corpus.n_symbols + 1
    return (n_lead, depth - n_lead) if n_lead == 1 or base**n_lead <= _MAX_BUCKETS else None


def _packed_tree(corpus: Corpus, depth: int, n_lead: int, n_fields: int) -> CountedTree:
    """Build the substring tree by sorting one word a window (see `momata._kernels.packed`)."""
    base, bits, own_depth = corpus.n_symbols + 1, corpus.n_symbols.bit_length(), n_lead + n_fields
    pieces = _pieces(corpus, n_threads() if corpus.n_tokens > _WORTH_THREADS else 1)
    sizes = np.zeros((len(pieces), base**n_lead), np.int64)
    parts = [(corpus.offsets[low : high + 1], sizes[t]) for t, (low, high) in enumerate(pieces)]
    map_threads(lambda offsets, own: packed.bucket_sizes(corpus.tokens, offsets, base, n_lead, own), parts)
    bucket_start = np.concatenate([[0], np.cumsum(sizes.sum(axis=0))])
    cursors = bucket_start[:-1] + np.cumsum(sizes, axis=0) - sizes
    words = np.empty(corpus.n_tokens, np.uint64)

    def pack(offsets: NDArray[np.int64], cursor: NDArray[np.int64]) -> None:
        packed.pack_windows(corpus.tokens, offsets, base, n_lead, n_fields, bits, cursor, words)

    map_threads(pack, [(offsets, cursors[t]) for t, (offsets, _) in enumerate(parts)])
    shape = (base, n_lead, n_fields, bits)

    def count(low: int, high: int) -> NDArray[np.int64]:
        bounds = bucket_start[low : high + 1].tolist()
        for start, stop in pairwise(bounds):
            if stop - start > 1:
                words[start:stop].sort()
        return packed.count_packed_nodes(words, bucket_start, low, high, *shape)

    def fill(low: int, high: int, first: NDArray[np.int64], out: CountedTree) -> None:
        packed.fill_packed_nodes(
            words, bucket_start, low, high, *shape, first, out.symbol, out.parent, out.child_start, out.through, out.end
        )

    ranges = _first_symbol_ranges(bucket_start, base ** (n_lead - 1))
    return _assembled("substring", corpus, depth, own_depth, ranges, count, fill)


def _sorted_tree(
    kind: Kind, corpus: Corpus, depth: int, own_depth: int, starts: NDArray[np.int64], reach: NDArray[Any],
    weights: NDArray[Any], window_node: NDArray[np.int32],
) -> CountedTree:  # fmt: skip
    """Build the tree of any windows by sorting references to them (see `momata._kernels.windows`)."""
    base, n_lead = corpus.n_symbols + 1, min(1, own_depth)
    while n_lead < own_depth and base ** (n_lead + 1) <= _MAX_LEADING:
        n_lead += 1
    sizes = np.zeros(base**n_lead, np.int64)
    if own_depth:
        windows.leading_codes(corpus.tokens, starts, reach, base, n_lead, sizes)
    bucket_start = np.concatenate([[0], np.cumsum(sizes)])
    order = np.empty(reach.size, np.int32 if reach.size < 2**31 else np.int64)
    shared = np.empty(reach.size, reach.dtype)

    def count(low: int, high: int) -> NDArray[np.int64]:
        windows.sort_windows(
            corpus.tokens, starts, reach, own_depth, base, n_lead, bucket_start, low, high, order, shared
        )
        return windows.count_nodes(reach, own_depth, order, shared, bucket_start[low], bucket_start[high])

    def fill(low: int, high: int, first: NDArray[np.int64], out: CountedTree) -> None:
        windows.fill_nodes(
            corpus.tokens, starts, reach, weights, own_depth, order, shared, bucket_start[low], bucket_start[high],
            first, out.symbol, out.parent, out.child_start, out.through, out.end, window_node,
        )  # fmt: skip

    ranges = _first_symbol_ranges(bucket_start, base ** max(n_lead - 1, 0))
    tree = _assembled(kind, corpus, depth, own_depth, ranges, count, fill)
    tree.through[0] = weights.sum() if weights.size else reach.size
    return tree


def _first_symbol_ranges(bucket_start: NDArray[np.int64], per_symbol: int) -> list[tuple[int, int]]:
    """Share the buckets among threads: about equally many windows each, cut where the first symbol changes."""
    n_windows = bucket_start[-1]
    starts = bucket_start[::per_symbol]
    n_ranges = n_threads() if n_windows > _WORTH_THREADS else 1
    cuts = np.searchsorted(starts, np.linspace(0, n_windows, n_ranges + 1)[1:-1])
    bounds = sorted({0, *(int(c) * per_symbol for c in cuts), bucket_start.size - 1})
    return list(pairwise(bounds))


def _assembled(
    kind: Kind, corpus: Corpus, depth: int, own_depth: int, ranges: list[tuple[int, int]],
    count: Callable[[int, int], NDArray[np.int64]],
    fill: Callable[[int, int, NDArray[np.int64], CountedTree], None],
) -> CountedTree:  # fmt: skip
    """Let each range count its nodes level by level, lay the levels out, and let each range write its own."""
    n_below = np.array(map_threads(count, ranges)).reshape(len(ranges), own_depth + 1)
    level_sizes = n_below.sum(axis=0)
    level_sizes[0] = 1
    offsets = np.concatenate([[0], np.cumsum(level_sizes)]).astype(np.int64)
    n_nodes = int(offsets[-1])
    if n_nodes > _MAX_NODES:
        raise OptionError(
            f"the {kind} tree of depth {own_depth} of this corpus has {n_nodes} nodes, more than a tree can hold "
            f"({_MAX_NODES}). Use a smaller depth, or count parts of the corpus."
        )
    dtype = np.int64 if corpus.weights is None else corpus.weights.dtype
    out = CountedTree(
        kind, depth, corpus.alphabet,
        symbol=np.empty(n_nodes, np.int32), parent=np.empty(n_nodes, np.int32),
        child_start=np.empty(n_nodes + 1, np.int32), through=np.zeros(n_nodes, dtype), end=np.zeros(n_nodes, dtype),
        level_offsets=np.append(offsets, np.full(depth - own_depth, n_nodes, np.int64)),
    )  # fmt: skip
    out.symbol[0] = out.parent[0] = -1
    out.child_start[0], out.child_start[n_nodes] = 1, n_nodes
    first = np.hstack([offsets[:-1] + np.cumsum(n_below, axis=0) - n_below, np.full((len(ranges), 1), n_nodes)])
    map_threads(fill, [(*bounds, first[t], out) for t, bounds in enumerate(ranges)])
    return out
