"""The Disclosure Analysis Plan as a document that a board can approve, written from a plan alone or with its data."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine.common.errors import Remedy, UsageError
from engine.common.os_support import write_private, writing
from engine.common.wording import listed, upper_first
from engine.measures import call
from engine.measures.planned import comparable_calls, deciding_column, releases_several_tables
from engine.mechanisms import mechanism
from engine.models.record_release import numeric_columns
from engine.plan.differences import departures
from engine.release.records import ReleasedTable
from engine.release.spec import RANDOM_SWAP, percent
from engine.report import parameters as in_words
from engine.report.decision_pages import BANNER
from engine.report.describe import occupancy
from engine.report.documents import docx, html, pdf
from engine.report.losses import model_rows
from engine.report.plan_counts import NO_DATA, at_most, candidates_words
from engine.report.public_wording import methods_paragraph
from engine.report.redaction import Redactor, meaning_of, title_of
from engine.sweeps.adaptive import most_runs
from engine.sweeps.warnings import release_warnings, torn_units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.data.microdata import Microdata
    from engine.measures import MeasureCall
    from engine.measures.base import Kind
    from engine.plan import AttributePlan, MechanismPlan, Plan
    from engine.release.parameter import Parameter
    from engine.report.plan_counts import PlanCounts

FORMATS: dict[str, Callable[[str], bytes]] = {".docx": docx, ".html": str.encode, ".pdf": pdf}
"""The writers of a page, by the ending of the file."""


def plan_document(plan: Plan, counts: PlanCounts | None = None) -> str:
    """The page; ``counts`` are those of the data.

    A damaged lock is an :class:`EngineError`, an unknown measure or mechanism a :class:`UsageError`.
    """
    calls = comparable_calls(plan)
    redact = Redactor({}, calls)
    names = {
        "has_data": counts is not None,
        "NO_DATA": NO_DATA,
        **_about(plan, redact),
        **_data(plan, counts.data if counts else None),
        **_candidates(plan, counts),
        **_rule(plan, calls, candidates_words(plan, counts)),
        **_public(plan, redact),
        "methods": [
            _method(declared, redact)
            for declared in plan.mechanisms
            if not declared.by_roles or declared.grid  # the random swap as published stands among the candidates
        ],
    }
    return html("plan.html", **names)


def judged(plan: Plan, calls: tuple[MeasureCall, ...]) -> tuple[MeasureCall | None, MeasureCall | None]:
    """The measures of risk and of utility that candidates are judged by: the plan's, else those that decide by
    default."""
    decision = plan.decision
    return _judged("risk", decision.risk, plan, calls), _judged("utility", decision.utility, plan, calls)


def _judged(kind: Kind, named: str | None, plan: Plan, calls: tuple[MeasureCall, ...]) -> MeasureCall | None:
    if named is None:
        column = deciding_column(plan, calls, kind)
        return None if column is None else calls[column]
    for measure_call in calls:
        if measure_call.measure.kind == kind and (
            named == measure_call.measure.name or str(call(named)) == str(measure_call)
        ):
            return measure_call
    raise UsageError(f"decision {kind} is '{named}', which is not a measure of {kind}; name one of them")


def _about(plan: Plan, redact: Redactor) -> dict[str, Any]:
    """Who asks for what, the approval, and the texts of the plan."""
    about, lock = plan.about, plan.lock
    texts = {name: redact(value) for name, value in vars(about).items() if name != "release_type"}
    return {
        "about": SimpleNamespace(**texts, release_type=about.release_type),
        "banner": about.classification or BANNER,
        "title": redact(plan.publish.title),
        "lock": lock and SimpleNamespace(number=lock.number, by=lock.by, at=lock.at, digest=lock.digest),
        "departures": tuple(upper_first(redact(each.sentence)) for each in departures(plan).values()),
        "intruder": redact(plan.threat.intruder),
        "harm": redact(plan.threat.harm),
        "published_tables": plan.threat.published_tables,
        "public_files": redact.all(in_words.file_names(plan)),
    }


def _data(plan: Plan, data: Microdata | None) -> dict[str, Any]:
    """Columns, attributes, keys and what users do, with counts where there are data."""
    names = ("keys", "swap_candidates", "analyse", "analyses", "tables", "tolerances", "edits", "swaps_at_random")
    return {
        **{name: getattr(plan, name) for name in names},
        "columns": plan.data,
        "fixed": plan.space.fix,
        "different": plan.space.change,
        "included": plan.publish.include,
        "missing_codes": in_words.missing_words(plan),
        "numeric": plan.data.numeric if data is None else numeric_columns(plan, data),
        "attributes": [_attribute(part, data, j) for j, part in enumerate(plan.attributes)],
        "n_records": data.n_records if data else 0,
        "units_of_exchange": _units_of_exchange(plan),
        "n_units": len(data.units) if data and data.units else 0,
        "n_carried": len(data.carried) if data else 0,
        "n_dropped": len(data.dropped) if data else 0,
        "table": data and occupancy(data.table, data.domain.names),
        "keys_table": data and occupancy(data.table, plan.keys),
        "warnings": [*torn_units(data, plan), *release_warnings(data, plan)] if data else (),
        "models": model_rows(ReleasedTable(data), plan) if data else (),
    }


def _units_of_exchange(plan: Plan) -> list[str]:
    """What changes places, whole, in the plan's mechanisms."""
    whole = {mechanism(name).whole_units for name in in_words.mechanisms_of(plan)}
    return [words for is_whole, words in ((False, "the record"), (True, "the household")) if is_whole in whole]


def _attribute(part: AttributePlan, data: Microdata | None, j: int) -> tuple[AttributePlan, str, int, str]:
    """An attribute, the variable label of the column that makes its levels where the file has one, how many levels it
    has (0 where that is not known), and how it is coded."""
    if data is None:
        declared = len(part.cut_labels) or len(part.levels)
        size = declared + len(part.skip) + (part.on_missing == "level") if declared else 0
        return part, "", size, in_words.coding_words(part, part.levels)
    levels, label = list(data.domain.attributes[j].levels), ""
    if len(part.view) == 1:
        about = data.raw.columns[part.view[0]].about
        label = about.label if about.label != part.name else ""
        levels = [
            f"{level} ({about.label_or_value(level)})" if about.label_or_value(level) != level else level
            for level in levels
        ]
    return part, label, data.domain.shape[j], in_words.coding_words(part, levels)


def _method(declared: MechanismPlan, redact: Redactor) -> tuple[Any, list[tuple[Parameter, str]]]:
    """A method and its parameters with what is tried of them."""
    method, grid = mechanism(declared.name), dict(declared.grid)
    for name in grid:
        method.parameter(name)  # refuses an unknown one
    return method, [(p, _values(p, grid.get(p.name), redact)) for p in method.parameters]


def _values(parameter: Parameter, tried: tuple[str, ...] | None, redact: Redactor) -> str:
    """What is tried of a parameter, and whether it is the default."""
    values = tried or (() if parameter.default is None else (parameter.default,))
    if tried is None and parameter.kind == "text" and not parameter.default:
        return "none (default)"
    texts = [redact(parameter.canonical(value)).replace("+", ", ") or "none named" for value in values]
    return "; ".join(texts) + ("" if tried else " (default)")


def _candidates(plan: Plan, counts: PlanCounts | None) -> dict[str, Any]:
    """The space of candidates, and how many there are."""
    space = plan.space
    fields = ("search", "all_specs", "swap_sizes", "budget", "adaptive", "replicates")
    return {
        "space": SimpleNamespace(**{name: getattr(space, name) for name in fields}),
        "SWAP_TITLE": in_words.SWAP_TITLE,
        "SWAP_AMOUNT": mechanism(RANDOM_SWAP).rate,
        "ROLE_WORDS": in_words.ROLE_WORDS,
        "true_swap": in_words.true_swap_words(plan),
        "n_rates": len(space.rates),
        "rates": listed(map(percent, space.rates)),
        "n_specs": len(space.specs),
        "specs": space.specs,
        "swapped": _names(plan.swap_candidates, plan),
        "free": _names([name for name in plan.names if name not in (*space.fix, *space.change)], plan),
        "space_counts": counts and counts.space,
        "complete": counts and counts.complete,
        "n_swaps": counts.swaps(plan) if counts else 0,
        "by_method": [(mechanism(name).title, n) for name, n in counts.others] if counts else [],
        "candidates": candidates_words(plan, counts),
        "runs": in_words.runs_words(plan),
        "most": most_runs(plan),
        "total": counts.candidates(plan) if counts else at_most(plan),
    }


def _names(names: Sequence[str], plan: Plan) -> str:
    return "all attributes" if tuple(names) == plan.names else listed(names)


def _rule(plan: Plan, calls: tuple[MeasureCall, ...], candidates: str) -> dict[str, Any]:
    """The measures, and how one candidate is chosen by them."""
    risk, utility = judged(plan, calls)
    bound, slope = plan.decision.max_risk, plan.decision.slope
    return {
        "measures": [(title_of(call), call.measure, meaning_of(call), call in (risk, utility)) for call in calls],
        "risk": title_of(risk) if risk else "",
        "utility": title_of(utility) if utility else "",
        "several_tables": releases_several_tables(plan),
        "judged_jointly": bool(risk and risk.measure.judges_jointly),
        "rule": in_words.rule_words(plan, risk, utility),
        "rule_fixed": bound is not None or slope is not None,
        "bound": in_words.bound_words(risk, float(bound), plan.decision) if risk and bound is not None else "",
        "run": in_words.run_words(plan),
        "parameters": in_words.parameters(plan, risk, utility, candidates),
    }


def _public(plan: Plan, redact: Redactor) -> dict[str, Any]:
    """What is said in public: the paragraph on methods of a random swap, of another method, or both."""
    publish, names = plan.publish, in_words.mechanisms_of(plan)
    new_ids = bool({"id", "unit"} & set(publish.include))
    extent = publish.rate_range if publish.rate_policy == "range" else ""
    title, wording = redact(publish.title), redact(publish.wording)
    return {
        "extent": extent,
        "released_besides": in_words.released_with(publish.include),
        "wordings": [
            (
                swap,
                methods_paragraph(title=title, extent=extent, wording=wording, swap=swap, n_tables=1, new_ids=new_ids),
            )
            for swap in sorted({mechanism(name).by_roles for name in names}, reverse=True)
        ],
        "many_tables": any(mechanism(name).many_tables for name in names),
    }


def document_bytes(page: str, form: str) -> bytes:
    """Return a page in one of :data:`FORMATS`; equal pages give equal bytes."""
    return FORMATS[form](page)


def write_plan_document(page: str, path: Path) -> None:
    """Write a page in the format that the file's name ends in.

    It appears whole or not at all; an existing file and another ending are refused.
    """
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"'{path.name}' must end in {' or '.join(FORMATS)}")
    if path.exists():
        raise UsageError(f"'{path.name}' exists already; name another file", Remedy.OUTPUT)
    with writing(path):
        write_private(path, document_bytes(page, path.suffix.lower()))
