"""What only a process of its own shows: signals, pipes, locales, tracebacks; and logs, threads, the demo."""

from __future__ import annotations

import io
import logging
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from momata.cli.main import main

COMMAND = [sys.executable, "-m", "momata.cli.main"]
posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and named pipes are those of POSIX")


# ---------------------------------------------------------------------- log, threads, tracebacks


def test_the_log_is_shown_on_demand_on_standard_error(momata, model, train):
    plain, wordy = momata("score", model, train), momata("score", model, train, "--verbose")
    assert plain.out == wordy.out
    assert plain.err == ""
    quiet = momata("learn", "ngram", train, "--out", "a.npz", "--json")
    assert quiet.err == ""
    for option in ("--verbose", "--debug"):
        loud = momata("learn", "ngram", train, "--out", "a.npz", "--force", "--json", option)
        assert set(loud.json()) == set(quiet.json())


def test_log_records_reach_standard_error(momata, model, train, monkeypatch):
    from momata.predict.ngram_model import NGramModel

    real = NGramModel.log_prob

    def talkative(self, *args):
        logging.getLogger("momata.test").info("a note")
        logging.getLogger("momata.test").debug("a detail")
        return real(self, *args)

    monkeypatch.setattr(NGramModel, "log_prob", talkative)
    assert momata("score", model, train).err == ""
    assert momata("score", model, train, "--verbose").err == "momata INFO: a note\n"
    assert "momata DEBUG: a detail" in momata("score", model, train, "--debug").err


@pytest.mark.parametrize("threads", [1, 2, 1000, 10**6])
def test_threads_change_nothing(momata, model, train, threads):
    assert momata("score", model, train, "--threads", threads).out == momata("score", model, train).out
    momata("learn", "ngram", train, "--out", "again.npz", "--order", 3, "--threads", threads)
    assert train.with_name("again.npz").read_bytes() == model.read_bytes()


@pytest.mark.parametrize("value", ["bad", "0", "-1", "1.5"])
def test_a_bad_number_of_threads_in_the_environment(momata, model, train, monkeypatch, value):
    monkeypatch.setenv("MOMATA_THREADS", value)
    done = momata("score", model, train, code=2)
    assert f"MOMATA_THREADS={value} is not a number of threads" in done.err
    assert momata("--help").out


def test_threads_from_the_environment(momata, model, train, monkeypatch):
    from momata import threads

    seen = []
    real = threads.announce_threads
    monkeypatch.setattr(threads, "announce_threads", lambda n: (real(n), seen.append(os.environ["OMP_NUM_THREADS"])))
    monkeypatch.setenv("MOMATA_THREADS", "2")
    momata("score", model, train)
    momata("score", model, train, "--threads", 1)
    assert seen == ["2", "1"]


def test_debug_shows_where(run_cli, tmp_path):
    plain = run_cli("score", "absent.npz", "absent.txt")
    assert (plain.returncode, plain.stdout) == (1, "")
    assert "Traceback" not in plain.stderr
    shown = run_cli("score", "absent.npz", "absent.txt", "--debug")
    assert shown.returncode == 1
    assert "Traceback (most recent call last)" in shown.stderr
    assert "FormatError: absent.npz: there is no such file" in shown.stderr


def test_an_error_of_momata_itself_says_so(momata, model, train, monkeypatch, capsys):
    from momata.predict.ngram_model import NGramModel

    def fail(*_, **__):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(NGramModel, "log_prob", fail)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as end:
        main(["score", str(model), str(train)])
    assert end.value.code == 1
    assert sys.stderr.getvalue() == (
        "momata: unexpected ZeroDivisionError: by zero. This is a fault of momata; --debug shows where.\n"
    )
    with pytest.raises(ZeroDivisionError):
        main(["score", str(model), str(train), "--debug"])


# ---------------------------------------------------------------------- interruption


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("stage", ["momata.learn.ngram.learn_ngram", "zipfile.ZipFile.writestr"])
@posix
def test_interruption_at_any_stage(momata, train, folder, monkeypatch, stage, number, code):
    (folder / "m.npz").write_bytes(b"old")

    def interrupt(*_, **__):
        os.kill(os.getpid(), number)
        time.sleep(5)
        raise AssertionError("not interrupted")

    monkeypatch.setattr(stage, interrupt)
    if number == signal.SIGTERM:  # ends without a message, as other programs do
        with pytest.raises(AssertionError, match="without a message"):
            momata("learn", "ngram", train, "--out", "m.npz", "--force", code=code)
    else:
        done = momata("learn", "ngram", train, "--out", "m.npz", "--force", code=code)
        assert done.out == ""
        assert "interrupted" in done.err
    assert (folder / "m.npz").read_bytes() == b"old"
    assert {p.name for p in folder.iterdir()} == {"m.npz", "train.txt"}


LOADER = """
import os, time
def load(number):
    os.kill(os.getpid(), number)
    time.sleep(0.1)  # an exception would come out of here
    finished.append(number)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("module", ["numba.core.codegen", "llvmlite.binding", "numbat"])
@posix
def test_a_kernel_is_loaded_to_its_end_before_an_interruption(momata, train, monkeypatch, module, number, code):
    names = {"__name__": module, "finished": []}
    exec(LOADER, names)

    def learn(*_, **__):
        names["load"](number)
        time.sleep(5)
        raise AssertionError("not interrupted")

    monkeypatch.setattr("momata.learn.ngram.learn_ngram", learn)
    monkeypatch.setattr("momata.cli.main.sys.exit", _exit_with_a_message)
    momata("learn", "ngram", train, "--out", "m.npz", code=code)
    assert names["finished"] == ([] if module == "numbat" else [number])
    assert not train.with_name("m.npz").exists()


def _exit_with_a_message(code: int) -> None:
    sys.stderr.write("ended")
    raise SystemExit(code)


@posix
def test_an_interruption_that_the_caller_ignores_stays_ignored(momata, train, monkeypatch):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        monkeypatch.setattr(
            "momata.learn.ngram.learn_ngram", lambda *_, **__: os.kill(os.getpid(), signal.SIGINT) or 1 / 0
        )
        with pytest.raises(AssertionError, match="ZeroDivisionError"):  # it went on to that
            momata("learn", "ngram", train, "--out", "m.npz", code=None)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def start(*arguments: object, **options) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", **options
    )


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_process_interrupted_while_it_reads(tmp_path, number, code):
    os.mkfifo(tmp_path / "train.txt")
    process = start("learn", "ngram", "train.txt", "--out", "m.npz", cwd=tmp_path)
    with (tmp_path / "train.txt").open("w") as pipe:  # waits until the other side reads
        pipe.write("a b c\n" * 1000)
        pipe.flush()
        time.sleep(
            0.3
        )  # a signal between two steps of the interpreter, just before it waits, is seen after the wait only
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err
    assert [p.name for p in tmp_path.iterdir()] == ["train.txt"]


@posix
@pytest.mark.compiled
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_interrupted_while_it_learns(tmp_path, number):
    rng = random.Random(0)
    text = "".join(" ".join(rng.choices("abcdefgh", k=50)) + "\n" for _ in range(30_000))
    os.mkfifo(tmp_path / "train.txt")
    codes = set()
    for delay in (0.0, 0.2, 0.5, 0.9, 1.4):
        process = start("learn", "ngram", "train.txt", "--out", "m.npz", cwd=tmp_path)
        with (tmp_path / "train.txt").open("w") as pipe:
            pipe.write(text)
        time.sleep(delay)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        codes.add(process.returncode)
        assert "Traceback" not in err
        assert process.returncode in (
            0,
            -number,
            128 + number,
        )  # the second: done, and the interpreter was closing down
        left = {p.name for p in tmp_path.iterdir()} - {"train.txt"}
        assert left == (set() if process.returncode == 128 + number else {"m.npz"})
        (tmp_path / "m.npz").unlink(missing_ok=True)
    assert 128 + number in codes


# ---------------------------------------------------------------------- pipes


@posix
@pytest.mark.parametrize("options", [["score"], ["score", "--json"], ["predict"], ["sample"]], ids=" ".join)
def test_a_reader_that_has_had_enough(momata, model, train, folder, options):
    (folder / "many.txt").write_text("a b c\n" * 20_000)
    command, *rest = options
    process = start(command, "model.npz", *(["-n", 20_000] if command == "sample" else ["many.txt"]), *rest, cwd=folder)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) in (0, 1)
    assert err == ""


@posix
def test_standard_output_that_is_full(momata, model, train, folder):
    if not os.path.exists("/dev/full"):  # noqa: PTH110
        pytest.skip("there is no /dev/full")
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [*COMMAND, "score", "model.npz", "train.txt"],
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


@posix
def test_standard_streams_that_are_closed(momata, model, train):
    for redirection in (">&-", "2>&-", "<&-"):
        done = subprocess.run(
            ["sh", "-c", f'"$@" {redirection}', "sh", *COMMAND, "score", "model.npz", "train.txt"],
            capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, redirection
        assert "Exception ignored" not in done.stderr, redirection
    assert done.returncode == 0
    done = subprocess.run(
        ["sh", "-c", '"$@" <&-', "sh", *COMMAND, "score", "model.npz", "-"],
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "standard input: is closed" in done.stderr


# ---------------------------------------------------------------------- code pages

STRANGE = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}


def test_any_symbol_under_any_locale(run_cli, tmp_path):
    (tmp_path / "t.txt").write_text("ä 日本 \U0001f600\nä ä\n", encoding="utf-8")
    done = run_cli("learn", "ngram", "t.txt", "--out", "m.npz", "--order", 2, env=STRANGE)
    assert done.returncode == 0, done.stderr
    drawn = run_cli("sample", "m.npz", "-n", 30, env=STRANGE).stdout
    assert drawn == run_cli("sample", "m.npz", "-n", 30).stdout
    assert set(drawn.split()) == {"ä", "日本", "\U0001f600"}
    assert len(run_cli("score", "m.npz", "-", stdin=drawn, env=STRANGE).stdout.split()) == 30
    assert '"ä"' in run_cli("predict", "m.npz", "-", "--json", stdin="ä\n", env=STRANGE).stdout
    assert "ä" in run_cli("info", "m.npz", env=STRANGE).stdout
    refused = run_cli("score", "m.npz", "-", "--unknown", "error", stdin="ö\n", env=STRANGE)
    assert refused.returncode == 1
    assert "symbol 'ö'" in refused.stderr
    missing = run_cli("score", "mödel.npz", "t.txt", env=STRANGE)
    assert missing.returncode == 1
    assert "there is no such file" in missing.stderr


# ---------------------------------------------------------------------- demo


@pytest.mark.compiled
def test_demo(momata, folder):
    pytest.importorskip("matplotlib")
    done = momata("demo")
    assert f"report: {folder / 'report.html'}" in done.out
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "<svg" in page or "data:image/png" in page
    (folder / "report.html").write_text("mine")
    assert "report.html exists. Use --force" in momata("demo", code=2).err
    assert (folder / "report.html").read_text() == "mine"
    found = momata("demo", "--force", "--json").json()
    assert (folder / "report.html").read_text(encoding="utf-8") == page, "the same seed gives the same report"
    assert found["report"] == "report.html"
    source, learned = found["figures"][0], found["figures"][-1]
    assert learned["perplexity"] > source["perplexity"]
    assert learned["divergence"] > 0
    momata("demo", "--seed", 3, "--out", "again.html")
    assert momata("demo", "--out", "-").out == page, "nothing but the report"
    assert {p.name for p in folder.iterdir()} == {"report.html", "again.html"}


@pytest.mark.compiled
def test_demo_without_the_report_extra(momata, folder, monkeypatch):
    for name in [m for m in sys.modules if m.partition(".")[0] in ("matplotlib", "jinja2")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = momata("demo")
    assert 'pip install "momata[report]"' in done.err
    assert "report:" not in done.out
    assert momata("demo", "--json").json()["report"] is None
    assert list(folder.iterdir()) == []
