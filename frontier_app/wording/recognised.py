"""Words for the analyst on what an intruder would recognise: the same on every page.

The board reads its own in :mod:`engine.report.recognised_words`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.frontier.chance import ShareWithin
from engine.plan.entries import PublishedTables
from engine.report.detected import TOP, Detected, units_words
from engine.report.recognised_facts import KeySet
from engine.report.recognised_words import small_cells_words
from engine.report.sentences import Exposed
from engine.report.words import figure
from frontier_app.wording import text
from frontier_app.wording.markup import Markdown, markdown

UNSWAPPED = "Unswapped keys"
PUBLISHED = "Two-way tables of the original are published"
CARRIED = "Who carries the change"
POLICIES: dict[PublishedTables, str] = {"yes": "yes", "no": "no", "not known": "not known (taken as yes)"}
UNDONE = (
    "Published tables of the original undo part of the protection. Two-way tables of it, beside the released file, tell"
    " which attributes were swapped and in about how many records, and which records are probably altered."
)
"""What published tables do, in general."""


def within_words(share: ShareWithin, bound: str, asked: str) -> Markdown:
    """Words on how many single runs of a candidate meet a bound (its figure, with its unit), and how many must
    (``asked``, a sentence)."""
    verb = "meets" if share.within == 1 else "meet"
    return markdown("**{:,} of {:,} runs** {} the bound {}: {}.", share.within, share.runs, verb, bound, asked)


def exposed_words(exposure: Exposed) -> Markdown:
    """The risk of a candidate in records."""
    between = (
        "" if exposure.low == exposure.high else f", from {exposure.low:,.10g} to {exposure.high:,.10g} in its runs"
    )
    each = f" Each run counts as the mean of its {exposure.tables} tables." if exposure.tables > 1 else ""
    mean = figure(exposure.mean)
    subject = markdown("**{} unaltered record** stands" if mean == "1" else "**{} unaltered records** stand", mean)
    return subject + markdown(
        " on average in {}{}; **{:,}** if nothing is done.{}", exposure.cells, between, exposure.original, each
    )


def unswapped_words(nothing: KeySet, unswapped: KeySet | None, fewest: int) -> Markdown:
    """The keys that a candidate leaves as they are, and what stands out on them."""
    cells = small_cells_words(fewest)
    if unswapped is None:
        return markdown("**{}:** none. The candidate alters all keys.", UNSWAPPED)
    if not nothing.exchanged:
        return markdown(
            "**{}:** all. **{}** in {}, {:,} alone, as if nothing were done.",
            UNSWAPPED,
            _records(unswapped),
            cells,
            unswapped.alone,
        )
    original = markdown(
        " On all keys of the original {} in such combinations, {:,} of them alone.",
        _standing(nothing.small),
        nothing.alone,
    )
    keys = markdown("**{}** ({}) keep their true values.", UNSWAPPED, text.listed(unswapped.keys))
    if not unswapped.small:
        return keys + markdown(" On them no record stands in {}.", cells) + original
    return (
        keys
        + markdown(
            " On them **{}** in {}, {:,} of them alone, and an intruder is expected to match {:,} rightly.",
            _standing(unswapped.small),
            cells,
            unswapped.alone,
            unswapped.matches,
        )
        + original
    )


def _standing(records: int) -> str:
    return f"{text.plural(records, 'record')} {'stands' if records == 1 else 'stand'}"


def unswapped_short(unswapped: KeySet | None) -> str:
    """The same for a cell of a table."""
    if unswapped is None:
        return "none"
    if not unswapped.small:
        return f"{text.listed(unswapped.keys)}: no record in small cells"
    return (
        f"{text.listed(unswapped.keys)}: {_records(unswapped)} in small cells, {unswapped.alone:,} alone,"
        f" {unswapped.matches:,} expected matches"
    )


def _records(keys: KeySet) -> str:
    return text.plural(keys.small, "record")


def few_keys_words(few: KeySet, fewest: int) -> Markdown:
    """The worst set of so many keys."""
    altered = f" ({text.listed(few.exchanged)} altered)" if few.exchanged else ""
    return markdown(
        "**The worst {} keys:** {}{}: {} in {} of the original, {:,} alone.",
        len(few.keys),
        text.listed(few.keys),
        altered,
        _records(few),
        small_cells_words(fewest),
        few.alone,
    )


def detection_words(found: Detected) -> str:
    """Words on what somebody with published two-way tables of the original finds out about a release, with the truth
    beside."""
    units = [] if found.units is None or not found.units.altered else [units_words(found.units)]
    if found.why:
        return " ".join([f"What published tables of the original tell was not worked out: {found.why}.", *units])
    return " ".join([found_words(vars(found) | {"top": TOP}), *units])


def found_words(found: Mapping[str, Any]) -> str:
    """The same from the report of an attack on an exported release."""
    if found["attributes"]:
        right = "" if set(found["attributes"]) == set(found["altered"]) else f" (in truth {_names(found['altered'])})"
        attributes = f"that {_names(found['attributes'])} {_was(found['attributes'])} swapped{right}"
    else:
        attributes = "no attribute that was swapped"
    sentences = [
        f"Whoever has two-way tables of the original and the release finds {attributes}, and infers that"
        f" {_percent(found['inferred'])} of the records are altered (95 %, for chance alone: {_percent(found['low'])}"
        f" to {_percent(found['high'])}; in truth {_percent(found['rate'])})."
    ]
    if found["auc"] is not None and found["precision"] is not None and found.get("model", True):
        sentences.append(
            f"An altered record is more suspect than an unaltered one in {_percent(found['auc'])} of cases"
            f" (guessing: 50 %), and {_percent(found['precision'])} of the {_percent(found['top'])} of records that"
            " are most suspect are altered."
        )
    if not_known := found.get("not_known"):
        sentences.append(f"The attack does not know that {' and that '.join(not_known)}; whoever does may find more.")
    return " ".join([*sentences, *_rare_words(found)])


def _rare_words(found: Mapping[str, Any]) -> list[str]:
    """Words on how well rarity tells what a method altered that takes those at risk first."""
    if found.get("rare_auc") is None:
        return []
    share = found["alone_altered"]
    alone = (
        "" if share is None else f" Of {found['alone']:,} {found['of']} alone there, {_percent(share)} were altered."
    )
    return [
        f"Whoever knows that those at risk were altered first suspects the rare: altered {found['of']} are rarer in the"
        f" release than others in {_percent(found['rare_auc'])} of cases (guessing: 50 %).{alone}"
    ]


def _names(names: tuple[str, ...]) -> str:
    return text.listed(names)


def _was(names: tuple[str, ...]) -> str:
    return "was" if len(names) == 1 else "were"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
