"""Lookup, links, cutting, merging, and refusing what is no tree."""

from __future__ import annotations

import numpy as np
import pytest
from brute import all_strings
from brute import count_substrings as brute_substrings
from hypothesis import given
from hypothesis import strategies as st
from strategies import corpora
from test_counting import ARRAYS, as_dict, assert_same

from momata.core.alphabet import Alphabet
from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes, count_substrings
from momata.core.tree import CountedTree
from momata.errors import AlphabetError, OptionError

COUNTS = {"prefix": count_prefixes, "substring": count_substrings}
kinds = st.sampled_from(sorted(COUNTS))


@given(kinds, corpora(weights=True), st.integers(0, 4))
def test_find_string_and_find_all_agree(kind, corpus, depth):
    tree = COUNTS[kind](corpus, depth)
    nodes = {tree.string(u): u for u in range(tree.n_nodes)}
    assert len(nodes) == tree.n_nodes
    strings = list(all_strings(corpus.alphabet, 3)) + [row[:depth] for row in corpus]
    expected = [nodes.get(s, -1) for s in strings]
    assert [tree.find(s) for s in strings] == expected
    asked = Corpus.from_sequences(strings, Alphabet(reversed(corpus.alphabet.symbols)))
    assert tree.find_all(asked).tolist() == expected


def test_find_with_symbols_that_are_not_there():
    tree = count_substrings(Corpus.from_sequences(["ab"]), 3)
    assert tree.find("aXb") == -1
    assert tree.find("bb") == -1
    assert tree.find("bbb") == -1
    with pytest.raises(AlphabetError, match="symbol 'X'"):
        tree.find_all(Corpus.from_sequences(["aX"]))


@given(kinds, corpora(), st.integers(0, 5))
def test_suffix_link_is_the_string_without_its_first_symbol(kind, corpus, depth):
    tree = COUNTS[kind](corpus, depth)
    nodes = {tree.string(u): u for u in range(tree.n_nodes)}
    assert tree.suffix_link[0] == -1
    for u in range(1, tree.n_nodes):
        assert tree.suffix_link[u] == nodes.get(tree.string(u)[1:], -1)
    if kind == "substring":
        assert np.all(tree.suffix_link[1:] >= 0)


@given(kinds, corpora(weights=True), st.integers(0, 6), st.integers(0, 7))
def test_cut_is_counting_to_the_smaller_depth(kind, corpus, deep, depth):
    tree = COUNTS[kind](corpus, deep)
    if depth >= deep:
        assert tree.cut(depth) is tree
    else:
        cut = tree.cut(depth)
        assert_same(cut, COUNTS[kind](corpus, depth))
        assert cut.sequence_node is None


@given(kinds, st.lists(corpora(max_symbols=3), min_size=3, max_size=3), st.integers(0, 5))
def test_merging_is_counting_together_in_any_order(kind, shards, depth):
    alphabet = Alphabet("abcd")
    shards = [s.recode(alphabet) for s in shards]
    one, two, three = (COUNTS[kind](s, depth) for s in shards)
    whole = COUNTS[kind](Corpus.concatenate(shards), depth)
    assert_same(one.merge(two).merge(three), whole)
    assert_same(one.merge(two.merge(three)), whole)
    assert_same(three.merge(one).merge(two), whole)
    assert_same(two.merge(one), one.merge(two))


def test_merging_with_nothing_changes_nothing():
    tree = count_substrings(Corpus.from_sequences(["abca", "b"]), 3)
    nothing = count_substrings(Corpus.from_sequences([], tree.alphabet), 3)
    assert_same(tree.merge(nothing), tree)
    assert_same(nothing.merge(tree), tree)


def test_merging_whole_numbers_with_reals_gives_reals():
    one = count_substrings(Corpus.from_sequences(["ab"]), 2)
    two = count_substrings(Corpus.from_sequences(["ab"], weights=[0.5]), 2)
    both = one.merge(two)
    assert both.through.dtype == np.float64
    assert as_dict(both) == brute_substrings(["ab"], 2, [1.5])


def test_merging_what_does_not_fit_is_refused():
    corpus = Corpus.from_sequences(["ab"])
    with pytest.raises(
        OptionError, match=r"a substring tree of depth 2 and a substring tree of depth 3 cannot be merged"
    ):
        count_substrings(corpus, 2).merge(count_substrings(corpus, 3))
    with pytest.raises(OptionError, match=r"a substring tree of depth 2 and a prefix tree of depth 2"):
        count_substrings(corpus, 2).merge(count_prefixes(corpus, 2))
    with pytest.raises(AlphabetError, match=r"different alphabets \(2 and 3 symbols\)"):
        count_prefixes(corpus, 2).merge(count_prefixes(Corpus.from_sequences(["abc"]), 2))


@given(kinds, corpora(weights=True), st.integers(0, 4), st.permutations("wxyz"), st.data())
def test_over_an_alphabet_with_more_symbols_is_counting_over_it(kind, corpus, depth, more, data):
    """New symbols may stand before, between and behind those that there are, which keep their order."""
    symbols = list(corpus.alphabet)
    for new in more[: data.draw(st.integers(0, 4))]:
        symbols.insert(data.draw(st.integers(0, len(symbols))), new)
    alphabet = Alphabet(symbols)
    tree = COUNTS[kind](corpus, depth)
    wider = tree.over(alphabet)
    expected = COUNTS[kind](corpus.recode(alphabet), depth)
    assert_same(wider, expected)
    assert wider.alphabet is alphabet
    assert np.array_equal(wider.suffix_link, expected.suffix_link)
    assert [wider.string(u) for u in range(tree.n_nodes)] == [tree.string(u) for u in range(tree.n_nodes)]
    if kind == "prefix":
        assert np.array_equal(wider.sequence_node, expected.sequence_node)


def test_over_an_alphabet_without_what_never_occurs():
    tree = count_substrings(Corpus.from_sequences(["ac"], Alphabet("abcd")), 2)
    narrow = tree.over(Alphabet("ac"))
    assert_same(narrow, count_substrings(Corpus.from_sequences(["ac"]), 2))
    assert tree.alphabet.symbols == ("a", "b", "c", "d"), "the tree itself stays as it is"
    assert tree.symbol.tolist() == [-1, 0, 2, 2]


def test_over_the_same_symbols_takes_the_new_alphabet():
    tree = count_substrings(Corpus.from_sequences(["ab"]), 2)
    closed = Alphabet("ab", closed=True)
    assert tree.over(closed).alphabet is closed
    assert not tree.alphabet.closed


@pytest.mark.parametrize("symbols", ["a", "b", "cb", "ba", "bca", "acd", ""])
def test_over_an_alphabet_that_lacks_symbols_or_turns_them_round_is_refused(symbols):
    tree = count_substrings(Corpus.from_sequences(["ab"]), 2)
    with pytest.raises(AlphabetError, match=r"a tree over 2 symbols .* some are missing or in another order"):
        tree.over(Alphabet(symbols))


def test_memory_is_that_of_five_arrays_of_at_most_28_bytes_a_node():
    tree = count_substrings(Corpus.from_sequences(["abcab"]), 3)
    assert tree.n_bytes == tree.n_nodes * (4 + 4 + 4 + 8 + 8) + 4


# ------------------------------------------------------------------ from arrays


def parts(tree: CountedTree) -> dict:
    names = ("symbol", "child_start", "through", "end", "level_offsets")
    return {"kind": tree.kind, "depth": tree.depth, "alphabet": tree.alphabet} | {
        n: getattr(tree, n).copy() for n in names
    }


@given(kinds, corpora(weights=True), st.integers(0, 6))
def test_arrays_of_a_tree_are_accepted(kind, corpus, depth):
    tree = COUNTS[kind](corpus, depth)
    again = CountedTree.from_arrays(**parts(tree))
    assert_same(again, tree)
    real = Corpus(corpus.tokens, corpus.offsets, corpus.alphabet, np.linspace(1e-9, 3.3, len(corpus)))
    tree = COUNTS[kind](real, depth)
    assert_same(CountedTree.from_arrays(**parts(tree)), tree)


def changed(name: str, index: int, value: float):
    def change(p: dict) -> None:
        p[name][index] = value

    return change


def replaced(name: str, function):
    def change(p: dict) -> None:
        p[name] = function(p[name])

    return change


def without_a_suffix(p: dict) -> None:
    """Leave "a" and "ab" without "b"."""
    p["symbol"], p["child_start"] = np.array([-1, 0, 1], np.int32), np.array([1, 2, 3, 3], np.int32)
    p["through"], p["end"], p["level_offsets"] = np.array([2, 2, 1]), np.array([0, 1, 1]), np.array([0, 1, 2, 3])


# the substring tree of "aba" to depth 2: 0 "", 1 a, 2 b, 3 ab, 4 ba
MUTILATIONS = {
    "symbols of another type": (replaced("symbol", lambda a: a.astype(np.int64)), "wrong types or sizes"),
    "children of another type": (replaced("child_start", lambda a: a.astype(np.float64)), "wrong types or sizes"),
    "levels of another type": (replaced("level_offsets", lambda a: a.astype(np.int32)), "wrong types or sizes"),
    "symbols in a matrix": (replaced("symbol", lambda a: a.reshape(1, -1)), "wrong types or sizes"),
    "no nodes": (replaced("symbol", lambda a: a[:0]), "wrong types or sizes"),
    "a symbol missing": (replaced("symbol", lambda a: a[:-1]), "wrong types or sizes"),
    "a child start missing": (replaced("child_start", lambda a: a[:-1]), "wrong types or sizes"),
    "a count missing": (replaced("through", lambda a: a[:-1]), "wrong types or sizes"),
    "an end too many": (replaced("end", lambda a: np.append(a, 0)), "wrong types or sizes"),
    "small counts": (replaced("through", lambda a: a.astype(np.int32)), "counts of types int32 and int64"),
    "counts of two types": (replaced("end", lambda a: a.astype(np.float64)), "counts of types int64 and float64"),
    "complex counts": (
        lambda p: p.update(through=p["through"].astype(complex), end=p["end"].astype(complex)),
        "counts of types complex128",
    ),
    "root is its own child": (changed("child_start", 0, 0), "do not follow each other"),
    "too few children": (changed("child_start", -1, 4), "do not follow each other"),
    "too many children": (changed("child_start", -1, 6), "do not follow each other"),
    "children fall": (changed("child_start", 2, 2), "do not follow each other"),
    "a child before its parent": (
        replaced("child_start", lambda a: np.array([1, 1, 2, 3, 4, 5], np.int32)),
        "comes after",
    ),
    "levels too short": (replaced("level_offsets", lambda a: a[:-1]), "do not go down to depth 2"),
    "a level moved": (changed("level_offsets", 2, 2), "do not go down to depth 2"),
    "levels beyond the nodes": (changed("level_offsets", -1, 6), "do not go down to depth 2"),
    "another depth": (lambda p: p.update(depth=1), "do not go down to depth 1"),
    "depth too large": (lambda p: p.update(depth=3), "do not go down to depth 3"),
    "depth too small for the nodes": (
        lambda p: p.update(depth=1, level_offsets=p["level_offsets"][:-1]),
        "do not go down to depth 1",
    ),
    "root with a symbol": (changed("symbol", 0, 0), "outside of the alphabet or out of order"),
    "a second root": (changed("symbol", 3, -1), "outside of the alphabet or out of order"),
    "symbol outside": (changed("symbol", 2, 2), "outside of the alphabet or out of order"),
    "siblings alike": (changed("symbol", 2, 0), "outside of the alphabet or out of order"),
    "siblings out of order": (
        lambda p: p.update(symbol=np.array([-1, 1, 0, 1, 0], np.int32)),
        "outside of the alphabet or out of order",
    ),
    "a negative count": (changed("through", 4, -1), "do not add up"),
    "a string that never occurs": (
        lambda p: p.update(through=np.array([3, 2, 1, 1, 0]), end=np.array([0, 1, 1, 0, 0])),
        "do not add up",
    ),
    "a negative end": (changed("end", 4, -1), "do not add up"),
    "more ends than passages": (changed("end", 4, 2), "do not add up"),
    "a count too many": (changed("through", 1, 3), "do not add up"),
    "an end moved": (changed("end", 2, 1), "do not add up"),
    "NaN": (
        lambda p: p.update(through=np.full(5, np.nan), end=p["end"].astype(np.float64)),
        "do not add up",
    ),
    "NaN in one leaf": (
        lambda p: p.update(through=np.array([4, 2, 1, 1, np.nan]), end=p["end"].astype(np.float64)),
        "do not add up",
    ),
    "infinity": (
        lambda p: p.update(through=np.full(5, np.inf), end=np.array([np.inf, np.inf, 0, 0, np.inf])),
        "do not add up",
    ),
    "a suffix missing": (without_a_suffix, "has a suffix that is not in it"),
}


@pytest.mark.parametrize("name", MUTILATIONS)
def test_mutilated_arrays_are_refused(name):
    mutilate, message = MUTILATIONS[name]
    tree = count_substrings(Corpus.from_sequences(["aba"]), 2)
    given_parts = parts(tree)
    CountedTree.from_arrays(**given_parts)  # accepted before
    mutilate(given_parts)
    with pytest.raises(OptionError, match=message):
        CountedTree.from_arrays(**given_parts)


@given(kinds, corpora(min_sequences=1), st.data())
def test_any_single_change_gives_a_sound_tree_or_is_refused(kind, corpus, data):
    """No change of one number crashes, or leaves a tree whose walks would leave the arrays."""
    given_parts = parts(COUNTS[kind](corpus, 3))
    name = data.draw(st.sampled_from(["symbol", "child_start", "level_offsets", "through", "end"]))
    place = data.draw(st.integers(0, given_parts[name].size - 1))
    given_parts[name][place] = data.draw(st.sampled_from([-(2**31), -2, -1, 0, 1, 2, 3, 100, 2**31 - 1]))
    try:
        tree = CountedTree.from_arrays(**given_parts)
    except OptionError:
        return
    strings = [tree.string(u) for u in range(tree.n_nodes)]
    assert len(set(strings)) == tree.n_nodes
    assert [tree.find(s) for s in strings] == list(range(tree.n_nodes))
    assert [len(s) for s in strings] == sorted(len(s) for s in strings)
    for u in range(int(tree.level_offsets[3])):
        assert tree.through[u] == tree.end[u] + sum(tree.through[v] for v in tree.children(u))


def test_arrays_hold_what_the_class_says():
    tree = count_substrings(Corpus.from_sequences(["aba"]), 2)
    assert {n: getattr(tree, n).tolist() for n in ARRAYS} == {
        "symbol": [-1, 0, 1, 1, 0],
        "parent": [-1, 0, 0, 1, 2],
        "child_start": [1, 3, 4, 5, 5, 5],
        "through": [4, 2, 1, 1, 1],
        "end": [1, 1, 0, 0, 1],
        "level_offsets": [0, 1, 3, 5],
    }
