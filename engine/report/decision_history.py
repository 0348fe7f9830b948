"""The record of the recommended candidate, as the board reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from engine.common.wording import lower_first, upper_first
from engine.decision.choice import NAMED_BY_HAND, gate_now, obstacles_now
from engine.decision.comparison import differences
from engine.decision.statements import Statement, statement
from engine.report.context import ReportContext, bound_words
from engine.report.facts import LimitOrigin
from engine.report.log import Board, Event, history
from engine.report.map_facts import Recommendation
from engine.report.parameters import trade_words
from engine.report.released_run import despite_words, run_facts
from engine.study.decision_log import commitment_of
from engine.study.ledger import BoundOrigin, bound_origin

if TYPE_CHECKING:
    from engine.release.scenarios import Choice

_ELSEWHERE = {"limit_set_late"}  # the rule says it


def recommendation(context: ReportContext) -> Recommendation:
    """What was recorded about the candidate."""
    choice = context.choice
    if choice is None:
        return Recommendation(context.letter, False, "", "")
    # as they are today: what was true when the choice was made may have been mended since, by fresh runs for one
    found = [each for each in gate_now(context.study, choice) if each.kind not in _ELSEWHERE]
    recorded = choice.record.get("others", [])
    return Recommendation(
        letter=context.letter,
        recorded=True,
        rule=_rule_words(context, choice),
        why=context.redact(choice.why),
        cautions=tuple(context.redact.statement(each) for each in found if each.severity != "obstacle"),
        alternatives=tuple(each for other in recorded for each in _considered(context, other, len(recorded))),
        run=run_facts(context, choice),
        obstacles=tuple(obstacles_now(context.study, choice, context.view.allow_partial)),
        despite=despite_words(context),
        key_fixed=commitment_of(context.study) is not None,
        by_utility=choice.record.get("bound") is not None,
    )


def _considered(context: ReportContext, other: Mapping[str, Any], together: int) -> list[Statement]:
    """One of ``together`` alternatives, by the reason given or by directions alone; none for one without a letter or a
    reason.  What was recorded of it has the analyst's figures, and is not shown."""
    label, why = str(other.get("candidate", "")), context.redact(str(other.get("why", "")))
    letter = context.redact.letters.get(label, "")
    if not letter and not why:
        return []
    directions: dict[str, str] = {"risk": "", "utility": ""}
    noise: list[str] = []
    if letter and not why:
        index = context.study.find(label)[0].index
        rows = differences(context.view, index, context.scenario.index, together=together)
        ways = {"risk": ("riskier", "", "safer"), "utility": ("less useful", "", "more useful")}
        for (axis, words), k in zip(ways.items(), (context.view.risk, context.view.utility), strict=True):
            directions[axis] = words[rows[k].better + 1]
            noise += [axis] if rows[k].better and not rows[k].clear else []
    return [statement("considered", letter=letter or "?", why=why, **directions, noise=tuple(noise))]


def _rule_words(context: ReportContext, choice: Choice) -> str:
    """The rule that picked the candidate, without shares of eq. 6 beside its counts."""
    if choice.record.get("bound") is not None:
        return f"The most useful candidate within {lower_first(_bound_sentence(context, choice))}"
    if choice.rule == NAMED_BY_HAND:
        return "Chosen by judgement among the candidates, for the reason given."
    if (slope := choice.record.get("slope")) is not None:
        risk, utility = (context.view.measures[k] for k in (context.view.risk, context.view.utility))
        return context.redact(
            f"The best candidate on a straight trade-off: {trade_words(risk, utility, float(slope))}."
        )
    return upper_first(context.redact(choice.rule)) + "."


def _bound_sentence(context: ReportContext, choice: Choice) -> str:
    """The limit of a choice, and when it was set if not beforehand; empty without one."""
    if choice.record.get("bound") is None:
        return ""
    late = late_words(context)
    return f"The limit on risk: {bound_words(context, float(choice.record['bound']))}" + (f"; {late}." if late else ".")


_LATE = {
    BoundOrigin.FIXED: "",
    BoundOrigin.CHOSEN: "the limit was set when the choice was made, after results were seen",
    BoundOrigin.CHANGED: "the limit was set in a change of the plan, after results could be seen",
    BoundOrigin.AFTER_EARLIER: "the limit was set after results of an earlier study of the same data could be seen",
}


_ORIGINS: dict[BoundOrigin, LimitOrigin] = {
    BoundOrigin.FIXED: "fixed",
    BoundOrigin.CHOSEN: "chosen",
    BoundOrigin.CHANGED: "changed",
    BoundOrigin.AFTER_EARLIER: "after_earlier",
}


def log_of(context: ReportContext) -> tuple[Event, ...]:
    """The log; every recommendation names its candidate and its rule, and the last fresh runs their result."""
    choice = context.choice
    if choice is None:
        return history(context.study, context.redact)
    run = run_facts(context, choice)
    risk, label = str(choice.record.get("risk")), choice.label
    bound = context.bound  # the sheet has the limit that counts; the log tells others

    def limit_words(limit: float) -> str:
        return "" if bound is not None and limit == float(bound) else bound_words(context, limit)

    told = Board(risk, limit_words, label, run.fresh or 0, run.fresh_within)
    return history(context.study, context.redact, told)


def late_words(context: ReportContext) -> str:
    """That the limit of the choice was not fixed before any result could be seen; empty where it was, or there is
    none."""
    bound = context.choice.record.get("bound") if context.choice else None
    return "" if bound is None else _LATE[bound_origin(context.study, float(bound))]


def limit_origin(context: ReportContext) -> LimitOrigin | Literal[""]:
    """When the limit that counts was set; empty without one."""
    return "" if context.bound is None else _ORIGINS[bound_origin(context.study, float(context.bound))]


def late_rule_words(context: ReportContext) -> str:
    """The same of the plan's own limit; of the choice's where the plan has none."""
    planned = context.study.plan.decision.max_risk
    return late_words(context) if planned is None else _LATE[bound_origin(context.study, float(planned))]
