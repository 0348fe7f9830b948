"""A study in which every name, level, label, reason and note would be Markdown, HTML or an address if it were let."""

from __future__ import annotations

import csv
import json
import random
import re
from pathlib import Path

from engine.decision.choice import choose
from engine.plan import Plan, plan_from_toml
from engine.plan.samples import open_data
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study, pin
from frontier_app.session.workspace import Workspace
from tests.frontier_app.finished_studies import FinishedStudies

SIGNS = (
    "![i](http://evil.example/i.png)",
    "[l](http://evil.example/l)",
    "<http://evil.example/a>",
    "http://evil.example/b",
    "www.evil.example",
    "me@evil.example",
    "<img src='http://evil.example/g.png'>",
    "<a href='http://evil.example/h'>h</a>",
    "<b>bold</b>",
    "<sub>low</sub>",
    ":rainbow[r]",
    ":red-background[r]",
    ":smile:",
    ":material/skull:",
    ":streamlit:",
    "$x^2$",
    "$$y$$",
    "`code`",
    "*em* **strong**",
    "_em_ __strong__",
    "~~gone~~",
    "a | b |",
    "-> <- <-> -- >= <= ~=",
    "&lt;u&gt; &#9760;",
    "# head",
    "1. one",
    "- dash",
    "> quote",
    "\\",
    "=1+1",
    "%{x} {0} {name}",
)
"""What may stand in a name, each read as something else than its letters by Markdown, Streamlit or plotly."""


def names(n: int, seed: int) -> list[str]:
    """Different names, which together hold all signs once each."""
    signs = list(SIGNS)
    random.Random(seed).shuffle(signs)
    return [" ".join(signs[i::n]) for i in range(n)]


def plan(of: list[str], levels: list[list[str]], words: str) -> Plan:
    """A plan with every free text that a plan may have."""
    q = json.dumps
    attributes = "\n".join(f"[[attribute]]\nname = {q(name)}" for name in of)
    return plan_from_toml(
        f"""
[data]
numeric = ["pay"]
carry = ["pay"]
{attributes}
[[edit]]
name = {q(words)}
forbid = {{ {q(of[0])} = [{q(levels[0][0])}], {q(of[1])} = [{q(levels[1][0])}] }}
[[table]]
name = {q(words)}
attributes = [{q(of[0])}, {q(of[1])}]
[[analysis]]
name = {q(re.sub("[^-:/.$*_<>`~|@ a-z]", "", words).strip())}
formula = "pay ~ 1"
[[mechanism]]
name = "random_swap"
[[mechanism]]
name = "pram"
[about]
survey = {q(words)}
vintage = {q(words)}
contact = {q(words)}
classification = {q(words)}
[threat]
intruder = {q(words)}
public_files = [{q(words)}]
harm = {q(words)}
[publish]
title = {q(words)}
[space]
swap_sizes = [1]
rates = ["0.1"]
replicates = 10
[measures]
names = ["small_cells[n_rule=3]", "hellinger", "edit_failures"]
[decision]
risk = "small_cells[n_rule=3]"
utility = "hellinger"
max_risk = "0.9"
"""
    )


def write(path: Path, of: list[str], levels: list[list[str]], seed: int) -> Path:
    """A small file with these columns and levels, and a number."""
    draw = random.Random(seed)
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow([*of, "pay"])
        for i in range(90):
            out.writerow([*(draw.choice(some) for some in levels), 100 + i % 17])
    return path


def swept(folder: Path, finished_studies: FinishedStudies, seed: int) -> Workspace:
    """A workspace with such a study: pinned, recommended, with a reason and reasons against its neighbours."""
    of = names(3, seed)
    levels = [names(3, seed + 10 + i) for i in range(3)]
    words = " ".join(SIGNS)
    data = write(folder / f"{seed} ![f](..) :red[x] $v$.csv", of, levels, seed)
    at = finished_studies.workspace(str(data), open_data(str(data))[0], plan(of, levels, words))
    assert at.study is not None
    with Study.open(at.study) as study:
        view = risk_utility_map(study)
        first, *rest = view.frontier().tolist() + [i for i in range(len(view.scenarios)) if i not in view.frontier()]
        choose(study, view, words, candidate=view.scenarios[first].label, by=words)
        for i in (first, *rest[:2]):
            pin(study, view.scenarios[i].label, f"{names(31, seed)[i][:20]}{i}", words)
    return at
