"""One bound for every pool of threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from momata import threads
from momata.errors import OptionError
from momata.threads import announce_threads, available_cores, limit_threads, map_threads, n_threads


@pytest.fixture(autouse=True)
def no_bound(monkeypatch):
    monkeypatch.delenv("MOMATA_THREADS", raising=False)


def pools() -> dict[str, int]:
    np.ones((2, 2)) @ np.ones((2, 2))  # the linear algebra library is loaded
    return {info["filepath"]: info["num_threads"] for info in threadpool_info()}


def test_environment_variable_then_cores(monkeypatch):
    assert n_threads() == available_cores() >= 1
    monkeypatch.setenv("MOMATA_THREADS", "7")
    assert n_threads() == 7
    monkeypatch.setenv("MOMATA_THREADS", "")
    assert n_threads() == available_cores()


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", " "])
def test_bad_environment_variable(monkeypatch, value):
    monkeypatch.setenv("MOMATA_THREADS", value)
    with pytest.raises(
        OptionError, match=rf"MOMATA_THREADS={value} is not a number of threads\. Give a whole number from 1"
    ):
        n_threads()


@pytest.mark.parametrize("value", [0, -3, "many"])
def test_bad_limits_change_nothing(value):
    with pytest.raises(OptionError, match=f"threads={value} is not a number of threads"), limit_threads(value):
        pytest.fail("the block ran")
    assert n_threads() == available_cores()


def test_limit_bounds_every_pool_and_gives_it_back():
    before = pools()
    assert before
    with limit_threads(1) as bound:
        assert (bound, n_threads()) == (1, 1)
        assert set(pools().values()) == {1}
        with limit_threads(2):
            assert n_threads() == 2
            assert max(pools().values()) <= 2
        assert n_threads() == 1
        assert set(pools().values()) == {1}
    assert n_threads() == available_cores()
    assert before.items() <= pools().items()  # numba may have loaded one more meanwhile


def test_limit_is_given_back_after_an_error():
    before = pools()
    with pytest.raises(ZeroDivisionError), limit_threads(1):
        1 / 0  # noqa: B018
    assert n_threads() == available_cores()
    assert before.items() <= pools().items()  # numba may have loaded one more meanwhile


def test_limit_bounds_numba():
    numba = pytest.importorskip("numba")
    before = numba.get_num_threads()
    with limit_threads(1):
        assert numba.get_num_threads() == 1
    assert numba.get_num_threads() == before
    with limit_threads(10_000):  # more than numba has
        assert numba.get_num_threads() <= numba.config.NUMBA_NUM_THREADS


def test_limit_of_none_keeps_the_environment(monkeypatch):
    monkeypatch.setenv("MOMATA_THREADS", "1")
    with limit_threads():
        assert n_threads() == 1
        assert set(pools().values()) == {1}


def test_announcing_sets_what_libraries_read(monkeypatch):
    names = [f"{lib}_NUM_THREADS" for lib in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB", "NUMEXPR", "NUMBA")]
    for name in names:
        monkeypatch.setenv(name, "9")
    announce_threads()  # nothing asked for, nothing said
    assert {os.environ[n] for n in names} == {"9"}
    announce_threads(2)
    assert {os.environ[n] for n in names} == {"2"}
    monkeypatch.setenv("MOMATA_THREADS", "3")
    announce_threads()
    assert {os.environ[n] for n in names} == {"3"}
    with pytest.raises(OptionError, match="threads=0"):
        announce_threads(0)


def test_announced_bound_reaches_a_library_loaded_afterwards():
    code = (
        "from momata.threads import announce_threads; announce_threads(1)\n"
        "import numpy, threadpoolctl\n"
        "numpy.ones((2, 2)) @ numpy.ones((2, 2))\n"
        "print({i['num_threads'] for i in threadpoolctl.threadpool_info()})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, timeout=120)
    assert done.stdout.strip() == "{1}"


@pytest.mark.parametrize("n", [1, 2, 5])
def test_map_keeps_the_order(n):
    def slow_first(i: int, wait: float) -> int:
        time.sleep(wait)
        return i

    with limit_threads(n):
        assert map_threads(slow_first, [(0, 0.05), (1, 0.0), (2, 0.02)]) == [0, 1, 2]
        assert map_threads(slow_first, []) == []


def test_map_runs_at_once_and_not_more_than_allowed():
    both = threading.Barrier(2, timeout=30)
    with limit_threads(2):
        map_threads(lambda: both.wait(), [(), ()])  # breaks, if one waits for the other to end
    running, most = [0], [0]
    lock = threading.Lock()

    def count() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.01)
        with lock:
            running[0] -= 1

    with limit_threads(2):
        map_threads(count, [()] * 8)
    assert most[0] <= 2
    with limit_threads(1):
        names = map_threads(lambda: threading.current_thread().name, [(), ()])
    assert names == [threading.current_thread().name] * 2


@pytest.mark.parametrize("n", [1, 2])
def test_errors_come_through(n):
    def fail(i: int) -> None:
        raise KeyError(i)

    with limit_threads(n), pytest.raises(KeyError, match="0"):
        map_threads(fail, [(0,), (1,)])


def test_cores_are_those_of_the_process(monkeypatch):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda pid: {0, 1, 5}, raising=False)
    assert available_cores() == 3
    monkeypatch.delattr(threads.os, "sched_getaffinity")
    monkeypatch.setattr(threads.os, "cpu_count", lambda: None)
    assert available_cores() == 1


def test_limits_of_one_thread_are_not_those_of_another():
    before = n_threads()
    inside, go_on = threading.Event(), threading.Event()

    def first():
        with limit_threads(1):
            inside.set()
            go_on.wait(30)

    other = threading.Thread(target=first)
    other.start()
    inside.wait(30)
    with limit_threads(3):
        go_on.set()
        other.join(30)
        assert n_threads() == 3
    assert n_threads() == before
