"""n-gram models against Kneser-Ney on dictionaries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from brute import STOP, KneserNey, all_strings
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata.core.alphabet import START, UNKNOWN, Alphabet
from momata.core.corpus import Corpus
from momata.core.counting import count_substrings
from momata.core.tree import CountedTree
from momata.errors import ModelFileError, OptionError
from momata.learn.ngram import count_ngrams, learn_ngram
from momata.predict.ngram_model import NGramModel

orders = st.integers(1, 5)
smoothings = st.sampled_from(["kn", "mkn", "none"])
smooth = st.sampled_from(["kn", "mkn"])


def fit(corpus, order: int, smoothing: str = "kn") -> NGramModel:
    return NGramModel(count_ngrams(corpus, order), corpus.alphabet, order, smoothing)


def twin(corpus, order: int, smoothing: str = "kn") -> KneserNey:
    return KneserNey(corpus, corpus.alphabet, order, smoothing, corpus.weights)


def prefixes_for(corpus) -> list[tuple]:
    """All short prefixes over all declared symbols, and what the corpus itself goes through."""
    own = [row[:k] for row in corpus for k in range(len(row) + 1)]
    return sorted({*all_strings(corpus.alphabet, 2), *own[:40]})


# ------------------------------------------------------------------ the definition


@pytest.mark.parametrize("smoothing", ["kn", "mkn", "none"])
@given(corpus=corpora(min_sequences=1, weights=True), order=orders)
def test_next_symbols_equal_the_definition(smoothing, corpus, order):
    model, slow = fit(corpus, order, smoothing), twin(corpus, order, smoothing)
    asked = prefixes_for(corpus)
    expected = np.array([slow.next_symbol(p) for p in asked])
    np.testing.assert_allclose(model.next_symbols(asked), expected, rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(model.discounts, [slow.discounts[k] for k in range(1, order + 1)], rtol=1e-13)


@pytest.mark.parametrize("smoothing", ["kn", "mkn", "none"])
@given(corpus=corpora(min_sequences=1, weights=True), order=orders)
def test_log_probs_equal_the_definition(smoothing, corpus, order):
    model, slow = fit(corpus, order, smoothing), twin(corpus, order, smoothing)
    strings = [*corpus, *all_strings(corpus.alphabet, 2)]
    expected = np.array([slow.string_prob(s) for s in strings])
    np.testing.assert_allclose(np.exp(model.log_prob(strings)), expected, rtol=1e-10, atol=0)


def test_kneser_ney_by_hand():
    """Sequences ab, b; order 2, so bigrams <s>a ab b$ (twice) <s>b: n1 = 3, n2 = 1, D = 3/5."""
    corpus = Corpus.from_sequences(["ab", "b"], Alphabet("ab", closed=True))
    model = fit(corpus, 2)
    # unigrams by kinds of predecessors: a after <s>; b after a, <s>; $ after b; so n1 = 2, n2 = 1, D = 1/2
    assert model.discounts == [(0.5,) * 3, (0.6,) * 3]
    left = 3 * 0.5 / 4
    a, b, end = (1 - 0.5) / 4 + left / 3, (2 - 0.5) / 4 + left / 3, (1 - 0.5) / 4 + left / 3
    after_b = [0.3 * a, 0.3 * b, (2 - 0.6) / 2 + 0.3 * end]
    at_start = [(1 - 0.6) / 2 + 0.6 * a, (1 - 0.6) / 2 + 0.6 * b, 0.6 * end]
    np.testing.assert_allclose(np.asarray(model.next_symbol("b")), after_b, rtol=1e-14)
    np.testing.assert_allclose(np.asarray(model.next_symbol("")), at_start, rtol=1e-14)


def test_discounts_by_hand_and_their_fallbacks():
    def of(order: int, smoothing: str, rows) -> tuple[float, ...]:
        return fit(Corpus.from_sequences(rows), order, smoothing).discounts[order - 1]

    # unigram counts (the end included): a 1, b 1, c 2, d 3, e 4, $ 5 and y = 2/4
    rows = ["ab", "cc", "ddd", "eeee", ""]
    assert of(1, "kn", rows) == (0.5, 0.5, 0.5)
    assert of(1, "mkn", rows) == (1 - 2 * 0.5 / 2, 2 - 3 * 0.5, 3 - 4 * 0.5)
    assert of(1, "kn", ["aa", "bb"]) == (0.5, 0.5, 0.5)  # no count of 1
    assert of(1, "kn", ["ab"]) == (0.5, 0.5, 0.5)  # no count of 2
    assert of(1, "mkn", ["ab", "cc", "ddd"]) == (0.5, 1.0, 1.5)  # no count of 4
    # counts 1, 2, 2, 2, 2, 2, 3, 4, and y = 1/11: the first discount would be 1/11; n3/n2 is small, n4/n3 = 1: all fit
    many = ["a", "bb", "cc", "dd", "ee", "ff", "ggg", "hhhh"]
    n = {1: 1, 2: 5, 3: 1, 4: 1}
    y = 1 / 11
    assert of(1, "mkn", many) == pytest.approx((1 - 2 * y * n[2] / n[1], 2 - 3 * y / 5, 3 - 4 * y), rel=1e-13)
    # a third discount below 0: one count of 3 and six of 4
    steep = ["a", "b", "cc", "ddd", *(4 * s for s in "efghij")]
    y = 2 / 4
    assert 3 - 4 * y * 6 / 1 < 0
    assert of(1, "mkn", steep) == (0.5, 1.0, 1.5)
    assert of(1, "none", rows) == (0.0, 0.0, 0.0)


# ------------------------------------------------------------------ a proper distribution


@given(corpora(min_sequences=1, weights=True), orders, smoothings)
def test_next_symbols_sum_to_one_and_agree_with_stream_and_events(corpus, order, smoothing):
    model = fit(corpus, order, smoothing)
    asked = prefixes_for(corpus)
    rows = model.next_symbols(asked)
    assert np.all(np.abs(rows.sum(axis=1) - 1) <= 1e-12)
    assert np.all(rows >= 0)
    for row, prefix in zip(rows, asked, strict=True):
        assert np.array_equal(np.asarray(model.next_symbol(prefix)), row)
        assert abs(model.next_symbol(prefix).sum() - 1) <= 1e-12
    for string, logp in zip(asked, model.event_log_probs(asked), strict=True):
        stream = model.stream()
        total = 0.0
        for symbol, one in zip(string, logp[:-1], strict=True):
            before = stream.distribution()[symbol]
            assert stream.push(symbol) == pytest.approx(before, rel=1e-13, abs=0)
            assert math.exp(one) == pytest.approx(before, rel=1e-13, abs=0)
            total += one
        assert stream.log_prob == pytest.approx(total, rel=1e-12)
        assert math.exp(logp[-1]) == pytest.approx(stream.distribution()[STOP], rel=1e-13, abs=0)


@given(corpora(min_sequences=1), orders, smoothings)
def test_chain_rule(corpus, order, smoothing):
    model = fit(corpus, order, smoothing)
    strings = [*corpus, *all_strings(corpus.alphabet, 2)]
    events = model.event_log_probs(strings)
    assert [e.size for e in events] == [len(s) + 1 for s in strings]
    np.testing.assert_allclose([e.sum() for e in events], model.log_prob(strings), rtol=1e-12)


@given(corpora(min_sequences=1, weights=True, max_symbols=2), st.integers(1, 4), smoothings)
def test_total_probability_of_all_strings(corpus, order, smoothing):
    """What strings up to a length lack to 1 is the probability of still going on, which `to_wfa` gives independently."""
    two = Corpus(corpus.tokens, corpus.offsets, Alphabet("ab", closed=True), corpus.weights)
    model = fit(two, order, smoothing)
    wfa = model.to_wfa()
    longest = 6
    mass = np.exp(model.log_prob(list(all_strings("ab", longest)))).sum()
    steps = wfa.operators.sum(axis=0)
    running = float((wfa.initial @ np.linalg.matrix_power(steps, longest + 1)).sum())
    assert mass <= 1 + 1e-12
    assert mass + running == pytest.approx(1, abs=1e-12)
    if smoothing != "none":  # every context stops with some probability
        assert np.max(np.abs(np.linalg.eigvals(steps))) < 1


@given(corpora(min_sequences=1, weights=True), orders, smooth)
def test_nothing_has_probability_zero(corpus, order, smoothing):
    model = fit(corpus, order, smoothing)
    assert model.next_symbols(prefixes_for(corpus)).min() > 0
    assert np.isfinite(model.log_prob(list(all_strings(corpus.alphabet, 2)))).all()


@pytest.mark.parametrize("smoothing", ["kn", "mkn"])
@pytest.mark.parametrize("order", [1, 2, 5])
@pytest.mark.parametrize(
    ("rows", "alphabet"),
    [
        ([[]], Alphabet("")),
        ([[]], Alphabet("", closed=True)),
        ([[]], Alphabet("ab", closed=True)),
        (["a"], Alphabet("a", closed=True)),
        (["a" * 50], Alphabet("a", closed=True)),
        (["aa"] * 5, Alphabet("ab")),
    ],
)
def test_corpora_with_next_to_nothing_in_them(rows, alphabet, order, smoothing):
    corpus = Corpus.from_sequences(rows, alphabet)
    model = learn_ngram(corpus, order=order, smoothing=smoothing).model
    prefixes = list(all_strings(model.alphabet, 2))
    found = model.next_symbols(prefixes)
    assert found.min() > 0
    assert np.all(np.abs(found.sum(axis=1) - 1) <= 1e-12)
    slow = KneserNey(rows, model.alphabet, order, smoothing)
    np.testing.assert_allclose(found, [slow.next_symbol(p) for p in prefixes], rtol=1e-10)


def test_model_of_nothing_is_uniform():
    """No corpus gives it, but a model of no sequences can be asked for."""
    nothing = Corpus.from_sequences([], Alphabet("ab", closed=True))
    for smoothing in ("kn", "mkn"):
        for order in (1, 3):
            np.testing.assert_allclose(fit(nothing, order, smoothing).next_symbols(["", "ab"]), 1 / 3, rtol=1e-14)


def test_the_probability_of_everything_goes_to_one():
    corpus = Corpus.from_sequences(["ab", "a", "", "abb"], Alphabet("ab", closed=True))
    wfa = fit(corpus, 3).to_wfa()
    steps = wfa.operators.sum(axis=0)
    running = [float((wfa.initial @ np.linalg.matrix_power(steps, n)).sum()) for n in (1, 10, 100, 1000)]
    assert running == sorted(running, reverse=True)
    assert running[-1] < 1e-12


# ------------------------------------------------------------------ weights, unknown symbols, the mark


@given(corpora(min_sequences=1, weights=True), orders, smoothings)
def test_weights_are_repetitions(corpus, order, smoothing):
    times = np.ones(len(corpus), np.int64) if corpus.weights is None else corpus.weights
    repeated = corpus.select(np.repeat(np.arange(len(corpus)), times))
    repeated = Corpus(repeated.tokens, repeated.offsets, corpus.alphabet)
    asked = prefixes_for(corpus)
    one, other = fit(corpus, order, smoothing), fit(repeated, order, smoothing)
    assert np.array_equal(one.next_symbols(asked), other.next_symbols(asked))


@given(corpora(min_sequences=1, closed=False), st.integers(1, 3), smooth)
def test_unknown_symbols_have_a_share(corpus, order, smoothing):
    model = learn_ngram(corpus, order=order, smoothing=smoothing).model
    assert model.alphabet.symbols == (*corpus.alphabet.symbols, UNKNOWN)
    slow = KneserNey(corpus, model.alphabet, order, smoothing)
    assert model.next_symbol("")[UNKNOWN] == pytest.approx(slow.prob(UNKNOWN, ()), rel=1e-10)
    assert model.log_prob([["never seen", "nor this"]])[0] == model.log_prob([[UNKNOWN, UNKNOWN]])[0]
    expected = [slow.prob(UNKNOWN, ()), slow.prob(UNKNOWN, (UNKNOWN,)), slow.prob(STOP, (UNKNOWN,) * 2)]
    assert np.exp(model.event_log_probs([["x", "y"]])[0]) == pytest.approx(expected, rel=1e-10)


def test_closed_alphabets_have_no_share():
    rows = ["ab", "b"]
    assert UNKNOWN not in learn_ngram(Corpus.from_sequences(rows, Alphabet("ab", closed=True)), order=2).model.alphabet
    assert UNKNOWN not in learn_ngram(rows, order=2, smoothing="none").model.alphabet
    assert UNKNOWN in learn_ngram(rows, order=2).model.alphabet


def test_a_corpus_may_have_the_unknown_symbol_itself():
    corpus = Corpus.from_sequences([["a", UNKNOWN], ["b"]])
    model = learn_ngram(corpus, order=2).model
    slow = KneserNey(corpus, model.alphabet, 2)
    assert sorted(model.alphabet) == [UNKNOWN, "a", "b"]
    np.testing.assert_allclose(np.asarray(model.next_symbol(["a"])), slow.next_symbol(("a",)), rtol=1e-10)


def test_the_mark_of_the_start_is_never_an_event():
    model = fit(Corpus.from_sequences(["ab", "a"], Alphabet("ab", closed=True)), 3)
    assert START not in model.next_symbol("")
    assert list(model.next_symbol("")) == ["a", "b", STOP]


# ------------------------------------------------------------------ as an automaton


@given(corpora(min_sequences=1, weights=True, max_symbols=2), orders, smoothings)
def test_automaton_equals_the_model_on_all_strings(corpus, order, smoothing):
    two = Corpus(corpus.tokens, corpus.offsets, Alphabet("ab", closed=True), corpus.weights)
    model = fit(two, order, smoothing)
    strings = list(all_strings("ab", 5))
    np.testing.assert_allclose(model.to_wfa().weights(strings), np.exp(model.log_prob(strings)), rtol=1e-12, atol=0)


@given(corpora(min_sequences=1), orders, smoothings)
def test_automaton_is_deterministic_stochastic_and_trimmed(corpus, order, smoothing):
    wfa = fit(corpus, order, smoothing).to_wfa()
    assert wfa.initial.tolist() == [1.0, *[0.0] * (wfa.n_states - 1)]
    assert np.count_nonzero(wfa.operators, axis=2).max(initial=0) <= 1
    np.testing.assert_allclose(wfa.operators.sum(axis=(0, 2)) + wfa.final, 1, rtol=0, atol=1e-12)
    reached = np.linalg.matrix_power(np.eye(wfa.n_states) + (wfa.operators.sum(axis=0) > 0), wfa.n_states)[0]
    assert np.all(reached > 0)


@given(corpora(min_sequences=1, weights=True))
def test_unigram_is_one_state_of_relative_frequencies(corpus):
    wfa = fit(corpus, 1, "none").to_wfa()
    times = [1] * len(corpus) if corpus.weights is None else corpus.weights.tolist()
    n_events = sum(t * (len(row) + 1) for t, row in zip(times, corpus, strict=True))
    assert wfa.n_states == 1
    assert wfa.initial.tolist() == [1.0]
    assert wfa.final[0] == pytest.approx(sum(times) / n_events, rel=1e-14)
    for i, symbol in enumerate(corpus.alphabet):
        count = sum(t * row.count(symbol) for t, row in zip(times, corpus, strict=True))
        assert wfa.operators[i, 0, 0] == pytest.approx(count / n_events, rel=1e-14)


@given(corpora(min_sequences=1, weights=True))
def test_bigram_has_a_start_state_and_one_for_each_symbol_seen(corpus):
    wfa = fit(corpus, 2, "none").to_wfa()
    seen = [s for s in corpus.alphabet if any(s in row for row in corpus)]
    assert wfa.n_states == len(seen) + 1
    times = [1] * len(corpus) if corpus.weights is None else corpus.weights.tolist()
    after = dict.fromkeys([None, *seen])
    for context in after:
        events: dict = {}
        for t, row in zip(times, corpus, strict=True):
            for before, event in zip((None, *row), (*row, STOP), strict=True):
                if before == context:
                    events[event] = events.get(event, 0) + t
        after[context] = {e: c / sum(events.values()) for e, c in events.items()}
    state_of: dict = {None: 0}
    for sigma, symbol in enumerate(corpus.alphabet):  # all arcs with one symbol lead to one state: that symbol's
        targets = set(np.nonzero(wfa.operators[sigma])[1].tolist())
        assert len(targets) == (symbol in seen)
        if targets:
            state_of[symbol] = targets.pop()
    assert sorted(state_of.values()) == list(range(wfa.n_states))
    for context, state in state_of.items():
        assert wfa.final[state] == pytest.approx(after[context].get(STOP, 0), rel=1e-14, abs=0)
        for sigma, symbol in enumerate(corpus.alphabet):
            assert wfa.operators[sigma, state].sum() == pytest.approx(after[context].get(symbol, 0), rel=1e-14, abs=0)


def test_bigram_over_all_symbols_has_one_state_more_than_symbols():
    result = learn_ngram(["abc", "cba", "b"], order=2, smoothing="none")
    assert result.wfa.n_states == 4
    assert learn_ngram(["abc"], order=1, smoothing="none").wfa.n_states == 1


def test_an_automaton_too_large_to_write_out_is_refused():
    corpus = Corpus.from_sequences([list(range(600))], Alphabet.of_size(600))
    with pytest.raises(
        OptionError, match=f"an automaton of 602 contexts over 600 symbols has {602**2 * 600} weights, too many"
    ):
        fit(corpus, 2).to_wfa()


# ------------------------------------------------------------------ prediction


@given(corpora(min_sequences=1, weights=True), orders, smoothings)
def test_best_event_is_the_first_of_the_likeliest_at_every_context(corpus, order, smoothing):
    model = fit(corpus, order, smoothing)
    for state in range(model.n_states):
        if model.counts.string(state) == (START,) and order == 1:
            continue
        assert model._best[state] == int(np.argmax(model.state_distribution(state))), model.counts.string(state)


def test_ties_go_to_the_lower_symbol_and_the_end_comes_last():
    model = fit(Corpus.from_sequences(["b", "a", ""], Alphabet("abc", closed=True)), 1)
    assert np.asarray(model.next_symbol("")).tolist()[:2] == [model.next_symbol("")["a"]] * 2
    tokens, offsets = np.array([0], np.int32), np.array([0, 1])
    # counts a 1, b 1, end 3: the end is likeliest
    assert model.predict_tokens(tokens, offsets).tolist() == [3, 3]
    even = fit(Corpus.from_sequences(["cb"], Alphabet("abc", closed=True)), 1)
    assert even.predict_tokens(tokens, offsets).tolist() == [1, 1]  # b, c and the end are level
    flat = fit(Corpus.from_sequences([], Alphabet("abc", closed=True)), 1)
    assert flat.predict_tokens(tokens, offsets).tolist() == [0, 0]


@given(corpora(min_sequences=1), orders, smoothings)
def test_predictions_are_those_of_the_stream(corpus, order, smoothing):
    model = fit(corpus, order, smoothing)
    found = model.predict_tokens(corpus.tokens, corpus.offsets).tolist()
    expected = [int(np.argmax(np.asarray(model.next_symbol(row[:k])))) for row in corpus for k in range(len(row) + 1)]
    assert found == expected


# ------------------------------------------------------------------ parts and options


@given(corpora(min_sequences=1), orders, smoothings)
def test_parts_make_the_same_model_again(corpus, order, smoothing):
    model = fit(corpus, order, smoothing)
    arrays, values = model.to_parts()
    again = NGramModel.from_parts(arrays, {**values, "alphabet": corpus.alphabet, "training": {"method": "ngram"}})
    asked = prefixes_for(corpus)
    assert np.array_equal(again.next_symbols(asked), model.next_symbols(asked))
    assert again.summary() == {**model.summary(), "training": {"method": "ngram"}}


def parts_of(rows, order: int = 2, weights=None) -> dict:
    """Arrays of a tree of sequences as they are, over a, b and the mark."""
    alphabet = Alphabet(("a", "b", START), marks=True)
    tokens = np.array([alphabet.index(s) for row in rows for s in row], np.int32)
    corpus = Corpus(tokens, np.cumsum([0, *map(len, rows)]), alphabet, weights)
    tree = count_substrings(corpus, order)
    return {n: getattr(tree, n) for n in ("symbol", "child_start", "through", "end", "level_offsets")}


S = START


@pytest.mark.parametrize("smoothing", ["kn", "none"])
@pytest.mark.parametrize(
    ("rows", "weights", "message"),
    [
        ([[S, "a"], ["a", "b"]], None, "not every sequence that was counted begins with the mark"),
        ([["a", "b"]], None, "not every sequence that was counted begins with the mark"),
        ([[S, "a", S, "b"]], None, "not every sequence that was counted begins with the mark"),
        ([[S, "a", S], ["b"]], None, "the mark of the start was counted inside of a sequence"),
        ([[S, "a", "b"], [S, "b"]], np.array([0.5, 0.25]), "need whole numbers"),
    ],
)
def test_parts_that_no_sequences_with_a_mark_could_give_are_refused(rows, weights, message, smoothing):
    """With such counts next-symbol probabilities would not sum to 1, or some would be 0."""
    values = {"alphabet": Alphabet("ab"), "order": 2, "smoothing": smoothing, "training": {}}
    NGramModel.from_parts(parts_of([[S, "a", "b"], [S]]), values)
    with pytest.raises(ModelFileError, match=message):
        NGramModel.from_parts(parts_of(rows, weights=weights), values)


def test_parts_with_an_ngram_after_nothing_are_refused():
    """Node "b" has a count, but neither "ab" nor "<s>b" is there: nothing is known to stand before it."""
    arrays = {
        "symbol": np.array([-1, 0, 1, 2, 0], np.int32),
        "child_start": np.array([1, 4, 4, 4, 5, 5], np.int32),
        "through": np.array([4, 1, 1, 1, 1]),
        "end": np.array([1, 1, 1, 0, 1]),
        "level_offsets": np.array([0, 1, 4, 5]),
    }
    values = {"alphabet": Alphabet("ab"), "order": 2, "smoothing": "kn", "training": {}}
    with pytest.raises(ModelFileError, match="an n-gram was counted, but nothing before it"):
        NGramModel.from_parts(arrays, values)


@pytest.mark.parametrize("order", [True, 0, 2.0, "2", None])
def test_parts_with_another_order_are_refused(order):
    values = {"alphabet": Alphabet("ab"), "order": order, "smoothing": "kn", "training": {}}
    with pytest.raises(ModelFileError, match="the order is"):
        NGramModel.from_parts(parts_of([[S, "a"]]), values)


def test_a_deeper_tree_gives_the_same_model():
    corpus = Corpus.from_sequences(["abba", "ab"])
    deep = NGramModel(count_ngrams(corpus, 6), corpus.alphabet, 2)
    assert np.array_equal(deep.next_symbols(["", "a"]), fit(corpus, 2).next_symbols(["", "a"]))


def test_wrong_options_are_refused():
    corpus = Corpus.from_sequences(["ab"])
    with pytest.raises(OptionError, match="order=0 is no order"):
        fit(corpus, 1).__class__(count_ngrams(corpus, 1), corpus.alphabet, 0)
    with pytest.raises(OptionError, match="smoothing='good' is not known"):
        fit(corpus, 1, "good")


def test_summary_is_of_plain_values():
    import json

    summary = fit(Corpus.from_sequences(["ab", "b"], Alphabet("ab", closed=True)), 2).summary()
    json.dumps(summary)
    assert summary["n_symbols"] == 2
    assert summary["closed_alphabet"] is True
    assert summary["n_states"] == 4  # "", a, b, <s>
    assert summary["n_ngrams"] == 7  # and ab, <s>a, <s>b


def test_counting_puts_the_mark_before_every_sequence():
    tree = count_ngrams(Corpus.from_sequences(["ab", ""]), 2)
    assert isinstance(tree, CountedTree)
    assert tree.through[tree.find([START])] == 2
    assert tree.end[tree.find([START])] == 1
    assert tree.find([START, "a"]) > 0
    assert tree.find(["a", START]) == -1
    assert count_substrings(Corpus.from_sequences(["ab", ""]), 2).n_nodes == 4
