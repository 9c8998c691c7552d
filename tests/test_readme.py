"""The README does what it says: its commands run, and print what it shows.

Blocks marked ``sh`` and ``python`` run from top to bottom in one folder; a ``text`` block right after one is what it prints on
standard output, white space apart, where ``...`` stands for anything. Lines that fetch or install are not run but looked up.
The Python blocks of a guide in ``docs/`` run in one process, each with the names of those above it.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
NOT_RUN = re.compile(r"(make|git|pip|python3? -m (venv|pip)|py -m|cd|\. \.venv|\.venv)\b")
pytestmark = pytest.mark.compiled


class Block(NamedTuple):
    line: int
    language: str
    code: str
    output: str | None


def blocks_of(text: str) -> list[Block]:
    """Return the blocks that can run, each with the output that follows it directly."""
    fenced = re.compile(r"^```(sh|python)\n(.*?)^```\n(?:\n*```text\n(.*?)^```$)?", flags=re.MULTILINE | re.DOTALL)
    return [Block(text[: found.start()].count("\n") + 1, *found.groups()) for found in fenced.finditer(text)]


def split_commands(code: str) -> tuple[str, list[str]]:
    """Return what of a shell block is run, and the lines that are not."""
    lines = code.splitlines()
    return "\n".join(line for line in lines if not NOT_RUN.match(line)), [line for line in lines if NOT_RUN.match(line)]


def run_block(block: Block, folder: Path) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    command = (
        ["sh", "-e", "-c", split_commands(block.code)[0]]
        if block.language == "sh"
        else [sys.executable, "-c", block.code]
    )
    surroundings = {**os.environ, "PATH": path, "PYTHONUTF8": "1", "NO_COLOR": "1", "COLUMNS": "120"}
    done = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"README.md, line {block.line}: {done.stderr}"
    return done.stdout


def agrees(shown: str, printed: str) -> bool:
    return doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


@pytest.mark.skipif(os.name == "nt", reason="the blocks are for a POSIX shell")
def test_readme_runs_and_prints_what_it_shows(tmp_path: Path) -> None:
    blocks = blocks_of((ROOT / "README.md").read_text(encoding="utf-8"))
    assert any(block.language == "sh" and "momata " in block.code for block in blocks)
    assert any(block.output for block in blocks)
    for block in blocks:
        printed = run_block(block, tmp_path)
        if block.output is not None:
            assert agrees(block.output, printed), (
                f"README.md, line {block.line} shows\n{block.output}\nbut prints\n{printed}"
            )


@pytest.mark.parametrize("guide", ["automata.md", "spectral.md", "likelihood.md"])
def test_guides_run_and_print_what_they_show(
    guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if guide == "spectral.md":
        pytest.importorskip("matplotlib")  # it draws a curve
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of((ROOT / "docs" / guide).read_text(encoding="utf-8"))
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        assert block.language == "python", f"{guide}, line {block.line}: a shell block, which nothing runs"
        exec(compile(block.code, guide, "exec"), names)
        printed = capsys.readouterr().out
        if block.output is not None:
            assert agrees(block.output, printed), (
                f"{guide}, line {block.line} shows\n{block.output}\nbut prints\n{printed}"
            )


def test_readme_names_targets_and_extras_that_exist() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    extras = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    )
    for document in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        lines = [line for block in blocks_of(text) for line in split_commands(block.code)[1]]
        named = set(re.findall(r"`make ([a-z][a-z-]*)", text)) | {
            line.split()[1] for line in lines if re.match(r"make \w", line)
        }
        assert named
        assert named <= targets
        assert {
            name.strip() for found in re.findall(r"(?:momata|\.)\[([a-z, ]+)\]", text) for name in found.split(",")
        } <= extras


SAMPLE = """# t

```sh
make demo
echo 12 a  b 0.50
```

```text
12 a b
0.50
```

```python
print(3)
```

words

```text
4
```
"""


def test_blocks_are_found_with_their_outputs(tmp_path: Path) -> None:
    first, second = blocks_of(SAMPLE)
    assert first == Block(3, "sh", "make demo\necho 12 a  b 0.50\n", "12 a b\n0.50\n")
    assert (second.language, second.output) == ("python", None)
    assert split_commands(first.code) == ("echo 12 a  b 0.50", ["make demo"])
    if os.name != "nt":
        assert agrees(first.output or "", run_block(first, tmp_path))
    assert not agrees("12 a b\n0.5\n", "12 a b\n0.50\n")  # numbers agree digit by digit
    assert agrees("took ... s, 12\n", "took 0.3 s, 12\n")
