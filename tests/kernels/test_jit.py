"""Compiled where possible, kept where possible, and working where neither is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import momata
from momata._kernels import _jit

PACKAGE = Path(momata.__file__).parent
SCORE = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stderr)
logging.getLogger("numba").setLevel(logging.WARNING)
import momata
print(momata.__file__)
print(momata.learn_ngram(["ab", "ab", "b"], order=2, smoothing="none").model.log_prob(["ab", "b"]).tolist())
"""
EXPECTED = "[-0.40546510810816444, -1.0986122886681098]"  # log 2/3, log 1/3


def run(code: str, environment: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


@pytest.mark.compiled
def test_scores_where_no_cache_can_be_written(tmp_path):
    """Everything numba could write to lies below a file, which not even root can make a folder of."""
    home = tmp_path / "copy"
    shutil.copytree(PACKAGE, home / "momata", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [home / "momata", *(p for p in (home / "momata").rglob("*") if p.is_dir())]:
        (folder / "__pycache__").write_text("a file, so that nothing can be written below it")
    nowhere = str(home / "momata" / "__pycache__" / "below")
    environment = {
        "PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": nowhere, "HOME": nowhere,
        "XDG_CACHE_HOME": nowhere, "LOCALAPPDATA": nowhere, "USERPROFILE": nowhere, "IPYTHONDIR": nowhere,
    }  # fmt: skip
    done = run(SCORE, environment, tmp_path)
    assert done.returncode == 0, done.stderr
    where, scores = done.stdout.splitlines()
    assert Path(where).is_relative_to(home)
    assert scores == EXPECTED
    if not numba.config.DISABLE_JIT:
        assert "compiled code is not kept" in done.stderr


@pytest.mark.compiled
@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
def test_compiled_code_is_kept_where_asked(tmp_path):
    code = "import numpy as np\nfrom momata._kernels.trees import child_of\n"
    code += "print(child_of(np.array([3, 5], np.int32), 0, 2, 5))\nprint(sum(child_of.stats.cache_hits.values()))"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (run(code, environment, tmp_path) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert first.stdout.split() == ["1", "0"]
    assert second.stdout.split() == ["1", "1"]
    assert list((tmp_path / "cache").rglob("*.nbi"))


def test_runs_without_compiling(tmp_path):
    done = run(SCORE, {"NUMBA_DISABLE_JIT": "1"}, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == EXPECTED


def test_falls_back_when_numba_cannot_cache(monkeypatch, caplog):
    asked = []

    def njit(**options):
        asked.append(options)
        if options.get("cache"):
            raise RuntimeError("cannot cache function 'f': no locator available for file 'f.py'")
        return lambda function: function

    monkeypatch.setattr(_jit.numba, "njit", njit)
    with caplog.at_level("INFO", logger="momata"):
        assert _jit.kernel(len) is len
    assert asked == [
        {"cache": True, "nogil": True, "error_model": "numpy"},
        {"nogil": True, "error_model": "numpy"},
    ]
    assert "no locator available" in caplog.text


def test_nothing_compiles_at_import(tmp_path):
    code = (
        "import momata._kernels.dense as a, momata._kernels.ngrams as b\n"
        "print([len(f.signatures) for f in (a.dense_windows, b.score_events, b.advance) if hasattr(f, 'signatures')])"
    )
    done = run(code, {}, tmp_path)
    assert done.stdout.strip() in ("[0, 0, 0]", "[]"), done.stderr
