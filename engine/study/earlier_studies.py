"""Find the earlier studies of the same data, for the ledger of a new one.

A study holds no digest of its data that could confirm a guess, only a fingerprint keyed by its study key.  So whoever
makes a new study compares: the data are at hand, and so is an earlier study's key where it lies beside that study.
Without the key only the shape of the data is known, and what has the same shape counts as the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.streams import key_check
from engine.common.untrusted import is_plain
from engine.common.wording import listed
from engine.data.microdata import RawTable
from engine.plan import Plan
from engine.study.keys import key_path
from engine.study.ledger import EarlierStudy, Ledger, Unrelated, as_earlier, ledger_of
from engine.study.log_seal import key_at_hand
from engine.study.study import Study

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
