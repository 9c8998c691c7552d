"""The spectral learner: exact from exact blocks, consistent from samples, chosen on held-out data."""

from __future__ import annotations

import json

import numpy as np
import pytest
from brute import all_strings, assert_same_function
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import corpora, stochastic_wfas, wfas

from momata.core.algebra import minimise
from momata.core.alphabet import UNKNOWN, Alphabet
from momata.core.basis import Basis, select_basis
from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes
from momata.core.hankel import HankelBlocks, estimate_hankel, exact_blocks, hankel_from_table
from momata.core.probabilistic import random_hmm, random_pdfa, random_pfa
from momata.core.wfa import WFA, convert
from momata.errors import AlphabetError, BasisError, DataError, OptionError
from momata.learn.factors import rank_path
from momata.learn.ngram import learn_ngram
from momata.learn.result import Status
from momata.learn.selection import hold_out
from momata.learn.spectral import MUCH_NEGATIVE, learn_spectral, several
from momata.predict.automaton_model import AutomatonModel, choose_share
from momata.predict.metrics import evaluate

STATISTICS = ["string", "prefix", "suffix", "substring"]
SCALINGS = ["none", "roots", "sums", "counts"]
ENDS = ["start", "lemma", "observed"]
SVDS = ["auto", "dense", "arpack", "random"]
statistics, scalings = st.sampled_from(STATISTICS), st.sampled_from(SCALINGS)
ends, svds = st.sampled_from(ENDS), st.sampled_from(SVDS)


def sample(n: int = 300, seed: int = 0) -> Corpus:
    target = random_pfa(3, 3, seed, mean_length=4.0)
    corpus = AutomatonModel(target).sample(n, seed)
    return Corpus(corpus.tokens, corpus.offsets, Alphabet("abc"))


def words(wfa: WFA, longest: int) -> list[tuple]:
    return list(all_strings(wfa.alphabet, longest))


# ------------------------------------------------------------------ exact blocks


@st.composite
def whole_bases(draw, alphabet: Alphabet) -> Basis:
    """All strings up to a length; some prefixes and what follows them; some suffixes and their ends; any strings."""
    strings = list(all_strings(alphabet, 2))
    kind = draw(st.sampled_from(["all", "p-closed", "suffix-closed", "any"]))
    if kind == "all":
        return Basis.of(strings, strings)
    pool = strings if kind != "any" else list(all_strings(alphabet, 3))
    some = st.lists(st.sampled_from(pool), min_size=min(4, len(pool)), max_size=8, unique=True)
    basis = Basis.of(draw(some), draw(some))
    if kind == "p-closed":
        return basis.p_closure(alphabet)
    return basis.suffix_closure() if kind == "suffix-closed" else basis


def exact(wfa: WFA, statistic: str, basis: Basis | None = None) -> HankelBlocks:
    return exact_blocks(convert(wfa, statistic), basis or Basis.of(words(wfa, 2), words(wfa, 2)))


def tells_states_apart(blocks: HankelBlocks, rank: int) -> bool:
    """Rounding is amplified by the inverse of the least singular value, and again by each of six symbols."""
    values = np.linalg.svd(blocks.hankel, compute_uv=False)
    return rank <= values.size and values[rank - 1] > 1e-4 * values[0]


@given(stochastic_wfas(max_states=3, max_symbols=2), statistics, scalings, ends, svds, st.data())
def test_exact_blocks_give_back_the_function(wfa, statistic, scaling, ends, svd, data):
    blocks = exact(wfa, statistic, data.draw(whole_bases(wfa.alphabet)))
    rank = minimise(wfa).n_states
    assume(tells_states_apart(blocks, rank))
    result = learn_spectral(blocks, rank, scaling=scaling, ends=ends, svd=svd)
    assert (result.status, result.n_states, result.statistic) == (Status.OK, rank, statistic)
    assert result.singular_values.shape == (min(rank + 1, *blocks.shape),)
    assert_same_function(convert(wfa, result.wfa.statistic), result.wfa)
    assert_same_function(wfa, convert(result.wfa, "string"))


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("draw", [random_pfa, random_pdfa, lambda *a, **k: random_hmm(*a, **k).to_pfa()])
def test_every_kind_of_automaton_in_every_way(draw, scaling, statistic):
    wfa = draw(3, 2, 1, mean_length=3.0)
    blocks, rank = exact(wfa, statistic), minimise(wfa).n_states
    assert tells_states_apart(blocks, rank)
    for ends in ENDS:
        for svd in SVDS:
            for n in (rank, rank + 2, "auto"):
                result = learn_spectral(blocks, n, scaling=scaling, ends=ends, svd=svd)
                assert result.status is (Status.RANK_DEFICIENT if n == rank + 2 else Status.OK)
                assert result.n_states == result.wfa.n_states == rank
                assert_same_function(convert(wfa, result.wfa.statistic), result.wfa)


@given(stochastic_wfas(max_states=3, max_symbols=2), statistics, scalings, st.integers(1, 30))
def test_more_states_than_the_rank_are_not_found_and_break_nothing(wfa, statistic, scaling, more):
    blocks, rank = exact(wfa, statistic), minimise(wfa).n_states
    assume(tells_states_apart(blocks, rank))
    result = learn_spectral(blocks, rank + more, scaling=scaling)
    assert (result.status, result.n_states) == (Status.RANK_DEFICIENT, rank)
    assert_same_function(wfa, convert(result.wfa, "string"))


@given(wfas(max_states=3, max_symbols=2), scalings, svds)
def test_automata_with_weights_of_both_signs(wfa, scaling, svd):
    """No distribution, so only the function itself; sums of cells may be negative, and weights may grow."""
    blocks = exact_blocks(wfa, Basis.of(words(wfa, 2), words(wfa, 2)))
    assume(blocks.hankel.any())
    minimal = minimise(wfa)
    assume(tells_states_apart(blocks, minimal.n_states))
    result = learn_spectral(blocks, minimal.n_states, scaling=scaling, svd=svd, ends="lemma")
    assert result.status is (Status.OK if minimal.is_summable() else Status.NOT_SUMMABLE)
    assert_same_function(wfa, result.wfa)


@given(stochastic_wfas(max_states=3, max_symbols=2), statistics, scalings)
def test_operators_by_selection_are_exact_over_all_strings_up_to_a_length(wfa, statistic, scaling):
    """Suffixes up to length 3, so that those of length 2, which tell the states apart, have one symbol more."""
    blocks = exact(wfa, statistic, Basis.of(words(wfa, 2), words(wfa, 3)))
    rank = minimise(wfa).n_states
    assume(tells_states_apart(blocks, rank))
    assume(tells_states_apart(exact(wfa, statistic), rank))
    result = learn_spectral(blocks, rank, scaling=scaling, operators="selection")
    assert result.status is Status.OK
    assert_same_function(convert(wfa, result.wfa.statistic), result.wfa)


# ------------------------------------------------------------------ figure 1 of the forward-backward paper

FIGURE_ROWS = ["", "a", "b", "aa", "ab", "ba", "bb"]
FIGURE = np.array([
    [0.00, 0.20, 0.14, 0.22, 0.15, 0.45, 0.31],
    [0.20, 0.22, 0.45, 0.19, 0.29, 0.45, 0.85],
    [0.14, 0.15, 0.31, 0.13, 0.20, 0.32, 0.58],
]).T  # fmt: skip
FIGURE_WFA = WFA([1 / 2, 1 / 2], [1, -1], [[[3 / 4, 0], [0, 1 / 3]], [[6 / 5, 2 / 3], [3 / 4, 1]]], Alphabet("ab"))


def function_of(wfa: WFA) -> np.ndarray:
    return np.array([[wfa.weight(p + s) for s in ["", "a", "b"]] for p in FIGURE_ROWS])


def test_figure_1_is_read_and_has_two_states_to_its_printing_precision():
    """The paper cuts each cell after two digits: it is off by less than 0.01, and as a matrix by no more than its root sum."""
    assert np.array_equal(np.floor(100 * function_of(FIGURE_WFA) + 1e-9) / 100, FIGURE)
    blocks = hankel_from_table(FIGURE, FIGURE_ROWS, ["", "a", "b"], "ab")
    assert blocks.basis == Basis.of(["", "a", "b"], ["", "a", "b"])
    for table in (FIGURE, blocks.hankel):
        values = np.linalg.svd(table, compute_uv=False)
        off = 0.005 * np.sqrt(table.size)  # of a table that is right in the middle of what was cut off
        assert values[2] < off < values[1]


@pytest.mark.parametrize("scaling", SCALINGS)
def test_figure_1_is_learned_from(scaling):
    """From the printed table two states give every cell to two units of its last digit; from the whole cells, exactly."""
    blocks = hankel_from_table(FIGURE, FIGURE_ROWS, ["", "a", "b"], "ab")
    result = learn_spectral(blocks, 2, scaling=scaling)
    assert (result.n_states, result.singular_values.size) == (2, 3)
    assert result.status is Status.NOT_SUMMABLE  # the radius of the paper's example is 2.4, and it says so
    assert np.abs(function_of(result.wfa) - FIGURE).max() < 0.02
    assert result.wfa.spectral_radius == pytest.approx(FIGURE_WFA.spectral_radius, rel=0.02)
    whole = hankel_from_table(function_of(FIGURE_WFA), FIGURE_ROWS, ["", "a", "b"], "ab")
    assert_same_function(FIGURE_WFA, learn_spectral(whole, 2, scaling=scaling).wfa)
    assert learn_spectral(whole, "auto", scaling=scaling).n_states == 2


# ------------------------------------------------------------------ samples


@pytest.mark.compiled
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("scaling", ["none", "roots"])
def test_the_error_falls_like_the_root_of_the_sample(statistic, scaling):
    target = random_pfa(3, 2, seed=2, mean_length=3.0)
    model, basis, strings = AutomatonModel(target), Basis.of(words(target, 2), words(target, 2)), words(target, 6)
    sizes, errors = [1000, 4000, 16000, 64000], []
    for n in sizes:
        found = []
        for seed in range(8):
            blocks = estimate_hankel(model.sample(n, seed), basis, statistic)
            wfa = convert(learn_spectral(blocks, 3, scaling=scaling).wfa, "string")
            found.append(np.linalg.norm(wfa.weights(strings) - target.weights(strings)))
        errors.append(np.mean(found))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.7 < slope < -0.3, errors


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    "options", [{}, {"scaling": "sums", "ends": "observed"}, {"operators": "selection", "basis": "length:2"}]
)
def test_the_automaton_is_that_of_all_data(statistic, options):
    """What is held out chooses, and nothing else."""
    corpus = sample()
    basis = select_basis(corpus, options.get("basis", "top:400"), 4, statistic)
    how = {name: value for name, value in options.items() if name != "basis"}
    for n in (1, 3, 6):
        path = rank_path(estimate_hankel(corpus, basis, statistic), n, **how)
        result = learn_spectral(corpus, n, statistic=statistic, **options)
        for name in ("initial", "final", "operators"):
            assert np.array_equal(getattr(result.wfa, name), getattr(path.automaton(n), name))
        assert np.array_equal(result.singular_values, path.singular_values)
        assert (result.wfa.statistic, result.statistic, result.n_states) == (path.statistic, statistic, n)


def test_the_curve_is_that_of_the_part_to_learn_from():
    """Each entry against a model put together by hand; the best one is learned again from everything."""
    corpus = sample()
    result = learn_spectral(corpus, max_states=6, basis="top:60", fraction=0.2, seed=3)
    train, held_out = hold_out(corpus, 0.2, 3)
    open_train, open_held_out, whole = (c.recode(corpus.alphabet.with_unknown()) for c in (train, held_out, corpus))
    orders = [learn_ngram(open_train, order).model for order in range(1, 7)]
    order = 1 + int(np.argmax([model.log_prob(open_held_out).sum() for model in orders]))
    path = rank_path(estimate_hankel(train, select_basis(train, "top:60")), 6)
    assert [entry["n_states"] for entry in result.curve] == [1, 2, 3, 4, 5, 6]
    models = []
    for entry in result.curve:
        automaton = AutomatonModel(path.automaton(entry["n_states"]), orders[order - 1])
        models.append(choose_share(automaton, count_prefixes(open_held_out)))
        expected = models[-1].log_prob(open_held_out).sum()
        assert entry["validation_log_prob"] == pytest.approx(expected, rel=1e-10)
        perplexity = np.exp(-expected / (held_out.n_tokens + len(held_out)))
        assert entry["validation_perplexity_per_symbol"] == pytest.approx(perplexity, rel=1e-10)
    best = int(np.argmax([entry["validation_log_prob"] for entry in result.curve]))
    assert result.n_states == result.model.n_states == best + 1
    assert (result.model.share, result.model.distrust) == (models[best].share, models[best].distrust)
    again = rank_path(estimate_hankel(corpus, select_basis(corpus, "top:60")), best + 1).automaton(best + 1)
    by_hand = AutomatonModel(again, learn_ngram(whole, order).model, models[best].share, models[best].distrust)
    assert np.array_equal(result.model.log_prob(corpus), by_hand.log_prob(corpus))


def test_the_result_says_what_was_done():
    seen: list[dict] = []
    corpus = sample(100)
    result = learn_spectral(corpus, max_states=4, basis="length:2", seed=5, callback=seen.append)
    assert (result.method, result.statistic, result.status) == ("spectral", "substring", Status.OK)
    assert seen == result.curve == result.model.training["curve"]
    assert set(seen[0]) == {
        "n_states", "validation_log_prob", "validation_perplexity_per_symbol", "backing_share", "distrust", "negative_mass",
    }  # fmt: skip
    expected = {
        "method": "spectral", "statistic": "substring", "basis": "length:2", "max_length": 4, "scaling": "roots",
        "operators": "shifted", "ends": "start", "select": "log_prob", "seed": 5,
        "n_sequences": 100, "n_tokens": corpus.n_tokens,
    }  # fmt: skip
    assert {name: result.model.training[name] for name in expected} == expected
    json.dumps(result.model.training, allow_nan=False)
    assert set(result.seconds) == {"count", "select", "factorise"}
    assert all(s >= 0 for s in result.seconds.values())
    assert result.singular_values.size == result.n_states + 1
    assert "spectral" in repr(result)


def test_a_fixed_number_of_states_has_a_curve_of_one():
    result = learn_spectral(sample(), 3)
    assert [entry["n_states"] for entry in result.curve] == [3]
    assert result.n_states == 3


def test_the_same_seed_gives_the_same_bits():
    corpus = sample()
    one, two, other = (learn_spectral(corpus, max_states=5, basis="sample:40", svd="random", seed=s) for s in (1, 1, 2))
    assert one.curve == two.curve != other.curve
    assert np.array_equal(one.wfa.operators, two.wfa.operators)
    assert np.array_equal(one.model.log_prob(corpus), two.model.log_prob(corpus))
    assert not np.array_equal(one.model.log_prob(corpus), other.model.log_prob(corpus))


@settings(max_examples=15)
@given(corpora(min_sequences=1, max_length=4, weights=True), statistics, st.sampled_from(["auto", 1, 3]), ends)
def test_the_model_is_a_proper_distribution(corpus, statistic, n_states, ends):
    """Whatever the status; tiny corpora reach all of them. No sequence is longer than a prefix and a suffix of the basis."""
    result = learn_spectral(corpus, n_states, max_states=4, statistic=statistic, ends=ends)
    assert result.status in Status
    after = np.asarray(result.model.next_symbols([*all_strings(corpus.alphabet, 2), *corpus]))
    assert np.all(after > 0)
    np.testing.assert_allclose(after.sum(axis=1), 1.0, atol=1e-12)
    assert np.all(np.isfinite(result.model.log_prob(corpus)))


# ------------------------------------------------------------------ choosing


def test_held_out_data_of_ones_own():
    corpus, valid = sample(), sample(80, seed=7)
    result = learn_spectral(corpus, max_states=5, valid=valid)
    path = rank_path(estimate_hankel(corpus, select_basis(corpus, "top:400")), 5)
    order = learn_ngram(corpus, valid=valid, max_order=6).model.order
    backing = learn_ngram(corpus, order).model
    for entry in result.curve:
        model = choose_share(
            AutomatonModel(path.automaton(entry["n_states"]), backing), count_prefixes(backing.encode(valid))
        )
        assert entry["validation_log_prob"] == pytest.approx(model.log_prob(valid).sum(), rel=1e-10)
    best = max(result.curve, key=lambda entry: entry["validation_log_prob"])
    assert best["validation_log_prob"] == pytest.approx(result.model.log_prob(valid).sum(), rel=1e-10)
    assert result.n_states == best["n_states"]


def test_unknown_symbols_in_held_out_data():
    """Over an open alphabet they get a share; a closed one has none for them."""
    corpus = sample(50)
    plain, odd = (learn_spectral(corpus, 2, valid=[[*"ab"], [*"c", last]]) for last in "ax")
    assert np.isfinite(odd.curve[0]["validation_log_prob"])
    assert odd.curve[0]["validation_log_prob"] < plain.curve[0]["validation_log_prob"]
    assert odd.model.alphabet.symbols == ("a", "b", "c", UNKNOWN)
    closed = corpus.recode(Alphabet("abc", closed=True))
    assert learn_spectral(closed, 2, valid=["ab"]).model.alphabet.symbols == ("a", "b", "c")
    with pytest.raises(AlphabetError, match=r"symbol 'x' \(sequence 1, symbol 2\), which training lacks"):
        learn_spectral(closed, 2, valid=["ax"])
    with pytest.raises(DataError, match="held-out data without sequences"):
        learn_spectral(corpus, 2, valid=[])


def test_several_options_are_tried_in_all_combinations_and_named():
    corpus = sample()
    own = Basis.of(["", "a"], ["", "b", "c"])
    how = {"statistic": ("string", "substring"), "basis": ("top:40", own), "scaling": ["none", "sums"]}
    result = learn_spectral(corpus, max_states=2, **how)
    tried = [tuple(entry[name] for name in ("statistic", "basis", "scaling", "n_states")) for entry in result.curve]
    assert tried == [
        (statistic, basis, scaling, n)
        for statistic in ("string", "substring")
        for basis in ("top:40", "Basis(2 prefixes, 3 suffixes)")
        for scaling in ("none", "sums")
        for n in (1, 2)
    ]
    best = max(result.curve, key=lambda entry: entry["validation_log_prob"])
    assert len({entry["validation_log_prob"] for entry in result.curve}) > 8
    training = result.model.training
    assert (result.statistic, result.n_states) == (best["statistic"], best["n_states"])
    assert [training[name] for name in ("statistic", "basis", "scaling")] == [
        best[name] for name in ("statistic", "basis", "scaling")
    ]
    for entry in result.curve[::3]:
        one = {**how, "statistic": entry["statistic"], "scaling": entry["scaling"]}
        one["basis"] = own if entry["basis"].startswith("Basis") else entry["basis"]
        alone = learn_spectral(corpus, entry["n_states"], **one)
        # bases are of different lengths, so that counts differ in depth, and nothing else
        assert alone.curve[0]["validation_log_prob"] == pytest.approx(entry["validation_log_prob"], rel=1e-10)
    chosen = {**how, **{name: best[name] for name in ("statistic", "scaling")}}
    chosen["basis"] = own if best["basis"].startswith("Basis") else best["basis"]
    alone = learn_spectral(corpus, best["n_states"], **chosen)
    assert np.array_equal(alone.wfa.operators, result.wfa.operators)


def test_only_what_has_several_values_is_named():
    curve = learn_spectral(sample(60), 2, scaling=["none", "sums"], statistic=["string"], basis="symbols+").curve
    assert [entry["scaling"] for entry in curve] == ["none", "sums"]
    assert "statistic" not in curve[0]
    assert "basis" not in curve[0]


def test_the_status_is_that_of_the_combination_chosen():
    """All have two states; string statistics have hardly any negative mass here, and substrings much."""
    rows = ["aaaa", "aaa", "aaa", "", "aaa", "aa", "aaaa", "", "aaa"]
    for order in (("string", "substring"), ("substring", "string")):
        result = learn_spectral(rows, 2, statistic=order, basis="top:10")
        assert {e["negative_mass"] > MUCH_NEGATIVE for e in result.curve} == {True, False}
        chosen = max(result.curve, key=lambda e: e["validation_log_prob"])
        assert result.statistic == chosen["statistic"]
        much = chosen["negative_mass"] > MUCH_NEGATIVE
        assert (result.status is Status.NEGATIVE_WEIGHTS) == much


def test_by_word_errors():
    corpus = sample()
    held_out = hold_out(corpus, 0.1, 0)[1]
    result = learn_spectral(corpus, max_states=6, basis="symbols+", select="wer")
    errors = [(entry["validation_wer"], -entry["validation_log_prob"]) for entry in result.curve]
    assert len(set(errors)) > 1
    assert result.n_states == result.curve[errors.index(min(errors))]["n_states"]
    n_wrong = np.array(errors)[:, 0] * (held_out.n_tokens + len(held_out)) / 100
    np.testing.assert_allclose(n_wrong, np.rint(n_wrong), atol=1e-9)
    assert result.model.training["select"] == "wer"
    valid = learn_spectral(corpus, 3, select="wer", valid=held_out)
    assert valid.curve[0]["validation_wer"] == pytest.approx(evaluate(valid.model, held_out)["wer"], rel=1e-12)


# ------------------------------------------------------------------ ugly samples


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    "rows", [["abab"], ["a"], [""], ["", "", ""], ["aaa", "a", ""], ["ab", "ba"], ["a", "b"]], ids=repr
)
def test_tiny_samples(rows, statistic):
    """A single sequence is cut in two to choose by; empty ones leave nothing but their end."""
    for n_states in ("auto", 1, 2, 50):
        result = learn_spectral(rows, n_states, statistic=statistic)
        assert result.n_states <= 15
        assert np.all(np.isfinite(result.model.log_prob(rows)))
        if not "".join(rows):
            assert result.n_states == 1
            assert np.exp(result.model.log_prob([""])[0]) > 0.5
        if n_states == 50:
            assert result.status in (Status.RANK_DEFICIENT, Status.NOT_SUMMABLE)
            assert result.wfa.n_states == result.n_states < 50


def test_a_state_that_only_the_held_out_part_shows():
    """What is asked for is learned from all data, whose rank is larger."""
    rows = ["a"] * 9 + ["ba"]
    seed = next(s for s in range(50) if ("b", "a") in list(hold_out(Corpus.from_sequences(rows), 0.1, s)[1]))
    result = learn_spectral(rows, 3, seed=seed)
    assert result.curve[0]["n_states"] == 2
    assert (result.n_states, result.status) == (3, Status.OK)
    alone = rank_path(estimate_hankel(rows, select_basis(rows, "top:400")), 3).automaton(3)
    assert np.array_equal(result.wfa.operators, alone.operators)


def test_symbols_that_never_occur():
    corpus = Corpus.from_sequences(["ab", "ba", "aab"] * 5, Alphabet("xaby", closed=True))
    result = learn_spectral(corpus, 2)
    assert result.wfa.alphabet is corpus.alphabet
    assert not result.wfa.operators[[0, 3]].any()
    assert np.all(result.model.next_symbols([""]) > 0)


def test_weights_are_multiplicities():
    rows, weights = ["ab", "abb", "", "ba", "b"], [4, 2, 3, 1, 2]
    weighted = Corpus.from_sequences(rows, weights=weights)
    repeated = Corpus.from_sequences([row for row, w in zip(rows, weights, strict=True) for _ in range(w)])
    valid = ["ab", "b"]
    one, other = (learn_spectral(c, max_states=3, valid=valid) for c in (weighted, repeated))
    assert np.array_equal(one.wfa.operators, other.wfa.operators)
    assert one.curve == other.curve
    assert np.array_equal(one.model.log_prob(rows), other.model.log_prob(rows))


def test_real_weights_have_no_backing():
    corpus = sample(60)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(corpus))
    corpus = Corpus(corpus.tokens, corpus.offsets, corpus.alphabet, weights)
    result = learn_spectral(corpus, max_states=3)
    assert result.model.backing is None
    assert result.model.share > 0, "a share of the uniform distribution instead"
    assert result.model.alphabet.symbols == ("a", "b", "c")
    path = rank_path(estimate_hankel(corpus, select_basis(corpus, "top:400")), result.n_states)
    assert np.array_equal(result.wfa.operators, path.automaton(result.n_states).operators)


def test_real_weights_of_what_is_held_out_alone():
    """The rest has whole numbers by chance: it is judged without the backing that the model will not have either."""
    rows = ["ab", "b", "ba", "abb", "a", "bab"]
    drawn = hold_out(Corpus.from_sequences(rows))[1][0]
    corpus = Corpus.from_sequences(rows, weights=[0.5 if tuple(row) == drawn else 1.0 for row in rows])
    train, part = hold_out(corpus)
    assert part.weights.tolist() == [0.5]
    result = learn_spectral(corpus, 2)
    assert result.model.backing is None
    alone = AutomatonModel(rank_path(estimate_hankel(train, select_basis(train, "top:400")), 2).automaton(2))
    expected = choose_share(alone, count_prefixes(part))
    assert (result.model.share, result.model.distrust) == (expected.share, expected.distrust)
    assert result.curve[0]["validation_log_prob"] == pytest.approx(0.5 * expected.log_prob(part)[0], rel=1e-12)


@pytest.mark.parametrize(
    ("rows", "n_states", "statistic", "status"),
    [
        (["aaaaaaa", "aaaaaaaa"], 2, "string", Status.NOT_SUMMABLE),
        (["aaa", ""], 2, "substring", Status.NEGATIVE_WEIGHTS),
        (["aaaaaaa", "aaaaaaaa"], 6, "substring", Status.RANK_DEFICIENT),
        (["ab", "abab", ""] * 20, 2, "substring", Status.OK),
    ],
)
def test_statuses(rows, n_states, statistic, status):
    result = learn_spectral(rows, n_states, statistic=statistic)
    assert result.status is status
    assert result.wfa.is_summable() == (status is not Status.NOT_SUMMABLE)
    assert (result.curve[0]["negative_mass"] > MUCH_NEGATIVE) == (status is Status.NEGATIVE_WEIGHTS)
    assert (result.n_states < n_states) == (status is Status.RANK_DEFICIENT)
    assert np.all(np.isfinite(result.model.log_prob(rows)))


# ------------------------------------------------------------------ blocks


def test_counted_blocks_are_learned_from_as_they_are():
    corpus = sample()
    blocks = estimate_hankel(corpus, select_basis(corpus, "top:30"))
    result = learn_spectral(blocks, 3, scaling="sums")
    assert (result.method, result.n_states, result.status) == ("spectral", 3, Status.OK)
    assert np.array_equal(result.wfa.operators, rank_path(blocks, 3, "sums").automaton(3).operators)
    assert (result.curve, result.model.backing, set(result.seconds)) == ([], None, {"factorise"})
    assert result.model.training == {"method": "spectral", "statistic": "substring", "scaling": "sums"}
    with pytest.raises(OptionError, match="n_states='auto' needs held-out data, and these blocks were counted"):
        learn_spectral(blocks)
    deficient = learn_spectral(blocks, 31)
    assert deficient.n_states <= 30
    assert deficient.status in (Status.RANK_DEFICIENT, Status.NOT_SUMMABLE)


def test_counted_blocks_with_much_negative_mass():
    rows = ["a", "aaaaa", "aaaaaa"]
    result = learn_spectral(estimate_hankel(rows, select_basis(rows, "all", statistic="string"), "string"), 2)
    assert result.wfa.is_summable()
    assert result.model.negative_mass() > 3 * MUCH_NEGATIVE
    assert result.status is Status.NEGATIVE_WEIGHTS


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_states": 0}, "n_states=0: an automaton has at least 1 state. Or use 'auto'"),
        ({"n_states": -2}, "n_states=-2"),
        ({"n_states": 2.5}, r"n_states=2\.5 is not a whole number"),
        ({"n_states": "many"}, "n_states='many' is not a whole number"),
        ({"n_states": True}, "n_states=True is not a whole number"),
        ({"max_states": 0}, "max_states=0: an automaton has at least 1 state"),
        ({"statistic": "factor"}, "statistic='factor' is not known"),
        ({"statistic": ("string", "x")}, "statistic='x' is not known"),
        ({"statistic": ()}, "need one value each"),
        ({"basis": []}, "need one value each"),
        ({"basis": "top"}, "basis='top' is not known"),
        ({"scaling": ()}, "need one value each"),
        ({"scaling": "x"}, "scaling='x' is not known"),
        ({"operators": "x"}, "operators='x' is not known"),
        ({"ends": "x"}, "ends='x' is not known"),
        ({"svd": "x"}, "svd='x' is not known"),
        ({"select": "x"}, "select='x' is not known"),
        ({"max_length": -1}, "max_length=-1"),
        ({"fraction": 1.0}, "cannot be held out"),
        ({"seed": "x"}, "seed='x' is no seed"),
    ],
    ids=str,
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(OptionError, match=message):
        learn_spectral(["ab", "b", "a"], **options)


def test_data_that_cannot_be_learned_from():
    with pytest.raises(DataError, match="a corpus without sequences cannot be learned from"):
        learn_spectral([])
    with pytest.raises(BasisError, match=r"'x' in the basis string .* is not in the alphabet of 2 symbols"):
        learn_spectral(["ab"], 1, basis=Basis.of(["", "x"], [""]))
    with pytest.raises(BasisError, match=r"is all 0, so nothing can be learned from it. Select a larger basis"):
        learn_spectral(["a", "b"] * 3, 1, statistic="string", basis="symbols")
    with pytest.raises(BasisError, match="is all 0"):
        learn_spectral(["a" * 20, "a" * 21], 1, statistic="string")  # longer than a prefix, a symbol and a suffix


def test_one_value_or_several():
    basis = Basis.of([""], [""])
    assert several("top:3") == ("top:3",)
    assert several(basis) == (basis,)
    assert several(["a", basis]) == ("a", basis)
    assert several(("a",)) == ("a",)
