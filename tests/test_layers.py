"""The house of the design: imports go down only, starting is cheap, and the mathematics touches no files or screens."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import momata

PACKAGE = Path(momata.__file__).parent
# From the ground up. A room may import itself and what lies below it.
FLOORS = (
    "errors", "threads", "_kernels", "core", "predict", "learn", "interpret", "transducer", "grammar",
    "io", "experiments", "estimators", "report", "cli",
)  # fmt: skip
MODULES = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
HEAVY = {"numba", "sklearn", "matplotlib", "scipy", "pyarrow"}


def floor(module: str) -> int:
    """Return the floor of ``core.tree`` or ``momata.core.tree``; the package itself has none."""
    room = module.removeprefix("momata.").split(".")[0]
    assert room in FLOORS, f"momata/{room} is not a room of the design; add it to FLOORS where it belongs"
    return FLOORS.index(room)


def home_of(name: str) -> str | None:
    """Return the module that ``momata.NAME`` comes from; None for what momata/__init__.py itself holds."""
    return None if name.startswith("__") else momata._HOME_OF.get(name, name)


def imported(source: str, module: str) -> Iterator[tuple[int, str]]:
    """Yield line and module of everything of momata that a source uses, imports inside functions included."""
    aliases = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                if item.name == "momata":
                    aliases.add(item.asname or "momata")
                elif item.name.startswith("momata."):
                    yield node.lineno, item.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = ["momata", *module.split(".")[: -node.level]]
                base = ".".join([*parents, base] if base else parents)
            if base.startswith("momata."):
                yield node.lineno, base
            elif base == "momata":
                yield from ((node.lineno, home) for item in node.names if (home := home_of(item.name)))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in aliases
            and (home := home_of(node.attr))
        ):
            yield node.lineno, home


def climbs(source: str, module: str) -> list[str]:
    return [f"line {line}: {found}" for line, found in imported(source, module) if floor(found) > floor(module)]


@pytest.mark.parametrize("module", sorted(set(MODULES) - {"__init__"}))
def test_imports_go_down(module: str) -> None:
    assert climbs(MODULES[module].read_text(encoding="utf-8"), module) == []


@pytest.mark.parametrize(
    "line",
    [
        "import momata.io.text",
        "from momata.learn import ngram",
        "from momata import read_corpus",
        "from momata import cli",
        "import momata as mo\nmo.load('m.npz')",
        "from ..io import text",
        "from .. import report",
        "def late():\n    from momata.report import write_report",
    ],
)
def test_contract_sees_an_upward_import(line: str) -> None:
    assert len(climbs(line, "core.tree")) == 1


@pytest.mark.parametrize(
    "line",
    [
        "from momata.errors import OptionError",
        "from . import corpus",
        "from momata import __version__",
        "import numpy",
        "from .._kernels import x",
    ],
)
def test_contract_lets_downward_imports_pass(line: str) -> None:
    assert climbs(line, "core.tree") == []


def test_public_names_live_where_the_table_says() -> None:
    for name in momata.__all__:
        assert getattr(momata, name) is not None


def loaded(*arguments: str) -> set[str]:
    """Return the top names of all modules that a fresh Python imports."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], capture_output=True, encoding="utf-8", check=True
    )
    return {name.split(".")[0] for name in re.findall(r"^import time:.*\| +(\S+)$", run.stderr, flags=re.MULTILINE)}


def test_import_is_cheap() -> None:
    assert "numpy" in loaded("-c", "import numpy")  # the probe sees what is loaded
    assert loaded("-c", "import momata").isdisjoint(HEAVY | {"numpy"})


@pytest.mark.parametrize(
    "command", ["", "learn", "learn ngram", "score", "predict", "evaluate", "sample", "info", "demo"]
)
def test_help_is_cheap(command: str) -> None:
    assert loaded("-m", "momata.cli.main", *command.split(), "--help").isdisjoint(HEAVY)


def calls_and_imports(path: Path) -> tuple[set[str], set[str]]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    calls = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    plain = {item.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for item in node.names}
    return calls, plain | {(node.module or "").split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom)}


@pytest.mark.parametrize(
    "module", [name for name in sorted(MODULES) if name.split(".")[0] in ("core", "learn", "predict", "_kernels")]
)
def test_mathematics_opens_and_prints_nothing(module: str) -> None:
    calls, imports = calls_and_imports(MODULES[module])
    assert calls.isdisjoint({"open", "print", "input"})
    if module.startswith("core"):
        assert imports.isdisjoint({"logging", "time", "datetime", "random", "pathlib", "tempfile"})
