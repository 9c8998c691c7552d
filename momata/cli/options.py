"""Options that several commands share, and how results are printed."""

from __future__ import annotations

import functools
import inspect
import json
import logging
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

__all__ = [
    "ExamplesLast",
    "common",
    "data_options",
    "load_model",
    "not_twice",
    "print_json",
    "print_table",
    "read",
    "save_model",
    "show_progress",
    "unknown_option",
]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_FORMATS = ("text", "chars", "pautomac", "spice", "conll", "dp", "parquet", "events")


class ExamplesLast(click.Command):
    """A command whose docstring ends with examples, which then end its help."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        text, mark, examples = inspect.cleandoc(self.help or "").partition("\b\nExamples:")
        self.help, self.epilog = text, mark + examples


def common(command: _Command) -> _Command:
    """Add ``--threads``, ``--verbose`` and ``--debug``, and make them work."""

    @click.option(
        "--threads",
        type=click.IntRange(1, 1_000_000),
        metavar="N",
        help="Bound on all threads [default: MOMATA_THREADS, or all cores].",
    )
    @click.option("--verbose", is_flag=True, help="Show the log on standard error.")
    @click.option("--debug", is_flag=True, help="Show where an error comes from.")
    @functools.wraps(command)
    def wrapped(*args: Any, threads: int | None, verbose: bool, debug: bool, **options: Any) -> Any:
        if verbose or debug:
            _show_log(logging.DEBUG if debug else logging.INFO)
        from momata.threads import announce_threads, limit_threads

        announce_threads(threads)
        with limit_threads(threads):
            return command(*args, **options)

    return wrapped  # type: ignore[return-value]


def _show_log(level: int) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("momata %(levelname)s: %(message)s"))
    logger = logging.getLogger("momata")
    logger.handlers = [handler]
    logger.setLevel(level)


def data_options(command: _Command) -> _Command:
    """Add the options that say how sequences are read; they arrive as one argument ``how``."""

    @click.option("--format", type=click.Choice(_FORMATS), help="Format of the data [default: recognised].")
    @click.option("--chars", is_flag=True, help="Each character of a line is a symbol.")
    @click.option(
        "--tags", default="xpos", show_default=True, metavar="upos|xpos|column:N", help="Column of a CoNLL file."
    )
    @click.option("--group", metavar="COLUMN", help="Event table: what makes a sequence.")
    @click.option("--order-by", metavar="COLUMN", help="Event table: what sorts a sequence [default: file order].")
    @click.option("--symbol", metavar="COLUMN", help="Event table: the symbols.")
    @click.option("--column", metavar="COLUMN", help="Parquet: the list column.")
    @functools.wraps(command)
    def wrapped(*args: Any, order_by: str | None, **options: Any) -> Any:
        names = ("format", "chars", "tags", "group", "symbol", "column")
        how = {name: options.pop(name) for name in names} | {"order": order_by}
        return command(*args, how=how, **options)

    return wrapped  # type: ignore[return-value]


def order_option(command: _Command) -> _Command:
    """Add ``--order COLUMN``, the short name of ``--order-by`` where a command has no other order."""

    @click.option("--order", metavar="COLUMN", hidden=True)
    @functools.wraps(command)
    def wrapped(*args: Any, order: str | None, how: dict[str, Any], **options: Any) -> Any:
        return command(*args, how=with_order(how, order), **options)

    return wrapped  # type: ignore[return-value]


def with_order(how: dict[str, Any], column: str | None) -> dict[str, Any]:
    """Return ``how`` with the column that ``--order`` names, which must not contradict ``--order-by``."""
    if column is not None and how["order"] not in (None, column):
        raise click.UsageError(f"--order {column} and --order-by {how['order']} differ. Give one of them.")
    return how | {"order": how["order"] or column}


def not_twice(**paths: str | None) -> None:
    """Refuse to read standard input for two things."""
    names = [name for name, path in paths.items() if path == "-"]
    if len(names) > 1:
        raise click.UsageError(
            f"{' and '.join(names)} cannot both be standard input. Give a file name for one of them."
        )


def _check_policy(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Refuse a policy that is none also where no symbol is unknown."""
    if value is not None:
        from momata.core.alphabet import UnknownPolicy

        UnknownPolicy.parse(value)
    return value


def unknown_option(command: _Command) -> _Command:
    """Add ``--unknown``."""
    option = click.option(
        "--unknown", metavar="error|skip|map=SYMBOL|share", callback=_check_policy,
        help="What an unseen symbol gets [default: the model's share for unknown symbols, else error].",
    )  # fmt: skip
    return option(command)


def read(path: str, how: dict[str, Any], model: Any = None) -> Any:
    """Read a corpus; a model trained on characters expects characters where the format is not said."""
    from momata.io import read_corpus

    if model is not None and model.training.get("chars") and not how["format"] and not how["group"]:
        how = how | {"chars": True}
    return read_corpus(path, **how)


def load_model(path: str) -> Any:
    """Read a model: in the format that the name ends in, as a model file where it ends in none."""
    from momata.io import automata

    return automata.read_model(path, _format_of_model(path))


def save_model(model: Any, path: str, force: bool) -> None:
    """Write a model: in the format that the name ends in, as a model file where it ends in none; say what is lost."""
    from momata.io import automata

    for note in automata.write_model(model, path, force, _format_of_model(path)):
        click.echo(f"momata: {path}: {note}.", err=True)


def _format_of_model(path: str) -> str:
    from momata.errors import OptionError
    from momata.io import automata

    try:
        return automata.format_of(path)
    except OptionError:
        return "npz"


def print_json(value: Any) -> None:
    """Print one strict JSON object in one line: a number that does not exist is null."""
    click.echo(json.dumps(strict(value), ensure_ascii=False, allow_nan=False))


def shown(symbol: Any) -> str:
    """Return a symbol as it can stand in a line: as a JSON string if it holds white space or control characters."""
    text = str(symbol)
    return text if text.isprintable() and text and not any(map(str.isspace, text)) else json.dumps(text)


def strict(value: Any) -> Any:
    """Replace NaN and infinities by None, all the way down."""
    if isinstance(value, dict):
        return {str(k): strict(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [strict(v) for v in value]
    if hasattr(value, "tolist"):
        return strict(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_table(rows: Iterable[Sequence[Any]], header: Sequence[str] = ()) -> None:
    """Print aligned columns: texts to the left, numbers to the right."""
    filled = [list(header)] if header else []
    body = [list(row) for row in rows]
    text = filled + [[_shown(value) for value in row] for row in body]
    widths = [max(len(row[i]) for row in text) for i in range(len(text[0]))] if text else []
    numeric = [all(isinstance(row[i], int | float) or row[i] is None for row in body) for i in range(len(widths))]
    for row in text:
        cells = [c.rjust(w) if number else c.ljust(w) for c, w, number in zip(row, widths, numeric, strict=True)]
        click.echo("  ".join(cells).rstrip())


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def show_progress(label: str, total: int | None = None) -> Any:
    """Return a context whose value is a function of a text, to be called after each of ``total`` steps.

    On a terminal, and only when it takes more than a second, a bar shows how far it is.
    """
    import contextlib
    import time

    @contextlib.contextmanager
    def shown() -> Any:
        if not sys.stderr.isatty():
            yield lambda text: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        began, n_done = time.monotonic(), 0
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True)
        task = bar.add_task(label, total=total)
        started = False

        def show(text: str) -> None:
            nonlocal n_done, started
            n_done += 1
            if not started and time.monotonic() - began > 1.0:
                bar.start()
                started = True
            bar.update(task, completed=n_done, description=f"{label}: {text}")

        try:
            yield show
        finally:
            if started:
                bar.stop()

    return shown()
