"""What the ``frontier`` command does about decisions: choose, and take the recommendation through its states."""

from __future__ import annotations

import argparse

from engine.common.errors import UsageError
from engine.common.output import say


def run_choose(args: argparse.Namespace) -> None:
    """Record a choice."""
    from engine.decision.choice import choose, fresh_figures
    from engine.decision.disclosure_text import told
    from engine.release.spec import RANDOM_SWAP
    from engine.study.study import Study
    from engine.study.study_map import risk_utility_map

    with Study.open(args.study) as study:
        view = risk_utility_map(
            study, args.risk, args.utility, objectives=args.objectives, allow_partial=args.allow_partial
        )
        choice = choose(
            study, view, args.why, candidate=args.candidate, max_risk=args.max_risk, slope=args.slope, by=args.by
        )
        scenario, _ = study.find(choice.label)
        complaint = told(study, scenario, args.why)
        fresh = fresh_figures(study, scenario.place, args.allow_partial)
    record = choice.record
    what = ("swap " if scenario.spec.mechanism == RANDOM_SWAP else "") + str(scenario.spec)
    say(f"chosen: {choice.label}/{choice.replicate}, {what} ({choice.rule})")
    if record["undominated"]:
        say(f"it is on the frontier ({'clear' if record['clear'] else 'uncertain, given the noise of the means'})")
    elif record["figures"][record["risk"]]["mean"] is not None:
        say("it is not on the frontier: another candidate is as safe and as useful, and better in one of them")
    released = ", ".join(f"{name} {value:.5g}" for name, value in record["released"].items() if value is not None)
    say(f"the run to be released has {released}")
    for caution in record["cautions"]:
        say(f"note: {caution}")
    if complaint:
        say(f"note: {complaint}")
    if fresh is None:
        say(f"next: frontier recheck {args.study} --data DATA")
    else:
        say(f"next: frontier decide {args.study} --state submitted --by NAME")


def run_decide(args: argparse.Namespace) -> None:
    """Set the state of the recommendation, or say where it stands."""
    from engine.decision.states import Standing, decide, state_of, withhold
    from engine.study.decision_log import EVENTS, entries
    from engine.study.log_seal import seal_words
    from engine.study.study import Study

    standing: Standing
    with Study.open(args.study) as study:
        if args.state is None:
            if any((args.by, args.number, args.conditions, args.why)):
                raise UsageError(
                    "which state? Give --state with one of submitted, approved, returned, released, withheld"
                )
            standing = state_of(study)
            for entry in entries(study):
                by = f" by {entry.by}" if entry.by else ""
                say(f"{entry.number:>3}  {entry.at}  {EVENTS[entry.event]}{by}")
            say(seal_words(study))
        elif args.state == "withheld":
            if args.number or args.conditions:
                raise UsageError("a number and conditions belong to an approval; leave them out")
            standing = withhold(study, args.by, args.why)
        else:
            standing = decide(study, args.state, args.by, number=args.number, conditions=args.conditions, why=args.why)
    what = f"{standing.choice.label}/{standing.choice.replicate}: " if standing.choice else ""
    say(f"{what}{standing.state}. {standing.words}")
    if standing.number:
        say(f"approval {standing.number}" + (f", on condition: {standing.conditions}" if standing.conditions else ""))
    if standing.possible:
        say(f"possible next: {', '.join(standing.possible)}")
