"""One HTML file that opens offline, without scripts, on a phone, in the dark, and on paper."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from momata.io.streams import atomic_write
from momata.report import plots

__all__ = ["render_report", "write_report"]


def write_report(summary: Mapping[str, Any], path: str | os.PathLike[str], force: bool = False) -> None:
    """Write a summary (see `momata.report.summary`) as one self-contained HTML file.

    Parameters
    ----------
    summary : dict
    path : str or path
        ``"-"`` is standard output.
    force : bool
        Replace an existing file.
    """
    page = render_report(summary)
    with atomic_write(path, force) as file:
        file.write(page)


def render_report(summary: Mapping[str, Any]) -> str:
    """Return the page of a summary; the same summary gives the same page."""
    try:
        import jinja2
    except ImportError as error:
        raise plots.missing_extra(error) from error
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["number"] = format_number
    environment.tests["numeric"] = is_numeric
    template = environment.from_string(
        (files("momata.report") / "templates" / "report.html.j2").read_text(encoding="utf-8")
    )
    drawn = [{**plot, "svg": draw(plot), "table": numbers_behind(plot)} for plot in summary["plots"]]
    return template.render(**{**summary, "plots": drawn}, colours=plots.COLOURS)


def draw(plot: Mapping[str, Any]) -> str:
    """Return the SVG of one plot of a summary."""
    labels = plot["x_label"], plot["y_label"], plot["title"]
    if "edges" in plot:
        return plots.histogram(plot["edges"], plot["counts"], *labels)
    return plots.line_plot(plot["series"], *labels)


def numbers_behind(plot: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of a plot: one row an x, one column a series; or one row a bin."""
    if "edges" in plot:
        columns = [f"{plot['x_label']}, from", "to", plot["y_label"]]
        return {"columns": columns, "rows": list(zip(plot["edges"], plot["edges"][1:], plot["counts"], strict=False))}
    lookups = [points(one) for one in plot["series"]]
    rows = [
        [key[0], *(lookup.get(key) for lookup in lookups)]
        for key in sorted({key for lookup in lookups for key in lookup})
    ]
    return {"columns": [plot["x_label"], *(one["name"] for one in plot["series"])], "rows": rows}


def points(series: Mapping[str, Any]) -> dict[tuple[Any, int], Any]:
    """Return each y of a line by its x and how often that x came before."""
    seen: Counter[Any] = Counter()
    found = {}
    for x, y in zip(series["x"], series["y"], strict=True):
        found[x, seen[x]] = y
        seen[x] += 1
    return found


def is_numeric(value: Any) -> bool:
    """Tell whether a value stands in a column of numbers."""
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def format_number(value: Any) -> str:
    """Show a whole number in full, another to six digits, what does not exist as a dash, anything else as it is."""
    if value is None:
        return "–"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if 1e5 <= abs(value) < 1e15 else f"{value:.6g}"
