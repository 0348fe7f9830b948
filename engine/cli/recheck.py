"""The command that runs finalists on fresh replicates."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from engine.cli.arguments import whole_number
from engine.cli.objectives import add_objective_options, map_of
from engine.cli.parser import DATA_HELP, add_command
from engine.cli.run_options import add_run_options, run_options
from engine.cli.show import print_table
from engine.cli.source_options import add_stream_option, table_of
from engine.common.output import say
from engine.common.wording import plural

if TYPE_CHECKING:
    from engine.cli.parser import Commands


def add_commands(commands: Commands) -> None:
    """Add recheck."""
    recheck = add_command(commands, "recheck", run_recheck, "run finalists on fresh replicates")
    recheck.add_argument("study", metavar="STUDY")
    recheck.add_argument("--data", required=True, metavar="DATA", help=DATA_HELP)
    recheck.add_argument(
        "--candidate",
        action="append",
        metavar="ID",
        help="a scenario (repeatable; default: the frontier and what was chosen last)",
    )
    recheck.add_argument(
        "--replicates",
        type=whole_number,
        metavar="N",
        help="fresh runs per scenario (default: as many as tell whether the plan's share of runs meets the bound; 100"
        " for 90 %%, and without a bound)",
    )
    recheck.add_argument("--key-file", metavar="PATH", help="the study key (default: STUDY.key)")
    add_stream_option(recheck)
    add_run_options(recheck)
    add_objective_options(recheck)


def run_recheck(args: argparse.Namespace) -> None:
    """Run finalists on fresh replicates; list their figures in the sweep and on the fresh runs."""
    from engine.decision.choice import finalists
    from engine.decision.states import decision_status
    from engine.measures.verdict import verdict_words
    from engine.report.candidate_table import scenario_rows
    from engine.report.detected import attack_choice
    from engine.report.unit_counts import with_units
    from engine.study.keys import key_path, read_key
    from engine.study.study import Study
    from engine.sweeps.sweep import recheck

    options = run_options(args)
    with Study.open(args.study) as study:
        raw = table_of(args, study)
        view = map_of(study, args)
        places = [study.find(text)[0].index for text in args.candidate or ()] or finalists(study, view)
        key = read_key(key_path(study.path, args.key_file))
        choice, verdict = decision_status(study).choice, None
        if choice is not None and study.find(choice.label)[0].index in places:
            verdict = attack_choice(study, raw, key)
        recheck(study, raw, key, places, args.replicates, **options)
        fresh_view = map_of(study, args, fresh=True)
        labels = {view.scenarios[place].label for place in places}
        tables = []
        for title, figures, fresh in (
            (f"in the sweep ({plural(len(labels), 'scenario')}):", view, False),
            ("on fresh replicates:", fresh_view, True),
        ):
            rows = [row for row in scenario_rows(figures) if row["id"] in labels]
            tables.append((title, figures, with_units(rows, study, fresh=fresh)))
    for title, figures, rows in tables:
        say(title)
        print_table(figures, rows)
    if verdict is not None:
        say(verdict_words(verdict))
