"""Record a study's plan and its changes: those that an approval forbids are refused, all others are logged."""

from __future__ import annotations

from collections.abc import Mapping

from engine.common.errors import Remedy, UsageError
from engine.common.streams import key_commitment
from engine.plan import Plan
from engine.plan.differences import CONTEXT, PlanDifference, departures, plan_differences
from engine.study.decision_log import append, entries
from engine.study.key_commitment import ENTRY
from engine.study.ledger import Ledger, opening
from engine.study.study import Study

_SPACE = ("rates", "replicates", "swap_sizes", "specs", "all_specs", "search", "budget", "adaptive", "screen")
MAY_GROW = ("mechanisms", *(f"space.{name}" for name in _SPACE))
"""Entries of which a study can be given more."""


def check_departures(
    plan: Plan, why: str, known: Mapping[str, PlanDifference] | None = None
) -> dict[str, PlanDifference]:
    """The departures of a locked plan from what was approved; new ones without a reason are refused."""
    new = {name: departure for name, departure in departures(plan).items() if (known or {}).get(name) != departure}
    if new and not why.strip():
        assert plan.lock is not None
        raise UsageError(
            f"the plan departs from the one approved as {plan.lock.number}: {'; '.join(_sentences(new)[:5])}. Go back "
            "to it, or record a deviation with its reason and who asks for it, for the board to approve",
            Remedy.DEVIATION,
        )
    return new


def record_plan(study: Study, *, why: str = "", by: str = "", ledger: Ledger | None = None) -> None:
    """Begin a new study's log with its plan, a commitment to its key, what came before, the approval it carries, and
    how it departs from that; what is there already stays, for whoever began may have been killed."""
    plan, have = study.plan, {entry.event for entry in entries(study)}
    new = check_departures(plan, why)
    if "plan" not in have:
        fixed = {} if study.key is None else {ENTRY: key_commitment(study.key)}
        what = {"measures": list(plan.measures), "replicates": plan.space.replicates, **opening(plan, ledger)}
        append(study, "plan", {**what, **fixed}, by=by)
    if plan.lock is not None and "locked" not in have:
        append(study, "locked", {"number": plan.lock.number, "at": plan.lock.at}, by=plan.lock.by)
    if new and "deviation" not in have:
        append(study, "deviation", {"what": _sentences(new), "why": why.strip()}, by=by)


def check_change(
    study: Study, plan: Plan, *, why: str = "", grow: bool = False
) -> tuple[dict[str, PlanDifference], dict[str, PlanDifference]]:
    """Refuse a change of a study's plan that :func:`change_plan` would refuse; returns what would change, by entry, and
    which of it is a new departure from an approval."""
    old = study.plan
    changes = plan_differences(old, plan)
    free = (*CONTEXT, *MAY_GROW) if grow else CONTEXT
    barred = [change.sentence for name, change in changes.items() if not name.startswith(free)]
    if grow and plan.space.replicates < old.space.replicates:
        barred.append(changes["space.replicates"].sentence)
    if barred:
        only_growth = all(name.startswith((*CONTEXT, *MAY_GROW)) for name in changes)
        remedy = Remedy.EXTEND if only_growth and not grow else None
        hint = " More of the same can be added." if remedy else ""
        raise UsageError(f"study '{study.name}' has another plan: " + "; ".join(barred[:5]) + "." + hint, remedy)
    if old.lock is not None and plan.lock != old.lock:
        raise UsageError(
            f"study '{study.name}' runs the plan approved as {old.lock.number} by {old.lock.by}; its lock cannot "
            "be changed or left out. Another approval needs a study of its own"
        )
    return changes, check_departures(plan, why, departures(old))


def change_plan(study: Study, plan: Plan, *, why: str = "", by: str = "", grow: bool = False) -> list[str]:
    """Give a study another plan and log it; returns what changed, one sentence per entry.

    What changes no figure (decision, threat, tables, tolerances, about, publish) may always change; with ``grow`` the
    study may also be asked for more of the same.  Everything else is refused, as is to leave a lock out.  A departure
    from an approved plan needs ``why`` and is logged as a deviation.
    """
    changes, new = check_change(study, plan, why=why, grow=grow)
    old = study.plan
    if plan != old:
        study.grow(plan)
        if plan.lock is not None and old.lock is None:
            append(study, "locked", {"number": plan.lock.number, "at": plan.lock.at}, by=plan.lock.by)
        if new:
            append(study, "deviation", {"what": _sentences(new), "why": why.strip()}, by=by)
        if others := {name: change for name, change in changes.items() if name not in new}:
            append(study, "changed", {"what": _sentences(others), "why": why.strip()}, by=by)
    return _sentences(changes)


def _sentences(changes: Mapping[str, PlanDifference]) -> list[str]:
    return [change.sentence for change in changes.values()]
