"""A random swap that draws by weight and obeys edit rules leaves as others do, and its attacks know what they know."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.bundle import export, replay
from engine.bundle.attack import _undo_swap, _use_published_tables
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.study.study import Study
from tests.engine.bundle.sources import export_source
from tests.engine.household_survey import approve, few_guesses, label_of, plan, survey, swept

MORE = """
[[edit]]
name = "no p in a"
forbid = { work = ["b"], town = ["p"] }
refuse = true
[[mechanism]]
name = "random_swap"
lean = "1"
"""


def approved_with(folder: Path, n: int, key: bytes | None) -> RawTable:
    """An approved study of the survey in ``folder`` that swaps the town."""
    raw = survey(folder, n)
    swept(raw, plan(MORE), folder / "household.study", key)
    with Study.open(folder / "household.study") as study:
        approve(study, raw, label_of(study, "town"))
    return raw


@pytest.mark.slow
def test_the_attack_on_small_keys_draws_by_weight_and_under_the_rules_too(tmp_path: Path) -> None:
    raw = approved_with(tmp_path, 600, np.random.default_rng(42).bytes(16))
    with Study.open(tmp_path / "household.study") as study:
        source = export_source(study, raw, None)
        found = _undo_swap(source)
        assert found["succeeded"] and found["restored"] == 1.0, "it draws the very pairs of the swap"
        assert not _undo_swap(replace(source, replicate=source.replicate + 1))["succeeded"]
        tables = _use_published_tables(source)
    assert tables["not_known"] == ("records are drawn by 1/count to the power 1", "edit rules refuse pairs")


@pytest.mark.slow
@pytest.mark.usefixtures("without_pdf")
def test_it_is_exported_and_replayed_without_a_record_that_breaks_the_rule_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_guesses(monkeypatch)
    raw = approved_with(tmp_path, 160, None)
    with Study.open(tmp_path / "household.study") as study:
        out = export(study, raw, None, tmp_path / "out", tier="all")
    found = replay(out / "analyst", raw)
    assert found.same and found.differs == ()
    released = read_table(out / "public" / "release.csv").columns
    work, town = (np.array(released[name].values.to_pylist())[released[name].codes] for name in ("work", "town"))
    before = {
        name: np.array(raw.columns[name].values.to_pylist())[raw.columns[name].codes] for name in ("work", "town")
    }
    broken = ((before["work"] == "b") & (before["town"] == "p")).sum()
    assert ((work == "b") & (town == "p")).sum() <= broken
    assert sorted(town) == sorted(before["town"]) and sorted(work) == sorted(before["work"])
