"""Several mechanisms one after the other, as one mechanism.

Each step works on what the one before has released; what comes out is compared with the original.  A record counts as
touched when any step touched it.  Parameters are those of all steps.

Random numbers: the first step draws from the replicate's derived key, as it would alone; step ``k`` on table ``d`` of
the steps before draws from ``derive(derived, "step", (k, d))`` with ``k`` counted from 1 and ``d`` from 0.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.streams import derive
from engine.common.wording import first_twice
from engine.data.microdata import Microdata, RawColumn
from engine.mechanisms.base import Drawn, Mechanism
from engine.mechanisms.group_swap import CGS
from engine.mechanisms.noise import NOISE
from engine.release.parameter import Setting
from engine.release.records import ReleasedTable
from engine.release.results import RunStatus


def as_microdata(table: ReleasedTable) -> Microdata:
    """A released table as data of its own: levels, raw columns and numbers as released.

    Raw columns behind attributes that a mechanism drew anew keep their values: only levels were drawn.
    """
    import pyarrow as pa

    data, columns = table.data, ChainMap[str, RawColumn]({}, table.data.raw.columns)  # type: ignore[arg-type]
    if table.source is not None:
        for name in table.swapped_columns & columns.keys():
            columns[name] = replace(columns[name], codes=columns[name].codes[table.source])
    for name, values in table._numbers.items():
        missing = np.isnan(values)
        codes = np.where(missing, -1, np.arange(len(values))).astype(np.int32)
        columns[name] = RawColumn(name, pa.array(np.where(missing, 0.0, values)), codes)
    codes_of = tuple(table.codes(j) for j in range(len(data.codes)))
    return replace(data, codes=codes_of, raw=replace(data.raw, columns=columns))


def compose(earlier: ReleasedTable, later: ReleasedTable) -> ReleasedTable:
    """A table released from a released table, as a release of the original.

    Refuses two exchanges of records on different attributes, for which no one exchange stands.
    """
    source, swapped = earlier.source, earlier.swapped
    replaced, numbers = dict(earlier._replaced), dict(earlier._numbers)
    if later.source is not None:
        if source is None:
            source, swapped = later.source, later.swapped
        elif swapped == later.swapped:
            source = source[later.source]
        else:
            raise EngineError("steps that exchange different attributes between records cannot follow each other")
        replaced |= {j: codes[later.source] for j, codes in replaced.items() if j in later.swapped}
        numbers |= {name: x[later.source] for name, x in numbers.items() if name in later.swapped_columns}
    return ReleasedTable(
        earlier.data, source, sorted(swapped), {**replaced, **later._replaced}, {**numbers, **later._numbers}
    )


def _status(statuses: Sequence[RunStatus]) -> RunStatus:
    """Failed or partial when a step was so, without effect when all steps were."""
    for status in (RunStatus.FAILED, RunStatus.PARTIAL):
        if status in statuses:
            return status
    return RunStatus.NOOP if set(statuses) == {RunStatus.NOOP} else RunStatus.OK


def pipeline(name: str, title: str, when: str, steps: Sequence[Mechanism]) -> Mechanism:
    """One mechanism that carries out several, each on what the one before has released.

    Names of parameters must differ between steps.  Only the first step is fitted once for all replicates.
    Diagnostics are prefixed with their step's name.
    """
    names = [parameter.name for step in steps for parameter in step.parameters]
    repeated = first_twice(names)
    if repeated is not None:
        raise UsageError(f"pipeline '{name}': several steps have a parameter '{repeated}'")

    def setting_of_step(setting: Setting, step: Mechanism, data: Microdata) -> Setting:
        own_names = {parameter.name for parameter in step.parameters}
        values = {key: value for key, value in setting.values.items() if key in own_names}
        texts = tuple((key, text) for key, text in setting.texts if key in own_names)
        return Setting(data, values, texts, setting.keys, setting.numeric)

    def check(values: Mapping[str, Any]) -> None:
        for step in steps:
            if step.check:
                step.check(values)

    def prepare(setting: Setting) -> Any:
        """The first step's fit; later steps are tried on the original, so that what they refuse is refused early."""
        for step in steps[1:]:
            step.prepare(setting_of_step(setting, step, setting.data))
        return steps[0].prepare(setting_of_step(setting, steps[0], setting.data))

    def draw(prepared: Any, setting: Setting, derived: bytes) -> Drawn:
        first = steps[0].draw_replicate(prepared, setting_of_step(setting, steps[0], setting.data), derived)
        tables, touched, statuses = list(first.tables), first.touched, [first.status]
        diagnostics = {f"{steps[0].name}.{key}": value for key, value in first.diagnostics.items()}
        for k, step in enumerate(steps[1:], 1):
            released, touched_by_step = [], []
            for d, table in enumerate(tables):
                step_setting = setting_of_step(setting, step, as_microdata(table))
                drawn = step.draw_replicate(step.prepare(step_setting), step_setting, derive(derived, "step", (k, d)))
                released += [compose(table, later) for later in drawn.tables]
                touched_by_step.append(drawn.touched | touched[d])
                statuses.append(drawn.status)
                diagnostics |= {f"{step.name}.{key}": value for key, value in drawn.diagnostics.items()}
            tables, touched = released, np.concatenate(touched_by_step)
        warnings = [str(diagnostics.pop(key)) for key in list(diagnostics) if key.endswith(".warning")]
        if warnings:
            diagnostics["warning"] = "; ".join(warnings)
        return Drawn(tables, _status(statuses), touched, diagnostics)

    return Mechanism(
        name=name,
        title=title,
        source="; then ".join(step.source for step in steps),
        when=when,
        rate=", then ".join(step.rate for step in steps),
        prepare=prepare,
        draw=draw,
        parameters=tuple(parameter for step in steps for parameter in step.parameters),
        amounts=tuple(way for step in steps for way in step.amounts),
        whole=", then ".join(step.whole for step in steps if step.whole),
        altered_by=next((step.altered_by for step in steps if step.altered_by), ""),
        fit=steps[0].fit + tuple(name for step in steps[1:] for name in step.fit),
        refuses_pairs=all(step.refuses_pairs for step in steps),
        many_tables=any(step.many_tables for step in steps),
        check=check,
    )


CGS_NOISE = pipeline(
    "cgs_noise",
    "Group swapping, then additive noise",
    "strata are to be protected as by group swapping, and the numbers beside them are nearly unique",
    (CGS, NOISE),
)
