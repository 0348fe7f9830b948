"""The Disclosure Analysis Plan as a document that a board can approve, written from a plan alone or with its data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import comb, prod
from pathlib import Path
from typing import TYPE_CHECKING

from engine.common.errors import Remedy, UsageError
from engine.common.os_support import write_private, writing
from engine.common.wording import listed
from engine.decision.bounds import in_words, title_of
from engine.measures import call
from engine.measures.planned import comparable_calls, deciding_column, releases_several_tables
from engine.mechanisms import mechanism
from engine.models.record_release import numeric_columns
from engine.plan.differences import departures
from engine.release.records import ReleasedTable
from engine.release.spec import RANDOM_SWAP, percent
from engine.report import parameters as words
from engine.report.decision_pages import BANNER
from engine.report.describe import occupancy
from engine.report.documents import docx, html, pdf
from engine.report.facts import Publish
from engine.report.losses import model_rows
from engine.report.public_wording import methods_paragraph
from engine.report.redaction import Redactor
from engine.sweeps.adaptive import most_runs
from engine.sweeps.candidates import n_complete, per_spec, scenarios_of, space_or_count
from engine.sweeps.warnings import release_warnings, torn_units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.data.microdata import Microdata
    from engine.measures import MeasureCall
    from engine.measures.base import Kind
    from engine.plan import AttributePlan, MechanismPlan, Plan
    from engine.release.parameter import Parameter
    from engine.release.space import Space
    from engine.release.spec import ReleaseSpec
    from engine.sweeps.candidates import Counted

FORMATS: dict[str, Callable[[str], bytes]] = {".docx": docx, ".html": str.encode, ".pdf": pdf}
"""The writers of a page, by the ending of the file; equal pages give equal bytes."""
_NO_DATA = "not counted: no data were named when this document was written"


# -- counts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlanCounts:
    """A plan on data: the ``space`` of the random swap or its count, ``complete`` the number of distinct swaps where
    it is searched, ``swaps`` its scenarios (of a search the most that it looks at), and how many every other mechanism
    has."""

    data: Microdata
    space: Space | Counted | None
    complete: int | None
    swaps: int
    others: tuple[tuple[str, int], ...]

    @property
    def candidates(self) -> int:
        """All scenarios, of a search the most that it looks at."""
        return self.swaps + sum(n for _, n in self.others)


def count_plan(
    plan: Plan, data: Microdata, known: tuple[Space | Counted | None, Sequence[ReleaseSpec]] | None = None
) -> PlanCounts:
    """Count a plan's candidates on coded data; refuses what a sweep of them would refuse.

    ``known`` are the space and the scenarios of other mechanisms, where they were made already.
    """
    space, others = known or (space_or_count(plan, data), scenarios_of(plan, data, listed=False)[0])
    complete = n_complete(plan, data) if plan.swaps_at_random and plan.space.search else None
    swaps = space.distinct * per_spec(plan) if space else 0
    if complete is not None:
        swaps = min(complete * per_spec(plan), plan.space.budget)
    return PlanCounts(data, space, complete, swaps, tuple(Counter(spec.mechanism for spec in others).items()))


def at_most(plan: Plan) -> int | None:
    """The most candidates that a plan can have, from the plan alone; None where that needs the data."""
    space, n = plan.space, 0
    if plan.swaps_at_random:
        if space.search:
            n = space.budget
        elif space.all_specs:
            return None
        else:
            n = len(space.specs) or sum(comb(len(plan.swap_candidates), size) for size in space.swap_sizes)
            n *= per_spec(plan)
    return n + sum(prod(len(values) for _, values in m.grid) for m in plan.mechanisms if not m.by_roles)


# -- the document ----------------------------------------------------------------------------------------------------


def plan_document(plan: Plan, counts: PlanCounts | None = None) -> str:
    """The page; ``counts`` are those of the data.

    A damaged lock is an :class:`EngineError`, an unknown measure or mechanism a :class:`UsageError`.
    """
    calls, names, space = comparable_calls(plan), words.mechanisms_of(plan), plan.space
    redact, data = Redactor({}, calls), counts.data if counts else None
    risk = _judged("risk", plan.decision.risk, plan, calls)
    utility = _judged("utility", plan.decision.utility, plan, calls)
    total = counts.candidates if counts else at_most(plan)
    candidates = f"as many as the space has ({_NO_DATA})" if total is None else f"{total:,}"
    if total is not None and (counts is None or counts.complete is not None):
        candidates = f"at most {candidates}"
    whole_units = {mechanism(name).whole_units for name in names}
    return html(
        "plan.html",
        plan=plan,
        counts=counts,
        data=data,
        words=words,
        in_words=in_words,
        redact=redact,
        title_of=title_of,
        occupancy=occupancy,
        mechanism=mechanism,
        RANDOM_SWAP=RANDOM_SWAP,
        NO_DATA=_NO_DATA,
        BANNER=BANNER,
        about={name: redact(value) for name, value in vars(plan.about).items()},
        departures=departures(plan).values(),
        numeric=plan.data.numeric if data is None else numeric_columns(plan, data),
        attributes=[_attribute(part, data, j) for j, part in enumerate(plan.attributes)],
        units_of_exchange=["the record"] * (False in whole_units) + ["the household"] * (True in whole_units),
        warnings=[*torn_units(data, plan), *release_warnings(data, plan)] if data else (),
        models=model_rows(ReleasedTable(data), plan) if data else (),
        methods=[
            (mechanism(declared.name), _tried(declared, redact))
            for declared in plan.mechanisms
            if not declared.by_roles or declared.grid  # the random swap as published stands among the candidates
        ],
        rates=listed(map(percent, space.rates)),
        swapped=_names(plan.swap_candidates, plan),
        free=_names([name for name in plan.names if name not in (*space.fix, *space.change)], plan),
        most=most_runs(plan),
        total=total,
        candidates=candidates,
        calls=calls,
        risk=risk,
        utility=utility,
        several_tables=releases_several_tables(plan),
        wordings=_wordings(plan, redact),
        many_tables=any(mechanism(name).many_tables for name in names),
    )


def _judged(kind: Kind, named: str | None, plan: Plan, calls: tuple[MeasureCall, ...]) -> MeasureCall | None:
    """The measure of a kind that candidates are judged by: the plan's, else the one that decides by default."""
    if named is None:
        column = deciding_column(plan, calls, kind)
        return None if column is None else calls[column]
    for measure_call in calls:
        if measure_call.measure.kind == kind and (
            named == measure_call.measure.name or str(call(named)) == str(measure_call)
        ):
            return measure_call
    raise UsageError(f"decision {kind} is '{named}', which is not a measure of {kind}; name one of them")


def _attribute(part: AttributePlan, data: Microdata | None, j: int) -> tuple[AttributePlan, str, int, str]:
    """An attribute, the variable label of the column that makes its levels where the file has one, how many levels it
    has (0 where that is not known), and how it is coded."""
    if data is None:
        declared = len(part.cut_labels) or len(part.levels)
        size = declared + len(part.skip) + (part.on_missing == "level") if declared else 0
        return part, "", size, words.coding_words(part, part.levels)
    levels, label = list(data.domain.attributes[j].levels), ""
    if len(part.view) == 1:
        about = data.raw.columns[part.view[0]].about
        label = about.label if about.label != part.name else ""
        levels = [
            f"{level} ({about.label_or_value(level)})" if about.label_or_value(level) != level else level
            for level in levels
        ]
    return part, label, data.domain.shape[j], words.coding_words(part, levels)


def _tried(declared: MechanismPlan, redact: Redactor) -> list[tuple[Parameter, str]]:
    """The parameters of a method with what is tried of them, or the default."""
    method, grid, rows = mechanism(declared.name), dict(declared.grid), []
    for name in grid:
        method.parameter(name)  # refuses an unknown one
    for parameter in method.parameters:
        tried, default = grid.get(parameter.name), parameter.default
        texts = tried or (() if default is None else (default,))
        words = "; ".join(redact(parameter.canonical(t)).replace("+", ", ") or "none named" for t in texts)
        if tried is None and parameter.kind == "text" and not default:
            words = "none"
        rows.append((parameter, words if tried else f"{words} (default)"))
    return rows


def _names(names: Sequence[str], plan: Plan) -> str:
    return "all attributes" if tuple(names) == plan.names else listed(names)


def _wordings(plan: Plan, redact: Redactor) -> list[tuple[bool, str]]:
    publish, swaps = plan.publish, {mechanism(name).by_roles for name in words.mechanisms_of(plan)}
    extent = publish.rate_range if publish.rate_policy == "range" else ""
    said = Publish(redact(publish.title), redact(publish.wording), extent, publish.include)
    return [
        (swap, methods_paragraph(said, swap=swap, n_tables=1, new_ids=said.has_new_ids))
        for swap in sorted(swaps, reverse=True)
    ]


def write_plan_document(page: str, path: Path) -> None:
    """Write a page in the format that the file's name ends in.

    It appears whole or not at all; an existing file and another ending are refused.
    """
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"'{path.name}' must end in {' or '.join(FORMATS)}")
    if path.exists():
        raise UsageError(f"'{path.name}' exists already; name another file", Remedy.OUTPUT)
    with writing(path):
        write_private(path, FORMATS[path.suffix.lower()](page))
