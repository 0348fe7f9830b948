"""Additive multivariate noise: normal noise with the covariances of the numbers it is added to.

``X* = X + E`` with rows of ``E`` from ``N(0, c · Σ̂)``, Σ̂ the sample covariance (of all records, or within strata).
Covariances grow by the factor ``1 + c`` and correlations stay; ``rescale`` shrinks towards the mean by ``sqrt(1 + c)``,
so that means and covariances are in expectation what they were.  Oganian and Lesaja add it to conditional group
swapping; their level is lost from the paper's text.

Random numbers, from the stream of table 1: ``n_records × columns`` standard normal numbers, by record.

Several mechanisms one after the other, as one mechanism.

Each step works on what the one before has released; what comes out is compared with the original.  A record counts as
touched when any step touched it.  Parameters are those of all steps.

Random numbers: the first step draws from the replicate's derived key, as it would alone; step ``k`` on table ``d`` of
the steps before draws from ``derive(derived, "step", (k, d))`` with ``k`` counted from 1 and ``d`` from 0.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.processes import one_thread
from engine.common.streams import derive
from engine.common.wording import first_twice
from engine.data.microdata import Microdata, RawColumn
from engine.data.table import occupied
from engine.mechanisms.base import Drawn, Mechanism, table_stream
from engine.mechanisms.group_swap import CGS
from engine.mechanisms.propensity import strata_places
from engine.models.record_release import complete_numbers
from engine.release.parameter import Counts, Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus

_NONE = 1e-12  # eigenvalues of a correlation matrix below this many are rounding


class Prepared(NamedTuple):
    """Columns ``x`` (n_records, p) by name, records of each stratum, its means (p,) and root of its covariance (p, p);
    warnings."""

    names: tuple[str, ...]
    x: np.ndarray
    records: list[np.ndarray]
    means: list[np.ndarray]
    roots: list[np.ndarray]
    warnings: list[str]


def root(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means ``(p,)`` of columns and the symmetric root ``R`` of their correlations times their standard deviations,
    so that ``z @ R`` has their covariance (n - 1 in the denominator) for standard normal ``z``.

    A singular covariance is fine; a constant column, and everything where there is one record, has a column of zeros.
    """
    n, p = x.shape
    columns = np.ascontiguousarray(x.T)
    shifted = columns - columns[:, :1]
    centre = shifted.mean(axis=1, keepdims=True)
    means = (columns[:, :1] + centre)[:, 0]
    if n < 2:
        return means, np.zeros((p, p))
    centred = shifted - centre
    centred[~shifted.any(axis=1)] = 0.0
    sd = np.sqrt((centred * centred).sum(axis=1) / (n - 1))
    unit = centred / np.where(sd > 0, sd, 1.0)[:, None]
    with one_thread():
        sizes, directions = np.linalg.eigh(unit @ unit.T / (n - 1))
        roots_of_sizes = np.sqrt(np.where(sizes > _NONE * p, sizes, 0.0))
        return means, (directions * roots_of_sizes) @ directions.T * sd


def prepare(setting: Setting) -> Prepared:
    """Columns and their covariances.  Refuses unknown columns, columns of an attribute, the weight and the identifier,
    and missing values."""
    data = setting.data
    behind = {c: attribute.name for attribute in data.domain.attributes for c in attribute.columns}
    names, warnings = setting["cols"], list[str]()
    if not names:
        names = tuple(name for name in setting.numeric if name not in behind)
        coded_columns = [name for name in setting.numeric if name in behind]
        if coded_columns:
            warnings.append(f"columns that make levels get no noise: {', '.join(coded_columns)}")
    if not names:
        raise UsageError("noise needs at least one numeric column outside the attributes; name it in cols")
    if len(set(names)) < len(names):
        raise UsageError(f"cols == '{'+'.join(names)}', names a column twice.")
    for name in names:
        if name in behind:
            raise UsageError(f"column '{name}' makes the levels of '{behind[name]}'; noise would contradict them")
        if name in data.single_uses:
            meaning = {
                "weight": "the weight of records",
                "id": "the identifier of records",
                "unit": "that of households",
            }
            raise UsageError(f"column '{name}' is {meaning[data.single_uses[name]]}")
    table = ReleasedTable(data)
    x = np.column_stack([complete_numbers(table, name, "noise") for name in names])
    places = strata_places(data, setting["within"])
    cells, stratum = occupied([data.codes[j] for j in places], [data.domain.shape[j] for j in places], data.n_records)
    sizes = np.bincount(stratum, minlength=len(cells))
    records = np.split(np.argsort(stratum, kind="stable"), np.cumsum(sizes)[:-1])
    means, roots = map(list, zip(*(root(x[stratum_records]) for stratum_records in records), strict=True))
    single = int((sizes == 1).sum())
    if single:
        warnings.append(f"{single} records are alone in their stratum and get no noise")
    flat = [name for c, name in enumerate(names) if not any(r[:, c].any() for r in roots)]
    if flat:
        warnings.append(f"columns without variation get no noise: {', '.join(flat)}")
    return Prepared(tuple(names), x, records, means, roots, warnings)


def noisy(prepared: Prepared, z: np.ndarray, c: float, rescale: bool) -> np.ndarray:
    """Columns with noise, shape of ``x``, given standard normal numbers ``z`` of that shape."""
    out = prepared.x.copy()
    with one_thread():
        for records, mean, factor in zip(prepared.records, prepared.means, prepared.roots, strict=True):
            x = prepared.x[records] + np.sqrt(c) * (z[records] @ factor)
            varies = factor.any(axis=0)
            if rescale:
                x[:, varies] = mean[varies] + (x[:, varies] - mean[varies]) / np.sqrt(1 + c)
            out[records] = x
    return out


def draw(prepared: Prepared, setting: Setting, derived: bytes) -> Drawn:
    """One table."""
    data, c = setting.data, setting["c"]
    warnings = list(prepared.warnings)
    diagnostics: dict[str, float | str] = {"columns": ", ".join(prepared.names), "c": c}
    if not c:
        diagnostics["warning"] = "; ".join([*warnings, "no noise is asked for"])
        return Drawn([ReleasedTable(data)], RunStatus.NOOP, np.zeros((1, data.n_records), bool), diagnostics)
    x = noisy(prepared, table_stream(derived, 1).standard_normal(prepared.x.shape), c, setting["rescale"])
    if setting["round"]:
        integer_columns = (prepared.x == np.round(prepared.x)).all(axis=0)
        x[:, integer_columns] = np.round(x[:, integer_columns])
        names = [name for name, is_whole in zip(prepared.names, integer_columns, strict=True) if is_whole]
        warnings.append(f"rounded to whole numbers, which moves covariances: {', '.join(names) or 'no column'}")
    if setting["clip"]:
        low, high = prepared.x.min(axis=0), prepared.x.max(axis=0)
        beyond = int(((x < low) | (x > high)).sum())
        x = np.clip(x, low, high)
        warnings.append(f"{beyond} values cut to the range of the original, which moves means and covariances")
        diagnostics["cut_values"] = float(beyond)
    differs = x != prepared.x
    diagnostics["records_changed"] = float(differs.any(axis=1).sum())
    if warnings:
        diagnostics["warning"] = "; ".join(warnings)
    released = {name: np.ascontiguousarray(x[:, k]) for k, name in enumerate(prepared.names)}
    return Drawn([ReleasedTable(data, numbers=released)], RunStatus.OK, differs.any(axis=1)[None], diagnostics)


NOISE = Mechanism(
    name="noise",
    title="Additive multivariate noise",
    source="Oganian and Lesaja, Propensity score based conditional group swapping, section 4",
    when="numbers are nearly unique and could be linked; usually after a swap of attributes, which leaves them alone",
    rate="the noise that every record gets, of c times the variance of its column",
    prepare=prepare,
    draw=draw,
    parameters=(
        Parameter(
            "cols",
            "names",
            "",
            "numeric columns that get noise, joined by +; by default those the plan names",
            label="Numeric columns that get noise",
        ),
        Parameter(
            "c",
            "decimal",
            "0.15",
            "variance of the noise over the variance of the column",
            low="0",
            label="Variance of the noise, as a share of the column's",
            counts=Counts("number"),
        ),
        Parameter(
            "rescale",
            "truth",
            "yes",
            "shrink towards the mean, so that variances stay in expectation",
            label="Keep variances as they are on average",
        ),
        Parameter(
            "within",
            "names",
            "",
            "attributes in whose strata covariances are taken, joined by +; default none",
            label="Strata in which covariances are taken",
        ),
        Parameter(
            "round",
            "truth",
            "no",
            "round columns of whole numbers to whole numbers again",
            label="Round whole numbers to whole numbers again",
        ),
        Parameter(
            "clip",
            "truth",
            "no",
            "cut values to the smallest and largest of the original",
            label="Stay within the smallest and largest value",
        ),
    ),
    amounts=(("c",),),
    fit=("cols", "within"),
)


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
