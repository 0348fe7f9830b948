"""Sentences on the run to be released, from findings alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import lower_first
from engine.report.words import figure

if TYPE_CHECKING:
    from engine.report.findings import Findings
    from engine.report.map_facts import ReleasedRun

KEY_FIXED = "The secret key that all chance follows from was fixed before the sweep."


def run_sentences(findings: Findings) -> list[str]:
    """Which place the run takes among its siblings, which figure to expect, how many of them meet the bound, and that
    the key was fixed beforehand; empty before anything is recommended."""
    return [*standing_sentences(findings), *key_sentences(findings)]


def standing_sentences(findings: Findings) -> list[str]:
    """Which place the run takes among its siblings, which figure to expect, and how many of them meet the bound."""
    run = findings.recommendation.run
    return [sentence for sentence in (_place(run), _within(run)) if sentence] if run else []


def key_sentences(findings: Findings) -> list[str]:
    """That the key was fixed beforehand, where the log shows it."""
    return [KEY_FIXED] if findings.recommendation.run and findings.recommendation.key_fixed else []


def _place(run: ReleasedRun) -> str:
    place = "the least risky" if run.place == 1 else "the riskiest" if run.place == run.of else f"number {run.place}"
    counted = " from the safest" if 1 < run.place < run.of else ""
    sentence = f"Of {run.of} runs that differ only in chance, the one to be released is {place}{counted}"
    if run.released is None or run.mean is None:
        return sentence + "."
    sentence += (
        f": {lower_first(run.title)} {figure(run.released)}, where the mean is {figure(run.mean)}, which is the figure"
        " to expect of the method"
    )
    if run.quantile is not None and run.asked is not None:
        sentence += f"; {100 * run.asked:.3g} % of the runs do not exceed {figure(run.quantile)}"
    return sentence + "."


def _within(run: ReleasedRun) -> str:
    if run.within is None or run.low is None or run.high is None:
        return ""
    return (
        f"{run.within} of the {run.of} runs meet the bound on risk, so {100 * run.low:.0f} to {100 * run.high:.0f} % of"
        " all such runs do (95 % confidence)."
    )
