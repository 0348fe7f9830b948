"""Scenarios of a study with their short ids, results of their runs, progress and recorded choices, as values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum, IntEnum
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from engine.common.errors import UsageError
from engine.common.raw_values import first_places
from engine.common.untrusted import from_json, sum_of
from engine.release.spec import DIGEST_BYTES, ROLES, RULES, ReleaseSpec, rate_text
from engine.release.specs import Procedure, ReleaseSpecs, Specs

NO_IDS = np.zeros(0, "S1")
"""None taken yet."""
_FEWEST = 3  # hexadecimal digits of an id
_ONE_BY_ONE = 1_000  # so many are done sooner one by one
_MOST_AT_ONCE = 16  # digits that a whole number of 64 bits holds


def short_ids(digests: np.ndarray, taken: np.ndarray = NO_IDS) -> np.ndarray:
    """A short id for each digest (a row of ten bytes), in order: its shortest prefix, of three hexadecimal digits or
    more, that no earlier one has and that is not ``taken``, after an x.

    Digests differ from each other and from those whose ids are taken.  Ids are texts of dtype S.  Once given they never
    change, since those that are given later come later in the order.
    """
    text = np.frombuffer(digests.tobytes().hex().encode(), np.uint8).reshape(len(digests), 2 * DIGEST_BYTES)
    head = np.ascontiguousarray(digests[:, :8]).view(">u8").astype(np.uint64).ravel()
    lengths, left, n_digits = np.zeros(len(digests), np.int64), np.arange(len(digests)), _FEWEST
    taken_lengths = np.char.str_len(taken) - 1
    while len(left) > _ONE_BY_ONE and n_digits <= _MOST_AT_ONCE:
        prefixes = head[left] >> np.uint64(4 * (_MOST_AT_ONCE - n_digits))
        is_free = first_places(prefixes) == np.arange(len(left))
        if len(taken):
            is_free &= ~np.isin(prefixes, _numbers(taken[taken_lengths == n_digits], n_digits))
        free = np.flatnonzero(is_free)
        lengths[left[free]] = n_digits
        left = left[~is_free]
        n_digits += 1
    known = set(taken[taken_lengths >= n_digits].tolist())
    for index in left.tolist():
        label = b"x" + text[index].tobytes()
        length = next((k for k in range(n_digits, len(label)) if label[: k + 1] not in known), 0)
        if not length:
            raise UsageError(f"two different scenarios share the digest {label[1:].decode()}; report this")
        known.add(label[: length + 1])
        lengths[index] = length
    width = int(lengths.max(initial=0))
    labels = np.zeros((len(digests), 1 + width), np.uint8)
    labels[:, 0] = ord("x")
    labels[:, 1:] = np.where(np.arange(width) < lengths[:, None], text[:, :width], 0)
    return labels.view(f"S{1 + width}").ravel()


def _numbers(labels: np.ndarray, n_digits: int) -> np.ndarray:
    """The numbers that labels of so many hexadecimal digits show."""
    signs = labels.astype(f"S{1 + n_digits}").view(np.uint8).reshape(len(labels), 1 + n_digits)[:, 1:]
    digits = np.where(signs >= ord("a"), signs - ord("a") + 10, signs - ord("0")).astype(np.uint64)
    return np.asarray((digits << np.arange(4 * n_digits - 4, -1, -4, dtype=np.uint64)).sum(axis=1, dtype=np.uint64))


class RunStatus(IntEnum):
    """Status of a run; studies store the number."""

    OK = 0
    """It was done."""
    FAILED = 1
    """Too few feasible pairs were left."""
    NOOP = 2
    """It changed nothing: the released rows are those of the original."""
    PARTIAL = 3
    """It was done, and some records were left without a partner."""

    @property
    def word(self) -> str:
        """The status as files and tables name it, such as ``noop``."""
        return self.name.lower()


class NoteKind(Enum):
    """The source of a note on a run: a measure's remark beside its figure (such as why it is undefined), the count
    behind a figure, or a count of the mechanism."""

    FIGURE = "figure"
    COUNT = "count"
    DIAGNOSTICS = "diagnostics"


class Note(NamedTuple):
    """A note on the run ``replicate`` of a scenario (its index); ``measure`` is the column of the measure that it
    belongs to, None for :attr:`NoteKind.DIAGNOSTICS`."""

    scenario: int
    replicate: int
    kind: NoteKind
    measure: int | None
    text: str


def mean_diagnostics(notes: Iterable[Note]) -> dict[str, float | tuple[str, ...]]:
    """What a mechanism counted in its runs: by name the mean over runs, or the different texts where one is none."""
    seen: dict[str, list[object]] = {}
    for note in notes:
        if note.kind is NoteKind.DIAGNOSTICS:
            for name, value in json.loads(note.text).items():
                seen.setdefault(name, []).append(value)
    found: dict[str, float | tuple[str, ...]] = {}
    for name, values in seen.items():
        numbers = [float(value) for value in values if isinstance(value, int | float)]
        texts = tuple(dict.fromkeys(str(value) for value in values if value not in ("", None)))
        found[name] = sum(numbers) / len(numbers) if len(numbers) == len(values) else texts
    return found


@dataclass(frozen=True)
class Results:
    """Realisations as columns: indices of their scenarios, replicates, statuses (:class:`RunStatus`), changed records,
    and one column of ``values`` per measure."""

    scenario: np.ndarray
    replicate: np.ndarray
    status: np.ndarray
    changed: np.ndarray
    values: np.ndarray

    def __len__(self) -> int:
        return len(self.scenario)

    def counted(self, allow_partial: bool) -> np.ndarray:
        """Mask of realisations that enter means and frontiers: failed runs only when allowed."""
        return np.ones(len(self), bool) if allow_partial else self.status != RunStatus.FAILED

    @property
    def changes_nothing(self) -> np.ndarray:
        """Mask of realisations whose released rows are those of the original."""
        mask: np.ndarray = self.status == RunStatus.NOOP
        return mask

    def is_void(self, row: int) -> bool:
        """Return whether a realisation must not be released: it changes nothing, or failed before it swapped any
        record."""
        status = self.status[row]
        return bool(status == RunStatus.NOOP or (status == RunStatus.FAILED and self.changed[row] == 0))


class StoredResults(Results):
    """Realisations that are read from the study when a column of them is first looked at; ``n`` is their number."""

    _n: int
    _read: Callable[[], Results]

    def __init__(self, n: int, read: Callable[[], Results]) -> None:
        object.__setattr__(self, "_n", n)
        object.__setattr__(self, "_read", read)

    def __len__(self) -> int:
        return self._n

    def __getattr__(self, name: str) -> np.ndarray:
        columns = [field.name for field in fields(Results)]
        if name not in columns:
            raise AttributeError(name)
        results = self._read()
        for column in columns:
            object.__setattr__(self, column, getattr(results, column))
        return np.asarray(getattr(results, name))


def first_runs(results: Results, runs: np.ndarray) -> Results:
    """The first ``runs`` replicates of every scenario only, whether or not there are more."""
    use = results.replicate <= runs[results.scenario]
    return Results(*(getattr(results, f.name)[use] for f in fields(Results)))


CODED = ("mechanism", "rate", "rule", "roles", "params")
"""Columns of a scenario besides its label."""
LABEL = re.compile("x[0-9a-f]{3,20}")
"""Pattern of a candidate's id."""
_CHUNK = 50_000  # rows read at once: Python's own objects for all of them would take many times the memory


@dataclass(frozen=True)
class Scenario:
    """A release spec in a study: its index, its short label (such as ``x7f3``) and what it is."""

    index: int
    label: str
    spec: ReleaseSpec


class Scenarios(Sequence[Scenario]):
    """Scenarios by index, each made when it is looked at: a study may hold a million.

    Labels are an array, all else codes into the few different values that occur.
    """

    def __init__(self, names: tuple[str, ...], arrays: dict[str, np.ndarray]) -> None:
        self._labels = arrays["label"]
        self._order = arrays.get("order")
        self._codes = {name: arrays[name] for name in CODED}
        self._values = {name: tuple(arrays[f"{name} values"].tolist()) for name in CODED}
        self._names = names

    @classmethod
    def of_specs(cls, labels: np.ndarray, specs: ReleaseSpecs) -> Scenarios:
        """Return the scenarios of these specs and labels (texts of dtype S), as :meth:`of_rows` reads them back."""
        arrays = {"label": labels if len(labels) else np.zeros(0, "S1")}
        for name in CODED:
            codes, values = specs.procedure_codes, [_stored(procedure, name) for procedure in specs.procedures]
            if name == "roles":
                codes, values = specs.spec_codes, list(specs.specs.texts())
            # codes into the different values that occur, in order of appearance, in place of those into
            # ``values``; and these
            used = codes[first_places(codes) == np.arange(len(codes))]
            texts = [values[code] for code in used.tolist()]
            appearing = list(dict.fromkeys(texts))
            renumbered = np.zeros(len(values), np.int32)
            if len(appearing) == len(texts):
                renumbered[used] = np.arange(len(texts))
            else:
                places = {text: place for place, text in enumerate(appearing)}
                renumbered[used] = [places[text] for text in texts]
            arrays[name] = renumbered[codes]
            arrays[f"{name} values"] = np.array(appearing, np.str_)
        scenarios = cls(specs.specs.names, arrays)
        vars(scenarios)["specs"] = specs  # at hand already
        return scenarios

    @classmethod
    def of_rows(cls, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> Scenarios:
        """Return those of the rows (index, label, mechanism, rate, rule, roles, params, check sum), in the order of
        their indices.  :class:`ValueError` says what in them cannot be."""
        labels: list[bytes] = []
        where: dict[str, dict[str, int]] = {name: {} for name in CODED}
        parts: dict[str, list[np.ndarray]] = {name: [np.zeros(0, np.int32)] for name in CODED}
        left = iter(rows)
        while chunk := list(islice(left, _CHUNK)):
            if any(sum_of(row[:7]) != row[7] for row in chunk):
                raise ValueError("a candidate does not fit its check sum")
            if [row[0] for row in chunk] != list(range(len(labels), len(labels) + len(chunk))):
                raise ValueError("a candidate is missing")
            if not all(isinstance(row[1], str) and LABEL.fullmatch(row[1]) for row in chunk):
                raise ValueError("the id of a candidate is malformed")
            labels += [row[1].encode() for row in chunk]
            for at, name in enumerate(CODED, start=2):
                known, column = where[name], [row[at] for row in chunk]
                for value in dict.fromkeys(column):
                    known.setdefault(value, len(known))
                parts[name].append(np.fromiter(map(known.__getitem__, column), np.int32, len(column)))
        _check_values(names, where)
        arrays = {"label": np.array(labels or np.zeros(0, "S1"))}
        for name in CODED:
            arrays |= {name: np.concatenate(parts[name]), f"{name} values": np.array(list(where[name]), np.str_)}
        return cls(names, arrays)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays that they are made of, to be stored: ``Scenarios(names, arrays)`` are the same."""
        arrays = {"label": self._labels, "order": self._sorted()}
        for name in CODED:
            arrays |= {name: self._codes[name], f"{name} values": np.array(self._values[name], np.str_)}
        return arrays

    def __len__(self) -> int:
        return len(self._labels)

    def __iter__(self) -> Iterator[Scenario]:
        for index, (label, spec) in enumerate(zip(self.labels(), self.specs, strict=True)):
            yield Scenario(index, label, spec)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    @overload
    def __getitem__(self, index: int) -> Scenario: ...

    @overload
    def __getitem__(self, index: slice) -> list[Scenario]: ...

    def __getitem__(self, index: int | slice) -> Scenario | list[Scenario]:
        chosen = range(len(self))[index]  # an IndexError beyond the end, negative ones from the end
        return self._made(chosen) if isinstance(chosen, int) else [self._made(i) for i in chosen]

    def mechanism(self, index: int) -> str:
        """The mechanism of one scenario, without making it."""
        result: str = self._values["mechanism"][self._codes["mechanism"][index]]
        return result

    @cached_property
    def specs(self) -> ReleaseSpecs:
        """The specs of all, by index."""
        columns = ("mechanism", "rate", "rule", "params")
        sizes = [max(1, len(self._values[name])) for name in columns]
        combined = np.ravel_multi_index([self._codes[name] for name in columns], sizes)
        used, codes = np.unique(combined, return_inverse=True)
        parts = zip(*(places.tolist() for places in np.unravel_index(used, sizes)), strict=True)
        texts = ([self._values[name][place] for name, place in zip(columns, row, strict=True)] for row in parts)
        procedures = [Procedure(name, rate, rule, _params(params)) for name, rate, rule, params in texts]
        specs = Specs.of_texts(self._names, self._values["roles"])
        return ReleaseSpecs(specs, procedures, self._codes["roles"], codes.astype(np.int32))

    @property
    def label_texts(self) -> np.ndarray:
        """The labels of all, by index, as texts of dtype S."""
        return self._labels

    def labels(self) -> list[str]:
        """The labels of all, by index."""
        return [label.decode() for label in self._labels.tolist()]

    def coded(self, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
        """One of mechanism, rate, rule, roles and params of every scenario as codes, with the values that they stand
        for in order of appearance."""
        return self._codes[name], self._values[name]

    def index_of(self, label: str | None) -> int | None:
        """Return the index of a scenario by its label; None where there is no such one."""
        if not label or not label.isascii() or len(label) > self._labels.dtype.itemsize or not len(self):
            return None
        order, wanted = self._sorted(), np.array(label.encode(), self._labels.dtype)
        at = int(np.searchsorted(self._labels, wanted, sorter=order))
        exists = at < len(order) and self._labels[order[at]] == wanted
        return int(order[at]) if exists else None

    def _sorted(self) -> np.ndarray:
        if self._order is None:  # made when somebody asks
            self._order = np.argsort(_as_numbers(self._labels))
        return self._order

    def _made(self, index: int) -> Scenario:
        return Scenario(index, self._labels[index].decode(), self.specs[index])


SweepState = Literal["new", "running", "cancelled", "finished", "failed"]


@dataclass(frozen=True)
class Progress:
    """Progress of the sweep that fills a study: when it ``started``, and when it ``ends`` at its pace (seconds since
    1970; 0 while nobody can tell)."""

    state: SweepState
    done: int
    total: int
    started: float
    message: str = ""
    ends: float = 0.0


@dataclass(frozen=True)
class Choice:
    """A recorded decision: scenario and realisation, the rule in words, the reason given, and when."""

    at: float
    label: str
    replicate: int
    rule: str
    why: str
    state: str
    record: dict[str, Any]


def _as_numbers(labels: np.ndarray) -> np.ndarray:
    """Labels as numbers in the same order, which sort ten times as fast, where 64 bits hold them."""
    if labels.dtype.itemsize > np.uint64().itemsize:
        return labels
    return labels.astype("S8").view(">u8").astype(np.uint64)


def _stored(procedure: Procedure, name: str) -> str:
    """A part of a procedure as it is stored; none for the roles, which are no part of it."""
    return params_text(procedure.params) if name == "params" else str(getattr(procedure, name, ""))


def _check_values(names: tuple[str, ...], values: Mapping[str, Iterable[Any]]) -> None:
    """Refuse (:class:`ValueError`) what no scenario says of itself: each value once, for there are few."""
    for name, fits in (
        ("mechanism", lambda text: text.isidentifier()),
        ("rate", lambda text: not text or rate_text(text) == text),
        ("rule", lambda text: text in RULES),
        ("roles", lambda text: len(text) == len(names) and not set(text) - set(ROLES)),
        ("params", lambda text: all(isinstance(part, str) for pair in _params(text) for part in pair)),
    ):
        for value in values[name]:
            try:
                sound = isinstance(value, str) and fits(value)
            except (ValueError, TypeError, UsageError):
                sound = False
            if not sound:
                raise ValueError(f"the {name} of a candidate is none that the program knows")


def _params(text: str) -> tuple[tuple[str, str], ...]:
    """A mechanism's parameters as they are stored; the random swap, of which there are very many, has none."""
    return () if len(text) < 3 else tuple((name, value) for name, value in from_json(text))


def params_text(params: tuple[tuple[str, str], ...]) -> str:
    """Return the text that :func:`_params` reads."""
    return json.dumps(params) if params else "[]"
