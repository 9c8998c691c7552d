from __future__ import annotations

import json

import numpy as np
import pytest

import momata
from momata.errors import OptionError
from momata.report import summary


def test_a_summary_of_arrays_is_strict_json() -> None:
    made = summary.make_summary(
        "run",
        [
            summary.figure("a", np.float64(1.5)),
            summary.figure("b", np.nan),
            summary.figure("c", np.int64(3)),
            summary.figure("d", np.bool_(True)),
        ],
        [summary.line_plot("p", [summary.curve("s", np.arange(3), np.array([1.0, np.inf, 2.0]))], "x", "y")],
        [summary.table("t", ["u", "v"], [[np.float32(0.5), "text"], (None, -np.inf)])],
    )
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert [one["value"] for one in made["figures"]] == [1.5, None, 3, True]
    assert made["plots"][0]["series"] == [{"name": "s", "x": [0, 1, 2], "y": [1.0, None, 2.0]}]
    assert made["tables"][0]["rows"] == [[0.5, "text"], [None, None]]


def test_a_summary_names_what_made_it() -> None:
    found = summary.make_summary("run", [])["versions"]
    assert found["momata"] == momata.__version__
    assert found["numpy"] == np.__version__


def test_histogram_counts_every_finite_value_once() -> None:
    values = [0.0, 1.0, 1.0, 2.0, 10.0, np.nan, np.inf]
    plot = summary.histogram_plot("lengths", values, "length")
    assert sum(plot["counts"]) == 5
    assert (plot["edges"][0], plot["edges"][-1]) == (0.0, 10.0)
    assert len(plot["edges"]) == len(plot["counts"]) + 1


@pytest.mark.parametrize(("x", "y"), [([1, 2], [1]), ([1, np.nan], [1, 2])])
def test_a_curve_wants_one_y_for_each_finite_x(x: list[float], y: list[float]) -> None:
    with pytest.raises(OptionError, match=r"curve 'kn' has 2 values of x, \d of them not finite, and \d of y"):
        summary.curve("kn", x, y)
