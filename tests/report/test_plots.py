from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET

import pytest

from momata.errors import OptionError
from momata.report import plots

pytestmark = pytest.mark.compiled  # drawing does not depend on compiled loops
SERIES = [
    {"name": "first <&> $x$", "x": [1, 2, 3], "y": [3.0, None, 1.0]},
    {"name": "_second", "x": [1, 2], "y": [float("inf"), 2.0]},
]


def texts(svg: str) -> list[str]:
    return [
        element.text.strip() for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text") if element.text
    ]


def test_text_stays_text() -> None:
    svg = plots.line_plot(SERIES, "states", "bits per symbol", "A title")
    assert {"states", "bits per symbol", "first <&> $x$", "_second"} <= set(texts(svg))
    assert ET.fromstring(svg).findtext("{http://www.w3.org/2000/svg}title") == "A title"


def test_whole_numbers_get_whole_ticks() -> None:
    shown = texts(plots.line_plot([{"name": "a", "x": [1, 2], "y": [0.5, 0.25]}], "order", "", ""))
    assert {"1", "2"} <= set(shown)
    assert "1.5" not in shown


def test_colours_come_from_the_page() -> None:
    svg = plots.line_plot(SERIES, "x", "y", "t")
    assert set(re.findall(r"#[0-9a-f]{6}\b", svg)) == set(
        plots.COLOURS["light"][:2]
    )  # the fallbacks of the two variables
    assert "var(--series-2, " in svg
    assert "currentColor" in svg
    assert "DejaVu" not in svg


def test_same_input_same_drawing_and_no_date() -> None:
    first, second = (plots.line_plot(SERIES, "x", "y", "t") for _ in range(2))
    assert first == second
    assert "metadata" not in first


def test_ids_of_two_plots_differ() -> None:
    first = set(re.findall(r' id="(\w+)"', plots.line_plot(SERIES, "x", "y", "one")))
    second = set(re.findall(r' id="(\w+)"', plots.line_plot(SERIES, "x", "y", "two")))
    assert first
    assert first.isdisjoint(second)


def test_every_reference_is_kept() -> None:
    svg = plots.line_plot(SERIES, "x", "y", "t")
    assert set(re.findall(r"""(?:href="|url\()#(\w+)""", svg)) == set(re.findall(r' id="(\w+)"', svg))


@pytest.mark.parametrize("series", [[], [{"name": "a", "x": [], "y": []}], [{"name": "语料", "x": [0.5], "y": [None]}]])
def test_little_or_nothing_to_draw(series: list) -> None:
    assert "语" in texts(plots.line_plot(series, "语", "y", "t"))


def test_bars_are_as_high_as_their_counts() -> None:
    svg = plots.histogram([0, 1, 2], [1, 3], "length", "count", "t")
    bars = next(
        path.get("d")
        for path in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}path")
        if "--series-1" in path.get("style", "")
    )
    heights = sorted({float(y) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", bars)}, reverse=True)  # the ground, 1, 3
    assert (heights[0] - heights[2]) / (heights[0] - heights[1]) == pytest.approx(
        3, rel=1e-4
    )  # written to six decimals


def test_histogram_wants_all_edges() -> None:
    with pytest.raises(OptionError, match="2 bins have 3 edges, and 2 were given"):
        plots.histogram([0, 1], [1, 3], "x", "y", "t")


def test_without_matplotlib_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptionError, match=r'pip install "momata\[report\]"'):
        plots.line_plot(SERIES, "x", "y", "t")
