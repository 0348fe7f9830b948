"""Risk and utility of a release that was made elsewhere, and the lists of measures and mechanisms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.wording import plural
from engine.data.frames import check_frame, table_of_frame
from engine.data.microdata import Microdata, RawTable
from engine.measures import MEASURES
from engine.measures.planned import planned_calls
from engine.mechanisms import mechanism, names
from engine.models import analyses
from engine.models.record_release import RecordRelease
from engine.plan.coding import code
from engine.release.records import ReleasedTable
from engine.scripting.arguments import SweepOptions, public
from engine.scripting.data import Data, PlanSource, described_plan, frame_of, plan_of
from engine.sweeps.realisations import figure
from engine.sweeps.sweep import check_single_columns

if TYPE_CHECKING:
    import pandas as pd


@public
def risk_utility(
    original: Data,
    released: Data,
    attributes: Iterable[str] | None = None,
    *,
    plan: PlanSource | None = None,
    **options: Unpack[SweepOptions],
) -> pd.DataFrame:
    """Measure the risk and the utility of a release that was made elsewhere.

    Parameters: ``original`` and ``released`` are DataFrames, paths of files or names of samples; record ``i`` of the
    one is record ``i`` of the other, or of two DataFrames with the same unique index the one of the same name.
    ``attributes``, ``plan`` and all other arguments are those of :func:`sweep`, foremost ``measures``, ``keys`` and
    ``analyse``.  Columns that are not in both tables are left out.

    Returns one row a measure: ``kind`` ("risk" or "utility"), ``better`` ("lower", "higher" or "zero"), the figures of
    the ``original`` and of the ``released`` data, and a ``note`` where a figure is undefined or has more to say.

    Errors: :class:`UsageError` for arguments that are wrong, :class:`EngineError` for tables that do not match.

    Example::

        sf.risk_utility(df, protected, attributes=["age", "sex"], measures=["small_cells", "hellinger"])
    """
    import pandas as pd

    before, after = _matched(frame_of(original), frame_of(released))
    unaltered, released_table = table_of_frame(before), table_of_frame(after)
    _refuse_unlike(unaltered, released_table)
    both = pd.concat([before, after], ignore_index=True)
    raw = table_of_frame(both)
    described = described_plan(both, raw, attributes, None if plan is None else plan_of(plan), options)
    coded = code(raw, described)
    check_single_columns(coded)
    n = len(before)
    data = replace(coded, raw=unaltered, codes=tuple(codes[:n] for codes in coded.codes))
    same = ReleasedTable(data)
    altered = ReleasedTable(
        data,
        replaced={j: codes[n:] for j, codes in enumerate(coded.codes)},
        numbers=_numbers(data, released_table),
    )
    calls = planned_calls(described)
    analyses.check(described, data, [str(call.values["analysis"]) for call in calls if "analysis" in call.values])
    rows = []
    for call in calls:
        value, note = figure(call, RecordRelease(same, [altered], described))
        on_original, reason = figure(call, RecordRelease(same, [same], described))
        if on_original != on_original and not note:
            note = f"on the original: {reason}"
        rows.append((str(call), call.measure.kind, call.measure.better, on_original, value, note))
    columns = ["measure", "kind", "better", "original", "released", "note"]
    return pd.DataFrame(rows, columns=columns).set_index("measure")


def _matched(original: pd.DataFrame, released: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The columns that both tables have, with their records in the same order."""
    for frame in (original, released):
        check_frame(frame)
    if len(original) != len(released):
        raise EngineError(
            f"the original has {plural(len(original), 'record')} and the release {len(released):,}; every record needs "
            "its counterpart"
        )
    columns = [name for name in original.columns if name in set(released.columns)]
    if not columns:
        raise UsageError("the original and the release have no column in common")
    if not released.index.equals(original.index):
        if not original.index.is_unique or len(original.index.symmetric_difference(released.index)):
            raise EngineError(
                "the records of the release have another index than those of the original; give both the same one, or "
                "reset both where the records are in the same order"
            )
        released = released.loc[original.index]
    return original[columns], released[columns]


def _refuse_unlike(original: RawTable, released: RawTable) -> None:
    """Refuse a column that holds texts in one table and other values in the other, as where one was read from CSV."""
    for name, column in original.columns.items():
        other = released.columns[name]
        if column.is_text != other.is_text and len(column.values) and len(other.values):
            raise EngineError(
                f"column '{name}' holds {column.values.type} in the original and {other.values.type} in the release; "
                "give both the same type"
            )


def _numbers(data: Microdata, released: RawTable) -> dict[str, np.ndarray]:
    """Columns of numbers as the release has them, for measures that use numbers."""
    altered = ReleasedTable(replace(data, raw=released))
    columns = ((name, altered.numeric(name)) for name in data.raw.names)
    return {name: values for name, values in columns if not np.isnan(values).all()}


_MEASURE = ("name", "kind", "title", "symbol", "better", "range", "unit", "over", "needs", "cost", "meaning", "source")
_MECHANISM = ("name", "title", "rate", "when", "source")


def list_measures() -> pd.DataFrame:
    """Return the measures, registered ones too, one row each by its name.

    ``kind`` is "risk" or "utility"; ``better`` is "lower", "higher" or "zero" (nearer to zero); ``over`` says which
    attributes it tabulates unless told otherwise (keys, analyse or all); ``needs`` is "counts" or "records";
    ``parameters`` are written in brackets behind the name, such as ``small_cells[n_rule=5]``.

    Example::

        sf.list_measures().query("kind == 'risk'")
    """
    import pandas as pd

    rows = [
        (*(getattr(measure, field) for field in _MEASURE), "; ".join(f"{k}={v}" for k, v in measure.parameters.items()))
        for measure in MEASURES.values()
    ]
    return pd.DataFrame(rows, columns=[*_MEASURE, "parameters"]).set_index("name")


def list_mechanisms() -> pd.DataFrame:
    """Return the mechanisms, registered ones too, one row each by its name.

    ``rate`` says what its amount counts, ``when`` when to use it; ``parameters`` go into ``mechanisms`` of
    :func:`sweep`, such as ``mechanisms={"rds": {"s": [2, 3]}}``, each with its default where it has one.

    Example::

        sf.list_mechanisms()["parameters"]
    """
    import pandas as pd

    rows = []
    for declared in map(mechanism, names()):
        parameters = "; ".join(p.name if p.default is None else f"{p.name}={p.default}" for p in declared.parameters)
        rows.append((*(str(getattr(declared, field)) for field in _MECHANISM), parameters))
    return pd.DataFrame(rows, columns=[*_MECHANISM, "parameters"]).set_index("name")
