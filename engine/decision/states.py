"""The states of a recommendation: draft, submitted, returned, approved, released, or to release nothing.

A state is never stored and never overwritten: it is what the decision log says (:mod:`engine.study.decision_log`), read
from the latest choice on.  A new choice begins again at draft, whatever was approved before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from engine.common.errors import EngineError, Remedy, UsageError
from engine.decision.choice import chosen_run, fresh_figures, gate_now
from engine.decision.disclosure_text import check_public
from engine.decision.statements import of_severity, sentences
from engine.decision.verdict_log import logged_verdict, why_not_made
from engine.frontier.risk_utility_map import refuse_void
from engine.release.scenarios import Choice, Results
from engine.study.decision_log import START, Entry, append, check_seal, entries, verify
from engine.study.map_reader import planned_risk, realisation_of
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
    "draft": ("submitted",),
    "submitted": ("approved", "returned"),
    "returned": ("submitted",),
    "approved": ("released", "returned"),
}
"""The steps that may follow a state; from others only a new choice leads on."""
_NEW_CHOICE: dict[str, str] = {
    "none": "nothing is recommended yet; record a choice first",
    "withheld": "the decision is to release nothing; a new choice begins again",
    "released": "it is published; a new choice begins again",
}
_ALTERED = {
    "publish.include": "what is released with the file was changed",
    "publish.members_rate": "whether a circulating copy is made was changed",
    "publish": "the words for the public were changed",
}
"""Changes of the plan that a board decides on, by entry or section, as the beginning of a sentence."""


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
        return _NEXT.get(self.state, ())

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


def meant_run(
    study: Study,
    index: int,
    risk: int | None = None,
    *,
    bound: float | None = None,
    runs: Results | None = None,
    allow_partial: bool = False,
) -> int:
    """Return the replicate that is meant by a scenario (its index) alone.

    That is the run of the recommendation that stands, where it is of this scenario: its own bound picked it.  Otherwise
    it is the run that the plan's rule releases under a risk measure (its column; by default the plan's) and a ``bound``
    that is tried.  ``runs`` are those of the scenario, where they are at hand.
    """
    choice = decision_status(study).choice
    if bound is None and choice is not None and choice.label == study.scenarios[index].label:
        return choice.replicate
    return realisation_of(
        study,
        study.runs.of([index]) if runs is None else runs,
        index,
        planned_risk(study) if risk is None else risk,
        bound=bound,
        allow_partial=allow_partial,
    )


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
    """The status after one more entry; entries that say nothing about states leave it as it is.

    An entry about a choice that is not the stored one is refused: the chain of the log does not cover stored choices,
    and an approval of one candidate must never count for another.
    """
    event, detail, why = entry.event, entry.detail, str(entry.detail.get("why", ""))
    choice, same = status.choice, {"candidate": "label", "replicate": "replicate"}
    if event == "withheld":
        return DecisionStatus("withheld", None, entry.by, at=entry.at, why=why)
    if event == "chosen":
        n, same = int(detail["choice"]), same | {"rule": "rule", "why": "why"}
        choice = choices[n - 1] if 0 < n <= len(choices) else None
    elif event not in get_args(Step):
        return status
    if choice is None or any(name in detail and detail[name] != getattr(choice, of) for name, of in same.items()):
        raise EngineError(
            f"entry {entry.number} of the decision log is about another choice than the one stored in the study: "
            "the study was changed by other means than this program. Restore it, or choose and decide again in a "
            "fresh copy"
        )
    if event == "chosen":
        return _drafted(choice, entry)
    if event == "released":
        return replace(status, state="released", by=entry.by, at=entry.at, why=why)
    number, conditions = (str(detail.get(name, "")) for name in ("number", "conditions"))
    return DecisionStatus(cast(Step, event), choice, entry.by, number, conditions, entry.at, why)


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
    """Set the next state: ``submitted``, ``approved``, ``returned``, ``released`` or, to release nothing, ``withheld``;
    returns the new status.

    A step out of order is refused with what is possible.  Every step needs a name, an approval its number too; nothing
    is submitted whose figures have not been seen on fresh replicates, and nothing approved before the log holds the
    verdict of an attack on it.  ``conditions`` are proposed with a submission; an approval takes those over unless it
    has others, or none (empty).  ``why`` is the reason of a return or of releasing nothing, and may say more of another
    step.  A release with obstacles (:mod:`engine.decision.gate`) is submitted only ``despite`` them, for a reason that
    the log keeps; one that changes nothing goes no step further.  A text that tells how many records are changed is
    refused, at the submission one of the plan too.
    """
    log = entries(study)
    status = _status(log, study.choices.all())
    if conditions is None:
        conditions = status.conditions if state == "approved" else ""
    by, number, conditions, why, despite = (text.strip() for text in (by, number, conditions, why, despite))
    steps: tuple[Step | Literal["withheld"], ...] = (*get_args(Step), "withheld")
    possible = status.possible
    if state not in steps:
        raise UsageError(f"state == '{state}', must be one of {', '.join(steps)}")
    if status.state == "released" if state == "withheld" else state not in possible:
        only_anew = _NEW_CHOICE.get(status.state)
        now = "a draft" if status.state == "draft" else status.state
        refusal = only_anew or f"it is {now}, so it can be {' or '.join(possible)}"
        raise UsageError(f"the recommendation cannot be {state}: {refusal}", Remedy.RECOMMEND if only_anew else None)
    if not by:
        raise UsageError(f"who says that it is {state}? Give a name", Remedy.NAME)
    if state == "approved" and not number:
        raise UsageError("an approval needs the number under which it is filed", Remedy.NUMBER)
    if (number and state != "approved") or (conditions and state not in ("submitted", "approved")):
        raise UsageError(
            "a number and conditions belong to an approval, conditions also to a submission; leave them out"
        )
    if state in ("returned", "withheld") and not why:
        raise UsageError(f"a recommendation is {state} for a reason; give it in words", Remedy.REASON)
    if despite and state != "submitted":
        raise UsageError("a reason to submit a release despite obstacles belongs to a submission; leave it out")
    detail: dict[str, Any] = {}
    if state != "withheld":
        choice = status.choice
        assert choice is not None
        detail = {"candidate": choice.label, "replicate": choice.replicate}
        if state != "returned":
            refuse_void(*chosen_run(study, choice), choice.label)
        if state == "submitted":
            detail |= _submission(study, choice, despite) | ({"conditions": conditions} if conditions else {})
        if state == "approved":
            check_unaltered(log, "submitted")
            _check_attacked(study, choice, log, why)
            detail |= {"number": number, "conditions": conditions}
    if why:
        detail["why"] = why
    append(study, state, detail, by=by, after=log[-1].digest if log else START)
    return decision_status(study)


def _submission(study: Study, choice: Choice, despite: str) -> dict[str, Any]:
    """Return the log's part on a submission: fresh figures, cautions, and obstacles with the reason to overrule them.

    A plan whose words tell the public how the release was made is refused, as is a submission without fresh runs, and
    in face of obstacles without a reason.
    """
    scenario, publish = study.find(choice.label)[0], study.plan.publish
    check_public(study, scenario, [publish.title, publish.wording])
    fresh = fresh_figures(study, scenario.index)
    if fresh is None:
        raise UsageError(
            f"{choice.label} has only the figures that led to its choice; run it on fresh replicates first",
            Remedy.RECHECK,
            study=study.name,
            candidate=choice.label,
        )
    found = gate_now(study, choice)
    standing = of_severity(found, "obstacle")
    if standing and not despite:
        raise UsageError(
            f"{choice.label}/{choice.replicate} cannot be submitted: {sentences(standing)} Choose another "
            "candidate, or record why it is submitted all the same, which the memo prints on its first page",
            Remedy.DESPITE,
        )
    if despite and not standing:
        raise UsageError("nothing stands against the release, so there is nothing to submit it despite; leave that out")
    told: dict[str, Any] = {"fresh": fresh, "cautions": [each.stored() for each in of_severity(found, "caution")]}
    return told | ({"despite": despite, "obstacles": [each.stored() for each in standing]} if standing else {})


def _check_attacked(study: Study, choice: Choice, log: Sequence[Entry], why: str) -> None:
    """Refuse to approve a release that was not attacked, or without a word on an attack that could not be tried."""
    verdict = logged_verdict(study, f"{choice.label}/{choice.replicate}")
    if verdict is None:
        raise UsageError(
            f"the release {choice.label}/{choice.replicate} was not attacked yet, so nobody knows "
            "how well altered records are recognised; attack it first",
            Remedy.RECHECK,
            study=study.name,
            candidate=choice.label,
        )
    submitted = next(entry for entry in reversed(log) if entry.event == "submitted")
    overruled = {each.get("kind") for each in submitted.detail.get("obstacles", ())}
    reason = why_not_made(study, verdict)
    if reason and not why and "not_attacked" not in overruled:
        raise UsageError(
            f"the attack on the release could not be tried ({reason}), and the submission says nothing of it; "
            "give a reason to approve it all the same, or take it back and submit it again",
            Remedy.REASON,
        )


def check_unaltered(log: Sequence[Entry], event: Literal["submitted", "approved"]) -> None:
    """Refuse to go on where the plan, what is released with the file, whether a circulating copy is made, or the words
    for the public were altered after the latest ``event``: the board decides on these."""
    for entry in log[max(entry.number for entry in log if entry.event == event) :]:
        changed = {name for change in entry.changes for name in (change.entry, change.section)}
        altered = next((words for name, words in _ALTERED.items() if name in changed), "")
        if entry.event == "deviation":
            altered = "the plan departed from the approved one"
        if altered and entry.event in ("changed", "deviation"):
            raise UsageError(
                f"{altered} after the recommendation was {event} (entry {entry.number} of the decision log): take it "
                f"back, submit it again{' and have it approved' if event == 'approved' else ''}",
                Remedy.TAKE_BACK,
            )
