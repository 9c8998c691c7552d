"""Standard streams with bytes below them; called inside a test, since pytest sets its own streams between phases."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def standard_input(monkeypatch) -> Callable[[bytes], None]:
    """Return a function that puts bytes on standard input."""
    return lambda data: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


@pytest.fixture
def standard_output(monkeypatch) -> Callable[[], io.BytesIO]:
    """Return a function that catches standard output from then on, as Windows would have it, and returns its bytes."""

    def catch() -> io.BytesIO:
        buffer = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="cp1252", newline="\r\n"))
        return buffer

    return catch
