"""The scikit-learn face: conventions, and the same numbers as the functional face."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from strategies import corpora

from momata.core.alphabet import STOP
from momata.core.corpus import Corpus
from momata.errors import DataError
from momata.estimators import NGramLearner
from momata.learn.ngram import learn_ngram

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
