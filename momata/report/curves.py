"""The curve of a fit: what was tried on held-out data."""

from __future__ import annotations

import os
from typing import Any

from momata.errors import OptionError
from momata.io.streams import atomic_write
from momata.learn.result import FitResult
from momata.report.plots import line_plot

__all__ = ["curve_plot", "write_curve"]

_APART = ("statistic", "basis", "scaling")  # what makes lines of their own


def curve_plot(result: FitResult) -> str:
    """Draw the held-out scores of a fit over what was tried, as SVG: over orders, or over numbers of states."""
    if not result.curve:
        raise OptionError("nothing was chosen on held-out data, so there is no curve. Let the learner choose the size.")
    across = "order" if "order" in result.curve[0] else "n_states"
    wer = "validation_wer" in result.curve[0]
    up = "validation_wer" if wer else "validation_perplexity_per_symbol"
    lines: dict[str, dict[str, Any]] = {}
    for entry in result.curve:
        name = ", ".join(str(entry[key]) for key in _APART if key in entry) or result.method
        line = lines.setdefault(name, {"name": name, "x": [], "y": []})
        line["x"].append(int(entry[across]))
        line["y"].append(entry[up])
    label = "held-out word error rate (%)" if wer else "held-out perplexity per symbol"
    return line_plot(
        list(lines.values()), "order" if across == "order" else "states", label, f"{label}, {result.method}"
    )


def write_curve(result: FitResult, path: str | os.PathLike[str], force: bool = False) -> None:
    """Write the curve of a fit as an SVG file."""
    drawing = curve_plot(result)
    with atomic_write(path, force) as file:
        file.write(drawing)
