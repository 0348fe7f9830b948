"""Facts of the map and of the recommendation on it."""

from __future__ import annotations

from dataclasses import dataclass

from engine.decision.gate import ReleasedRun
from engine.decision.statements import Statement
from engine.report.facts import Better


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
    bound, or in earlier findings.
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
