"""Small cells by key, other keys, detection, and warnings about a public bundle."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from engine.common.wording import upper_first
from engine.data.microdata import Microdata
from engine.decision.states import DecisionStatus
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.mechanisms import mechanism
from engine.plan import Plan, dependencies
from engine.plan.coding import N_RULE, KeyTable, code, key_table
from engine.report.detected import detected_once
from engine.report.other_keys import key_set, unswapped_keys
from engine.report.recognised_facts import KeySet
from engine.study.study import Study
from engine.sweeps.remake import Remade
from engine.sweeps.warnings import (
    FinerThanCounted,
    Identifier,
    LooseRecodes,
    ReleaseWarning,
    TornUnits,
    carried_identifiers,
    finer_than_counted,
    loose_recodes,
    one_by_one,
    torn_units,
)
from frontier_app.session import actions, navigation, state
from frontier_app.widgets import elements
from frontier_app.wording import plan_words, text
from frontier_app.wording.markup import bullets, joined, markdown

AT_ONCE = 100_000  # records times attributes up to which the figures are worked out without being asked for


def detection(study: Study, release: Remade, which: tuple[object, ...]) -> str:
    """It in words; ``which`` are study, candidate and replicate."""
    return plan_words.detection_words(
        state.get().memo.get("detected", which, lambda: detected_once(release, study.plan))
    )


MOST_KEYS = 40
"""Keys from which the table is not made: nobody knows as many, and every record is alone on them."""


def by_key(plan: Plan) -> KeyTable | None:
    """The key table under a plan's coding, made once for each coding; None where there are too many keys."""
    now, raw = state.get(), state.get().raw
    assert raw is not None
    if len(plan.keys) > MOST_KEYS:
        return None
    coding = tuple(part for part in plan.attributes if part.name in plan.keys)
    depends = (coding, plan.data.missing, plan.data.columns, plan.keys)
    known: KeyTable | None = now.memo.peek("key-table", depends)
    if known is not None:
        return known
    name = "key-table" if plan == now.plan else "key-table-tried"
    return now.memo.get(name, depends, lambda: key_table(raw, plan))


def draw(counts: KeyTable, before: KeyTable | None = None) -> None:
    """The table in four figures; with ``before``, what a change does to them."""

    combinations = text.plural(counts.possible, "possible combination")
    small, alone = (f" ({elements.share(n, counts.n_records)})" for n in (counts.small_records, counts.uniques))
    figures = (
        ("Occupied cells", "cells", "", f"of {combinations} of levels"),
        (f"Cells of 1–{N_RULE - 1}", "small_cells", "", f"combinations that fewer than {N_RULE} records share"),
        ("Records in them", "small_records", small, f"of {text.plural(counts.n_records, 'record')}"),
        ("Records alone", "uniques", alone, "records that are alone in their combination (sample uniques)"),
    )
    for column, (label, name, share, tip) in zip(st.columns(4), figures, strict=True):
        value, change = getattr(counts, name), None
        if before is not None:
            was = getattr(before, name)
            change = f"{value - was:+,} (was {was:,})".replace("-", "−") if value != was else "unchanged"
        column.metric(label, f"{value:,}{share}", change, delta_color="off", delta_arrow="off", help=tip)


def fewest_of(view: RiskUtilityMap) -> int:
    """From how many records on a cell is large: as the map's risk has it."""
    return int(view.measures[view.risk].values.get("n_rule", N_RULE))


def other_keys(study: Study, view: RiskUtilityMap, index: int) -> tuple[KeySet, KeySet | None] | None:
    """All keys in the original, and those that a candidate leaves as they are; None without the data, and where there
    are too many keys for a table of them."""
    now, plan, fewest = state.get(), study.plan, fewest_of(view)
    raw, keys = now.raw, plan.keys
    if raw is None or raw.n_records != int(study.about["n_records"]) or len(keys) > MOST_KEYS:
        return None
    depends = (plan.data, plan.edits)
    data: Microdata = now.memo.peek("coded", depends) or now.memo.get(
        "coded-as-swept", depends, lambda: code(raw, plan)
    )
    spec = view.scenarios[index].spec
    altered = mechanism(spec.mechanism).altered(spec)
    known: dict[tuple[str, ...], tuple[KeySet, KeySet | None]]
    known = now.memo.get("other-keys", (str(study.path), plan.data, keys, fewest), dict)
    if altered not in known:
        both = key_set(data.table, keys, altered, fewest), unswapped_keys(data.table, keys, altered, fewest)
        known[altered] = both
    return known[altered]


@dataclass(frozen=True)
class Kind:
    """A kind of warnings on the pages: its title, its icon, and the order that mends all of them, "" for none."""

    warning: type[ReleaseWarning]
    title: str
    icon: str
    all_at_once: str = ""


KINDS = (
    Kind(TornUnits, "Tears households apart", "family_restroom"),
    Kind(Identifier, "Tells records apart", "fingerprint", "Drop all"),
    Kind(LooseRecodes, "Can be worked out from another column", "link", "Move all as blocks"),
    Kind(FinerThanCounted, "Released finer than it is counted", "zoom_in"),
)


def disclosure_warnings(plan: Plan) -> list[ReleaseWarning]:
    """The warnings about the columns that a plan releases of the open data; raises what keeps the data from being
    coded.  None where no data are open."""
    now = state.get()
    raw = now.raw
    if raw is None:
        return []

    def found() -> list[ReleaseWarning]:
        # a study's plan is not always the one that is being edited
        same = now.plan is not None and (now.plan.data, now.plan.edits) == (plan.data, plan.edits)
        data = actions.coded() if same else code(raw, plan)
        known = now.memo.get("dependencies", raw.source, lambda: dependencies(raw))
        released = [*carried_identifiers(data), *loose_recodes(data, plan, known)]
        return [*torn_units(data, plan), *released, *finer_than_counted(data, plan.keys)]

    depends = (plan.data, plan.edits, plan.keys, plan.swap, plan.space, plan.mechanisms)
    return now.memo.get("warnings", depends, found)


def key_of(warning: ReleaseWarning) -> str:
    """A name by which a warning that is lived with is known again."""
    match warning:
        case Identifier():
            return f"warning:{warning.column}"
        case LooseRecodes():
            return "warning:{}:{}".format(*warning.pairs[0])
        case FinerThanCounted():
            return f"warning:finer:{warning.keys[0].name}"
    return "warning:torn"


def shown(plan: Plan, *, refused_only: bool = False) -> None:
    """The warnings about released columns, and the way to the page where they are mended; nothing where no data are
    open.  ``refused_only`` leaves out what does not stand in the way of a public bundle; those that somebody decided to
    live with are folded."""
    with elements.errors_shown():
        warnings = [warning for warning in disclosure_warnings(plan) if warning.refused or not refused_only]
        accepted = actions.declined()
        single = one_by_one(warnings)
        left_so = [warning for warning in single if key_of(warning) in accepted]
        unsettled = [warning for warning in single if key_of(warning) not in accepted] if left_so else warnings
        for kind in KINDS:
            own = [warning for warning in unsettled if isinstance(warning, kind.warning)]
            sentences = " ".join(f"{upper_first(str(warning))}." for warning in own)
            details = [f"{upper_first(detail)}." for warning in own for detail in warning.details]
            if own:
                st.warning(markdown("**{}.** {}", kind.title, sentences), icon=f":material/{kind.icon}:")
            if details:
                with st.expander("Which columns"):
                    st.markdown(joined("\n", [markdown("- {}", detail) for detail in details]))
        if left_so:
            with st.expander(f"{text.plural(len(left_so), 'warning')} left so under Data", icon=":material/done_all:"):
                st.markdown(bullets([f"{upper_first(warning.what)}." for warning in left_so]))
        if warnings and st.button("Mend it under Data", key="mend-under-file"):
            state.show_part("columns")
            navigation.go_to("data")


def before_submission(study: Study, status: DecisionStatus) -> None:
    """Show what would stand in the way of a public bundle, as long as nothing is submitted: of the recommended
    candidate, or of the plan while none is."""
    if status.state not in ("none", "draft", "returned"):
        return
    plan = study.plan
    spec = study.find(status.choice.label)[0].spec if status.choice is not None else None
    if spec is not None and spec.by_roles:
        only = replace(plan.space, specs=(str(spec.attributes),), swap_sizes=(), all_specs=False, search=False)
        plan = replace(plan, space=only, mechanisms=())
    shown(plan, refused_only=True)
