"""The non-negative and the residual learner: always a PFA, chosen on held-out data, near the truth on samples."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from brute import all_strings
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import corpora

from momata.core.alphabet import Alphabet
from momata.core.basis import Basis
from momata.core.corpus import Corpus
from momata.core.probabilistic import PFA, random_pfa
from momata.errors import BasisError, DataError, OptionError
from momata.learn.nonnegative import learn_nonnegative, learn_residual
from momata.learn.result import FitResult, Status
from momata.learn.spectral import learn_spectral
from momata.predict.automaton_model import AutomatonModel

LEARNERS = [learn_nonnegative, learn_residual]
STATISTICS = ["string", "prefix", "suffix", "substring"]
both = pytest.mark.parametrize("learn", LEARNERS)


def sample(n: int = 300, seed: int = 0) -> Corpus:
    target = random_pfa(3, 3, 0, mean_length=4.0)
    corpus = AutomatonModel(target).sample(n, seed)
    return Corpus(corpus.tokens, corpus.offsets, Alphabet("abc"))


def assert_sound(result: FitResult) -> None:
    assert isinstance(result.wfa, PFA)
    assert result.wfa.is_probabilistic()
    assert result.wfa.is_summable()
    assert np.isfinite(result.wfa.expected_length())
    assert result.model.wfa is result.wfa
    assert result.n_states == result.wfa.n_states
    assert result.status in (Status.OK, Status.RANK_DEFICIENT)


def same_arrays(one: FitResult, other: FitResult) -> bool:
    names = ("initial", "final", "operators")
    return all(np.array_equal(getattr(one.wfa, name), getattr(other.wfa, name)) for name in names)


# ------------------------------------------------------------------ what comes out


@settings(max_examples=40)
@given(
    corpora(min_sequences=1, max_length=5, weights=True), st.sampled_from(LEARNERS), st.sampled_from(STATISTICS),
    st.sampled_from(["none", "roots", "sums", "counts"]), st.sampled_from(["auto", 2]),
)  # fmt: skip
def test_any_corpus_gives_a_pfa(corpus, learn, statistic, scaling, n_states):
    options = {"n_states": n_states, "max_states": 3, "basis": "all", "max_length": 2, "seed": 1}
    try:
        result = learn(corpus, statistic=statistic, scaling=scaling, **options)
    except BasisError as error:  # sequences may all be longer than the strings of the basis
        assert statistic in ("string", "suffix")
        assert "all 0" in str(error) or "empty suffix" in str(error)  # noqa: PT017
        return
    assert_sound(result)
    assert result.statistic == statistic
    assert np.all(result.model.log_prob(corpus) < 1e-12)
    assert result.wfa.alphabet == corpus.alphabet or not len(corpus.alphabet)


@both
def test_the_curve(learn):
    seen = []
    result = learn(sample(), max_states=8, statistic=["prefix", "substring"], callback=seen.append)
    assert_sound(result)
    assert result.curve == seen
    assert json.loads(json.dumps(result.curve)) == result.curve
    for statistic in ("prefix", "substring"):
        sizes = [entry["n_states"] for entry in result.curve if entry["statistic"] == statistic]
        assert sizes[:2] == [1, 2]
        assert sizes == sorted(sizes)
        assert sizes[-1] <= 8
    assert {"n_states", "statistic", "validation_log_prob", "validation_perplexity_per_symbol", "backing_share", "distrust",
            "negative_mass"} == set(result.curve[0])  # fmt: skip
    assert all(entry["negative_mass"] == 0 for entry in result.curve)
    best = max(result.curve, key=lambda entry: entry["validation_log_prob"])
    assert (result.n_states, result.statistic) == (best["n_states"], best["statistic"])
    training = result.model.training
    assert training["method"] == result.method == learn.__name__.removeprefix("learn_")
    assert (training["n_sequences"], training["statistic"], training["curve"]) == (300, best["statistic"], result.curve)
    assert set(result.seconds) == {"count", "select", "factorise"}


@both
def test_seeds(learn):
    """Which part is held out, and where a factorisation starts, follow from the seed."""
    one, same, other = (learn(sample(), max_states=4, seed=seed) for seed in (1, 1, 2))
    assert same_arrays(one, same)
    assert one.curve == same.curve
    assert one.curve != other.curve


def test_restarts_depend_on_the_seed():
    fits = [learn_nonnegative(sample(), 5, restarts=4, seed=seed) for seed in (1, 1, 2)]
    assert same_arrays(fits[0], fits[1])
    assert fits[0].model.training["seed"] == 1
    assert not same_arrays(fits[0], fits[2])


@both
@pytest.mark.parametrize("select", ["log_prob", "wer"])
def test_held_out_data_may_be_given(learn, select):
    result = learn(sample(), max_states=4, valid=sample(50, 1), select=select)
    assert_sound(result)
    assert ("validation_wer" in result.curve[0]) == (select == "wer")


@both
def test_more_states_than_there_are(learn):
    result = learn(["ab", "b", "a"] * 20, 50, basis="symbols+")
    assert_sound(result)
    assert result.n_states < 50
    assert result.status is Status.RANK_DEFICIENT


def test_options_reach_the_factorisation():
    fits = [
        learn_nonnegative(sample(), 4, **options)
        for options in ({}, {"nmf": "anls"}, {"operators": "selection"}, {"scaling": "none"}, {"basis": "length:2"})
    ]
    for fit in fits:
        assert_sound(fit)
    assert not any(same_arrays(fits[0], fit) for fit in fits[1:])
    own = Basis.of(["", "a", "b"], ["", "a", "ba"])
    assert learn_nonnegative(sample(), 3, basis=own).model.training["basis"] == str(own)


# ------------------------------------------------------------------ near the truth


def chain() -> PFA:
    """The last symbol is the state: every prefix but the empty one is pure, and so is a start like that after a."""
    moves = np.array([[0.1, 0.5, 0.1], [0.1, 0.1, 0.6], [0.5, 0.2, 0.0]])
    operators = moves.T[:, :, None] * np.eye(3)[:, None, :]
    return PFA([1.0, 0.0, 0.0], 1.0 - moves.sum(axis=1), operators, Alphabet("abc"))


@pytest.mark.parametrize("statistic", STATISTICS)
def test_residual_learns_pure_states_from_a_sample(statistic):
    """Of N strings: a frequency lies within five standard errors, and a weight is a product of a few of them."""
    N, target = 20_000, chain()
    data = AutomatonModel(target).sample(N, 0)
    found = learn_residual(data, 3, statistic=statistic, basis="length:2").wfa
    strings = list(all_strings(target.alphabet, 3))
    true = np.array([target.weight(s) for s in strings])
    learned = np.array([found.weight(s) for s in strings])
    assert np.all(np.abs(true - learned) < 4 * 5 * np.sqrt(true * (1 - true) / N) + 1e-4)


@both
def test_near_the_source(learn):
    """Held-out likelihood: no better than the source, and closer to it than one state comes."""
    target = chain()
    data, fresh = (AutomatonModel(target).sample(3000, seed) for seed in (0, 1))
    scores = [AutomatonModel(pfa).log_prob(fresh).mean() for pfa in (target, learn(data, 3).wfa, learn(data, 1).wfa)]
    assert scores[0] > scores[1] > scores[2]
    assert scores[0] - scores[1] < 0.25 * (scores[0] - scores[2])


@both
@pytest.mark.parametrize("statistic", STATISTICS)
def test_sampling_ends_and_has_the_expected_length(learn, statistic):
    result = learn(sample(1000), 4, statistic=statistic)
    assert_sound(result)
    lengths = AutomatonModel(result.wfa).sample(5000, 0).lengths
    error = 5 * lengths.std() / np.sqrt(5000)
    assert lengths.mean() == pytest.approx(result.wfa.expected_length(), abs=error)
    assert len(result.model.sample(100, 0)) == 100


# ------------------------------------------------------------------ polish


@both
def test_polish(learn):
    data, fresh = sample(600), sample(600, 1)
    plain, polished = (learn(data, 3, polish=steps) for steps in (0, 15))
    assert_sound(polished)
    assert polished.model.training["polish"] > 0
    assert polished.trace
    assert polished.statistic == "string"
    assert "polish" in polished.seconds
    assert [entry["n_states"] for entry in polished.model.training["polished"]] == [3]
    totals = [float(AutomatonModel(fit.wfa).log_prob(fresh).sum()) for fit in (plain, polished)]
    assert totals[1] > totals[0]


@both
def test_polish_may_find_more_states(learn):
    result = learn(sample(600), "auto", max_states=3, polish=5)
    assert_sound(result)
    sizes = [entry["n_states"] for entry in result.model.training["polished"]]
    assert all(b == 2 * a for a, b in itertools.pairwise(sizes))
    assert len(sizes) >= 2


# ------------------------------------------------------------------ tiny data


@both
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("polish", [0, 2])
@pytest.mark.parametrize("data", [[""], ["", ""], ["a"], ["abab"], ["a", "a", ""], ["aa"] * 9, ["b", "a"] * 3])
def test_tiny_data(learn, data, statistic, polish):
    result = learn(data, max_states=3, statistic=statistic, polish=polish)
    assert_sound(result)
    assert np.all(result.model.log_prob(data) < 1e-12)
    if not any(data):
        assert result.n_states == 1
        assert result.wfa.weight([]) == pytest.approx(1.0, rel=1e-12)
        assert list(result.model.sample(2)) == [(), ()]


@both
def test_sequences_longer_than_any_string_of_the_basis(learn):
    with pytest.raises(BasisError, match=r"is all 0, so nothing can be learned from it. Select a larger basis"):
        learn(["a" * 50], statistic="string")
    assert_sound(learn(["a" * 50], statistic=["string", "substring"]))


@both
def test_one_symbol_has_the_mean_length(learn):
    """The one-state automaton of a geometric sample: stopping chance 1 / (mean + 1)."""
    lengths = np.random.default_rng(0).geometric(0.3, 2000) - 1
    result = learn([["a"] * k for k in lengths], 1, basis="length:4")
    assert result.wfa.expected_length() == pytest.approx(lengths.mean(), rel=0.02)  # what every statistic estimates


# ------------------------------------------------------------------ what is refused


@both
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_states": 0}, "n_states=0: an automaton has at least 1 state"),
        ({"max_states": 0}, "max_states=0"),
        ({"polish": -1}, "polish=-1 is no number of steps"),
        ({"statistic": "x"}, "'x'"),
        ({"statistic": []}, "need one value each"),
        ({"scaling": "x"}, "scaling='x' is not known"),
        ({"select": "x"}, "select='x' is not known"),
    ],
    ids=str,
)
def test_options_that_cannot_be(learn, options, message):
    with pytest.raises(OptionError, match=message):
        learn(sample(20), **options)


def test_options_of_the_factorisation_that_cannot_be():
    with pytest.raises(OptionError, match=r"nmf='x' is not known. Use cd or anls"):
        learn_nonnegative(sample(20), nmf="x")
    with pytest.raises(OptionError, match=r"operators='x' is not known. Use shifted or selection"):
        learn_nonnegative(sample(20), operators="x")


@both
def test_data_that_cannot_be(learn):
    with pytest.raises(DataError, match="corpus without sequences"):
        learn([])
    with pytest.raises(BasisError, match="need the empty string among the suffixes"):
        learn(sample(20), basis="symbols")
    assert learn(sample(20), 2, basis=["symbols", "symbols+"]).model.training["basis"] == "symbols+"


def test_the_same_likelihood_as_the_spectral_one_at_one_state():
    """One state: what stops it is the only thing to learn, and all three agree about it."""
    rows = [["a"] * k for k in np.random.default_rng(1).geometric(0.4, 500) - 1]
    totals = [learn(rows, 1, basis="length:3").model.log_prob(rows).sum() for learn in (*LEARNERS, learn_spectral)]
    assert totals == pytest.approx([totals[0]] * 3, rel=0.01)
