"""A candidate in words and figures, alone and beside others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import streamlit as st

from engine.decision.bounds import figure_words
from engine.decision.choice import chosen_run
from engine.decision.comparison import Difference, differences
from engine.decision.gate import over_edit_limits, released_run
from engine.decision.statements import sentences, statement, words
from engine.decision.states import decision_status
from engine.decision.verdict_log import log_verdict, logged_verdict, verdict_words
from engine.frontier.choosing import share_within
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.measures import MeasureCall
from engine.measures.verdict import Severity, Verdict
from engine.mechanisms import mechanism
from engine.plan.types import in_no_use, no_use_sentence
from engine.release.scenarios import Choice
from engine.report.context import in_counts
from engine.report.describe import remade
from engine.report.detected import release_verdict
from engine.report.parameters import bound_is_on
from engine.report.redaction import title_of
from engine.report.sentences import exposed
from engine.report.words import on_frontier_words
from engine.study.map_reader import risk_bound
from engine.study.study import Study
from engine.sweeps.remake import Remade
from frontier_app.charts import map_data
from frontier_app.session import state
from frontier_app.widgets import small_cells
from frontier_app.wording import mechanisms, plan_words, text
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
    planned = risk_bound(study, view.risk)
    loss = bound if bound is not None else planned
    runs = view.results.scenario == index
    runs &= view.results.counted(view.allow_partial)
    if share and loss is not None and runs.any():
        within = share_within(view.measures[view.risk].measure.loss(view.results.values[runs, view.risk]), loss)
        shown = figure_words(view.measures[view.risk], map_data.value_of(view, view.risk, loss))
        told.append(plan_words.within_words(within, shown, bound_is_on(study.plan.decision)))
    exposure = exposed(study, view, index)
    if exposure is not None:
        told.append(plan_words.exposed_words(exposure))
    if unswapped:
        told += on_unswapped_keys(study, view, index)
    spec = view.scenarios[index].spec
    unused = no_use_sentence(in_no_use(study.plan, spec.attributes.names_having("S")))
    if unused:
        told.append(markdown("{}", unused))
    return told


def on_unswapped_keys(study: Study, view: RiskUtilityMap, index: int) -> list[Markdown]:
    """The words on what stands out on the keys that a candidate leaves as they are; nothing where that cannot be
    counted."""
    keys = small_cells.other_keys(study, view, index)
    return [] if keys is None else [plan_words.unswapped_words(*keys, small_cells.fewest_of(view))]


AT_ONCE = 100_000
"""Records times attributes up to which a release is attacked without being asked for."""
_BOXES = {
    "untried": (st.info, ":material/help:"),
    "none": (st.success, ":material/verified_user:"),
    "caution": (st.warning, ":material/warning:"),
    "serious": (st.error, ":material/gpp_bad:"),
}


def show(verdict: Verdict) -> None:
    """Show a verdict in its colour."""
    box(verdict.severity, verdict_words(verdict))


def box(severity: Severity, words: str) -> None:
    """Show words in the colour of a severity."""
    element, icon = _BOXES[severity]
    element(markdown("{}", words), icon=icon)


def of_choice(study: Study, choice: Choice, *, ask: str) -> None:
    """Show the verdict on the recommended release: the logged one, or that of an attack made now; of a large file on
    demand, by the button ``ask``.  An attack on what may still be approved is logged."""
    found = logged_verdict(study, f"{choice.label}/{choice.replicate}")
    raw = state.get().raw
    if found is None and raw is not None and raw.streamed is None:
        which = (str(study.path), choice.label, choice.replicate)
        known = state.get().memo.peek("verdict", which) is not None
        small = raw.n_records * len(study.plan.attributes) <= AT_ONCE
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


def name_of(view: RiskUtilityMap, index: int, letters: Mapping[int, str]) -> str:
    """A candidate by its letter, where it has one, by what it does, and by its id."""
    name = text.named(view.scenarios[index])
    return f"{letters[index]} · {name}" if index in letters else name


def badges(view: RiskUtilityMap, index: int, optimum: int | None = None) -> Markdown:
    """Its standing in labels."""
    labels = []
    if not np.isnan(view.risk_loss[index]):
        on = view.dominance.undominated[index]
        if view.changes_nothing[index]:
            labels.append(markdown(":red-badge[:material/block: changes nothing: the rows are the original's]"))
        if view.over_edits[index]:
            labels.append(markdown(":red-badge[:material/block: over the limit of an edit rule]"))
        labels.append(markdown(":blue-badge[:material/check: on the frontier]" if on else ":gray-badge[dominated]"))
        labels.append(markdown(":gray-badge[clear]" if view.dominance.clear[index] else ":orange-badge[uncertain]"))
    tables = mechanisms.tables_of(view.scenarios[index].spec)
    if tables > 1:
        labels.append(markdown(":violet-badge[D={} tables together]", tables))
    if view.riskier_than_original[index]:
        labels.append(markdown(":red-badge[:material/warning: riskier than doing nothing]"))
    if view.summary.failed[index]:
        labels.append(markdown(":red-badge[{}]", text.plural(int(view.summary.failed[index]), "failed run")))
    if index == optimum:
        labels.append(markdown(":blue-badge[:material/star: recommended]"))
    return joined(" ", labels)


def figures(view: RiskUtilityMap, index: int, *, narrow: bool = False) -> Markdown:
    """All figures against the original, as a table; a narrow one says changes in percent beside the names."""
    order = [view.risk, view.utility, *(k for k in range(len(view.measures)) if k not in (view.risk, view.utility))]
    joint = map_data.joint_measure(view)
    if joint is not None:
        # The joint risk stands beside the risk of one table.
        single = view.measures[joint].measure.judges_jointly
        beside = next(k for k in order if view.measures[k].measure.name in single)
        order.remove(joint)
        order.insert(order.index(beside) + 1, joint)
    rows: list[list[str]] = []
    for k in order:
        mean, se, original = view.summary.mean[index, k], view.summary.se[index, k], view.original[k]
        name = text.measure_title(view.measures[k]) + (" (R2)" if k == joint else "")
        name = markdown("**{}**", name) if k in (view.risk, view.utility) else name
        share = text.relative(mean, original)
        figures = [text.figure(original), text.with_error(mean, se)]
        if narrow:
            rows.append([name + f" {share.replace(' ', chr(0xA0))}", *figures])
        else:
            rows.append([name, *figures, share or text.signed(mean - original)])
    if narrow:
        return table(("", "original", "mean ± SE"), "lrr", rows)
    return table(("", "original", "mean ± SE", "change"), "lrrr", rows)


def certainty(view: RiskUtilityMap, index: int, runs: int, failed: int) -> str:
    """Words on how sure the place on or off the frontier is, and how runs went."""
    sentences: list[str] = []
    sentences += map(words, over_edit_limits(view, index))
    share = view.dominance.share[index]
    on, clear = bool(view.dominance.undominated[index]), bool(view.dominance.clear[index])
    if view.changes_nothing[index]:
        sentences.append("Its released rows are those of the original, so it cannot be chosen.")
    elif runs:
        if on and clear:
            sentences.append("It is on the frontier by more than the spread between runs explains.")
        elif on:
            sentences.append("It is on the frontier, but others are within the spread between runs.")
        elif clear:
            sentences.append("It is dominated by more than the spread between runs explains.")
        else:
            sentences.append("It is dominated by its means, but within the spread between runs.")
    if not np.isnan(share):
        often = on_frontier_words(share, int(view.shared_runs[index]))
        sentences.append(f"By single runs it is on the frontier in {often}.")
    sentences.append(f"{text.plural(runs, 'run')} counted, {failed} failed.")
    changed = view.summary.changed[index]
    if not np.isnan(changed):
        pairs = mechanism(view.scenarios[index].spec.mechanism).partners_differ
        done = "took part in a swap" if pairs else "have another value in a table"
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
    figures = text.with_error(view.summary.mean[index, joint], view.summary.se[index, joint])
    return markdown(
        "R1 judges one table at a time. An intruder who holds all {} finds **R2 = {}** records, of {} in the original.",
        tables,
        figures,
        text.figure(view.original[joint]),
    )


def difference(view: RiskUtilityMap, index: int, other: int, *, together: int = 1) -> Markdown:
    """The difference of another candidate, one of ``together`` that are shown, from this one on both measures: signed,
    absolute, in percent, and whether within noise."""
    lines, comparison = [], differences(view, other, index, together=together)
    for kind, k, loss in (("risk", view.risk, view.risk_loss), ("utility", view.utility, view.utility_loss)):
        name = text.measure_within(view.measures[k])
        here, there = (map_data.value_of(view, k, float(loss[i])) for i in (index, other))
        share = text.relative(there, here)
        better, worse = ("safer", "riskier") if kind == "risk" else ("more useful", "less useful")
        which = "the same" if loss[other] == loss[index] else better if loss[other] < loss[index] else worse
        which += ", but within noise" if loss[other] != loss[index] and not comparison[k].clear else ""
        if text.figure(here) == text.figure(there):
            lines.append(f"{name} {text.figure(here)}: equal as shown")
        else:
            change = f"{text.signed(there - here)}{f', {share}' if share else ''}"
            lines.append(f"{name} {text.figure(here)} → {text.figure(there)} ({change}): {which}")
    return joined("  \n", lines)


def neighbours(view: RiskUtilityMap, index: int, among: Sequence[int] | None = None) -> dict[str, int]:
    """The nearest candidates of the frontier (or ``among`` some of it) that are safer, and that are more useful."""
    on = view.frontier() if among is None else np.array(among, np.int64)
    on = on[on != index]
    risk, loss = view.risk_loss, view.utility_loss
    nearest = {}
    safer = on[risk[on] < risk[index]]
    if len(safer):
        nearest["safer"] = int(safer[np.lexsort((loss[safer], -risk[safer]))[0]])
    useful = on[loss[on] < loss[index]]
    if len(useful):
        nearest["more useful"] = int(useful[np.lexsort((risk[useful], -loss[useful]))[0]])
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
    head = "".join(
        f'<th scope="col" class="candidate"><b>{escape(column.name)}</b>'
        f'<span class="quiet">{_unbroken(column.words)}</span></th>'
        for column in columns
    )
    rows = [
        f'<tr><th scope="row">{escape(label)}</th><td></td>'
        + "".join(f"<td>{escape(line)}</td>" for line in lines)
        + "</tr>"
        for label, lines in _lines(columns)
    ]
    for k in order:
        call = measures[k]
        name = escape(text.measure_name(call))
        direction = escape(text.DIRECTION["lower" if call.measure.better == "zero" else call.measure.better])
        cells = "".join(_cell(comparison[k]) for comparison in comparisons)
        base = comparisons[0][k] if comparisons else None
        stands = "" if base is None else _figure(base.reference, base.reference_se)
        rows.append(
            f'<tr title="{escape(call.meaning)}"><th scope="row"><b>{name}</b>'
            f'<span class="quiet">{call.measure.kind}, {direction}</span></th><td>{stands}</td>{cells}</tr>'
        )
    return (
        f'<div class="sf-side" tabindex="0" role="region" aria-label="Candidates side by side">{CSS}<table><thead><tr>'
        f'<th scope="col">Mean over runs</th><th scope="col"><b>{escape(reference)}</b>'
        f'<span class="quiet">reference</span></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _unbroken(words: str) -> str:
    """Words as HTML, in which no line begins with a sign of percent."""
    return escape(words).replace(" %", "&nbsp;%")


def _lines(columns: Sequence[Column]) -> list[tuple[str, list[str]]]:
    counts = ("Runs", "Records changed", "Households moved")
    labels = ("On the frontier?", *counts, plan_words.UNSWAPPED, "In no declared use", "Note")
    rows = [(label, [column.lines[i] for column in columns]) for i, label in enumerate(labels)]
    return [(label, lines) for label, lines in rows if any(lines)]


def _figure(value: float, se: float) -> str:
    return escape(text.with_error(value, se) if se else text.figure(value))


def _cell(difference: Difference) -> str:
    kind, verdict_text = verdict(difference)
    share = text.relative(difference.value, difference.reference)
    change = text.signed(difference.absolute) + (f" ({share})" if share else "")
    if difference.better == 0:
        change = ""
    inner = (
        f'<span class="{kind}">{escape(change)}<br>{escape(verdict_text)}</span>'
        if change
        else (f'<span class="{kind}">{escape(verdict_text)}</span>')
    )
    return f"<td>{_figure(difference.value, difference.value_se)}{inner}</td>"


def listing(heads: Sequence[str], rows: Sequence[Sequence[str]], label: str) -> str:
    """A plain table as HTML whose words wrap; the last column takes the room that is left."""
    head = "".join(
        f'<th scope="col" style="max-width: none; white-space: nowrap">{escape(cell)}</th>' for cell in heads
    )
    narrow, wide = '<td style="white-space: nowrap">', "<td>"
    body = "".join(
        "<tr>" + "".join(f"{narrow}{escape(cell)}</td>" for cell in row[:-1]) + f"{wide}{escape(row[-1])}</td></tr>"
        for row in rows
    )
    return (
        f'<div class="sf-side" tabindex="0" role="region" aria-label="{escape(label)}">{CSS}<table><thead><tr>{head}'
        f"</tr></thead><tbody>{body}</tbody></table></div>"
    )
