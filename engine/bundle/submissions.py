"""Compare two submissions to a board: plans, studies, or bundles exported from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.bundle.manifest import read_log, read_manifest
from engine.bundle.readers import Tier, bundles_in
from engine.common.errors import EngineError, UsageError
from engine.decision.states import decision_status
from engine.plan import Plan, plan_from_toml, read_plan
from engine.plan.differences import plan_differences
from engine.report.findings import read_board
from engine.study.decision_log import Entry, entries
from engine.study.ledger import ledger_in, ledger_sentences
from engine.study.study import Study


@dataclass(frozen=True)
class Submission:
    """One side of a comparison: its ``kind`` (plan, study, a reader's bundle), its plan where it holds one, and its
    facts by name."""

    kind: str
    plan: Plan | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


def read_submission(path: str | Path) -> Submission:
    """A plan (.toml), a study, an analyst's bundle or a board bundle."""
    path = Path(path)
    if not path.exists():
        raise UsageError(f"'{path.name}' does not exist; give a plan, a study or the folder of a bundle")
    if path.is_dir():
        return _bundle(path)
    if path.suffix.lower() == ".toml":
        return Submission("plan", read_plan(path))
    with Study.open(path) as study:
        return _study(study)


def _study(study: Study) -> Submission:
    about, status = study.about, decision_status(study)
    facts = {
        "data": f"{about['n_records']:,} records of {about['source']}, {about['n_cells']:,} cells",
        "scenarios": f"{len(study.scenarios):,}",
        "runs": f"{study.progress.done:,}",
        "version": str(about["version"]),
        "state": status.state,
    }
    facts |= _came_before(entries(study), study.name)
    approval = {"approval": status.number, "conditions": status.conditions}
    facts |= {name: value for name, value in approval.items() if value}
    choice = status.choice
    if choice is not None:
        record = choice.record
        facts |= {"recommended": str(record["spec"]), "realisation": str(choice.replicate), "reason": choice.why}
        facts["rule"] = choice.rule
        for name, figure in record["figures"].items():
            facts[f"mean {name}"] = _number(figure["mean"])
            facts[f"original {name}"] = _number(figure["original"])
        facts |= {f"released {name}": _number(value) for name, value in record.get("released", {}).items()}
    return Submission("study", study.plan, facts)


def _bundle(folder: Path) -> Submission:
    bundles = bundles_in(folder)
    if Tier.ANALYST in bundles:
        manifest = read_manifest(bundles[Tier.ANALYST])
        facts = {
            "recommended": _mechanism_text(manifest),
            "realisation": str(manifest["candidate"]),
            "status": str(manifest["status"]),
            "records changed": f"{manifest['records_changed']:,}",
            "version": str(manifest.get("version", "")),
            "fingerprint of the data": str(manifest["fingerprint"]),
            **_came_before(read_log(bundles[Tier.ANALYST]), folder.name),
        }
        facts |= {f"released {name}": _number(value) for name, value in manifest["figures"].items()}
        facts |= {f"file {name}": str(value) for name, value in manifest["sha256"].items()}
        return Submission("analyst's bundle", plan_from_toml(manifest["plan"]), facts)
    if Tier.BOARD in bundles:
        findings = json.loads(read_board(bundles[Tier.BOARD]).to_json())
        return Submission("board bundle", None, dict(_leaves(findings)))
    raise EngineError(f"'{folder.name}' is no bundle of an analyst or a board; nothing in it can be compared")


def _came_before(log: Sequence[Entry], name: str) -> dict[str, str]:
    """The statements of a decision log on earlier studies of the same data; none where it does not say."""
    ledger = ledger_in(log, name)
    return {} if ledger is None else {"earlier studies": ". ".join(ledger_sentences(ledger)) or "none"}


def _mechanism_text(manifest: Mapping[str, Any]) -> str:
    """The mechanism of a release with its spec and rate, or with its parameters."""
    if manifest["rate"]:
        return f"{manifest['mechanism']}: {manifest['spec']} at {manifest['rate']}"
    settings = "; ".join(f"{name} {value}" for name, value in manifest["params"] if value)
    result: str = manifest["mechanism"] + (f" ({settings})" if settings else "")
    return result


def _number(value: Any) -> str:
    return "undefined" if value is None else f"{float(value):.6g}"


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The single values of a nested one, each with its path in words."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path} {name}".strip().replace("_", " "))
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for i, inner in enumerate(value, 1):
            name = inner.get("name") if isinstance(inner, dict) else None
            yield from _leaves(inner, f"{path} {name or i}")
    elif isinstance(value, list):
        yield path, ", ".join(map(str, value)) or "nothing"
    elif isinstance(value, float):
        yield path, _number(value)
    else:
        yield path, "nothing" if value in (None, "") else str(value)


def differences(old: Submission, new: Submission) -> list[str]:
    """One sentence for each change: of the plan first, then of every fact.  Submissions of two kinds are compared by
    their plans alone."""
    if old.kind != new.kind and not (old.plan and new.plan):
        raise UsageError(f"a {old.kind} and a {new.kind} hold nothing that could be compared; give two of one kind")
    sentences = []
    if old.plan and new.plan:
        changes = plan_differences(old.plan, new.plan, ours="was", theirs="is")
        sentences += [f"plan, {change.sentence}" for change in changes.values()]
        locks = [plan.lock.number if plan.lock else "none" for plan in (old.plan, new.plan)]
        if locks[0] != locks[1]:
            sentences.append(f"plan, approval: was {locks[0]}, is {locks[1]}")
    if old.kind != new.kind:
        return sentences
    for name in dict.fromkeys((*old.facts, *new.facts)):
        before, after = old.facts.get(name), new.facts.get(name)
        if before == after:
            continue
        if before is None:
            sentences.append(f"{name}: new, {after}")
        elif after is None:
            sentences.append(f"{name}: gone, was {before}")
        else:
            sentences.append(f"{name}: was {before}, is {after}")
    return sentences
