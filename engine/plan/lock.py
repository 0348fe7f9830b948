"""Lock an approved plan: afterwards only replicates may grow, every other change is a deviation."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace

from engine.common.errors import EngineError, UsageError
from engine.plan.context import AboutPlan, LockPlan, PublishPlan
from engine.plan.differences import PlanDifference, deviations
from engine.plan.toml import plan_from_toml
from engine.plan.types import Plan
from engine.plan.writing import plan_to_toml


def approved_text(plan: Plan) -> str:
    """The part of a plan that an approval fixes, as TOML: all but the lock itself, who asks (about) and what is said in
    public; what is released besides, and whether a circulating copy leaves out the rate, is in it.  Replicates are in
    it as the fewest that must be run."""
    publish = PublishPlan(include=plan.publish.include, members_rate=plan.publish.members_rate)
    return plan_to_toml(replace(plan, lock=None, about=AboutPlan(), publish=publish)).strip()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def lock(plan: Plan, number: str, by: str) -> Plan:
    """The plan with its approval written in; one that is locked already is refused."""
    if plan.lock is not None:
        raise UsageError(
            f"the plan is locked already (number {plan.lock.number}, by {plan.lock.by}); a new approval needs a copy "
            "without its [lock] section"
        )
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    text = approved_text(plan)
    return replace(plan, lock=LockPlan(number, by, at, _digest(text), text))


def approved_plan(plan: Plan) -> Plan | None:
    """The plan that was approved, or None without a lock; a lock that was written by hand is refused."""
    if plan.lock is None:
        return None
    if plan.lock.digest != _digest(plan.lock.approved):
        raise EngineError(
            f"the lock of the plan (number {plan.lock.number}) is damaged: its digest is not that of the approved plan;"
            " restore the file, or have the plan approved again"
        )
    return plan_from_toml(plan.lock.approved)


def departures(plan: Plan) -> dict[str, PlanDifference]:
    """Departures of a locked plan from what was approved, by entry; none without a lock."""
    approved = approved_plan(plan)
    return {} if approved is None else deviations(approved, plan)
