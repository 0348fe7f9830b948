"""The bound on the board's map: where it stands, what it is called and what it says of averages."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from engine.report import figures
from engine.report.findings import Findings
from engine.report.html_file import html_text
from engine.report.map_words import bound_line_words, bound_title
from engine.report.memo import memo
from engine.report.slides import slides
from tests.engine.report.conftest import Case, N


def test_the_bound_on_a_share_stands_on_the_map_as_a_number_of_records(case: Case) -> None:
    board_map = case.findings.map
    assert (board_map.bound_at, board_map.bound_asked) == (0.5 * N, 0.9)
    assert bound_title(case.findings) == "bound, asked of 90 % of single runs"
    words = bound_line_words(case.findings)
    assert (
        "averages over runs, but 90 % of single runs must meet the bound" in words and "if none were altered" in words
    )
    assert words in html_text(memo(case.findings)).replace("&#x27;", "'")
    assert any(words in str(section) for section in slides(case.findings).sections)


def test_a_bound_on_the_mean_is_called_so_and_none_is_not_drawn(case: Case) -> None:
    mean = replace(case.findings, map=replace(case.findings.map, bound_asked=None))
    assert bound_title(mean) == "bound on the average" and "single runs" not in bound_line_words(mean)
    earlier = json.loads(case.findings.to_json())
    del earlier["map"]["bound_at"], earlier["map"]["bound_asked"]
    assert bound_line_words(Findings.from_json(json.dumps(earlier))) == ""


def drawn(findings: Findings, monkeypatch: pytest.MonkeyPatch) -> tuple[object, list[str]]:
    """The canvas of the map and the labels of its legend."""
    canvases: list[object] = []

    def caught(canvas: object) -> bytes:
        canvases.append(canvas)
        return b""

    monkeypatch.setattr(figures, "_png", caught)
    figures.frontier.__wrapped__(findings)
    return canvases[0], [text.get_text() for text in canvases[0].legends[0].get_texts()]  # type: ignore[attr-defined]


def test_the_legend_lies_outside_of_the_axes_within_the_picture(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    canvas, labels = drawn(case.findings, monkeypatch)
    assert bound_title(case.findings) in labels and "90 % of the runs of A are no riskier" in labels
    canvas.savefig(io.BytesIO(), format="png")  # type: ignore[attr-defined]
    axes, legend = canvas.axes[0], canvas.legends[0]  # type: ignore[attr-defined]
    assert axes.get_legend() is None
    box = legend.get_window_extent()
    assert not box.overlaps(axes.get_window_extent())
    assert box.x0 >= 0 and box.x1 <= canvas.bbox.x1 and box.y0 >= 0  # type: ignore[attr-defined]
    assert "smaller to the right: more useful →" in axes.get_xlabel()
