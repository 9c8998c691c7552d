"""Help, versions, wrong usage."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time

import click
import pytest

from momata.cli.main import _COMMANDS, cli

COMMANDS = list(_COMMANDS)
UNCOMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
COVERED = "coverage" in sys.modules and sys.modules["coverage"].Coverage.current() is not None
HEAVY = ("numba", "sklearn", "matplotlib", "scipy", "numpy", "pyarrow", "rich", "momata.core", "momata.predict")


def test_the_help_lists_every_command(momata):
    text = momata("--help").out
    for command in COMMANDS:
        assert re.search(rf"^  {command} +[A-Z].*\.$", text, flags=re.MULTILINE), command
    assert momata("-h").out == text
    assert {"learn", "score", "predict", "evaluate", "sample", "info", "demo"} <= set(COMMANDS)


def command_of(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name) if name else cli
    assert isinstance(found, click.Command)
    return found


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_each_help_ends_with_two_examples_whose_options_exist(momata, name):
    text = momata(*([name] if name else []), "--help").out
    before, examples = text.split("\n  Examples:\n")
    lines = examples.splitlines()
    assert len(lines) == 2
    assert "Options:" in before
    assert f"momata {name}" in lines[0]
    for line in lines:
        words = shlex.split(line.rpartition("| ")[2].partition(" > ")[0])
        assert words[0] == "momata"
        command = command_of(words[1])
        options = {o for p in command.params for o in p.opts if o.startswith("-")}
        used = [w for w in words[2:] if re.match("-.", w)]
        assert set(used) <= options, line


@pytest.mark.parametrize("name", ["learn", "score", "predict", "evaluate", "sample", "info"])
def test_examples_run(momata, folder, name):
    """They are real: with files of those names they do what they say."""
    (folder / "train.txt").write_text("a b\na b a\n\nb\n")
    (folder / "test.txt").write_text("a b\nb a\n")
    (folder / "prefixes.txt").write_text("a\n\n")
    (folder / "clicks.csv").write_text("session,time,page\n1,1,a\n2,1,b\n1,2,c\n2,3,a\n")
    (folder / "1.pautomac.test").write_text("2 2\n1 0\n2 0 1\n")
    (folder / "1.pautomac_solution.txt").write_text("2\n0.25\n0.5\n")
    (folder / "numbers.txt").write_text("0 1\n1\n")
    if name != "learn":
        momata("learn", "ngram", "train.txt", "--out", "model.npz", "--order", 2)
    for line in momata(name, "--help").out.splitlines()[-2:]:
        words = shlex.split(line.rpartition("| ")[2].partition(" > ")[0])[1:]
        if "1.pautomac.test" in words:
            momata("learn", "ngram", "numbers.txt", "--out", "model.npz", "--force")
        if "clicks.csv" in words:
            pytest.importorskip("pyarrow")
        stdin = re.search(r'echo "(.*)" \|', line)
        assert momata(*words, stdin=stdin[1] + "\n" if stdin else "").out


def test_versions(momata):
    names = dict(line.split() for line in momata("--version").out.splitlines())
    assert list(names) == ["momata", "python", "numpy", "scipy", "numba", "scikit-learn"]
    assert all(re.match(r"\d+\.\d", version) for version in names.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["--nonsense"], "No such option"),
        (["learn", "ngram", "t.txt", "--out", "m.npz", "--no-such-option"], "--no-such-option"),
        (["learn", "magic", "t.txt", "--out", "m.npz"], "there is no method 'magic'"),
        (["learn", "ngram", "t.txt", "--out", "m.npz", "--states", "3"], "learn ngram has no option --states"),
        (["learn", "spectral", "t.txt", "--out", "m.npz", "--order", "3"], "learn spectral has no option --order"),
        (["learn", "spectral", "t.txt", "--out", "m.npz", "--states", "none"], "is no number of states"),
        (["learn", "spectral", "t.txt", "--out", "m.npz", "--basis", "best:3"], "basis='best:3' is not known"),
        (["learn", "spectral", "t.txt", "--out", "m.npz", "--scaling", "sums,rows"], "'rows' is not one of"),
        (["learn", "ngram", "t.txt"], "Missing option '--out'"),
        (["learn", "ngram", "--out", "m.npz"], "Missing argument 'TRAIN'"),
        (["learn", "ngram", "t.txt", "more.txt", "--out", "m.npz"], "unexpected extra argument"),
        (["score", "m.npz"], "Missing argument 'DATA'"),
        (["score", "-", "-"], "MODEL and DATA cannot both be standard input"),
        (["predict", "-", "-"], "cannot both be standard input"),
        (["evaluate", "-", "-"], "cannot both be standard input"),
        (["evaluate", "m.npz", "-", "--target", "-"], "DATA and --target cannot both be standard input"),
        (["evaluate", "m.npz", "-", "--ranking", "-"], "DATA and --ranking cannot both be standard input"),
        (["evaluate", "m.npz", "x", "--ranking", "y", "--target", "z"], "--target and --ranking"),
        (["learn", "ngram", "-", "--valid", "-", "--out", "m.npz"], "TRAIN and --valid cannot both be standard input"),
        (["predict", "m.npz", "x", "--top", "0"], "--top"),
        (["predict", "m.npz", "x", "--top", "many"], "--top"),
        (["evaluate", "m.npz", "x", "--k", "0"], "--k"),
        (["evaluate", "m.npz", "x", "--k", "99999999999999999999"], "--k"),
        (["sample", "m.npz", "-n", "-1"], "-n"),
        (["sample", "m.npz", "-n", "99999999999999999999"], "-n"),
        (["sample", "m.npz", "--max-length", "99999999999999999999"], "--max-length"),
        (["sample", "m.npz", "--seed", "-1"], "--seed"),
        (["sample", "m.npz", "--seed", "0x10"], "--seed"),
        (["sample", "m.npz", "--format", "parquet"], "--format"),
        (["score", "m.npz", "x", "--threads", "0"], "--threads"),
        (["score", "m.npz", "x", "--format", "pdf"], "--format"),
        (["score", "m.npz", "x", "--threads", "1" + "0" * 25], "--threads"),
        (["demo", "surplus"], "unexpected extra argument"),
        (["learn", "ngram", "t.txt", "--out", "m.npz", "--smoothing", "good-turing"], "--smoothing"),
    ],
)
def test_wrong_usage(momata, folder, arguments, message):
    done = momata(*arguments, code=2)
    assert message in done.err
    assert done.out == ""
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "order", ["0", "-1", "-0", "10001", "1000000000", "9" * 5000, "-" + "9" * 5000, ["3", "4"], ["x", "y"], ["3", "3"]]
)
def test_orders_that_are_none(momata, train, order):
    orders = [word for o in ([order] if isinstance(order, str) else order) for word in ("--order", o)]
    done = momata("learn", "ngram", train, "--out", "m.npz", *orders, code=2)
    assert "--order" in done.err
    assert len(done.err) < 500
    assert not train.with_name("m.npz").exists()


@pytest.mark.parametrize("order", ["²", "--5", "３", "1e3", "2.0", " 3", "", "time"])
def test_an_order_that_is_no_number_is_a_column(momata, train, order):
    done = momata("learn", "ngram", train, "--out", "m.npz", "--order", order, code=2)
    assert f"order={order!r} names a column of a table" in done.err


# ---------------------------------------------------------------------- speed


def measured(*arguments: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "momata.cli.main", *arguments], check=True, capture_output=True)
    return time.perf_counter() - began


@pytest.mark.compiled
@pytest.mark.skipif(UNCOMPILED or COVERED, reason="a speed claim is about the plain program")
@pytest.mark.parametrize(
    "arguments", [["--help"], ["learn", "--help"], ["evaluate", "-h"], ["demo", "-h"]], ids=" ".join
)
def test_help_is_quick(arguments):
    assert min(measured(*arguments) for _ in range(5)) < 0.3


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_loads_nothing_heavy(name):
    code = (
        "import sys\nfrom momata.cli.main import main\n"
        f"try: main({[name, '--help'] if name else ['--help']})\nexcept SystemExit: pass\n"
        "print('LOADED', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    shown, loaded = done.stdout.split("\nLOADED ")
    assert "Usage: momata" in shown
    assert [module for module in HEAVY if module in loaded.split()] == []
