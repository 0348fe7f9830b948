"""A small labelled household survey, its study, and the approval of a recommendation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.bundle import attack
from engine.data.io.readers import read_table
from engine.data.microdata import ColumnLabels, RawTable
from engine.decision.choice import choose, gate_now
from engine.decision.statements import of_severity
from engine.decision.states import decide
from engine.plan import Plan, plan_from_toml
from engine.study.keys import key_path, read_key
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import recheck, sweep
from tests.engine.attacks import log_attack

PLAN = """
[about]
contact = "Ada Example, statistics@agency.example"
[publish]
title = "the Household Survey"
include = ["weight", "id"]
[data]
weight = "w"
id = "case"
carry = ["pay"]
drop = ["scratch"]
numeric = ["pay"]
[[attribute]]
name = "age"
columns = ["age", "age_flag"]
cut = [30]
[[attribute]]
name = "sex"
[[attribute]]
name = "work"
[[attribute]]
name = "town"
[space]
swap_sizes = [1]
rates = ["0.15"]
replicates = 10
[measures]
names = ["small_cells[n_rule=8]", "hellinger"]
"""


def text(n: int = 160) -> str:
    """The survey as CSV: towns and jobs go together, so that a swap weakens something."""
    rows = ["case,age,age_flag,sex,work,town,pay,w,scratch"]
    for i in range(n):
        age = 18 + (i * 7) % 40
        rows.append(
            f"c{i},{age},f{age % 5},{1 + i % 2},{'abc'[(i // 2) % 3]},"
            f"{'pqr'[(i // 2) % 3] if i * 7919 % 101 > 20 else 'p'},{(i * 13) % 53 + 0.5},{1 + i % 4}.5,s{i}"
        )
    return "\n".join(rows) + "\n"


def survey(folder: Path, n: int = 160) -> RawTable:
    """The survey as read from a file, with labels as a labelled file would have them."""
    path = folder / "original_survey.csv"
    path.write_text(text(n))
    raw = read_table(path)
    sex = ColumnLabels("Sex of respondent", (("1", "female"), ("2", "male")), measure="nominal")
    about = {"sex": sex, "work": ColumnLabels("Kind of work"), "case": ColumnLabels("Case number")}
    columns = {name: replace(column, about=about.get(name, column.about)) for name, column in raw.columns.items()}
    return replace(raw, columns=columns)


def plan(more: str = "", **entries: str) -> Plan:
    """The plan, with other values of its ``entries`` (``rates='["0.2"]'``) and ``more`` sections."""
    toml = PLAN
    for name, value in entries.items():
        lines = [f"{name} = {value}" if line.startswith(f"{name} =") else line for line in toml.splitlines()]
        toml = "\n".join(lines) + "\n"
    return plan_from_toml(toml + more)


def swept(raw: RawTable, plan: Plan, path: Path, key: bytes | None = None) -> None:
    """A finished study; ``key`` plants a study key."""
    if key is not None:
        key_path(path).write_text(key.hex())
    sweep(raw, plan, path, workers=1).close()


def approved(folder: Path) -> RawTable:
    """The survey; its study, ``household.study``, is swept and approved in ``folder``."""
    raw = survey(folder)
    swept(raw, plan(), folder / "household.study")
    with Study.open(folder / "household.study") as study:
        approve(study, raw, label_of(study, "town"))
    return raw


def approve(study: Study, raw: RawTable, candidate: str) -> None:
    """Recommend a candidate and take it through the board."""
    place = study.find(candidate)[0].index
    choose(study, risk_utility_map(study), "it is safe and useful", candidate=candidate, by="Ada")
    recheck(study, raw, read_key(key_path(study.path)), [place], 2)
    submit(study)
    log_attack(study)
    decide(study, "approved", "Board", number="DRB-7")


def submit(study: Study) -> None:
    """Submit what is recommended, whatever its risk: of a small made-up file it may well be above that of doing
    nothing, which is not what is tested with it."""
    choice = study.choices.all()[-1]
    decide(study, "submitted", "Ada", despite="a test" if of_severity(gate_now(study, choice), "obstacle") else "")


def few_guesses(patched: pytest.MonkeyPatch) -> None:
    """Let the attack on each export be a short one, where it is not what a test is about."""
    patched.setattr(attack, "_SEEDS", 64)


def label_of(study: Study, attribute: str) -> str:
    """The candidate that swaps one attribute."""
    return next(s.label for s in study.scenarios if str(s.spec.attributes) == f"{attribute}:S")
