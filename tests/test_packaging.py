"""What leaves the house: the wheel and the sdist are complete, and the wheel works where nothing else is installed."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import momata

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
pytestmark = pytest.mark.compiled  # nothing here depends on compiled loops


def run(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    surroundings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=surroundings, capture_output=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and from it the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    done = run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"momata-{momata.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    info = f"momata-{momata.__version__}.dist-info"
    needed = {
        "momata/py.typed",
        "momata/report/templates/report.html.j2",
        f"{info}/licenses/LICENSE",
        f"{info}/entry_points.txt",
    }
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "momata").rglob("*.py")}
    assert needed | sources <= set(names)
    assert {name.split("/")[0] for name in names} == {"momata", info}
    assert [name for name in names if re.search(r"\.(gz|npz|nbi|nbc|pyc|html|parquet)$|/tests?/", name)] == []


def test_sdist_is_enough_to_work_on(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    files = "LICENSE README.md CHANGELOG.md CONTRIBUTING.md CITATION.cff Makefile pyproject.toml docs/formats.md"
    assert {*files.split(), "tests/conftest.py", "tests/oldest.txt", "momata/__init__.py"} <= names
    assert [name for name in names if name.startswith((".venv", "dist/", ".git/")) or "__pycache__" in name] == []


def test_wheel_works_in_a_clean_environment(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path).returncode == 0
    programs = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = (programs / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    if run(*pip, PROJECT["dependencies"][0], cwd=tmp_path).returncode:
        pytest.skip("pip cannot reach an index")
    installed = run(*pip, wheel, cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr

    version = run(programs / "momata", "--version", cwd=tmp_path)
    assert momata.__version__ in version.stdout, version.stderr
    (tmp_path / "train.txt").write_text("a b a b\na b b\n", encoding="utf-8")
    learned = run(programs / "momata", "learn", "ngram", "train.txt", "--order", 2, "--out", "model.npz", cwd=tmp_path)
    assert learned.returncode == 0, learned.stderr
    scored = run(programs / "momata", "score", "model.npz", "train.txt", cwd=tmp_path)
    assert scored.returncode == 0, scored.stderr
    assert all(math.isfinite(number) and number < 0 for number in map(float, scored.stdout.split()[:2]))


def test_versions_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (\S+)$", citation, flags=re.MULTILINE)[1] == momata.__version__


def test_oldest_dependencies_are_the_lower_bounds() -> None:
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *(one for name, extra in extras.items() if name != "all" for one in extra)]
    lines = (ROOT / "tests" / "oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.replace("==", ">=") for line in lines if not line.startswith("#")}
    assert set(wanted) <= pinned
    assert all(re.fullmatch(r"[\w-]+>=[\d.]+", one) for one in wanted)  # a lower bound, and no upper one


def test_all_extras_are_in_all() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    assert set(re.findall(r"\w+", everything)) == {"momata", *extras} - {"all", "test"}
