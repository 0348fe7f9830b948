"""Measures and mechanisms travel to workers; figures of the unaltered data."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.common.errors import UsageError
from engine.common.raw_values import texts
from engine.data.io.stream import open_stream
from engine.measures import MEASURES, Measure, register
from engine.plan import edit_plan
from engine.plan.coding import code, tabulate
from engine.plan.samples import load
from engine.release.batch import ReleaseBatch
from engine.study.keys import key_path, read_key
from engine.study.study import Study
from engine.sweeps.evaluator import can_travel, original_figure
from engine.sweeps.sweep import add_measures, recheck, sweep
from engine.sweeps.workers import default_workers


def touched_cells(batch: ReleaseBatch) -> np.ndarray:
    """Number of cells whose count changes."""
    return batch.total(batch.after != batch.before)


@pytest.fixture
def own() -> Iterator[Measure]:
    yield register(Measure.of(touched_cells, "utility"))
    MEASURES.unregister("touched_cells")


def swept(folder, name, **options):
    raw, plan = load("czech")
    plan = replace(plan, measures=("small_cells", "touched_cells"), space=replace(plan.space, replicates=2))
    with sweep(raw, plan, folder / name, **options) as study:
        return study.runs.results()


@pytest.mark.slow
def test_a_registered_measure_gives_the_same_figures_in_other_processes(own, tmp_path):
    alone = swept(tmp_path, "a.study", workers=1)
    key_path(tmp_path / "b.study").write_bytes(key_path(tmp_path / "a.study").read_bytes())
    together = swept(tmp_path, "b.study", workers=2)
    order = np.lexsort((together.replicate, together.scenario))
    assert alone.values[np.lexsort((alone.replicate, alone.scenario))].tolist() == together.values[order].tolist()
    assert (alone.values[:, 1] > 0).any()


def test_what_other_processes_cannot_import_is_refused_in_a_sentence(own, tmp_path):
    register(Measure.of(lambda batch: batch.changed, "utility", name="touched_cells", meaning="Records changed."))
    with pytest.raises(UsageError, match=r"measure 'touched_cells' cannot be sent to other processes.*with one worker"):
        swept(tmp_path, "a.study", workers=2)


def test_unless_told_otherwise_such_a_measure_is_run_in_this_process(own, monkeypatch):
    class Asked:
        table, on_records, over_records = range(10**9), (), False
        registered = (own,)

    assert can_travel((own,))
    assert default_workers(10**9, Asked) > 0  # type: ignore[arg-type]
    monkeypatch.setattr(touched_cells, "__module__", "__main__")
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    assert not can_travel((own,))
    assert default_workers(10**9, Asked) == 1  # type: ignore[arg-type]


def test_another_machine_never_has_the_script(own, monkeypatch):
    monkeypatch.setattr(touched_cells, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "script.py", raising=False)
    monkeypatch.setattr(sys.modules["__main__"], "touched_cells", touched_cells, raising=False)
    assert can_travel((own,))
    assert not can_travel((own,), far=True)
    assert pickle.dumps(touched_cells)


def twice_the_cells(batch: ReleaseBatch) -> np.ndarray:
    return 2 * touched_cells(batch)


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("revised", [False, True])
def test_runs_are_added_to_figures_of_the_same_meaning_alone(own, revised, streamed, tmp_path):
    """Whatever a measure says of earlier versions: what its figures are tells whether they can be mixed."""
    raw, plan = load("czech")
    plan = replace(plan, measures=("small_cells", "touched_cells"), space=replace(plan.space, replicates=2))
    if streamed:
        names = raw.names
        rows = zip(*(np.array(texts(raw.columns[n].values))[raw.columns[n].codes] for n in names), strict=True)
        (tmp_path / "czech.csv").write_text("\n".join(map(",".join, [names, *rows])))
        raw = tabulate(open_stream(tmp_path / "czech.csv"), plan)
    path = tmp_path / "a.study"
    with pytest.raises(KeyboardInterrupt):
        sweep(raw, plan, path, workers=1, on_progress=stop_at(40))
    register(replace(own, compute=twice_the_cells if revised else touched_cells, revised="half of it"))
    more = replace(plan, space=replace(plan.space, replicates=3))
    if not revised:
        sweep(raw, plan, path, workers=1).close()
        with sweep(raw, more, path, workers=1, extend=True) as study:
            recheck(study, raw, read_key(key_path(path)), [3], 2, workers=1)
            assert study.runs.count("fresh") == 2
        return
    for extend in (False, True):
        with pytest.raises(UsageError, match="half of it"):
            sweep(raw, more if extend else plan, path, workers=1, extend=extend)
    with Study.open(path) as study:
        before = len(study.runs.results())
        with pytest.raises(UsageError, match="half of it"):
            recheck(study, raw, read_key(key_path(path)), [3], 2, workers=1)
        assert len(study.runs.results()) == before and not study.runs.count("fresh")
        assert add_measures(study, raw, read_key(key_path(path)), ["false_zeros"], workers=1) == ["false_zeros"]


def stop_at(most):
    def on_progress(done, total):
        if done >= most:
            raise KeyboardInterrupt

    return on_progress


def test_it_is_the_studys_own_figure(tmp_path: Path) -> None:
    raw, plan = load("czech")
    plan = edit_plan(
        plan, rates=["0.05"], replicates=1, swap_sizes=[1], measures=["small_cells[n_rule=5]", "hellinger"]
    )
    with sweep(raw, plan, tmp_path / "c.study", workers=1) as study:
        originals = study.original
    data = code(raw, plan)
    assert original_figure(plan, data, "small_cells[n_rule=5]") == pytest.approx(originals["small_cells[n_rule=5]"])
    assert original_figure(plan, data, "hellinger") == 0
    assert original_figure(plan, data, "distance_linkage") is None
