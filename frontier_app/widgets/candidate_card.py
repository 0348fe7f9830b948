"""A candidate in words and figures, alone and beside others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import streamlit as st

from engine.decision.bounds import figure_words, title_of
from engine.decision.choice import chosen_run
from engine.decision.comparison import Difference, differences
from engine.decision.gate import over_edit_limits, released_run
from engine.decision.statements import sentences, statement, words
from engine.decision.states import decision_status
from engine.decision.verdict_log import log_verdict, logged_verdict, verdict_words
from engine.frontier.choosing import share_within
from engine.frontier.risk_utility_map import RiskUtilityMap, over_limits
from engine.measures import MeasureCall
from engine.measures.verdict import Verdict
from engine.mechanisms import mechanism
from engine.plan.types import in_no_use, no_use_sentence
from engine.release.scenarios import Choice
from engine.report.context import in_counts
from engine.report.describe import remade
from engine.report.detected import release_verdict
from engine.report.parameters import bound_is_on
from engine.report.sentences import exposed
from engine.report.words import on_frontier_words
from engine.study.map_reader import risk_bound
from engine.study.study import Study
from engine.sweeps.remake import Remade
from frontier_app.charts import map_data
from frontier_app.session import state
from frontier_app.widgets import small_cells
from frontier_app.wording import mechanisms, plan_words, text
from frontier_app.wording.candidates import Differences
from frontier_app.wording.markup import Markdown, joined, markdown, table


def released(study: Study, view: RiskUtilityMap, choice: Choice) -> str:
    """The place of the run to be released among its siblings."""
    runs, row = chosen_run(study, choice)
    counts = in_counts(study, view, int(runs.scenario[row]), runs)
    run = released_run(study, view, runs, row, choice.record, counts)
    told = run.statements[:1]
    if run.released is not None and run.mean is not None:
        title = title_of(view.measures[view.risk])
        figures = {"value": run.released, "mean": run.mean, "quantile": run.quantile, "asked": run.asked}
        told.append(statement("run_and_mean", measure=title, **figures))
    return sentences(told)


def lines(
    study: Study,
    view: RiskUtilityMap,
    index: int,
    bound: float | None = None,
    *,
    share: bool = True,
    unswapped: bool = True,
) -> list[Markdown]:
    """A candidate's risk in words, a paragraph each; ``bound`` is one that is tried on the map (a loss), else the
    plan's counts. Without ``share`` how many runs meet it is left out, and without ``unswapped`` what stands out on the
    keys that it leaves as they are, where the page tells that elsewhere."""
    told = []
    loss = bound if bound is not None else risk_bound(study, view.risk)
    runs = (view.results.scenario == index) & view.results.counted(view.allow_partial)
    if share and loss is not None and runs.any():
        values = view.results.values[runs]
        losses = view.measures[view.risk].measure.loss(values[:, view.risk])
        within = share_within(np.where(over_limits(values, view.edit_limits), np.inf, losses), loss)
        shown = figure_words(view.measures[view.risk], map_data.value_of(view, view.risk, loss))
        told.append(plan_words.within_words(within, shown, bound_is_on(study.plan.decision)))
    if (exposure := exposed(study, view, index)) is not None:
        told.append(plan_words.exposed_words(exposure))
    if unswapped:
        told += on_unswapped_keys(study, view, index)
    altered = view.scenarios[index].spec.attributes.names_having("S")
    if unused := no_use_sentence(in_no_use(study.plan, altered)):
        told.append(markdown("{}", unused))
    return told


def on_unswapped_keys(study: Study, view: RiskUtilityMap, index: int) -> list[Markdown]:
    """The words on what stands out on the keys that a candidate leaves as they are; nothing where that cannot be
    counted."""
    keys = small_cells.other_keys(study, view, index)
    return [] if keys is None else [plan_words.unswapped_words(*keys, small_cells.fewest_of(view))]


_BOXES = {
    "untried": (st.info, ":material/help:"),
    "none": (st.success, ":material/verified_user:"),
    "caution": (st.warning, ":material/warning:"),
    "serious": (st.error, ":material/gpp_bad:"),
}


def show(verdict: Verdict) -> None:
    """Show a verdict in its colour."""
    element, icon = _BOXES[verdict.severity]
    element(markdown("{}", verdict_words(verdict)), icon=icon)


def of_choice(study: Study, choice: Choice, *, ask: str) -> None:
    """Show the verdict on the recommended release: the logged one, or that of an attack made now; of a large file on
    demand, by the button ``ask``.  An attack on what may still be approved is logged."""
    found = logged_verdict(study, f"{choice.label}/{choice.replicate}")
    raw = state.get().raw
    if found is None and raw is not None and raw.streamed is None:
        which = (str(study.path), choice.label, choice.replicate)
        known = state.get().memo.peek("verdict", which) is not None
        small = raw.n_records * len(study.plan.attributes) <= small_cells.AT_ONCE
        place = st.empty()
        if known or small or place.button(ask, key="attack-choice"):
            place.empty()
            with st.spinner("Attacking the release…"):
                release = state.get().memo.get(
                    "remade", which, lambda: remade(study, raw, choice.label, choice.replicate)
                )
                found = of(study, release, which)
            if decision_status(study).state in ("draft", "submitted", "returned"):  # what the board needs to approve it
                log_verdict(study, f"{choice.label}/{choice.replicate}", found)
    if found is not None:
        show(found)


def of(study: Study, release: Remade, which: tuple[object, ...]) -> Verdict:
    """The verdict on a remade release, worked out once; ``which`` are study, candidate and replicate."""
    return state.get().memo.get("verdict", which, lambda: release_verdict(release, study.plan))


def differing(view: RiskUtilityMap) -> Differences:
    """What the candidates of a map differ in."""
    return state.get().memo.get("differing", id(view.scenarios), lambda: Differences(view.scenarios))


def name_of(view: RiskUtilityMap, index: int, letters: Mapping[int, str]) -> str:
    """A candidate by its letter, where it has one, by what it does, and by its id."""
    name = text.named(view.scenarios[index])
    return f"{letters[index]} · {name}" if index in letters else name


def badges(
    view: RiskUtilityMap, index: int, optimum: int | None = None, bound: float | None = None, tried: bool = False
) -> Markdown:
    """Its standing in labels; ``bound`` is the limit that it is held against, ``tried`` one that is not the plan's."""
    labels = []
    if view.changes_nothing[index]:
        labels.append(markdown(":red-badge[:material/block: changes nothing: the rows are the original's]"))
    if view.over_edits[index]:
        labels.append(markdown(":red-badge[:material/block: over the limit of an edit rule]"))
    if bound is not None and not np.isnan(view.bounded_risk[index]):
        within = bool(view.meets(bound)[index])
        labels.append(markdown(":green-badge[within the limit]" if within else ":orange-badge[over the limit]"))
    if index == optimum:
        labels.append(markdown(":blue-badge[:material/star: {}]", "best for what is tried" if tried else "recommended"))
    if not np.isnan(view.risk_loss[index]) and not view.changes_nothing[index]:
        on, clear = view.dominance.undominated[index], view.dominance.clear[index]
        if beside := map_data.beside_original(view, index):
            labels.append(markdown(":red-badge[:material/warning: {}]", beside))
        labels.append(markdown(":blue-badge[{}]" if on else ":gray-badge[{}]", "frontier" if on else "dominated"))
        if not clear and view.summary.counted[index] > 1:
            labels.append(markdown(":orange-badge[uncertain]"))
    tables = mechanisms.tables_of(view.scenarios[index].spec)
    if tables > 1:
        labels.append(markdown(":violet-badge[D={} tables together]", tables))
    if view.summary.failed[index]:
        labels.append(markdown(":red-badge[{}]", text.plural(int(view.summary.failed[index]), "failed run")))
    return joined(" ", labels)


def figures(view: RiskUtilityMap, index: int, *, narrow: bool = False) -> Markdown:
    """All figures against the original, as a table; a narrow one says changes in percent beside the names."""
    order = list(dict.fromkeys((view.risk, view.utility, *range(len(view.measures)))))
    joint = map_data.joint_measure(view)
    if joint is not None:
        # The joint risk stands beside the risk of one table.
        single = view.measures[joint].measure.judges_jointly
        order.remove(joint)
        beside = next(place for place, k in enumerate(order) if view.measures[k].measure.name in single)
        order.insert(beside + 1, joint)
    rows: list[list[str]] = []
    for k in order:
        mean, se, original = view.summary.mean[index, k], view.summary.se[index, k], view.original[k]
        name = text.measure_title(view.measures[k]) + (" (R2)" if k == joint else "")
        name = markdown("**{}**", name) if k in (view.risk, view.utility) else name
        share = text.relative(mean, original)
        if narrow:
            name += f" {share.replace(' ', chr(0xA0))}"
        change = [] if narrow else [share or text.signed(mean - original)]
        rows.append([name, text.figure(original), text.with_error(mean, se), *change])
    heads = ("", "original", "mean ± SE", *([] if narrow else ["change"]))
    return table(heads, "l" + "r" * (len(heads) - 1), rows)


def certainty(view: RiskUtilityMap, index: int, runs: int, failed: int) -> str:
    """Words on how sure the place on or off the frontier is, and how runs went."""
    share, sentences = view.dominance.share[index], [*map(words, over_edit_limits(view, index))]
    place = {
        (True, True): "on the frontier by more than the spread between runs explains",
        (True, False): "on the frontier, but others are within the spread between runs",
        (False, True): "dominated by more than the spread between runs explains",
        (False, False): "dominated by its means, but within the spread between runs",
    }[bool(view.dominance.undominated[index]), bool(view.dominance.clear[index])]
    if view.changes_nothing[index]:
        sentences.append("Its released rows are those of the original, so it cannot be chosen.")
    elif runs:
        sentences.append(f"It is {place}.")
    if not np.isnan(share):
        often = on_frontier_words(share, int(view.shared_runs[index]))
        sentences.append(f"By single runs it is on the frontier in {often}.")
    sentences.append(f"{text.plural(runs, 'run')} counted, {failed} failed.")
    changed = view.summary.changed[index]
    if not np.isnan(changed):
        in_pairs = mechanism(view.scenarios[index].spec.mechanism).partners_differ
        done = "took part in a swap" if in_pairs else "have another value in a table"
        sentences.append(f"On average {changed:,.0f} records {done}.")
    if households := map_data.households_words(view, index):
        sentences.append(f"On average {households} moved, with all who live in them.")
    return " ".join(sentences)


def joint_words(view: RiskUtilityMap, index: int) -> Markdown:
    """The words on the risk of several tables; nothing where there is one."""
    tables = mechanisms.tables_of(view.scenarios[index].spec)
    if tables < 2:
        return markdown("")
    joint = map_data.joint_measure(view)
    if joint is None:
        return markdown(
            "An intruder may hold all {} tables: a risk that is measured one table at a time understates it."
            " Measure R2 too.",
            tables,
        )
    return markdown(
        "R1 judges one table at a time. An intruder who holds all {} finds **R2 = {}** records, of {} in the original.",
        tables,
        text.with_error(view.summary.mean[index, joint], view.summary.se[index, joint]),
        text.figure(view.original[joint]),
    )


def difference(view: RiskUtilityMap, index: int, other: int, *, together: int = 1) -> Markdown:
    """The difference of another candidate, one of ``together`` that are shown, from this one on both measures: signed,
    absolute, in percent, and whether within noise."""
    lines, comparison = [], differences(view, other, index, together=together)
    for k, loss, better, worse in (
        (view.risk, view.risk_loss, "safer", "riskier"),
        (view.utility, view.utility_loss, "more useful", "less useful"),
    ):
        here, there = (map_data.value_of(view, k, float(loss[i])) for i in (index, other))
        line = f"{text.measure_within(view.measures[k])} {text.figure(here)}"
        if text.figure(here) == text.figure(there):
            lines.append(f"{line}: equal as shown")
            continue
        which = "the same"
        if loss[other] != loss[index]:
            which = (better if loss[other] < loss[index] else worse) + ", but within noise" * (not comparison[k].clear)
        share = text.relative(there, here)
        change = text.signed(there - here) + (f", {share}" if share else "")
        lines.append(f"{line} → {text.figure(there)} ({change}): {which}")
    return joined("  \n", lines)


def neighbours(view: RiskUtilityMap, index: int, among: Sequence[int] | None = None) -> dict[str, int]:
    """The nearest candidates of the frontier (or ``among`` some of it) that are safer, and that are more useful."""
    on = view.frontier() if among is None else np.array(among, np.int64)
    on = on[on != index]
    nearest = {}
    for name, better, other in (
        ("safer", view.risk_loss, view.utility_loss),
        ("more useful", view.utility_loss, view.risk_loss),
    ):
        beyond = on[better[on] < better[index]]
        if len(beyond):
            nearest[name] = int(beyond[np.lexsort((other[beyond], -better[beyond]))[0]])
    return nearest


def before_and_after(view: RiskUtilityMap, again: RiskUtilityMap, letters: Mapping[int, str]) -> Markdown:
    """Finalists as swept and on fresh replicates, side by side, as a table; with the letters of those that have one."""
    kinds = (("risk", view.risk), ("utility", view.utility))
    names = [f"{kind}, {when}" for kind, _ in kinds for when in ("as swept", "fresh", "change")]
    head = ["candidate", *names, "runs", "unbeaten"]
    rows = []
    indices = np.flatnonzero((again.summary.counted > 0) | (again.summary.failed > 0)).tolist()
    for i in sorted(indices, key=lambda i: (view.risk_loss[i], view.utility_loss[i])):
        cells = []
        for _, k in kinds:
            before, after = view.summary.mean[i, k], again.summary.mean[i, k]
            cells += [
                text.with_error(before, view.summary.se[i, k]),
                text.with_error(after, again.summary.se[i, k]),
                text.relative(after, before) or text.signed(after - before),
            ]
        runs = f"{int(view.summary.counted[i])} → {int(again.summary.counted[i])}"
        stood, stands = ("yes" if at.dominance.undominated[i] else "no" for at in (view, again))
        label = markdown("{}", name_of(view, i, letters))
        rows.append([label, *cells, runs, f"{stood} → {stands}"])
    about = (
        "Runs and “unbeaten” are as swept → on fresh runs. A candidate is unbeaten if no other one is as safe and as"
        " useful, and better in one of the two: of all candidates as swept, of those in this table on fresh runs."
    )
    return joined("\n\n", [table(head, "l" + "r" * 7 + "l", rows), about])


CSS = """<style>
.sf-side {overflow-x: auto;}
.sf-side table {border-collapse: collapse; width: 100%; font-size: .88rem; font-variant-numeric: tabular-nums;}
.sf-side th, .sf-side td {padding: .42rem .7rem .42rem 0; vertical-align: top; text-align: left;
  border-bottom: 1px solid light-dark(#D5DBE1, #39434D); font-weight: 400; overflow-wrap: anywhere;}
.sf-side thead th {border-bottom-width: 2px; font-weight: 600; max-width: 13rem;}
.sf-side th.candidate {width: 15rem; max-width: 15rem;}
.sf-side tbody th {min-width: 11rem; max-width: 17rem;}
.sf-side b {font-weight: 600;}
.sf-side .quiet {color: light-dark(#55606B, #A9B3BD); font-size: .8rem; font-weight: 400; display: block;}
.sf-side .better {color: light-dark(#005A8C, #6CC0EE); display: block;}
.sf-side .worse {color: light-dark(#A34700, #F59A57); display: block;}
.sf-lines td, .sf-lines th {padding: .34rem 0 !important; max-width: none !important;}
.sf-lines td {text-align: right; font-weight: 600; color: inherit; white-space: nowrap; padding-left: .7rem !important;}
.sf-lines .strip {position: relative; display: inline-block; width: 11rem; height: 1.1rem; margin-right: .3rem;}
.sf-lines .strip span {position: absolute; top: .3rem; width: .5rem; height: .5rem; margin-left: -.25rem;
  border-radius: 50%; background: light-dark(#0072B2, #56B4E9); opacity: .6;}
.sf-lines .strip b {position: absolute; top: 0; height: 100%; border-left: 2px dashed light-dark(#A34700, #F59A57);}
.sf-side .noise {color: light-dark(#55606B, #A9B3BD); display: block;}
</style>"""
"""Blue and vermillion of Okabe and Ito, darkened or lightened to read as text; words and marks say the same.
No arrows: a figure that falls may be the better one."""


@dataclass(frozen=True)
class Column:
    """One candidate: its name, what it does, and lines of words under it."""

    name: str
    words: str
    lines: tuple[str, ...] = ()


def verdict(difference: Difference) -> tuple[str, str]:
    """Class and words of a difference: better or worse, clear or within the noise."""
    if difference.absolute != difference.absolute:
        return "noise", "not known"
    if difference.better == 0:
        return "noise", "= the same"
    if not difference.clear:
        way = "better" if difference.better > 0 else "worse"
        return "noise", f"≈ {way}, but within noise"
    return ("better", "✓ clearly better") if difference.better > 0 else ("worse", "✗ clearly worse")


def side_by_side(
    columns: Sequence[Column],
    measures: Sequence[MeasureCall],
    comparisons: Sequence[Sequence[Difference]],
    reference: str,
    order: Sequence[int],
) -> str:
    """The table as HTML; ``comparisons`` holds the differences of every column, ``order`` the measures from the top."""
    head = f'<th scope="col">Mean over runs</th><th scope="col"><b>{escape(reference)}</b>{_quiet("reference")}</th>'
    for column in columns:
        words = _quiet(escape(column.words).replace(" %", "&nbsp;%"))  # no line begins with a sign of per cent
        head += f'<th scope="col" class="candidate"><b>{escape(column.name)}</b>{words}</th>'
    rows = []
    for label, lines in zip(_LINES, zip(*(column.lines for column in columns), strict=True), strict=False):
        if any(lines):
            cells = "".join(f"<td>{escape(line)}</td>" for line in lines)
            rows.append(f'<tr><th scope="row">{escape(label)}</th><td></td>{cells}</tr>')
    for k in order:
        call = measures[k]
        direction = escape(text.DIRECTION["lower" if call.measure.better == "zero" else call.measure.better])
        cells = "".join(_cell(comparison[k]) for comparison in comparisons)
        stands = "".join(_figure(each[k].reference, each[k].reference_se) for each in comparisons[:1])
        rows.append(
            f'<tr title="{escape(call.meaning)}"><th scope="row"><b>{escape(text.measure_name(call))}</b>'
            f"{_quiet(f'{call.measure.kind}, {direction}')}</th><td>{stands}</td>{cells}</tr>"
        )
    return _html_table(head, "".join(rows), "Candidates side by side")


_LINES = (
    *("On the frontier?", "Runs", "Records changed", "Households moved"),
    *(plan_words.UNSWAPPED, "In no declared use", "Note"),
)


def _quiet(words: str) -> str:
    return f'<span class="quiet">{words}</span>'


def _figure(value: float, se: float) -> str:
    return escape(text.with_error(value, se) if se else text.figure(value))


def _cell(difference: Difference) -> str:
    kind, said = verdict(difference)
    share = text.relative(difference.value, difference.reference)
    if difference.better != 0:
        change = text.signed(difference.absolute) + (f" ({share})" if share else "")
        said = f"{escape(change)}<br>{escape(said)}"
    return f'<td>{_figure(difference.value, difference.value_se)}<span class="{kind}">{said}</span></td>'


def _html_table(head: str, body: str, label: str) -> str:
    return (
        f'<div class="sf-side" tabindex="0" role="region" aria-label="{escape(label)}">{CSS}<table><thead><tr>{head}'
        f"</tr></thead><tbody>{body}</tbody></table></div>"
    )


def listing(heads: Sequence[str], rows: Sequence[Sequence[str]], label: str) -> str:
    """A plain table as HTML whose words wrap; the last column takes the room that is left."""
    narrow = 'style="max-width: none; white-space: nowrap"'
    head = "".join(f'<th scope="col" {narrow}>{escape(cell)}</th>' for cell in heads)
    body = ""
    for *cells, last in rows:
        first = "".join(f'<td style="white-space: nowrap">{escape(cell)}</td>' for cell in cells)
        body += f"<tr>{first}<td>{escape(last)}</td></tr>"
    return _html_table(head, body, label)
