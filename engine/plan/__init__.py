"""The plan, its TOML form, its edits, its first guess and its check against a file; the samples, each with its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.plan.dependencies import Dependencies, dependencies
from engine.plan.doubts import Link, Proposal
from engine.plan.edit import edit_plan, extended_plan
from engine.plan.entries import (
    AboutPlan,
    AnalysisPlan,
    AttributePlan,
    LockPlan,
    MechanismPlan,
    PublishPlan,
    TablePlan,
    ThreatPlan,
    TolerancePlan,
)
from engine.plan.guess import first_plan, guess_plan
from engine.plan.propose import accept, plan_init_text, propose
from engine.plan.toml import plan_from_toml, plan_to_toml, read_plan
from engine.plan.types import (
    DEFAULT_MISSING,
    DataPlan,
    DecisionPlan,
    Plan,
    SpacePlan,
)

if TYPE_CHECKING:
    from engine.plan.check import check_plan

__all__ = [
    "DEFAULT_MISSING",
    "AboutPlan",
    "AnalysisPlan",
    "AttributePlan",
    "DataPlan",
    "DecisionPlan",
    "Dependencies",
    "Link",
    "LockPlan",
    "MechanismPlan",
    "Plan",
    "Proposal",
    "PublishPlan",
    "SpacePlan",
    "TablePlan",
    "ThreatPlan",
    "TolerancePlan",
    "accept",
    "check_plan",
    "dependencies",
    "edit_plan",
    "extended_plan",
    "first_plan",
    "guess_plan",
    "plan_from_toml",
    "plan_init_text",
    "plan_to_toml",
    "propose",
    "read_plan",
]


def __getattr__(name: str) -> Any:
    """The check of a plan, loaded when it is asked for: it has a class for each kind of mismatch, and no sweep needs
    it."""
    if name != "check_plan":
        raise AttributeError(f"module 'engine.plan' has no attribute '{name}'")
    from engine.plan.check import check_plan

    return check_plan
