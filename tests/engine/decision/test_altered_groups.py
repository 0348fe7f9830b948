"""Who carries the change: shares of altered records by group, against a count by hand and the figures of CPS-8D."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from engine.data.io.readers import read_table
from engine.decision.altered_groups import AlteredGroup, altered_groups, altered_share, group_caution, groups_to_show
from engine.measures import call
from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.coding import code
from engine.plan.entries import MechanismPlan
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import Remade, remake
from tests.engine.report.conftest import case_of, plan_of
from tests.shared import shared_file


def counted(realisation: Remade) -> dict[tuple[str, str], tuple[float, float]]:
    """Records and altered records of every group, a mean over tables, record by record."""
    data, n_tables = realisation.data, len(realisation.tables)
    records: Counter[tuple[str, str]] = Counter()
    altered: Counter[tuple[str, str]] = Counter()
    for d in range(n_tables):
        columns = [realisation.codes(j, d).tolist() for j in range(len(data.domain))]
        original = [codes.tolist() for codes in data.codes]
        for i in range(data.n_records):
            is_altered = any(after[i] != before[i] for before, after in zip(original, columns, strict=True))
            for attribute, column in zip(data.domain.attributes, columns, strict=True):
                group = (attribute.name, attribute.levels[column[i]])
                records[group] += 1
                altered[group] += is_altered
    return {group: (records[group] / n_tables, altered[group] / n_tables) for group in records}


@pytest.mark.slow
def test_every_group_is_counted_as_by_hand(tmp_path: Path) -> None:
    for mechanism in ((), (MechanismPlan("maps", (("w0", ("0.2",)), ("s", ("9",)), ("D", ("2",)))),)):
        plan = plan_of(mechanisms=mechanism, measures=("small_cells[n_rule=5]", "pmse"), analyses=())
        folder = tmp_path / f"{len(mechanism)}"
        folder.mkdir()
        realisation = case_of(folder, plan).realisation
        groups, expected = altered_groups(realisation), counted(realisation)
        assert len(groups) == len(expected) == len({(group.attribute, group.level) for group in groups})
        for group in groups:
            records, altered = expected[group.attribute, group.level]
            assert group.share == pytest.approx(altered / records)
            assert (group.records, group.altered) == (round(records), round(altered))
        total = sum(altered for (name, _), (_, altered) in expected.items() if name == "A")
        assert altered_share(realisation) == pytest.approx(total / realisation.data.n_records)


@pytest.mark.slow
def test_a_third_of_the_small_group_and_a_twentieth_of_the_large_carry_a_swap_of_ten_percent() -> None:
    raw = read_table(shared_file("data", "cps8d.csv"))
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names)))
    data = code(raw, plan)
    spec = ReleaseSpec(AttributeSpec.parse("Race:S", data.domain.names), "0.1", "strict")
    realisation = remake(data, question_of(plan, data, (call("small_cells"),)), spec, bytes(range(32)))
    groups = altered_groups(realisation)
    shares = {group.level: round(group.share, 3) for group in groups if group.attribute == "Race"}
    assert shares == {"Non-White": 0.345, "White": 0.058}
    rate = altered_share(realisation)
    assert rate == pytest.approx(0.1, abs=1e-4)
    caution = group_caution(groups, rate, plan.tolerances.min_n)
    assert caution is not None and caution.kind == "uneven_group"
    assert caution.values["group"] == "Race: Non-White" and caution.values["times"] == pytest.approx(
        0.345 / 0.1, abs=0.01
    )


def _group(records: int, altered: int) -> AlteredGroup:
    return AlteredGroup("A", f"{records}/{altered}", records, altered, altered / records)


def test_a_caution_needs_records_a_share_far_above_the_rate_and_more_than_chance() -> None:
    rate, min_n = 0.1, 45
    assert group_caution([_group(45, 45)], rate, min_n) is None, "too few records"
    assert group_caution([_group(10_000, 2_000)], rate, min_n) is None, "twice the rate is not above it"
    assert group_caution([_group(50, 15)], rate, min_n) is None, "three times the rate, but by chance"
    assert group_caution([_group(50, 20)], rate, min_n) is not None
    assert group_caution([_group(10_000, 2_140)], rate, min_n) is not None
    worst = group_caution([_group(10_000, 3_000), _group(100, 50), _group(500, 160)], rate, min_n)
    assert worst is not None and worst.values["group"] == "A: 100/50" and worst.values["times"] == pytest.approx(5)
    assert group_caution([_group(100, 0)], 0.0, min_n) is None


def test_large_groups_come_first_and_the_most_altered_of_them() -> None:
    groups = [_group(40, 40), _group(60, 6), _group(100, 50), _group(1000, 100)]
    assert [group.records for group in groups_to_show(groups, 45, 3)] == [100, 1000, 60]


def test_chance_alone_gives_no_caution() -> None:
    """Of records altered at random, whoever they are, hardly ever."""
    rng, given = np.random.default_rng(5), 0
    for _ in range(400):
        groups = [_group(n, int(rng.binomial(n, 0.05))) for n in (46, 60, 100, 300, 2_000) * 6]
        given += group_caution(groups, 0.05, 45) is not None
    assert given <= 4
