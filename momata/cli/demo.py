"""``momata demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from momata.cli.options import ExamplesLast, common, print_json, print_table

__all__ = ["demo"]

_COLUMNS = (
    ("model", "model"), ("perplexity", "perplexity"), ("perplexity_per_symbol", "per symbol"),
    ("divergence", "divergence"), ("divergence_error", "standard error"), ("wer", "WER"),
)  # fmt: skip


@click.command(cls=ExamplesLast)
@click.option("--out", default="report.html", show_default=True, type=click.Path(), help="Report to write.")
@click.option("--force", is_flag=True, help="Replace an existing report.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the data.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@common
def demo(out: str, force: bool, seed: int, as_json: bool) -> None:
    """Learn from made-up click streams, compare with the automaton they come from, write a report.

    \b
    Examples:
      momata demo
      momata demo --seed 3 --out again.html
    """  # noqa: D301
    from momata.io.streams import check_writable
    from momata.report.plots import is_installed

    check_writable(out, force)
    from momata.experiments.demo import run_demo
    from momata.report import write_report

    found = run_demo(seed=seed)
    if is_installed():
        write_report(_summary(found), out, force)
        if out == "-":  # nothing else belongs into the page
            return
    else:
        click.echo('momata: no report without its extra: pip install "momata[report]"', err=True)
    if as_json:
        print_json(
            {"figures": found.figures, "order": found.result.model.order, "report": out if is_installed() else None}
        )
        return
    click.echo(f"{len(found.train)} sequences to learn from, for instance: {' '.join(map(str, found.train[0]))}")
    print_table([[row[key] for key, _ in _COLUMNS] for row in found.figures], [name for _, name in _COLUMNS])
    if is_installed():
        click.echo(f"report: {Path(out).resolve()}")


def _summary(found: Any) -> dict[str, Any]:
    from momata.report import curve, figure, line_plot, make_summary, table

    best, truth = found.figures[-1], found.figures[0]
    return make_summary(
        "momata demo",
        [
            figure("perplexity of the learned model", best["perplexity"], f"the source itself: {truth['perplexity']:.3f}"),
            figure("divergence from the source", best["divergence"],
                   f"nats a sequence, standard error {best['divergence_error']:.2g}"),
            figure("word error rate", best["wer"], "percent of events whose likeliest next symbol was wrong"),
            figure("order", found.result.model.order, "chosen on held-out data"),
        ],
        plots=[
            line_plot("Choosing the order", [curve(**found.held_out)], "order of the n-gram model", "perplexity per symbol",
                      "Measured on a tenth of the training sequences, held out."),
            line_plot("Learning curve", [curve(**found.learning)], "training sequences", "divergence from the source (nats)",
                      "What the model loses to the truth, a sequence."),
        ],
        tables=[
            table("Against the truth", [name for _, name in _COLUMNS],
                  [[row[key] for key, _ in _COLUMNS] for row in found.figures]),
        ],
        subtitle="Click streams from an automaton with four hidden states, so that the truth is known.",
    )  # fmt: skip
