"""Measures of households: by plain counting, on releases in which households moved, and where they are undefined."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.common.streams import derive
from engine.data.microdata import Microdata, Units
from engine.measures import call, evaluate_records, households
from engine.mechanisms.targeted import TRS
from engine.models.record_release import RecordRelease
from engine.plan import AttributePlan, DataPlan, Plan
from engine.release.records import ReleasedTable
from tests.examples import examples
from tests.households import in_households, persons_in_households


def moved(data: Microdata, i: int) -> RecordRelease:
    """A release in which a third of the households, and risky ones, moved to another town."""
    asked = {"rate": "0.3", "hierarchy": "town", "risk": "sex+age", "k": "2"}
    setting = TRS.setting(data, asked, range(len(data.domain)))
    tables = TRS.draw(TRS.prepare(setting), setting, derive(bytes(16), "test", (i,))).tables
    return release_of(data, tables)


def release_of(data: Microdata, tables: list[ReleasedTable]) -> RecordRelease:
    plan = Plan(DataPlan(tuple(AttributePlan(name) for name in data.domain.names)))
    return RecordRelease(ReleasedTable(data), tables, plan)


def several_towns() -> st.SearchStrategy[Microdata]:
    return persons_in_households().filter(lambda data: data.domain.attributes[1].size > 1)


def levels(table: ReleasedTable, names: str) -> list[tuple[int, ...]]:
    domain = table.data.domain
    return list(zip(*(table.codes(j).tolist() for j in domain.indices(tuple(names.split("+")))), strict=True))


class Plain:
    """Levels before and after by person, and the members of each household."""

    def __init__(self, release: RecordRelease, names: str):
        units = release.data.units
        assert units is not None
        self.before, self.after = levels(release.original, names), levels(release.tables[0], names)
        self.members = [[i for i, u in enumerate(units.of_record) if u == h] for h in range(len(units))]
        self.unmoved = [m for m in self.members if all(self.before[i] == self.after[i] for i in m)]


def figure(text: str, release: RecordRelease) -> float:
    return evaluate_records(call(text), release).value


@pytest.mark.slow
@given(several_towns(), st.integers(0, 99), st.integers(1, 4))
@examples(60)
def test_exposed_households_by_counting(data: Microdata, i: int, k: int):
    release = moved(data, i)
    plain = Plain(release, "town+sex+age")
    sharing = Counter(plain.after)
    exposed = [m for m in plain.unmoved if any(sharing[plain.after[j]] < k for j in m)]
    found = figure(f"exposed_households[k={k};attributes=town+sex+age]", release)
    assert found == len(exposed) / len(plain.unmoved) if plain.unmoved else math.isnan(found)


@pytest.mark.slow
@given(several_towns(), st.integers(0, 99))
@examples(60)
def test_household_uniques_by_counting(data: Microdata, i: int):
    release = moved(data, i)
    plain = Plain(release, "town+sex+age")
    together = Counter(tuple(sorted(plain.after[j] for j in m)) for m in plain.members)
    alone = [m for m in plain.unmoved if together[tuple(sorted(plain.after[j] for j in m))] == 1]
    assert figure("household_uniques[attributes=town+sex+age]", release) == len(alone)


@pytest.mark.parametrize("apart", [1, 2**58])
def test_households_are_alone_however_large_the_numbers_of_cells_are(apart: int):
    units = Units.from_codes(np.array([0, 1, 0, 1, 2, 3, 4, 4]))
    cells = np.array([3, 2, 2, 3, 3, 2, 3, 3]) * apart
    assert households._alone(units, cells).tolist() == [False, False, True, True, True]


@pytest.mark.slow
@given(several_towns(), st.integers(0, 99), st.integers(1, 4))
@examples(60)
def test_who_is_risky_and_stays_by_counting(data: Microdata, i: int, k: int):
    release = moved(data, i)
    region, town = Plain(release, "region+sex+age"), Plain(release, "region+town+sex+age")
    in_region, in_town = Counter(region.before), Counter(town.before)
    risky = stays = 0
    for m in region.members:
        at_region = any(in_region[region.before[j]] < k for j in m)
        if at_region or any(in_town[town.before[j]] < k for j in m):
            risky += 1
            stays += region.before[m[0]][:1] == region.after[m[0]][:1] and (
                at_region or town.before[m[0]][:2] == town.after[m[0]][:2]
            )
    found = figure(f"risky_left[k={k};hierarchy=region+town;attributes=sex+age]", release)
    assert found == stays / risky if risky else math.isnan(found)


@pytest.mark.slow
@given(several_towns(), st.integers(0, 99))
@examples(60)
def test_who_left_and_the_largest_change_by_counting(data: Microdata, i: int):
    release = moved(data, i)
    plain = Plain(release, "town")
    gone = sum(plain.before[m[0]] != plain.after[m[0]] for m in plain.members)
    assert figure("left_level[level=town]", release) == gone / len(plain.members)
    changes = []
    for name in ("sex", "age"):
        both = Plain(release, f"town+{name}")
        was, now = Counter(both.before), Counter(both.after)
        changes += [abs(now[cell] - count) / count for cell, count in was.items() if count >= 2]
    found = figure("area_change[level=town;least=2;attributes=sex+age]", release)
    assert found == pytest.approx(max(changes)) if changes else math.isnan(found)


def test_no_household_moves_in_the_original():
    data = in_households([0, 0, 1, 2, 3], {"town": [0, 0, 1, 1]}, {"sex": [0, 1, 0, 1, 0]})
    release = release_of(data, [ReleasedTable(data)])
    assert figure("left_level[level=town]", release) == 0
    assert figure("area_change[level=town;least=1;attributes=sex]", release) == 0
    assert figure("risky_left[k=2;hierarchy=town;attributes=sex]", release) == 1
    assert math.isnan(figure("risky_left[k=1;hierarchy=town;attributes=sex]", release))


def test_without_units_there_are_no_households():
    data = replace(in_households([0, 1], {"town": [0, 1]}, {"sex": [0, 1]}), unit=None)
    found = evaluate_records(call("exposed_households"), release_of(data, [ReleasedTable(data)]))
    assert math.isnan(found.value) and found.note.startswith("the plan names no unit, the column that numbers")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("left_level", "left_level names no place; write for example left_level[level=region]"),
        ("area_change[level=twn]", "unknown attribute 'twn'. Did you mean 'town'?"),
        ("risky_left[hierarchy=town;attributes=town]", "risky_left: all its attributes are places; name what"),
    ],
)
def test_what_names_no_place_is_refused(text: str, words: str):
    data = in_households([0, 1], {"town": [0, 1]}, {"sex": [0, 1]})
    with pytest.raises(UsageError) as error:
        figure(text, release_of(data, [ReleasedTable(data)]))
    assert str(error.value).startswith(words)
