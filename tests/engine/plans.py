"""Plans of plain attributes, and one with an entry of every kind."""

from __future__ import annotations

from typing import Any

from engine.plan import AttributePlan, DataPlan, Plan


def plan_of(*names: str, **more: Any) -> Plan:
    return Plan(DataPlan(tuple(AttributePlan(name) for name in names)), **more)


ABC = plan_of("A", "B", "C")

FULL = """
[data]
missing = ["", "NA"]
weight = "wt"
id = "caseid"
carry = ["note_*"]
drop = ["scratch"]

[[attribute]]
name = "Age"
columns = ["age", "age_flag"]
cut = [25, 55.5]
labels = ["<25", "25-54", "55+"]
skip = ["-1"]
missing = ["-9"]
on_missing = "level"

[[attribute]]
name = "Emp"
merge = { Govt = ["Federal-gov", "State-gov"] }
levels = ["Govt", "Private"]

[[attribute]]
name = "Sex"

[roles]
keys = ["Age", "Sex"]
swap = ["Age", "Emp"]
analyse = ["Age", "Emp"]

[[edit]]
name = "no young officials"
forbid = { Age = ["<25"], Emp = ["Govt"] }

[space]
swap_sizes = [2, 1]
fix = ["Sex"]
rule = "loose"
rates = ["0.010", "1e-1", 0.2]
replicates = 5

[measures]
names = ["small_cells[n_rule=5]", "hellinger"]

[decision]
risk = "small_cells"
utility = "hellinger"
max_risk = "0.0140"
realisation = "3"
"""
