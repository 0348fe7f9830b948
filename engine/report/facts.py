"""The values that a report is made of: frozen records of figures and texts.

They are what a board may see: exact figures, the spec and the rate.  Candidates are letters; there is no replicate, no
internal name, no key, no record and no path among them.  Figures that do not exist are None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.decision.statements import Statement
from engine.decision.states import State
from engine.measures.base import Kind
from engine.plan.entries import ReleaseType
from engine.report.ledger_facts import LedgerFacts
from engine.report.log import Event
from engine.report.loss_facts import AnalysisRuns, CoefficientRuns, Figure, ModelRow

Better = Literal["lower", "higher"]
"""Which figures of a measure are better, as they are shown: of a signed change that is its size."""
LimitOrigin = Literal["fixed", "chosen", "changed", "after_earlier"]
"""When a limit on risk was set (see :class:`engine.study.ledger.BoundOrigin`)."""
Statistic = Literal["Pearson's r", "Cramér's V", "contingency coefficient C"]
"""How an association is measured."""


@dataclass(frozen=True)
class Cover:
    """Who asks for what.  Texts may be empty: a memo then leaves a line to fill in by hand.

    ``recommended`` is the day of the choice (ISO), ``number`` and ``conditions`` those of the approval, ``decided`` the
    day on which the board approved or returned it (empty before, and in findings of an earlier version).
    """

    classification: str
    title: str
    survey: str
    vintage: str
    sponsor: str
    contact: str
    authority: str
    release_type: ReleaseType
    changes: str
    overlaps: str
    state: State
    state_words: str
    recommended: str
    number: str
    conditions: str
    decided: str = ""


@dataclass(frozen=True)
class AttributeRow:
    """One coded attribute: the columns behind it, how many levels it has, how it is coded, whether an intruder knows
    it and users tabulate it, its role in the recommended release in words, and the label of its column (empty: it has
    none that says more than the name)."""

    name: str
    columns: tuple[str, ...]
    levels: int
    coding: str
    key: bool
    analysed: bool
    role: str
    label: str = ""


@dataclass(frozen=True)
class Design:
    """The data: records, what stays with them, weights, and design in words; the method in words, and whether it is
    the exchange of values between records; ``n_units`` is the number of households (0 where records belong to none)."""

    n_records: int
    attributes: tuple[AttributeRow, ...]
    carried: tuple[str, ...]
    dropped: int
    numeric: tuple[str, ...]
    design: str
    geography: str
    method: str
    swap: bool
    tables: int
    n_units: int = 0


@dataclass(frozen=True)
class Threat:
    """What an intruder knows, and how many people stand alone or nearly alone under it in the original."""

    keys: tuple[str, ...]
    intruder: str
    public_files: tuple[str, ...]
    harm: str
    combinations: int
    cells: int
    ones: int
    twos: int


@dataclass(frozen=True)
class Approved:
    """The plan and its approval: number and day of the lock (empty without one), parameters as name and words,
    departures, and the log; ``run_rule`` says which run is released, ``ledger`` what came before (None: unknown),
    ``limit_origin`` when the limit was set (empty: there is none, or findings of an earlier version).  Nobody is named.
    """

    number: str
    at: str
    rule: str
    parameters: tuple[tuple[str, str], ...]
    departures: tuple[str, ...]
    log: tuple[Event, ...]
    run_rule: str = ""
    ledger: LedgerFacts | None = None
    limit_origin: LimitOrigin | Literal[""] = ""


@dataclass(frozen=True)
class MeasureRow:
    """One measure: before, the mean over runs with its standard error, and the run to be released."""

    title: str
    kind: Kind
    meaning: str
    unit: str
    better: Better
    before: float | None
    mean: float | None
    se: float | None
    released: float | None
    fresh: float | None
    chosen_by: bool


@dataclass(frozen=True)
class GroupRow:
    """A group of people (one level of one key): its size and how many of it are in small cells, before and, of the
    ``unaltered`` ones, whose keys are unaltered, after; ``new`` of these were in none before.  ``attribute`` is the key
    (empty in findings of an earlier version, as ``unaltered`` and ``new`` are None)."""

    group: str
    people: int
    before: int
    after: int
    attribute: str = ""
    unaltered: int | None = None
    new: int | None = None

    @property
    def of_after(self) -> int:
        """The number that ``after`` is a part of: unaltered records, as for the limit; all in an earlier version."""
        return self.people if self.unaltered is None else self.unaltered


@dataclass(frozen=True)
class Exposure:
    """Small cells of the keys' table, before and after.  ``fewest`` is the count from which a cell is large.

    ``small_before`` people stand in small cells of the original; ``unaltered_after`` of those whose keys were not
    altered stand in small cells of the release; ``small_after`` counts everybody there, altered or not.
    ``matches_before`` and ``matches_after`` are the right matches to expect in small cells of somebody who knows the
    keys of everybody and guesses at random among equal records (None in findings of an earlier version).
    ``new_after`` altered records have a combination of keys that no original one has.  ``unaltered_new`` of the
    ``unaltered_after`` were in no small cell before (None in findings of an earlier version).  Counts after are None in
    a bundle of an earlier version that withholds them.
    """

    fewest: int
    small_before: int
    small_after: int | None
    unaltered_after: int | None
    groups: tuple[GroupRow, ...]
    matches_before: int | None = None
    matches_after: float | None = None
    new_after: int | None = None
    unaltered_new: int | None = None


@dataclass(frozen=True)
class NamedTable:
    """A table that users make: its attributes, its cells that hold anybody before or after, and how many change, the
    ``largest`` of these by its share of the group (None: none changes).  ``reverses`` tells whether two attributes of
    two levels each have an association of the other sign in the release."""

    name: str
    attributes: tuple[str, ...]
    cells: int
    changed: int
    largest: Figure | None = None
    reverses: bool = False


@dataclass(frozen=True)
class Tally:
    """Figures of a kind: all that users would compute (``compared``), of these those that the release cannot change
    (``unchangeable``), those that it can change and that rest on enough records (``eligible``), and of these those
    beyond the tolerances (``flagged``): by their change relative to themselves, by standard errors, or both.  ``new``
    are values that did not exist in their group, which are not judged."""

    kind: str
    compared: int
    eligible: int
    flagged: int
    unchangeable: int = 0
    by_change: int = 0
    by_errors: int = 0
    new: int = 0


@dataclass(frozen=True)
class Tolerances:
    """From where on a figure is flagged: relative change, least number of records, standard errors, ratio of standard
    errors; ``planned`` tells whether the plan sets any of them (None in findings of an earlier version)."""

    change: float
    min_n: int
    se: float
    se_ratio: float
    planned: bool | None = None


@dataclass(frozen=True)
class Utility:
    """What users lose: every figure that changes, the largest change first, and how many there are of each kind.

    ``figures`` hold all that are beyond the tolerances, and of the others those that change most; ``tallies`` count
    all.  ``associations`` sum up percentages of two attributes and are not judged.  ``models`` say what the analyses
    predict; ``coefficient_runs`` and ``analysis_runs`` set them side by side for lettered candidates.  ``unused`` are
    attributes that the release alters and that no declared use looks at.
    """

    tolerances: Tolerances
    tallies: tuple[Tally, ...]
    figures: tuple[Figure, ...]
    associations: tuple[Figure, ...]
    tables: tuple[NamedTable, ...]
    models: tuple[ModelRow, ...] = ()
    coefficient_runs: tuple[CoefficientRuns, ...] = ()
    analysis_runs: tuple[AnalysisRuns, ...] = ()
    unused: tuple[str, ...] = ()


RECODES, MISFITS = "Recodes kept", "Altered records hidden"
"""The checks of columns that others decide, or nearly so, by their names."""


ROW_ORDER = "Rows in a random order"
"""The check of the order in which the public file has its rows, by its name."""


EDITS = "Edit rules"
"""The check of edit rules where the plan declares none, by its name."""


@dataclass(frozen=True)
class Check:
    """One check of the release: what was looked at, what was found, and whether it holds (None: it does not apply)."""

    name: str
    found: Statement
    holds: bool | None


@dataclass(frozen=True)
class Publish:
    """What is proposed to be said in public, and released besides attributes and carried columns (weight, id)."""

    title: str
    wording: str
    extent: str
    include: tuple[str, ...]


@dataclass(frozen=True)
class Claims:
    """What was looked at, record by record, of the statements of the public paragraph: ``differing`` are the attributes
    of which some record of the release has another value than in the original; ``weaker`` says whether of each of
    these the strongest association with another attribute is weaker (None: none was compared), ``extent`` whether the
    share of records changed lies in the range that is told (None: none is)."""

    differing: tuple[str, ...]
    weaker: bool | None = None
    extent: bool | None = None


@dataclass(frozen=True)
class Certificate:
    """What was made again and compared, and with which versions."""

    figures: int
    equal: int
    version: str
    stream_version: int
    platform: tuple[tuple[str, str], ...]
