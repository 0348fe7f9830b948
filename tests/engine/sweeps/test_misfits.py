"""Columns that stayed tell which records were altered, where they go closely with what moved, and else tell nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.bundle import export
from engine.bundle.readers import AttackSucceeded
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import Plan, plan_from_toml
from engine.plan.coding import code
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.report.build_findings import findings
from engine.report.facts import MISFITS
from engine.study.study import Study
from engine.sweeps.evaluator import question_of
from engine.sweeps.reader_attacks import Misfit, misfits
from engine.sweeps.remake import Remade, remake, stream_of
from engine.sweeps.sweep import sweep
from tests.engine.bundle.sources import export_source
from tests.engine.household_survey import approve
from tests.small_tables import KEY

N = 1_500
PLAN = """
[publish]
include = [{include}]
[data]
weight = "weight"
carry = ["place", "born", "near", "wrong", "noise"]
[[attribute]]
name = "region"
[[attribute]]
name = "age"
[[attribute]]
name = "sex"
[[attribute]]
name = "adults"
[[attribute]]
name = "children"
[[attribute]]
name = "size"
[space]
specs = ["{spec}"]
rates = ["0.1"]
replicates = 10
"""


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> RawTable:
    """Persons whose weight, place, numbers near to it, year of birth and sizes go with what may be exchanged."""
    rng = np.random.default_rng(3)
    region, sex = rng.integers(0, 5, N), rng.integers(0, 2, N)
    age = rng.integers(20, 60, N)
    adults, children = rng.integers(1, 4, N), rng.integers(0, 4, N)
    wrong = np.where(np.arange(N) == 7, (region + 1) % 5, region)
    columns = {
        "region": [f"r{k}" for k in region],
        "age": age,
        "sex": [("f", "m")[k] for k in sex],
        "adults": adults,
        "children": children,
        "size": adults + children,
        "weight": [f"{10 + 3 * r + s}.25" for r, s in zip(region, sex, strict=True)],
        "place": [f"p{r}-{k}" for r, k in zip(region, rng.integers(0, 40, N), strict=True)],
        "born": 2026 - age - rng.integers(0, 2, N),
        "near": [f"{100 * (r + 1) * f:.4f}" for r, f in zip(region, rng.uniform(0.8, 1.2, N), strict=True)],
        "wrong": [f"code {k}" for k in wrong],
        "noise": rng.integers(0, 30, N),
    }
    path = tmp_path_factory.mktemp("misfits") / "persons.csv"
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n", encoding="utf-8")
    return read_table(path)


def plan_of(swapped: str, include: str = "") -> Plan:
    names = ("region", "age", "sex", "adults", "children", "size")
    return plan_from_toml(
        PLAN.format(spec=" ".join(f"{n}:{'S' if n == swapped else 'U'}" for n in names), include=include)
    )


def made_of(raw: RawTable, swapped: str) -> Remade:
    plan = plan_of(swapped)
    data = code(raw, plan)
    roles = "".join("S" if name == swapped else "U" for name in data.domain.names)
    spec = ReleaseSpec(AttributeSpec(data.domain.names, roles), "0.1")
    return remake(data, question_of(plan, data), spec, stream_of(KEY, spec, data, 1))


def best(raw: RawTable, swapped: str, *beside: str) -> Misfit:
    (found,), _ = misfits(made_of(raw, swapped), beside)
    assert found.attribute == swapped and found.altered == int(made_of(raw, swapped).changed.sum()) == 150
    return found


@pytest.mark.parametrize(
    ("swapped", "beside"),
    [
        ("region", ("weight",)),
        ("region", ("place",)),
        ("region", ("near",)),
        ("region", ("wrong",)),
        ("age", ("born",)),
        ("size", ("adults", "children")),
    ],
)
def test_what_goes_closely_with_what_moved_undoes_the_exchange(
    raw: RawTable, swapped: str, beside: tuple[str, ...]
) -> None:
    found = best(raw, swapped, "noise", "sex", *beside)
    assert found.beside == beside and found.undoes and found.is_telling
    assert found.rightly > 0.9 * found.altered
    assert found.restored > (0.3 if swapped == "age" else 0.85), "of two years one is as good as the other"


@pytest.mark.parametrize("swapped", ["region", "age", "sex"])
def test_what_has_nothing_to_do_with_it_tells_nothing(raw: RawTable, swapped: str) -> None:
    names = [name for name in ("noise", "adults", "children", "sex", "region") if name != swapped]
    found = best(raw, swapped, *names)
    assert abs(found.skill) < 0.2 and not found.is_telling


@pytest.mark.parametrize("replicate", range(1, 9))
def test_what_a_rare_level_names_alone_is_no_finding_of_a_column(tmp_path: Path, replicate: int) -> None:
    """Nearly all records of a rare level are altered, so whoever names these is right every second time."""
    rng = np.random.default_rng(4)
    rows = [
        f"{'ab'[int(rare)]},{','.join(map(str, other))}"
        for rare, other in zip(
            rng.random(1_000) < 0.02, rng.integers(0, [2, 3, 4, 5, 6, 7], (1_000, 6)).tolist(), strict=True
        )
    ]
    (tmp_path / "rare.csv").write_text("m,n,o,p,q,r,s\n" + "\n".join(rows) + "\n", encoding="utf-8")
    plan = plan_from_toml("".join(f'[[attribute]]\nname = "{name}"\n' for name in "mnopqrs"))
    raw = read_table(tmp_path / "rare.csv")
    data = code(raw, plan)
    spec = ReleaseSpec(AttributeSpec(data.domain.names, "SUUUUUU"), "0.03")
    made = remake(data, question_of(plan, data), spec, stream_of(KEY, spec, data, replicate))
    found, tried = misfits(made, list("nopqrs"))
    assert tried == 6 + 15
    for one in found:
        assert one.alone >= 0.45 * one.altered and abs(one.skill) < 0.3 and not one.is_telling


def test_what_moved_itself_is_no_help(raw: RawTable) -> None:
    found, tried = misfits(made_of(raw, "region"), ["region"])
    assert (found, tried) == ([], 0)


def test_names_are_as_many_as_were_altered_and_equal_ones_are_named_by_chance(raw: RawTable) -> None:
    made = made_of(raw, "sex")
    (found,), tried = misfits(made, ["noise"])
    assert tried == 1
    # by hand: how much commoner the sex is among the others with the same number than among all
    sex, changed = made.codes(made.data.domain.names.index("sex")), made.changed
    noise = raw.columns["noise"].codes
    share = np.bincount(sex) / N
    fits = []
    for i in range(N):
        alike = np.flatnonzero(noise == noise[i])
        others = np.count_nonzero(sex[alike] == sex[i]) - 1
        fits.append((others + share[sex[i]]) / (len(alike) * share[sex[i]]))
    order = sorted(set(fits))
    named, rightly = 0.0, 0.0
    for fit in order:
        here = np.isclose(fits, fit, rtol=1e-12)
        taken = min(1.0, (found.altered - named) / here.sum())
        named, rightly = named + taken * here.sum(), rightly + taken * (here & changed).sum()
        if named >= found.altered:
            break
    assert found.rightly == pytest.approx(rightly)


def told(study: Study, raw: RawTable, is_told: bool) -> None:
    """The board's check says what columns tell."""
    source = export_source(study, raw, None)
    board = findings(study, source.remade)
    assert [check.holds for check in board.checks if check.name == MISFITS] == [False] * is_told


@pytest.mark.slow
def test_a_weight_that_undoes_the_exchange_is_not_published(raw: RawTable, tmp_path: Path) -> None:
    """Where it is not released it does no harm; the other columns do here, so they are dropped."""
    for include, refused in (("", False), ('"weight"', True)):
        plan = plan_from_toml(
            PLAN.format(spec="region:S age:U sex:U adults:U children:U size:U", include=include).replace(
                'carry = ["place", "born", "near", "wrong", "noise"]',
                'carry = ["noise"]\ndrop = ["place", "born", "near", "wrong"]',
            )
        )
        folder = tmp_path / f"{refused}"
        folder.mkdir()
        sweep(raw, plan, folder / "s.study", workers=1).close()
        with Study.open(folder / "s.study") as study:
            approve(study, raw, study.scenarios[0].label)
            told(study, raw, refused)
            if not refused:
                export(study, raw, None, folder / "out", tier="public")
                continue
            with pytest.raises(AttackSucceeded, match="'weight' tells in which records 'region' was altered") as error:
                export(study, raw, None, folder / "out", tier="public")
            assert error.value.values["attack"] == "misfits" and not (folder / "out").exists()
