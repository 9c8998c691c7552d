"""Plots as SVG text that follows the page: its colours by day and night, its fonts, its width.

The drawing is matplotlib's, in placeholder colours. Afterwards each placeholder becomes ``currentColor`` or a CSS variable
(``--series-1`` to ``--series-6``, with a fallback for a file that stands alone), and all that varies between runs is left out.
"""

from __future__ import annotations

import importlib.util
import io
import math
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from momata.errors import OptionError

__all__ = ["COLOURS", "histogram", "line_plot", "missing_extra"]

COLOURS = {"light": ("#0064a8", "#b34700", "#00785a", "#96408a", "#7d6300", "#5a5a5a"),
           "dark": ("#6cb6f5", "#f59a5c", "#4fcfa8", "#dd94d0", "#d9bd4a", "#b4b4b4")}  # fmt: skip
"""Six colours of lines, by day and by night; marks and dashes tell the lines apart as well."""

_MARKERS = "os^Dv"
_STYLES = ("-", "--", ":", "-.")
_INK = "#010203"
_PLACEHOLDERS = {f"#0a0b{i:02x}": f"var(--series-{i + 1}, {colour})" for i, colour in enumerate(COLOURS["light"])} | {
    _INK: "currentColor"
}
_SVG = "http://www.w3.org/2000/svg"
_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
_SETTINGS: Any = {
    "svg.fonttype": "none", "text.parse_math": False, "font.size": 10.5, "text.color": _INK, "axes.edgecolor": _INK,
    "axes.labelcolor": _INK, "xtick.color": _INK, "ytick.color": _INK, "grid.color": _INK, "grid.alpha": 0.15, "axes.grid": True,
    "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False, "axes.formatter.useoffset": False,
}  # fmt: skip


def is_installed() -> bool:
    """Say whether the ``report`` extra is there."""
    return all(importlib.util.find_spec(name) for name in ("matplotlib", "jinja2"))


def missing_extra(error: ImportError) -> OptionError:
    """Say how to install what reports need."""
    return OptionError(
        f'a report needs {error.name}, which is not installed. Install it with: pip install "momata[report]"'
    )


def line_plot(series: Sequence[Mapping[str, Any]], x_label: str, y_label: str, title: str) -> str:
    """Draw lines with a mark at each point.

    Parameters
    ----------
    series : sequence of {"name", "x", "y"}
        A y of None, NaN or infinity leaves a gap.
    x_label, y_label : str
    title : str
        Read out by screen readers and shown on hover; not drawn.

    Returns
    -------
    str
        One ``<svg>`` element; the same for the same input and version of matplotlib.
    """
    names = [str(one["name"]) for one in series] if len(series) > 1 else []
    columns = 2 if all(len(name) <= 24 for name in names) else 1
    rows = math.ceil(len(names) / columns)
    with _axes(x_label, y_label, title, height=2.9 + 0.22 * rows, salt=repr(list(series))) as (axes, result):
        for i, one in enumerate(series):
            style = _STYLES[i // 6 % 4]
            axes.plot(
                [_number(x) for x in one["x"]], [_number(y) for y in one["y"]], style, color=f"#0a0b{i % 6:02x}",
                marker=_MARKERS[i % 5], markersize=4, linewidth=1.6, label=_shown(str(one["name"])),
            )  # fmt: skip
        if all(isinstance(x, int) for one in series for x in one["x"]):
            axes.xaxis.get_major_locator().set_params(integer=True)
        if names:
            axes.figure.legend(loc="outside lower center", ncols=columns, frameon=False, fontsize=10)
    return result[0]


def histogram(edges: Sequence[float], counts: Sequence[float], x_label: str, y_label: str, title: str) -> str:
    """Draw bars over the bins between ``edges``, one more than ``counts``; the rest as in `line_plot`."""
    if len(edges) != len(counts) + 1:
        raise OptionError(
            f"{len(counts)} bins have {len(counts) + 1} edges, and {len(edges)} were given. Give the ends of every bin."
        )
    with _axes(x_label, y_label, title, height=2.9, salt=repr((list(edges), list(counts)))) as (axes, result):
        axes.stairs(counts, edges, fill=True, color="#0a0b00", alpha=0.75)
    return result[0]


def _shown(name: str) -> str:
    """Return a name as a label; matplotlib leaves labels that start with an underscore out of legends."""
    return f" {name}" if name.startswith("_") else name


def _number(value: Any) -> float:
    return float(value) if value is not None and math.isfinite(value) else math.nan


@contextmanager
def _axes(x_label: str, y_label: str, title: str, height: float, salt: str) -> Iterator[tuple[Any, list[str]]]:
    """Give axes to draw on; when the block ends, the list holds the finished SVG."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise missing_extra(error) from error
    result: list[str] = []
    # The salt enters the ids inside the drawing, so that two plots of one page do not share any.
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()  # not the user's taste, so that reports agree
        matplotlib.rcParams.update(_SETTINGS)
        matplotlib.rcParams["svg.hashsalt"] = f"{title} {x_label} {y_label} {salt}"
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # the reader's fonts show it, not ours
        drawing = Figure(figsize=(4.8, height), layout="constrained")
        axes = drawing.add_subplot()
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        yield axes, result
        buffer = io.StringIO()
        drawing.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    result.append(_adapted(buffer.getvalue(), title))


def _adapted(drawing: str, title: str) -> str:
    """Return the SVG element alone, in the colours and fonts of the page around it, without metadata."""
    root = ET.fromstring(drawing)
    width, height = root.get("viewBox", "").split()[2:]
    for part in [
        *root.findall(f"{{{_SVG}}}metadata"),
        *(d for d in root.findall(f"{{{_SVG}}}defs") if d.find(f"{{{_SVG}}}style") is not None),
    ]:
        root.remove(part)
    referred = set(
        re.findall(r"#(\w+)", " ".join(value for element in root.iter() for value in element.attrib.values()))
    )
    for element in root.iter():
        _adapt(element, referred)
    root.attrib = {
        "viewBox": f"0 0 {width} {height}",
        "role": "img",
        "style": "stroke-linejoin: round; font-family: inherit",
    }
    heading = ET.Element(f"{{{_SVG}}}title")
    heading.text = title
    root.insert(0, heading)
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode")


def _adapt(element: ET.Element, referred: set[str]) -> None:
    if element.get("id") is not None and element.get("id") not in referred:
        del element.attrib["id"]
    if (target := element.attrib.pop(_XLINK_HREF, None)) is not None:
        element.set("href", target)
    if style := element.get("style"):
        style = re.sub(r"(font-family|font): [^;]*?('DejaVu Sans'[^;]*)", lambda found: _font(found.group(0)), style)
        element.set(
            "style", re.sub(r"#[0-9a-f]{6}\b", lambda found: _PLACEHOLDERS.get(found.group(), found.group()), style)
        )


def _font(style: str) -> str:
    """Keep the size of a font and leave its family to the page."""
    size = re.search(r"[\d.]+px", style)
    return f"font-size: {size.group()}" if size else "font-family: inherit"
