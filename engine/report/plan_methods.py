"""The Disclosure Analysis Plan on the candidates: methods, release space and measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.release.spec import RANDOM_SWAP, percent
from engine.report.document import Entries, Paragraph, Section, grid
from engine.report.parameters import ROLE_WORDS, SWAP_AMOUNT, SWAP_TITLE, runs_words, true_swap_words
from engine.report.plan_counts import at_most
from engine.report.plan_data import NO_DATA
from engine.report.redaction import listed, meaning_of, title_of, upper_first
from engine.report.words import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.measures import MeasureCall
    from engine.plan import MechanismPlan, Plan
    from engine.release.parameter import Parameter
    from engine.report.document import Block
    from engine.report.plan_counts import PlanCounts
    from engine.report.redaction import Safe

_ROLE_NAMES = {"S": "S, swapped", "F": "F, fixed", "C": "C, changed", "U": "U, unconstrained"}
_BETTER = {
    ("risk", "lower"): "less is safer",
    ("risk", "higher"): "more is safer",
    ("risk", "zero"): "less is safer",
    ("utility", "lower"): "less is more useful",
    ("utility", "higher"): "more is more useful",
    ("utility", "zero"): "less is more useful",
}
_SWAP_WHEN = "attributes may be exchanged one by one, and every one-way table must stay as it is"


def method_section(plan: Plan, safe: Safe, *, settings: bool) -> Section:
    """The methods with their parameters; numbers among these, which tell the extent, for the chair (``settings``)."""
    blocks: list[Block] = []
    if plan.swaps_at_random:
        blocks.append(
            Entries(
                (
                    ("Method", f"{SWAP_TITLE} (Gomatam, Karr and Sanil, 2005)"),
                    ("Used where", _SWAP_WHEN),
                    ("A true swap", true_swap_words(plan.space)),
                    ("What its amount counts", SWAP_AMOUNT),
                    ("Amounts tried", _rates(plan, settings=settings)),
                )
            )
        )
    for declared in plan.mechanisms:
        if declared.name != RANDOM_SWAP:
            blocks += _mechanism(declared, safe, settings=settings)
    blocks.append(
        Paragraph(
            "Every run is drawn under a secret study key from the operating system's secure source. The key is kept "
            "apart from the data and from this document, and nobody chooses it."
        )
    )
    if not settings:
        blocks.append(
            Paragraph("How many records are exchanged or altered is not stated here; the chair has it.", "note")
        )
    return Section("5  Methods and their parameters", tuple(blocks))


def _rates(plan: Plan, *, settings: bool) -> str:
    rates = plan.space.rates
    return listed(map(percent, rates)) if settings else _kept(len(rates), "rate")


def _kept(n: int, noun: str) -> str:
    """What stands for settings that members do not see."""
    return f"{plural(n, noun)}, which the chair has"


def _mechanism(declared: MechanismPlan, safe: Safe, *, settings: bool) -> list[Block]:
    from engine.mechanisms import mechanism

    made, given = mechanism(declared.name), dict(declared.grid)
    for name in given:
        made.parameter(name)  # refuses an unknown one
    entries = Entries(
        (
            ("Method", f"{made.title} ({made.source})"),
            ("Used where", made.when),
            ("What its amount counts", made.rate),
        )
    )
    rows = [(p.name, p.meaning, _values(p, given.get(p.name), safe, settings=settings)) for p in made.parameters]
    if not rows:
        return [entries, Paragraph("The method has no parameter.")]
    return [
        entries,
        grid(f"Parameters of {made.title}", ("Parameter", "Meaning", "Values tried"), rows, (), (1, 3.6, 1.8)),
    ]


def _values(parameter: Parameter, given: tuple[str, ...] | None, safe: Safe, *, settings: bool) -> str:
    """What is tried of a parameter; numbers and free texts may tell the extent, and whether it is the default too."""
    values = given or (() if parameter.default is None else (parameter.default,))
    if given is None and parameter.kind == "text" and not parameter.default:
        return "none (default)"
    if not settings and parameter.kind in ("decimal", "whole", "text"):
        return _kept(max(1, len(values)), "value")
    shown = [safe(parameter.canonical(value)).replace("+", ", ") or "none named" for value in values]
    return "; ".join(shown) + ("" if given else " (default)")


def candidate_section(plan: Plan, counts: PlanCounts | None, *, settings: bool) -> Section:
    """The space of candidates in words and counts, and how often they are run."""
    blocks: list[Block] = []
    if plan.swaps_at_random:
        blocks.append(Paragraph(_space_words(plan)))
        blocks.append(_roles(plan))
        if plan.space.specs and settings:
            rows = [(str(i), text) for i, text in enumerate(plan.space.specs, 1)]
            caption = "The combinations; attributes that are not named are unconstrained"
            blocks.append(grid(caption, ("No.", "Roles"), rows, (0,), (0.5, 5)))
    else:
        blocks.append(Paragraph("The random swap is not tried: candidates are all combinations of parameters above."))
    blocks.append(Entries(tuple(_counts(plan, counts))))
    if plan.space.adaptive or plan.space.search:
        blocks.append(
            Paragraph(
                "A candidate that is off the frontier by more than chance explains is not run on. Figures that led to "
                "a choice flatter it, so those of the frontier are taken from fresh draws."
            )
        )
    return Section("6  Candidates", tuple(blocks))


def _space_words(plan: Plan) -> str:
    space = plan.space
    each = f"each at {plural(len(space.rates), 'rate')}"
    if space.search:
        return (
            "The frontier of the complete release space is searched for: from good candidates to their neighbours, "
            f"among every way of giving the attributes one of four roles, {each}. No more than "
            f"{plural(space.budget, 'candidate')} are looked at, and it is said how much of the space that was."
        )
    if space.all_specs:
        return f"The complete release space: every way of giving the attributes one of four roles, {each}."
    if space.specs:
        named = plural(len(space.specs), "combination")
        return f"{named} of roles that the plan names{'' if len(space.specs) > 1 else ' alone'}, {each}."
    sizes = " or ".join(map(str, space.swap_sizes))
    most = "attribute" if space.swap_sizes == (1,) else "attributes"
    return f"Every swap of {sizes} {most} among those that may be exchanged, {each}; all others are not exchanged."


def _roles(plan: Plan) -> Block:
    """The four roles and which attributes may have them."""
    space, free = plan.space, [n for n in plan.names if n not in (*plan.space.fix, *plan.space.change)]
    open_to = _names(free, plan) if space.all_specs or space.search else ""
    if space.specs:
        open_to = "as the plan names them"
    may = {
        "S": _names(plan.swap_candidates, plan),
        "F": _joined(_always(space.fix), open_to),
        "C": _joined(_always(space.change), open_to),
        "U": open_to or _names(free, plan),
    }
    rows = [(_ROLE_NAMES[role], upper_first(ROLE_WORDS[role]), may[role] or "none") for role in "SFCU"]
    return grid(
        "The four roles of an attribute", ("Role", "What is done with it", "Attributes"), rows, (), (1.1, 2.6, 2.6)
    )


def _names(names: Sequence[str], plan: Plan) -> str:
    return "all attributes" if tuple(names) == plan.names else listed(names)


def _always(names: Sequence[str]) -> str:
    return f"always {listed(names)}" if names else ""


def _joined(always: str, others: str) -> str:
    return f"{always}; or any of {others}" if always and others else always or others


def candidates_words(plan: Plan, counts: PlanCounts | None) -> str:
    """How many candidates there are, as exactly as is known."""
    if counts is None:
        most = at_most(plan)
        return f"as many as the space has ({NO_DATA})" if most is None else f"at most {most:,}"
    return ("at most " if counts.complete is not None else "") + f"{counts.candidates(plan):,}"


def _counts(plan: Plan, counts: PlanCounts | None) -> list[tuple[str, str]]:
    from engine.mechanisms import mechanism

    space, rows = plan.space, []
    if counts is not None and counts.space is not None:
        found = counts.space
        rows.append(
            (
                "Ways of giving roles",
                f"{found.legal:,} legal, {found.feasible:,} feasible, {found.distinct:,} distinct on these data",
            )
        )
        rows.append(("Not run, as they release the same as another", f"{found.n_merged:,}"))
        rows.append(("Not run, as no two records can be exchanged so", f"{found.n_impossible:,}"))
    if counts is not None and counts.complete is not None:
        rows.append(("Distinct ways of giving roles in the whole space", f"{counts.complete:,}"))
    if counts is not None and counts.others:
        if plan.swaps_at_random:
            rows.append((f"Candidates: {SWAP_TITLE}", f"{counts.swaps(plan):,}"))
        rows += [(f"Candidates: {mechanism(name).title}", f"{n:,}") for name, n in counts.others]
    rows.append(("Candidates", candidates_words(plan, counts)))
    rows.append(("Each is run", runs_words(space)))
    total = at_most(plan) if counts is None else counts.candidates(plan)
    if total is not None:
        staged = space.adaptive or space.search
        most = "at most " if counts is None or staged else ""
        rows.append(("Runs, without those on fresh draws" if staged else "Runs", f"{most}{total * space.replicates:,}"))
    return rows


def measure_section(calls: Sequence[MeasureCall], judged: Sequence[MeasureCall | None]) -> Section:
    """Every measure with its sentence and its direction."""
    rows = [
        (
            title_of(call),
            call.measure.kind + (", decides" if call in judged else ""),
            meaning_of(call),
            _BETTER[call.measure.kind, call.measure.better],
        )
        for call in calls
    ]
    return Section(
        "7  Measures",
        (
            grid(
                "What is measured on every run",
                ("Measure", "Kind", "What it says", "Better"),
                rows,
                (),
                (1.5, 0.8, 3.4, 1),
            ),
            Paragraph("“Decides” marks the two measures by which candidates are compared.", "note"),
        ),
    )
