"""Language models over any automaton."""

from __future__ import annotations

import numpy as np
import pytest
from brute import all_strings
from hypothesis import given
from hypothesis import strategies as st
from strategies import stochastic_wfas, wfas

import momata as mo
from momata.core.counting import count_prefixes
from momata.core.probabilistic import random_hmm
from momata.core.wfa import WFA, convert
from momata.errors import AlphabetError, DataError, OptionError
from momata.predict.automaton_model import DISTRUSTS, SHARES, AutomatonModel, choose_share


def words(model: mo.LanguageModel, longest: int = 4) -> list[tuple]:
    return list(all_strings(model.alphabet, longest))


def streamed(model: mo.LanguageModel, word: tuple) -> float:
    stream = model.stream(word)
    with np.errstate(divide="ignore"):
        return stream.log_prob + float(np.log(stream.distribution()[mo.STOP]))


def check_proper(model: mo.LanguageModel) -> None:
    """One definition, three ways: over the tree, symbol by symbol, event by event; all distributions sum to 1."""
    every = words(model)
    logp = model.log_prob(every)
    assert np.exp(logp).sum() <= 1 + 1e-9
    np.testing.assert_allclose([events.sum() for events in model.event_log_probs(every)], logp, rtol=1e-6)
    rows = model.next_symbols(every)
    assert np.abs(rows.sum(axis=1) - 1).max() <= 1e-12
    assert rows.min() >= 0
    for i in range(0, len(every), 7):
        assert streamed(model, every[i]) == pytest.approx(logp[i], rel=1e-5, abs=1e-5)


def backing(alphabet: mo.Alphabet, order: int = 2) -> mo.NGramModel:
    sequences = [list(alphabet), [alphabet[0]] * 3, [], list(alphabet)[::-1]]
    return mo.learn_ngram(mo.Corpus.from_sequences(sequences, alphabet), order=order).model


@given(stochastic_wfas(), st.sampled_from(["string", "prefix", "suffix", "substring"]))
def test_a_pfa_is_its_own_distribution(wfa: WFA, statistic: str) -> None:
    model = mo.LanguageModel(wfa)
    assert isinstance(model, AutomatonModel)
    np.testing.assert_allclose(np.exp(model.log_prob(words(model))), wfa.weights(words(model)), rtol=1e-9, atol=1e-300)
    check_proper(model)
    other = mo.LanguageModel(convert(wfa, statistic))
    np.testing.assert_allclose(np.exp(other.log_prob(words(model))), wfa.weights(words(model)), atol=1e-4)


@given(wfas(), st.sampled_from([1.0, 10.0, 1e100, 1e-100, 1e300]), st.booleans())
def test_any_automaton_gives_a_proper_distribution(wfa: WFA, scale: float, backed: bool) -> None:
    wild = wfa.replace(wfa.initial, wfa.final, wfa.operators * scale)
    check_proper(AutomatonModel(wild, backing(wfa.alphabet) if backed else None, distrust=2.0))


@pytest.mark.parametrize(
    "operators",
    [
        np.zeros((2, 3, 3)),
        np.triu(np.ones((2, 3, 3)), 1),
        -np.ones((2, 3, 3)),
        np.ones((2, 3, 3)),
        -1e200 * np.ones((2, 3, 3)),
    ],
    ids=["zeros", "nilpotent", "negative", "radius 6", "huge"],
)
@pytest.mark.parametrize("ends", [(1.0, 1.0), (0.0, 0.0), (1.0, -1.0), (1e-300, 1e300)])
def test_adversarial_automata(operators: np.ndarray, ends: tuple[float, float]) -> None:
    wfa = WFA(np.full(3, ends[0]), np.full(3, ends[1]), operators, mo.Alphabet("ab", closed=True))
    for model in (AutomatonModel(wfa), AutomatonModel(wfa, backing(wfa.alphabet))):
        check_proper(model)
        if model.next_symbol()[mo.STOP] > 0.01:  # else sequences hardly end, and sampling says so
            drawn = model.sample(20, seed=1)
            assert len(drawn) == 20
            assert np.all(np.isfinite(model.log_prob(drawn)))
        else:
            with pytest.raises(DataError, match="did not end"):
                model.sample(20, seed=1, max_length=30)


@given(stochastic_wfas(max_symbols=2), st.floats(0, 1))
def test_the_backing_is_mixed_in_by_its_share(wfa: WFA, share: float) -> None:
    other = backing(wfa.alphabet)
    model = AutomatonModel(wfa, other, share)
    for word in words(model, 3)[::3]:
        row, own, back = (m.next_symbols([word])[0] for m in (model, AutomatonModel(wfa), other))
        if AutomatonModel(wfa).log_prob([word])[0] > -np.inf and all(
            AutomatonModel(wfa).next_symbols([word[:t]])[0][wfa.alphabet.index(word[t])] > 0 for t in range(len(word))
        ):
            np.testing.assert_allclose(row, (1 - share) * own + share * back, atol=1e-12)
    check_proper(model)


def test_guesses_are_the_arg_max_of_the_mixture() -> None:
    wfa = random_hmm(4, 3, seed=2).to_pfa().change_basis(np.random.default_rng(0).standard_normal((4, 4)))
    corpus = mo.LanguageModel(random_hmm(4, 3, seed=2).to_pfa()).sample(100, seed=3)
    for model in (AutomatonModel(wfa), AutomatonModel(wfa, backing(wfa.alphabet, 3), 0.4, 2.0)):
        guesses = model.predict_tokens(corpus.tokens, corpus.offsets)
        prefixes = [s[:t] for s in corpus for t in range(len(s) + 1)]
        rows = model.next_symbols(prefixes)
        best = rows[np.arange(len(rows)), guesses]
        np.testing.assert_allclose(best, rows.max(axis=1), atol=1e-9)
        clear = rows.max(axis=1) - np.sort(rows, axis=1)[:, -2] > 1e-9
        assert np.array_equal(guesses[clear], rows.argmax(axis=1)[clear])


def test_choosing_the_share_takes_the_best_of_all_candidates() -> None:
    source = mo.LanguageModel(random_hmm(5, 4, seed=1).to_pfa())
    train, valid = source.sample(300, seed=1), source.sample(200, seed=2)
    wfa = random_hmm(5, 4, seed=9).to_pfa().change_basis(np.random.default_rng(0).standard_normal((5, 5)))
    model = AutomatonModel(wfa, mo.learn_ngram(train, order=3).model)
    best = choose_share(model, count_prefixes(model.encode(valid)))
    scores = {(s, d): AutomatonModel(wfa, model.backing, s, d).log_prob(valid).sum() for s in SHARES for d in DISTRUSTS}
    assert best.log_prob(valid).sum() == pytest.approx(max(scores.values()), rel=1e-12)
    assert best.share == 0.95  # the automaton knows nothing of this source


def test_sampling_agrees_with_probabilities_and_seeds() -> None:
    wfa = random_hmm(3, 2, seed=4, mean_length=2).to_pfa()
    signed = wfa.change_basis(np.random.default_rng(1).standard_normal((3, 3)))
    n = 20_000
    for model in (AutomatonModel(wfa), AutomatonModel(signed), AutomatonModel(wfa, backing(wfa.alphabet), 0.3)):
        drawn = model.sample(n, seed=5)
        again = model.sample(n, seed=5)
        assert np.array_equal(drawn.tokens, again.tokens)
        counted = drawn.deduplicate()
        found = dict(zip(counted, counted.weights / n, strict=True))
        for word in list(all_strings(wfa.alphabet, 2)):
            p = float(np.exp(model.log_prob([word])[0]))
            assert abs(found.get(word, 0.0) - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-12


def test_sampling_that_does_not_end_is_an_error() -> None:
    endless = WFA([1.0], [0.0], [[[1.0]]], mo.Alphabet("a", closed=True))
    with pytest.raises(DataError, match="did not end"):
        mo.LanguageModel(endless).sample(3, max_length=50)


def test_a_symbol_never_seen_takes_the_share_and_the_state_goes_on() -> None:
    alphabet = mo.Alphabet("ab")
    wfa = WFA([1.0], [0.2], [[[0.5]], [[0.3]]], alphabet)
    model = AutomatonModel(wfa, backing(alphabet), 0.1)
    assert model.alphabet.symbols == ("a", "b", mo.UNKNOWN)
    logp = model.log_prob(["azb"])[0]
    assert np.isfinite(logp)
    rows = model.next_symbols(["a", "az"])
    assert rows[0][2] == pytest.approx(0.1 * model.backing.next_symbol("a")[mo.UNKNOWN])
    assert rows[1][0] == pytest.approx(0.9 * 0.5 + 0.1 * model.backing.next_symbol("az")["a"])


def test_long_strings_and_vanishing_weights_score_finitely() -> None:
    hmm = random_hmm(5, 3, seed=1)
    wfa = hmm.to_pfa()
    signed = AutomatonModel(wfa.change_basis(np.random.default_rng(2).standard_normal((5, 5))))
    string = np.random.default_rng(0).integers(0, 3, 10_000)
    exact = AutomatonModel(wfa).log_prob([string])[0]
    assert wfa.weight(string) == 0.0  # underflow, which is why states are normalised
    assert np.isfinite(exact)
    assert signed.log_prob([string])[0] == pytest.approx(exact, rel=1e-4)


def test_models_survive_files(tmp_path) -> None:
    wfa = random_hmm(4, 3, seed=1).to_pfa()
    corpus = mo.LanguageModel(wfa).sample(50, seed=0)
    for model in (AutomatonModel(wfa), AutomatonModel(convert(wfa, "prefix"), backing(wfa.alphabet), 0.25, 1.5)):
        mo.save(model, tmp_path / "m.npz")
        back = mo.load(tmp_path / "m.npz")
        assert np.array_equal(back.log_prob(corpus), model.log_prob(corpus))
        assert (back.share, back.distrust, back.wfa.statistic) == (model.share, model.distrust, model.wfa.statistic)


def test_negative_mass_is_that_of_the_scores_on_sampled_sequences() -> None:
    wfa = random_hmm(3, 2, seed=1, mean_length=1).to_pfa()
    assert AutomatonModel(wfa).negative_mass() == 0.0
    noise = 0.06 * np.random.default_rng(1).standard_normal(wfa.operators.shape)
    signed = wfa.replace(wfa.initial, wfa.final, wfa.operators + noise)
    model = AutomatonModel(signed)
    shares = []
    for string in model.sample(200, seed=0, max_length=10_000):
        for t in range(len(string) + 1):
            q = signed.forward(string[:t])[-1]
            e = np.linalg.solve(np.eye(3) - signed.total, signed.final)
            scores = np.append(q @ signed.operators @ e, q @ signed.final) / (q @ e)
            shares.append(-scores[scores < 0].sum() / np.abs(scores).sum())
    assert model.negative_mass() == pytest.approx(np.mean(shares), rel=1e-6)
    assert 0 < model.negative_mass() < 1
    assert model.summary()["negative_mass"] == model.negative_mass()


def test_misuse_is_named() -> None:
    wfa = random_hmm(2, 2, seed=1).to_pfa()
    with pytest.raises(OptionError, match="not of a int"):
        mo.LanguageModel(3)
    with pytest.raises(OptionError, match="share"):
        AutomatonModel(wfa, share=1.5)
    with pytest.raises(AlphabetError, match="not the same"):
        AutomatonModel(wfa, backing(mo.Alphabet("ab")))
    with pytest.raises(AlphabetError, match="not in the model's alphabet"):
        mo.LanguageModel(wfa).log_prob([[0, 7]])


def test_a_share_without_a_backing_is_of_the_uniform_distribution() -> None:
    model = mo.LanguageModel(mo.PFA([1.0], [0.5], [[[0.5]]], mo.Alphabet("a")), share=0.5)
    check_proper(model)
    assert np.exp(model.log_prob(["a" * k for k in range(60)])).sum() == pytest.approx(1.0)


def test_weights_that_are_probabilities_but_for_rounding_are_made_so() -> None:
    for operators in ([[[0.5]], [[-5e-10]]], [[[0.5 + 9e-10]], [[0.0]]]):
        model = mo.LanguageModel(WFA([1.0], [0.5], operators, mo.Alphabet("ab")))
        assert model.log_prob(["b"])[0] == -np.inf
        check_proper(model)
        string = "a" * 100_000
        assert streamed(model, string) == pytest.approx(model.log_prob([string])[0], rel=1e-9)


def test_symbols_that_mark_ends_cannot_be_pushed() -> None:
    model = mo.LanguageModel(random_hmm(2, 2, seed=1).to_pfa())
    with pytest.raises(AlphabetError, match="no symbol that can be read"):
        model.next_symbol([0, mo.STOP])


def test_sequences_of_none_have_no_events() -> None:
    assert mo.LanguageModel(random_hmm(2, 2, seed=1).to_pfa()).event_log_probs([]) == []
