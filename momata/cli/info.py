"""``momata info``."""

from __future__ import annotations

from typing import Any

import click

from momata.cli.options import ExamplesLast, common, load_model, print_json, print_table

__all__ = ["info"]


@click.command(cls=ExamplesLast)
@click.argument("model", type=click.Path(allow_dash=True))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@common
def info(model: str, as_json: bool) -> None:
    """Show what a model is and how it came about.

    \b
    Examples:
      momata info model.npz
      momata info model.npz --json
    """  # noqa: D301
    loaded = load_model(model)
    found = loaded.summary()
    if as_json:
        print_json(found)
    else:
        print_table(
            (key.replace("_", " "), _short(value))
            for key, value in {**found, "versions": found["training"].get("versions")}.items()
            if value not in ({}, [], None)
        )


def _short(value: Any) -> str:
    """Return a value in one line of reasonable length."""
    if isinstance(value, dict):
        return ", ".join(f"{k} {_short(v)}" for k, v in value.items() if not isinstance(v, list | dict))
    if isinstance(value, list):
        shown = " ".join(_short(v) for v in value[:12])
        return shown + (f" ... ({len(value)} in all)" if len(value) > 12 else "")
    return f"{value:.6g}" if isinstance(value, float) else str(value)
