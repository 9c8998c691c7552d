"""The expectation step: how often each weight of an automaton is used, over all strings of a plan and all paths."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from momata._kernels import chains
from momata.core.plan import WalkPlan
from momata.core.wfa import WFA
from momata.threads import map_threads

__all__ = ["Expectations", "Precision", "expect", "expect_best_paths", "log_likelihood"]

Array = NDArray[np.float64]
Precision = Literal["float64", "float32"]

_LANES = 8  # sums of their own, of every eighth block each, so that results do not depend on the number of threads
_LANE_WEIGHTS = 2**21  # weights up to which there are as many lanes


@cache
def _libraries() -> ThreadpoolController:
    """Find libraries with threads of their own, once: looking takes 2 ms. Kernels use the BLAS of scipy."""
    import scipy.linalg.cython_blas  # noqa: F401

    return ThreadpoolController()


@dataclass(frozen=True, eq=False)
class Expectations:
    """What the expectation step finds.

    Attributes
    ----------
    log_likelihood : float
        Of all strings, counted as often as they occur; -inf if one of them is impossible.
    operators : (n_symbols, n, n) array
        Expected number of times that each arc is used.
    final, initial : (n,) arrays
        Expected numbers of strings that end, and start, in each state.
    """

    log_likelihood: float
    operators: Array
    final: Array
    initial: Array


class _Operands:
    """An automaton as the kernels want it, in one precision."""

    def __init__(self, wfa: WFA, precision: Precision) -> None:
        least = 1e-30 if precision == "float32" else 1e-290  # as in the kernels
        self.initial, self.operators, self.final = (
            np.ascontiguousarray(np.where(a >= least, a, 0.0), dtype=precision)
            for a in (wfa.initial, wfa.operators, wfa.final)
        )
        self.sums: NDArray[Any] = self.operators.sum(axis=2)
        self.ends: NDArray[Any] = self.operators @ self.final

    @cached_property
    def transposed(self) -> NDArray[Any]:
        return np.ascontiguousarray(self.operators.transpose(0, 2, 1))

    @property
    def all(self) -> tuple[Any, ...]:
        return self.initial, self.operators, self.final, self.sums, self.ends

    @contextmanager
    def space(self, plan: WalkPlan) -> Iterator[tuple[Any, ...]]:
        """Lend memory: forward, scaled and backward vectors, 1 / z, and the products of z and their powers."""
        n, kind, n_slots = self.initial.size, self.initial.dtype, plan.most_slots
        lent = plan.spare.pop() if plan.spare else None
        if lent is None or lent[0].shape[1] != n or lent[0].dtype != kind:
            fwd, scaled, bwd = np.empty((3, n_slots, n), kind)
            lent = fwd, scaled, bwd, np.empty(n_slots, kind), np.empty(n_slots), np.empty(n_slots, np.int32)
        try:
            yield lent
        finally:
            plan.spare.append(lent)


def expect(plan: WalkPlan, wfa: WFA, precision: Precision = "float64") -> Expectations:
    r"""Return the expected uses of the weights of a non-negative automaton, given the strings of a plan.

    Cost: three products of (nodes, n, n). Strings that the automaton cannot make are left out.
    """
    operands = _Operands(wfa, precision)
    shape = wfa.operators.shape

    def sum_lane(first: int) -> tuple[float, Array, Array, Array]:
        counts, stops, starts = np.zeros(shape), np.zeros(shape[1]), np.zeros(shape[1])
        total = 0.0
        with operands.space(plan) as (fwd, scaled, bwd, *rest):
            others: Any = (*operands.all, fwd, scaled, *rest, operands.transposed, bwd, counts, stops, starts)
            for block in plan.blocks[first::n_lanes]:
                total += chains.expect_block(block.parent_slot, block.end, block.groups, *others)
        return total, counts, stops, starts

    _ = operands.transposed  # before threads ask for it
    n_lanes = min(len(plan.blocks), _LANES if wfa.operators.size <= _LANE_WEIGHTS else 2)
    with _libraries().limit(limits=1, user_api="blas"):
        lanes = map_threads(sum_lane, [(first,) for first in range(n_lanes)])
    total, counts, stops, starts = (sum(part[1:], start=part[0]) for part in zip(*lanes, strict=True))
    return Expectations(float(total), counts * wfa.operators, stops * wfa.final, starts * wfa.initial)


def log_likelihood(plan: WalkPlan, wfa: WFA, precision: Precision = "float64") -> float:
    """Return the log-likelihood of the strings of a plan under a non-negative automaton."""
    operands = _Operands(wfa, precision)

    def sum_lane(first: int) -> float:
        total = 0.0
        with operands.space(plan) as (fwd, scaled, _, *rest):
            others: Any = (*operands.all, fwd, scaled, *rest)
            for block in plan.blocks[first::n_lanes]:
                total += chains.log_likelihood_block(block.parent_slot, block.end, block.groups, *others)
        return total

    n_lanes = min(len(plan.blocks), _LANES)
    with _libraries().limit(limits=1, user_api="blas"):
        return float(sum(map_threads(sum_lane, [(first,) for first in range(n_lanes)])))


def expect_best_paths(plan: WalkPlan, wfa: WFA) -> Expectations:
    """Return the uses of the weights on the best path of each string, and these paths' log chances in sum."""
    shape = wfa.operators.shape
    operators = np.ascontiguousarray(wfa.operators)

    def sum_lane(first: int) -> tuple[float, Array, Array, Array]:
        counts, stops, starts = np.zeros(shape), np.zeros(shape[1]), np.zeros(shape[1])
        n_slots, total = plan.most_slots, 0.0
        best, used = np.empty((n_slots, shape[1])), np.empty((n_slots, shape[1]))
        back, logs = np.empty((n_slots, shape[1]), np.int32), np.empty(n_slots)
        for block in plan.blocks[first::n_lanes]:
            total += chains.best_paths_block(
                block.parent_slot, block.end, block.groups, wfa.initial, operators, wfa.final, best, back, used, logs,
                counts, stops, starts,
            )  # fmt: skip
        return total, counts, stops, starts

    n_lanes = min(len(plan.blocks), _LANES if wfa.operators.size <= _LANE_WEIGHTS else 2)
    lanes = map_threads(sum_lane, [(first,) for first in range(n_lanes)])
    return Expectations(*(sum(part[1:], start=part[0]) for part in zip(*lanes, strict=True)))
