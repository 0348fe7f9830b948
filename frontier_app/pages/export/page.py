"""Export: the recommended release as a bundle for each reader, searched first, and attacked too if it is public."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import streamlit as st

from engine.bundle.readers import Attack
from engine.common.errors import EngineError
from engine.common.output import Message
from engine.common.wording import columns_named, upper_first
from engine.decision.statements import words
from engine.decision.states import DecisionStatus, decision_status
from engine.decision.verdict_log import logged_verdict
from engine.measures.verdict import Verdict, verdict_of
from engine.models.record_release import RecordRelease
from engine.plan.coding import N_RULE
from engine.release.records import ReleasedTable
from engine.release.scenarios import Choice
from engine.report.describe import remade
from engine.report.other_keys import altered_in, key_set, with_left, worst_few
from engine.report.parameters import released_with
from engine.report.recognised_facts import KeySet
from engine.study.study import Study
from frontier_app.charts.before_after import intruder_curve
from frontier_app.session import actions, jobs, state
from frontier_app.widgets import candidate_card, elements, small_cells, workflow
from frontier_app.wording import plan_words, text
from frontier_app.wording.markup import bullets, markdown

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

_TIERS = {
    "analyst": (
        "Analyst",
        "the person who ran it",
        "Everything: the release, the manifest that remakes it, all candidates, the pairs, the decision log. It can"
        " undo the swap and must stay inside.",
    ),
    "board": (
        "Board",
        "the disclosure review board, sworn and deciding",
        "The memo with its tables and slides, and the board's view: exact figures, the spec and the rate. It holds no"
        " key, no pairs, no records, no names of candidates and no paths.",
    ),
    "circulating": (
        "Circulating copy",
        "readers of board papers who need not know the rate",
        "The memo without the fields that depend on the rate: they are left out, and nothing is rounded.",
    ),
    "public": (
        "Public",
        "the users of the data",
        "The released data, a codebook, scripts that load them, a paragraph on methods and digests of the files;"
        " nothing else. This bundle needs an approval.",
    ),
    "all": ("All", "you, to hand on", "One folder for each of these, from the same release."),
}
_FORMATS = {
    "csv": "CSV",
    "parquet": "Parquet",
    "sav": "SPSS (.sav)",
    "dta": "Stata (.dta)",
}
_MENDED_IN_FILE: tuple[Attack, ...] = ("identifiers", "recodes", "misfits")
_EVERY = 1.0
_SHOWN = 5  # exports that are listed
_LONG = 8  # files of a bundle that are named


_TITLES = {
    "none": "No release is recommended yet",
    "withheld": "Nothing is released",
    "draft": "Bundles for inside can be written, none for the public yet",
    "submitted": "The board can be given its bundle, the public none yet",
    "returned": "The board returned the release: no public bundle can be written",
    "approved": "The public bundle can be written",
    "released": "The release is published",
}


def page() -> None:
    """For whom, in which formats; what was written, and where it lies."""
    path = actions.own_study()
    if path is None:
        st.title(_TITLES["none"], anchor=False)
        elements.empty_page(
            "There is nothing to export yet: a release is chosen among the candidates of a study.",
            *elements.first_step(),
        )
        return
    try:
        with Study.open(path) as study:
            status = decision_status(study)
            at, choice = state.get().workspace, status.choice
            written = at is not None and choice is not None and jobs.has_public(at, choice.label)
            done = written and status.state == "approved"
            st.title("The public bundle is written" if done else _TITLES[status.state], anchor=False)
            if choice is None:
                _nothing(status)
            else:
                left, right = st.columns([3, 2], gap="large")
                with left:
                    workflow.state_box(study, status)
                    _ask(study, status)
                with right:
                    _found(study, choice)
            _written(status, study)
            if choice is not None:
                with st.expander("Who gets what", icon=":material/group:"):
                    _readers()
    except EngineError as error:
        elements.show_error(error)


def _nothing(status: DecisionStatus) -> None:
    """Say why there is no release to export."""
    if status.state == "withheld":
        elements.empty_page(
            f"The decision is to release nothing, so there is nothing to export. Reason given: {status.why}",
            "decide",
            "See the decision",
        )
    else:
        elements.empty_page(
            f"{status.words} Only a recommended release can be exported; record a recommendation first.",
            "decide",
            "Recommend a release",
        )


def _readers() -> None:
    rows = [(name, whom, holds) for name, whom, holds in list(_TIERS.values())[:4]]
    st.html(candidate_card.listing(("Bundle", "For", "Holds"), rows, "What each bundle holds and for whom"))


def _found(study: Study, choice: Choice) -> None:
    """What an intruder finds who knows more and more of the keys, as a curve; of a large file on demand."""
    raw, keys, memo = state.get().raw, study.plan.keys, state.get().memo
    if raw is None or raw.streamed is not None or not 2 < len(keys) <= small_cells.MOST_KEYS:
        return
    which = (str(study.path), choice.label, choice.replicate)
    small = raw.n_records * len(study.plan.attributes) <= small_cells.AT_ONCE
    place = st.empty()
    if not (small or memo.peek("found-by-keys", which) is not None):
        if not place.button("What would an intruder find?", key="find-by-keys"):
            return
        place.empty()

    def sets() -> list[KeySet]:
        release = memo.get("remade", which, lambda: remade(study, raw, choice.label, choice.replicate))
        records = RecordRelease(ReleasedTable(release.data), release.tables, study.plan, release.spec)
        every = key_set(release.data.table, keys, altered_in(records), N_RULE)
        few = worst_few(records, keys, N_RULE)
        return sorted(with_left(records, [*few, every], keys, N_RULE), key=lambda each: len(each.keys))

    with st.spinner("Looking for people who stand out…"):
        found = memo.get("found-by-keys", which, sets)
    most = found[-1]
    st.markdown(
        markdown("**{:,} unaltered records stand out on all {} keys, {:,} before**", most.left, len(keys), most.small)
    )
    elements.chart(
        intruder_curve([(len(each.keys), each.small, each.left or 0) for each in found]),
        "found-by-keys",
        "Records in small cells by the number of keys that an intruder knows: "
        + "; ".join(f"{len(each.keys)} keys: {each.small:,} before, {each.left:,} after" for each in found),
    )
    st.caption(f"Records that fewer than {N_RULE} share, on the keys that expose most of each number of keys.")


# -- asking for one --------------------------------------------------------------------------------------------------


def _ask(study: Study, status: DecisionStatus) -> None:
    now = state.get()
    choice = status.choice
    assert choice is not None
    if now.raw is None or now.workspace is None:
        elements.needs_data("An export remakes the release from")
        return
    left, right = st.columns(2, gap="large")
    tier = _tier(study, status, left)
    formats = tuple(state.input_or("export-formats", jobs.like_the_file(now.workspace)))
    include: tuple[str, ...] = ()
    if tier not in ("board", "circulating"):
        with right:
            formats, include = _data(study, formats, tier)
    job = jobs.job(now.workspace)
    if job.state == "running":
        _watch()
        return
    name = _TIERS[tier][0].lower()
    if st.button(
        f"Write the bundle{'s' if tier == 'all' else f' for: {name}'}",
        key="write-bundle",
        type="secondary" if jobs.has_public(now.workspace, choice.label) or _mended_in_file(job.error) else "primary",
        icon=":material/inventory_2:",
        disabled=not formats,
    ):
        with elements.errors_shown():
            jobs.start_export(now.workspace, choice.label, tier, formats or ["csv"], include, now.look.partial)
            st.rerun()
    if not formats:
        st.caption("Choose at least one format.")
    if job.error is not None:
        _failed(job.error)
    for message in job.messages if job.state == "finished" else ():
        if message.kind == "warning":
            st.warning(upper_first(message.text), icon=":material/warning:")


def _failed(error: Message) -> None:
    """Say why nothing was written; of a release that an attack undoes, what was found, what to do about it and
    where."""
    attack = error.values.get("attack")
    if attack is None:
        sentence = upper_first(text.message_text(error))
        st.error(markdown("**Nothing was written.** {}", sentence), icon=":material/block:")
        return
    why, mend = (f"{upper_first(error.values[name])}." for name in ("why", "mend"))
    st.error(
        markdown(
            "**The release was refused, and nothing was written.** It was attacked first, and an attack succeeded. {}"
            "\n\n**What to do:** {}",
            why,
            mend,
        ),
        icon=":material/block:",
    )
    if _mended_in_file(error):
        st.caption("That changes the plan: sweep it again, and have what you then recommend approved anew.")
        elements.go("data", "Mend it under Data")


def _mended_in_file(error: Message | None) -> bool:
    """Return whether an attack succeeded that another coding of the columns prevents."""
    return error is not None and error.values.get("attack") in _MENDED_IN_FILE


def _data(study: Study, proposed: tuple[str, ...], tier: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Formats of the data, and what is released besides what the plan says; only the analyst may have more."""
    formats = st.multiselect(
        "Formats of the data",
        list(_FORMATS),
        default=list(proposed),
        format_func=_FORMATS.__getitem__,
        key="export-formats",
        persist_state="session",
        help="CSV loses labels, which the codebook and the scripts carry; SPSS and Stata keep them.",
    )
    planned = study.plan.publish.include
    if tier == "analyst":
        more = {role: label for role, label in _besides(study).items() if role not in planned}
        include = tuple(
            role
            for role, label in more.items()
            if st.checkbox(label, key=f"export-include-{role}", persist_state="session")
        )
    else:
        include = ()
    st.caption(
        f"{words(released_with(planned))} The page Intruder and uses settles this for the public,"
        " and the board approves it."
    )
    return tuple(formats), include


def _besides(study: Study) -> dict[str, str]:
    """Ask what the analyst's release may hold besides the attributes and carried columns."""
    data = study.plan.data
    labels = {}
    if data.weight is not None:
        labels["weight"] = f"Give the analyst the weight too (column {data.weight})"
    if data.id is not None:
        labels["id"] = f"Give the analyst a new id in place of column {data.id}"
    if data.unit is not None:
        labels["unit"] = f"Give the analyst new numbers of households in place of {columns_named(data.unit_columns)}"
    return labels


def _tier(study: Study, status: DecisionStatus, at: DeltaGenerator) -> str:
    """For whom: those for whom the state of the recommendation allows a bundle, and why not the others; what this one
    tells about the rate."""
    missing = _missing(status)
    tiers = [tier for tier in _TIERS if not missing or tier not in ("public", "all")]
    if study.plan.publish.members_rate == "tell":
        tiers.remove("circulating")
    first = {"submitted": "board", "approved": "public", "released": "public"}.get(status.state, "analyst")
    tier = at.radio(
        "For whom",
        tiers,
        index=tiers.index(first),
        format_func=lambda name: _TIERS[name][0],
        horizontal=True,
        key=state.keep_among(f"export-tier-{status.state}", tiers),
        persist_state="session",
    )
    at.caption(_rate_words(study, tier))
    if missing:
        at.caption(markdown(":material/lock: {}", missing))
    return tier


def _rate_words(study: Study, tier: str) -> str:
    """The words that tell a reader how much was swapped."""
    public = study.plan.publish
    if tier in ("public", "all"):
        policy = (
            f"The public is told a range instead of the rate: {public.rate_range}."
            if public.rate_policy == "range"
            else "The public is told neither the rate nor how many records were swapped, since whoever knows the rate"
            " can undo a swap more easily. A wide range can be told instead."
        )
        return f"{policy} The page Intruder and uses settles this, and a change after the approval needs a new one."
    return {
        "analyst": "It holds the exact rate and all else that remakes the release.",
        "board": "It tells the exact rate, asked for and reached, and how many records changed.",
        "circulating": "It tells neither the rate nor a figure that depends on it.",
    }[tier]


def _missing(status: DecisionStatus) -> str:
    """The obstacles between this recommendation and a public bundle; empty where there are none."""
    if status.state in ("approved", "released"):
        return ""
    steps = {
        "draft": "It has to be submitted to the board, and the board has to approve it.",
        "submitted": "The board has to approve it.",
        "returned": "The board has returned it; it has to be submitted again, or another release recommended.",
    }
    return (
        "A public bundle needs an approved recommendation, and this one is"
        f" {'a draft' if status.state == 'draft' else status.state}. {steps[status.state]}"
    )


def _watch() -> None:
    at = state.get().workspace
    assert at is not None

    @st.fragment(run_every=_EVERY)
    def watch() -> None:
        job = jobs.job(at)
        if job.state != "running":
            st.rerun()
        with st.status("Writing… You may leave this page.", expanded=True):
            for message in job.messages or (Message("step", "reading the data"),):
                st.markdown(upper_first(message.sentence))

    watch()


# -- what was written ------------------------------------------------------------------------------------------------


def _written(status: DecisionStatus, study: Study) -> None:
    at = state.get().workspace
    written = jobs.complete(at) if at is not None else []
    if not written:
        return
    st.subheader("What was written", anchor=False)
    choice = status.choice
    if at is not None and choice is not None and status.state == "approved" and jobs.has_public(at, choice.label):
        st.markdown("The public bundle is written. When it has been published, record that: it closes the decision.")
        elements.go("decide", "Next: record the publication")
    for number, bundles_written in enumerate(written[:_SHOWN]):
        names = text.listed([_TIERS[tier][0] for tier in bundles_written.bundles])
        stamp = bundles_written.folder.name.split("-")
        title = f"{stamp[0]} for {names}, {stamp[1][:4]}-{stamp[1][4:6]}-{stamp[1][6:]} {stamp[2][:2]}:{stamp[2][2:4]}"
        with st.expander(title, expanded=number == 0, icon=":material/folder_zip:"):
            _export(status, study, bundles_written)
    if len(written) > _SHOWN:
        st.caption(f"These are the latest {_SHOWN} of {len(written)}; each has another order of rows.")


def _export(status: DecisionStatus, study: Study, written: jobs.Export) -> None:
    searched = (
        "All bytes were searched for keys, secrets, paths and names, and nothing was found. Every file is on its"
        " reader's list."
    )
    found = _verdict(status, study, written) if "public" in written.bundles else None
    if found is None:
        st.success(searched, icon=":material/verified_user:")
    else:
        candidate_card.show(found)
        st.caption(" ".join([searched, *_attacked(written.attack)]))
    columns = st.columns(min(len(written.bundles), 4) or 1, gap="medium")
    for column, tier in zip(columns, written.bundles, strict=False):
        with column.container(border=True, height="stretch"):
            internal = tier == "analyst"
            st.markdown(markdown("**{}** – {}", *_TIERS[tier]))
            if internal:
                st.markdown(
                    markdown(":material/lock: Whoever has it can undo the swap. Keep it with the original data.")
                )
            elif tier == "public":
                st.markdown(markdown(":material/public: It may leave the building."))
            files = written.files(tier)
            listed = [f"{name} ({_size(size)})" for name, size in files[:_LONG]]
            more = [f"and {len(files) - _LONG} more"] if len(files) > _LONG else []
            st.markdown(bullets([*listed, *more]))
            archive = written.archive(tier)
            st.download_button(
                "Download (zip)",
                archive.read_bytes,
                f"{tier}.zip",
                "application/zip",
                key=f"download-{written.folder.name}-{tier}",
                icon=":material/lock:" if internal else ":material/download:",
                on_click="ignore",
            )
    st.caption("The bundle lies on this machine in the folder:")
    st.code(str(written.folder), language=None)


def _verdict(status: DecisionStatus, study: Study, written: jobs.Export) -> Verdict | None:
    """The verdict of the attack before a public bundle was written: in the analyst's bundle, else in the log."""
    if written.attack and "verdict" in written.attack:
        return verdict_of(written.attack["verdict"])
    choice = status.choice
    if choice is None or choice.label != written.label:
        return None
    return logged_verdict(study, f"{choice.label}/{choice.replicate}")


def _attacked(attack: Mapping[str, Any] | None) -> list[str]:
    """Details of the attack where the analyst's bundle holds them."""
    if not attack:
        return []
    sentences = []
    if attack.get("keys") and attack.get("order"):
        sentences.append(
            f"No weak key was found ({attack['keys']['seeds']:,} seeds of each of several programs were tried); the"
            " order of the rows and the ids keep nothing of the original."
        )
    if attack.get("misfits", {}).get("telling"):
        sentences.append(f"The board's memo says so too: {attack['misfits']['why']}.")
    if attack.get("published_tables", {}).get("tried"):
        sentences.append(plan_words.found_words(attack["published_tables"]))
    if attack.get("units", {}).get("tried"):
        sentences.append(attack["units"]["why"])
    return sentences


def _size(n: int) -> str:
    return f"{n / 2**20:.1f} MB" if n >= 2**20 else f"{max(1, round(n / 1024)):,} kB"


page()
