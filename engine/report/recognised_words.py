"""Sentences for the board on other keys and on published tables of the original, from findings alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.wording import listed, plural
from engine.measures.verdict import bare_words, verdict_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.report.findings import Findings
    from engine.report.recognised_facts import KeySet, Recognised, TablesTell

_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four"}
_MOST_LEARNT = 12  # columns that are named
_FEW = 3  # size of the set of keys that a sentence is about, where there is one


def recognised_sentences(findings: Findings) -> list[str]:
    """What the count of exposed records leaves out: true values of unswapped keys, few keys, and published tables of
    the original; nothing in a bundle of an earlier version."""
    facts = findings.recognised
    if facts is None:
        return []
    altered = "exchanged" if findings.design.swap else "altered"
    sentences = [*_unswapped(facts, altered), *_few(facts, altered)]
    return [*sentences, tables_sentence(facts.tables, altered), *_rare(facts, altered)]


def finding_words(findings: Findings) -> str:
    """The verdict of the attacks on the release, with its figure; empty in a bundle of an
    earlier version."""
    facts = findings.recognised
    if facts is None or facts.finding is None:
        return ""
    return bare_words(facts.finding) if facts.verdict is None else verdict_words(facts.verdict)


def columns_beside_keys(findings: Findings) -> list[str]:
    """The columns of the file that an intruder is not taken to know."""
    design = findings.design
    return [*(row.name for row in design.attributes if not row.key), *design.carried]


def needs_all_keys(findings: Findings) -> bool:
    """Whether all keys must be known to find anybody in a small combination of the original: on no set of all keys but
    one is somebody in such a combination."""
    facts = findings.recognised
    return facts is not None and bool(facts.all_but_one) and not any(keys.small for keys in facts.all_but_one)


def learnt_words(findings: Findings) -> str:
    """Which columns are keys, and which ones somebody learns who finds a record by them."""
    keys, others = findings.threat.keys, columns_beside_keys(findings)
    if needs_all_keys(findings) and findings.exposure.small_before:
        left = (
            "" if others else ". As all columns are keys, who finds a record so learns only that the person took part"
        )
        exposed = findings.exposure.small_before
        all_of_them = "The one exposed is" if exposed == 1 else f"All {exposed:,} are"
        only = (
            f"{all_of_them} exposed only to somebody who knows all {len(keys)} keys: whoever lacks any of them finds "
            f"nobody in a small combination of the original{left}."
        )
        return f"{only} {_learnt(keys, others)}" if others else only
    return _learnt(keys, others)


def _learnt(keys: Sequence[str], others: Sequence[str]) -> str:
    known = f"Somebody who finds a record by all keys ({listed(keys)})"
    if not others:
        return "All columns are keys: somebody who knows only some of them and finds a record reads off the others."
    more = len(others) - _MOST_LEARNT
    named = listed(others) if more <= 0 else f"{', '.join(others[:_MOST_LEARNT])} and {more:,} more (section 2)"
    return f"{known} learns what else stands in it: {named}."


def small_cells_words(fewest: int) -> str:
    """What a small cell is, in words."""
    return "combinations that nobody shares" if fewest == 2 else f"combinations that fewer than {fewest} records share"


def _unswapped(facts: Recognised, altered: str) -> list[str]:
    nothing = facts.nothing_done
    if facts.unswapped is None:
        return [f"All keys are {altered}, so that none shows true values of everybody."]
    if not nothing.exchanged:
        return [f"No key is {altered}, so that all show true values: {_counts(nothing, facts.fewest)}."]
    if facts.all_but_one and not any(keys.small for keys in facts.all_but_one):
        return []  # said of every set of fewer keys already
    return [
        f"The attributes that are not {altered} are true in every record; on the keys among them "
        f"({listed(facts.unswapped.keys)}) {_counts(facts.unswapped, facts.fewest)}, in the release as in the original."
    ]


def _counts(keys: KeySet, fewest: int) -> str:
    small = small_cells_words(fewest)
    if not keys.small:
        return f"no record stands in {small}"
    stand = "stands" if keys.small == 1 else "stand"
    alone = f"{keys.alone:,} of them alone, " if keys.alone else ""
    right = f"and of guesses at random among equal records {keys.matches:,} would be right"
    return f"{plural(keys.small, 'record')} {stand} in {small}, {alone}{right}"


def all_but_one_words(findings: Findings) -> str:
    """What somebody finds in the original who knows all keys but one; empty where that is unknown."""
    facts = findings.recognised
    if facts is None or not facts.all_but_one:
        return ""
    left_out = dict(zip(facts.nothing_done.keys, facts.all_but_one, strict=True))
    exposing = [f"{name} ({keys.small:,})" for name, keys in left_out.items() if keys.small]
    if not exposing:
        return (
            f"Whichever one of the {len(left_out)} keys is not known, no record stands in such combinations of the "
            "others."
        )
    others = "" if len(exposing) == len(left_out) else "; without any other key there are none"
    return (
        "Records in such combinations for somebody who knows all keys but one, by the key that is not known: "
        f"{listed(exposing)}{others}."
    )


def _few(facts: Recognised, altered: str) -> list[str]:
    sets = [keys for keys in facts.few_keys if len(keys.keys) <= _FEW]
    if not sets or not sets[0].small:
        return []
    worst = sets[0]
    are = "is" if len(worst.exchanged) == 1 else "are"
    which = f"{listed(worst.exchanged)} {are} {altered}" if worst.exchanged else f"none of them {altered}"
    return [
        f"Who knows only {_NUMBERS[len(worst.keys)]} of the keys, at worst {listed(worst.keys)} ({which}), finds "
        f"{plural(worst.small, 'record')} in {small_cells_words(facts.fewest)} of the original."
    ]


def tables_sentence(tables: TablesTell, altered: str) -> str:
    """What published two-way tables of the original tell, claim after claim."""
    openings = {
        "yes": "Two-way tables of the original are published.",
        "no": "By the plan, two-way tables of the original are not published.",
        "not known": "The plan does not say whether two-way tables of the original are published, so they are taken "
        "to be.",
    }
    would = "would " if tables.published == "no" else ""
    beside = "If they were, beside the release they would " if would else "Beside the release they "
    beside = f"{openings[tables.published]} {beside}"
    if tables.attributes is None:
        return f"{beside}tell something of the change that was not worked out."
    certain = ", to some for certain" if tables.certain else ""
    told = (
        (tables.attributes, f"tell which attributes were {altered}"),
        (tables.extent, f"bound the number of {altered} records to less than a factor of three"),
        (
            tables.records,
            f"point to {altered} {tables.of} better than guessing does{certain}",
        ),
    )
    claims = [claim for tells, claim in told if tells]
    open_ = [
        words
        for tells, words in (
            (tables.extent, f"how many records were {altered}"),
            (tables.records, f"which {tables.of} were {altered}"),
        )
        if tells is None
    ]
    unknown = (
        f" Whether they tell {listed(open_)} was not worked out, since the attack reckons with uniform draws of the "
        "random swap."
    )
    if not claims and not open_:
        return f"{beside}tell neither which attributes were {altered} nor how many records."
    if not claims:
        return f"{beside}{'not tell' if would else 'do not tell'} which attributes were {altered}." + unknown
    return f"{beside}{listed(claims)}." + (unknown if open_ else "")


def _rare(facts: Recognised, altered: str) -> list[str]:
    if facts.rare is None:
        return []
    those = f"{facts.rare_of} that are rare in the release"
    if facts.rare:
        return [
            f"Who knows that those at risk were {altered} first suspects {those}, and finds {altered} ones among them "
            "better than by guessing."
        ]
    return [
        f"Who knows that those at risk were {altered} first and therefore suspects {those} finds {altered} ones hardly "
        "better than by guessing."
    ]
