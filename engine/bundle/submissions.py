"""Compare two submissions to a board: plans or studies."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.common.errors import UsageError
from engine.decision.states import decision_status
from engine.plan import Plan, read_plan
from engine.plan.differences import plan_differences
from engine.study.decision_log import entries
from engine.study.ledger import ledger_in, ledger_sentences
from engine.study.study import Study


@dataclass(frozen=True)
class Submission:
    """One side of a comparison: its plan, and the facts of a study by name (none of a plan alone)."""

    plan: Plan
    facts: dict[str, str] = field(default_factory=dict)


def read_submission(path: str | Path) -> Submission:
    """A plan (.toml) or a study."""
    path = Path(path)
    if not path.exists():
        raise UsageError(f"'{path.name}' does not exist; give a plan or a study")
    if path.suffix.lower() == ".toml":
        return Submission(read_plan(path))
    with Study.open(path) as study:
        return Submission(study.plan, _facts(study))


def _facts(study: Study) -> dict[str, str]:
    about, status = study.about, decision_status(study)
    facts = {
        "data": f"{about['n_records']:,} records of {about['source']}, {about['n_cells']:,} cells",
        "scenarios": f"{len(study.scenarios):,}",
        "runs": f"{study.progress.done:,}",
        "version": str(about["version"]),
        "state": status.state,
    }
    ledger = ledger_in(entries(study), study.name)
    if ledger is not None:
        facts["earlier studies"] = ". ".join(ledger_sentences(ledger)) or "none"
    approval = {"approval": status.number, "conditions": status.conditions}
    facts |= {name: value for name, value in approval.items() if value}
    if (choice := status.choice) is not None:
        record = choice.record
        facts |= {"recommended": str(record["spec"]), "realisation": str(choice.replicate), "reason": choice.why}
        facts["rule"] = choice.rule
        for name, figure in record["figures"].items():
            facts[f"mean {name}"] = _number(figure["mean"])
            facts[f"original {name}"] = _number(figure["original"])
        facts |= {f"released {name}": _number(value) for name, value in record.get("released", {}).items()}
    return facts


def _number(value: Any) -> str:
    return "undefined" if value is None else f"{float(value):.6g}"


def differences(old: Submission, new: Submission) -> list[str]:
    """One sentence for each change: of the plan first, then of every fact where both are studies."""
    changes = plan_differences(old.plan, new.plan, ours="was", theirs="is")
    sentences = [f"plan, {change.sentence}" for change in changes.values()]
    locks = [plan.lock.number if plan.lock else "none" for plan in (old.plan, new.plan)]
    if locks[0] != locks[1]:
        sentences.append(f"plan, approval: was {locks[0]}, is {locks[1]}")
    for name in dict.fromkeys((*old.facts, *new.facts)) if old.facts and new.facts else ():
        before, after = old.facts.get(name), new.facts.get(name)
        if before is None:
            sentences.append(f"{name}: new, {after}")
        elif after is None:
            sentences.append(f"{name}: gone, was {before}")
        elif before != after:
            sentences.append(f"{name}: was {before}, is {after}")
    return sentences
