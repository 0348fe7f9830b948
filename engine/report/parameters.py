"""Parameters of a plan in words for the Disclosure Analysis Plan and the memo, without rates, paths or settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first, plural
from engine.data.domain import EditRule
from engine.decision.statements import Statement, percent, statement
from engine.mechanisms import mechanism
from engine.plan.entries import TolerancePlan
from engine.plan.types import FIRST_WITHIN
from engine.release.spec import RANDOM_SWAP
from engine.report.redaction import title_of
from engine.sweeps.adaptive import most_runs

if TYPE_CHECKING:
    from engine.measures import MeasureCall
    from engine.plan import AttributePlan, DecisionPlan, Plan

ROLE_WORDS = {
    "S": "exchanged between the two records of a pair, which differ on it",
    "F": "not exchanged; the two records agree on it",
    "C": "not exchanged; the two records differ on it",
    "U": "not exchanged; the two records may agree or differ on it",
}
"""What the random swap does with an attribute of each role."""
SWAP_TITLE = "Random swapping between pairs of records"
_KEYS, _TABULATED = "What an intruder knows (keys)", "Tabulated by users"
_TABLES, _ANALYSES, _NOTHING = "Named tables", "Declared analyses", "none"
_SHORT = {_TABLES: "tables", _ANALYSES: "analyses"}
_BY_ATTRIBUTE = {_KEYS, _TABULATED}  # a table of attributes shows them too


def parameters(
    plan: Plan, risk: MeasureCall | None, utility: MeasureCall | None, candidates: str, late: str = ""
) -> tuple[tuple[str, str], ...]:
    """Names of a plan's parameters with their values in words.

    ``risk`` and ``utility`` are the measures that candidates are judged by (None: the plan names none), ``candidates``
    how many there are in words; ``late`` says that a bound was not fixed beforehand.
    """
    space, at, methods = plan.space, plan.tolerances, [mechanism(name) for name in mechanisms_of(plan)]
    origin = "the program's; the plan sets none" if at == TolerancePlan() else "set by the plan"
    rows = [
        (_KEYS, listed(plan.keys)),
        ("May be exchanged", listed(plan.swap)),
        (_TABULATED, listed(plan.analyse)),
        ("Methods", listed(["random swapping" if each.by_roles else lower_first(each.title) for each in methods])),
        ("Candidates", f"{candidates}, each run {runs_words(plan)}"),
        ("A true swap", true_swap_words(plan) if plan.swaps_at_random else ""),
        ("Always kept equal in a pair", listed(space.fix)),
        ("Always different", listed(space.change)),
        ("Risk measure", title_of(risk) if risk else "none"),
        ("Utility measure", title_of(utility) if utility else "none"),
        ("Selection rule", rule_words(plan, risk, utility, late)),
        ("Run to be released", run_words(plan)),
        (
            "Tolerances of change",
            f"{float(at.se):g} standard errors; {100 * float(at.change):g} % of figures from more than {at.min_n} "
            f"records ({origin})",
        ),
        ("Weights", "used for weighted figures; they stay with their record" if plan.data.weight else "none"),
        ("Codes that mean missing", missing_words(plan)),
        ("Edit rules", listed(map(_rule_effect, plan.edits)) or "none"),
        (_ANALYSES, "; ".join(f"{a.name} ({a.family_words}): {a.formula}" for a in plan.analyses) or "none"),
        (_TABLES, "; ".join(f"{t.name}: {' × '.join(t.attributes)}" for t in plan.tables) or _NOTHING),
    ]
    only_if_any = ("A true swap", "Always kept equal in a pair", "Always different")
    return tuple(row for row in rows if row[1] or row[0] not in only_if_any)


def _rule_effect(rule: EditRule) -> str:
    limit = "" if rule.at_most is None else f" (broken by at most {plural(rule.at_most, 'record')})"
    return rule.name + " (forbids)" * rule.refuse + limit


def parameter_rows(rows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Parameters as the memo shows them: without those of attributes, which have a table, and those that the plan
    leaves out (:func:`not_declared`)."""
    return [(name, value) for name, value in rows if name not in _BY_ATTRIBUTE and value != _NOTHING]


def not_declared(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Names of the parameters that a plan leaves out."""
    return [
        _SHORT.get(name, lower_first(name)) for name, value in rows if name not in _BY_ATTRIBUTE and value == _NOTHING
    ]


def mechanisms_of(plan: Plan) -> tuple[str, ...]:
    """Names of the mechanisms that a plan tries, each once."""
    return tuple(dict.fromkeys(m.name for m in plan.mechanisms)) or (RANDOM_SWAP,)


def runs_words(plan: Plan) -> str:
    """How often candidates are run."""
    space, most = plan.space, most_runs(plan)
    if space.adaptive or space.search:
        often = f"{space.screen} times, and up to {space.replicates} times while it may be on the frontier"
        if most > space.replicates:
            often += f", up to {most} times while its runs leave open whether it may be chosen"
        return f"{often}; those on the frontier {space.replicates} times again on fresh draws"
    return f"{space.replicates} times"


def true_swap_words(plan: Plan) -> str:
    """On what the two records of a pair differ, and which edit rules refuse pairs."""
    strictly = ", and on at least one other" if plan.space.rule == "strict" else ""
    refusing = listed([rule.name for rule in plan.edits if rule.refuse])
    obeyed = f"; neither of them breaks anew what the plan forbids ({refusing})" if refusing else ""
    return f"the two records differ on every exchanged attribute{strictly}{obeyed}"


def rule_words(plan: Plan, risk: MeasureCall | None, utility: MeasureCall | None, late: str = "") -> str:
    """The rule by which the plan says that one candidate is chosen."""
    decision = plan.decision
    if decision.max_risk is not None and risk is not None:
        within = bound_words(risk, float(decision.max_risk), decision)
        within += "".join(f"; edit rule “{_rule_effect(rule)}”" for rule in plan.edits if rule.at_most is not None)
        return f"the most useful candidate within the limit: {within}" + (f"; {late}" if late else "")
    if decision.slope is not None:
        if risk is None or utility is None:
            return f"the best candidate on a straight trade-off of slope {decision.slope}"
        return f"the best candidate on a straight trade-off: {trade_words(risk, utility, float(decision.slope))}"
    return "the plan fixes no rule" + (f"; {late}" if late else "")


def bound_words(risk: MeasureCall, bound: float, decision: DecisionPlan) -> str:
    """A bound on a risk measure in words, with how many runs must meet it by the plan's ``decision``."""
    share = decision.run_share
    often = "on average over runs" if share is None else f"in at least {percent(share)} of single runs"
    if risk.measure.of_unaltered:
        n_rule = risk.values["n_rule"]
        return f"at most {100 * bound:.3g} % of the unaltered records in cells of fewer than {n_rule}, {often}"
    of = risk.measure.share_of
    at = f"{100 * bound:.3g} % of {of}" if of else f"{bound:g} {risk.measure.unit}"
    return f"{lower_first(title_of(risk))} of at most {at}, {often}"


def bound_is_on(decision: DecisionPlan) -> str:
    """What a bound on risk is on, as a sentence."""
    if decision.run_share is None:
        return "the limit is on the mean over runs"
    return f"at least {percent(decision.run_share)} of single runs must meet the limit"


def trade_words(risk: MeasureCall, utility: MeasureCall, slope: float) -> str:
    """A slope in words: what it weighs against what, each in the units in which candidates are compared."""
    share = (
        f"the share of unaltered records in cells of fewer than {risk.values['n_rule']} (from 0 to 1, not their number)"
        if risk.measure.of_unaltered
        else _in_units(risk)
    )
    return f"one unit of {_in_units(utility)} counts as much as {slope:g} of {share}"


def _in_units(call: MeasureCall) -> str:
    title, unit = lower_first(title_of(call)), call.measure.unit
    return title if unit in title else f"{title} (in {unit})"


def run_words(plan: Plan, *, bounded: bool | None = None) -> str:
    """Which run of the chosen candidate is released; ``bounded`` says whether a bound decides, be it the plan's or the
    choice's (None: nothing is chosen yet)."""
    rule = plan.decision.realisation
    if rule == FIRST_WITHIN:
        if bounded or plan.decision.max_risk is not None:
            return "the first run that meets the limit and is less risky than the data unchanged"
        set_later = " and meets the limit, where the choice sets one" if bounded is None else ""
        return f"the first run that is less risky than the data unchanged{set_later}"
    return "the first completed run" if rule == "first" else "one run that the plan names"


def missing_words(plan: Plan) -> str:
    """The raw codes that mean missing in every column."""
    return ", ".join(code or "(empty)" for code in plan.data.missing) or "none"


def coding_words(part: AttributePlan, levels: Sequence[str]) -> str:
    """How an attribute is coded; ``levels`` are those known, if any."""
    if part.cut:
        return f"cut into {listed(part.cut_labels)}"
    if part.merge:
        if all(len(raw) == 1 for _, raw in part.merge):
            if len(part.merge) > 8:
                return "codes of the file, each by its own name"
            return "codes of the file by name: " + ", ".join(f"{raw[0]} {level}" for level, raw in part.merge)
        merged = "; ".join(f"{level} stands for {listed(raw)}" for level, raw in part.merge)
        return f"merged: {merged}"
    if len(part.view) > 1:
        return f"combinations of {listed(part.view)}"
    return "levels as in the file" + (f": {', '.join(levels)}" if 0 < len(levels) <= 8 else "")


def file_names(plan: Plan) -> list[str]:
    """The public files that overlap, without the folders they lie in."""
    return [name.replace("\\", "/").rpartition("/")[2] for name in plan.threat.public_files]


def released_with(include: Sequence[str]) -> Statement:
    """What is released besides the attributes and carried columns."""
    texts = {
        "weight": "the weight of each record",
        "id": "a new id of each record",
        "unit": "a new number of each household",
    }
    return statement("released_with", include=tuple(texts[role] for role in include))
