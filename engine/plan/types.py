"""The plan: which columns are coded how, who knows what, what may be swapped, how often, and how a release is chosen.

Every part is a frozen value that is checked when it is made, so a plan that exists is a plan that can be run on data
with the right columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import isfinite
from typing import Any

from engine.errors import UsageError, did_you_mean
from engine.microdata import EditRule
from engine.spec import RULES, AttributeSpec, rate_text

DEFAULT_MISSING = ("", "NA", "N/A", "NaN", "null", ".")
"""Raw codes that mean missing when a plan says nothing."""
DEFAULT_RATES = ("0.01", "0.02", "0.1")
DEFAULT_REPLICATES = 20
DEFAULT_MEASURES = ("small_cells", "hellinger", "total_variation", "entropy_change")
DEFAULT_SIZES = (1, 2)
MISSING_LEVEL = "missing"
"""Label of the level that ``on_missing = "level"`` adds."""
ON_MISSING = ("refuse", "level")

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)
_MEASURE = re.compile(r"[A-Za-z_]\w*(\[[^\[\]]*\])?")


def decimal_text(value: object, what: str) -> str:
    """A decimal number as its shortest plain text: ``"0.10"`` and ``1e-1`` are both ``"0.1"``.

    ``what`` names the quantity in the error for anything that is no decimal number.
    """
    text = str(value).strip()
    if isinstance(value, bool) or not _DECIMAL.fullmatch(text):
        raise UsageError(f"{what} is {text!r}, must be a decimal number; write it as for example 0.01")
    number = Decimal(text)
    plain = format(number, "f")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    return "0" if number == 0 else plain.lstrip("+")


def _names(values: Any, what: str) -> tuple[str, ...]:
    """A tuple of non-empty, distinct texts."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UsageError(f'{what} is {values!r}, must be a list of texts such as ["a", "b"]')
    names = tuple(values)
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"{what} holds {name!r}, must hold texts; put it in quotes")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise UsageError(f"{what} names '{twice[0]}' more than once")
    return names


def _set(part: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(part, name, value)


@dataclass(frozen=True)
class AttributePlan:
    """How one attribute is coded from raw columns.

    ``columns`` move as one block; ``view`` are those whose values make the levels.  Either ``cut`` (ascending numeric
    edges, with one label more than edges) or ``merge`` (new level -> raw values) may recode a column; ``levels`` declares
    the order of value levels after ``merge``, and a value outside it is refused.  ``skip`` and ``missing`` are raw values
    of those kinds; ``on_missing`` says whether a missing value is refused or becomes the level "missing".
    """

    name: str
    columns: tuple[str, ...] = ()
    view: tuple[str, ...] = ()
    cut: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    merge: tuple[tuple[str, tuple[str, ...]], ...] = ()
    skip: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    on_missing: str = "refuse"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"an attribute's name is {self.name!r}, must be a text that is not empty")
        me = f"attribute '{self.name}'"
        columns = _names(self.columns, f"{me}: columns") or (self.name,)
        view = _names(self.view, f"{me}: view") or columns[:1]
        _set(self, columns=columns, view=view)
        for what in ("labels", "levels", "skip", "missing"):
            _set(self, **{what: _names(getattr(self, what), f"{me}: {what}")})
        for column in view:
            if column not in columns:
                raise UsageError(f"{me} views column '{column}', which is not in its columns: {', '.join(columns)}")
        if self.on_missing not in ON_MISSING:
            raise UsageError(f"{me}: on_missing is {self.on_missing!r}, must be one of {', '.join(ON_MISSING)}")
        self._check_merge(me)
        self._check_cut(me)
        added = (*self.skip, *((MISSING_LEVEL,) if self.on_missing == "level" else ()))
        for level in (*self.levels, *self.labels):
            if level in added:
                raise UsageError(
                    f"{me}: '{level}' is both a declared level and a skip or missing level; those come last by themselves"
                )

    def _check_merge(self, me: str) -> None:
        merge = tuple(self.merge.items() if isinstance(self.merge, dict) else self.merge)
        merge = tuple((level, _names(raw, f"{me}: merge of '{level}'")) for level, raw in merge)
        seen: set[str] = set()
        for level, raw in merge:
            if not raw:
                raise UsageError(f"{me}: merge makes '{level}' of nothing; list at least one raw value")
            if seen.intersection(raw):
                raise UsageError(f"{me}: merge uses the value '{sorted(seen.intersection(raw))[0]}' more than once")
            seen.update(raw)
            if self.levels and level not in self.levels and level not in self.skip:
                raise UsageError(
                    f"{me}: merge makes '{level}', which is not in levels.{did_you_mean(level, self.levels)}"
                )
        _set(self, merge=merge)

    def _check_cut(self, me: str) -> None:
        if isinstance(self.cut, str) or not isinstance(self.cut, Iterable):
            raise UsageError(f"{me}: cut is {self.cut!r}, must be a list of numbers such as [25, 55]")
        edges = []
        for edge in self.cut:
            if isinstance(edge, bool) or not isinstance(edge, int | float) or not isfinite(edge):
                raise UsageError(f"{me}: cut holds {edge!r}, must hold numbers")
            edges.append(int(edge) if float(edge).is_integer() else float(edge))
        if any(a >= b for a, b in zip(edges, edges[1:], strict=False)):
            raise UsageError(f"{me}: cut edges are {', '.join(map(str, edges))}, must be ascending")
        _set(self, cut=tuple(edges))
        if self.labels and not edges:
            raise UsageError(f"{me} has labels but no cut; labels name the cut levels, use levels or merge for others")
        if not edges:
            return
        if self.merge or self.levels:
            other = "merge" if self.merge else "levels"
            raise UsageError(f"{me} has both cut and {other}; a cut column takes labels instead")
        if len(self.view) > 1:
            raise UsageError(f"{me} cuts a view of {len(self.view)} columns; cut needs exactly one")
        if self.labels and len(self.labels) != len(edges) + 1:
            raise UsageError(
                f"{me} has {len(self.labels)} labels for {len(edges) + 1} cut levels; give one label per level"
            )

    @property
    def cut_labels(self) -> tuple[str, ...]:
        """Names of the cut levels, given or written from the edges: ``<25``, ``25-<55``, ``>=55``."""
        if self.labels or not self.cut:
            return self.labels
        edges = [str(edge) for edge in self.cut]
        middle = [f"{a}-<{b}" for a, b in zip(edges, edges[1:], strict=False)]
        return (f"<{edges[0]}", *middle, f">={edges[-1]}")


@dataclass(frozen=True)
class DataPlan:
    """What becomes of every column: coded in an attribute, carried with its record, dropped, weight or id."""

    attributes: tuple[AttributePlan, ...] = ()
    missing: tuple[str, ...] = DEFAULT_MISSING
    weight: str | None = None
    id: str | None = None
    carry: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _set(self, attributes=tuple(self.attributes))
        for what in ("missing", "carry", "drop"):
            _set(self, **{what: _names(getattr(self, what), what)})
        for what in ("weight", "id"):
            column = getattr(self, what)
            if column is not None and (not isinstance(column, str) or not column):
                raise UsageError(f"{what} is {column!r}, must be the name of one column")
        if not self.attributes:
            raise UsageError(
                "the plan codes no attribute; name some, with --attributes or as [[attribute]] in the plan"
            )
        _names([attribute.name for attribute in self.attributes], "the plan's attributes")
        claims: dict[str, str] = {}
        for column, claim in self.claims():
            if column in claims:
                raise UsageError(f"column '{column}' is claimed by {claims[column]} and by {claim}; keep one of them")
            claims[column] = claim

    def claims(self) -> list[tuple[str, str]]:
        """Columns claimed by their exact name, each with the words for who claims it (patterns are left out)."""
        found = [(column, f"attribute '{a.name}'") for a in self.attributes for column in a.columns]
        found += [(column, what) for what, column in (("weight", self.weight), ("id", self.id)) if column is not None]
        found += [(c, what) for what in ("carry", "drop") for c in getattr(self, what) if not is_pattern(c)]
        return found


def is_pattern(text: str) -> bool:
    """Whether a carry or drop entry is a pattern rather than a column's name."""
    return any(sign in text for sign in "*?[")


@dataclass(frozen=True)
class SpacePlan:
    """The release space: which specs (one of ``swap_sizes``, ``all_specs``, ``specs``) at which rates, how often.

    Without any of the three, all swaps of one and two attributes.
    """

    swap_sizes: tuple[int, ...] = ()
    all_specs: bool = False
    specs: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    change: tuple[str, ...] = ()
    rule: str = "strict"
    rates: tuple[str, ...] = DEFAULT_RATES
    replicates: int = DEFAULT_REPLICATES

    def __post_init__(self) -> None:
        for what in ("specs", "fix", "change"):
            _set(self, **{what: _names(getattr(self, what), what)})
        if isinstance(self.swap_sizes, str) or not isinstance(self.swap_sizes, Iterable):
            raise UsageError(f"swap_sizes is {self.swap_sizes!r}, must be a list of whole numbers such as [1, 2]")
        sizes = tuple(self.swap_sizes)
        for size in sizes:
            if isinstance(size, bool) or not isinstance(size, int):
                raise UsageError(f"swap_sizes holds {size!r}, must hold whole numbers such as 1 and 2")
            if size < 1:
                raise UsageError(f"swap size == {size}, must be at least 1; swapping no attribute leaves the original")
        if not isinstance(self.all_specs, bool):
            raise UsageError(f"all_specs is {self.all_specs!r}, must be true or false")
        given = [w for w, v in (("swap_sizes", sizes), ("all_specs", self.all_specs), ("specs", self.specs)) if v]
        if len(given) > 1:
            raise UsageError(f"the space is described by {' and '.join(given)}; choose one")
        if not all(spec.strip() for spec in self.specs):
            raise UsageError('a spec is empty; write it as for example "Age:S Race:F"')
        both = set(self.fix) & set(self.change)
        if both:
            raise UsageError(
                f"attribute '{sorted(both)[0]}' is in fix and in change; pairs are equal on it or differ on it"
            )
        if self.rule not in RULES:
            raise UsageError(f"rule is {self.rule!r}, must be one of {', '.join(RULES)}")
        if isinstance(self.replicates, bool) or not isinstance(self.replicates, int):
            raise UsageError(f"replicates is {self.replicates!r}, must be a whole number")
        if self.replicates < 1:
            raise UsageError(f"replicates == {self.replicates}, must be at least 1.")
        _set(self, swap_sizes=tuple(sorted(set(sizes))), rates=self._rates())

    def _rates(self) -> tuple[str, ...]:
        if isinstance(self.rates, str) or not isinstance(self.rates, Iterable):
            raise UsageError(f'rates is {self.rates!r}, must be a list such as ["0.01", "0.02"]')
        rates = tuple(dict.fromkeys(rate_text(rate) for rate in self.rates))
        if not rates:
            raise UsageError("rates is empty; give at least one, for example 0.01")
        return rates


@dataclass(frozen=True)
class DecisionPlan:
    """How one release is chosen: two measures, at most one of a bound on risk and a slope, and which realisation.

    ``realisation`` is "first" or the number of a replicate as text.  ``risk`` and ``utility`` left out mean the first
    measure of that kind.
    """

    risk: str | None = None
    utility: str | None = None
    max_risk: str | None = None
    slope: str | None = None
    realisation: str = "first"

    def __post_init__(self) -> None:
        for what in ("risk", "utility"):
            measure = getattr(self, what)
            if measure is not None and (not isinstance(measure, str) or not _MEASURE.fullmatch(measure)):
                raise UsageError(f"decision {what} is {measure!r}, must name a measure")
        for what in ("max_risk", "slope"):
            if getattr(self, what) is not None:
                text = decimal_text(getattr(self, what), what)
                if Decimal(text) < 0:
                    raise UsageError(f"{what} == {text}, must not be negative.")
                _set(self, **{what: text})
        if self.max_risk is not None and self.slope is not None:
            raise UsageError("the decision has both max_risk and slope; choose one rule")
        realisation = self.realisation
        if isinstance(realisation, int) and not isinstance(realisation, bool):
            realisation = str(realisation)
        if realisation != "first" and not (
            isinstance(realisation, str) and re.fullmatch("[1-9][0-9]{0,8}", realisation)
        ):
            raise UsageError(f"realisation is {self.realisation!r}, must be 'first' or the number of a replicate")
        _set(self, realisation=realisation)


@dataclass(frozen=True)
class Plan:
    """Everything that command line, dashboard and study agree on.

    ``keys``, ``swap`` and ``analyse`` are attribute names and default to all attributes; ``measures`` are names with
    optional parameters such as ``small_cells[n_rule=5]``.
    """

    data: DataPlan
    keys: tuple[str, ...] = ()
    swap: tuple[str, ...] = ()
    analyse: tuple[str, ...] = ()
    edits: tuple[EditRule, ...] = ()
    space: SpacePlan = field(default_factory=SpacePlan)
    measures: tuple[str, ...] = DEFAULT_MEASURES
    decision: DecisionPlan = field(default_factory=DecisionPlan)

    def __post_init__(self) -> None:
        for what in ("keys", "swap", "analyse"):
            _set(self, **{what: _names(getattr(self, what), what) or self.names})
            self._known(getattr(self, what), what)
        for what in ("fix", "change"):
            self._known(getattr(self.space, what), what)
        if self.space.specs:
            specs = (str(AttributeSpec.parse(spec, self.names)) for spec in self.space.specs)
            _set(self, space=replace(self.space, specs=tuple(dict.fromkeys(specs))))
        self._check_measures()
        self._check_edits()
        candidates = self.swap_candidates
        if not candidates and not self.space.specs:
            raise UsageError("fix and change leave no attribute to swap; take one out of them")
        sizes = self.space.swap_sizes
        if not (sizes or self.space.all_specs or self.space.specs):
            # Swapping every attribute exchanges whole records, so the default stops one short of that.
            most = min(len(candidates), max(1, len(self.names) - 1))
            sizes = tuple(size for size in DEFAULT_SIZES if size <= most)
            _set(self, space=replace(self.space, swap_sizes=sizes))
        if sizes and sizes[-1] > len(candidates):
            raise UsageError(
                f"swap size == {sizes[-1]}, must be at most {len(candidates)}, the number of attributes that may be "
                f"swapped: {', '.join(candidates)}"
            )

    @property
    def attributes(self) -> tuple[AttributePlan, ...]:
        """The attributes in their order."""
        return self.data.attributes

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes in their order."""
        return tuple(attribute.name for attribute in self.data.attributes)

    @property
    def swap_candidates(self) -> tuple[str, ...]:
        """Attributes that may be S: those in ``swap`` that are neither held equal nor made to differ."""
        return tuple(name for name in self.swap if name not in self.space.fix and name not in self.space.change)

    def _known(self, names: Iterable[str], what: str) -> None:
        for name in names:
            if name not in self.names:
                raise UsageError(f"{what} names the unknown attribute '{name}'.{did_you_mean(name, self.names)}")

    def _check_measures(self) -> None:
        measures = _names(self.measures, "measures")
        if not measures:
            raise UsageError("measures is empty; name at least one risk measure and one utility measure")
        for measure in measures:
            if not _MEASURE.fullmatch(measure):
                raise UsageError(
                    f"measure {measure!r} is no name; write for example hellinger or small_cells[n_rule=5]"
                )
        _set(self, measures=measures)
        for what in ("risk", "utility"):
            chosen = getattr(self.decision, what)
            if chosen is not None and chosen not in measures and chosen not in [m.partition("[")[0] for m in measures]:
                hint = did_you_mean(chosen, measures)
                raise UsageError(f"decision {what} is '{chosen}', which is not among the measures.{hint}")

    def _check_edits(self) -> None:
        _set(self, edits=tuple(self.edits))
        _names([rule.name for rule in self.edits], "the edit rules")
        for rule in self.edits:
            if not rule.name:
                raise UsageError("an edit rule has an empty name; name what it forbids")
            if not rule.forbid or not all(levels for _, levels in rule.forbid):
                raise UsageError(f"edit rule '{rule.name}' forbids nothing; list levels for at least one attribute")
            self._known((name for name, _ in rule.forbid), f"edit rule '{rule.name}'")
