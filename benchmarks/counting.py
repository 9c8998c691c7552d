"""How fast are substring trees counted, beside the best that NumPy can do, and how much memory do they take?"""

from __future__ import annotations

import argparse

import numpy as np
from _timing import announce, best_of, made_up_corpus, peak_bytes

import momata as mo
from momata.threads import available_cores

DEPTH = 5


def ranked(corpus: mo.Corpus) -> list[np.ndarray]:
    """Rank k-grams with ``np.unique``, each order from the ranks of the one before: works for any alphabet and depth."""
    n, tokens, left = corpus.n_symbols, corpus.tokens.astype(np.int64), _left(corpus)
    places = np.arange(tokens.size)
    _, rank, counts = np.unique(tokens, return_inverse=True, return_counts=True)
    found = [counts]
    for k in range(2, DEPTH + 1):
        longer = left[places] >= k
        places = places[longer]
        _, rank, counts = np.unique(rank[longer] * n + tokens[places + k - 1], return_inverse=True, return_counts=True)
        found.append(counts)
    return found


def sorted_codes(corpus: mo.Corpus) -> list[np.ndarray]:
    """Count the codes of k-grams with ``np.unique``: possible as long as n_symbols ** k fits in 63 bits."""
    return [np.unique(codes, return_counts=True)[1] for codes in _codes(corpus)]


def binned_codes(corpus: mo.Corpus) -> list[np.ndarray]:
    """Count the codes of k-grams with ``np.bincount``: possible as long as there is memory for a cell for every code."""
    counts = [np.bincount(codes, minlength=corpus.n_symbols**k) for k, codes in enumerate(_codes(corpus), 1)]
    return [c[c > 0] for c in counts]


def _codes(corpus: mo.Corpus):
    tokens, left = corpus.tokens.astype(np.int64), _left(corpus)
    codes = tokens
    yield codes
    for k in range(2, DEPTH + 1):
        codes = codes[:-1] * corpus.n_symbols + tokens[k - 1 :]
        yield codes[left[: codes.size] >= k]


def _left(corpus: mo.Corpus) -> np.ndarray:
    return np.repeat(corpus.offsets[1:], corpus.lengths) - np.arange(corpus.n_tokens)


def check(tree: mo.CountedTree, counts: list[np.ndarray], name: str) -> None:
    for k, expected in enumerate(counts, 1):
        assert np.array_equal(tree.through[tree.level(k)], expected), f"{name} and the tree disagree at length {k}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=10_000_000)
    n_tokens = parser.parse_args().tokens
    announce(
        f"substring trees of depth {DEPTH} of {n_tokens:,} symbols; ratios above 1: the tree is faster; one thread each"
    )
    mo.count_substrings(made_up_corpus(12, 100_000, True), DEPTH)  # compile
    mo.count_substrings(made_up_corpus(5000, 100_000, True), DEPTH)
    for n_symbols, zipf in ((12, False), (12, True), (45, True), (5000, False), (5000, True)):
        corpus = made_up_corpus(n_symbols, n_tokens, zipf)
        with mo.limit_threads(1):
            one, tree = best_of(lambda c=corpus: mo.count_substrings(c, DEPTH))
            rivals = {"np.unique, ranks": ranked, "np.unique, codes": sorted_codes}
            if n_symbols**DEPTH <= 2**28:
                rivals["np.bincount, codes"] = binned_codes
            ratios = []
            for name, rival in rivals.items():
                seconds, counts = best_of(lambda c=corpus, f=rival: f(c), runs=1)
                check(tree, counts, name)
                ratios.append(f"{name} {seconds / one:.1f}")
            n_nodes = tree.n_nodes
            del tree, counts
            peak = peak_bytes(lambda c=corpus: mo.count_substrings(c, DEPTH))
        law = "all alike" if not zipf else "frequent as 1/rank"
        print(f"{n_symbols} symbols, {law}: {n_nodes:,} nodes; " + "; ".join(ratios))
        if peak is not None:
            allowed = 64 * n_nodes + 8 * n_tokens
            print(f"  peak memory beyond the corpus: {peak / allowed:.2f} of 64 bytes a node + 8 a symbol")
        if available_cores() > 1:
            with mo.limit_threads(2):
                two, _ = best_of(lambda c=corpus: mo.count_substrings(c, DEPTH))
            print(f"  two threads: {one / two:.2f} times one thread")


if __name__ == "__main__":
    main()
