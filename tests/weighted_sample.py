"""A small survey with a weight, a number and a declared analysis."""

from __future__ import annotations

from pathlib import Path

import numpy as np

PLAN = """
[data]
weight = "wt"
carry = ["income"]
[[attribute]]
name = "Age"
[[attribute]]
name = "Sex"
[[attribute]]
name = "Region"
[roles]
keys = ["Age", "Sex", "Region"]
[[analysis]]
name = "income"
formula = "income ~ Age + Sex"
family = "linear"
weighted = true
[space]
swap_sizes = [1]
rates = ["0.05", "0.2"]
replicates = 4
[measures]
names = ["small_cells", "hellinger", "ci_overlap"]
[decision]
realisation = "first"
"""


def write_survey(folder: Path, n: int = 240) -> Path:
    """The survey as a CSV file: the same records every time."""
    rng = np.random.default_rng(11)
    age = rng.choice(["young", "middle", "old"], n, p=[0.5, 0.4, 0.1])
    sex = rng.choice(["f", "m"], n)
    region = rng.choice(["N", "E", "S", "W"], n, p=[0.4, 0.3, 0.25, 0.05])
    income = 20 + 5 * (age == "middle") + 9 * (age == "old") + 3 * (sex == "m") + rng.normal(0, 4, n)
    weight = rng.uniform(0.5, 3, n) * (1 + (region == "W"))
    path = folder / "survey.csv"
    lines = [f"{a},{s},{r},{i:.2f},{w:.3f}" for a, s, r, i, w in zip(age, sex, region, income, weight, strict=True)]
    path.write_text("Age,Sex,Region,income,wt\n" + "\n".join(lines) + "\n")
    return path
