"""The values that a report is made of: frozen records of figures and texts.

They are what a board may see: exact figures, the spec and the rate.  Candidates are letters; there is no replicate, no
internal name, no key, no record and no path among them.  Figures that do not exist are None; fields with a default are
left at it in findings of an earlier version, which had none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.decision.gate import ReleasedRun
from engine.decision.statements import Statement
from engine.decision.states import State
from engine.measures.base import Kind
from engine.plan.entries import ReleaseType
from engine.report.log import Event, LedgerFacts
from engine.study.ledger import BoundOrigin

Better = Literal["lower", "higher"]
"""Which figures of a measure are better, as they are shown: of a signed change that is its size."""
FigureKind = Literal[
    "percentage of one attribute",
    "percentage of two attributes",
    "mean",
    "correlation",
    "association",
    "coefficient",
    "cell of a declared table",
]
"""Kinds of figures that users compute."""
Note = Literal["", "new value", "lost", "not estimable"]
"""``new value``: nobody of the group has this value in the original; ``lost``: the release gives no figure;
``not estimable``: neither does the original."""


@dataclass(frozen=True)
class Cover:
    """Who asks for what.  Texts may be empty: a memo then leaves a line to fill in by hand.

    ``recommended`` is the day of the choice (ISO), ``number`` and ``conditions`` those of the approval, ``decided`` the
    day on which the board approved or returned it (empty before).
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
    """What an intruder knows and could do."""

    keys: tuple[str, ...]
    intruder: str
    public_files: tuple[str, ...]
    harm: str


@dataclass(frozen=True)
class Approved:
    """The plan and its approval: number and day of the lock (empty without one), parameters as name and words,
    departures, and the log; ``run_rule`` says which run is released, ``ledger`` what came before (None: unknown),
    ``limit_origin`` when the limit was set (empty: there is none), ``by`` who approved the plan (empty: nobody, or
    findings of an earlier version).  Nobody else is named."""

    number: str
    at: str
    rule: str
    parameters: tuple[tuple[str, str], ...]
    departures: tuple[str, ...]
    log: tuple[Event, ...]
    run_rule: str = ""
    ledger: LedgerFacts | None = None
    limit_origin: BoundOrigin | Literal[""] = ""
    by: str = ""


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
class CandidateRow:
    """A lettered candidate: what it exchanges, mean risk and utility with standard errors, and where it stands.

    ``safer_by`` and ``more_useful_by`` compare it with the recommended one (negative: riskier, less useful), each with
    whether that is beyond the noise; ``share`` is the share of ``shared_runs``, those that all candidates have, in
    which it is on the frontier; ``within`` of its ``runs`` meet the bound (None: no bound, or an earlier version's
    findings). One that ``dominates`` the recommended one is, on average, at least as safe and as useful, and
    better in one of the two. One that is ``also_within`` is no neighbour on the frontier and
    has a letter because it meets the bound.
    """

    letter: str
    words: str
    risk: float | None
    risk_se: float | None
    utility: float | None
    utility_se: float | None
    undominated: bool
    clear: bool
    share: float | None
    within_bound: bool | None
    recommended: bool
    safer_by: float | None
    more_useful_by: float | None
    risk_clear: bool
    utility_clear: bool
    dominates: bool = False
    also_within: bool = False
    shared_runs: int | None = None
    runs: int | None = None
    within: int | None = None


@dataclass(frozen=True)
class Map:
    """The frontier: titles, units and better directions of its axes, counts, the lettered candidates, doing nothing.

    ``frontier`` has the (utility, risk) of all candidates on it, ``others`` the places of the rest, of very many on a
    coarse grid.  ``bound`` is in words; ``n_within`` counts candidates within the bound.
    ``recall`` is the share of the true frontier that the runs are expected to find, rather too high than too low; None
    where it is unknown, or in findings of an earlier version.  ``bound_at`` is the bound on the axis of risk: that of a
    count is the number of records if none were altered, the most that can meet it.  ``bound_asked`` is the share of
    single runs that must meet it (None: the bound is on the mean).  Findings of an earlier version have neither.
    ``within_at`` are the places among ``frontier`` and ``others`` of candidates that meet the bound; None without a
    bound, or in earlier findings.  ``edit_limits`` counts the edit rules with a limit that candidates must meet too.
    """

    risk_title: str
    risk_unit: str
    risk_better: Better
    utility_title: str
    utility_unit: str
    utility_better: Better
    n_candidates: int
    n_frontier: int
    n_within: int | None
    runs: int
    failed: int
    bound: str
    nothing_risk: float | None
    nothing_utility: float | None
    candidates: tuple[CandidateRow, ...]
    frontier: tuple[tuple[float, float], ...]
    others: tuple[tuple[float, float], ...]
    recall: float | None = None
    bound_at: float | None = None
    bound_asked: float | None = None
    within_at: tuple[tuple[float, float], ...] | None = None
    edit_limits: int = 0

    @property
    def recommended(self) -> CandidateRow:
        """The recommended candidate."""
        return next(row for row in self.candidates if row.recommended)

    def utility_change(self, row: CandidateRow) -> float | None:
        """Return by which share of itself the recommended candidate's utility figure differs in another one."""
        own = self.recommended
        return None if row is own or row.utility is None or not own.utility else row.utility / own.utility - 1


@dataclass(frozen=True)
class Recommendation:
    """What is recommended: its letter, the reason given, cautions, alternatives considered.

    ``obstacles`` say what stands against releasing the ``run``; ``despite`` is the reason for which it was submitted
    all the same, empty where it was not.  ``key_fixed`` tells whether the log shows that the secret key was fixed
    before the sweep, ``by_utility`` whether the rule took the most useful candidate within a bound.
    """

    letter: str
    recorded: bool
    rule: str
    why: str
    cautions: tuple[Statement, ...] = ()
    alternatives: tuple[Statement, ...] = ()
    run: ReleasedRun | None = None
    obstacles: tuple[Statement, ...] = ()
    despite: str = ""
    key_fixed: bool = False
    by_utility: bool = False


@dataclass(frozen=True)
class GroupRow:
    """A group of people (one level of one key, the ``attribute``): its size and how many of it are in small cells,
    before and, of the ``unaltered`` ones, whose keys are unaltered, after; ``new`` of these were in none before."""

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
    altered stand in small cells of the release (``unaltered_new`` were in none before); ``small_after`` counts
    everybody there.  ``matches_before`` and ``matches_after`` are the right matches to expect in small cells of
    somebody who knows the keys of everybody and guesses at random among equal records.  ``new_after`` altered records
    have a combination of keys that no original one has.  Counts after are None where an earlier version withheld them.
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
class Figure:
    """A figure that users would compute, before and after.

    ``of`` is its table, column or analysis; ``group`` the area or group that it is within (empty: all records), and
    ``what`` the value or coefficient; a level stands after its attribute and a colon.  It rests on ``n`` records before
    and ``n_after`` after, of the ``within`` of its group in the original and ``within_after`` in the release (None:
    records are not counted).  Percentages are of the group.  ``errors`` is the size of the change in standard errors
    ``se`` of the original's figure; a percentage of which few records have the value or few lack it has the release's
    ``se`` where that is larger, and one of nobody (a ``new value``) has none.  ``flagged`` tells whether it is beyond
    the tolerances (None: it is not judged, as values that did not exist are).  ``why`` says why there is no figure.
    """

    kind: FigureKind
    of: str
    group: str
    what: str
    weighted: bool
    n: int | None = None
    n_after: int | None = None
    within: int | None = None
    within_after: int | None = None
    before: float | None = None
    se: float | None = None
    after: float | None = None
    se_after: float | None = None
    errors: float | None = None
    flagged: bool | None = None
    note: Note = ""
    why: str = ""

    @property
    def relative(self) -> float | None:
        """Change of the figure as a share of itself; None where the original is 0 or there is no figure."""
        if self.before is None or self.after is None or self.before == 0:
            return None
        return (self.after - self.before) / abs(self.before)

    @property
    def is_count(self) -> bool:
        """Whether the figure counts records, so that it can be shown as ``n`` of ``within``."""
        return self.kind.startswith(("percentage", "cell"))


@dataclass(frozen=True)
class NewValue:
    """A value that did not exist in ``groups`` of a table's groups and does in the release: ``records`` have it there,
    most of them in the group of ``most``."""

    of: str
    what: str
    groups: int
    records: int
    most: Figure


@dataclass(frozen=True)
class ModelRow:
    """A declared analysis: what a larger coefficient means (``predicts``), and what coefficients are compared with
    (``references``, factor and level)."""

    analysis: str
    family: str
    formula: str
    predicts: str
    references: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CoefficientRuns:
    """A coefficient under one lettered candidate: its change over ``runs`` runs in standard errors of the original
    (signed: below 0 it falls), as mean, least and most.  ``lost`` runs give no figure; they are not in the others."""

    analysis: str
    name: str
    letter: str
    runs: int
    lost: int
    mean: float | None
    least: float | None
    most: float | None


@dataclass(frozen=True)
class AnalysisRuns:
    """The largest change among an analysis's coefficients under one lettered candidate: its size in standard errors of
    the original, as mean, least and most over runs, and how many of its ``coefficients`` are beyond the tolerances on
    average.  Doing nothing changes none."""

    analysis: str
    letter: str
    runs: int
    coefficients: int
    mean: float | None
    least: float | None
    most: float | None
    beyond: float | None


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
    errors; ``planned`` tells whether the plan sets any of them."""

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
ROW_ORDER, EDITS = "Rows in a random order", "Edit rules"
"""The checks of the order of the public file's rows, and of edit rules where the plan declares none."""


@dataclass(frozen=True)
class Check:
    """One check of the release: what was looked at, what was found, and whether it holds (None: it does not apply)."""

    name: str
    found: Statement
    holds: bool | None


@dataclass(frozen=True)
class Publish:
    """What is proposed to be said in public, and released besides attributes and carried columns (weight, id);
    ``extent`` is a range in words (empty withholds it)."""

    title: str
    wording: str
    extent: str
    include: tuple[str, ...]

    @property
    def has_new_ids(self) -> bool:
        """Whether records are released with new identifiers."""
        return bool({"id", "unit"} & set(self.include))


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
    """How many figures of the release were made again, how many of them came out equal, and with which version."""

    figures: int
    equal: int
    version: str
