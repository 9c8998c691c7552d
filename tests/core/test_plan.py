"""Trees arranged for walks: nothing is lost, nothing comes twice, and a slot's parent is the slot of its parent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import corpora

from momata.core.corpus import Corpus
from momata.core.counting import count_prefixes
from momata.core.plan import BLOCK_NODES, Block, WalkPlan, plan_walk
from momata.core.tree import CountedTree


def level_of(tree: CountedTree, node: int) -> int:
    return int(np.searchsorted(tree.level_offsets, node, side="right")) - 1


def check_block(tree: CountedTree, block: Block) -> None:
    node_at, parent_slot, n = block.node_at.tolist(), block.parent_slot.tolist(), block.n_slots
    assert len(set(node_at)) == n, "a node comes twice"
    assert node_at[0] == 0, "slot 0 is the root"
    parents = {parent_slot[slot] for slot in range(1, n)}
    for slot in range(1, n):
        assert parent_slot[slot] < slot
        assert node_at[parent_slot[slot]] == tree.parent[node_at[slot]]
    expected_start, order = 1, []
    for sigma, start, leaf, stop in block.groups.tolist():
        assert start == expected_start < stop, "groups follow each other, and none is empty"
        assert start <= leaf <= stop
        levels = {level_of(tree, node_at[slot]) for slot in range(start, stop)}
        assert len(levels) == 1
        assert {int(tree.symbol[node_at[slot]]) for slot in range(start, stop)} == {sigma}
        assert [slot in parents for slot in range(start, stop)] == [slot < leaf for slot in range(start, stop)]
        order.append((levels.pop(), sigma))
        expected_start = stop
    assert expected_start == n
    assert order == sorted(set(order)), "one group for a level and symbol, level by level"


def check_plan(tree: CountedTree, plan: WalkPlan) -> None:
    for block in plan.blocks:
        check_block(tree, block)
    assert set(np.concatenate([block.node_at for block in plan.blocks]).tolist()) == set(range(tree.n_nodes))
    ends = np.zeros(tree.n_nodes)
    for block in plan.blocks:
        ends[block.node_at] += block.end
        own = block.end > 0
        assert np.array_equal(block.end[own], tree.end[block.node_at[own]]), "a string belongs to one block"
    assert np.array_equal(ends, tree.end)
    assert plan.n_strings == tree.end.sum()
    assert plan.n_events == tree.through.sum()
    assert plan.most_slots == max(block.node_at.size for block in plan.blocks)
    assert plan.alphabet == tree.alphabet


@settings(max_examples=200)
@given(corpora(min_sequences=1, max_sequences=12, weights=True), st.integers(2, 30))
def test_plans_of_small_trees(corpus, block_nodes):
    tree = count_prefixes(corpus)
    check_plan(tree, plan_walk(tree, block_nodes))


@pytest.mark.parametrize("block_nodes", [2, 7, 100, 1000])
@pytest.mark.parametrize("seed", [0, 1])
def test_plans_of_larger_trees(seed, block_nodes):
    """Wide enough that the cut is made below the root's children."""
    rng = np.random.default_rng(seed)
    lengths = rng.geometric(0.15, 150) - 1
    corpus = Corpus.from_sequences([rng.integers(0, 4, n).tolist() for n in lengths])
    tree = count_prefixes(corpus)
    plan = plan_walk(tree, block_nodes)
    check_plan(tree, plan)
    assert (len(plan.blocks) > 1) == (block_nodes < tree.n_nodes)
    n_slots = sum(block.n_slots for block in plan.blocks)
    assert n_slots - tree.n_nodes <= len(plan.blocks) * (tree.depth + 1), "only paths to the cuts are shared"


def test_blocks_are_of_about_the_size_asked_for():
    rng = np.random.default_rng(0)
    corpus = Corpus.from_sequences([rng.integers(0, 3, n).tolist() for n in rng.geometric(0.1, 3000)])
    tree = count_prefixes(corpus)
    plan = plan_walk(tree, 2000)
    assert plan.most_slots <= 2 * 2000
    assert len(plan.blocks) >= tree.n_nodes / 2 / 2000


def test_a_small_tree_is_one_block_and_ends_count():
    tree = count_prefixes(Corpus.from_sequences(["ab", "a", "", "b", "ab"]))
    (block,) = plan_walk(tree, BLOCK_NODES).blocks
    assert block.node_at.tolist() == [0, 1, 2, 3]
    assert block.parent_slot.tolist() == [0, 0, 0, 1]
    assert block.end.tolist() == [1, 1, 1, 2]
    assert block.groups.tolist() == [[0, 1, 2, 2], [1, 2, 2, 3], [1, 3, 3, 4]]


@pytest.mark.parametrize("rows", [[[]], [[], []], [["a"] * 40], [["a"] * k for k in range(20)]])
@pytest.mark.parametrize("block_nodes", [1, 2, 5, 1000])
def test_thin_trees(rows, block_nodes):
    tree = count_prefixes(Corpus.from_sequences(rows))
    check_plan(tree, plan_walk(tree, block_nodes))


def test_the_same_tree_gives_the_same_plan():
    tree = count_prefixes(Corpus.from_sequences(["abab", "ba", "bb", "a"] * 3))
    for one, other in zip(plan_walk(tree, 3).blocks, plan_walk(tree, 3).blocks, strict=True):
        for name in ("node_at", "parent_slot", "end", "groups"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
