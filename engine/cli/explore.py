"""What the ``frontier`` command does: one function per user action; the dashboard calls the same engine functions.

Imports stand inside the functions, so that ``--help`` answers at once.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.cli.options import grown, plan_of
from engine.common.errors import UsageError
from engine.common.os_support import write_private
from engine.common.output import say, say_again, write_file_text
from engine.common.public_wording import duration

if TYPE_CHECKING:
    from engine.data.microdata import RawTable
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.plan import Plan

_BETTER = {"lower": "lower is better", "higher": "higher is better", "zero": "nearer to zero is better"}


def _open(text: str) -> tuple[RawTable, Plan | None]:
    from engine.plan.samples import open_data

    return open_data(text)


def run_demo(args: argparse.Namespace) -> int:
    """Sweep the sample and open the dashboard on it."""
    from engine.common.resources import user_folder
    from engine.plan.samples import load
    from engine.sweeps.sweep import sweep

    folder = user_folder() / "demo"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "fair.study"
    raw, plan = load("fair")
    for attempt in range(2):
        try:
            say(
                f"sweeping the sample 'fair' ({raw.n_records:,} records); the study is kept in {folder}",
                file=sys.stderr,
            )
            sweep(raw, plan, path, tick=_Ticker(), announce=_announce).close()
            break
        except UsageError:
            # The demo's study is nobody's work: one made by another version is made anew.
            if attempt:
                raise
            for old in folder.glob("fair.study*"):
                old.unlink()
    return _launch(path, "fair", args)


def run_app(args: argparse.Namespace) -> int:
    """Open the dashboard."""
    path = None
    if args.study and (Path(args.study).is_dir() or Path(args.study).suffix == ".json"):
        from engine.report.findings import read_board

        read_board(args.study)
        return _launch(None, None, args, board=Path(args.study))
    if args.study:
        from engine.study.study import Study

        path = Path(args.study)
        with Study.open(path) as study:
            about = study.about
        from engine.plan.samples import names

        if args.data is None and about["source"] in names():
            args.data = about["source"]
    return _launch(path, args.data, args)


def _launch(study: Path | None, data: str | None, args: argparse.Namespace, board: Path | None = None) -> int:
    from frontier_app.session.launch import launch

    return launch(study, data, args.port, not args.no_browser, board=board)


def run_datasets(args: argparse.Namespace) -> None:
    """List the samples."""
    from engine.plan.samples import describe

    for sample in describe():
        size = f"{sample.n_records:,} records, {sample.n_attributes} attributes"
        say(f"{sample.name:8} {size:32} {sample.summary}")


def run_datasets_add(args: argparse.Namespace) -> None:
    """Add a sample that is not shipped."""
    from engine.plan.samples import add

    say(f"added '{args.name}': {add(args.name, args.source):,} records")


def run_datasets_write(args: argparse.Namespace) -> None:
    """Write a sample's records as a file."""
    from engine.plan.samples import write

    for note in write(args.name, args.to):
        say(note, file=sys.stderr)
    say(f"wrote '{args.name}' to {args.to}")


def run_plan_init(args: argparse.Namespace) -> None:
    """Write a first plan."""
    from engine.plan import plan_init_text, plan_to_toml

    raw, plan = _open(args.data)
    text = plan_to_toml(plan) if plan is not None else plan_init_text(raw)
    if args.out == "-":
        write_file_text(text)
        return
    out = Path(args.out)
    if out.exists():
        raise UsageError(f"'{out.name}' exists already; name another file with --out")
    write_private(out, text.encode())
    say(f"wrote {out}; read it, edit it, then: frontier space {args.data} --plan {out}")
    if plan is None:
        say(f"which columns belong together: frontier plan propose {args.data}")


def run_plan_check(args: argparse.Namespace) -> int:
    """List what differs between a plan and a file; exit code 1 when something does."""
    from engine.plan import read_plan
    from engine.sweeps.readiness import plan_problems

    problems = plan_problems(read_plan(args.plan), _open(args.data)[0])
    for problem in problems:
        say(problem)
    if not problems:
        say("the plan fits the data")
    return 1 if problems else 0


class _Ticker:
    """Progress on standard error: a line that moves on a terminal, a line per tenth elsewhere."""

    def __init__(self) -> None:
        self.begin: tuple[float, int] | None = None
        self.shown = -1

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self.begin is None:
            self.begin = (now, done)
        tenth = 10 * done // max(1, total)
        if not sys.stderr.isatty() and tenth == self.shown:
            return
        self.shown = tenth
        fresh = done - self.begin[1]
        left = f", {duration((now - self.begin[0]) / fresh * (total - done))} left" if fresh and done < total else ""
        line = f"{done:,} of {total:,} runs{left}"
        if sys.stderr.isatty():
            say_again(line, sys.stderr, last=done >= total)
        else:
            say(line, file=sys.stderr, flush=True)


def _announce(text: str) -> None:
    say(text, file=sys.stderr, flush=True)


def run_sweep(args: argparse.Namespace) -> None:
    """Fill a study."""
    from engine.study.study import Study
    from engine.sweeps.sweep import sweep

    path = Path(args.study)
    study_plan = None
    if path.exists():
        with Study.open(path) as old:
            study_plan = old.plan
    raw, sample_plan = _open(args.data)
    plan = plan_of(args, raw, sample_plan, study_plan)
    if args.extend and study_plan is not None:
        plan = grown(study_plan, plan)
    with sweep(
        raw,
        plan,
        path,
        key_file=args.key_file,
        workers=args.workers,
        cluster=args.cluster,
        extend=args.extend,
        deviation=args.deviation,
        by=args.by,
        tick=_Ticker(),
        announce=_announce,
    ) as study:
        progress = study.progress
        failed = study.n_failed()
    if progress.state == "finished":
        if progress.message:
            say(progress.message)
        note = f", {failed:,} failed ones among them" if failed else ""
        say(f"{progress.total:,} runs in {path}{note}; next: frontier show {path} --undominated")
    else:
        say(f"{progress.state}: {progress.done:,} of {progress.total:,} runs in {path}; the same command goes on")


def run_mechanisms(args: argparse.Namespace) -> None:
    """List the mechanisms."""
    from engine.mechanisms import mechanism, names

    say("random_swap")
    say("    Random swapping of attributes between pairs of records; Gomatam, Karr and Sanil (2005), Appendix A")
    say("    Amount: rate = share of records in swaps. Specs and rates stand in the plan's [space].")
    say("    When: attributes may be exchanged one by one, and every one-way table must stay as it is.")
    for name in names():
        one = mechanism(name)
        say(f"{one.name}")
        say(f"    {one.title}; {one.source}")
        say(f"    Amount: {one.rate}.")
        say(f"    When: {one.when}.")
        for parameter in one.parameters:
            legal = "|".join(parameter.choices) or " to ".join(filter(None, (parameter.low, parameter.high)))
            default = "must be given" if parameter.default is None else f"default {parameter.default or 'none'}"
            say(f"    {parameter.name} ({default}{'; ' + legal if legal else ''}): {parameter.meaning}")


def run_measures(args: argparse.Namespace) -> None:
    """List the measures."""
    from engine.measures import MEASURES

    for measure in MEASURES.values():
        parameters = "; ".join(f"{key}={value}" for key, value in measure.parameters.items())
        direction = _BETTER[measure.better]
        say(f"{measure.name}" + (f"[{parameters}]" if parameters else ""))
        say(
            f"    {measure.title} ({measure.symbol}), {measure.kind}; {direction}; {measure.range}, {measure.unit}; "
            f"tabulates {measure.over}"
        )
        say(f"    {measure.meaning}")
        say(f"    Source: {measure.source}. Cost per candidate: {measure.cost}; needs {measure.needs}.")


def run_show(args: argparse.Namespace) -> None:
    """List candidates."""
    from engine.report.candidate_table import as_csv, as_json, columns_of, realisation_rows, scenario_rows
    from engine.study.study import Study
    from engine.study.study_map import risk_utility_map

    if args.max_risk is not None and args.slope is not None:
        raise UsageError("--max-risk and --slope are two rules; give one of them")
    with Study.open(args.study) as study:
        view = risk_utility_map(
            study, args.risk, args.utility, objectives=args.objectives, allow_partial=args.allow_partial
        )
        progress = study.progress
    make = scenario_rows if args.by == "scenario" else realisation_rows
    rows = make(view, args.max_risk, args.slope, args.undominated)
    columns = columns_of(view, args.by)
    if args.format == "csv":
        say(as_csv(rows, columns), end="")
    elif args.format == "json":
        say(as_json(rows), end="")
    else:
        _print_table(view, rows, columns, args.by)
        if args.max_risk is not None and args.by == "scenario":
            view.under_bound(args.max_risk)  # says why when nothing is within the bound
        if progress.state != "finished":
            say(f"the sweep is {progress.state}: {progress.done:,} of {progress.total:,} runs so far")


def _print_table(view: RiskUtilityMap, rows: list[dict[str, Any]], columns: list[str], by: str) -> None:
    from engine.report.candidate_table import as_table

    figures = "; ".join(f"{call} {value:.5g}" for call, value in zip(view.measures, view.original, strict=True))
    say(f"doing nothing: {figures}")
    objectives = [view.measures[k] for k in view.objectives]
    say(f"frontier: {'; '.join(f'{c} ({c.measure.kind}, {_BETTER[c.measure.better]})' for c in objectives)}")
    hidden = {"replicates"} if by == "scenario" and len(set(view.summary.counted.tolist())) == 1 else set()
    if by == "scenario" and not any(row["riskier_than_original"] for row in rows):
        hidden.add("riskier_than_original")
    if len({scenario.spec.mechanism for scenario in view.scenarios}) == 1:
        hidden.add("mechanism")
    kept = [c for c in columns if c not in hidden and not (c == "failed" and not any(row["failed"] for row in rows))]
    kept = [c for c in kept if c not in ("optimal",) or any(row["optimal"] for row in rows)]
    say(as_table(rows, kept), end="")


def run_measure(args: argparse.Namespace) -> None:
    """Add measures to a study."""
    from engine.study.keys import key_path, read_key
    from engine.study.study import Study
    from engine.sweeps.rerun import add_measures

    raw, _ = _open(args.data)
    with Study.open(args.study) as study:
        key = read_key(key_path(study.path, args.key_file))
        added = add_measures(study, raw, key, args.measures, workers=args.workers, tick=_Ticker(), announce=_announce)
    say(f"added {', '.join(added)}" if added else "the study has these measures already")


def run_recheck(args: argparse.Namespace) -> None:
    """Run finalists on fresh replicates and list both sets of figures."""
    from engine.report.candidate_table import columns_of, scenario_rows
    from engine.study.keys import key_path, read_key
    from engine.study.study import Study
    from engine.study.study_map import risk_utility_map
    from engine.sweeps.rerun import reevaluate

    raw, _ = _open(args.data)
    with Study.open(args.study) as study:
        view = risk_utility_map(
            study, args.risk, args.utility, objectives=args.objectives, allow_partial=args.allow_partial
        )
        places = [study.find(text)[0].place for text in args.candidate] if args.candidate else view.frontier().tolist()
        key = read_key(key_path(study.path, args.key_file))
        reevaluate(study, raw, key, places, args.replicates)
        again = risk_utility_map(
            study, args.risk, args.utility, objectives=args.objectives, allow_partial=args.allow_partial, fresh=True
        )
    wanted = {view.scenarios[place].label for place in places}
    say(f"as swept ({len(wanted)} scenarios):")
    _print_table(
        view, [row for row in scenario_rows(view) if row["id"] in wanted], columns_of(view, "scenario"), "scenario"
    )
    say("on fresh replicates:")
    _print_table(
        again, [row for row in scenario_rows(again) if row["id"] in wanted], columns_of(again, "scenario"), "scenario"
    )
