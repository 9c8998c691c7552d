"""The curve of a fit as a drawing."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from momata.errors import OptionError
from momata.learn.ngram import learn_ngram
from momata.learn.result import FitResult
from momata.learn.spectral import learn_spectral
from momata.report import curves
from momata.report.curves import curve_plot, write_curve

ROWS = ["abab", "ab", "b", "ba", "abb", ""] * 5


@pytest.fixture
def drawn(monkeypatch) -> list[tuple]:
    """Catch what would be drawn."""
    calls: list[tuple] = []
    monkeypatch.setattr(curves, "line_plot", lambda *arguments: calls.append(arguments) or "<svg/>")
    return calls


def lines(call: tuple) -> dict[str, tuple[list, list]]:
    return {line["name"]: (line["x"], line["y"]) for line in call[0]}


def test_perplexity_over_states(drawn):
    result = learn_spectral(ROWS, max_states=4)
    assert curve_plot(result) == "<svg/>"
    (call,) = drawn
    expected = [entry["validation_perplexity_per_symbol"] for entry in result.curve]
    assert lines(call) == {"spectral": ([1, 2, 3, 4], expected)}
    assert call[1:] == (
        "states", "held-out perplexity per symbol", "held-out perplexity per symbol, spectral",
    )  # fmt: skip


def test_word_errors_where_they_decide(drawn):
    result = learn_spectral(ROWS, max_states=3, select="wer")
    curve_plot(result)
    assert lines(drawn[0]) == {"spectral": ([1, 2, 3], [entry["validation_wer"] for entry in result.curve])}
    assert drawn[0][2] == "held-out word error rate (%)"


def test_orders_of_an_ngram_model(drawn):
    result = learn_ngram(ROWS)
    curve_plot(result)
    expected = [entry["validation_perplexity_per_symbol"] for entry in result.curve]
    assert lines(drawn[0]) == {"ngram": ([entry["order"] for entry in result.curve], expected)}
    assert drawn[0][1] == "order"


def test_what_was_tried_apart_makes_lines_of_its_own(drawn):
    result = learn_spectral(
        ROWS, max_states=2, statistic=("string", "prefix"), scaling=("none", "sums"), basis=("symbols+", "all")
    )
    curve_plot(result)
    found = lines(drawn[0])
    assert list(found)[:3] == ["string, symbols+, none", "string, symbols+, sums", "string, all, none"]
    assert len(found) == 8
    for name, (x, y) in found.items():
        statistic, basis, scaling = name.split(", ")
        own = [e for e in result.curve if (e["statistic"], e["basis"], e["scaling"]) == (statistic, basis, scaling)]
        assert (x, y) == ([1, 2], [entry["validation_perplexity_per_symbol"] for entry in own])


def test_a_fit_without_a_curve_has_none_to_draw(tmp_path):
    result = learn_ngram(ROWS, order=2)
    for draw in (curve_plot, lambda r: write_curve(r, tmp_path / "c.svg")):
        with pytest.raises(OptionError, match="nothing was chosen on held-out data, so there is no curve"):
            draw(result)
    assert not list(tmp_path.iterdir())


@pytest.mark.compiled  # drawing does not depend on compiled loops
def test_the_drawing_itself(tmp_path):
    pytest.importorskip("matplotlib")
    result = learn_spectral(ROWS, max_states=3, scaling=("none", "sums"))
    svg = curve_plot(result)
    texts = {e.text.strip() for e in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text") if e.text}
    assert {"states", "none", "sums", "held-out perplexity per symbol"} <= texts
    path = tmp_path / "c.svg"
    write_curve(result, path)
    assert path.read_text(encoding="utf-8") == svg
    with pytest.raises(OptionError, match="exists"):
        write_curve(result, path)
    write_curve(result, path, force=True)
    gaps = FitResult(
        result.model, None, result.status, "spectral", "string", 1,
        [{"n_states": 1, "validation_perplexity_per_symbol": None}, {"n_states": 2, "validation_perplexity_per_symbol": 2.0}],
    )  # fmt: skip
    ET.fromstring(curve_plot(gaps))
