"""What all tests share: hypothesis settings, the research data, and the command line as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

UNCOMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
SLOW_FIRST_CALL = [HealthCheck.too_slow]  # the first example of a property may compile a kernel

settings.register_profile(
    "local", deadline=None, suppress_health_check=SLOW_FIRST_CALL, max_examples=15 if UNCOMPILED else 60
)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of research data, named by MOMATA_DATA; without it the test is skipped."""
    folder = os.environ.get("MOMATA_DATA", "")
    if not folder:
        pytest.skip("MOMATA_DATA does not name the folder of research data")
    path = Path(folder)
    assert path.is_dir(), f"MOMATA_DATA={folder} is not a folder"
    return path


@pytest.fixture
def run_cli(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs ``momata ARGUMENTS`` in a process of its own, by default in a folder of its own.

    ``stdin`` is the text on standard input, ``env`` is added to the environment. Nothing is checked but the time it takes.
    """

    def run(
        *arguments: object,
        stdin: str = "",
        cwd: Path = tmp_path,
        env: dict[str, str] | None = None,
        timeout: float = 300,
    ):
        surroundings = {**os.environ, "PYTHONUTF8": "1", "COLUMNS": "120", "NO_COLOR": "1", **(env or {})}
        command = [sys.executable, "-m", "momata.cli.main", *map(str, arguments)]
        return subprocess.run(
            command,
            input=stdin,
            cwd=cwd,
            env=surroundings,
            timeout=timeout,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    return run


# A suite started in the background may inherit that interruptions are ignored, and its children would as well.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
