"""The states of a recommendation: draft, submitted, returned, approved, released, or to release nothing.

A state is never stored and never overwritten: it is what the decision log says (:mod:`engine.study.decision_log`), read
from the latest choice on.  A new choice begins again at draft, whatever was approved before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from engine.common.errors import EngineError, Remedy, UsageError
from engine.decision.choice import fresh_figures, gate_now, refuse_void_choice
from engine.decision.disclosure_text import check_public
from engine.decision.statements import Statement, of_severity, words
from engine.decision.verdict_log import logged_verdict, why_not_made
from engine.release.scenarios import Choice, Scenario
from engine.study.decision_log import START, Entry, Event, append, check_seal, entries, verify
from engine.study.study import Study

State = Literal["none", "draft", "submitted", "returned", "approved", "released", "withheld"]
Step = Literal["submitted", "approved", "returned", "released"]
STATES: dict[State, str] = {
    "none": "Nothing has been recommended yet.",
    "draft": "A release is recommended; the board has not been asked.",
    "submitted": "The recommendation is before the board.",
    "returned": "The board has returned the recommendation.",
    "approved": "The board has approved the release.",
    "released": "The release has been published.",
    "withheld": "Nothing is released.",
}
"""The states in words."""

_NEXT: dict[State, tuple[Step, ...]] = {
    "none": (),
    "draft": ("submitted",),
    "submitted": ("approved", "returned"),
    "returned": ("submitted",),
    "approved": ("released", "returned"),
    "released": (),
    "withheld": (),
}
NOT_TO_RETURN = "a number and conditions belong to an approval, conditions also to a submission; leave them out"
ONLY_SUBMITTED = "a reason to submit a release despite obstacles belongs to a submission; leave it out"
_STEPS: tuple[Step, ...] = ("submitted", "approved", "returned", "released")


@dataclass(frozen=True)
class DecisionStatus:
    """The standing of the recommendation: one of :data:`STATES`, the ``choice`` it is about (None with ``none`` and
    ``withheld``), ``by`` whom that state was set, the approval's ``number`` and ``conditions`` (from the approval on;
    before it the conditions that were proposed with the submission), ``at`` what time (ISO, UTC) and the ``why`` of the
    latest step (of a choice, its reason)."""

    state: State
    choice: Choice | None = None
    by: str = ""
    number: str = ""
    conditions: str = ""
    at: str = ""
    why: str = ""

    @property
    def possible(self) -> tuple[Step, ...]:
        """The states that may follow."""
        return _NEXT[self.state]

    @property
    def words(self) -> str:
        """The state in one sentence."""
        return STATES[self.state]


def decision_status(study: Study) -> DecisionStatus:
    """The standing of the study's recommendation; a log whose chain is broken, or that does not fit its seal, is an
    error, not a state."""
    status = _status(entries(study), study.choices.all())
    check_seal(study)
    return status


def _status(log: Sequence[Entry], choices: Sequence[Choice]) -> DecisionStatus:
    verify(log)
    status = DecisionStatus("none")
    # Studies of earlier versions hold choices that no entry names; so does one whose program was ended in between.
    logged = 0
    for entry in log:
        if entry.event == "chosen":
            logged = int(entry.detail["choice"])
        status = _after(status, entry, choices)
    return _drafted(choices[-1]) if len(choices) > logged else status


def _drafted(choice: Choice, entry: Entry | None = None) -> DecisionStatus:
    at = entry.at if entry else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(choice.at))
    return DecisionStatus("draft", choice, entry.by if entry else "", at=at, why=choice.why)


def _after(status: DecisionStatus, entry: Entry, choices: Sequence[Choice]) -> DecisionStatus:
    """The status after one more entry; entries that say nothing about states leave it as it is."""
    detail = entry.detail
    if entry.event == "chosen":
        choice_number = int(detail["choice"])
        choice = choices[choice_number - 1] if 0 < choice_number <= len(choices) else None
        _check_same(entry, choice, ("rule", "why"))
        assert choice is not None
        return _drafted(choice, entry)
    if entry.event == "withheld":
        return DecisionStatus("withheld", None, entry.by, at=entry.at, why=str(detail.get("why", "")))
    step = _step(entry.event)
    if step is None:
        return status
    _check_same(entry, status.choice)
    why = str(detail.get("why", ""))
    if step == "released":
        return replace(status, state=step, by=entry.by, at=entry.at, why=why)
    number, conditions = (str(detail.get(name, "")) for name in ("number", "conditions"))
    return DecisionStatus(step, status.choice, entry.by, number, conditions, entry.at, why)


def _step(name: str) -> Step | None:
    """The step of that name; None where there is none."""
    return next((step for step in _STEPS if step == name), None)


def _check_same(entry: Entry, choice: Choice | None, fields: Sequence[str] = ()) -> None:
    """Refuse a choice that is not the one an entry speaks of: the chain of the log does not cover stored choices, and
    an approval of one candidate must never count for another."""
    names = {"candidate": "label", "replicate": "replicate", **{name: name for name in fields}}
    for name, stored in names.items():
        if choice is None or (name in entry.detail and entry.detail[name] != getattr(choice, stored)):
            raise EngineError(
                f"entry {entry.number} of the decision log is about another choice than the one stored in the study: "
                "the study was changed by other means than this program. Restore it, or choose and decide again in a "
                "fresh copy"
            )


def decide(
    study: Study,
    state: str,
    by: str,
    *,
    number: str = "",
    conditions: str | None = None,
    why: str = "",
    despite: str = "",
) -> DecisionStatus:
    """Set the next state: ``submitted``, ``approved``, ``returned`` or ``released``; returns the new status.

    A step out of order is refused with what is possible.  Every step needs a name, an approval its number too; nothing
    is submitted whose figures have not been seen on fresh replicates, and nothing approved before the log holds the
    verdict of an attack on it.  ``conditions`` are proposed with a submission;
    an approval takes those over unless it has others, or none (empty).  ``why`` may say more, such as the reason of a
    return.  A release with obstacles (:mod:`engine.decision.gate`) is submitted only ``despite`` them, for a
    reason that the log keeps; one that changes nothing goes no step further.  A text that tells how many records are
    changed is refused, at the submission one of the plan too.
    """
    log = entries(study)
    status = _status(log, study.choices.all())
    if conditions is None:
        conditions = status.conditions if state == "approved" else ""
    by, number, conditions, why, despite = (text.strip() for text in (by, number, conditions, why, despite))
    step = _step(state)
    if step is None:
        raise UsageError(f"state == '{state}', must be one of {', '.join(_STEPS)}")
    if step not in status.possible:
        remedy = Remedy.RECOMMEND if status.state in _NEW_CHOICE else None
        raise UsageError(f"the recommendation cannot be {state}: {_refusal(status)}", remedy)
    if not by:
        raise UsageError(f"who says that it is {state}? Give a name", Remedy.NAME)
    if state == "approved" and not number:
        raise UsageError("an approval needs the number under which it is filed", Remedy.NUMBER)
    if (number and state != "approved") or (conditions and state not in ("submitted", "approved")):
        raise UsageError(NOT_TO_RETURN)
    if state == "returned" and not why:
        raise UsageError("the board returns a recommendation for a reason; give it in words", Remedy.REASON)
    assert status.choice is not None
    scenario = study.find(status.choice.label)[0]
    if despite and step != "submitted":
        raise UsageError(ONLY_SUBMITTED)
    detail: dict[str, Any] = {"candidate": status.choice.label, "replicate": status.choice.replicate}
    if step != "returned":
        refuse_void_choice(study, status.choice)
    if step == "submitted":
        _check_plan(study, scenario)
        fresh = fresh_figures(study, scenario.index)
        if fresh is None:
            raise UsageError(
                f"{status.choice.label} has only the figures that led to its choice; run it on fresh replicates first",
                Remedy.RECHECK,
                study=study.name,
                candidate=status.choice.label,
            )
        found = gate_now(study, status.choice)
        detail |= {"fresh": fresh, "cautions": [each.stored() for each in of_severity(found, "caution")]}
        detail |= _overruled(status.choice, of_severity(found, "obstacle"), despite)
        detail |= {"conditions": conditions} if conditions else {}
    if step == "approved":
        _check_as_submitted(log)
        verdict = logged_verdict(study, f"{status.choice.label}/{status.choice.replicate}")
        if verdict is None:
            raise UsageError(
                f"the release {status.choice.label}/{status.choice.replicate} was not attacked yet, so nobody knows "
                "how well altered records are recognised; attack it first",
                Remedy.RECHECK,
                study=study.name,
                candidate=status.choice.label,
            )
        reason = why_not_made(study, verdict)
        if reason and not why and not _is_overruled(log, "not_attacked"):
            raise UsageError(
                f"the attack on the release could not be tried ({reason}), and the submission says nothing of it; "
                "give a reason to approve it all the same, or take it back and submit it again",
                Remedy.REASON,
            )
        detail |= {"number": number, "conditions": conditions}
    if why:
        detail["why"] = why
    append(study, step, detail, by=by, after=_last(log))
    return decision_status(study)


def _overruled(choice: Choice, standing: Sequence[Statement], despite: str) -> dict[str, Any]:
    """Return the log's part on the obstacles to a submission: empty, or the obstacles and why they are overruled.

    A submission in face of obstacles without a reason is refused.
    """
    if standing and not despite:
        raise UsageError(
            f"{choice.label}/{choice.replicate} cannot be submitted: {' '.join(map(words, standing))} Choose another "
            "candidate, or record why it is submitted all the same, which the memo prints on its first page",
            Remedy.DESPITE,
        )
    if despite and not standing:
        raise UsageError("nothing stands against the release, so there is nothing to submit it despite; leave that out")
    return {"despite": despite, "obstacles": [each.stored() for each in standing]} if standing else {}


def _is_overruled(log: Sequence[Entry], kind: str) -> bool:
    """Return whether the latest submission was made despite an obstacle of this kind."""
    submitted = next(entry for entry in reversed(log) if entry.event == "submitted")
    return any(each.get("kind") == kind for each in submitted.detail.get("obstacles", ()))


AlterationKind = Literal["plan", "include", "members_rate", "wording"]
_ALTERED: dict[AlterationKind, str] = {
    "plan": "the plan departed from the approved one",
    "include": "what is released with the file was changed",
    "members_rate": "whether a circulating copy is made was changed",
    "wording": "the words for the public were changed",
}


@dataclass(frozen=True)
class Alteration:
    """A change of something that a board decides on: the plan, what is released with the file, whether members are told
    the rate, or the words for the public; ``number`` is that of the entry in the decision log."""

    kind: AlterationKind
    number: int

    @property
    def words(self) -> str:
        """The change as the beginning of a sentence."""
        return _ALTERED[self.kind]


def altered_since(log: Sequence[Entry], event: Event) -> Alteration | None:
    """The first alteration of what a board decides on after the latest ``event``; None where there is none."""
    last = max(entry.number for entry in log if entry.event == event)
    for entry in log[last:]:
        if entry.event == "deviation":
            return Alteration("plan", entry.number)
        if entry.event == "changed" and any(change.entry == "publish.include" for change in entry.changes):
            return Alteration("include", entry.number)
        if entry.event == "changed" and any(change.entry == "publish.members_rate" for change in entry.changes):
            return Alteration("members_rate", entry.number)
        if entry.event == "changed" and any(change.section == "publish" for change in entry.changes):
            return Alteration("wording", entry.number)
    return None


def _check_as_submitted(log: Sequence[Entry]) -> None:
    """Refuse to approve what is no longer what was submitted: the board has read the other."""
    if altered := altered_since(log, "submitted"):
        raise UsageError(
            f"{altered.words} after the recommendation was submitted (entry {altered.number} of the decision "
            "log), so the board has read other papers; take it back and submit it again",
            Remedy.TAKE_BACK,
        )


def _check_plan(study: Study, scenario: Scenario) -> None:
    """Refuse to submit a plan whose words tell the public how the release was made."""
    plan = study.plan
    check_public(study, scenario, [plan.publish.title, plan.publish.wording])


def withhold(study: Study, by: str, why: str) -> DecisionStatus:
    """Record the decision to release nothing, with its reason; a later choice begins again at draft."""
    by, why = by.strip(), why.strip()
    log = entries(study)
    status = _status(log, study.choices.all())
    if status.state == "released":
        raise UsageError("the release is published already; it cannot be withheld any more")
    if not by:
        raise UsageError("who decides to release nothing? Give a name", Remedy.NAME)
    if not why:
        raise UsageError("the decision to release nothing needs its reason in words", Remedy.REASON)
    append(study, "withheld", {"why": why}, by=by, after=_last(log))
    return decision_status(study)


def _last(log: Sequence[Entry]) -> str:
    return log[-1].digest if log else START


_NEW_CHOICE: dict[str, str] = {
    "none": "nothing is recommended yet; record a choice first",
    "withheld": "the decision is to release nothing; a new choice begins again",
    "released": "it is published; a new choice begins again",
}
"""States from which only a new choice leads on."""


def _refusal(status: DecisionStatus) -> str:
    """The error that says what stands in the way, and what is possible."""
    if status.state in _NEW_CHOICE:
        return _NEW_CHOICE[status.state]
    return (
        f"it is {'a draft' if status.state == 'draft' else status.state}, so it can be {' or '.join(status.possible)}"
    )
