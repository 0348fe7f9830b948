"""Sentences on the run to be released and on fresh runs, from findings alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import plural, upper_first
from engine.report.words import figure

if TYPE_CHECKING:
    from engine.report.map_facts import ReleasedRun


def on_frontier_words(share: float, shared_runs: int | None) -> str:
    """In how many of the single runs that all candidates have one is on the frontier; ``share`` is of these."""
    if shared_runs is None:
        return "under 1 % of them" if share < 0.005 else f"{100 * share:.0f} % of them"
    return f"{round(share * shared_runs):,} of {plural(shared_runs, 'run')} that all candidates share"


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
