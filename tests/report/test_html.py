from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from momata.errors import OptionError
from momata.report import curve, figure, histogram_plot, line_plot, make_summary, render_report, table, write_report
from momata.report.html import format_number, numbers_behind

pytestmark = pytest.mark.compiled
EVIL = """<script>alert("1")</script>&amp;' onload='x"""
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    """Collects tags, attributes and texts, and checks that every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        assert not self.open or self.open[-1] != "script"
        if data.strip():
            self.texts.append(data.strip())


def example(word: str = "word") -> dict:
    plots = [
        line_plot(word, [curve(word, [1, 2], [0.5, None]), curve("other", [2, 3], [1.5, 2.5])], word, word, word),
        histogram_plot(f"{word} lengths", [1, 2, 2, 3], word),
    ]
    return make_summary(
        word, [figure(word, word, word), figure("n", 12345678)], plots, [table(word, [word], [[word], [0.125]])], word
    )


def test_file_is_self_contained() -> None:
    page = Page(render_report(example()))
    links = [
        value
        for _, name, value in page.attributes
        if name in ("src", "href", "xlink:href", "action", "data", "poster", "srcset")
    ]
    assert links
    assert all(link.startswith("#") for link in links)
    assert {value for _, _, value in page.attributes if "://" in value} <= {"http://www.w3.org/2000/svg"}
    styles = [text for text in page.texts if "{" in text]
    assert not any("url(" in text or "@import" in text for text in styles)


def test_everything_is_escaped() -> None:
    plain, evil = Page(render_report(example())), Page(render_report(example(EVIL)))
    assert [(tag, name) for tag, name, _ in evil.attributes] == [(tag, name) for tag, name, _ in plain.attributes]
    # Some of the drawing's own texts merge with neighbours, so compare where the word stands alone.
    assert evil.texts.count(EVIL) == plain.texts.count("word") > 10


def test_numbers_behind_plots_are_shown() -> None:
    assert numbers_behind(example()["plots"][0]) == {
        "columns": ["word", "word", "other"],
        "rows": [[1, 0.5, None], [2, None, 1.5], [3, None, 2.5]],
    }
    bins = numbers_behind(example()["plots"][1])
    assert bins["columns"] == ["word, from", "to", "count"]
    assert sum(row[2] for row in bins["rows"]) == 4
    assert {"1.5", "2.5", "0.125", "12345678", "–"} <= set(Page(render_report(example())).texts)


def test_points_with_the_same_x_all_stay() -> None:
    plot = line_plot("t", [curve("a", [1, 1, 2], [3, 4, 5])], "x", "y")
    assert numbers_behind(plot)["rows"] == [[1, 3], [1, 4], [2, 5]]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (3, "3"),
        (12345678, "12345678"),
        (0.1 + 0.2, "0.3"),
        (-1234567.4, "-1234567"),
        (1.5e-9, "1.5e-09"),
        (True, "True"),
        ("a", "a"),
    ],
)
def test_how_values_are_shown(value: object, shown: str) -> None:
    assert format_number(value) == shown


def test_same_summary_same_bytes(tmp_path: Path) -> None:
    for name in ("one.html", "two.html"):
        write_report(example(), tmp_path / name)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_existing_file_is_kept_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("precious", encoding="utf-8")
    with pytest.raises(OptionError, match="--force"):
        write_report(example(), path)
    assert path.read_text(encoding="utf-8") == "precious"
    write_report(example(), path, force=True)
    assert path.read_text(encoding="utf-8") == render_report(example())


def test_a_report_without_plots_or_tables() -> None:
    assert "A title" in Page(render_report(make_summary("A title", []))).texts


def test_without_jinja2_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(OptionError, match=r'pip install "momata\[report\]"'):
        render_report(example())
