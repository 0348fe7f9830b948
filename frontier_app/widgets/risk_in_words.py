"""The risk of a candidate in words, the same wherever one is shown: single runs, unaltered records, unswapped keys."""

from __future__ import annotations

from engine.decision.bound_words import figure_words
from engine.frontier.chance import share_within
from engine.frontier.risk_utility_map import RiskUtilityMap
from engine.plan.types import in_no_use, no_use_sentence
from engine.release.scenarios import Choice
from engine.report.context import in_counts
from engine.report.parameters import bound_is_on
from engine.report.released_run import standing
from engine.report.run_words import place_sentence
from engine.report.sentences import exposed
from engine.study.map_reader import risk_bound
from engine.study.study import Study
from frontier_app.charts import candidate_map
from frontier_app.widgets import other_keys
from frontier_app.wording import recognised
from frontier_app.wording.markup import Markdown, markdown


def released(study: Study, view: RiskUtilityMap, choice: Choice) -> str:
    """The place of the run to be released among its siblings, in the memo's words."""
    counts = in_counts(study, view.scenarios, view.results)
    return place_sentence(standing(study, view, choice, counts))


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
        shown = figure_words(view.measures[view.risk], candidate_map.value_of(view, view.risk, loss))
        told.append(recognised.within_words(within, shown, bound_is_on(study.plan.decision)))
    exposure = exposed(study, view, index)
    if exposure is not None:
        told.append(recognised.exposed_words(exposure))
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
    keys = other_keys.of(study, view, index)
    return [] if keys is None else [recognised.unswapped_words(*keys, other_keys.fewest_of(view))]
