"""The record of the recommended candidate, as the board reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.common.errors import UsageError
from engine.common.wording import lower_first, upper_first
from engine.decision.choice import NAMED_BY_HAND, gate_now
from engine.decision.comparison import differences
from engine.decision.statements import words
from engine.report.change_log import Recommended, chosen_words, fresh_result_words
from engine.report.context import ReportContext, bound_words
from engine.report.logged import Told, history
from engine.report.map_facts import Alternative, Recommendation
from engine.report.parameters import trade_words
from engine.report.released_run import despite_words, obstacle_sentences, run_facts
from engine.study.decision_log import commitment_of, entries
from engine.study.ledger import BoundOrigin, bound_origin

if TYPE_CHECKING:
    from engine.release.scenarios import Choice

_ELSEWHERE = {"limit_set_late"}  # the rule says it


def recommendation(context: ReportContext) -> Recommendation:
    """What was recorded about the candidate."""
    choice = context.choice
    if choice is None:
        return Recommendation(context.letter, False, "", "", (), ())
    alternatives = []
    recorded = choice.record.get("others", [])
    for alternative in recorded:
        label = str(alternative.get("candidate", ""))
        letter = context.redact.letters.get(label, "")
        difference = _difference(context, label, len(recorded))
        alternatives.append(Alternative(letter or "?", difference, context.redact(str(alternative.get("why", "")))))
    # as they are today: what was true when the choice was made may have been mended since, by fresh runs for one
    cautions = [
        *(
            words(each)
            for each in gate_now(context.study, choice)
            if each.severity != "obstacle" and each.kind not in _ELSEWHERE
        ),
    ]
    return Recommendation(
        letter=context.letter,
        recorded=True,
        rule=_rule_words(context, choice),
        why=context.redact(choice.why),
        cautions=tuple(upper_first(context.redact(text)).rstrip(".") + "." for text in cautions if text),
        alternatives=tuple(a for a in alternatives if a.letter != "?" or a.why),
        run=run_facts(context, choice),
        obstacles=obstacle_sentences(context, choice),
        despite=despite_words(context),
        key_fixed=commitment_of(context.study) is not None,
        by_utility=choice.record.get("bound") is not None,
    )


def _difference(context: ReportContext, label: str, together: int) -> str:
    """How one of ``together`` alternatives differs, in words alone: what was recorded has the analyst's figures, among
    them shares of eq. 6, which beside a count would give the rate."""
    try:
        index = context.study.find(label)[0].index
    except UsageError:
        return ""
    rows, directions, noise = differences(context.view, index, context.scenario.index, together=together), [], []
    for k, better, worse in (
        (context.view.risk, "safer", "riskier"),
        (context.view.utility, "more useful", "less useful"),
    ):
        if direction := {1: better, -1: worse}.get(rows[k].better):
            directions.append(direction)
            noise += [] if rows[k].clear else [context.view.measures[k].measure.kind]
    about_noise = f", in {' and '.join(noise)} within noise" if noise else ""
    return f"{' and '.join(directions)} on average{about_noise}" if directions else ""


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
    """The bound of a choice, and when it was set if not beforehand; empty without one."""
    if choice.record.get("bound") is None:
        return ""
    late = late_words(context)
    return f"The bound on risk: {bound_words(context, float(choice.record['bound']))}" + (f"; {late}." if late else ".")


_LATE = {
    BoundOrigin.FIXED: "",
    BoundOrigin.CHOSEN: "the bound was set when the choice was made, after results were seen",
    BoundOrigin.CHANGED: "the bound was set in a change of the plan, after results could be seen",
    BoundOrigin.AFTER_EARLIER: "the bound was set after results of an earlier study of the same data could be seen",
}


def log_rows(context: ReportContext) -> tuple[tuple[str, str], ...]:
    """The log as day and words; every recommendation names its candidate and its rule, and the last fresh runs their
    result."""
    if context.choice is None:
        return history(context.study, context.redact)
    run = run_facts(context, context.choice)
    result = "" if run.fresh is None or run.fresh_within is None else fresh_result_words(run.fresh_within, run.fresh)
    return history(
        context.study, context.redact, Told(_recommended(context), context.choice.label, run.fresh or 0, result)
    )


def _recommended(context: ReportContext) -> dict[int, str]:
    """The recommendations in the words of the log, by the numbers of their entries."""
    choices, chosen = context.study.choices.all(), [e for e in entries(context.study) if e.event == "chosen"]
    risk, words = context.choice.record.get("risk") if context.choice else None, {}
    for place, entry in enumerate(chosen):
        choice = choices[int(entry.detail["choice"]) - 1]
        bound, is_replaced = choice.record.get("bound"), place < len(chosen) - 1
        told = float(bound) if bound is not None and choice.record.get("risk") == risk else None
        words[entry.number] = chosen_words(
            Recommended(
                letter=context.redact.letters.get(choice.label, ""),
                by_bound=bound is not None,
                by_slope=choice.record.get("slope") is not None,
                bound="" if told is None else bound_words(context, told),
                origin=BoundOrigin.FIXED if told is None else bound_origin(context.study, told),
                replaces=place > 0,
                replaced=is_replaced,
                why=context.redact(choice.why),
            )
        )
    return words


def late_words(context: ReportContext) -> str:
    """That the bound of the choice was not fixed before any result could be seen; empty where it was, or there is
    none."""
    bound = context.choice.record.get("bound") if context.choice else None
    return "" if bound is None else _LATE[bound_origin(context.study, float(bound))]


def late_rule_words(context: ReportContext) -> str:
    """The same of the plan's own bound; of the choice's where the plan has none."""
    planned = context.study.plan.decision.max_risk
    return late_words(context) if planned is None else _LATE[bound_origin(context.study, float(planned))]
