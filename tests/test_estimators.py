"""The scikit-learn face: conventions, and the same numbers as the functional face."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from brute import assert_same_function
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from strategies import corpora

from momata.core.alphabet import STOP, Alphabet
from momata.core.basis import Basis
from momata.core.corpus import Corpus
from momata.core.probabilistic import random_pfa
from momata.errors import DataError, OptionError
from momata.estimators import EMLearner, NGramLearner, NonNegativeLearner, ResidualLearner, SpectralLearner
from momata.learn.em import learn_em
from momata.learn.ngram import learn_ngram
from momata.learn.nonnegative import learn_nonnegative, learn_residual
from momata.learn.result import Status
from momata.learn.selection import hold_out
from momata.learn.spectral import learn_spectral
from momata.predict.automaton_model import AutomatonModel

RAGGED = [["a", "b"], ["a"], [], ["b", "b", "a"], ["a", "b", "a", "b"], ["b"], ["a", "b"], ["b", "a", "b"]]


def test_parameters_are_those_of_the_constructor():
    learner = NGramLearner(order=2, smoothing="mkn", seed=3)
    assert learner.get_params() == {"order": 2, "smoothing": "mkn", "max_order": 12, "fraction": 0.1, "seed": 3}
    assert learner.set_params(order=4, fraction=0.2) is learner
    assert (learner.order, learner.fraction) == (4, 0.2)
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        learner.set_params(depth=2)
    assert "order=4" in repr(learner)


def test_clones_are_not_fitted_and_have_the_same_parameters():
    learner = NGramLearner(order=2).fit(RAGGED)
    twin = clone(learner)
    assert twin.get_params() == learner.get_params()
    assert not hasattr(twin, "language_model_")


@given(corpora(min_sequences=2, weights=True), st.sampled_from([None, 1, 3]), st.sampled_from(["kn", "mkn", "none"]))
def test_both_faces_give_equal_arrays(corpus, order, smoothing):
    learner = NGramLearner(order=order, smoothing=smoothing, max_order=3, seed=1)
    try:
        result = learn_ngram(corpus, order=order, smoothing=smoothing, max_order=3, seed=1)
    except DataError:
        if smoothing != "none":  # only frequencies may give held-out data nothing
            raise
        with pytest.raises(DataError, match="probability 0 under every order"):
            learner.fit(corpus)
        return
    learner.fit(corpus)
    model = result.model
    prefixes = [row[:1] for row in corpus]
    assert np.array_equal(learner.predict_proba(prefixes), model.next_symbols(prefixes))
    assert np.array_equal(learner.score_samples(corpus), model.log_prob(corpus))
    assert list(learner.sample(3, seed=4)) == list(model.sample(3, seed=4))
    assert learner.order_ == model.order
    assert learner.n_states_ == result.n_states
    assert learner.classes_ == [*model.alphabet, STOP]
    assert np.array_equal(learner.automaton_.operators, result.wfa.operators)
    names = [max(model.next_symbol(p).items(), key=lambda item: item[1])[0] for p in prefixes]
    assert learner.predict(prefixes) == names
    times = np.ones(len(corpus)) if corpus.weights is None else corpus.weights
    per_event = float((times * model.log_prob(corpus)).sum() / (times * (corpus.lengths + 1)).sum())
    assert learner.score(corpus) == pytest.approx(per_event, rel=1e-13)


def test_fit_returns_the_learner_and_ignores_y():
    learner = NGramLearner(order=2)
    assert learner.fit(RAGGED, y=[0] * len(RAGGED)) is learner
    assert learner.score(RAGGED, y=[0] * len(RAGGED)) == learner.score(RAGGED)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score", "score_samples"])
def test_asking_before_fitting_is_an_error(method):
    with pytest.raises(NotFittedError, match="NGramLearner"):
        getattr(NGramLearner(), method)(RAGGED)


def test_sampling_before_fitting_is_an_error():
    with pytest.raises(NotFittedError):
        NGramLearner().sample()


def test_grid_search_over_orders_on_ragged_lists():
    search = GridSearchCV(NGramLearner(), {"order": [1, 2, 3]}, cv=KFold(4)).fit(RAGGED)
    for order, mean in zip([1, 2, 3], search.cv_results_["mean_test_score"], strict=True):
        scores = []
        for train, test in KFold(4).split(RAGGED):
            model = learn_ngram([RAGGED[i] for i in train], order=order).model
            part = [RAGGED[i] for i in test]
            scores.append(model.log_prob(part).sum() / sum(len(row) + 1 for row in part))
        assert mean == pytest.approx(np.mean(scores), rel=1e-12)
    assert search.best_params_["order"] == 1 + int(np.argmax(search.cv_results_["mean_test_score"]))
    assert search.predict_proba([["a"]]).shape == (1, 4)


def test_cross_validation_on_strings_and_on_a_corpus():
    strings = ["".join(row) for row in RAGGED]
    scores = cross_val_score(NGramLearner(order=2), strings, cv=KFold(4))
    assert np.array_equal(scores, cross_val_score(NGramLearner(order=2), Corpus.from_sequences(strings), cv=KFold(4)))
    assert scores.shape == (4,)


def test_pipelines():
    pipeline = make_pipeline(
        FunctionTransformer(lambda X: [[s.upper() for s in row] for row in X]), NGramLearner(order=2)
    )
    assert isinstance(pipeline, Pipeline)
    pipeline.fit(RAGGED)
    plain = NGramLearner(order=2).fit([[s.upper() for s in row] for row in RAGGED])
    assert pipeline.score(RAGGED) == plain.score([[s.upper() for s in row] for row in RAGGED])
    assert pipeline.predict([["a"]]) == plain.predict([["A"]])
    assert pipeline.set_params(ngramlearner__order=1).fit(RAGGED)[-1].order_ == 1


def test_learners_can_be_pickled():
    learner = NGramLearner(order=2).fit(RAGGED)
    again = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(again.predict_proba(RAGGED), learner.predict_proba(RAGGED))


def test_cross_validation_keeps_the_weights():
    rows = [["a"] * (i % 4) + ["b"] * (i % 3) for i in range(40)]
    weights = np.arange(40) % 7 + 1
    repeated = [row for row, w in zip(rows, weights, strict=True) for _ in range(w)]
    folds = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    owner = np.repeat(np.arange(40), weights)
    same = [(np.flatnonzero(np.isin(owner, a)), np.flatnonzero(np.isin(owner, b))) for a, b in folds]
    weighted = Corpus.from_sequences(rows, weights=weights)
    one = cross_val_score(NGramLearner(order=2), weighted, cv=folds)
    two = cross_val_score(NGramLearner(order=2), repeated, cv=same)
    np.testing.assert_allclose(one, two, rtol=1e-12)
    assert not np.allclose(one, cross_val_score(NGramLearner(order=2), rows, cv=folds))


# ------------------------------------------------------------------ the spectral learner

STATISTICS = ["string", "prefix", "suffix", "substring"]


def batches(n: int = 3, seed: int = 0) -> list[list[tuple]]:
    """Sequences in parts; symbols b and c come in later parts only."""
    model = AutomatonModel(random_pfa(3, 3, seed, mean_length=4.0))
    known = ["a", "ac", "abc"]
    return [
        [tuple(known[min(i, 2)][x % len(known[min(i, 2)])] for x in row) for row in model.sample(100, seed + i)]
        for i in range(n)
    ]


def assert_same_automaton(one, other) -> None:
    """The same function of strings, whatever the order of symbols."""
    assert_same_function(one, other.over(one.alphabet), 4)
    assert set(one.alphabet) == set(other.alphabet)
    assert (one.n_states, one.statistic) == (other.n_states, other.statistic)


def test_spectral_parameters_are_those_of_the_constructor():
    basis = Basis.of(["", "a"], ["", "b"])
    learner = SpectralLearner(3, statistic=["string", "prefix"], basis=basis, svd="dense", seed=4)
    found = learner.get_params()
    expected = {
        "n_states": 3, "max_states": 40, "statistic": ["string", "prefix"], "basis": basis, "max_length": 4, "scaling": "roots",
        "operators": "shifted", "ends": "start", "svd": "dense", "select": "log_prob", "fraction": 0.1, "seed": 4,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    twin = clone(learner.fit(RAGGED))
    assert twin.get_params() == found
    assert not hasattr(twin, "automaton_")
    assert learner.get_params()["statistic"] is found["statistic"], "fitting leaves parameters as they are"
    assert learner.set_params(n_states="auto", basis="all").n_states == "auto"
    with pytest.raises(ValueError, match="Invalid parameter 'rank'"):
        learner.set_params(rank=2)


@settings(max_examples=15)
@given(corpora(min_sequences=1, max_length=4, weights=True), st.sampled_from(["auto", 2]), st.sampled_from(STATISTICS))
def test_both_faces_of_the_spectral_learner_give_equal_arrays(corpus, n_states, statistic):
    options = {
        "n_states": n_states,
        "max_states": 3,
        "statistic": statistic,
        "scaling": "sums",
        "fraction": 0.3,
        "seed": 1,
    }
    learner = SpectralLearner(**options)
    assert learner.fit(corpus, y=[0] * len(corpus)) is learner
    result = learn_spectral(corpus, **options)
    for name in ("initial", "final", "operators"):
        assert np.array_equal(getattr(learner.automaton_, name), getattr(result.wfa, name))
    prefixes = [row[:1] for row in corpus]
    assert np.array_equal(learner.predict_proba(prefixes), result.model.next_symbols(prefixes))
    assert np.array_equal(learner.score_samples(corpus), result.model.log_prob(corpus))
    assert list(learner.sample(3, seed=4)) == list(result.model.sample(3, seed=4))
    assert (learner.n_states_, learner.classes_) == (result.n_states, [*result.model.alphabet, STOP])
    assert learner.result_.curve == result.curve
    assert learner.predict(prefixes) == [learner.classes_[i] for i in learner.predict_proba(prefixes).argmax(axis=1)]


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score", "score_samples"])
def test_asking_the_spectral_learner_before_fitting_is_an_error(method):
    with pytest.raises(NotFittedError, match="SpectralLearner"):
        getattr(SpectralLearner(), method)(RAGGED)


def test_grid_search_over_states_on_ragged_lists():
    rows = [list(row) for row in batches()[2][:40]]
    search = GridSearchCV(SpectralLearner(seed=1), {"n_states": [1, 2, 3]}, cv=KFold(4)).fit(rows)
    for n, mean in zip([1, 2, 3], search.cv_results_["mean_test_score"], strict=True):
        scores = []
        for train, test in KFold(4).split(rows):
            model = learn_spectral([rows[i] for i in train], n, seed=1).model
            part = [rows[i] for i in test]
            scores.append(model.log_prob(part).sum() / sum(len(row) + 1 for row in part))
        assert mean == pytest.approx(np.mean(scores), rel=1e-12)
    assert search.best_params_["n_states"] == 1 + int(np.argmax(search.cv_results_["mean_test_score"]))
    assert search.best_estimator_.n_states_ == search.best_params_["n_states"]


def test_the_spectral_learner_in_a_pipeline():
    upper = FunctionTransformer(lambda X: [[s.upper() for s in row] for row in X])
    pipeline = make_pipeline(upper, SpectralLearner(n_states=2)).fit(RAGGED)
    plain = SpectralLearner(n_states=2).fit([[s.upper() for s in row] for row in RAGGED])
    assert pipeline.score(RAGGED) == plain.score([[s.upper() for s in row] for row in RAGGED])
    assert pipeline.predict([["a"]]) == plain.predict([["A"]])
    assert pipeline.set_params(spectrallearner__n_states=1).fit(RAGGED)[-1].n_states_ == 1
    strings = ["".join(row) for row in RAGGED]
    scores = cross_val_score(SpectralLearner(n_states=2), strings, cv=KFold(4))
    assert np.array_equal(scores, cross_val_score(SpectralLearner(n_states=2), RAGGED, cv=KFold(4)))


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_parts_learned_one_by_one_are_learned_as_one(statistic, order):
    """The automaton is that of all sequences together, with symbols that come later too."""
    parts = [batches()[i] for i in order]
    options = {"n_states": 3, "statistic": statistic, "basis": "all", "max_length": 2}
    together, learner = (
        SpectralLearner(**options).fit([row for part in parts for row in part]),
        SpectralLearner(**options),
    )
    for part in parts:
        assert learner.partial_fit(part) is learner
    assert_same_automaton(together.automaton_, learner.automaton_)
    s = together.result_.singular_values
    assert s[2] - s[3] > 1e-3 * s[0], "else three directions would not be well defined"
    assert set(learner.language_model_.alphabet) == set(together.language_model_.alphabet)
    held_out = [row for part in parts for row in hold_out(Corpus.from_sequences(part))[1]]
    assert list(learner.moments_[2]) == held_out
    probabilities = learner.predict_proba([row for part in parts for row in part][:20])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)


def test_parts_over_one_alphabet_give_equal_bits():
    corpus = AutomatonModel(random_pfa(3, 3, 0, mean_length=4.0)).sample(200, 0)
    learner = SpectralLearner(n_states=4)
    for start in range(0, 200, 50):
        learner.partial_fit(corpus[start : start + 50])
    together = SpectralLearner(n_states=4).fit(corpus)
    for name in ("initial", "final", "operators"):
        assert np.array_equal(getattr(learner.automaton_, name), getattr(together.automaton_, name))


def test_one_part_is_a_fit():
    rows = batches()[2]
    one, other = SpectralLearner(max_states=5).partial_fit(rows), SpectralLearner(max_states=5).fit(rows)
    assert one.result_.curve == other.result_.curve
    assert np.array_equal(one.score_samples(rows), other.score_samples(rows))
    assert np.array_equal(other.fit(rows).score_samples(rows), one.score_samples(rows)), "fitting starts anew"


def test_a_part_whose_real_weights_are_held_out():
    """The rest is whole by chance, and is judged without the backing that the model will not have either."""
    rows = ["ab", "b", "ba", "abb", "a", "bab"]
    drawn = hold_out(Corpus.from_sequences(rows))[1][0]
    corpus = Corpus.from_sequences(rows, weights=[0.5 if tuple(row) == drawn else 1.0 for row in rows])
    one, other = SpectralLearner(n_states=2).partial_fit(corpus), SpectralLearner(n_states=2).fit(corpus)
    assert one.result_.curve == other.result_.curve
    assert one.language_model_.backing is None
    assert np.array_equal(one.score_samples(rows), other.score_samples(rows))


def test_single_sequences_one_by_one():
    """Each is cut in two to choose by, and counted whole."""
    rows = batches()[2][:12]
    learner = SpectralLearner(n_states=3, basis="all", max_length=2)
    for row in rows:
        learner.partial_fit([row])
    together = SpectralLearner(n_states=3, basis="all", max_length=2).fit(rows)
    assert learner.result_.status is together.result_.status is Status.OK
    assert_same_automaton(together.automaton_, learner.automaton_)


def test_parts_with_weights():
    parts, options = batches(), {"n_states": 2, "basis": "all", "max_length": 2}
    real = Corpus.from_sequences(parts[1], weights=np.linspace(0.1, 2.0, 100))
    learner = SpectralLearner(**options).partial_fit(parts[0])
    assert learner.language_model_.backing is not None
    learner.partial_fit(real).partial_fit(parts[2])
    assert learner.language_model_.backing is None
    together = Corpus.concatenate([Corpus.from_sequences(parts[0]), real, Corpus.from_sequences(parts[2])])
    assert_same_automaton(SpectralLearner(**options).fit(together).automaton_, learner.automaton_)


def test_an_alphabet_stays_closed_until_a_new_symbol_comes():
    learner = SpectralLearner(n_states=1).partial_fit(Corpus.from_sequences(["ab", "b"], Alphabet("ab", closed=True)))
    assert learner.language_model_.alphabet.symbols == ("a", "b")
    assert learner.partial_fit(["ba", "a"]).language_model_.alphabet.symbols == ("a", "b")
    grown = learner.partial_fit(["ca", "a"]).language_model_.alphabet
    assert grown.symbols == ("a", "b", "c", "<unk>")
    assert not grown.closed


def test_parts_that_cannot_be_learned_from():
    with pytest.raises(DataError, match="a corpus without sequences cannot be learned from"):
        SpectralLearner().partial_fit([])
    learner = SpectralLearner(n_states=1).partial_fit(RAGGED)
    with pytest.raises(OptionError, match="cannot be merged"):
        learner.set_params(max_length=2).partial_fit(RAGGED)


def test_the_spectral_learner_can_be_pickled_and_goes_on():
    parts = batches()
    learner = SpectralLearner(n_states=2).partial_fit(parts[0])
    again = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(again.predict_proba(parts[0]), learner.predict_proba(parts[0]))
    one, other = (one.partial_fit(parts[1]).automaton_.operators for one in (learner, again))
    assert np.array_equal(one, other)


# ---------------------------------------------------------------------- EM


@pytest.mark.parametrize("options", [{}, {"tied": True, "prior": 0.5}, {"hard": True}, {"init": "spectral"}], ids=str)
def test_em_gives_equal_arrays_by_both_faces(options):
    options = {"n_states": 3, "n_steps": 18, "restarts": 2, "seed": 2} | options
    learner = EMLearner(**options)
    assert learner.fit(RAGGED) is learner
    result = learn_em(RAGGED, **options)
    assert np.array_equal(learner.automaton_.operators, result.wfa.operators)
    assert np.array_equal(learner.predict_proba(RAGGED), result.model.next_symbols(RAGGED))
    assert np.array_equal(learner.score_samples(RAGGED), result.model.log_prob(RAGGED))
    assert (learner.n_states_, learner.result_.status) == (3, result.status)
    assert learner.classes_ == [*result.model.alphabet, STOP]
    assert learner.result_.trace == result.trace


def test_parameters_of_em_are_those_of_the_function():
    import inspect

    ours = {n: p.default for n, p in inspect.signature(learn_em).parameters.items()}
    for name in ("data", "valid", "callback", "keep", "resume"):
        del ours[name]
    assert EMLearner().get_params() == ours
    assert clone(EMLearner(n_states=4, tied=True)).get_params() == ours | {"n_states": 4, "tied": True}


def test_em_before_fitting_and_what_it_refuses():
    with pytest.raises(NotFittedError, match="EMLearner"):
        EMLearner().predict(RAGGED)
    with pytest.raises(OptionError, match="n_states=0"):
        EMLearner(n_states=0).fit(RAGGED)
    with pytest.raises(DataError, match="a corpus without sequences"):
        EMLearner().fit([])


def test_em_in_a_grid_and_pickled():
    search = GridSearchCV(EMLearner(n_steps=4, restarts=1), {"n_states": [1, 2]}, cv=KFold(2)).fit(RAGGED)
    means = search.cv_results_["mean_test_score"]
    assert np.all(np.isfinite(means))
    assert search.best_params_["n_states"] == 1 + int(np.argmax(means))
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(again.predict_proba(RAGGED), search.predict_proba(RAGGED))


# ------------------------------------------------------------------ the non-negative learners


FACES = [(NonNegativeLearner, learn_nonnegative), (ResidualLearner, learn_residual)]


@pytest.mark.parametrize(("learner", "learn"), FACES)
def test_non_negative_learners_have_the_parameters_of_their_functions(learner, learn):
    expected = {name: p.default for name, p in inspect.signature(learn).parameters.items()}
    for name in ("data", "valid", "callback"):
        del expected[name]
    assert learner().get_params() == expected
    one = learner(3, statistic=["string", "prefix"], seed=4).fit(RAGGED)
    twin = clone(one)
    assert twin.get_params() == one.get_params()
    assert not hasattr(twin, "automaton_")
    with pytest.raises(NotFittedError, match=learner.__name__):
        twin.predict_proba(RAGGED)


@settings(max_examples=15)
@given(
    corpora(min_sequences=1, max_length=4, weights=True), st.sampled_from(FACES), st.sampled_from(["auto", 2]),
    st.sampled_from(["prefix", "substring"]),
)  # fmt: skip
def test_both_faces_of_non_negative_learners_give_equal_arrays(corpus, faces, n_states, statistic):
    options = {"n_states": n_states, "max_states": 3, "statistic": statistic, "scaling": "sums", "seed": 1}
    learner = faces[0](**options)
    assert learner.fit(corpus, y=[0] * len(corpus)) is learner
    result = faces[1](corpus, **options)
    for name in ("initial", "final", "operators"):
        assert np.array_equal(getattr(learner.automaton_, name), getattr(result.wfa, name))
    assert learner.automaton_.is_probabilistic()
    prefixes = [row[:1] for row in corpus]
    assert np.array_equal(learner.predict_proba(prefixes), result.model.next_symbols(prefixes))
    assert np.array_equal(learner.score_samples(corpus), result.model.log_prob(corpus))
    assert learner.result_.curve == result.curve
    assert (learner.n_states_, learner.classes_) == (result.n_states, [*result.model.alphabet, STOP])


@pytest.mark.parametrize("learner", [NonNegativeLearner(2), ResidualLearner(2), NonNegativeLearner(2, polish=2)])
def test_non_negative_learners_in_scikit_learn(learner):
    scores = cross_val_score(learner, RAGGED, cv=KFold(4))
    assert scores.shape == (4,)
    assert np.all(scores < 0)
    again = pickle.loads(pickle.dumps(learner.fit(RAGGED)))
    assert np.array_equal(again.predict_proba(RAGGED), learner.predict_proba(RAGGED))
    assert list(again.sample(3, seed=1)) == list(learner.sample(3, seed=1))
