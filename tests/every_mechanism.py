"""A small household survey, and a plan for every mechanism on it, with every way to say how much is changed."""

from __future__ import annotations

from pathlib import Path

GRIDS: dict[str, str] = {
    "random_swap": "",
    "rds": 's = 30\nrate = ["s2", "0.1"]',
    "rds_count": "s = 30\nn_init = [5, 9]",
    "dds": "s = [20, 30]",
    "pram": 'theta = ["0.9", "0.99"]',
    "maps": "s = 30\nD = 2",
    "smike": "s = 30\nn_mix = [3, 5]\nD = 2",
    "cgs": 'strata = "sex"\nn_swap = [10, 20]',
    "cgs_rate": 'strata = "sex"\nrate = ["0.1", "0.2"]',
    "noise": 'c = ["0.1", "0.15"]',
    "cgs_noise": 'strata = "sex"\nn_swap = [10, 20]',
    "trs": 'rate = ["0.1", "0.3"]\nhierarchy = "region"\nsimilar = "size"\nk = 2',
    "survey_swap": 'rate = ["0.05", "0.1"]\nswap = "sex"\nboundary = "work"',
}
"""The grid of each mechanism, and of another way to say how much it changes (``rds_count``), as TOML."""
MIX = "mix"
CASES = (*GRIDS, MIX)

_PLAN = """
[about]
contact = "Ada Example, statistics@agency.example"
[publish]
title = "the Household Survey"
[data]
carry = ["pay"]
numeric = ["pay"]
unit = "hid"
[[attribute]]
name = "sex"
[[attribute]]
name = "region"
[[attribute]]
name = "work"
[[attribute]]
name = "size"
[roles]
keys = ["sex", "region"]
swap = ["sex", "region"]
[space]
swap_sizes = [1]
rates = ["0.1", "0.2"]
replicates = 10
[measures]
names = ["small_cells[n_rule=20]", "hellinger"]
"""


def name_of(case: str) -> str:
    """The mechanism of a case."""
    return case.removesuffix("_count").removesuffix("_rate")


def plan_text(case: str) -> str:
    """The plan of a case; of the mix with every mechanism, each once."""
    cases = [case] if case != MIX else [one for one in GRIDS if one == name_of(one)]
    return _PLAN + "".join(f'[[mechanism]]\nname = "{name_of(one)}"\n{GRIDS[one]}\n' for one in cases)


def write(folder: Path) -> Path:
    """80 households of two or three persons."""
    lines = ["hid,sex,region,work,size,pay"]
    for household in range(80):
        size = 2 + household % 2
        region = ("north", "south", "east", "west")[household * household % 13 % 4]
        for person in range(size):
            i = 3 * household + person
            sex = ("f", "m")[i * 7 % 11 % 2]
            work = ("office", "field", "none")[(i // 5 + i * 3) % 7 % 3]
            lines.append(f"h{household},{sex},{region},{work},{size},{1000 + 20 * (sex == 'm') + 20 * (i * 37 % 9)}")
    path = folder / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
