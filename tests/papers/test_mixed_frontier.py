"""One sweep of all mechanisms on the papers' data, through the command line: sweep, show, export, replay.

Titanic: the 714 passengers with an age; what an intruder knows are class, sex, siblings and parents.  The population
of Little and Liu: 750 records in their 84 key cells and two normal numbers with their covariance.  They did not publish
the cell means; here cell k, numbered from 0 in the order of their table, has means (k mod 7) / 3 and (k mod 5) / 2:
distinct enough for models by cell to matter, and otherwise arbitrary.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from engine.cli.main import main
from engine.data.io.readers import read_table
from engine.mechanisms import names
from engine.plan import read_plan
from engine.plan.coding import code
from tests.papers.rows_smike import SIGMA
from tests.shared import shared_file

MECHANISMS = tuple(name for name in names() if name not in ("trs", "survey_swap"))  # none of these papers has them
PLAN = """
[data]
carry = [{numbers}]
numeric = [{numbers}]
{attributes}
[roles]
keys = [{keys}]
swap = [{keys}]
[[analysis]]
{analysis}
[space]
swap_sizes = [1]
rates = ["0.05"]
replicates = 3
[measures]
names = ["r1_share", "ci_overlap"]
[[mechanism]]
name = "random_swap"
[[mechanism]]
name = "rds"
[[mechanism]]
name = "dds"
[[mechanism]]
name = "pram"
[[mechanism]]
name = "maps"
D = 3
[[mechanism]]
name = "smike"
D = 3
[[mechanism]]
name = "cgs"
strata = "{strata}"
n_swap = 20
[[mechanism]]
name = "noise"
[[mechanism]]
name = "cgs_noise"
strata = "{strata}"
n_swap = 20
"""


def write_plan(path: Path, keys: list[str], others: list[str], numbers: list[str], strata: str, analysis: str) -> None:
    quoted = {name: ", ".join(f'"{one}"' for one in part) for name, part in (("keys", keys), ("numbers", numbers))}
    attributes = "".join(f'[[attribute]]\nname = "{name}"\n' for name in [*others, *keys])
    path.write_text(PLAN.format(**quoted, attributes=attributes, strata=strata, analysis=analysis))


def key_cells(data: Path, plan: Path, keys: list[str]) -> np.ndarray:
    """Sizes of the occupied key cells."""
    coded = code(read_table(data), read_plan(plan))
    places = [coded.domain.names.index(name) for name in keys]
    cells = np.column_stack([coded.codes[j] for j in places])
    return np.unique(cells, axis=0, return_counts=True)[1]


def sweep_show_export(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All that a user does, with every mechanism."""
    data, study = str(here / "data.csv"), str(here / "s.study")
    (here / "s.study.key").write_text("5f1c09a7d2843be6901f7ac35de8b264")  # the same draws every time
    assert main(["sweep", data, "--plan", str(here / "plan.toml"), "--study", study, "--workers", "1"]) == 0
    capsys.readouterr()
    show = ["show", study, "--risk", "r1_share", "--utility", "ci_overlap"]
    assert main([*show, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["mechanism"] for row in rows} == set(MECHANISMS)
    for row in rows:
        assert row["replicates"] == 3 and row["failed"] == 0, row
        # moving one key can make sensitive cells of other ones: then the share exceeds 1, that of doing nothing
        assert 0 <= row["r1_share"] < 1.2 and row["ci_overlap"] <= 1, row
        assert row["mechanism"] == "random_swap" or row["r1_share"] <= 1, row
        if row["mechanism"] in ("dds", "noise"):
            assert row["r1_share"] == (row["mechanism"] == "noise"), "dds moves all, noise no key"
    assert main([*show, "--by", "realisation", "--format", "json"]) == 0
    runs = json.loads(capsys.readouterr().out)
    assert len(runs) == 3 * len(rows)
    assert all(isinstance(run[name], float) for run in runs for name in ("r1_share", "ci_overlap")), "all are defined"
    assert main([*show, "--undominated", "--format", "json"]) == 0
    frontier = json.loads(capsys.readouterr().out)
    expected = [
        row["id"]
        for row in rows
        if not any(
            other["r1_share"] <= row["r1_share"]
            and other["ci_overlap"] >= row["ci_overlap"]
            and (other["r1_share"], other["ci_overlap"]) != (row["r1_share"], row["ci_overlap"])
            for other in rows
        )
    ]
    assert sorted(row["id"] for row in frontier) == sorted(expected)
    assert len({row["mechanism"] for row in frontier}) > 1, "a frontier of several mechanisms"
    for mechanism in MECHANISMS:
        label = next(row["id"] for row in rows if row["mechanism"] == mechanism)
        out = str(here / mechanism)
        assert main(["export", study, "--data", data, "--candidate", label, "--out", out]) == 0
        capsys.readouterr()
        assert main(["replay", out, "--data", data]) == 0, mechanism
        assert "bit for bit" in capsys.readouterr().out


@pytest.mark.slow
def test_the_titanic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with shared_file("data", "titanic.csv").open(newline="", encoding="utf-8") as file:
        known = [row for row in csv.DictReader(file) if row["Age"]]
    assert len(known) == 714
    with (tmp_path / "data.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [name for name in known[0] if name != "PassengerId"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(known)
    keys = ["Pclass", "Sex", "SibSp", "Parch"]
    analysis = 'name = "Reg1"\nformula = "Survived ~ Pclass + Sex + Age"\nfamily = "logistic"'
    write_plan(tmp_path / "plan.toml", keys, ["Survived"], ["Age", "Fare"], "Pclass+Sex", analysis)
    sizes = key_cells(tmp_path / "data.csv", tmp_path / "plan.toml", keys)
    assert (len(sizes), np.count_nonzero(sizes <= 3)) == (71, 38)
    sweep_show_export(tmp_path, capsys)


@pytest.mark.slow
def test_the_population_of_84_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with shared_file("data", "smike_pi84.csv").open(newline="", encoding="utf-8") as file:
        cells = list(csv.DictReader(file))
    share = np.array([float(row["pi100"]) for row in cells])
    rng = np.random.default_rng(84)
    drawn = rng.choice(84, 750, p=share / share.sum())
    means = np.column_stack([np.arange(84) % 7 / 3, np.arange(84) % 5 / 2])
    y = means[drawn] + rng.normal(size=(750, 2)) @ np.linalg.cholesky(SIGMA).T
    keys = ["X1", "X2", "X3", "X4"]
    lines = [[*(cells[k][name] for name in keys), *map(repr, pair)] for k, pair in zip(drawn, y.tolist(), strict=True)]
    with (tmp_path / "data.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*keys, "y1", "y2"], *lines])
    write_plan(tmp_path / "plan.toml", keys, [], ["y1", "y2"], "X2", 'name = "y"\nformula = "y2 ~ y1 + X1 + X2"')
    sizes = key_cells(tmp_path / "data.csv", tmp_path / "plan.toml", keys)
    assert sizes.sum() == 750 and 70 < len(sizes) <= 84 and np.count_nonzero(sizes <= 3) > 10
    sweep_show_export(tmp_path, capsys)
