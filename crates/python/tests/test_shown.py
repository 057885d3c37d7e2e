"""What notebooks show of results."""

from __future__ import annotations

import re

import linkmend


def stress() -> linkmend.Result:
    return linkmend.stress(frames="20k", series_step="10us", seed=1)


def test_a_result_is_shown_where_html_is_inserted_as_text() -> None:
    # A declarative shadow root would show nothing there.
    shown = stress()._repr_html_()
    assert "<template" not in shown
    assert "frames undelivered" in shown
    rules = re.findall(r"^(.*){", shown.partition("</style>")[0], re.MULTILINE)
    assert all(selector.strip().startswith(".lm-result") for rule in rules for selector in rule.split(",")), rules


def test_plots_are_shown_as_files_with_their_style() -> None:
    found = linkmend.timeline(duration="10ms", corruption_at="2ms", protection_at="5ms", sample="1ms", speed="10G")
    shown = found._repr_html_()
    assert len(found.plots) == shown.count('<svg class="lm-plot"') > 0
    assert all(plot in shown and "<style>" in plot for plot in found.plots)
    assert shown.count("<svg") == sum(plot.count("<svg") for plot in found.plots)


def test_equal_results_are_shown_equally() -> None:
    assert stress()._repr_html_() == stress()._repr_html_()
    assert repr(stress()) == repr(stress())
    assert "frames undelivered" in repr(stress())


def test_the_heading_of_a_column_has_its_unit() -> None:
    frame = stress().series["levels"]
    heads = re.findall(r"<th>(.*?)</th>", frame._repr_html_())
    assert heads == [f"{name} ({frame.units[name]})" if name in frame.units else name for name in frame.column_names]
    assert "rx_buffer_max (B)" in heads
