"""Accept all proposals in one pass, also those that arise from accepting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from engine.common.errors import EngineError
from engine.data.microdata import RawTable
from engine.plan.accept import accept
from engine.plan.dependencies import Dependencies
from engine.plan.proposal import Proposal
from engine.plan.propose import propose
from engine.plan.types import Plan


@dataclass(frozen=True)
class Acceptance:
    """The plan with the proposals ``accepted``, in their order; those ``refused`` have the error that kept them from
    being carried out."""

    plan: Plan
    accepted: tuple[Proposal, ...]
    refused: tuple[tuple[Proposal, EngineError], ...]


def accept_all(raw: RawTable, plan: Plan, known: Dependencies, is_wanted: Callable[[Proposal], bool]) -> Acceptance:
    """``plan`` with every wanted proposal accepted, until none is left that arises."""
    accepted: list[Proposal] = []
    refused: dict[str, tuple[Proposal, EngineError]] = {}
    while True:
        proposals = [p for p in propose(raw, plan, known) if p.key not in refused and is_wanted(p)]
        if not proposals:
            return Acceptance(plan, tuple(accepted), tuple(refused.values()))
        try:
            plan = accept(plan, proposals[0])
            accepted.append(proposals[0])
        except EngineError as error:
            refused[proposals[0].key] = (proposals[0], error)
