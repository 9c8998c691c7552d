"""Walks over n-gram models: each kernel against the distributions that another one writes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata._kernels import ngrams
from momata.core.alphabet import START
from momata.learn.ngram import count_ngrams
from momata.predict.ngram_model import NGramModel

models = st.builds(
    lambda corpus, order, smoothing: NGramModel(count_ngrams(corpus, order), corpus.alphabet, order, smoothing),
    corpora(min_sequences=1, weights=True),
    st.integers(1, 4),
    st.sampled_from(["kn", "mkn", "none"]),
)


def contexts(model: NGramModel) -> dict[tuple, int]:
    return {model.counts.string(u): u for u in range(model.n_states)}


@given(models)
def test_advance_goes_to_the_longest_known_context_with_the_probability_of_the_distribution(model):
    known = contexts(model)
    for string, state in known.items():
        chances = model.state_distribution(state)
        for sigma, symbol in enumerate(model.alphabet):
            longer = (*string, symbol)
            expected = next(known[longer[i:]] for i in range(len(longer) + 1) if longer[i:] in known)
            target, chance = model.next_state(state, sigma)
            assert target == expected
            assert abs(chance - chances[sigma]) <= 1e-15 * chances[sigma] * len(longer)  # other order of factors


@given(models, st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=4))
def test_walks_agree_step_by_step(model, rows):
    n = len(model.alphabet)
    rows = [[s % n for s in row] for row in rows]
    tokens = np.array([s for row in rows for s in row], np.int32)
    offsets = np.cumsum([0, *map(len, rows)])
    states, chances = [], []
    for row in rows:
        state = model.start_state()
        for sigma in row:
            states.append(state)
            chances.append(model.state_distribution(state)[sigma])
            state, _ = model.next_state(state, sigma)
        states.append(state)
        chances.append(model.state_distribution(state)[n])
    logp, total = model.score_tokens(tokens, offsets, by_event=True)
    np.testing.assert_allclose(np.exp(logp), chances, rtol=1e-13)
    empty, total_alone = model.score_tokens(tokens, offsets, by_event=False)
    assert empty.size == 0
    assert np.array_equal(total, total_alone)
    assert model._states_before(tokens, offsets).tolist() == states
    ends = offsets[1:] + np.arange(len(rows))
    assert model.predict_tokens(tokens, offsets).tolist() == [
        int(np.argmax(model.state_distribution(s))) for s in states
    ]
    assert len(model.states_after(tokens, offsets)) == len(rows)
    after = [model.next_state(states[e - 1], rows[i][-1])[0] if rows[i] else states[e] for i, e in enumerate(ends)]
    assert list(model.states_after(tokens, offsets)) == after


@given(models)
def test_own_mass_and_share_make_one(model):
    """What a context gives itself, and what it leaves to the next shorter one, sum to 1; children are in rising order."""
    w, tree = model._weights, model.counts
    for string, u in contexts(model).items():
        own = [model._cumulative[v] for v in tree.children(u)]
        assert own == sorted(own)
        seen = own[-1] if own else 0.0
        if string == (START,) and model.order == 1:
            continue
        assert abs(seen + w.own_stop[u] + w.nodes["back"][u] - 1) <= 1e-12


@given(models, st.integers(0, 3))
def test_sampled_tokens_stay_in_the_alphabet_and_within_the_limit(model, limit):
    w, tree = model._weights, model.counts
    n = len(model.alphabet)
    tokens, offsets, n_cut = ngrams.sample_sequences(
        tree.symbol, w.nodes, w.first, model._cumulative, w.own_stop, model._first_leaf, w.start,
        n, -1, 30, limit, np.random.default_rng(0),
    )  # fmt: skip
    lengths = np.diff(offsets)
    assert offsets[0] == 0
    assert offsets[-1] == tokens.size
    assert lengths.max() <= limit
    assert 0 <= n_cut <= np.count_nonzero(lengths == limit)
    assert np.all((tokens >= 0) & (tokens < n))
    for row in np.split(tokens, offsets[1:-1]):  # possible all along
        assert np.all(np.isfinite(model.score_tokens(row, np.array([0, row.size]), by_event=True)[0][:-1]))
