"""A small file with a number, and a study of several mechanisms on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engine.data.domain import EditRule
from engine.plan import MechanismPlan, Plan, plan_from_toml
from engine.plan.samples import open_data
from frontier_app.session.workspace import Workspace
from tests.frontier_app.finished_studies import FinishedStudies

NO_FIELD_WORK = EditRule("no field work in the west", (("region", ("west",)), ("work", ("field", "none"))))
MECHANISMS: dict[str, dict[str, object]] = {
    "random_swap": {},
    "maps": {"s": [12], "D": [1, 3]},
    "rds": {"s": [12], "rate": ["0.05", "0.20"]},
    "pram": {},
}
PLAN = """
[data]
carry = ["pay"]
numeric = ["pay"]
[[attribute]]
name = "sex"
[[attribute]]
name = "region"
[[attribute]]
name = "work"
[roles]
keys = ["sex", "region"]
swap = ["sex", "region"]
[[analysis]]
name = "pay"
formula = "pay ~ sex + region"
[space]
swap_sizes = [1]
rates = ["0.1"]
replicates = 3
[measures]
names = ["r1_share[s=12]", "r2[s=12]", "hellinger", "ci_overlap"]
"""


def plan() -> Plan:
    """The plan with four mechanisms and an edit rule."""
    mechanisms = tuple(MechanismPlan.of(name, grid) for name, grid in MECHANISMS.items())
    return replace(plan_from_toml(PLAN), edits=(NO_FIELD_WORK,), mechanisms=mechanisms)


def write(path: Path) -> Path:
    """120 people whose pay depends on sex and region; the west is small."""
    lines = ["sex,region,work,pay"]
    for i in range(120):
        sex = ("f", "m")[i * 7 % 11 % 2]
        region = "west" if i % 12 == 0 else ("north", "south", "east")[i * i % 13 % 3]
        work = ("office", "field", "none")[(i // 5 + i * 3) % 7 % 3]
        pay = 1000 + 300 * (sex == "m") + 200 * (region == "east") + (i * 37) % 97
        lines.append(f"{sex},{region},{work},{pay}")
    path.write_text("\n".join(lines) + "\n")
    return path


def swept(folder: Path, finished_studies: FinishedStudies) -> Workspace:
    """A workspace on that file with a finished study."""
    path = str(write(folder / "people.csv"))
    return finished_studies.workspace(path, open_data(path)[0], plan())
