"""The lettered candidates of the board's map: what each does, its figures, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from engine.common.wording import listed, lower_first
from engine.frontier.choosing import share_within
from engine.frontier.risk_utility_map import over_limits
from engine.frontier.summary import believed_errors, t_thresholds
from engine.mechanisms import amount, mechanism
from engine.release.parameter import Amount
from engine.release.spec import UNIFORM, selection_of
from engine.report.losses import optional
from engine.report.map_facts import CandidateRow

if TYPE_CHECKING:
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.measures import MeasureCall
    from engine.release.spec import ReleaseSpec
    from engine.report.context import ReportContext
    from engine.study.study import Study

MOST_FURTHER = 4
"""Most candidates that have a letter only because they meet the bound."""


def as_read(call: MeasureCall, loss: np.ndarray) -> np.ndarray:
    """Losses turned back into figures as they are read; of a signed measure the size."""
    return -loss if call.measure.better == "higher" else loss


def _attributes(names: Sequence[str]) -> str:
    """Names of attributes, called that: candidates have letters, and an attribute may be named by one too."""
    return f"the attribute{'' if len(names) == 1 else 's'} {listed(names)}"


def candidate_words(spec: ReleaseSpec, extents: Sequence[Amount] = ()) -> str:
    """What a candidate does, without how much: attributes and roles, or the method.

    Among several ``extents`` (amounts of its mechanism, ascending) its place is said where it is the first, the last or
    between.
    """

    roles = spec.attributes
    swapped_names = tuple(roles.names_having("S"))
    if not spec.by_roles:
        method = mechanism(spec.mechanism)
        title = f"uses {lower_first(method.title)}"  # after "candidate A", as "exchanges" is
        altered = method.altered(spec)
        title = f"{title}, which may change {_attributes(altered)}" if altered else title
        return title + _place(amount(spec), extents, "amount")
    limits = [
        f"{verb} on {_attributes(names)}"
        for role, verb in (("F", "agree"), ("C", "differ"))
        if (names := roles.names_having(role))
    ]
    selection = selection_of(spec.params, roles.names)
    limits += selection.limits(roles.names)
    words = f"exchanges {_attributes(swapped_names)}" + (
        f" between records that {' and '.join(limits)}" if limits else ""
    )
    if selection.lean != UNIFORM:
        words += ", rare records more often than others"
    return words + _place(amount(spec), extents, "share of records")


def _place(asked: Amount, extents: Sequence[Amount], noun: str) -> str:
    """Words on an amount's place among several that were tried."""
    if len(extents) < 2 or asked not in extents:
        return ""
    ends = {0: "the smallest", len(extents) - 1: "the largest"}
    return f", at {ends.get(extents.index(asked), 'a middle')} {noun} tried"


def extents_tried(study: Study, spec: ReleaseSpec) -> list[Amount]:
    """The amounts of a candidate's mechanism that a study tried, ascending; none where they are not of one unit."""
    if spec.by_roles:
        return sorted((Amount("share", rate, "of records") for rate in study.plan.space.rates), key=lambda a: a.order)
    codes, names = study.scenarios.coded("mechanism")
    places = np.flatnonzero(codes == names.index(spec.mechanism)).tolist()
    tried = sorted({amount(study.scenarios[i].spec) for i in places}, key=lambda a: a.order)
    return tried if len({one.unit for one in tried}) == 1 and tried[0].kind in ("share", "count") else []


def further_within(view: RiskUtilityMap, bound: float | None, letters: Mapping[str, int]) -> dict[str, int]:
    """The letters after ``letters`` for other candidates that meet the bound, the most useful first; a handful, and
    none without a bound."""
    if bound is None:
        return {}
    turned = -bound if view.measures[view.risk].measure.better == "higher" else bound
    meets = np.setdiff1d(np.flatnonzero(view.meets(turned) & ~np.isnan(view.utility_loss)), list(letters.values()))
    order = meets[np.lexsort((view.risk_loss[meets], view.utility_loss[meets]))][:MOST_FURTHER]
    return dict(zip(ascii_uppercase[len(letters) :], order.tolist(), strict=False))


def candidate_rows(context: ReportContext) -> tuple[CandidateRow, ...]:
    """The lettered candidates: the neighbours along the frontier, then others that meet the bound."""
    view, summary = context.view, context.summary
    letters = {**context.letters, **context.also_within}
    indices = np.array(list(letters.values()))
    recommended = int(np.flatnonzero(indices == context.scenario.index)[0])
    quantiles = t_thresholds(2 * max(1, len(indices) - 1))
    columns: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    for k in (view.risk, view.utility):
        loss, se = summary.loss[indices, k], summary.loss_se[indices, k]
        counted = np.minimum(summary.counted[indices], summary.counted[indices[recommended]])
        trusted = believed_errors(se, summary.counted[indices])
        margin = quantiles[np.clip(counted - 1, 0, len(quantiles) - 1)] * np.hypot(trusted, trusted[recommended])
        margin[np.hypot(trusted, trusted[recommended]) == 0] = 0
        clear = np.abs(loss[recommended] - loss) > margin
        figures = as_read(view.measures[k], loss)
        own = figures[recommended]
        gain = figures - own if view.measures[k].measure.better == "higher" else own - figures
        columns.append((figures, se, gain, clear))
    risk, utility = columns
    better = view.measures[view.risk].measure.better
    bound = context.bound
    loss_bound = None if bound is None else (-bound if better == "higher" else bound)
    rows = []
    for i, (letter, index) in enumerate(letters.items()):
        spec = view.scenarios[index].spec
        rows.append(
            CandidateRow(
                letter=letter,
                words=candidate_words(spec, extents_tried(context.study, spec)),
                risk=optional(risk[0][i]),
                risk_se=optional(risk[1][i]),
                utility=optional(utility[0][i]),
                utility_se=optional(utility[1][i]),
                undominated=bool(view.dominance.undominated[index]),
                clear=bool(view.dominance.clear[index]),
                share=optional(view.dominance.share[index]),
                within_bound=None if loss_bound is None else bool(view.meets(loss_bound)[index]),
                recommended=i == recommended,
                safer_by=None if i == recommended else optional(risk[2][i]),
                more_useful_by=None if i == recommended else optional(utility[2][i]),
                risk_clear=bool(risk[3][i]),
                utility_clear=bool(utility[3][i]),
                dominates=_dominates(view, index, context.scenario.index),
                also_within=letter in context.also_within,
                shared_runs=int(view.shared_runs[index]),
                **_runs(view, index, loss_bound),
            )
        )
    return tuple(rows)


class _Runs(TypedDict):
    runs: int
    within: int | None


def _runs(view: RiskUtilityMap, index: int, loss_bound: float | None) -> _Runs:
    """How many runs of a candidate count, and how many of them meet the bound and the limits of edit rules."""
    results = view.results
    of_candidate = (results.scenario == index) & results.counted(view.allow_partial)
    loss = view.measures[view.risk].measure.loss(results.values[of_candidate, view.risk])
    held = np.where(over_limits(results.values[of_candidate], view.edit_limits), np.inf, loss)
    within = None if loss_bound is None else share_within(held, loss_bound).within
    return {"runs": len(loss), "within": within}


def _dominates(view: RiskUtilityMap, index: int, other: int) -> bool:
    """Whether a candidate is at least as safe and as useful on average as another one, and better in one of the two."""
    risk, utility = (loss[index] - loss[other] for loss in (view.risk_loss, view.utility_loss))
    return bool(risk <= 0 and utility <= 0 and (risk < 0 or utility < 0))
