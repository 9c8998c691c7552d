"""The command line inside the test's own process, in a folder of its own."""

from __future__ import annotations

import io
import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from momata.cli.main import main


class Result(NamedTuple):
    code: int
    out: str
    err: str
    raw: bytes

    def json(self) -> Any:
        """Return standard output as one strict JSON object."""
        return strict(self.out)

    def rows(self) -> list[Any]:
        """Return the strict JSON object of each line."""
        return [strict(line) for line in self.out.splitlines()]


def strict(text: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Return an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def momata(folder, monkeypatch) -> Callable[..., Result]:
    """Return a function that runs ``momata ARGUMENTS`` here; ``code`` is the exit code that is expected."""

    def call(*arguments: object, stdin: bytes | str = b"", code: int | None = 0) -> Result:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        out, err = io.BytesIO(), io.BytesIO()
        before, logger = dict(os.environ), logging.getLogger("momata")
        handlers, level = logger.handlers[:], logger.level
        on_signal = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        found: Any = 0
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
            streams = [io.TextIOWrapper(buffer, encoding="cp1252") for buffer in (out, err)]
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            try:
                main([str(a) for a in arguments])
            except SystemExit as end:
                found = end.code
            finally:
                for stream in streams:
                    stream.flush()
                logger.handlers, logger.level = handlers, level
                for number, action in on_signal.items():
                    signal.signal(number, action)
                os.environ.clear()
                os.environ.update(before)
        result = Result(found, out.getvalue().decode("utf-8", "replace"), err.getvalue().decode(), out.getvalue())
        assert code is None or result.code == code, f"exit {result.code}: {result.err}"
        assert "Traceback" not in result.err
        assert "fault of momata" not in result.err, result.err
        assert (result.code in (0, None)) or result.err.strip(), "a failure without a message"
        return result

    return call


TRAIN = ["a b c a", "a b", "", "c a b", "a a b b c c", "b c a", "a b c", "c", "a b", "b b a", "c a", "a"] * 3


@pytest.fixture
def train(folder) -> Path:
    path = folder / "train.txt"
    path.write_text("\n".join(TRAIN) + "\n")
    return path


@pytest.fixture
def model(momata, train) -> Path:
    """Return the file of a smoothed model of order 3."""
    momata("learn", "ngram", train, "--out", "model.npz", "--order", 3)
    return train.with_name("model.npz")


@pytest.fixture
def no_leftovers(folder):
    """Check at the end of a test that no partial or temporary file is left."""
    yield
    assert [p.name for p in folder.rglob("*") if p.suffix in (".tmp", ".part") or p.name.startswith(".")] == []
