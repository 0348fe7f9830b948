"""Pictures of documents: every row is named, nothing is cut off, and shape says what colour says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from engine.report import board_pictures as pictures
from engine.report.board_pictures import Pair, Picture
from engine.report.findings import Findings
from engine.report.map_model import Axis, MapModel, Mark
from engine.report.sheet_facts import Area, CellSize, Places
from tests.engine.report.conftest import Case

LONG = "households of several generations × tenure of the dwelling, municipality R3.01.04 beside the river"
MODEL = MapModel(
    Axis("Hellinger distance of a table with a very long name × another × a third", "distance", "lower"),
    Axis("households exposed, of those not moved", "share of unmoved households", "lower"),
    (
        Mark("A", (0.12, 0.024), True, True, True, (0.004, 0.001)),
        Mark("J", (0.1201, 0.0241), True),
        Mark("B", (0.133, 0.009), True, frontier=False),
        Mark("F", (0.114, 0.033), False, bars=(0.003, None)),
    ),
    ((0.09, 0.05), (0.07, 0.06)),
    ((0.13, 0.03), (0.1, 0.07)),
    ((0.133, 0.009), (0.133, 0.024), (0.12, 0.024), (0.12, 0.06), (0.07, 0.06)),
    (0.0, 0.074),
    0.03,
)


CELLS = (CellSize(1, 548, 42, 436), CellSize(2, 478, 232, 204), CellSize(3, 304, 205, 80))


PICTURES: dict[str, Callable[[Findings], Any]] = {
    "map": lambda _: pictures.map_picture(MODEL, limit="limit 3 %"),
    "map in a column": lambda _: pictures.map_picture(MODEL, limit="limit 3 %", width=pictures.HALF, height=3.5),
    "tables": pictures.by_tables,
    "changes": pictures.largest_changes,
    "cells": pictures.cell_sizes,
    "forest": lambda _: pictures.before_after(
        [Pair(LONG, 9.0, 7.3, "9.0 → 7.3 %", True), Pair("b", 8.5, None, "lost")], interval=1.2
    ),
    "places": lambda _: pictures.before_after([Pair(LONG, 10.8, 7.0, "17 → 11 of 157")]),
    "strips": pictures.runs,
    "tiles": pictures.places,
}


@pytest.fixture(scope="module")
def long_named(case: Case) -> Findings:
    """Findings in which each picture has a name that needs several lines."""
    assert case.findings.sheet is not None
    one = next(f for f in case.findings.utility.figures if f.kind == "percentage of two attributes" and f.n)
    one = replace(one, of=LONG, weighted=False, before=1.0, after=2.0, errors=4.1, flagged=True, note="", group="a: b")
    falls, new = replace(one, of="b", after=0.5, errors=3.8), replace(one, flagged=None, errors=None, note="new value")
    figures = (*(replace(one, what=f"x: {k} {LONG}") for k in range(2)), replace(new, what="x: new"), falls)
    areas = (("Region 1", 27), ("a long name", 9), ("Region 2", 11))
    places = Places("town", (), "job", "none", tuple(Area(n, ("R 1", "01"), 100, 100, 10, k) for n, k in areas))
    decided = replace(case.findings.sheet.decided_by, title=LONG)
    sheet = replace(case.findings.sheet, sizes=CELLS, places=places, decided_by=decided)
    use = replace(case.findings.utility, figures=figures)
    return replace(case.findings, sheet=sheet, utility=use, exposure=replace(case.findings.exposure, fewest=3))


@pytest.fixture
def canvases(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The canvases that are drawn."""
    caught: list[Any] = []
    png = pictures._png

    def catch(axes: Any) -> bytes:
        caught.append(axes.figure)
        return png(axes)

    monkeypatch.setattr(pictures, "_png", catch)
    pictures.map_picture.cache_clear()
    return caught


def texts(canvas: Any) -> list[Any]:
    from matplotlib.text import Text

    unseen = set()  # ticks beyond the range, which are not drawn
    for axes in canvas.axes:
        for axis, (low, high) in ((axes.xaxis, sorted(axes.get_xlim())), (axes.yaxis, sorted(axes.get_ylim()))):
            unseen |= {tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
    return [text for text in canvas.findobj(Text) if text.get_text().strip() and text not in unseen]


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_no_word_is_cut_off_and_none_lies_on_another(name: str, canvases: list[Any], long_named: Findings) -> None:
    made = PICTURES[name](long_named)
    made = made.png if isinstance(made, Picture) else made
    assert made.startswith(b"\x89PNG") and b"Software" not in made
    (canvas,) = canvases
    boxes = {text.get_text(): text.get_window_extent() for text in texts(canvas)}
    shown = " ".join(" ".join(boxes).split())
    assert name.startswith("map") or name == "tiles" or LONG in shown or name in ("cells", "strips"), "a name is cut"
    for text, box in boxes.items():
        inside = canvas.bbox
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= inside.x1 + 1 and box.y1 <= inside.y1 + 1, text
    listed = list(boxes.items())
    for k, (text, box) in enumerate(listed):
        for other, beside in listed[:k]:
            shared = box.intersection(box, beside)
            assert shared is None or min(shared.width, shared.height) < 2.5, (text, other)


def test_the_map_tells_within_from_beyond_by_fill_and_the_recommended_by_shape(canvases: list[Any]) -> None:
    pictures.map_picture(MODEL, limit="limit 3 %")
    lines = [line for line in canvases[0].axes[0].lines if line.get_marker() in ("*", "o", "D")]
    looks = {tuple(line.get_xydata()[0]): (line.get_marker(), line.get_markerfacecolor()) for line in lines}
    assert looks[0.12, 0.024] == ("*", pictures.STAR) and looks[0.0, 0.074] == ("D", "white"), (
        "it does not meet the limit"
    )
    assert looks[0.133, 0.009] == ("o", pictures.GREY) and looks[0.114, 0.033] == ("o", "white")
    words = [text.get_text() for text in texts(canvases[0])]
    assert {"A, J", "B", "F", "unprotected file", "limit 3 %"} <= set(words)
    assert not [text for text in words if "within" in text], "the title has the count"
    assert "4 %" in words, "shares are printed in per cent"


@pytest.mark.parametrize(("least", "begins"), [(0.009, True), (0.0, True), (0.06, False)])
def test_a_range_near_zero_begins_there(canvases: list[Any], least: float, begins: bool) -> None:
    marks = (replace(MODEL.marks[0], at=(0.12, least), bars=(None, None)),)
    pictures.map_picture(replace(MODEL, marks=marks, frontier=(), others=(), edge=(), limit=None))
    low, high = canvases[0].axes[0].get_ylim()
    assert bool(low <= 0) is begins and -0.1 * high < low < least and high > 0.074


def test_a_letter_far_from_its_mark_has_a_line_to_it(canvases: list[Any]) -> None:
    crowd = tuple(
        replace(MODEL.marks[1], letter=chr(65 + k), at=(0.1 + 0.004 * (k % 4), 0.02 + 0.003 * (k // 4)))
        for k in range(12)
    )
    pictures.map_picture(replace(MODEL, marks=(*crowd, MODEL.marks[3])))
    lines = {
        text.get_text(): text.arrow_patch is not None for text in texts(canvases[0]) if hasattr(text, "arrow_patch")
    }
    assert lines["F"] is False and any(lines.values())


@pytest.mark.parametrize("width", [pictures.WIDE, pictures.HALF])
def test_words_of_a_map_are_placed_within_its_axes(
    width: float, canvases: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    caught: list[Any] = []
    monkeypatch.setattr(pictures, "_map_words", lambda axes, *given, **_: caught.extend((axes, given[-1])))
    pictures.map_picture(MODEL, width=width)
    axes, size = caught
    assert size == pytest.approx(tuple(72 * axes.get_window_extent().size / canvases[0].dpi))


def test_an_unprotected_file_within_the_limit_is_filled(canvases: list[Any]) -> None:
    pictures.map_picture(replace(MODEL, limit=0.08))
    (diamond,) = (line for line in canvases[0].axes[0].lines if line.get_marker() == "D")
    assert diamond.get_markerfacecolor() == pictures.INK


def test_a_map_without_figures_is_not_drawn() -> None:
    assert pictures.map_picture(replace(MODEL, marks=(), frontier=(), unprotected=None)) is None


def test_a_figure_beyond_its_interval_has_a_shape_of_its_own(canvases: list[Any]) -> None:
    pictures.before_after([Pair("a", 9.0, 7.3, "", True), Pair("b", 8.5, 8.0, "")], interval=1.2)
    found = {line.get_xdata()[0]: line.get_marker() for line in canvases[0].axes[0].lines if len(line.get_xdata()) == 1}
    assert found[7.3] == "^" and found[8.0] == "o" and found[9.0] == found[8.5] == "o"


def test_rises_and_falls_have_their_colours_in_a_legend(canvases: list[Any], long_named: Findings) -> None:
    from matplotlib.colors import to_hex

    pictures.largest_changes(long_named)
    axes = canvases[0].axes[0]
    named = {text.get_text(): handle.get_color() for text, handle in zip(*_legend_of(axes), strict=True)}
    bars = {patch.get_width() > 0: to_hex(patch.get_facecolor()) for patch in axes.patches if patch.get_height() < 0.5}
    assert named == {"fall": bars[False], "rise": bars[True]}


def _legend_of(axes: Any) -> tuple[list[Any], list[Any]]:
    legend = axes.get_legend()
    return legend.get_texts(), legend.legend_handles


@pytest.mark.parametrize(("fewest", "colours"), [(3, 4), (9, 3)])
def test_each_colour_of_cells_by_size_is_in_the_legend_and_the_axis_has_a_name(
    canvases: list[Any], long_named: Findings, fewest: int, colours: int
) -> None:
    pictures.cell_sizes(replace(long_named, exposure=replace(long_named.exposure, fewest=fewest)))
    axes, page = canvases[0].axes[0], canvases[0].bbox
    legend = axes.get_legend().get_window_extent()
    assert page.x0 <= legend.x0 and legend.x1 <= page.x1 and legend.y1 <= page.y1
    assert len(axes.get_legend().get_texts()) == colours
    drawn = {patch.get_facecolor() for patch in axes.patches}
    explained = {patch.get_facecolor() for patch in axes.get_legend().findobj(type(axes.patches[0]))}
    assert drawn <= explained and axes.get_ylabel() == "records"


def test_bars_before_and_after_stand_side_by_side_and_the_altered_on_the_others(
    canvases: list[Any], long_named: Findings
) -> None:
    assert long_named.sheet is not None
    pictures.cell_sizes(replace(long_named, sheet=replace(long_named.sheet, sizes=CELLS[:2])))
    boxes = [(p.get_x(), p.get_x() + p.get_width(), p.get_y(), p.get_height()) for p in canvases[0].axes[0].patches]
    before, kept, moved = boxes[0:2], boxes[2:4], boxes[4:6]
    axes = canvases[0].axes[0]
    assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1, "the legend is above the bars"
    for k in (0, 1):
        assert before[k][1] <= kept[k][0] and kept[k][1] < k + 0.5 < before[k][0] + 1
        assert moved[k][:2] == kept[k][:2] and moved[k][2] == kept[k][3]
    assert [box[3] for box in (*before, *kept, *moved)] == [548, 478, 42, 232, 436, 204]


def test_axes_have_their_inches_around_them() -> None:
    assert pictures._empty_axes(4, 2, 1, 0.5, 0.2, 0.25).get_position().bounds == pytest.approx(
        (0.25, 0.25, 0.7, 0.625)
    )


def test_places_are_tiles_in_lines_of_two_blocks_side_by_side(canvases: list[Any]) -> None:
    groups = {"one": {"a": "pq", "b": "r"}, "two": {"a": "s"}, "three": {"a": "t"}}
    pictures._png(
        pictures._tiles({g: {r: [(n, 1.0) for n in own] for r, own in rows.items()} for g, rows in groups.items()})
    )
    (canvas,) = canvases
    at = {text.get_text(): tuple(text.xy) for text in texts(canvas)}
    (across, _), (far, _), (low, _) = (at[name] for name in ("one", "two", "three"))
    assert (across, low) == (0, 0) and far == pytest.approx((canvas.get_size_inches()[0] + 0.15) / 2)
    key = pictures._KEY
    assert [at[name][1] - key for name in ("one", "two", "three")] == pytest.approx([0.17, 0.17, 0.38 + 0.8 + 0.17])
    assert [at[name][1] - key for name in "prst"] == pytest.approx([0.41, 0.81, 0.41, 1.18 + 0.41])
    boxes = {name: patch.get_x() for name, patch in zip("pqrst", canvas.axes[0].patches[-5:], strict=True)}
    assert boxes["p"] == boxes["r"] == boxes["t"] == pytest.approx(boxes["s"] - far)
    assert boxes["q"] - boxes["p"] == pytest.approx(0.62)


def test_new_values_are_hatched(canvases: list[Any], long_named: Findings) -> None:
    pictures.by_tables(long_named)
    first, _, new, _ = canvases[0].axes[0].patches
    assert (first.get_width(), new.get_width(), new.get_x()) == (2, 1, 2)
    assert not first.get_hatch() and new.get_hatch()


def test_each_run_is_a_tick(canvases: list[Any], long_named: Findings) -> None:
    assert long_named.sheet is not None
    pictures.runs(long_named)
    drawn = {tuple(line.get_xdata()) for line in canvases[0].axes[0].lines if line.get_marker() == "|"}
    told = {row.letter: tuple(100 * run for run in row.runs) for row in long_named.sheet.candidates.rows}
    assert drawn and drawn <= set(told.values()) and told[long_named.recommendation.letter] in drawn


def test_changes_within_the_tolerance_are_pale(canvases: list[Any], long_named: Findings) -> None:
    from matplotlib.colors import to_hex

    one, *others = long_named.utility.figures
    use = replace(long_named.utility, figures=(replace(one, flagged=False), *others))
    pictures.largest_changes(replace(long_named, utility=use))
    bars = {to_hex(patch.get_facecolor()) for patch in canvases[0].axes[0].patches}
    assert {pictures.ORANGE, pictures.PALE_ORANGE} <= bars


def test_names_are_no_formulas_and_steer_nothing(canvases: list[Any]) -> None:
    pictures.before_after([Pair("$x^$ \\bad{ \u202e", 0, 1, "1")])
    assert any("$x^$" in text.get_text() and "\u202e" not in text.get_text() for text in texts(canvases[0]))
