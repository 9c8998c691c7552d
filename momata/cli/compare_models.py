"""``momata compare-models``."""

from __future__ import annotations

import click

from momata.cli.options import ExamplesLast, common, load_model, print_json, print_table

__all__ = ["compare_models"]


@click.command("compare-models", cls=ExamplesLast)
@click.argument("model", type=click.Path(allow_dash=True))
@click.argument("other", type=click.Path(allow_dash=True))
@click.option(
    "--samples", type=click.IntRange(2), default=10_000, show_default=True, metavar="N", help="Strings to draw."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the samples.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@common
def compare_models(model: str, other: str, samples: int, seed: int, as_json: bool) -> None:
    """Print how far two models are apart: KL divergence both ways, total variation, l2 distance.

    Divergences are in nats a string, estimated from samples with standard errors; l2 is exact, where both are small automata.

    \b
    Examples:
      momata compare-models truth.npz model.npz
      momata compare-models a.npz b.npz --samples 100000 --json
    """  # noqa: D301
    if model == other == "-":
        raise click.UsageError("both models cannot be standard input. Give a file name for one of them.")
    from momata.predict import divergence

    found = divergence.compare_models(load_model(model), load_model(other), samples, seed)
    if as_json:
        print_json(found)
        return
    rows = []
    for name in ("kl", "kl_reverse", "total_variation", "entropy", "entropy_other"):
        rows.append((name.replace("_", " "), found[name], found[f"{name}_error"]))
    print_table([*rows, ("l2 (exact)", found["l2"], None)], ("measure", "value", "standard error"))
