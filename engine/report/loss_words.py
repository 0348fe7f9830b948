"""Losses of users in sentences: the worst, how many are beyond the tolerances, and what a distance stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, plural
from engine.report.losses import flagged_of, flagged_tables, largest
from engine.report.words import figure, percent

if TYPE_CHECKING:
    from engine.report.facts import Distance, Utility
    from engine.report.loss_facts import Figure, ModelRow

RANKED = (
    "Sorted by the change in standard errors of the original, over every percentage, mean and coefficient that users "
    "would compute, weighted or not"
)
"""What the list of the worst losses is."""


def worst_losses(utility: Utility, most: int = 3) -> list[str]:
    """The worst losses that are beyond the tolerances in sentences' ends, worst first; where none is, the largest
    change, which is said to be within them; an empty list where nothing changes."""
    predicted = {model.analysis: model.predicts for model in utility.models}
    losses = largest(utility.figures)
    beyond = [loss for loss in losses if loss.flagged][:most]
    if beyond:
        return [loss_words(loss, predicted.get(loss.of, "")) for loss in beyond]
    return [f"{loss_words(loss, predicted.get(loss.of, ''))}, within the tolerances" for loss in losses[:1]]


def beyond_words(utility: Utility) -> str:
    """How many figures are beyond the tolerances, before the worst of them are named; empty where nothing changes."""
    flagged, judged = flagged_of(utility)
    if not judged or not utility.figures:
        return ""
    of = f"{plural(judged, 'figure')} that users would compute and that the release can change"
    if not flagged:
        return f"Of {of} none changes by more than the tolerances. The largest change:"
    return f"Of {of}, {flagged:,} {'changes' if flagged == 1 else 'change'} by more than the tolerances. The worst:"


def place_words(loss: Figure) -> str:
    """A figure by name: its group and its value, or its table and what it is there."""
    if loss.is_count:
        return " · ".join(filter(None, (loss.group, loss.what if ": " in loss.what else f"{loss.of}: {loss.what}")))
    return ", ".join(filter(None, (f"mean of {loss.of}" if loss.kind == "mean" else loss.of, loss.group, loss.what)))


def loss_words(loss: Figure, predicts: str = "") -> str:
    """A loss with its figures before and after; of a coefficient with what its model ``predicts``."""
    name = place_words(loss) + (f" (of {predicts})" if predicts else "")
    if loss.note == "lost":
        return f"{name}: can no longer be estimated ({loss.why})"
    if loss.is_count and not loss.weighted:
        change = f"{loss.n:,} of {loss.within:,} become {loss.n_after:,} of {loss.within_after:,}"
    else:
        before, after = (_value(loss, value) for value in (loss.before, loss.after))
        change = f"{'weighted, ' if loss.weighted else ''}{before} becomes {after}"
    return f"{name}: {change}, {figure(loss.errors, 2)} standard errors"


def _value(loss: Figure, value: float | None) -> str:
    """A figure as its kind is written."""
    if loss.kind in ("coefficient", "mean", "correlation"):
        return figure(value, 4 if loss.kind == "mean" else 3)
    return percent(value)


def flags_words(utility: Utility) -> str:
    """How many figures of each kind are beyond the tolerances, of how many, and what no release can change."""
    parts = [f"{t.flagged:,} of {t.eligible:,} {t.kind}" for t in utility.tallies if t.eligible]
    if not parts:
        return "No figure that users would compute can be changed by the release."
    fixed = [t.kind for t in utility.tallies if t.compared and t.unchangeable == t.compared]
    total, unchangeable = (sum(getattr(t, name) for t in utility.tallies) for name in ("compared", "unchangeable"))
    judged = sum(tally.eligible for tally in utility.tallies)
    sentences = [f"{listed(parts)} are beyond the tolerances."]
    if unchangeable:
        among = f", among them all {listed(fixed)}" if fixed else ""
        sentences.append(
            f"Of {total:,} figures that users would compute {unchangeable:,} cannot change{among}, and {judged:,} are "
            "judged."
        )
    return " ".join(sentences)


def flagged_places(utility: Utility, most: int = 6) -> str:
    """The tables, columns and analyses of which a figure is flagged; empty without any."""
    places = flagged_tables(utility)
    if not places:
        return ""
    more = f" and {len(places) - most:,} more" if len(places) > most else ""
    named = "; ".join(places[:most])
    return f"Flagged are figures of {named}{more}."


def analyses_words(utility: Utility, letter: str, recommended: str) -> str:
    """What a lettered candidate does to the declared analyses, beside the recommended one; empty without analyses."""
    own = max((r for r in utility.analysis_runs if r.letter == letter), key=lambda r: r.mean or 0.0, default=None)
    others = [r.mean for r in utility.analysis_runs if r.letter == recommended and r.mean is not None]
    if own is None or own.mean is None or not others:
        return ""
    return (
        f"In the declared analyses its largest change of a coefficient is {_errors(own.mean)} standard errors on "
        f"average, {_errors(own.least)} to {_errors(own.most)} over {plural(own.runs, 'run')}; with candidate "
        f"{recommended} it is {_errors(max(others))}."
    )


def _errors(value: float | None) -> str:
    return figure(value, 2)


def model_words(model: ModelRow) -> str:
    """What the coefficients of a declared analysis mean."""
    references = "; ".join(f"{factor} with {level}" for factor, level in model.references)
    compared = f" Levels are compared with a reference level: {references}." if references else ""
    return f"A positive coefficient stands for more of this: {model.predicts}.{compared}"


def moved_words(distance: Distance) -> str:
    """The share of records that stands for the distance; empty where a bundle does not tell it."""
    return "" if distance.moved is None else f"as if {_share(distance.moved)} of the records had other values"


def _share(value: float) -> str:
    return f"{100 * value:.2g} %"
