"""Data and plan that a script gives: DataFrames, paths, samples, and the arguments that describe a plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from engine.common.errors import UsageError
from engine.data.frames import category_order, frame_of_table, table_of_frame
from engine.data.microdata import RawColumn, RawTable
from engine.plan import AttributePlan, MechanismPlan, Plan, edit_plan, guess_plan, plan_from_toml
from engine.plan.coding import sort_columns
from engine.plan.columns import default_missing, facts
from engine.plan.edit import FIRST_PLAN, led_by, refuse_first_plan
from engine.plan.entries import MISSING_LEVEL, unit_columns
from engine.plan.samples import describe, open_records
from engine.plan.toml import read_plan
from engine.scripting.arguments import SweepOptions, public

if TYPE_CHECKING:
    import pandas as pd


Data: TypeAlias = Union["pd.DataFrame", str, Path]
"""A DataFrame, the path of a file or of a folder of parts, or the name of a sample."""


def records_of(data: Data, clean_names: bool = False) -> tuple[RawTable, Plan | None]:
    """Return the records, and the plan that a sample brings along."""
    if isinstance(data, str | Path):
        return open_records(str(data), clean_names)
    return table_of_frame(data), None


def frame_of(data: Data) -> pd.DataFrame:
    """Return the records as a DataFrame: the very one that was given, or that of the file."""
    return load(data) if isinstance(data, str | Path) else data


@public
def load(name_or_path: str | Path, clean_names: bool = False) -> pd.DataFrame:
    """Return the records of a sample or of a file as a DataFrame.

    Parameters: ``name_or_path`` is the name of a sample (:func:`list_samples`) or the path of a CSV, Parquet, SPSS,
    Stata or SAS file, or of a folder of CSV or Parquet files.  Values are those of the file: all values of a CSV file
    are texts.  ``clean_names`` replaces names of columns that no format holds, such as those with hidden signs.

    Errors: :class:`UsageError` for a name that is neither, :class:`EngineError` for a file that cannot be read.

    Example::

        df = sf.load("czech")
    """
    return frame_of_table(records_of(name_or_path, clean_names)[0])


def list_samples() -> pd.DataFrame:
    """Return the samples that :func:`load` knows, one row each: records, attributes, a summary, whether the records are
    synthetic, and whether they are on this machine.

    Example::

        sf.list_samples()
    """
    import pandas as pd

    return pd.DataFrame([asdict(sample) for sample in describe()]).rename(columns={"here": "available"})


PlanSource = Plan | str | Path
"""A plan, the path of a plan.toml, or its text."""


def plan_of(source: PlanSource) -> Plan:
    """Return the plan of a path, a text or a plan; a text of several lines is the plan itself."""
    if isinstance(source, Plan):
        return source
    if "\n" in str(source):
        return plan_from_toml(str(source))
    return read_plan(source)


def described_plan(
    data: Data, raw: RawTable, attributes: Iterable[str] | None, base: Plan | None, options: SweepOptions
) -> Plan:
    """Return the plan that arguments describe: ``base`` edited, or a first one from the columns of the data."""
    attributes = None if attributes is None else tuple(attributes)
    if attributes == ():
        raise UsageError("attributes is empty; name at least one, or leave it out for every column that is categorical")
    if base is None:
        base = first_plan(data, raw, attributes, options)
    else:
        refuse_first_plan(options)
        roles = (options.get("keys"), options.get("swap"), options.get("analyse"))
        base = led_by(raw, base, [name for names in (attributes, *roles) for name in names or ()])
    changes: dict[str, Any] = {name: value for name, value in options.items() if name not in FIRST_PLAN}
    if "mechanisms" in changes:
        changes["mechanisms"] = [MechanismPlan.of(name, grid) for name, grid in changes["mechanisms"]]
    return edit_plan(base, attributes=attributes, **changes)


def first_plan(data: Data, raw: RawTable, attributes: tuple[str, ...] | None, options: SweepOptions) -> Plan:
    """Return a plan from the columns of the data.

    Where attributes are named, all columns that nothing names stay with their record, but for those that look like ids,
    which have to be named.  Missing values of an attribute become a level, and categoricals keep the order of their
    categories.
    """
    carry, drop = list(options.get("carry", ())), list(options.get("drop", ()))
    unit = options.get("unit")
    unit = unit if unit is None or isinstance(unit, str) else tuple(unit)
    single = [options.get("weight"), options.get("id"), *unit_columns(unit)]
    named = {column: column for column in (*(attributes or ()), *single) if column}
    if attributes is not None:
        unnamed = sort_columns(named, carry, drop, raw.names).unassigned
        carry += [name for name in unnamed if not facts(raw.columns[name], raw.n_records).looks_like_id]
    plan = guess_plan(
        raw,
        attributes=attributes,
        carry=carry,
        drop=drop,
        weight=options.get("weight"),
        id=options.get("id"),
        unit=unit,
        cut=options.get("cut"),
    )
    parts = tuple(_as_the_data_say(part, data, raw) for part in plan.attributes)
    return replace(plan, data=replace(plan.data, attributes=parts))


def _as_the_data_say(part: AttributePlan, data: Data, raw: RawTable) -> AttributePlan:
    """An attribute with the order of its categories, and with a level for missing values where it has some."""
    name = part.columns[0]
    values = () if isinstance(data, str | Path) or part.cut else _levels(data[name], raw.columns[name])
    if facts(raw.columns[name], raw.n_records).n_missing:
        values = values or part.levels
        own = (MISSING_LEVEL,) if MISSING_LEVEL in values else ()
        values = tuple(value for value in values if value not in own)
        part = replace(part, missing=(*part.missing, *own), on_missing="level")
    return replace(part, levels=values or part.levels)


def _levels(series: pd.Series, column: RawColumn) -> tuple[str, ...]:
    """The categories that occur and mean something."""
    missing = default_missing(column)
    return tuple(value for value in category_order(series) if value not in missing)
