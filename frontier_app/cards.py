"""A candidate in words and figures, for any page that shows one."""

from __future__ import annotations

import numpy as np

from engine.decision import RiskUtilityMap
from frontier_app import text


def badges(view: RiskUtilityMap, place: int, optimum: int | None = None) -> str:
    """Where it stands, in labels."""
    found = []
    if not np.isnan(view.risk_loss[place]):
        on = view.dominance.undominated[place]
        found.append(":blue-badge[:material/check: on the frontier]" if on else ":gray-badge[dominated]")
        found.append(":gray-badge[clear]" if view.dominance.clear[place] else ":orange-badge[uncertain]")
    if view.riskier_than_original[place]:
        found.append(":red-badge[:material/warning: riskier than doing nothing]")
    if view.summary.failed[place]:
        found.append(f":red-badge[{text.plural(int(view.summary.failed[place]), 'failed run')}]")
    if place == optimum:
        found.append(":blue-badge[most useful under the bound]")
    return " ".join(found)


def figures(view: RiskUtilityMap, place: int) -> str:
    """All figures against the original, as a table."""
    lines = ["| | original | mean ± SE | change |", "|:--|--:|--:|--:|"]
    order = [view.risk, view.utility, *(k for k in range(len(view.measures)) if k not in (view.risk, view.utility))]
    for k in order:
        mean, se, original = view.summary.mean[place, k], view.summary.se[place, k], view.original[k]
        name = view.measures[k].measure.title
        name = f"**{name}**" if k in (view.risk, view.utility) else name
        change = text.relative(mean, original) or text.signed(mean - original)
        lines.append(f"| {name} | {text.figure(original)} | {text.with_error(mean, se)} | {change} |")
    return "\n".join(lines)


def sureness(view: RiskUtilityMap, place: int, runs: int, failed: int) -> str:
    """How sure the place on or off the frontier is, and how runs went."""
    sentences = []
    share = view.dominance.share[place]
    on, clear = bool(view.dominance.undominated[place]), bool(view.dominance.clear[place])
    if runs:
        if on and clear:
            sentences.append("It is on the frontier by more than the spread between runs explains.")
        elif on:
            sentences.append("It is on the frontier, but others are within the spread between runs.")
        elif clear:
            sentences.append("It is dominated by more than the spread between runs explains.")
        else:
            sentences.append("It is dominated by its means, but within the spread between runs.")
    if not np.isnan(share):
        sentences.append(f"In {100 * share:.0f} % of the runs it was itself undominated.")
    sentences.append(f"{text.plural(runs, 'run')} counted, {failed} failed.")
    changed = view.summary.changed[place]
    if not np.isnan(changed):
        sentences.append(f"On average {changed:,.0f} records took part in a swap.")
    return " ".join(sentences)
