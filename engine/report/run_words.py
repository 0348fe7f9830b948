"""Sentences on the run to be released and on fresh runs, from findings alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import plural, upper_first
from engine.frontier.summary import FEWEST_RUNS
from engine.report.redaction import is_count_title
from engine.report.small_cells import is_none
from engine.report.words import figure

if TYPE_CHECKING:
    from engine.report.findings import Findings
    from engine.report.map_facts import CandidateRow, ReleasedRun

KEY_FIXED = "The secret key that all chance follows from was fixed before the sweep."


def tells_share(row: CandidateRow) -> bool:
    """Whether as many runs are shared by all candidates as support a statement about single runs."""
    return row.shared_runs is None or row.shared_runs >= FEWEST_RUNS


def on_frontier_words(share: float, shared_runs: int | None) -> str:
    """In how many of the single runs that all candidates have one is on the frontier; ``share`` is of these."""
    if shared_runs is None:
        return "under 1 % of them" if share < 0.005 else f"{100 * share:.0f} % of them"
    return f"{round(share * shared_runs):,} of {plural(shared_runs, 'run')} that all candidates share"


def standing_sentences(findings: Findings) -> list[str]:
    """Which place the run takes among its siblings, that a rule took it, and how many of them meet the bound; empty
    before anything is recommended."""
    run = findings.recommendation.run
    if run is None:
        return []
    place = none_exposed_words(findings) or f"{_place_words(run)}."
    return [sentence for sentence in (place, picked_words(findings), _within(run)) if sentence]


def none_exposed_words(findings: Findings) -> str:
    """How many runs have no exposed record at all, where the run to be released is one of several; else empty."""
    run = findings.recommendation.run
    if run is None or run.as_safe is None or run.as_safe < 2 or run.place > 1 or run.released != 0:
        return ""
    if not (is_count_title(run.title, of_keys=True) and is_none(findings)):
        return ""
    return f"{run.as_safe} of {run.of} runs have no exposed record, and the one to be released is one of them."


def expected_words(findings: Findings) -> str:
    """What the method does, beside the figure of the run to be released; empty before anything is recommended."""
    run = findings.recommendation.run
    return "" if run is None else _expected(run)


def picked_words(findings: Findings) -> str:
    """That a rule took the first run that qualifies, where the run is a safest one all the same: that is chance."""
    run = findings.recommendation.run
    if run is None or run.place > 1 or not findings.recommendation.takes_first:
        return ""
    return "The rule took the first run that qualifies, not the safest."


def fresh_within(findings: Findings) -> str:
    """How many fresh runs meet the bound, beside what the plan asks; empty without either."""
    run = findings.recommendation.run
    if run is None or run.fresh is None or run.fresh_within is None or run.fresh_low is None or run.fresh_high is None:
        return ""
    return fresh_within_words(run.fresh_within, run.fresh, run.fresh_low, run.fresh_high, run.asked)


def fresh_beside(findings: Findings) -> str:
    """The same, in short where the sentence before it says it of the runs that led to the choice."""
    run, text = findings.recommendation.run, fresh_within(findings)
    if not text or run is None or not _within(run) or run.fresh_low is None or run.fresh_high is None:
        return text
    wanted = _wanted(run.asked)
    return f"Of {run.fresh} fresh runs {run.fresh_within} do ({_limits(run.fresh_low, run.fresh_high)}); {wanted}."


def fresh_within_words(within: int, runs: int, low: float, high: float, asked: float | None) -> str:
    """How many fresh runs meet the bound, what that says of all runs, and which share the plan asks for (None: its
    bound is on the mean)."""
    return (
        f"{within} of {runs} fresh runs meet the bound on risk, so {_limits(low, high)} of all such runs do (95 % "
        f"confidence); {_wanted(asked)}."
    )


def _wanted(asked: float | None) -> str:
    return "the bound is on their average" if asked is None else f"the plan asks for {100 * asked:.3g} %"


def key_sentences(findings: Findings) -> list[str]:
    """That the key was fixed beforehand, where the log shows it."""
    return [KEY_FIXED] if findings.recommendation.run and findings.recommendation.key_fixed else []


def place_sentence(run: ReleasedRun) -> str:
    """Which place the run takes among its siblings, and which figure to expect of the method."""
    return f"{_place_words(run)}. {_expected(run)}".rstrip()


def _place_words(run: ReleasedRun) -> str:
    place = "the least risky" if run.place == 1 else "the riskiest" if run.place == run.of else f"number {run.place}"
    if run.place == 1 and run.as_safe is not None and run.as_safe > 1:
        place = f"one of {run.as_safe} that are equally safe, the safest of all"
    counted = " from the safest" if 1 < run.place < run.of else ""
    return f"Of {run.of} runs that differ only in chance, the one to be released is {place}{counted}"


def _expected(run: ReleasedRun) -> str:
    if run.released is None or run.mean is None:
        return ""
    words = f"{upper_first(run.title)} {figure(run.released)}, on average over all runs {figure(run.mean)}"
    if run.quantile is not None and run.asked is not None:
        words += f", and at most {figure(run.quantile)} in {100 * run.asked:.3g} % of them"
    return f"{words}. The average, not this one run, shows what the method does."


def _within(run: ReleasedRun) -> str:
    if run.within is None or run.low is None or run.high is None:
        return ""
    return (
        f"{run.within} of the {run.of} runs meet the bound on risk, so {_limits(run.low, run.high)} of all such runs "
        "do (95 % confidence)."
    )


def _limits(low: float, high: float) -> str:
    """Both limits in percent, to one digit after the point; an end of 0 or 100 has none."""
    return f"{_percent(low)} to {_percent(high)} %"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}" if share in (0, 1) else f"{100 * share:.1f}"
