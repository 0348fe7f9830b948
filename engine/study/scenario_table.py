"""The scenarios of a study, as its file holds them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.common.stored_values import is_whole
from engine.release.ids import short_ids
from engine.release.release_specs import ReleaseSpecs
from engine.release.scenarios import Scenario, Scenarios
from engine.release.spec import ReleaseSpec
from engine.study import aggregate_cache
from engine.study.aggregate_cache import AggregateCache
from engine.study.database import Database
from engine.study.lease import Lease
from engine.study.scenario_rows import insert_scenarios
from engine.study.subject import Subject

SCHEMA = (
    "create table scenario (id integer primary key, label text, mechanism text, rate text, rule text,"
    " roles text, params text, crc integer)"
)

# Made after the first rows: to sort their labels once takes a third of what it takes to find the place of each.
_INDEX = "create unique index scenario_label on scenario (label)"
_MEMORY = 64_000  # KiB while rows are added, since labels of later ones go all over the index


def count_scenarios(database: Database) -> int:
    """Number of scenarios, without reading them."""
    last = database.rows("select max(id) from scenario")[0][0]
    if last is not None and not is_whole(last):
        raise database.damaged("a candidate has no number")
    return 0 if last is None else last + 1


class ScenarioTable:
    """The scenarios of a study, which are read once."""

    def __init__(self, database: Database, subject: Subject, lease: Lease, cache: AggregateCache) -> None:
        self._database, self._subject, self._lease, self._cache = database, subject, lease, cache
        self._scenarios: Scenarios | None = None

    def count(self) -> int:
        """Number of scenarios, without reading them."""
        return count_scenarios(self._database)

    def all(self) -> Scenarios:
        """All scenarios, by index."""
        if self._scenarios is None:
            arrays = self._cache.get("scenario", lambda: self.read().arrays(), self._database.data_version)
            self._scenarios = Scenarios(self._subject.names, arrays)
        return self._scenarios

    def read(self) -> Scenarios:
        """All scenarios, read from their rows rather than from the arrays stored of them."""
        with self._database.errors_in_words():
            rows = self._database.connection.execute("select * from scenario order by id")
            try:
                return Scenarios.of_rows(self._subject.names, rows, sums=self._subject.has_sums)
            except ValueError as error:
                raise self._database.damaged(str(error)) from None

    def refresh(self) -> None:
        """Read the scenarios again when they are next asked for, if there are others by now."""
        if self._scenarios is not None and len(self._scenarios) != self.count():
            self._scenarios = None

    def reuse(self, scenarios: Scenarios) -> None:
        """Use scenarios that were read from this study before, unless it has grown since: they may be a million."""
        if len(scenarios) == self.count():
            self._scenarios = scenarios

    def add(self, specs: Sequence[ReleaseSpec]) -> np.ndarray:
        """Add those specs that the study does not hold yet; labels given once never change.  Returns the index of each
        spec in the study."""
        asked = ReleaseSpecs.of(specs, self._subject.names)
        with self._lease.change() as db:
            self.refresh()
            known = self._scenarios
            if known is None:
                known = self._scenarios = self.read()
            start = len(known)
            first = known.specs.joined(asked).first_equal()[start:]
            is_new = first == np.arange(start, start + len(asked))
            numbers = np.concatenate([np.arange(start), start + np.cumsum(is_new) - 1])
            new, indices = asked.take(is_new).compact(), np.asarray(numbers[first])
            if not len(new):
                return indices
            labels = short_ids(new.digests(), known.label_texts)
            aggregate_cache.invalidate(db, "scenario")
            sums, (usual,) = self._subject.has_sums, db.execute("pragma cache_size").fetchone()
            db.execute(f"pragma cache_size = {-_MEMORY}")
            insert_scenarios(db, start, labels, new, sums)
            if not start:
                db.execute(_INDEX)
            db.execute(f"pragma cache_size = {usual}")
        self._scenarios = Scenarios.of_specs(np.concatenate([known.label_texts, labels]), known.specs.joined(new))
        return indices

    def find(self, text: str) -> tuple[Scenario, int | None]:
        """Return the scenario, and the replicate if one is named, of an id such as ``x7f3`` or ``x7f3/12``;
        :class:`UsageError` where there is none."""
        if not isinstance(text, str):
            raise UsageError(f"a candidate is of type {type(text).__name__}, must be an id such as 'x7f3'")
        label, slash, replicate = text.strip().partition("/")
        scenarios = self.all()
        index = scenarios.index_of(label)
        if index is None:
            near = did_you_mean(label, scenarios.labels())
            raise UsageError(f"the study has no candidate '{text}'.{near}")
        if not slash:
            return scenarios[index], None
        if replicate.isdecimal():
            return scenarios[index], int(replicate)
        raise UsageError(f"candidate '{text}': the replicate '{replicate}' must be a whole number, such as {label}/1.")
