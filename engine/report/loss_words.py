"""Losses of users in sentences: the worst, how many are beyond the tolerances, and what a distance stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, plural
from engine.report.losses import worst
from engine.report.words import figure, percent

if TYPE_CHECKING:
    from engine.report.facts import Distance, Utility
    from engine.report.loss_facts import Loss, ModelRow

RANKED = (
    "Ranked by the change in standard errors of the original, over every percentage, mean and coefficient that users "
    "would compute, weighted or not; of each table, column and analysis its worst figure"
)
"""What the list of the worst losses is."""


def worst_losses(utility: Utility, most: int = 3) -> list[str]:
    """The worst losses that are beyond the tolerances in sentences' ends, worst first; where none is, the largest
    change, which is said to be within them; an empty list where nothing changes."""
    predicted = {model.analysis: model.predicts for model in utility.models}
    losses = worst(utility, len(utility.losses))
    beyond = [loss for loss in losses if loss.flagged][:most]
    if beyond:
        return [loss_words(loss, predicted.get(loss.of, "")) for loss in beyond]
    return [f"{loss_words(loss, predicted.get(loss.of, ''))}, within the tolerances" for loss in losses[:1]]


def beyond_words(utility: Utility) -> str:
    """How many figures are beyond the tolerances, before the worst of them are named; empty where nothing changes."""
    flagged, judged = flagged_of(utility)
    if not judged or not utility.losses:
        return ""
    of = f"{plural(judged, 'figure')} that users would compute and that the release can change"
    if not flagged:
        return f"Of {of} none changes by more than the tolerances. The largest change:"
    return f"Of {of}, {flagged:,} {'changes' if flagged == 1 else 'change'} by more than the tolerances. The worst:"


def place_words(table: str, level: str, *, of_mean: bool = False) -> str:
    """A figure by name: of a percentage of several attributes each with its level, as far as commas in the levels leave
    that clear."""
    attributes, levels = table.split(" × "), level.split(", ")
    if 1 < len(attributes) == len(levels):
        return " and ".join(f"{name}: {value}" for name, value in zip(attributes, levels, strict=True))
    return f"{'mean of ' if of_mean else ''}{table}, {level}"


def loss_words(loss: Loss, predicts: str = "") -> str:
    """A loss with its figures before and after; of a coefficient with what its model ``predicts``."""
    weighting = "weighted, " if loss.weighted else ""
    of = _analysis(loss.of, predicts) if loss.kind == "coefficient" else loss.of
    name = place_words(of, loss.what, of_mean=loss.kind == "mean")
    before, after = (_value(loss, value) for value in (loss.before, loss.after))
    if loss.lost:
        return f"{name}: {weighting}can no longer be estimated ({loss.lost})"
    relative = "" if loss.relative is None else f" ({_size(loss.relative)} of its value)"
    change = f"{before} becomes {after}{relative}"
    return f"{name}: {weighting}{change}, a change of {figure(loss.errors, 2)} standard errors"


def _analysis(name: str, predicts: str) -> str:
    return f"{name} (of {predicts})" if predicts else name


def _value(loss: Loss, value: float | None) -> str:
    """A figure as its kind is written."""
    if loss.kind in ("coefficient", "mean", "correlation"):
        return figure(value, 4 if loss.kind == "mean" else 3)
    return percent(value)


def _size(relative: float) -> str:
    return f"{100 * abs(relative):.3g} %" if abs(relative) < 10 else f"{abs(relative):.0f} times"


def flagged_of(utility: Utility) -> tuple[int, int]:
    """How many figures are beyond the tolerances, of how many that the release can change."""
    return sum(tally.flagged for tally in utility.tallies), sum(tally.eligible for tally in utility.tallies)


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


def flagged_tables(utility: Utility) -> list[str]:
    """The tables, columns and analyses of which a figure is flagged, each once."""
    return list(dict.fromkeys(loss.of for loss in utility.losses if loss.flagged))


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
