"""The first plan as a text to edit."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from engine.common.printable import printable
from engine.common.wording import columns_named
from engine.plan.proposal import Proposal
from engine.plan.types import Plan
from engine.plan.writing import plan_to_toml

_HEAD = """\
# A first plan, guessed from the columns of the data. Check every line before a study.
#
# Each column has one use: part of an [[attribute]], or carry (stays with its record), drop (never leaves), weight, id.
# Weight and id follow their record and are released only where [publish] includes them.
#
# An attribute may have
#   columns = ["age", "age_flag"]               raw columns that move as one block (default: the one of its name)
#   view = ["age"]                              the column(s) whose values make the levels
#   cut = [25, 55]                              numeric edges: below 25, from 25 to below 55, 55 and above
#   labels = ["<25", "25-54", "55+"]            names of the cut levels
#   merge = { Govt = ["Federal-gov", "State-gov"] }   new level = raw values
#   levels = ["no", "yes"]                      order of the levels; a value outside them is refused
#   skip = ["-1"]                               raw values of a question validly skipped
#   missing = ["-9"]                            further raw values that mean missing
#   on_missing = "level"                        missing values become a level; the default is "refuse"
"""
_BEFORE = {
    "[space]": (
        "# [roles]                  # each list defaults to all attributes\n"
        '# keys = ["Age", "Sex"]    # what an intruder may know: risk measures tabulate these\n'
        '# swap = ["Age"]           # what may be swapped\n'
        '# analyse = ["Age", "Sex"] # what users tabulate: utility measures tabulate these\n'
        "\n"
        "# [[edit]]                 # a forbidden combination, counted before and after\n"
        '# name = "no married children"\n'
        '# forbid = { Age = ["<25"], MS = ["Married"] }\n'
        "# refuse = true            # and no swap may make it\n"
        "\n"
        '# Candidate releases: swap_sizes, or all_specs = true, or specs = ["Age:S Race:F"].\n'
        "# Rates are shares of records.\n"
    ),
    "[decision]": (
        '# max_risk = "0.014" bounds the risk, or slope = "0.05" trades it against utility.\n'
        '# probability = "0.9" of single runs must meet max_risk (the default); "mean" holds their mean against it.\n'
        "# Released is the first run that meets the bound and is safer than the data unchanged (first_within),\n"
        '# the first of all ("first"), or one by its number.\n'
    ),
}


def carried_remark(plan: Plan) -> str:
    """A remark on the columns that a plan carries, in two sentences."""
    are, them = ("is", "it") if len(plan.data.carry) == 1 else ("are", "them")
    return (
        f"The {columns_named(plan.data.carry)} {are} carried, so released as in the file, and no risk figure counts "
        f"{them}. Whoever knows such a value exactly, as an age in years, may find its record by it: make an attribute "
        "of the column, put classes of it into the file in its place, or drop it."
    )


def plan_init_text(plan: Plan, suggested: Sequence[Proposal] = ()) -> str:
    """The text of a first plan with comments on what may be changed, and on what the records suggest
    (:func:`engine.plan.propose`); it reads back to that plan."""
    head = _HEAD
    if suggested:
        head += "#\n# What the records suggest, each with the name by which it is accepted:\n"
    for proposal in suggested:
        head += "".join(f"#   {line}\n" for line in wrap(printable(f"{proposal.key}: {proposal.sentence}"), 112))
    if plan.data.carry:
        head += "#\n" + "".join(f"# {line}\n" for line in wrap(printable(carried_remark(plan)), 112))
    lines = []
    for line in plan_to_toml(plan).removesuffix("\n").split("\n"):
        lines.append(_BEFORE.get(line, "") + line)
    return head + "\n" + "\n".join(lines) + "\n"
