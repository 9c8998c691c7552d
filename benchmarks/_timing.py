"""Clocks and memory for benchmarks: CPU-pinned thread pools, best of several runs, ratios instead of seconds."""

from __future__ import annotations

import gc
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import momata as mo
from momata.io.model_parts import versions

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def announce(question: str) -> None:
    """Say what is asked, and on what machine."""
    print(question)
    print(f"  {platform.machine()}, {os.cpu_count()} cores, " + ", ".join(f"{k} {v}" for k, v in versions().items()))


def best_of(function: Callable[[], Any], runs: int = 3) -> tuple[float, Any]:
    """Return the least wall time of several runs, and the last answer."""
    least, answer = np.inf, None
    for _ in range(runs):
        answer = None
        gc.collect()
        began = time.perf_counter()
        answer = function()
        least = min(least, time.perf_counter() - began)
    return least, answer


def peak_bytes(function: Callable[[], Any]) -> int | None:
    """Return how far memory rose above where it stood, at its peak, while a function ran; None where the system cannot say."""
    if not _CLEAR.exists():
        return None
    gc.collect()
    before = _resident("VmRSS")
    _CLEAR.write_text("5")  # the peak starts again from here
    answer = function()
    peak = _resident("VmHWM") - before
    del answer
    return peak


def peak_resident(function: Callable[[], Any]) -> int | None:
    """Return the most memory that the whole process held while a function ran; None where the system cannot say."""
    if not _CLEAR.exists():
        return None
    gc.collect()
    _CLEAR.write_text("5")
    function()
    return _resident("VmHWM")


def _resident(name: str) -> int:
    line = next(x for x in _STATUS.read_text().splitlines() if x.startswith(name))
    return int(line.split()[1]) * 1024


def made_up_corpus(n_symbols: int, n_tokens: int, zipf: bool, seed: int = 0, mean_length: float = 20.0) -> mo.Corpus:
    """Return independent symbols, all alike or frequent as 1, 1/2, 1/3, ..., in sequences of random lengths."""
    rng = np.random.default_rng(seed)
    if zipf:
        share = 1.0 / np.arange(1, n_symbols + 1)
        tokens = rng.choice(n_symbols, n_tokens, p=share / share.sum())
    else:
        tokens = rng.integers(0, n_symbols, n_tokens)
    cuts = np.cumsum(rng.geometric(1.0 / mean_length, int(2 * n_tokens / mean_length)))
    offsets = np.concatenate([[0], cuts[cuts < n_tokens], [n_tokens]])
    return mo.Corpus(tokens.astype(np.int32), offsets, mo.Alphabet.of_size(n_symbols))
