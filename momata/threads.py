"""One bound for every pool of threads: our own, numba's, and those of the linear algebra libraries."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, TypeVar

from momata.errors import OptionError

__all__ = ["announce_threads", "limit_threads", "map_threads", "n_threads"]

_Result = TypeVar("_Result")
_limit: ContextVar[int | None] = ContextVar("momata_threads", default=None)


def n_threads() -> int:
    """Return how many threads may run at once: set by `limit_threads`, else ``MOMATA_THREADS``, else the cores."""
    limit = _limit.get()
    if limit is not None:
        return limit
    text = os.environ.get("MOMATA_THREADS", "")
    return _checked(text, "MOMATA_THREADS") if text else available_cores()


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _checked(value: int | str, name: str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise OptionError(f"{name}={value} is not a number of threads. Give a whole number from 1.")
    return number


def announce_threads(threads: int | None = None) -> None:
    """Tell libraries that are still to be loaded how many threads they may use, by their environment variables."""
    if threads is not None or os.environ.get("MOMATA_THREADS"):
        number = str(n_threads() if threads is None else _checked(threads, "threads"))
        for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB", "NUMEXPR", "NUMBA"):
            os.environ[f"{name}_NUM_THREADS"] = number


@contextlib.contextmanager
def limit_threads(threads: int | None = None) -> Iterator[int]:
    """Bound all pools of threads inside the block, BLAS included; None keeps what `n_threads` says."""
    limit = n_threads() if threads is None else _checked(threads, "threads")
    token = _limit.set(limit)
    from threadpoolctl import threadpool_limits

    numba = sys.modules.get("numba")
    numba_before = numba.get_num_threads() if numba else 0
    try:
        if numba:
            numba.set_num_threads(min(limit, numba.config.NUMBA_NUM_THREADS))
        with threadpool_limits(limits=limit):
            yield limit
    finally:
        _limit.reset(token)
        if numba:
            numba.set_num_threads(numba_before)


def map_threads(function: Callable[..., _Result], calls: Sequence[tuple[Any, ...]]) -> list[_Result]:
    """Call a function that releases the interpreter lock with each tuple of arguments; results in order.

    With one thread, or one call, it is a plain loop, so results cannot depend on the number of threads.
    """
    if min(n_threads(), len(calls)) <= 1:
        return [function(*call) for call in calls]
    with ThreadPoolExecutor(n_threads() - 1, thread_name_prefix="momata") as pool:
        others = [pool.submit(function, *call) for call in calls[1:]]
        return [function(*calls[0]), *(future.result() for future in others)]
