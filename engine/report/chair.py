"""The extent of change, for the chair alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.common.wording import upper_first
from engine.decision.altered_groups import AlteredGroup, altered_groups, altered_share, group_caution, groups_to_show
from engine.decision.statements import words
from engine.measures.verdict import Verdict, verdict_words
from engine.mechanisms import amount, mechanism
from engine.models.record_release import RecordRelease, numeric_columns
from engine.release.records import ReleasedTable
from engine.report import codec
from engine.report.context import report_context
from engine.report.detected import release_verdict, units_found, units_words
from engine.report.unit_counts import UnitsChanged, units_changed
from engine.sweeps.reader_attacks import released_misfits

if TYPE_CHECKING:
    from engine.study.study import Study
    from engine.sweeps.remake import Remade


CHAIR = "chair.json"
_MOST_GROUPS = 2000
GROUPS_SHOWN = 40
"""Groups that a document lists."""


@dataclass(frozen=True)
class ChangedRow:
    """An attribute or numeric column: records whose value is another one, and their share."""

    name: str
    records: int
    share: float


@dataclass(frozen=True)
class ChairFacts:
    """The extent of the change.

    ``asked`` is the rate of a random swap as decimal text, ``asked_amount`` the amount of any mechanism in words (empty
    in a bundle of an earlier version), ``amount`` what it counts.  ``records`` is how many were changed in any
    attribute of any of the ``tables``, ``share`` and ``reached`` their share, ``per_table`` how many on average in one
    table, as by attribute.  ``groups`` are the levels of all attributes (of very many those most altered) with the
    share of their records that is altered, ``caution`` says where that is far above the share of all (empty: nowhere,
    or in a bundle of an earlier version).  ``units`` are the households that changed (None: records belong to none).
    ``told`` says how surely columns that stayed tell which records were altered, ``by_tables`` how surely published
    tables of places tell which records or households (empty: they do not).  ``verdict`` is that of all attacks (None:
    in a bundle of an earlier version).
    """

    letter: str
    n_records: int
    mechanism: str
    amount: str
    asked: str
    reached: float
    records: int
    share: float
    tables: int
    per_table: float
    attributes: tuple[ChangedRow, ...]
    groups: tuple[AlteredGroup, ...] = ()
    caution: str = ""
    units: UnitsChanged | None = None
    told: str = ""
    asked_amount: str = ""
    by_tables: str = ""
    verdict: Verdict | None = None

    @property
    def verdict_sentence(self) -> str:
        """The verdict in words; empty where there is none."""
        if self.verdict is None or (self.by_tables and self.verdict.kind == "units"):
            return self.by_tables  # the same, and more
        return verdict_words(self.verdict)

    def to_json(self) -> str:
        """As JSON text."""
        return codec.to_text(self)

    @classmethod
    def from_json(cls, text: str) -> ChairFacts:
        """From JSON text; refuses unknown, missing or mistyped entries by their place."""
        return codec.from_text(cls, text, CHAIR)


def chair_facts(study: Study, realisation: Remade) -> ChairFacts:
    """The extent of the change in one realisation."""
    data, n = realisation.data, realisation.data.n_records
    rows = []
    for j, name in enumerate(data.domain.names):
        changed = float(np.mean([np.count_nonzero(t.codes(j) != data.codes[j]) for t in realisation.tables]))
        rows.append(ChangedRow(name, round(changed), changed / n))
    original = ReleasedTable(data)
    for column in numeric_columns(study.plan, data):
        before = original.numeric(column)
        counts = [np.count_nonzero((t.numeric(column) != before) & ~np.isnan(before)) for t in realisation.tables]
        rows.append(ChangedRow(column, round(float(np.mean(counts))), float(np.mean(counts)) / n))
    spec, attributes = realisation.spec, range(len(data.domain))
    release = RecordRelease(original, realisation.tables, study.plan, spec)
    swap = spec.by_roles
    title = "Random swap" if swap else mechanism(spec.mechanism).title
    groups = altered_groups(realisation)
    min_n, found = study.plan.tolerances.min_n, released_misfits(realisation, study.plan)
    by_tables = units_found(release)
    caution = group_caution(groups, altered_share(realisation), min_n)
    return ChairFacts(
        letter=report_context(study, realisation).letter,
        n_records=n,
        mechanism=title,
        amount=mechanism(spec.mechanism).rate,
        asked=spec.rate,
        asked_amount=str(amount(spec)),
        reached=int(realisation.changed.sum()) / n,
        records=int(realisation.changed.sum()),
        share=int(realisation.changed.sum()) / n,
        tables=len(realisation.tables),
        per_table=float(np.mean([release.changed(table, attributes).sum() for table in realisation.tables])),
        attributes=tuple(rows),
        groups=tuple(groups_to_show(groups, min_n, _MOST_GROUPS)),
        caution=words(caution) if caution else "",
        units=units_changed(realisation),
        told=f"{upper_first(found[0].words)}." if found and found[0].is_telling else "",
        by_tables=units_words(by_tables) if by_tables is not None and by_tables.finds else "",
        verdict=release_verdict(realisation, study.plan),
    )
