"""The code of the guide on adding a measure or a mechanism runs, from top to bottom."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine as sf
from engine.data.microdata import Microdata
from engine.measures import MEASURES
from engine.mechanisms import MECHANISMS, mechanism
from engine.plan.samples import load

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def guide() -> Iterator[dict[str, Any]]:
    """What the guide's code has defined after its last block; nothing stays registered."""
    measures, mechanisms = {*MEASURES}, {*MECHANISMS}
    names: dict[str, Any] = {"__name__": "guide"}
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{GUIDE.name}, block {number}", "exec"), names)
    yield names
    for name in {*MEASURES} - measures:
        MEASURES.unregister(name)
    for name in {*MECHANISMS} - mechanisms:
        MECHANISMS.unregister(name)
    names["swaps"].close()
    names["mixed"].close()


def test_the_measures_of_the_guide_have_figures_of_every_run(guide):
    runs = guide["swaps"].to_frame(runs=True)
    cells, three, most = (
        runs[name].to_numpy(float) for name in ("changed_cells", "changed_cells[fewest=3]", "moved_most")
    )
    for figures in (cells, three, most):
        assert ((figures >= 0) & (figures <= 1)).all() and (figures > 0).any()
    assert (three <= cells).all()


def test_the_worked_example_gives_one_figure_by_hand_from_the_batch_and_from_the_records(guide):
    batch = guide["five"]
    assert guide["by_hand"] == guide["from_the_batch"] == guide["from_the_records"] == 2 / 3
    assert batch.original.tolist() == [2, 1, 1, 1] and batch.n_records == 5
    text = GUIDE.read_text(encoding="utf-8")
    cells = zip(("a x", "a y", "b y", "b x"), batch.before, batch.after, batch.kept, strict=True)
    for cell, before, after, kept in cells:
        assert f"| {cell} | {before} | {after} | {kept} |" in text


def test_the_mechanism_of_the_guide_stands_beside_random_swaps_and_is_released(guide):
    names = {candidate.replicate and repr(candidate) for candidate in guide["mixed"]}
    assert sum("shuffle" in name for name in names) == 2 and len(names) > 2
    raw, _ = load("czech")
    assert len(guide["protected"]) == raw.n_records


def test_what_the_guide_adds_is_listed_with_the_rest(guide):
    assert str(sf.list_measures()["meaning"]["changed_cells"]).startswith("Share of the occupied cells")
    assert sf.list_mechanisms()["parameters"]["shuffle"] == "attribute; share=0.1"


def test_a_shuffled_attribute_keeps_its_counts(guide, data: Microdata):
    made = mechanism("shuffle")
    setting = made.setting(data, {"attribute": "A", "share": "0.5"}, (0, 1))
    drawn = made.draw(made.prepare(setting), setting, bytes(32))
    codes = drawn.tables[0].codes(0)
    assert (np.bincount(codes) == np.bincount(data.codes[0])).all()
    assert 0 < np.count_nonzero(codes != data.codes[0]) <= drawn.touched.sum()


@pytest.fixture
def data() -> Microdata:
    from engine.plan.coding import code

    return code(*load("czech"))
