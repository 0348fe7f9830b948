"""The Disclosure Analysis Plan on the data: records, attributes, knowledge of intruders, uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.report.document import Bullets, Entries, Paragraph, Section, grid
from engine.report.parameters import coding_words, file_names, missing_words, tolerance_words, unique_words
from engine.report.redaction import listed, upper_first
from engine.report.words import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.data.microdata import Microdata
    from engine.plan import AttributePlan, Plan
    from engine.report.document import Block
    from engine.report.redaction import Safe

NOT_SAID = "not described in the plan"
NO_DATA = "not counted: no data were named when this document was written"


def data_section(plan: Plan, data: Microdata | None, safe: Safe) -> Section:
    """Records and units, and what becomes of columns that are no attribute."""
    from engine.models.columns import numeric_columns
    from engine.report.describe import occupancy
    from engine.sweeps.release_warnings import release_warnings

    numeric = plan.data.numeric if data is None else numeric_columns(plan, data)
    rows = [
        ("Records", NO_DATA if data is None else f"{data.n_records:,}"),
        ("Unit of the exchange", "the record"),
        ("Strata, sampling units, households", safe(plan.about.design) or NOT_SAID),
        ("Smallest geography released", safe(plan.about.geography) or NOT_SAID),
        (
            "Weight",
            f"column {plan.data.weight}; it stays with its record and "
            + ("is released with it" if "weight" in plan.publish.include else "is not released")
            if plan.data.weight
            else "none declared",
        ),
        (
            "Record ids",
            f"column {plan.data.id}; never released, "
            + ("new ones are" if "id" in plan.publish.include else "nor are new ones")
            if plan.data.id
            else "none in the file",
        ),
        ("Codes that mean missing, in every column", missing_words(plan)),
        (
            "Numeric columns that figures use",
            listed(numeric) or ("none" if data or not plan.analyses else "those of the declared analyses"),
        ),
        ("Columns that stay with their record", _columns(plan.data.carry, None if data is None else data.carried)),
        ("Columns that never leave", _columns(plan.data.drop, None if data is None else data.dropped)),
    ]
    if data is not None:
        found = occupancy(data.table, data.domain.names)
        small = f"{found.ones:,} of them held by one record, {found.twos:,} by two"
        occupied = f"{found.cells:,} of {found.combinations:,}; {small}"
        rows.insert(1, ("Occupied combinations of all attributes", occupied))
    blocks: list[Block] = [Entries(tuple(rows))]
    warnings = () if data is None else release_warnings(data, plan)
    if warnings:
        blocks += [
            Paragraph("Before approving this, the board should know:", "warning"),
            # how the analyst may mend it is no matter of the board's
            Bullets(tuple(f"{upper_first(warning.what)}." for warning in warnings)),
        ]
    if plan.edits:
        rules = [
            (rule.name, " and ".join(f"{name} is {' or '.join(levels)}" for name, levels in rule.forbid))
            for rule in plan.edits
        ]
        blocks.append(
            grid(
                "Edit rules: combinations that no record should have", ("Rule", "Forbidden"), rows=rules, widths=(2, 4)
            )
        )
    else:
        blocks.append(Paragraph("No edit rule is declared, so no combination of values counts as impossible."))
    return Section("1  Data and units", tuple(blocks))


def _columns(entries: Sequence[str], found: Sequence[str] | None) -> str:
    """Columns and patterns as the plan names them, and how many columns of the data that are."""
    return (listed(entries) + ("" if found is None else f" ({plural(len(found), 'column')})")) if entries else "none"


def attribute_section(plan: Plan, data: Microdata | None) -> Section:
    """How every attribute is coded and what the plan does with it."""
    rows = []
    for j, part in enumerate(plan.attributes):
        columns = f" (columns {', '.join(part.columns)})" if part.columns != (part.name,) else ""
        rows.append(
            (
                part.name + _label(part, data) + columns,
                _role(plan, part.name),
                _levels(part, None if data is None else data.domain.shape[j]),
                coding_words(part, part.levels if data is None else _shown(part, data, j)),
                _missing(part),
            )
        )
    return Section(
        "2  Attributes",
        (
            grid(
                "Attributes, how they are coded and what the plan does with them",
                ("Attribute", "Role in the plan", "Levels", "Coding", "Missing and skipped answers"),
                rows,
                (2,),
                (1.3, 1.6, 0.6, 2.2, 1.3),
            ),
            Paragraph(
                "A key is what an intruder may know about a person. Columns of one attribute are a block: they are "
                "exchanged together.",
                "note",
            ),
        ),
    )


def _label(part: AttributePlan, data: Microdata | None) -> str:
    """The variable label of the column that makes the levels, where the file has one."""
    label = data.raw.columns[part.view[0]].about.label if data is not None and len(part.view) == 1 else ""
    return f": {label}" if label and label != part.name else ""


def _shown(part: AttributePlan, data: Microdata, j: int) -> list[str]:
    """Levels with the labels that the file gives them."""
    levels = data.domain.attributes[j].levels
    if len(part.view) > 1:
        return list(levels)
    about = data.raw.columns[part.view[0]].about
    return [f"{level} ({about.shown(level)})" if about.shown(level) != level else level for level in levels]


def _role(plan: Plan, name: str) -> str:
    said = [
        words
        for words, names in (
            ("key", plan.keys),
            ("may be exchanged", plan.swap_candidates),
            ("tabulated", plan.analyse),
            ("always kept equal in a pair", plan.space.fix),
            ("always different in a pair", plan.space.change),
        )
        if name in names
    ]
    return listed(said) or "none of these; it stays as it is"


def _levels(part: AttributePlan, size: int | None) -> str:
    if size is not None:
        return str(size)
    declared = len(part.cut_labels) or len(part.levels)
    return str(declared + len(part.skip) + (part.on_missing == "level")) if declared else "as in the file"


def _missing(part: AttributePlan) -> str:
    said = [
        f"{words} {', '.join(codes)}" for words, codes in (("skipped:", part.skip), ("missing:", part.missing)) if codes
    ]
    said.append("a missing answer is a level" if part.on_missing == "level" else "no answer may be missing")
    return "; ".join(said)


def scenario_section(plan: Plan, data: Microdata | None, safe: Safe) -> Section:
    """Who might attack, with what, and how many people stand alone under it."""
    from engine.report.describe import occupancy

    threat = plan.threat
    entries = Entries(
        (
            ("Intruder", safe(threat.intruder) or NOT_SAID),
            ("Knows about a person (keys)", listed(plan.keys)),
            ("Public files that overlap", listed(safe.all(file_names(plan))) or "none named in the plan"),
            ("Harm of a disclosure", safe(threat.harm) or NOT_SAID),
            ("Other releases of the same data", safe(plan.about.overlaps) or "none named in the plan"),
        )
    )
    counts = (
        f"Records that are alone in their combination of keys are {NO_DATA}."
        if data is None
        else unique_words(occupancy(data.table, plan.keys), data.n_records)
    )
    return Section("3  Disclosure scenario", (entries, Paragraph(counts)))


def use_section(plan: Plan) -> Section:
    """What users are expected to compute, and from where on a difference is flagged."""
    blocks: list[Block] = [Paragraph(f"Users tabulate {listed(plan.analyse)}.")]
    if plan.analyses:
        rows = [
            (a.name, a.family + (", weighted" if a.weighted else ""), a.formula, listed(a.by) or "the whole file")
            for a in plan.analyses
        ]
        header = ("Analysis", "Family", "Formula", "Fitted in")
        blocks.append(
            grid("Declared analyses: regressions repeated on every release", header, rows, (), (1.2, 1, 3, 1.2))
        )
    else:
        blocks.append(Paragraph("No analysis is declared, so no regression is repeated on the releases."))
    if plan.tables:
        rows2 = [(t.name, " × ".join(t.attributes)) for t in plan.tables]
        blocks.append(grid("Named tables", ("Table", "Attributes"), rows2, (), (2, 4)))
    else:
        blocks.append(Paragraph("No table is named; one-way and two-way tables of these attributes are compared."))
    blocks.append(Paragraph(tolerance_words(plan.tolerances)))
    return Section("4  What users do with the data", tuple(blocks))
