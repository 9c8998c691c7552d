"""Bases: what each name means, closures, matchings, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from brute import all_strings, expectation
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import structural_rank
from strategies import bases, corpora

from momata.core.alphabet import Alphabet
from momata.core.basis import Basis, basis_from_counts, check_basis_name, longest_of, select_basis
from momata.core.corpus import Corpus
from momata.core.hankel import estimate_hankel
from momata.core.statistics import count_statistic
from momata.errors import BasisError, OptionError

statistics = st.sampled_from(["string", "prefix", "suffix", "substring"])
ROWS = {"string": "prefix", "prefix": "prefix", "suffix": "substring", "substring": "substring"}
COLUMNS = {"string": "suffix", "prefix": "substring", "suffix": "suffix", "substring": "substring"}
names = st.one_of(
    st.sampled_from(["symbols", "symbols+", "all"]),
    st.builds("length:{}".format, st.integers(0, 3)),
    st.builds("{}:{}".format, st.sampled_from(["top", "sample", "matching"]), st.integers(1, 9)),
)


def observed(corpus: Corpus, kind: str, longest: int) -> dict:
    """Return how often each string but the empty one occurs as a prefix, a suffix, anywhere; shorter ones first."""
    strings = (s for s in all_strings(corpus.alphabet, longest) if s)
    return {s: count for s in strings if (count := expectation(corpus, kind, s, corpus.weights))}


# ------------------------------------------------------------------ a basis


def test_bases_that_cannot_be():
    with pytest.raises(BasisError, match="without prefixes"):
        Basis.of([], [""])
    with pytest.raises(BasisError, match=r"without suffixes .* Give at least one, maybe the empty string"):
        Basis.of([""], [])
    with pytest.raises(BasisError, match=r"\('a',\) stands twice among the suffixes"):
        Basis.of([""], ["a", "b", "a"])
    with pytest.raises(BasisError, match=r"\(\) stands twice among the prefixes"):
        Basis.of(["", ""], ["a"])


def test_texts_and_lists_make_the_same_basis():
    basis = Basis.of(["", "ab"], ["b"])
    assert basis == Basis.of([[], ["a", "b"]], [("b",)])
    assert (basis.longest_prefix, basis.longest_suffix) == (2, 1)
    assert repr(basis) == "Basis(2 prefixes, 1 suffixes)"
    assert hash(basis) == hash(Basis.of(["", "ab"], ["b"]))


def test_encoding_keeps_the_order_and_names_what_the_alphabet_lacks():
    prefixes, suffixes = Basis.of(["b", "", "ab"], ["a"]).encode(Alphabet("xab"))
    assert [list(s) for s in prefixes] == [["b"], [], ["a", "b"]]
    assert prefixes.tokens.tolist() == [2, 1, 2]
    assert list(suffixes) == [("a",)]
    with pytest.raises(BasisError, match=r"'c' in the basis string \('a', 'c'\) is not in the alphabet of 2 symbols"):
        Basis.of(["a"], ["", "ac"]).encode(Alphabet("ab"))


@given(corpora(min_sequences=1).flatmap(lambda c: st.tuples(st.just(c.alphabet), bases(c.alphabet))))
def test_closures(case):
    alphabet, basis = case
    closed = basis.p_closure(alphabet)
    assert closed.suffixes == basis.suffixes
    assert closed.prefixes[: len(basis.prefixes)] == basis.prefixes, "the rows there were come first"
    assert set(closed.prefixes) == {p + end for p in basis.prefixes for end in [(), *((x,) for x in alphabet)]}
    closed = basis.suffix_closure()
    assert closed.prefixes == basis.prefixes
    assert () in closed.suffixes
    assert set(closed.suffixes) == {s[i:] for s in basis.suffixes for i in range(len(s) + 1)}
    assert closed.suffix_closure() == closed
    assert all(s[1:] in closed.suffixes for s in closed.suffixes)


# ------------------------------------------------------------------ each name


@given(corpora(), statistics, names, st.booleans(), st.integers(0, 4))
def test_all_but_symbols_have_the_empty_string_and_no_string_too_long(corpus, statistic, name, closed, max_length):
    spec = "closed:" * closed + name
    basis = select_basis(corpus, spec, max_length, statistic)
    if name == "symbols" and len(corpus.alphabet):
        assert () not in basis.prefixes
        assert closed or () not in basis.suffixes
    else:
        assert () in basis.prefixes
        assert () in basis.suffixes
    longest_prefix, longest_suffix = longest_of(spec, max_length)
    assert basis.longest_prefix <= longest_prefix
    assert basis.longest_suffix <= longest_suffix
    limit = 1 if name.startswith("symbols") else int(name[7:]) if name.startswith("length") else max_length
    assert (longest_prefix, longest_suffix) == (limit + closed, limit)


@given(corpora(), statistics)
def test_symbols_are_those_of_the_alphabet(corpus, statistic):
    symbols = tuple((x,) for x in corpus.alphabet)  # also those that never occur
    assert select_basis(corpus, "symbols", statistic=statistic) == Basis(symbols, symbols)
    assert select_basis(corpus, "symbols+", statistic=statistic) == Basis(((), *symbols), ((), *symbols))


def test_an_empty_alphabet_leaves_the_empty_string():
    for name in ("symbols", "symbols+", "all", "length:2", "top:5", "sample:5", "matching:5", "closed:all"):
        assert select_basis(["", ""], name) == Basis.of([""], [""])


@given(corpora(min_sequences=1, weights=True), statistics, st.integers(0, 3))
def test_all_that_was_observed(corpus, statistic, longest):
    basis = select_basis(corpus, "all", longest, statistic)
    assert basis.prefixes == ((), *observed(corpus, ROWS[statistic], longest))
    assert basis.suffixes == ((), *observed(corpus, COLUMNS[statistic], longest))
    assert select_basis(corpus, f"length:{longest}", statistic=statistic) == basis


@given(corpora(min_sequences=1, weights=True), statistics, st.integers(1, 12), st.integers(0, 3))
def test_the_most_frequent_come_first_and_of_equal_ones_the_shorter_then_by_symbols(corpus, statistic, k, longest):
    """The string statistic counts prefixes as prefixes and suffixes as suffixes."""
    basis = select_basis(corpus, f"top:{k}", longest, statistic)
    for strings, kind in [(basis.prefixes, ROWS[statistic]), (basis.suffixes, COLUMNS[statistic])]:
        counts = observed(corpus, kind, longest)
        ranked = sorted(counts, key=lambda s: (-counts[s], len(s), [corpus.alphabet.index(x) for x in s]))
        assert strings == ((), *ranked[: k - 1])


def test_prefixes_and_suffixes_of_the_string_statistic_differ():
    corpus = ["ab", "ab", "cb"]
    basis = select_basis(corpus, "top:2", 1, "string")
    assert basis == Basis.of(["", "a"], ["", "b"])
    assert select_basis(corpus, "top:2", 1, "substring") == Basis.of(["", "b"], ["", "b"])
    assert select_basis(corpus, "all", 1, "string") == Basis.of(["", "a", "c"], ["", "b"])


def test_the_longest_string_is_that_of_max_length():
    for longest in range(5):
        basis = select_basis(["abcab"], "all", longest)
        assert (basis.longest_prefix, basis.longest_suffix) == (longest, longest)
    assert select_basis(["abcab"], "all").longest_prefix == 4


@given(corpora(min_sequences=1, weights=True), statistics, st.integers(1, 8), st.integers(0, 5))
def test_a_sample_is_drawn_from_what_was_observed_without_repeats(corpus, statistic, k, seed):
    basis = select_basis(corpus, f"sample:{k}", 3, statistic, seed)
    for strings, kind in [(basis.prefixes, ROWS[statistic]), (basis.suffixes, COLUMNS[statistic])]:
        counts = observed(corpus, kind, 3)
        assert strings[0] == ()
        assert len(strings) == min(k, 1 + len(counts))
        assert set(strings[1:]) <= set(counts)
    assert select_basis(corpus, f"sample:{k}", 3, statistic, seed) == basis


def test_a_sample_follows_the_frequencies():
    """Of a : b : c = 5 : 3 : 2, two are drawn without replacement, each time in proportion to what is left."""
    counts = count_statistic(Corpus.from_sequences(["aaaaa", "bbb", "cc"]), "substring", 1, 1)
    n = 2000
    drawn = [basis_from_counts(counts, "sample:3", 1, seed) for seed in range(n)]
    chances = {"a": 5 / 10, "b": 3 / 10, "c": 2 / 10}
    for side in ("prefixes", "suffixes"):
        pairs = ["".join(x for s in getattr(basis, side) for x in s) for basis in drawn]
        for first in "abc":
            for second in set("abc") - {first}:
                p = chances[first] * chances[second] / (1 - chances[first])
                found = pairs.count(first + second) / n
                assert abs(found - p) < 5 * np.sqrt(p * (1 - p) / n)
    assert any(basis.prefixes != basis.suffixes for basis in drawn), "both sides are drawn on their own"


@given(corpora(min_sequences=1, weights=True), statistics, st.integers(1, 9), st.integers(0, 3))
def test_a_matching_gives_a_block_of_full_structural_rank(corpus, statistic, k, longest):
    """But for the row and the column of the empty string, where no string of the basis is a whole sequence."""
    basis = select_basis(corpus, f"matching:{k}", longest, statistic)
    assert max(len(basis.prefixes), len(basis.suffixes)) <= k
    H = estimate_hankel(corpus, basis, statistic).hankel.toarray()
    rows, columns = H.any(axis=1), H.any(axis=0)
    assert rows[1:].all()
    assert columns[1:].all()
    if statistic != "string":
        assert rows[0]
        assert columns[0]
        assert len(basis.prefixes) == len(basis.suffixes)
    block = H[rows][:, columns]
    assert not block.size or structural_rank(csr_array(block)) == min(block.shape)


def test_a_matching_is_as_large_as_it_can_be():
    """Rows a, b and c all go on with the same column, so only one of them can be paired beside the empty string."""
    basis = select_basis(["ax", "bx", "cx"], "matching:9", 1, "string")
    assert basis.suffixes == ((), ("x",))
    assert len(basis.prefixes) == 2
    every = select_basis(["abcab", "cba", "bca"], "matching:4", 1)
    assert set(every.prefixes) == set(every.suffixes) == {(), ("a",), ("b",), ("c",)}


def test_a_matching_of_more_than_the_most_frequent_pairs():
    """Cut to two pairs; the most frequent rows are kept."""
    basis = select_basis(["ab"] * 5 + ["cd"] * 3 + ["ef"], "matching:3", 1, "prefix")
    assert basis.prefixes == ((), ("a",), ("c",))


# ------------------------------------------------------------------ closed


@given(corpora(min_sequences=1, weights=True), statistics, names, st.integers(0, 3))
def test_a_closed_basis_has_what_follows_its_rows_and_what_ends_its_columns(corpus, statistic, name, longest):
    plain = select_basis(corpus, name, longest, statistic)
    closed = select_basis(corpus, f"closed:{name}", longest, statistic)
    assert closed.prefixes[: len(plain.prefixes)] == plain.prefixes
    assert closed.suffixes == plain.suffix_closure().suffixes
    longer = {(*p, x) for p in plain.prefixes for x in corpus.alphabet}
    occur = {s for s in longer if expectation(corpus, ROWS[statistic], s, corpus.weights)}
    assert set(closed.prefixes) == set(plain.prefixes) | occur  # a row of zeros would teach nothing


# ------------------------------------------------------------------ what is refused


WRONG = [
    "", "top", "top:", "top:x", "top:0", "top:-3", "top:1.5", "top: 3", "top:3 ", "top:³", "top:1234567890", "Top:3",
    "symbols:2", "symbols++", "all:", "length:", "length:-1", "sample:0", "matching:0", "matching", "closed:", "closed:top",
    "closed:closed:top:3", "file:x.json", "top:3:4",
]  # fmt: skip


@pytest.mark.parametrize("spec", [*WRONG, None, 7, ["top:3"]])
def test_names_that_are_no_basis(spec):
    for ask in (check_basis_name, lambda s: select_basis(["ab"], s), lambda s: longest_of(s, 3)):
        with pytest.raises(
            OptionError, match=r"basis=.* is not known. Use symbols, symbols\+, length:K, top:K, .* top:400"
        ):
            ask(spec)


def test_lengths_that_are_none():
    for name in ("top:3", "all", "closed:sample:3", "symbols", "length:2"):
        with pytest.raises(OptionError, match=r"max_length=-1 is no length of a string"):
            select_basis(["ab"], name, max_length=-1)
        with pytest.raises(OptionError, match=r"max_length=1\.5 is not a whole number"):
            select_basis(["ab"], name, max_length=1.5)


def test_a_basis_is_returned_as_it_is():
    basis = Basis.of(["zz"], ["", "y"])
    assert select_basis(["ab"], basis) is basis
    assert basis_from_counts(count_statistic(Corpus.from_sequences(["ab"]), "string", 1, 1), basis) is basis
    assert longest_of(basis, 9) == (2, 1)


def test_statistics_and_seeds_that_are_none():
    with pytest.raises(OptionError, match="statistic='factor' is not known"):
        select_basis(["ab"], "top:3", statistic="factor")
    with pytest.raises(OptionError, match="seed='x' is no seed"):
        select_basis(["ab"], "sample:3", seed="x")
