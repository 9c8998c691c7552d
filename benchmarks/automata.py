"""How fast does a hidden Markov model score and sample, beside hmmlearn and beside the matrix products alone?"""

from __future__ import annotations

import sys

import numpy as np
from _timing import announce, best_of

import momata as mo
from momata.core.counting import count_prefixes
from momata.core.probabilistic import HMM, random_hmm

N_STATES, N_SYMBOLS, N_TOKENS = 20, 12, 1_000_000


def without_stopping(seed: int) -> HMM:
    """Return a random HMM that never stops, since hmmlearn has no stopping."""
    drawn = random_hmm(N_STATES, N_SYMBOLS, seed)
    emissions = drawn.emissions / drawn.emissions.sum(axis=1, keepdims=True)
    return HMM(drawn.initial, drawn.transitions, emissions, np.zeros(N_STATES), drawn.alphabet)


def rival(hmm: HMM, implementation: str):
    from hmmlearn.hmm import CategoricalHMM

    found = CategoricalHMM(n_components=N_STATES, implementation=implementation)
    found.startprob_, found.transmat_, found.emissionprob_ = hmm.initial, hmm.transitions, hmm.emissions
    found.n_features = N_SYMBOLS
    return found


def main() -> None:
    try:
        import hmmlearn  # noqa: F401
    except ImportError:
        sys.exit("this benchmark needs hmmlearn: pip install hmmlearn")
    announce(f"an HMM of {N_STATES} states over {N_SYMBOLS} symbols and {N_TOKENS:,} symbols drawn from it; one thread")
    stopping = random_hmm(N_STATES, N_SYMBOLS, seed=1, mean_length=20)
    source = mo.LanguageModel(stopping.to_pfa())
    corpus = source.sample(N_TOKENS // 20, seed=0)
    corpus = corpus[corpus.lengths > 0]
    tree = count_prefixes(corpus)
    print(f"  {len(corpus):,} sequences, {tree.n_nodes / corpus.n_tokens:.2f} nodes of the prefix tree a symbol")
    hmm = without_stopping(seed=1)
    pfa = hmm.to_pfa()
    X, lengths = corpus.tokens[:, None], corpus.lengths
    with mo.limit_threads(1):
        # Chances of the symbols alone: the ends, of probability 0 here, are left out of the sums.
        def score() -> np.ndarray:
            model = mo.LanguageModel(pfa)
            found = count_prefixes(corpus)
            symbol, _ = model.node_scores(found).log_probs(0.0, 0.0)
            from momata._kernels.automata import sum_down

            return sum_down(found.parent, symbol)[found.sequence_node]

        score()
        ours, logp = best_of(score)
        for implementation in ("log", "scaling"):
            other = rival(hmm, implementation)
            theirs, total = best_of(lambda m=other: m.score(X, lengths), runs=1)
            assert np.isclose(total, logp.sum(), rtol=1e-9), "hmmlearn and momata disagree"
            print(f"score, hmmlearn's {implementation!r} recursion: {theirs / ours:.1f}")
        few = corpus[:2000]
        other = rival(hmm, "log")
        theirs, each = best_of(lambda: [other.score(np.array(s)[:, None]) for s in few], runs=1)
        assert np.allclose(each, logp[:2000], rtol=1e-9), "hmmlearn and momata disagree"
        print(f"score, one call a sequence: {theirs / few.n_tokens * corpus.n_tokens / ours:.1f}")
        n = 20_000
        theirs, _ = best_of(lambda: other.sample(n, random_state=0), runs=1)
        ours_sample, drawn = best_of(lambda: source.sample(N_TOKENS // 20, seed=1))
        print(f"sample, a symbol: {(theirs / n) / (ours_sample / drawn.n_tokens):.1f}")
        rows = np.random.default_rng(0).random((tree.n_nodes // N_SYMBOLS, N_STATES))
        products, _ = best_of(lambda: [rows @ operator for operator in pfa.operators])
        print(
            f"score, as a multiple of the matrix products alone (a product a symbol, a row a node): {ours / products:.1f}"
        )


if __name__ == "__main__":
    main()
