"""A candidate in words and figures, for any page that shows one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from engine.decision.comparison import differences
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.mechanisms import mechanism
from engine.report.run_words import on_frontier_words
from frontier_app.charts import candidate_map
from frontier_app.wording import mechanisms, text
from frontier_app.wording.markup import Markdown, joined, markdown, table


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
    joint = candidate_map.joint_measure(view)
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
    sentences = []
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
    if households := candidate_map.households_words(view, index):
        sentences.append(f"On average {households} moved, with all who live in them.")
    return " ".join(sentences)


def joint_words(view: RiskUtilityMap, index: int) -> Markdown:
    """The words on the risk of several tables; nothing where there is one."""
    tables = mechanisms.tables_of(view.scenarios[index].spec)
    if tables < 2:
        return markdown("")
    joint = candidate_map.joint_measure(view)
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
        here, there = (candidate_map.value_of(view, k, float(loss[i])) for i in (index, other))
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
