"""A file in which an age decides its group, as somebody would bring it, and a plan that leaves the two apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import Plan, plan_from_toml

APART = """
[publish]
title = "the Age Survey"
[[attribute]]
name = "AGE"
[[attribute]]
name = "AGEGRP"
[[attribute]]
name = "SEX"
[[attribute]]
name = "TOWN"
[space]
swap_sizes = [1]
rates = ["0.05"]
replicates = 10
[measures]
names = ["small_cells", "hellinger"]
"""
BLOCK = APART.replace('name = "AGE"\n[[attribute]]\nname = "AGEGRP"', 'name = "AGE"\ncolumns = ["AGE", "AGEGRP"]')


def survey(folder: Path, n: int = 1600, seed: int = 7, more: str = "") -> RawTable:
    """``n`` records of AGE, AGEGRP (AGE // 10), SEX and TOWN; ``more`` names a column of whole numbers that differ in
    every record."""
    rng = np.random.default_rng(seed)
    age, sex, town = rng.integers(18, 78, n), rng.integers(0, 2, n), rng.integers(0, 4, n)
    own = rng.permutation(10 * n)[:n]
    rows = [
        f"{a},{a // 10},{'fm'[s]},{'pqrs'[t]}" + (f",{i}" if more else "")
        for a, s, t, i in zip(age, sex, town, own, strict=True)
    ]
    path = folder / "ages.csv"
    path.write_text("AGE,AGEGRP,SEX,TOWN" + (f",{more}" if more else "") + "\n" + "\n".join(rows) + "\n")
    return read_table(path)


def apart(more: str = "", space: str = "swap_sizes = [1]") -> Plan:
    """The plan that leaves age and group apart, with what may be swapped in ``space`` and sections added."""
    return plan_from_toml(APART.replace("swap_sizes = [1]", space) + "\n" + more)
