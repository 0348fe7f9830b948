"""Protected records as DataFrames: one run drawn again, with the types of the data that it alters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from engine.bundle.files import Rows, new_secret
from engine.bundle.source import check_figures
from engine.common.errors import EngineError, UsageError
from engine.frontier.risk_utility_map import RiskUtilityMap, check_realisation
from engine.plan.coding import code
from engine.plan.entries import check_include
from engine.release.reader_view import columns_beside, is_original
from engine.release.records import ReleasedTable
from engine.scripting.data import Data, frame_of, records_of
from engine.study.keys import key_path, read_key
from engine.study.study import Study
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import Remade, carriers_of, remake, stream_of
from engine.sweeps.sweep import check_same

if TYPE_CHECKING:
    import pandas as pd


def key_of(study: Study) -> bytes:
    """Return the key of a study: the one that this process was given, else that of the file beside it."""
    return read_key(key_path(study.path)) if study.key is None else study.key


def remade_release(study: Study, data: Data, view: RiskUtilityMap, index: int, replicate: int) -> Remade:
    """Return one run of a candidate down to records, with the figures that the study holds."""
    raw, _ = records_of(data)
    key, scenario = key_of(study), view.scenarios[index]
    check_same(study, raw, key)
    coded = code(raw, study.plan)
    measured = question_of(study.plan, coded, study.measures)
    remade = remake(coded, measured, scenario.spec, stream_of(key, scenario.spec, coded, replicate))
    runs = study.runs.of([index])
    row = check_realisation(runs, index, replicate, scenario.label, view.allow_partial)
    check_figures(remade.figures, dict(zip(map(str, study.measures), runs.values[row].tolist(), strict=True)))
    return remade


def release_frames(
    remade: Remade, data: Data, study: Study, include: Sequence[str] | None, *, single: bool = False
) -> list[pd.DataFrame]:
    """Return the tables of a release with index, columns and types of the data; ``single`` refuses several tables."""
    included = study.plan.publish.include if include is None else check_include(include)
    for role in included:
        if getattr(remade.data, role) is None:
            raise UsageError(f"the plan declares no {role}, so it cannot be included")
    if single and len(remade.tables) > 1:
        raise UsageError(
            f"the candidate publishes {len(remade.tables)} tables together; release_tables gives all of them"
        )
    original, beside = ReleasedTable(remade.data), columns_beside(remade.data, included)
    if any(is_original(table, original, beside) for table in remade.tables):
        raise EngineError(
            "the rows of this release are those of the original, so nothing is protected; choose another candidate"
        )
    frame = frame_of(data)
    left_out = set(remade.data.dropped)
    left_out |= {column for column, use in remade.data.single_uses.items() if use not in included}
    released_columns = frame.drop(columns=[name for name in frame.columns if name in left_out])
    new_numbers = Rows(new_secret(), len(frame)).new_numbers(remade.data)
    released_columns = released_columns.assign(
        **{column: new for column, new in new_numbers.items() if column in released_columns}
    )
    return [_with_changes(released_columns, remade, table) for table in range(len(remade.tables))]


def _with_changes(frame: pd.DataFrame, remade: Remade, table: int) -> pd.DataFrame:
    released, columns = remade.tables[table], {}
    for name, carrier in carriers_of(remade, table).items():
        if name in frame.columns:
            columns[name] = frame[name].take(carrier).set_axis(frame.index)
    for name in frame.columns:
        if released.is_renumbered(name):
            columns[name] = _numbers(frame[name], released.numeric(name))
    return frame.assign(**columns)


def _numbers(column: pd.Series, values: np.ndarray) -> pd.Series:
    """Altered numbers in the type of the column where that is one of floats."""
    import pandas as pd

    kind = column.dtype if column.dtype.kind == "f" else np.dtype(float)
    return pd.Series(values, index=column.index, dtype=kind)
