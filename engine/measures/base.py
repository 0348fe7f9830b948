"""Definition of a measure, and the grammar of its name.

A measure is one :class:`Measure` among ``engine.measures.MEASURES``: a function over a batch of candidate releases,
with the words that explain it and the fields that the program asks.  Figures that cannot be formed are NaN with a
reason, never zero.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from functools import cached_property
from math import inf
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
from msgspec import Meta

from engine.common.errors import EngineError, UsageError, did_you_mean, near_words, nearest
from engine.common.registry import (
    FunctionFailed,
    Registry,
    belongs_to_package,
    call_registered,
    check_fields,
    described,
)
from engine.common.wording import quoted
from engine.data.domain import Domain
from engine.release.batch import Cells, ReleaseBatch, SummedBatch, TouchedCells, release_batch

if TYPE_CHECKING:
    from engine.models.record_release import RecordRelease

Parameter = int | str
Natural = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Several = Annotated[int, Meta(ge=2)]
Summary = Literal["mean", "max"]
ZeroOne = Literal[0, 1]
Kind = Literal["risk", "utility"]
Direction = Literal["lower", "higher", "zero"]
Tabulates = Literal["keys", "analyse", "all"]
Needs = Literal["counts", "records"]
DependsOn = Literal["", "table", "unaltered", "records"]
UnitKind = Literal["count", "share_of_records", "share", "other"]

_CHOICES = {
    "kind": Kind,
    "better": Direction,
    "over": Tabulates,
    "needs": Needs,
    "depends_on": DependsOn,
    "unit_kind": UnitKind,
}


@dataclass(frozen=True)
class Measure:
    """One risk or utility measure.

    ``kind`` is risk or utility.  ``better`` says which direction is good: "lower", "higher", or "zero" for signed
    changes. ``over`` is the plan's list that it tabulates unless told otherwise: keys (of risk, unless it says
    otherwise), analyse (of utility) or all attributes.
    ``parameters`` maps each parameter to its default; ``undefined`` says when a figure is NaN.

    A measure that ``needs`` counts is ``compute(batch, **parameters)``, one figure per candidate of a
    :class:`~engine.release.batch.ReleaseBatch` over its attributes.  One that needs records is
    ``compute(release, attributes, **parameters)`` on one :class:`~engine.models.record_release.RecordRelease` and the
    positions of its attributes; it returns a :class:`Figure`.  ``cost`` says in words what one candidate takes;
    ``quick`` marks one on records that takes about a microsecond a record, so that a sweep's time is foretold unasked.

    A ``named`` measure on counts also needs levels or an attribute beyond those it tabulates: it is
    ``compute(batch, domain, attributes, **parameters)`` on the whole batch.

    ``depends_on`` says what of a release decides the figure: its "table" alone; beside that which records are
    "unaltered" on the attributes that it tabulates; or the "records", each with what it was.  Unless it says so this is
    the table for utility, and for risk what the measure needs: unaltered ones with counts, or records.

    ``unit_kind`` says how a figure is written; a share from 0 to 1 names what it is a share of as ``share_of``.
    ``of_unaltered`` marks a share of the unaltered records, which reports show as a count.  ``two_way`` marks a mean
    over the two-way tables of its attributes.
    ``judges_jointly`` names the measures that judge one table at a time where this one judges all tables of a release.

    ``revised`` names what earlier versions computed under the same name, where that is something else: figures that
    they stored differ from those of a release that is made again.

    ``least`` and ``most`` are the limits of a figure; ``range`` says in words what the two numbers do not.
    """

    name: str
    symbol: str
    title: str
    kind: Kind
    unit: str
    source: str
    meaning: str
    compute: Callable[..., Any]
    better: Direction = "lower"
    over: Tabulates | Literal[""] = ""
    range: str = ""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    check: Callable[..., None] | None = None
    undefined: str = "it could not be formed"
    needs: Needs = "counts"
    depends_on: DependsOn = ""
    cost: str = "microseconds"
    quick: bool = False
    named: bool = False
    unit_kind: UnitKind = "other"
    share_of: str = ""
    of_unaltered: bool = False
    two_way: bool = False
    judges_jointly: tuple[str, ...] = ()
    revised: str = ""
    least: float = -inf
    most: float = inf

    def __post_init__(self) -> None:
        check_fields(self, "measure")
        if isinstance(self.over, str) and not self.over:
            object.__setattr__(self, "over", "keys" if self.kind == "risk" else "analyse")
        if not self.range:
            ends = "upwards" if self.most == inf else f"to {self.most:g}"
            object.__setattr__(self, "range", "any number" if self.least == -inf else f"{self.least:g} {ends}")
        for name, choice in _CHOICES.items():
            value, allowed = getattr(self, name), get_args(choice)
            if not isinstance(value, str) or value not in allowed:
                raise UsageError(
                    f"measure '{self.name}': {name} == {quoted(value)}, must be {', '.join(allowed[:-1])} or "
                    f"{allowed[-1]}.{near_words(nearest(value if isinstance(value, str) else '', allowed))}"
                )
        if not self.depends_on:
            of_risk: DependsOn = "records" if self.needs == "records" else "unaltered"
            object.__setattr__(self, "depends_on", of_risk if self.kind == "risk" else "table")
        for name, default in self.parameters.items():
            if isinstance(default, bool) or not isinstance(default, int | str):
                raise UsageError(
                    f"measure '{self.name}': parameter {name} has the default {quoted(default)}, must be a whole "
                    "number or a text."
                )

    @classmethod
    def of(cls, compute: Callable[..., Any], kind: Kind, better: Direction = "lower", **fields: Any) -> Measure:
        """The measure that a function computes.

        Its name is the function's, its meaning the first paragraph of the docstring, its parameters those with a
        default; ``fields`` say more or otherwise.  What is a ``share_of`` something lies between 0 and 1, and a count
        is not negative.
        """
        if not callable(compute):
            raise UsageError(f"Measure.of needs a function first, got an object of type {type(compute).__name__}.")
        if unknown := fields.keys() - {field.name for field in dataclass_fields(cls)}:
            names = [field.name for field in dataclass_fields(cls)]
            raise UsageError(f"a measure has no field '{min(unknown)}'.{did_you_mean(min(unknown), names)}")
        name = str(fields.pop("name", getattr(compute, "__name__", type(compute).__name__)))
        try:
            signature = inspect.signature(compute)
        except ValueError:  # of some functions that are not written in Python
            raise UsageError(f"measure '{name}': the parameters of its function cannot be read.") from None
        meaning = " ".join((inspect.getdoc(compute) or "").split("\n\n")[0].split())
        implied: dict[str, Any] = {}
        if fields.get("unit_kind") == "count":
            implied = {"least": 0.0, "range": f"0 to the number of {fields.get('unit')}"}
        if whole := str(fields.get("share_of", "")):
            kind_of_share = "share_of_records" if whole.split()[-1] == "records" else "share"
            implied = {"least": 0.0, "most": 1.0, "unit": f"share of {whole}", "unit_kind": kind_of_share}
        about: dict[str, Any] = {
            "symbol": name,
            "title": name.replace("_", " ").capitalize(),
            "unit": "number",
            "source": "registered by the analyst",
            "meaning": meaning,
            "parameters": {
                key: parameter.default
                for key, parameter in signature.parameters.items()
                if parameter.default is not parameter.empty
            },
            **implied,
            **fields,
        }
        if not about["meaning"]:
            raise UsageError(f"measure '{name}' has no meaning; give its function a docstring, which reports show.")
        return cls(name=name, kind=kind, better=better, compute=compute, **about)

    def check_values(self, values: Mapping[str, Parameter]) -> None:
        """Refuse values of parameters that the annotations of the function do not allow, or its own ``check``."""
        for key, value in values.items():
            hint = self._hints.get(key)
            allowed: tuple[Any, ...] = get_args(hint) if get_origin(hint) is Literal else (value,)
            if value not in allowed:
                words = ", ".join(map(str, allowed[:-1]))
                hint_words = did_you_mean(str(value), list(map(str, allowed)))
                raise UsageError(
                    f"{self.name}: {key} == {quoted(value)}, must be {words} or {allowed[-1]}.{hint_words}"
                )
            for bound in getattr(hint, "__metadata__", ()):
                if isinstance(bound, Meta) and bound.ge is not None and int(value) < bound.ge:
                    raise UsageError(f"{self.name}: {key} == {value}, must be at least {bound.ge}.")
        if self.check:
            self.check(**values)

    @cached_property
    def _hints(self) -> dict[str, Any]:
        try:
            return get_type_hints(self.compute, include_extras=True)
        except Exception:  # of a script's function whatever stands there
            return {}

    @property
    def on_records(self) -> bool:
        """Return whether it needs the records themselves, not only the counts of a table."""
        return self.needs == "records"

    def differs_between_complements(self, of_all: bool) -> bool:
        """True where it may tell the exchange of some attributes from the exchange of all others that must differ, of
        which the released records are the same; ``of_all`` where it tabulates all attributes: then both alter the same
        records."""
        return self.depends_on == "records" or (self.depends_on == "unaltered" and not of_all)

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

    @property
    def meaning(self) -> str:
        """The measure's meaning with the numbers that its parameters have, in place of their names."""
        meaning = self.measure.meaning
        for name, value in self.values.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                meaning = re.sub(rf"(?<!at )(?<![\w'])\b{name}\b", f"{value:g}", meaning)
        return meaning


_MOST_DIGITS = 9


def parse_call(text: str, measures: Registry[Measure]) -> MeasureCall:
    """Read ``name`` or ``name[parameter=value;...]``, such as ``small_cells[n_rule=5;attributes=Age+Sex]``."""
    match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*(?:\[(.*)\])?\s*", text, re.DOTALL)
    if not match:
        raise UsageError(
            f"cannot read the measure {quoted(text)}; write NAME or NAME[PARAMETER=VALUE], such as "
            "small_cells[n_rule=5]."
        )
    name, inside = match.group(1), match.group(2)
    measure = measures.find(name)
    parameters: dict[str, Parameter] = {}
    attributes: tuple[str, ...] | None = None
    for part in filter(None, re.split(r"[;,](?![^\[\]]*\])", inside or "")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value:
            raise UsageError(f"cannot read {quoted(part)} in the measure {quoted(text)}; write PARAMETER=VALUE.")
        if key == "attributes":
            attributes = tuple(piece.strip() for piece in value.split("+"))
        elif key not in measure.parameters:
            raise UsageError(
                f"measure '{name}' has no parameter {quoted(key)}."
                f"{did_you_mean(key, [*measure.parameters, 'attributes'])}"
            )
        elif isinstance(measure.parameters[key], int):
            try:
                parameters[key] = int(value if len(value) <= _MOST_DIGITS else "")
            except ValueError:
                most = f" of at most {_MOST_DIGITS} digits" if len(value) > _MOST_DIGITS else ""
                raise UsageError(f"{name}: {key} == '{value[:60]}', must be a whole number{most}.") from None
        else:
            parameters[key] = value
    call = MeasureCall(
        measure, tuple((key, parameters[key]) for key in measure.parameters if key in parameters), attributes
    )
    measure.check_values(call.values)
    return call


def attribute_indices(call: MeasureCall, domain: Domain, lists: Mapping[str, tuple[str, ...]]) -> tuple[int, ...]:
    """Positions of the attributes that a measure tabulates: those of the call, else the plan's list for it."""
    names = call.attributes or (domain.names if call.measure.over == "all" else lists[call.measure.over])
    if len(set(names)) < len(names):
        raise UsageError(f"{call}: an attribute is named twice")
    return tuple(sorted(domain.indices(names)))


def evaluate(
    call: MeasureCall, batch: ReleaseBatch | SummedBatch, domain: Domain, lists: Mapping[str, tuple[str, ...]]
) -> np.ndarray:
    """One figure per candidate of the batch, shape ``(len(batch),)``; NaN where it is undefined.

    ``lists`` gives the plan's keys and analyse lists.
    """
    attributes = attribute_indices(call, domain, lists)
    if isinstance(batch, ReleaseBatch) and not call.measure.named:
        batch = batch.project(attributes)
    return evaluate_counts(call, batch, domain, attributes)


def evaluate_counts(
    call: MeasureCall, batch: ReleaseBatch | SummedBatch, domain: Domain, attributes: tuple[int, ...]
) -> np.ndarray:
    """One figure per candidate of a batch over these ``attributes``, of a ``named`` measure over all of them.

    Refuses (:class:`EngineError`) what is no finite number or NaN for each candidate.
    """
    owner, compute = f"measure '{call}'", call.measure.compute
    if call.measure.named:
        returned = call_registered(owner, compute, batch, domain, attributes, parameters=call.values)
    else:
        returned = call_registered(owner, compute, batch, parameters=call.values)
    try:
        figures = np.asarray(returned)
    except ValueError:  # lists of unlike lengths
        figures = np.array(None)
    wanted = f"must return one figure for each of {len(batch)} candidates, NaN where it is undefined"
    if figures.shape != (len(batch),) or figures.dtype.kind not in "biuf":
        raise EngineError(f"{owner} returned {described(returned)}, {wanted}.")
    if np.isinf(figures).any() and not belongs_to_package(compute):
        raise EngineError(f"{owner} returned infinity for a candidate, {wanted}.")
    return figures.astype(float)


def evaluate_records(call: MeasureCall, release: RecordRelease) -> Figure:
    """One figure of a measure that needs records, with its note.

    A measure that cannot be formed on this release gives NaN and the reason; it never stops a sweep.  Refuses
    (:class:`EngineError`) what is no :class:`Figure`, and an error in the function of a registered measure.
    """
    lists = {"keys": release.plan.keys, "analyse": release.plan.analyse}
    attributes = attribute_indices(call, release.data.domain, lists)
    owner, compute = f"measure '{call}'", call.measure.compute
    undefined = (ArithmeticError, ValueError, np.linalg.LinAlgError)
    try:
        returned = call_registered(owner, compute, release, attributes, parameters=call.values, passing=undefined)
    except (UsageError, FunctionFailed):
        raise
    except (EngineError, *undefined) as error:
        return Figure(float("nan"), f"{call}: {error or type(error).__name__}")
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise EngineError(f"{owner} returned {described(returned)}, must return a Figure such as Figure(0.5).")
    value, note = returned
    if not isinstance(value, Real) or not isinstance(note, str):
        raise EngineError(
            f"{owner} returned {described(value)} with {described(note)}, must return a Figure of a number and a text."
        )
    if np.isinf(float(value)) and not belongs_to_package(compute):
        raise EngineError(f"{owner} returned infinity; return Figure(float('nan'), REASON) where it is undefined.")
    return Figure(float(value), note if value == value or note else call.measure.undefined)


def original_batch(
    counts: np.ndarray, cells: np.ndarray, shape: tuple[int, ...], failing: np.ndarray | None = None
) -> ReleaseBatch:
    """The unaltered data as a batch of one release in which nothing has changed."""
    return release_batch(
        Cells.listed(cells, counts, shape, failing),
        TouchedCells.none(),
        np.zeros(1, np.int64),
        np.zeros((1, len(shape)), bool),
    )
