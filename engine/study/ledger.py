"""The ledger of a study: earlier studies of the same data and changes of the plan, as its decision log tells them.

A person who has seen results and begins anew would otherwise lose what was seen before: a bound that was set after
results would look like one that the plan fixed.  The ledger holds names of files, counts, bounds and differences of
plans, and no record, key or path; what an earlier study's own ledger tells is in it too.

A study holds no digest of its data that could confirm a guess, only a fingerprint keyed by its study key.  So a new
study is compared with the data themselves, by an earlier study's key where it lies beside that study; without the key
only the shape of the data is known, and what has the same shape counts as the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.streams import key_check, key_commitment
from engine.common.untrusted import is_plain, parse
from engine.common.wording import listed, plural
from engine.data.microdata import RawTable
from engine.plan import Plan
from engine.plan.differences import CONTEXT, PlanDifference, departures, plan_differences
from engine.study.decision_log import ENTRY, EVENTS, Entry, append, entries, key_at_hand
from engine.study.keys import key_path
from engine.study.study import Study

LEDGER_ENTRY = "ledger"
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


BoundOrigin = Literal["fixed", "chosen", "changed", "after_earlier"]
"""The time at which a bound on risk was set: before any result was there, with the choice, in a change of the plan, or
after results of an earlier study."""


def ledger_of(study: Study) -> Ledger | None:
    """The ledger of a study; None where its log says nothing of earlier studies."""
    return ledger_in(entries(study), study.name)


def ledger_in(log: Sequence[Entry], name: str) -> Ledger | None:
    """The ledger in the decision log of a study of that name; None where the log says nothing of earlier studies."""
    stored = log[0].detail.get(LEDGER_ENTRY) if log else None
    return None if stored is None else parse(Ledger, stored, f"the ledger in the decision log of '{name}'")


def opening(plan: Plan, ledger: Ledger | None) -> dict[str, Any]:
    """The words of the first entry of a log on the plan's bound and of earlier studies."""
    bound = {BOUND_ENTRY: plan.decision.max_risk}
    return bound if ledger is None else {**bound, LEDGER_ENTRY: msgspec.to_builtins(ledger)}


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
        return "chosen"
    if _bound_was_changed(log, study.plan):
        return "changed"
    ledger = ledger_in(log, study.name) or Ledger()
    if all(earlier.bound == bound and earlier.bound_kept for earlier in ledger.had_results):
        return "fixed"
    return "after_earlier"


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
        text += f" under the limit {listed(f'{bound:g}' for bound in study.bounds_chosen)}"
    if study.decision:
        text += f", in the end {decision_words(study.decision)}"
    against = study.later or "this study"
    if not study.differences:
        return f"{text}; its plan is that of {against}"
    return f"{text}; from its plan to that of {against}: {'; '.join(study.differences)}"


SUFFIX = ".study"


@dataclass(frozen=True)
class Predecessors:
    """The statement on earlier studies of the same data by whoever makes a study.

    ``after`` are studies that came before, wherever they lie.  Others lie beside the new one: ``unrelated`` says why
    they have nothing to do with it; without it they came before too, but with ``ask`` no study is made then, so that
    somebody says which it is.
    """

    after: tuple[Path, ...] = ()
    unrelated: str = ""
    ask: bool = False


ALL_COUNT = Predecessors()
"""Every study of the same data that lies beside a new one came before it."""


@dataclass(frozen=True)
class _Found:
    """A study of the same data: its entry in a ledger, and its own ledger."""

    study: EarlierStudy
    ledger: Ledger


def earlier_studies(target: Path, raw: RawTable, plan: Plan, said: Predecessors, keys: Sequence[bytes] = ()) -> Ledger:
    """The ledger of a study that is about to be made at ``target`` of these data with this plan.

    ``keys`` are tried on studies whose own key does not lie beside them.  Raises :class:`UsageError` for a study in
    ``said`` of other data, for studies of the same data of which nothing is said although ``said`` asks for it, and for
    a reason that is about no study.
    """
    named = []
    for path in said.after:
        with Study.open(path) as study:
            found = _found(study, raw, plan, keys)
        if found is None:
            raise UsageError(
                f"study '{path.name}' was made on other data, so it is no earlier study of these; leave it out"
            )
        named.append(found)
    beside, unread = [], []
    # Nobody is asked about studies beside a named one; where all count, those do too.
    for path in _studies_in(target, () if said.ask else said.after):
        try:
            with Study.open(path) as study:
                found = _found(study, raw, plan, keys)
        except EngineError:
            unread.append(path.name)
        else:
            beside += [] if found is None else [found]
    answered = {study.id for found in named for study in (found.study, *found.ledger.earlier)}
    open_names = tuple(found.study.name for found in beside if found.study.id not in answered)
    statements = _statements(open_names, target, said)
    taken = [*named, *(found for found in beside if not statements or found.study.id in answered)]
    return _ledger(taken, statements, tuple(unread))


def is_of_data(study: Study, raw: RawTable, keys: Sequence[bytes] = ()) -> bool | None:
    """Return whether a study is of these data; None where its key is not at hand and the data have its shape."""
    about = study.about
    if about["n_records"] != raw.n_records:
        return False
    streamed = None if raw.streamed is None else list(raw.streamed.rows.names)  # other columns, another digest
    at_hand = key_at_hand(study)
    for key in keys if at_hand is None else (at_hand,):
        if key_check(key) == about["key_check"] and about.get("streamed") == streamed:
            same = raw.has_fingerprint(key, about["fingerprint"])
            if same or raw.streamed is None or not any(part.cut for part in study.plan.attributes):
                return same
            break  # records that are counted by the intervals of a plan have another digest with another plan
    columns = {column for attribute in study.plan.attributes for column in attribute.columns}
    return None if columns <= set(raw.names) else False


def _found(study: Study, raw: RawTable, plan: Plan, keys: Sequence[bytes]) -> _Found | None:
    """A study of the same data; None for one of others."""
    same = is_of_data(study, raw, keys)
    if same is False:
        return None
    return _Found(as_earlier(study, plan, certain=same is True), ledger_of(study) or Ledger())


def _studies_in(target: Path, others: Sequence[Path]) -> Iterator[Path]:
    """The studies that lie beside a new one, and beside ``others``: files that are called so, or whose key lies beside
    them."""
    for folder in dict.fromkeys(path.absolute().parent for path in (target, *others)):
        for path in sorted(folder.iterdir()):
            if path == target.absolute() or path.name.startswith(".") or not is_plain(path):
                continue
            if path.suffix == SUFFIX or key_path(path).exists():
                yield path


def _statements(names: tuple[str, ...], target: Path, said: Predecessors) -> tuple[Unrelated, ...]:
    """The statements that the studies of these names have nothing to do with a new one."""
    why = said.unrelated.strip()
    if why and not names:
        raise UsageError(
            f"no study of these data lies beside '{target.name}' of which nothing is said yet; leave the reason out"
        )
    if names and said.ask and not why:
        them, they = ("it", "it has") if len(names) == 1 else ("them", "they have")
        quoted = listed(f"'{name}'" for name in names)
        raise UsageError(
            f"{quoted} beside '{target.name}' {'is' if len(names) == 1 else 'are'} of the same data, and what was seen "
            f"of {them} belongs in the new study's decision log; name {them} as earlier, or say why {they} nothing to "
            "do with the new study",
            Remedy.EARLIER,
        )
    return (Unrelated(names, why),) if why else ()


def _ledger(taken: Sequence[_Found], statements: tuple[Unrelated, ...], unread: tuple[str, ...]) -> Ledger:
    """The studies that came before, each once, with those that the ledgers of earlier studies name."""
    earlier = {found.study.id: found.study for found in taken}
    for found in taken:
        for study in found.ledger.earlier:
            earlier.setdefault(study.id, replace(study, later=study.later or found.study.name))
    inherited = (statement for found in taken for statement in found.ledger.unrelated)
    return Ledger(
        tuple(sorted(earlier.values(), key=lambda study: (study.begun, study.name))),
        tuple(dict.fromkeys((*inherited, *statements))),
        unread,
    )


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
