"""How fast does an n-gram model score, beside one plain pass over the tokens?"""

from __future__ import annotations

import numpy as np
from _timing import announce, best_of, made_up_corpus

import momata as mo

N_TOKENS = 1_000_000


def main() -> None:
    announce(f"scoring {N_TOKENS:,} symbols with a Kneser-Ney model of order 5, one thread")
    for n_symbols in (12, 45, 5000):
        model = mo.learn_ngram(made_up_corpus(n_symbols, N_TOKENS, zipf=True), order=5).model
        corpus = made_up_corpus(n_symbols, N_TOKENS, zipf=True, seed=1)
        few = corpus[:50]
        by_event = np.array([events.sum() for events in model.event_log_probs(few)])
        by_step = [sum(np.log(model.next_symbol(s[:t])[x]) for t, x in enumerate((*s, mo.STOP))) for s in few]
        assert np.allclose(by_event, by_step) and np.allclose(by_event, model.log_prob(few)), (
            "three ways to score disagree"
        )
        with mo.limit_threads(1):
            seconds, _ = best_of(lambda m=model, c=corpus: m.log_prob(c))
            plain, _ = best_of(lambda c=corpus: np.bincount(c.tokens))
        print(
            f"{n_symbols} symbols, {model.n_states:,} contexts: {N_TOKENS / seconds / 1e6:.1f} million symbols a second; "
            f"{seconds / plain:.0f} times one pass of np.bincount"
        )


if __name__ == "__main__":
    main()
