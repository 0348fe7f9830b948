"""Parameters of a plan in words for the Disclosure Analysis Plan and the memo, without rates, paths or settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.common.wording import listed, lower_first
from engine.decision.bounds import in_words, title_of
from engine.decision.statements import Statement, percent, statement
from engine.mechanisms import mechanism
from engine.plan.entries import TolerancePlan
from engine.release.spec import RANDOM_SWAP
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
        ("Candidates", f"{candidates}, each run {in_words('runs', space, most_runs(plan))}"),
        ("A true swap", in_words("true_swap", plan) if plan.swaps_at_random else ""),
        ("Always kept equal in a pair", listed(space.fix)),
        ("Always different", listed(space.change)),
        ("Risk measure", title_of(risk) if risk else "none"),
        ("Utility measure", title_of(utility) if utility else "none"),
        ("Selection rule", in_words("rule", plan, risk, utility, late)),
        ("Run to be released", in_words("released_run", plan)),
        (
            "Tolerances of change",
            f"{float(at.se):g} standard errors; {100 * float(at.change):g} % of figures from more than {at.min_n} "
            f"records ({origin})",
        ),
        ("Weights", "used for weighted figures; they stay with their record" if plan.data.weight else "none"),
        ("Codes that mean missing", ", ".join(code or "(empty)" for code in plan.data.missing) or "none"),
        ("Edit rules", listed([in_words("edit_rule", rule) for rule in plan.edits]) or "none"),
        (_ANALYSES, "; ".join(f"{a.name} ({a.family_words}): {a.formula}" for a in plan.analyses) or "none"),
        (_TABLES, "; ".join(f"{t.name}: {' × '.join(t.attributes)}" for t in plan.tables) or _NOTHING),
    ]
    only_if_any = ("A true swap", "Always kept equal in a pair", "Always different")
    return tuple(row for row in rows if row[1] or row[0] not in only_if_any)


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


def bound_is_on(decision: DecisionPlan) -> str:
    """What a bound on risk is on, as a sentence."""
    if decision.run_share is None:
        return "the limit is on the mean over runs"
    return f"at least {percent(decision.run_share)} of single runs must meet the limit"


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
