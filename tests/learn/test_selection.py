"""Holding out, and choosing among automata by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata.core.alphabet import UNKNOWN, Alphabet
from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes
from momata.core.probabilistic import random_pfa
from momata.core.wfa import WFA
from momata.errors import AlphabetError, DataError, OptionError
from momata.learn import selection
from momata.learn.ngram import learn_ngram
from momata.learn.selection import Candidate, choose_automaton, held_out_corpus, hold_out
from momata.predict.automaton_model import AutomatonModel, choose_share
from momata.predict.metrics import evaluate

ALPHABET = Alphabet("ab", closed=True)


def automata(n: int, seed: int = 0) -> list[WFA]:
    """Return automata with 1 to 4 states, of both signs."""
    rng = np.random.default_rng(seed)
    sizes = [1 + i % 4 for i in range(n)]
    return [WFA(rng.normal(size=k), rng.normal(size=k), rng.normal(size=(2, k, k)) / 2, ALPHABET) for k in sizes]


def sample(seed: int = 0, n: int = 60) -> Corpus:
    target = random_pfa(3, 2, seed, mean_length=4.0)
    return AutomatonModel(target).sample(n, seed).recode(Alphabet.of_size(2))


def letters(corpus: Corpus) -> Corpus:
    return Corpus(corpus.tokens, corpus.offsets, ALPHABET, corpus.weights)


# ------------------------------------------------------------------ holding out


@given(corpora(min_sequences=2, weights=True), st.sampled_from([0.1, 0.3, 0.9]), st.integers(0, 3))
def test_what_is_held_out_is_not_learned_from(corpus, fraction, seed):
    train, held_out = hold_out(corpus, fraction, seed)
    assert len(held_out) == min(max(1, round(fraction * len(corpus))), len(corpus) - 1)
    assert sorted([*train, *held_out]) == sorted(corpus)
    if corpus.weights is not None:
        pairs = [(s, w) for part in (train, held_out) for s, w in zip(part, part.weights, strict=True)]
        assert sorted(pairs) == sorted(zip(corpus, corpus.weights, strict=True))
    again = hold_out(corpus, fraction, seed)
    assert [list(part) for part in again] == [list(train), list(held_out)]


def test_no_more_is_held_out_than_suffices(monkeypatch):
    corpus = Corpus.from_sequences(["abc"] * 1000)
    assert len(hold_out(corpus, 0.1)[1]) == 100
    monkeypatch.setattr(selection, "_MOST_HELD_OUT", 80)
    assert len(hold_out(corpus, 0.1)[1]) == 20  # of 4 events each
    assert len(hold_out(corpus, 0.001)[1]) == 1


@pytest.mark.parametrize(
    ("text", "parts"), [("abcde", ("abc", "de")), ("ab", ("a", "b")), ("a", ("a", "")), ("", ("", ""))]
)
def test_a_single_sequence_is_cut_in_its_middle(text, parts):
    corpus = Corpus.from_sequences([text], Alphabet("abcde"), weights=[3])
    found = hold_out(corpus)
    assert [list(part) for part in found] == [[tuple(part)] for part in parts]
    assert all(part.weights.tolist() == [3] and part.alphabet is corpus.alphabet for part in found)


def test_what_cannot_be_held_out():
    with pytest.raises(DataError, match="a corpus without sequences cannot be learned from"):
        hold_out(Corpus.from_sequences([]))
    for fraction in (0, 1, -0.5, 2.0):
        with pytest.raises(OptionError, match=r"cannot be held out. Give a number between 0 and 1"):
            hold_out(Corpus.from_sequences(["a", "b"]), fraction)


def test_held_out_data_over_the_alphabet_of_the_model():
    found = held_out_corpus(["ba", "az"], Alphabet("ab").with_unknown())
    assert list(found) == [("b", "a"), ("a", UNKNOWN)]
    assert list(held_out_corpus(["ba"], Alphabet("ab"))) == [("b", "a")]
    with pytest.raises(
        AlphabetError, match=r"the held-out data have symbol 'z' \(sequence 2, symbol 2\), which training lacks"
    ):
        held_out_corpus(["ba", "az"], Alphabet("ab"))
    with pytest.raises(DataError, match="held-out data without sequences cannot choose anything"):
        held_out_corpus([], Alphabet("ab"))


# ------------------------------------------------------------------ choosing


@pytest.mark.parametrize("weights", [None, [1, 4, 2] * 20])
@pytest.mark.parametrize("backed", [True, False])
def test_the_curve_says_what_each_candidate_gives_held_out_data(weights, backed):
    """Each entry against the model of that candidate with the share that suits best, asked sequence by sequence."""
    held_out = letters(sample())
    held_out = Corpus(held_out.tokens, held_out.offsets, ALPHABET, None if weights is None else np.array(weights))
    backing = learn_ngram(letters(sample(1)), order=2).model if backed else None
    seen: list[dict] = []
    candidates = [Candidate(wfa, {"number": i}) for i, wfa in enumerate(automata(6))]
    choice = choose_automaton(iter(candidates), backing, held_out, callback=seen.append)
    assert seen == choice.curve
    times = np.ones(len(held_out)) if weights is None else np.array(weights)
    for i, (entry, candidate) in enumerate(zip(choice.curve, candidates, strict=True)):
        model = choose_share(AutomatonModel(candidate.wfa, backing), count_prefixes(held_out))
        expected = float(times @ model.log_prob(held_out))
        assert entry["validation_log_prob"] == pytest.approx(expected, rel=1e-12)
        per_event = expected / (times @ (held_out.lengths + 1))
        assert entry["validation_perplexity_per_symbol"] == pytest.approx(np.exp(-per_event), rel=1e-12)
        assert (entry["number"], entry["n_states"]) == (i, candidate.wfa.n_states)
        assert (entry["backing_share"], entry["distrust"]) == (model.share, model.distrust)
        assert 0 <= entry["negative_mass"] <= 1
    best = int(np.argmax([entry["validation_log_prob"] for entry in seen]))
    assert choice.options is candidates[best].options
    assert choice.model.wfa is candidates[best].wfa
    assert choice.model.backing is backing
    assert (choice.model.share, choice.model.distrust) == (seen[best]["backing_share"], seen[best]["distrust"])


def test_by_word_errors_and_of_equal_ones_by_likelihood():
    held_out = letters(sample(n=200))
    truth = random_pfa(3, 2, 0, mean_length=4.0)
    good = WFA(truth.initial, truth.final, truth.operators, ALPHABET)
    flat = WFA([1.0], [0.2], [[[0.401]], [[0.399]]], ALPHABET)
    steep = WFA([1.0], [0.05], [[[0.9]], [[0.05]]], ALPHABET)  # the same guesses as flat, and far less likely
    candidates = [Candidate(wfa, {}) for wfa in (steep, flat, good, flat)]
    choice = choose_automaton(candidates[:2], None, held_out, "wer")
    one, other = choice.curve
    assert one["validation_wer"] == other["validation_wer"]
    assert one["validation_log_prob"] < other["validation_log_prob"]
    assert choice.model.wfa.operators.tolist() == flat.operators.tolist()
    choice = choose_automaton(candidates, None, held_out, "wer")
    found = [entry["validation_wer"] for entry in choice.curve]
    assert found[2] < found[0]
    assert choice.options is candidates[2].options
    assert found[2] == pytest.approx(evaluate(choice.model, held_out)["wer"], rel=1e-12)


def test_likelihood_and_word_errors_may_disagree():
    held_out = Corpus.from_sequences(["a"] * 9 + ["b"], ALPHABET)
    stops = WFA([1.0], [0.98], [[[0.01]], [[0.01]]], ALPHABET)  # right at 10 of 20 events, and much too sure
    goes_on = WFA([1.0], [0.465], [[[0.475]], [[0.06]]], ALPHABET)  # right at 9
    candidates = [Candidate(stops, {"name": "stops"}), Candidate(goes_on, {"name": "goes on"})]
    likely, right = (choose_automaton(candidates, None, held_out, criterion) for criterion in ("log_prob", "wer"))
    assert (likely.options["name"], right.options["name"]) == ("goes on", "stops")
    assert [entry["validation_wer"] for entry in right.curve] == [50.0, 55.0]
    assert "validation_wer" not in likely.curve[0]


def test_word_errors_count_by_weight():
    held_out = Corpus.from_sequences(["a", "", "b"], ALPHABET, weights=[3, 2, 1])
    stops = WFA([1.0], [0.5], [[[0.3]], [[0.2]]], ALPHABET)
    (entry,) = choose_automaton([Candidate(stops, {})], None, held_out, "wer").curve
    assert entry["validation_wer"] == 100 * (3 + 1) / (3 * 2 + 2 * 1 + 1 * 2)


def test_of_equal_candidates_the_first():
    held_out = letters(sample())
    wfa = automata(1)[0]
    choice = choose_automaton([Candidate(wfa, {"number": i}) for i in range(3)], None, held_out)
    assert choice.options == {"number": 0}
    assert len({entry["validation_log_prob"] for entry in choice.curve}) == 1


def test_criteria_that_are_none():
    with pytest.raises(OptionError, match=r"select='auc' is not known. Use log_prob or wer"):
        choose_automaton([], None, letters(sample()), "auc")
