"""Corpora: every way of making one, cutting it up, and putting it together again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora

from momata.core.alphabet import START, Alphabet, UnknownPolicy
from momata.core.corpus import Corpus, as_corpus
from momata.errors import AlphabetError, DataError, OptionError

ROWS = [["b", "a"], [], ["a", "b", "b"], ["c"]]


def rows(corpus: Corpus) -> list[tuple]:
    return list(corpus)


# ------------------------------------------------------------------ making


@pytest.mark.parametrize(
    "sequences",
    [
        ROWS,
        ["ba", "", "abb", "c"],
        (tuple(r) for r in ROWS),
        iter([iter(r) for r in ROWS]),
        [np.array(r, dtype=object) for r in ROWS],
        [np.array(r, dtype="U1") for r in ROWS],
        map(list, ROWS),
    ],
    ids=["lists", "strings", "generator", "iterators", "object arrays", "text arrays", "map"],
)
def test_collections_of_sequences(sequences):
    corpus = Corpus.from_sequences(sequences)
    assert rows(corpus) == [tuple(r) for r in ROWS]
    assert corpus.alphabet.symbols == ("a", "b", "c")
    assert not corpus.alphabet.closed
    assert corpus.tokens.dtype == np.int32
    assert corpus.offsets.dtype == np.int64
    assert corpus.tokens.tolist() == [1, 0, 0, 1, 1, 2]
    assert corpus.offsets.tolist() == [0, 2, 2, 5, 6]
    assert (len(corpus), corpus.n_tokens, corpus.n_symbols, corpus.total_weight) == (4, 6, 3, 4.0)
    assert corpus.lengths.tolist() == [2, 0, 3, 1]


def test_any_hashable_symbols():
    corpus = Corpus.from_sequences([[("x", 1), None, 2.5], [None]])
    assert rows(corpus) == [(("x", 1), None, 2.5), (None,)]
    assert corpus.alphabet.symbols == (("x", 1), None, 2.5)  # mixtures by first appearance


def test_numbers_are_ordered_by_value():
    assert Corpus.from_sequences([[10, 9], [-1]]).alphabet.symbols == (-1, 9, 10)
    assert Corpus.from_sequences([["10", "9"], ["x"]]).alphabet.symbols == ("10", "9", "x")


def test_numpy_dates_are_symbols():
    days = np.array(["2020-01-02", "2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    assert rows(Corpus.from_sequences([days])) == [tuple(days.tolist())]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
def test_numpy_matrix_is_a_row_a_sequence(dtype):
    matrix = np.array([[7, 3, 7], [3, 5, 3]], dtype=dtype)
    corpus = Corpus.from_sequences(matrix)
    assert rows(corpus) == [(7, 3, 7), (3, 5, 3)]
    assert corpus.alphabet.symbols == (3, 5, 7)
    assert all(type(s) is int for s in corpus.alphabet)


def test_matrices_without_rows_or_columns():
    assert rows(Corpus.from_sequences(np.empty((0, 3), np.int64))) == []
    assert rows(Corpus.from_sequences(np.empty((2, 0), np.int64))) == [(), ()]


def test_matrix_of_reals_is_read_row_by_row():
    assert rows(Corpus.from_sequences(np.array([[0.5, 1.5]]))) == [(0.5, 1.5)]


def test_arrow_lists():
    pa = pytest.importorskip("pyarrow")
    for kind in (pa.list_, pa.large_list):
        lists = pa.array(ROWS, type=kind(pa.string()))
        assert rows(Corpus.from_sequences(lists)) == [tuple(r) for r in ROWS]
        assert rows(Corpus.from_sequences(lists.slice(2))) == [tuple(r) for r in ROWS[2:]]
    chunked = pa.chunked_array([pa.array(ROWS[:2]), pa.array(ROWS[2:])])
    corpus = Corpus.from_sequences(chunked)
    assert rows(corpus) == [tuple(r) for r in ROWS]
    assert corpus.alphabet.symbols == ("a", "b", "c")
    assert rows(Corpus.from_sequences(pa.array([[3, 1], [2]]))) == [(3, 1), (2,)]
    assert rows(Corpus.from_sequences(pa.array([[]], type=pa.list_(pa.string())))) == [()]
    assert rows(
        Corpus.from_sequences(pa.array([["b"], ["a"]], type=pa.list_(pa.dictionary(pa.int8(), pa.string()))))
    ) == [
        ("b",),
        ("a",),
    ]


def test_arrow_nulls_are_refused():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(OptionError, match="1 of 2 lists are null"):
        Corpus.from_sequences(pa.array([["a"], None]))
    with pytest.raises(OptionError, match="1 of 3 symbols are null"):
        Corpus.from_sequences(pa.array([["a", None], ["b"]]))


def test_nothing_at_all():
    corpus = Corpus.from_sequences([])
    assert (len(corpus), corpus.n_tokens, corpus.n_symbols, rows(corpus)) == (0, 0, 0, [])
    assert rows(Corpus.from_sequences([[], []])) == [(), ()]


def test_a_corpus_is_taken_as_it_is():
    corpus = Corpus.from_sequences(ROWS)
    assert Corpus.from_sequences(corpus) is corpus
    assert as_corpus(corpus, corpus.alphabet) is corpus


@pytest.mark.parametrize("single", ["abc", b"abc"])
def test_a_single_string_is_no_corpus(single):
    with pytest.raises(OptionError, match=r"is a single one\. Put it in a list"):
        Corpus.from_sequences(single)


@pytest.mark.parametrize("item", [3, None, [["nested"]], [{}]])
def test_what_is_no_sequence_is_named_with_its_place(item):
    with pytest.raises(OptionError, match=r"sequence 2 is .* not a sequence of hashable symbols"):
        Corpus.from_sequences([["a"], item])


def test_reserved_marks_and_nan_are_no_symbols():
    with pytest.raises(AlphabetError, match="marks the start"):
        Corpus.from_sequences([["<s>", "a"]])
    with pytest.raises(AlphabetError, match="NaN"):
        Corpus.from_sequences([[1.0, float("nan")]])


@pytest.mark.parametrize(
    ("tokens", "offsets"),
    [
        ([0], []),
        ([0], [0]),
        ([0], [1, 1]),
        ([0], [0, 2]),
        ([0, 0], [0, 2, 1, 2]),
        ([0], [[0, 1]]),
    ],
)
def test_offsets_must_rise_from_0_to_the_end(tokens, offsets):
    with pytest.raises(OptionError, match="offsets must rise from 0"):
        Corpus(np.array(tokens, np.int32), np.array(offsets, np.int64), Alphabet("a"))


@pytest.mark.parametrize("token", [-1, 1, 2**31 - 1])
def test_tokens_must_lie_in_the_alphabet(token):
    with pytest.raises(AlphabetError, match="outside the alphabet of 1 symbols"):
        Corpus(np.array([token]), np.array([0, 1]), Alphabet("a"))


def test_weights_are_kept_and_checked():
    corpus = Corpus.from_sequences(["a", "b"], weights=[2, 3])
    assert corpus.weights.dtype == np.int64
    assert corpus.total_weight == 5.0
    assert Corpus.from_sequences(["a"], weights=np.array([2], np.uint8)).weights.dtype == np.int64
    assert Corpus.from_sequences(["a"], weights=np.array([2], np.float32)).weights.dtype == np.float64
    for wrong in ([1], [1, 2, 3], [[1, 2]], ["x", "y"], [True, False]):
        with pytest.raises(DataError, match="weights must be 2 numbers, one a sequence"):
            Corpus.from_sequences(["a", "b"], weights=wrong)
    for wrong in ([1, 0], [1, -1], [1, np.nan], [1, np.inf]):
        with pytest.raises(DataError, match="finite and above 0"):
            Corpus.from_sequences(["a", "b"], weights=wrong)


def test_given_alphabet_decides_numbers_and_whether_it_is_complete():
    corpus = Corpus.from_sequences(["ab"], alphabet="ba")
    assert corpus.tokens.tolist() == [1, 0]
    for order in ("ab", "ba"):  # also where the symbols found are the same ones in the same order
        closed = Alphabet(order, closed=True)
        assert Corpus.from_sequences(["ab"], alphabet=closed).alphabet.closed
        assert rows(Corpus.from_sequences(["ab"], alphabet=closed)) == [("a", "b")]
    with pytest.raises(AlphabetError, match="symbol 'c'"):
        Corpus.from_sequences(["abc"], alphabet="ab")
    assert rows(Corpus.from_sequences(["abc"], alphabet="ab", unknown="skip")) == [("a", "b")]


# ------------------------------------------------------------------ cutting


@given(corpora(weights=True), st.slices(8))
def test_slices_are_those_of_a_list(corpus, part):
    chosen = corpus[part]
    assert rows(chosen) == rows(corpus)[part]
    if corpus.weights is not None:
        assert chosen.weights.tolist() == corpus.weights.tolist()[part]
    assert chosen.alphabet is corpus.alphabet


def test_a_slice_is_a_view():
    corpus = Corpus.from_sequences(ROWS)
    assert np.shares_memory(corpus[1:3].tokens, corpus.tokens)


@given(corpora(weights=True, min_sequences=1), st.data())
def test_select_takes_any_numbers_in_any_order(corpus, data):
    chosen = data.draw(st.lists(st.integers(-len(corpus), len(corpus) - 1), max_size=10))
    picked = corpus.select(chosen)
    assert rows(picked) == [rows(corpus)[i] for i in chosen]
    if corpus.weights is not None:
        assert picked.weights.tolist() == [int(corpus.weights[i]) for i in chosen]
    mask = np.isin(np.arange(len(corpus)), chosen)
    assert rows(corpus[mask]) == [r for r, m in zip(rows(corpus), mask, strict=True) if m]


def test_single_sequences():
    corpus = Corpus.from_sequences(ROWS)
    assert corpus[0] == ("b", "a")
    assert corpus[-1] == ("c",)
    with pytest.raises(IndexError):
        corpus[4]


@given(corpora(weights=True, min_sequences=2), st.floats(0.01, 0.99), st.integers(0, 99))
def test_split_is_seeded_disjoint_and_complete(corpus, fraction, seed):
    numbered = Corpus(corpus.tokens, corpus.offsets, corpus.alphabet, np.arange(1, len(corpus) + 1))
    large, small = numbered.split(fraction, seed)
    assert sorted([*large.weights, *small.weights]) == list(range(1, len(corpus) + 1))
    assert np.all(np.diff(large.weights) > 0)
    assert np.all(np.diff(small.weights) > 0)
    assert len(small) == min(max(1, round(fraction * len(corpus))), len(corpus) - 1)
    for part in (large, small):
        assert rows(part) == [corpus[int(w) - 1] for w in part.weights]
    again = numbered.split(fraction, seed)
    assert [p.weights.tolist() for p in again] == [large.weights.tolist(), small.weights.tolist()]


def test_split_depends_on_the_seed():
    corpus = Corpus.from_sequences(["a"] * 40, weights=np.arange(1, 41))
    assert len({tuple(corpus.split(0.5, seed)[1].weights) for seed in range(5)}) == 5


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 1.5, float("nan")])
def test_split_refuses_fractions(fraction):
    with pytest.raises(OptionError, match="cannot be held out"):
        Corpus.from_sequences(["a", "b"]).split(fraction)


def test_split_needs_two_sequences():
    with pytest.raises(DataError, match="a corpus of 1 sequences cannot be split"):
        Corpus.from_sequences(["a"]).split()


# ------------------------------------------------------------------ putting together


@given(corpora(weights=True))
def test_deduplicate_counts_distinct_sequences(corpus):
    expected: Counter = Counter()
    for row, weight in zip(rows(corpus), [1] * len(corpus) if corpus.weights is None else corpus.weights, strict=True):
        expected[row] += int(weight)
    distinct = corpus.deduplicate()
    assert rows(distinct) == list(expected)  # by first appearance
    assert distinct.weights.tolist() == list(expected.values())
    assert distinct.weights.dtype == np.int64
    assert rows(distinct.deduplicate()) == rows(distinct)


def test_deduplicate_adds_real_weights():
    distinct = Corpus.from_sequences(["a", "b", "a"], weights=[0.25, 1.0, 0.5]).deduplicate()
    assert distinct.weights.tolist() == [0.75, 1.0]


def test_concatenate_over_different_alphabets():
    one = Corpus.from_sequences(["ba"], alphabet=Alphabet("ab", closed=True))
    two = Corpus.from_sequences(["cb", ""], weights=[2, 3])
    both = Corpus.concatenate([one, two])
    assert rows(both) == [("b", "a"), ("c", "b"), ()]
    assert both.alphabet.symbols == ("a", "b", "c")
    assert both.weights.tolist() == [1, 2, 3]
    assert not both.alphabet.closed
    assert Corpus.concatenate([one, one]).weights is None


@pytest.mark.parametrize("order", [1, -1])
def test_concatenation_is_closed_only_if_all_parts_are(order):
    parts = [Corpus.from_sequences(["ab"], Alphabet("ab", closed=True)), Corpus.from_sequences(["ab"], Alphabet("ab"))]
    assert not Corpus.concatenate(parts[::order]).alphabet.closed
    assert Corpus.concatenate([parts[0], parts[0]]).alphabet.closed


def test_concatenating_nothing_is_refused():
    with pytest.raises(OptionError, match="the list of corpora is empty"):
        Corpus.concatenate([])


@given(corpora(weights=True))
def test_concatenating_the_parts_gives_the_whole(corpus):
    k = len(corpus) // 2
    whole = Corpus.concatenate([corpus[:k], corpus[k:]])
    assert np.array_equal(whole.tokens, corpus.tokens)
    assert np.array_equal(whole.offsets, corpus.offsets)
    assert (whole.weights is None) == (corpus.weights is None)


@given(corpora(weights=True))
def test_with_start_puts_the_mark_before_every_sequence(corpus):
    marked = corpus.with_start()
    assert rows(marked) == [(START, *row) for row in corpus]
    assert marked.alphabet.symbols == (*corpus.alphabet.symbols, START)
    assert marked.weights is corpus.weights


# ------------------------------------------------------------------ recoding


@given(corpora(weights=True), st.permutations("abcd"))
def test_recoding_over_any_alphabet_that_has_the_symbols_changes_no_sequence(corpus, order):
    there = corpus.recode(Alphabet(order))
    assert rows(there) == rows(corpus)
    assert np.array_equal(there.recode(corpus.alphabet).tokens, corpus.tokens)
    assert there.weights is corpus.weights


@pytest.mark.parametrize(
    ("unknown", "expected"),
    [
        ("skip", [("a",), (), ("a", "a")]),
        ("map=a", [("a", "a"), ("a",), ("a", "a", "a")]),
        (UnknownPolicy("map", "a"), [("a", "a"), ("a",), ("a", "a", "a")]),
    ],
)
def test_policies_for_unknown_symbols(unknown, expected):
    given_corpus = Corpus.from_sequences(["ab", "c", "aba"], weights=[1, 10, 100])
    found, n_unknown = given_corpus.recode_counting(Alphabet("a"), unknown)
    assert rows(found) == expected
    assert n_unknown == 111  # by weight
    assert found.weights.tolist() == [1, 10, 100]
    assert given_corpus.recode_counting(Alphabet("abc"), unknown)[1] == 0


def test_share_needs_a_symbol_for_unknown_ones():
    given_corpus = Corpus.from_sequences(["ab", "c"])
    found, n_unknown = given_corpus.recode_counting(Alphabet("a").with_unknown(), "share")
    assert rows(found) == [("a", "<unk>"), ("<unk>",)]
    assert n_unknown == 2
    with pytest.raises(AlphabetError, match="not in the model's alphabet"):
        given_corpus.recode(Alphabet("a"), "share")
    with pytest.raises(AlphabetError, match="not in the model's alphabet"):
        given_corpus.recode(Alphabet("a").with_unknown(), "error")


def test_message_names_symbol_and_place():
    given_corpus = Corpus.from_sequences(["", "ab", "", "aac"])
    with pytest.raises(AlphabetError, match=r"symbol 'c' \(sequence 4, symbol 3\) is not in .* of 2 symbols"):
        given_corpus.recode(Alphabet("ab"))
    with pytest.raises(AlphabetError, match=r"symbol 'b' \(sequence 2, symbol 2\).*unknown=\.\.\."):
        given_corpus.recode(Alphabet("a"))


def test_message_asks_the_source_for_the_place():
    class Desk:
        path = "desk"

        def locate(self, sequence: int, position: int) -> str:
            return f"drawer {sequence}, item {position}"

    bare = Corpus.from_sequences(["", "ab"])
    corpus = Corpus(bare.tokens, bare.offsets, bare.alphabet, source=Desk())
    with pytest.raises(AlphabetError, match=r"symbol 'b' \(drawer 1, item 1\)"):
        corpus.recode(Alphabet("a"))


def test_texts_of_a_file_find_the_numbers_of_a_model():
    assert Corpus.from_sequences([["0", "10"]], alphabet=Alphabet.of_size(11)).tokens.tolist() == [0, 10]


def test_recoding_does_not_change_the_original():
    corpus = Corpus.from_sequences(["ab"])
    corpus.recode(Alphabet("a"), "map=a")
    assert rows(corpus) == [("a", "b")]


@pytest.mark.parametrize("given", [{"s1": ["a"]}, {("a",), ("b",)}, [{"a", "b"}], [{"a": 1}], 5, None])
def test_what_has_no_order_is_refused(given):
    with pytest.raises(OptionError, match=r"no order|ordered collection|no collection"):
        Corpus.from_sequences(given)


def test_rows_are_chosen_like_those_of_an_array():
    corpus = Corpus.from_sequences(["a", "bb", "c"], weights=[1, 2, 3])
    for key in (np.array([2, 0]), [2, 0], (np.array([2, 0]), Ellipsis)):
        assert list(corpus[key]) == [("c",), ("a",)]
        assert corpus[key].weights.tolist() == [3, 1]
    assert list(corpus[[True, False, True]]) == [("a",), ("c",)]
    for key in (np.array([True]), np.array([0.5]), np.array([[0]])):
        with pytest.raises(IndexError, match="cannot be chosen"):
            corpus[key]


def test_objects_show_themselves_in_a_line():
    from momata.core.counting import count_prefixes
    from momata.core.wfa import WFA

    corpus = Corpus.from_sequences(["ab", ""], weights=[1, 2])
    assert repr(corpus) == "Corpus(2 sequences, 2 symbols over an alphabet of 2, weighted)"
    assert repr(count_prefixes(corpus)) == "CountedTree(prefix tree, 3 strings up to length 2)"
    assert repr(WFA([1.0], [0.5], [[[0.5]]], Alphabet("a"))) == "WFA(1 state over 1 symbols, string statistic)"
