"""The commands on decisions: choose a candidate, and take the recommendation through its states."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from engine.cli.options import add_command, add_objective_options, map_of, number, unmet_lines
from engine.common.errors import UsageError
from engine.common.output import say

if TYPE_CHECKING:
    from engine.cli.options import Commands
    from engine.plan import Plan


def add_commands(commands: Commands) -> None:
    """Add choose and decide."""
    choose = add_command(commands, "choose", run_choose, "record the choice of a scenario and its reason")
    choose.add_argument("study", metavar="STUDY")
    add_objective_options(choose)
    selection_rule = choose.add_mutually_exclusive_group()
    selection_rule.add_argument("--candidate", metavar="ID", help="a scenario's id, such as x7f3")
    selection_rule.add_argument(
        "--max-risk",
        type=number,
        metavar="A",
        help="the most useful candidate within the limit A (default: the plan's rule)",
    )
    selection_rule.add_argument(
        "--slope", type=number, metavar="A", help="the best for a trade-off of A units of risk per unit of utility"
    )
    choose.add_argument("--why", required=True, metavar="TEXT", help="the reason, in words")
    choose.add_argument("--by", default="", metavar="NAME", help="who recommends it")

    decide = add_command(
        commands,
        "decide",
        run_decide,
        "set the next state of the recommendation; without --state, show its state and the decision log",
    )
    decide.add_argument("study", metavar="STUDY")
    decide.add_argument(
        "--state",
        choices=("submitted", "approved", "returned", "released", "withheld"),
        help="the next state; withheld is the decision to release nothing",
    )
    decide.add_argument("--by", default="", metavar="NAME", help="who sets the state")
    decide.add_argument("--number", default="", metavar="NO", help="the number under which an approval is filed")
    decide.add_argument(
        "--conditions",
        metavar="TEXT",
        help="conditions: proposed with a submission, or those of an approval (default: as proposed)",
    )
    decide.add_argument("--why", default="", metavar="TEXT", help="the reason, needed for returned and withheld")
    decide.add_argument(
        "--despite",
        default="",
        metavar="TEXT",
        help="why a release is submitted although its risk figures speak against it",
    )

    memo = add_command(
        commands,
        "memo",
        run_memo,
        "write the memo of a decision to release nothing",
    )
    memo.add_argument("study", metavar="STUDY")
    memo.add_argument("--out", required=True, metavar="FILE", help="a new file that ends in .docx or .html")


def run_memo(args: argparse.Namespace) -> None:
    """Write the memo of a decision to release nothing."""
    from pathlib import Path

    from engine.report.no_release import no_release_memo
    from engine.report.plan_document import write_plan_document
    from engine.study.map_reader import risk_utility_map
    from engine.study.study import Study

    out = Path(args.out)
    with Study.open(args.study) as study:
        write_plan_document(no_release_memo(study, risk_utility_map(study)), out)
    say(f"wrote {out}: the memo of the decision to release nothing")


def run_choose(args: argparse.Namespace) -> None:
    """Record a choice."""
    from engine.decision.choice import choose, fresh_figures, released_run_now
    from engine.decision.statements import from_stored, words
    from engine.decision.verdict_log import logged_verdict
    from engine.study.study import Study

    with Study.open(args.study) as study:
        view = map_of(study, args)
        if advice := unmet_lines(study, view, _bound_of(study.plan, args), args.study):
            for line in advice:
                say(line, file=sys.stderr)
            raise UsageError("nothing was chosen, since no candidate meets the limit")
        choice = choose(
            study, view, args.why, candidate=args.candidate, max_risk=args.max_risk, slope=args.slope, by=args.by
        )
        scenario, _ = study.find(choice.label)
        fresh = fresh_figures(study, scenario.index, args.allow_partial)
        place = released_run_now(study, choice, args.allow_partial).statements
        attacked = logged_verdict(study, f"{choice.label}/{choice.replicate}") is not None
    record = choice.record
    spec = ("swap " if scenario.spec.by_roles else "") + str(scenario.spec)
    say(f"chosen: {choice.label}/{choice.replicate}, {spec} ({choice.rule})")
    if record["undominated"]:
        say(f"it is on the frontier ({'clear' if record['clear'] else 'uncertain, given the noise of the means'})")
    elif record["figures"][record["risk"]]["mean"] is not None:
        say("it is not on the frontier: another candidate is as safe and as useful, and better in one of them")
    released = ", ".join(f"{name} {value:.5g}" for name, value in record["released"].items() if value is not None)
    say(f"the run to be released has {released}")
    for each in place:
        say(words(each))
    for obstacle in map(from_stored, record["obstacles"]):
        say(f"it cannot be submitted as it stands: {words(obstacle)}")
    for caution in map(from_stored, [*record["notes"], *record["cautions"]]):
        say(f"note: {words(caution)}")
    if fresh is None or not attacked:
        say(f"next: frontier recheck {args.study} --data DATA")
    else:
        say(f"next: frontier decide {args.study} --state submitted --by NAME")


def _bound_of(plan: Plan, args: argparse.Namespace) -> float | None:
    """The bound on risk by which a choice is made; None where it is made otherwise."""
    if args.max_risk is not None or args.candidate is not None or args.slope is not None:
        return float(args.max_risk) if args.max_risk is not None else None
    return None if plan.decision.max_risk is None else float(plan.decision.max_risk)


def _ask_for_unstated(plan: Plan, study: str) -> None:
    """List what the plan of a study leaves unstated although the board asks for it, and how to fill it in."""
    from engine.plan.types import unstated

    if missing := unstated(plan):
        say("still to be filled in for the board, in the plan; until then the memo says that they are not stated:")
        for name, label in missing.items():
            say(f"  {name:<20}  {label}")
        say(f"to fill them in, edit the plan, then: frontier sweep DATA --study {study} --plan PLAN")


def run_decide(args: argparse.Namespace) -> None:
    """Set the state of the recommendation, or show it with the decision log."""
    from engine.decision.choice import released_run_now
    from engine.decision.statements import words
    from engine.decision.states import DecisionStatus, decide, decision_status
    from engine.decision.verdict_log import logged_verdict, verdict_words
    from engine.study.decision_log import EVENTS, commitment_words, entries, seal_words
    from engine.study.ledger import Ledger, ledger_of, ledger_sentences
    from engine.study.study import Study

    status: DecisionStatus
    with Study.open(args.study) as study:
        if args.state is None:
            if any((args.by, args.number, args.conditions, args.why, args.despite)):
                raise UsageError(
                    "--by, --number, --conditions, --why and --despite need --state; give one of submitted, approved, "
                    "returned, released and withheld"
                )
            status = decision_status(study)
            for entry in entries(study):
                by = f" by {entry.by}" if entry.by else ""
                say(f"{entry.number:>3}  {entry.at}  {EVENTS[entry.event]}{by}")
            for sentence in ledger_sentences(ledger_of(study) or Ledger()):
                say(sentence)
            say(seal_words(study))
            say(commitment_words(study))
        else:
            status = decide(
                study,
                args.state,
                args.by,
                number=args.number,
                conditions=args.conditions,
                why=args.why,
                despite=args.despite,
            )
        if args.state == "submitted":
            _ask_for_unstated(study.plan, args.study)
        choice = status.choice
        place = [] if choice is None else released_run_now(study, choice).statements
        verdict = None if choice is None else logged_verdict(study, f"{choice.label}/{choice.replicate}")
    candidate = f"{status.choice.label}/{status.choice.replicate}: " if status.choice else ""
    say(f"{candidate}{status.state}. {status.words}" if candidate else status.words)
    for each in place:
        say(words(each))
    if verdict is not None:
        say(verdict_words(verdict))
    elif choice is not None:
        say(f"its release was not attacked yet: frontier recheck {args.study} --data DATA")
    if status.number:
        say(f"approval {status.number}" + (f", on condition: {status.conditions}" if status.conditions else ""))
    elif status.conditions:
        say(f"proposed condition: {status.conditions}")
    if status.possible:
        say(f"possible next: {', '.join(status.possible)}")
