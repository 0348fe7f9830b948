"""What a measure is, and how its name is written.

A measure is one :class:`Measure` in a literal dict (``engine.measures.MEASURES``): a function over a batch of candidate
releases, with the words that explain it.  Figures that cannot be formed are NaN with a reason, never zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError, did_you_mean
from engine.data.domain import Domain
from engine.release.batch import ReleaseBatch

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease

Parameter = int | str


@dataclass(frozen=True)
class Measure:
    """One risk or utility measure.

    ``kind`` is risk or utility.  ``better`` says which direction is good: "lower", "higher", or "zero" for signed
    changes. ``over`` is the plan's list that it tabulates unless told otherwise: keys, analyse or all attributes.
    ``parameters`` maps each parameter to its default; ``undefined`` says when a figure is NaN.

    A measure that ``needs`` counts is ``compute(batch, **parameters)``, one figure per candidate of a
    :class:`~engine.release.batch.ReleaseBatch` over its attributes.  One that needs records is
    ``compute(release, attributes, **parameters)`` on one :class:`~engine.models.record_release.RecordRelease` and the
    places of its attributes; it returns a :class:`Figure`.  ``cost`` says in words what one candidate takes.

    A ``named`` measure on counts also needs levels or an attribute beyond those it tabulates: it is
    ``compute(batch, domain, attributes, **parameters)`` on the whole batch.
    """

    name: str
    symbol: str
    title: str
    kind: str
    better: str
    range: str
    unit: str
    source: str
    meaning: str
    over: str
    compute: Callable[..., Any]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    check: Callable[..., None] | None = None
    undefined: str = "it could not be formed"
    needs: str = "counts"
    cost: str = "microseconds"
    named: bool = False

    def loss(self, values: np.ndarray) -> np.ndarray:
        """The figures turned so that smaller is better: the one place where directions are handled."""
        if self.better == "lower":
            return values
        return -values if self.better == "higher" else np.abs(values)


class Figure(NamedTuple):
    """A figure and, where there is something to say, a note: the worst-hit analysis or subgroup, or why it is NaN."""

    value: float
    note: str = ""


@dataclass(frozen=True)
class MeasureCall:
    """A measure with its parameters and the attributes it tabulates (None: the plan's list for it)."""

    measure: Measure
    parameters: tuple[tuple[str, Parameter], ...] = ()
    attributes: tuple[str, ...] | None = None

    def __str__(self) -> str:
        shown = [f"{key}={value}" for key, value in self.parameters if value != self.measure.parameters[key]]
        if self.attributes is not None:
            shown.append("attributes=" + "+".join(self.attributes))
        return self.measure.name + (f"[{';'.join(shown)}]" if shown else "")

    @property
    def values(self) -> dict[str, Parameter]:
        """All parameters with their values."""
        return {**self.measure.parameters, **dict(self.parameters)}


_MOST_DIGITS = 9


def parse_call(text: str, measures: Mapping[str, Measure]) -> MeasureCall:
    """Read ``name`` or ``name[parameter=value;...]``, such as ``small_cells[n_rule=5;attributes=Age+Sex]``."""
    match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*(?:\[(.*)\])?\s*", text, re.DOTALL)
    if not match:
        raise UsageError(
            f"cannot read the measure '{text}'; write NAME or NAME[PARAMETER=VALUE], such as small_cells[n_rule=5]."
        )
    name, inside = match.group(1), match.group(2)
    if name not in measures:
        raise UsageError(f"unknown measure '{name}'.{did_you_mean(name, measures)}")
    measure = measures[name]
    given: dict[str, Parameter] = {}
    attributes: tuple[str, ...] | None = None
    for part in filter(None, re.split(r"[;,](?![^\[\]]*\])", inside or "")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise UsageError(f"cannot read '{part}' in the measure '{text}'; write PARAMETER=VALUE.")
        if key == "attributes":
            attributes = tuple(piece.strip() for piece in value.split("+"))
        elif key not in measure.parameters:
            raise UsageError(
                f"measure '{name}' has no parameter '{key}'.{did_you_mean(key, [*measure.parameters, 'attributes'])}"
            )
        elif isinstance(measure.parameters[key], int):
            try:
                given[key] = int(value if len(value) <= _MOST_DIGITS else "")
            except ValueError:
                most = f" of at most {_MOST_DIGITS} digits" if len(value) > _MOST_DIGITS else ""
                raise UsageError(f"{name}: {key} == '{value[:60]}', must be a whole number{most}.") from None
        else:
            given[key] = value
    call = MeasureCall(measure, tuple((key, given[key]) for key in measure.parameters if key in given), attributes)
    if measure.check:
        measure.check(**call.values)
    return call


def places_of(call: MeasureCall, domain: Domain, lists: Mapping[str, tuple[str, ...]]) -> tuple[int, ...]:
    """Places of the attributes that a measure tabulates: those asked for, else the plan's list for it."""
    names = call.attributes or (domain.names if call.measure.over == "all" else lists[call.measure.over])
    if len(set(names)) < len(names):
        raise UsageError(f"{call}: an attribute is named twice")
    return tuple(sorted(domain.indices(names)))


def evaluate(
    call: MeasureCall, batch: ReleaseBatch, domain: Domain, lists: Mapping[str, tuple[str, ...]]
) -> np.ndarray:
    """One figure per candidate of the batch, shape ``(len(batch),)``; NaN where it is undefined.

    ``lists`` gives the plan's keys and analyse lists.
    """
    places = places_of(call, domain, lists)
    if call.measure.named:
        return np.asarray(call.measure.compute(batch, domain, places, **call.values), dtype=float)
    return np.asarray(call.measure.compute(batch.project(places), **call.values), dtype=float)


def evaluate_records(call: MeasureCall, release: RecordRelease) -> Figure:
    """One figure of a measure that needs records, with its note.

    A measure that cannot be formed on this release gives NaN and the reason; it never stops a sweep.
    """
    places = places_of(call, release.data.domain, {"keys": release.plan.keys, "analyse": release.plan.analyse})
    try:
        value, note = call.measure.compute(release, places, **call.values)
    except UsageError:
        raise
    except (EngineError, ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
        return Figure(float("nan"), f"{call}: {error or type(error).__name__}")
    return Figure(float(value), note if value == value or note else call.measure.undefined)


def original_batch(
    counts: np.ndarray, cells: np.ndarray, shape: tuple[int, ...], failing: np.ndarray | None = None
) -> ReleaseBatch:
    """The unaltered data as a batch of one release in which nothing has changed."""
    none = np.zeros(0, np.int64)
    return ReleaseBatch(
        original=counts,
        n_records=int(counts.sum()),
        ends=np.zeros(1, np.int64),
        before=none,
        after=none,
        kept=none,
        changed=np.zeros(1, np.int64),
        swaps=np.zeros((1, len(shape)), bool),
        cell=none,
        index_words=cells.astype(np.int64),
        layout=[(j, 0, -1) for j in range(len(shape))],
        shape=shape,
        failing=failing,
    )
