"""``momata learn``."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import click

from momata.cli.options import (
    ExamplesLast,
    common,
    data_options,
    not_twice,
    print_json,
    print_table,
    read,
    save_model,
    show_progress,
    with_order,
)

__all__ = ["learn"]

METHODS = ("ngram",)
MAX_ORDER = 10_000


def _split_orders(values: tuple[str, ...]) -> tuple[int | None, str | None]:
    """Tell an order of an n-gram model (a whole number) from a column that orders events (anything else)."""
    numbers = [v for v in values if re.fullmatch("-?[0-9]+", v)]
    names = [v for v in values if v not in numbers]
    if len(numbers) > 1 or len(names) > 1:
        raise click.BadParameter(
            f"{', '.join(values)}: give one order of the n-gram model, and one column for events.", param_hint="--order"
        )
    if numbers and (len(numbers[0]) > 9 or not 1 <= int(numbers[0]) <= MAX_ORDER):
        raise click.BadParameter(
            f"{numbers[0]:.20} is no order of an n-gram model. Give a whole number from 1 to {MAX_ORDER}.",
            param_hint="--order",
        )
    return int(numbers[0]) if numbers else None, names[0] if names else None


class _Learn(ExamplesLast):
    """Looks at the method before the options, which another method may have."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and not args[0].startswith("-") and args[0] not in METHODS:
            raise click.UsageError(f"there is no method {args[0]!r}. Use one of: {', '.join(METHODS)}.", ctx)
        return super().parse_args(ctx, args)


@click.command(cls=_Learn)
@click.argument("method", type=click.Choice(METHODS))
@click.argument("train", type=click.Path(allow_dash=True))
@click.option("--out", required=True, type=click.Path(allow_dash=True), help="Model file to write.")
@click.option("--force", is_flag=True, help="Replace an existing model file.")
@click.option(
    "--order",
    "orders",
    multiple=True,
    metavar="N",
    help="How many symbols make an n-gram [default: chosen on held-out data].",
)
@click.option(
    "--smoothing",
    type=click.Choice(["kn", "mkn", "none"]),
    default="kn",
    show_default=True,
    help="Kneser-Ney with one discount an order, with three, or relative frequencies.",
)
@click.option(
    "--valid", type=click.Path(allow_dash=True), help="Held-out data [default: a tenth of TRAIN, drawn by --seed]."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of everything random.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@data_options
@common
def learn(
    method: str, train: str, out: str, force: bool, orders: tuple[str, ...], smoothing: Any, valid: str | None, seed: int,
    as_json: bool, how: dict[str, Any],
) -> None:  # fmt: skip
    """Learn a model from the sequences of TRAIN and write it to --out.

    METHOD is ngram: an n-gram model with start and end of a sequence, smoothed by Kneser-Ney. (In an event table,
    --order may also name the column that sorts the events, like --order-by.)

    \b
    Examples:
      momata learn ngram train.txt --out model.npz
      momata learn ngram clicks.csv --group session --order-by time --symbol page --out clicks.npz
    """  # noqa: D301
    from momata.io.streams import check_writable

    order, column = _split_orders(orders)
    how = with_order(how, column)
    not_twice(**{"TRAIN": train, "--valid": valid})
    check_writable(out, force)
    if out != "-" and train != "-" and Path(out).exists() and Path(train).exists() and Path(out).samefile(train):
        raise click.UsageError(
            f"--out {out} is the training data itself, which the model would replace. Name another file."
        )
    seconds: dict[str, float] = {}
    began = time.perf_counter()
    corpus = read(train, how)
    held_out = None if valid is None else read(valid, how)
    seconds["read"] = time.perf_counter() - began
    from momata.learn.ngram import learn_ngram

    with show_progress("choosing the order") as show:
        result = learn_ngram(
            corpus, order, smoothing, held_out, seed=seed,
            callback=lambda entry: show(f"order {entry['order']}, held-out log-likelihood {entry['validation_log_prob']:.1f}"),
        )  # fmt: skip
    result.model.training["chars"] = bool(how["chars"] or how["format"] == "chars")
    began = time.perf_counter()
    save_model(result.model, out, force)
    seconds |= result.seconds | {"write": time.perf_counter() - began}
    _report(result, corpus, out, seconds, as_json or out == "-")


def _report(result: Any, corpus: Any, out: str, seconds: dict[str, float], as_json: bool) -> None:
    found = {
        "method": result.method,
        "n_states": result.n_states,
        "order": result.model.order,
        "statistic": result.statistic,
        "status": result.status.name,
        "n_sequences": len(corpus),
        "n_tokens": corpus.n_tokens,
        "n_symbols": corpus.n_symbols,
        "seconds": seconds,
        "curve": result.curve,
        "model": out,
    }
    if out == "-":
        return
    if as_json:
        print_json(found)
        return
    if result.curve:
        rows = [
            (c["order"], c["n_states"], c["validation_log_prob"], "*" if c["order"] == result.model.order else "")
            for c in result.curve
        ]
        print_table(rows, ("order", "contexts", "held-out log prob", ""))
    click.echo(
        f"{out}: {result.method} of order {result.model.order}, {result.n_states} contexts, {corpus.n_symbols} symbols; "
        f"status {result.status.name}"
    )
