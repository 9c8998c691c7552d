"""What a report says, as a plain dictionary that `json.dumps` takes; nothing is learned or drawn here.

``{"title", "subtitle", "versions": {name: version}, "figures": [{"name", "value", "note"}], "plots": [...], "tables": [{"title",
"columns", "rows"}]}``. A plot has ``title``, ``caption``, ``x_label``, ``y_label`` and either ``series``, a list of
``{"name", "x", "y"}``, or ``edges`` and ``counts`` of a histogram.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from momata.errors import OptionError

__all__ = ["curve", "figure", "histogram_plot", "line_plot", "make_summary", "plain", "table"]


def plain(value: Any) -> Any:
    """Return NumPy numbers and arrays as Python ones, all the way down; a number that does not exist becomes None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple | range):
        return [plain(item) for item in value]
    return value


def figure(name: str, value: Any, note: str = "") -> dict[str, Any]:
    """Return one figure: a name, a number or text, and what it means."""
    return {"name": name, "value": plain(value), "note": note}


def curve(name: str, x: Iterable[Any], y: Iterable[Any]) -> dict[str, Any]:
    """Return one line of a plot; a y of None or NaN leaves a gap."""
    across, up = plain(list(x)), plain(list(y))
    if len(across) != len(up) or None in across:
        raise OptionError(
            f"the curve {name!r} has {len(across)} values of x, {across.count(None)} of them not finite, and {len(up)} of y. "
            "Give one y for each finite x."
        )
    return {"name": name, "x": across, "y": up}


def line_plot(
    title: str, series: Iterable[Mapping[str, Any]], x_label: str, y_label: str, caption: str = ""
) -> dict[str, Any]:
    """Return a plot of lines, each made by `curve`."""
    return {
        "title": title,
        "caption": caption,
        "x_label": x_label,
        "y_label": y_label,
        "series": [dict(one) for one in series],
    }


def histogram_plot(title: str, values: Any, x_label: str, y_label: str = "count", caption: str = "") -> dict[str, Any]:
    """Return a histogram of the finite ones of ``values``, in ``log2(n) + 1`` bins of equal width."""
    import numpy as np

    given = np.asarray(values, dtype=np.float64).ravel()
    counts, edges = np.histogram(given[np.isfinite(given)], bins="sturges")
    return {
        "title": title,
        "caption": caption,
        "x_label": x_label,
        "y_label": y_label,
        "edges": plain(edges),
        "counts": plain(counts),
    }


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """Return a table; each row has one value a column."""
    return {"title": title, "columns": list(columns), "rows": plain(list(rows))}


def make_summary(
    title: str,
    figures: Iterable[Mapping[str, Any]],
    plots: Iterable[Mapping[str, Any]] = (),
    tables: Iterable[Mapping[str, Any]] = (),
    subtitle: str = "",
) -> dict[str, Any]:
    """Put the parts of a report together and add the versions that made it.

    Examples
    --------
    >>> summary = make_summary("A run", [figure("perplexity per symbol", 7.25, "held-out data")])
    >>> summary["figures"]
    [{'name': 'perplexity per symbol', 'value': 7.25, 'note': 'held-out data'}]
    """
    from momata.io.model_parts import versions

    return {
        "title": title,
        "subtitle": subtitle,
        "versions": versions(),
        "figures": [dict(one) for one in figures],
        "plots": [dict(one) for one in plots],
        "tables": [dict(one) for one in tables],
    }
