"""Six studies under a fixed key, each swept once in a session, and what commands say on the way to a decision."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from engine.cli.main import main
from engine.data.microdata import RawTable
from engine.plan import AnalysisPlan, MechanismPlan, Plan, edit_plan, plan_to_toml, samples
from engine.report.build_findings import findings
from engine.report.decision_pages import pages
from engine.report.describe import remade
from engine.report.findings import Findings
from engine.study.keys import key_path
from engine.study.study import Study
from engine.sweeps.sweep import sweep
from frontier_app.session import workspace
from frontier_app.session.workspace import Workspace

KEY = "7d1f0c2b9a8e4635b1c2d3e4f5a60718"
FILE = "study-1.study"
SAFER = "xc19"
"""The candidate that exchanges C and F in 10 % of records, which is within the limit in fresh runs too."""


@dataclass
class Shown:
    """A study in a folder of its own, with what each command on it said, by the name of the command."""

    folder: Path
    data: str
    said: dict[str, str] = field(default_factory=dict)

    def run(self, *command: str) -> str:
        """What a command prints, run in the study's folder."""
        out = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            ended = main(list(command))
        text = f"$ frontier {' '.join(command)}\n{out.getvalue()}" + (f"exit code {ended}\n" if ended else "")
        self.said[command[0]] = self.said.get(command[0], "") + text
        return text

    def open(self) -> Study:
        """The study, open."""
        return Study.open(self.folder / FILE)

    @cached_property
    def raw(self) -> RawTable:
        """The data."""
        return samples.load(self.data)[0]

    @cached_property
    def findings(self) -> Findings:
        """The findings on the recommended release."""
        with self.open() as study:
            choice = study.choices.all()[-1]
            return findings(study, remade(study, self.raw, choice.label, choice.replicate))

    @cached_property
    def page(self) -> str:
        """The decision sheet and its evidence as HTML."""
        return pages(self.findings)

    def copy(self, folder: Path) -> Shown:
        """The study as it is, in another folder."""
        shutil.copytree(self.folder, folder)
        return Shown(folder, self.data)

    def workspace(self) -> Workspace:
        """A new workspace with a copy of the study."""
        at = workspace.create()
        at.note(data=self.data, study=FILE)
        with self.open() as study:
            at.save_plan(plan_to_toml(study.plan))
        for file in self.folder.glob(f"{FILE}*"):
            shutil.copy(file, at.folder / file.name)
        return at


def _swept(folder: Path, data: str, change: Callable[[Plan], Plan]) -> Shown:
    raw, plan = samples.load(data)
    key = key_path(folder / FILE)
    key.write_text(KEY)
    key.chmod(0o600)
    sweep(raw, change(plan), folder / FILE, workers=1).close()
    return Shown(folder, data)


def _random_plan(plan: Plan) -> Plan:
    return replace(
        plan,
        space=replace(plan.space, swap_sizes=(1, 2), rates=("0.02", "0.1"), replicates=20),
        decision=replace(plan.decision, max_risk="0.002"),
    )


def _household_plan(plan: Plan) -> Plan:
    grid = {"k": ["3"], "rate": ["0.02", "0.05", "0.1"], "similar": ["hhsize+hhtype+tenure|hhsize"]}
    return replace(
        plan,
        mechanisms=(MechanismPlan.of("trs", {**dict(plan.mechanisms[0].grid), **grid}),),
        decision=replace(plan.decision, max_risk="0.03"),
        about=replace(
            plan.about,
            survey="Population census",
            vintage="2026",
            sponsor="Statistics agency",
            contact="Ada Example",
            authority="Census Act",
            geography="municipality",
            design="all households",
        ),
        threat=replace(plan.threat, intruder="a neighbour", public_files=("the register of voters",), harm="shame"),
    )


def _mixed_plan(plan: Plan) -> Plan:
    return replace(
        edit_plan(plan, keys=["rate", "age", "children", "occ"]),
        mechanisms=(
            MechanismPlan.of("random_swap", {}),
            MechanismPlan.of("rds", {"s": ["3"], "rate": ["0.05", "0.2"]}),
            MechanismPlan.of("dds", {"s": ["3", "6"]}),
            MechanismPlan.of("pram", {"theta": ["0.9", "0.98"]}),
        ),
        space=replace(plan.space, swap_sizes=(1,), rates=("0.01", "0.05"), replicates=10),
        analyses=(AnalysisPlan("affair", "affair ~ rate + yrs_married + religious", "multinomial logit"),),
    )


class Studies:
    """The studies by name, each made when it is first asked for."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.made: dict[str, Shown] = {}

    def __getitem__(self, name: str) -> Shown:
        if name not in self.made:
            self.made[name] = getattr(self, name)(self.home / name)
        return self.made[name]

    def swept(self, folder: Path) -> Shown:
        """A random swap of the Czech sample before any choice."""
        folder.mkdir()
        return _swept(folder, "czech", _random_plan)

    def random(self, folder: Path) -> Shown:
        """A random swap that is recommended and confirmed on fresh runs."""
        shown = self["swept"].copy(folder)
        shown.run("choose", FILE, "--why", "most useful within the limit", "--by", "Ada")
        shown.run("recheck", FILE, "--data", shown.data)
        return shown

    def approved(self, folder: Path) -> Shown:
        """A random swap that the board has approved."""
        shown = self["swept"].copy(folder)
        shown.run("choose", FILE, "--candidate", SAFER, "--why", "nearly all runs are within the limit", "--by", "Ada")
        shown.run("recheck", FILE, "--data", shown.data, "--candidate", SAFER)
        shown.run("decide", FILE, "--state", "submitted", "--by", "Ada", "--conditions", "no further release")
        shown.run("decide", FILE, "--state", "approved", "--by", "Board", "--number", "DRB-26-014")
        return shown

    def refused(self, folder: Path) -> Shown:
        """A random swap that fresh runs contradict, which is submitted despite this and returned."""
        shown = self["random"].copy(folder)
        shown.run("decide", FILE, "--state", "submitted", "--by", "Ada")
        despite = "the users need the file this month"
        shown.run("decide", FILE, "--state", "submitted", "--by", "Ada", "--despite", despite)
        shown.run("decide", FILE, "--state", "returned", "--by", "Board", "--why", "the risk is too high")
        return shown

    def withheld(self, folder: Path) -> Shown:
        """The decision to release nothing."""
        shown = self["random"].copy(folder)
        shown.run("decide", FILE, "--state", "withheld", "--by", "Board", "--why", "the risk is too high")
        return shown

    def household(self, folder: Path) -> Shown:
        """Targeted swaps of whole households between places, of which the plan lets a copy circulate."""
        folder.mkdir()
        shown = _swept(folder, "census", _household_plan)
        shown.run("choose", FILE, "--why", "most useful within the limit", "--by", "Ada")
        return shown

    def mixed(self, folder: Path) -> Shown:
        """Several mechanisms and a declared analysis, without a limit."""
        folder.mkdir()
        shown = _swept(folder, "fair", _mixed_plan)
        shown.run("choose", FILE, "--max-risk", "0.0005", "--why", "most useful within the limit", "--by", "Ada")
        return shown
