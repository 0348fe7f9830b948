"""The ledger of a study: the earlier studies of the same data, as the first entry of its decision log tells them.

Whoever has seen results and begins anew would otherwise lose what was seen before: a bound that was set after results
would look like one that the plan fixed.  The ledger holds names of files, counts, bounds and differences of plans, and
no record, key or path; what an earlier study's own ledger tells is in it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from engine.common.parsing import parse
from engine.common.wording import listed, plural
from engine.plan import Plan
from engine.plan.differences import plan_differences
from engine.study.decision_log import EVENTS, Entry, entries
from engine.study.study import Study

ENTRY = "ledger"
"""Its name in the details of the log's first entry."""
BOUND_ENTRY = "max_risk"
"""The name of the plan's bound on risk in the same details, as it was when the study began."""
_BOUND = "decision.max_risk"
_OF_DECISION = ("chosen", "withheld", "submitted", "approved", "returned", "released")


@dataclass(frozen=True)
class EarlierStudy:
    """An earlier study of the same data, as it was when a later one began.

    ``id`` is the digest of its log's first entry, ``name`` its file's; ``candidates`` had results, in ``runs`` runs;
    ``decision`` is the latest event of its decision (empty: none).  ``bound`` is that of its plan, ``bound_kept`` says
    that no change of it is logged, and ``bounds_chosen`` are those under which choices were made.  ``differences`` are
    those of its plan (was) from the later study's (is), which is the one that holds the ledger unless ``later`` names
    another.  ``certain`` says that the fingerprint of the data is the same; without its key only their shape is known.
    """

    id: str
    name: str
    begun: str
    candidates: int
    runs: int
    choices: int
    decision: str
    bound: float | None
    bound_kept: bool
    bounds_chosen: tuple[float, ...]
    differences: tuple[str, ...]
    later: str = ""
    certain: bool = True


@dataclass(frozen=True)
class Unrelated:
    """Studies of the same data (names of files) that were said to have nothing to do with a later one, and why."""

    studies: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Ledger:
    """The studies that came before a study, oldest first; ``unread`` are files beside it that could not be read as
    studies."""

    earlier: tuple[EarlierStudy, ...] = ()
    unrelated: tuple[Unrelated, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def had_results(self) -> tuple[EarlierStudy, ...]:
        """The earlier studies of which results could be seen."""
        return tuple(study for study in self.earlier if study.runs)


class BoundOrigin(Enum):
    """The time at which a bound on risk was set: before any result was there, or in the light of which results."""

    FIXED = "before any result"
    CHOSEN = "with the choice"
    CHANGED = "in a change of the plan"
    AFTER_EARLIER = "after results of an earlier study"


def ledger_of(study: Study) -> Ledger | None:
    """The ledger of a study; None where its log says nothing of earlier studies."""
    return ledger_in(entries(study), study.name)


def ledger_in(log: Sequence[Entry], name: str) -> Ledger | None:
    """The ledger in the decision log of a study of that name; None where the log says nothing of earlier studies."""
    stored = log[0].detail.get(ENTRY) if log else None
    return None if stored is None else parse(Ledger, stored, f"the ledger in the decision log of '{name}'")


def opening(plan: Plan, ledger: Ledger | None) -> dict[str, Any]:
    """The words of the first entry of a log on the plan's bound and of earlier studies."""
    bound = {BOUND_ENTRY: plan.decision.max_risk}
    return bound if ledger is None else {**bound, ENTRY: msgspec.to_builtins(ledger)}


def id_of(study: Study) -> str:
    """The name of a study and each of its copies: the digest of its log's first entry, or its keyed fingerprint of the
    data where the log was not begun."""
    log = entries(study)
    return log[0].digest if log else str(study.about["fingerprint"])


def as_earlier(study: Study, plan: Plan, *, certain: bool) -> EarlierStudy:
    """A study as the ledger of one with this ``plan`` tells it."""
    log, choices = entries(study), study.choices.all()
    bound = study.plan.decision.max_risk
    bounds = (choice.record.get("bound") for choice in choices)
    return EarlierStudy(
        id=id_of(study),
        name=study.name,
        begun=log[0].at if log else "",
        candidates=study.runs.n_scenarios,
        runs=study.runs.count(),
        choices=len(choices),
        decision=next((entry.event for entry in reversed(log) if entry.event in _OF_DECISION), ""),
        bound=None if bound is None else float(bound),
        bound_kept=not _bound_was_changed(log, study.plan),
        bounds_chosen=tuple(dict.fromkeys(float(bound) for bound in bounds if bound is not None)),
        differences=tuple(
            difference.sentence for difference in plan_differences(study.plan, plan, ours="was", theirs="is").values()
        ),
        certain=certain,
    )


def bound_origin(study: Study, bound: float) -> BoundOrigin:
    """The time at which a bound on risk was set. It was fixed if the plan had it from the beginning on, and the plan of
    every earlier study of which results could be seen had it too."""
    planned, log = study.plan.decision.max_risk, entries(study)
    if planned is None or float(planned) != bound:
        return BoundOrigin.CHOSEN
    if _bound_was_changed(log, study.plan):
        return BoundOrigin.CHANGED
    ledger = ledger_in(log, study.name) or Ledger()
    if all(earlier.bound == bound and earlier.bound_kept for earlier in ledger.had_results):
        return BoundOrigin.FIXED
    return BoundOrigin.AFTER_EARLIER


def _bound_was_changed(log: Sequence[Entry], plan: Plan) -> bool:
    """Return whether a plan's bound is not the one with which its study began, or was changed meanwhile."""
    first: Mapping[str, Any] = log[0].detail if log else {}
    if BOUND_ENTRY in first and first[BOUND_ENTRY] != plan.decision.max_risk:
        return True
    return any(change.entry == _BOUND for entry in log if entry.event == "changed" for change in entry.changes)


def ledger_sentences(ledger: Ledger) -> list[str]:
    """The contents of a ledger, in sentences for the analyst; none where nothing came before."""
    sentences = [_sentence(study) for study in ledger.earlier]
    sentences += [
        f"{listed(statement.studies)} of the same data {'was' if len(statement.studies) == 1 else 'were'} said to have"
        f" nothing to do with it: {statement.why}"
        for statement in ledger.unrelated
    ]
    if ledger.unread:
        sentences.append(f"{listed(ledger.unread)} could not be read, so of which data is not known")
    return sentences


def decision_words(event: str) -> str:
    """The latest event of an earlier study's decision in words."""
    return next((words for known, words in EVENTS.items() if known == event), "nothing was decided")


def _sentence(study: EarlierStudy) -> str:
    data = "the same data" if study.certain else "data with as many records and the same columns"
    text = f"{study.name} of {data} came before: results of {plural(study.candidates, 'candidate')}"
    text += f", {plural(study.choices, 'choice')}"
    if study.bounds_chosen:
        text += f" under the bound {listed(f'{bound:g}' for bound in study.bounds_chosen)}"
    if study.decision:
        text += f", in the end {decision_words(study.decision)}"
    against = study.later or "this study"
    if not study.differences:
        return f"{text}; its plan is that of {against}"
    return f"{text}; from its plan to that of {against}: {'; '.join(study.differences)}"
