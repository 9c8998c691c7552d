"""The command ``momata``: its commands by name, its exit codes, its one place for errors."""

from __future__ import annotations

import contextlib
import importlib
import io
import signal
import sys
import threading
from types import FrameType
from typing import Any

import click

from momata.cli.options import ExamplesLast
from momata.errors import MomataError, OptionError

__all__ = ["main"]

DONE, REFUSED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130

_COMMANDS = {
    "learn": ("momata.cli.learn", "Learn a model from sequences."),
    "score": ("momata.cli.apply", "Print the log probability of each sequence."),
    "predict": ("momata.cli.apply", "Print the likeliest next symbols after each sequence."),
    "evaluate": ("momata.cli.apply", "Measure a model: perplexity, word error rate, ranking."),
    "sample": ("momata.cli.apply", "Draw sequences from a model."),
    "compare-models": ("momata.cli.compare_models", "Print how far two models are apart."),
    "convert": ("momata.cli.convert", "Write a model in another format."),
    "source": ("momata.cli.source", "Draw a random target: an HMM, a PFA, or a deterministic one."),
    "info": ("momata.cli.info", "Show what a model is and how it came about."),
    "demo": ("momata.cli.demo", "Run a small complete example on data made up on the spot."),
}


class _LazyGroup(ExamplesLast, click.Group):
    """Commands are imported when they are called, not when the help lists them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module, _ = _COMMANDS[name]
        command: click.Command = getattr(importlib.import_module(module), name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


def _show_versions(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from momata.io.model_parts import versions

        for name, version in versions().items():
            click.echo(f"{name} {version}")
        ctx.exit()


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_versions,
    help="Show versions of what computes.",
)
def cli() -> None:
    """Learn weighted automata and n-gram models from sequences, score, predict and sample with them.

    Results go to standard output, messages to standard error; "-" is standard input or output.
    Exit code 0: done, 1: the data or the model was refused, 2: wrong usage.

    \b
    Examples:
      momata learn ngram train.txt --out model.npz
      momata evaluate model.npz test.txt
    """  # noqa: D301


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    for stream in (sys.stdout, sys.stderr):  # symbols may be any text, also where the terminal has another code page
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    with contextlib.suppress(ValueError):  # only the main thread may
        signal.signal(signal.SIGTERM, _interrupt)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where the caller chose to ignore it
            signal.signal(signal.SIGINT, _interrupt)
    try:
        code = _run(arguments)
        if sys.stdout is not None:  # it is None where the caller closed it
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has had enough
        sys.stdout = None  # type: ignore[assignment]
        code = REFUSED
    if code:
        sys.exit(code)


def _run(arguments: list[str]) -> int:
    try:
        found: Any = cli.main(args=arguments, prog_name="momata", standalone_mode=False)
        return found if isinstance(found, int) else DONE
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return WRONG_USAGE
    except (click.Abort, KeyboardInterrupt):
        return _say("interrupted; nothing was left half written.", INTERRUPTED)
    except BrokenPipeError:
        raise
    except Exception as error:
        if "--debug" in arguments:
            raise
        if isinstance(error, MomataError):
            return _say(str(error), WRONG_USAGE if isinstance(error, OptionError) else REFUSED)
        if isinstance(error, MemoryError):
            return _say("the memory did not suffice. Use less data, a lower order, or a larger machine.", REFUSED)
        return _say(
            f"unexpected {type(error).__name__}: {error}. This is a fault of momata; --debug shows where.", REFUSED
        )


def _say(message: str, code: int) -> int:
    with contextlib.suppress(OSError, ValueError):
        click.echo(f"momata: {message}", err=True)
    return code


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Make a request to end run all clean-up on its way out; while numba is at work, ask again a little later.

    An exception in the middle of loading a kernel is lost, or leaves the kernel half loaded, which crashes when it is called.
    """
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in ("numba", "llvmlite"):
            again = threading.Timer(0.02, _send, (number,))
            again.daemon = True
            again.start()
            return
        frame = frame.f_back
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


def _send(number: int) -> None:
    main_thread = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main_thread is not None:
        signal.pthread_kill(main_thread, number)
    else:
        signal.raise_signal(number)


if __name__ == "__main__":
    main()
