"""From figures to a page: a plain dictionary, its plots as SVG, and one HTML file that opens anywhere."""

from momata.report.html import render_report, write_report
from momata.report.summary import curve, figure, histogram_plot, line_plot, make_summary, table

__all__ = ["curve", "figure", "histogram_plot", "line_plot", "make_summary", "render_report", "table", "write_report"]
