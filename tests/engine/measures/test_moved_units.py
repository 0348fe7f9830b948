"""Households and records found by tables of places, against slow twins, an independent intruder and chance; records
whose rows differ between released tables.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.common.streams import derive
from engine.data.frames import table_of_frame
from engine.data.microdata import Microdata
from engine.measures import call, evaluate_records
from engine.measures import moved_units as module
from engine.measures.moved_units import Found, Named, named
from engine.measures.several_tables import _carried, compared
from engine.mechanisms.targeted import TRS
from engine.models.record_release import RecordRelease
from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.coding import code
from engine.release.records import ReleasedTable
from tests import intruder
from tests.engine.measures.test_households import figure, moved, release_of, several_towns
from tests.examples import examples
from tests.households import in_households
from tests.twins import moved_units as twin

TOPS = ("0.3", "2", "1")


def rows(table: ReleasedTable) -> list[tuple[int, ...]]:
    return list(zip(*(table.codes(j).tolist() for j in range(len(table.data.domain))), strict=True))


def by_twin(release: RecordRelease) -> twin.Found:
    units, domain = release.data.units, release.data.domain
    home = list(range(release.data.n_records)) if units is None else units.of_record.tolist()
    keys = domain.indices(release.plan.keys)
    return twin.attack(rows(release.original), rows(release.tables[0]), home, range(len(domain)), keys)


def assert_same(release: RecordRelease) -> None:
    found, wanted = named(release, release.tables[0], range(len(release.data.domain))), by_twin(release)
    for name, score in found.scores.items():
        close = 1e-4 if name == "learned" else 1e-9  # a fit
        assert score.tolist() == pytest.approx(wanted.scores[name], abs=close), name
    assert found.certain.tolist() == wanted.certain and found.altered.tolist() == wanted.altered
    assert not (found.certain & ~found.altered).any()
    assert figure("detection_unit_auc", release) == pytest.approx(twin.auc(wanted), nan_ok=True)
    for top in TOPS:
        assert figure(f"detection_unit_precision[top={top}]", release) == pytest.approx(
            twin.precision(wanted, float(top)), nan_ok=True
        )
    assert figure("detection_unit_certain", release) == pytest.approx(twin.certain(wanted), nan_ok=True)


@pytest.mark.slow
@given(several_towns(), st.integers(0, 99))
@examples(60)
def test_households_by_the_definition(data: Microdata, i: int):
    release = moved(data, i)
    assert named(release, release.tables[0], range(6)).of in ("households", "records")
    assert_same(release)


@pytest.mark.slow
@given(several_towns(), st.integers(0, 99))
@examples(15)
def test_records_by_the_definition(data: Microdata, i: int):
    order = np.random.default_rng(i).permutation(data.n_records)
    assert_same(release_of(data, [ReleasedTable(data, order, (1, 5))]))
    assert_same(release_of(replace(data, unit=None), [ReleasedTable(data, order, (1,))]))


def census(n: int = 3000, towns: int = 40, levels: tuple[int, ...] = (2, 3, 6, 30)) -> Microdata:
    """A made-up census of ``n`` households in towns, with attributes of persons, rare levels among them."""
    rng = np.random.default_rng(11)
    size = rng.integers(1, 5, n)
    home = np.repeat(np.arange(n), size)
    persons = {
        f"a{k}": np.minimum(rng.geometric(0.5 if k == 2 else 0.12, len(home)) - 1, k - 1).tolist() for k in levels
    }
    return in_households(
        home.tolist(), {"town": rng.integers(0, towns, n).tolist(), "size": (size - 1).tolist()}, persons
    )


def swapped(data: Microdata, **asked: str) -> RecordRelease:
    asked = {"rate": "0.02", "hierarchy": "town", "risk": "a30", "k": "2", "similar": "size", "must": "within"} | asked
    setting = TRS.setting(data, asked, range(len(data.domain)))
    return release_of(data, TRS.draw(TRS.prepare(setting), setting, derive(bytes(16), "test", (1,))).tables)


def as_columns(table: ReleasedTable) -> dict[str, list[str]]:
    domain, units = table.data.domain, table.data.units
    assert units is not None
    columns = {name: [str(code) for code in table.codes(j).tolist()] for j, name in enumerate(domain.names)}
    return columns | {"home": [str(unit) for unit in units.of_record.tolist()]}


@pytest.mark.parametrize("asked", [{}, {"lean": "0", "k": "0"}, {"rate": "0.1"}, {"must": "all", "k": "3"}])
def test_an_independent_intruder_finds_nothing_beyond_it(asked: dict[str, str]):
    release = swapped(census(), **asked)
    original, released = as_columns(release.original), as_columns(release.tables[0])
    guesses = intruder.attack(released, intruder.publish(original, "town", ["a2", "a3", "a6", "a30"]), "town", "home")
    truly = {h for h, a, b in zip(original["home"], original["town"], released["town"], strict=True) if a != b}
    found = intruder.auc(guesses.excess, truly)
    assert found > 0.7  # there is something to be found
    assert figure("detection_unit_auc", release) >= found - 0.03
    right = intruder.precision(guesses.excess, truly, 50)
    assert figure("detection_unit_precision[top=50]", release) >= right - 0.05
    assert guesses.certain <= truly
    assert figure("detection_unit_certain", release) >= len(guesses.certain) / len(truly) > 0


def traces(release: RecordRelease) -> tuple[np.ndarray, np.ndarray]:
    """By household what an intruder counts, and whether it moved: mean excess by table, the rarest cell, and size."""
    original, released = as_columns(release.original), as_columns(release.tables[0])
    homes = list(dict.fromkeys(released["home"]))
    number = np.array([homes.index(home) for home in homes])[[int(home) for home in released["home"]]]
    size = np.bincount(number)
    tables = intruder.publish(original, "town", ["a2", "a3", "a6", "a30"])
    excess = [intruder.attack(released, {name: one}, "town", "home").excess for name, one in tables.items()]
    now = Counter(zip(released["town"], released["a30"], strict=True))
    rarest = np.full(len(homes), np.inf)
    cells = [now[cell] for cell in zip(released["town"], released["a30"], strict=True)]
    np.minimum.at(rarest, number, cells)
    columns = [np.array([one[home] for home in homes]) / size for one in excess]
    moved = [a != b for a, b in zip(original["town"], released["town"], strict=True)]
    return np.column_stack([*columns, sum(columns), np.log(rarest), size]), np.bincount(number, weights=moved) > 0


def test_an_intruder_who_learns_from_swaps_of_his_own_finds_nothing_beyond_it():
    from sklearn.linear_model import LogisticRegression

    asked = {"must": "all", "k": "3"}
    release = swapped(census(), **asked)
    place = release.tables[0].codes(0).astype(np.int32)
    known = replace(release.data, codes=(place, *release.data.codes[1:]))  # the release, swapped once more
    model = LogisticRegression(max_iter=2000).fit(*traces(swapped(known, **asked)))
    found, moved = traces(release)
    guesses = dict(enumerate(model.decision_function(found)))
    assert release.data.domain.names[0] == "town"
    auc = intruder.auc({str(k): v for k, v in guesses.items()}, {str(k) for k in np.flatnonzero(moved)})
    assert figure("detection_unit_auc", release) >= auc - 0.005
    plain = named(release, release.tables[0], range(len(release.data.domain)))
    unlearned = plain._replace(scores={k: v for k, v in plain.scores.items() if k != "learned"})
    assert unlearned.auc < auc - 0.03, "to learn is worth it here"


def test_classes_of_a_column_do_not_hide_what_its_values_tell():
    fine = census()
    domain = fine.domain
    last = domain.index("a30")
    classes = replace(domain.attributes[last], levels=("0-9", "10-19", "20-29"), kinds=("value",) * 3)
    coarse = replace(
        fine,
        domain=replace(domain, attributes=(*domain.attributes[:last], classes)),
        codes=(*fine.codes[:last], (fine.codes[last] // 10).astype(np.int32)),
    )
    release = swapped(fine)
    assert release.tables[0].source is not None
    told = figure("detection_unit_auc", release)
    of_classes = release_of(coarse, [ReleasedTable(coarse, release.tables[0].source, (0,))])
    assert figure("detection_unit_auc", of_classes) == pytest.approx(told, abs=0.02)


def test_what_moves_nothing_or_says_nothing_raises_no_alarm():
    data = census(towns=2, levels=(2, 3))  # large cells of independent attributes
    blind = swapped(data, risk="a3", k="0", lean="0", rate="0.3")
    assert abs(figure("detection_unit_auc", blind) - 0.5) < 0.08
    assert named(blind, blind.tables[0], range(4)).found.verdict.severity != "serious"
    none = evaluate_records(call("detection_unit_auc"), release_of(data, [ReleasedTable(data)]))
    assert math.isnan(none.value) and "no record is altered" in none.note


def test_chance_gives_guesses():
    found = named(release := swapped(census()), release.tables[0], range(6))
    rng = np.random.default_rng(3)
    figures = []
    for _ in range(20):
        guessed = found._replace(altered=rng.permutation(found.altered), certain=np.zeros_like(found.certain))
        figures.append(guessed.auc)
        assert not guessed.found.finds
    assert abs(np.mean(figures) - 0.5) < 0.06


def test_of_several_attacks_the_best_counts():
    altered = np.array([True, False, False, True])
    scores = {"bad": np.array([0.0, 1, 2, 3]), "good": np.array([4.0, 1, 2, 3])}
    found = Named("records", scores, altered, altered)
    assert found.auc == 1.0 and found.right(1) == 1 and found.right(4) == 2
    assert found.first(Decimal("0.3")) == 2 and found.first(Decimal(9)) == 4


def test_carried_columns_tell_as_well():
    """A column that a place decides shows each household that came from elsewhere."""
    data = census(n=300, levels=(2, 3))
    raw = data.raw.columns
    columns = {**raw, "post office": replace(raw["town"], name="post office")}
    carrying = replace(data, raw=replace(data.raw, columns=columns), carried=("post office",))
    source = swapped(data, risk="a3").tables[0].source
    found = []
    for one in (data, carrying):
        release = release_of(one, [ReleasedTable(one, source, (0,))])
        found.append(named(release, release.tables[0], range(4)))
    without, beside = found
    assert beside.altered.sum() == beside.certain.sum() > without.certain.sum()


def test_published_weights_tell_as_well():
    data = census(n=600, levels=(2, 3))
    columns = {**data.raw.columns, "w": replace(data.raw.columns["a3"], name="w", values=pa.array([1, 2, 5]))}
    weighted = replace(data, raw=replace(data.raw, columns=columns), weight="w")
    release = swapped(data, risk="a3")
    source = release.tables[0].source
    assert source is not None
    made = release_of(weighted, [ReleasedTable(weighted, source, (0,))])
    assert set(named(made, made.tables[0], range(4)).scores) == {
        "rare",
        "excess",
        "mean_excess",
        "likelihood",
        "learned",
    }
    plan = made.plan
    made.plan = replace(plan, data=replace(plan.data, weight="w"), publish=replace(plan.publish, include=("weight",)))
    made.tables[0].forget()
    found = named(made, made.tables[0], range(4))
    for name in ("excess", "mean_excess", "likelihood"):
        by_weight = found._replace(scores={name: found.scores[f"weighted {name}"]})
        assert by_weight.auc > 0.55  # the weighted tables moved, and tell


@pytest.mark.parametrize("top", ["0", "-1", "1.5", "2.5"])
def test_a_top_that_is_neither_a_share_nor_a_number_is_refused(top: str):
    with pytest.raises(UsageError, match="top"):
        call(f"detection_unit_precision[top={top}]")


def test_the_attack_does_not_read_the_truth(monkeypatch: pytest.MonkeyPatch):
    """Records of the original in another order give the same scores."""
    release = swapped(census(n=400))
    table = release.tables[0]
    wanted = named(release, table, range(6)).scores
    pairs = module._pairs

    def shuffled(*given: object):  # the agency's tables do not know an order
        rng = np.random.default_rng(1)
        return ((rng.permutation(before), after) for before, after in pairs(*given))  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_pairs", shuffled)
    table.forget()
    for name, score in named(release, table, range(6)).scores.items():
        assert np.allclose(score, wanted[name]), name


@pytest.mark.parametrize(
    ("altered", "n", "auc", "right", "finds"),
    [
        (0, 1000, 1.0, 0, False),
        (1000, 1000, 1.0, 10, False),
        (100, 1000, 0.5, 1, False),
        (100, 1000, 0.5, 10, True),  # all of the most suspect hundredth
        (100, 1000, 0.59, 1, False),
        (100, 1000, 0.61, 1, True),
        (2, 1000, 0.75, 0, False),  # within three standard errors of .5, .204 each
        (10, 1000, 0.75, 0, False),  # of .0918 each
        (10, 1000, 0.78, 0, True),
    ],
)
def test_finding_is_better_than_guessing_and_not_by_chance(
    altered: int, n: int, auc: float, right: int, finds: bool
) -> None:
    assert Found("records", n, altered, auc, ((10, float(right)),), 0).finds is finds


def small() -> Microdata:
    rng = np.random.default_rng(3)
    raw = table_of_frame(pd.DataFrame({name: rng.integers(0, 4, 90).astype(str) for name in "abc"}))
    return code(raw, Plan(DataPlan(tuple(AttributePlan(name) for name in raw.names))))


def test_what_differs_between_tables_is_altered_and_scored_by_its_disagreement() -> None:
    data, rng = small(), np.random.default_rng(4)
    tables = []
    for _ in range(5):
        source = np.arange(90)
        first = rng.permutation(90)[:20]
        source[first] = rng.permutation(first)
        tables.append(ReleasedTable(data, source, (0, 1)))
    found = compared(tables)
    assert found is not None
    rows = [list(zip(*(table.codes(j).tolist() for j in range(3)), strict=True)) for table in tables]
    shown = list(zip(*rows, strict=True))
    assert found.disagree.tolist() == [5 - max(map(row.count, row)) for row in shown]
    assert not (found.disagree[~found.altered]).any()
    assert found.certain == sum(len(set(row)) > 1 for row in shown) > 20
    verdict = found.verdict
    assert verdict.kind == "several" and verdict.severity == "serious" and verdict.right == verdict.named
    assert found.auc > 0.9


def test_one_table_and_equal_ones_tell_nothing() -> None:
    data = small()
    assert compared([ReleasedTable(data)]) is None
    source = np.roll(np.arange(90), 1)
    same = compared([ReleasedTable(data, source, (0,))] * 3)
    assert same is not None and same.certain == 0 and same.verdict.severity == "untried"


def test_numbers_that_were_drawn_for_each_table_differ() -> None:
    data = small()
    numbers = [np.arange(90.0) + (np.arange(90) < k) for k in (0, 4)]
    found = compared([ReleasedTable(data, numbers={"c": one}) for one in numbers])
    assert found is not None and found.certain == 4


def test_carried_columns_that_are_exchanged_with_a_place_differ_too() -> None:
    """One that is not among them stays with its record, and a table without a swap shows the original's."""
    data = small()
    codes, source = np.arange(90), np.roll(np.arange(90), 1)
    swapped = ReleasedTable(data, source, (0,))
    assert _carried(swapped, "a", codes).tolist() == source.tolist()
    assert _carried(swapped, "b", codes).tolist() == _carried(ReleasedTable(data), "a", codes).tolist() == [*range(90)]
    drawn = ReleasedTable(data, replaced={0: data.codes[0]})
    assert not _carried(drawn, "a", codes).any() and _carried(drawn, "b", codes).tolist() == [*range(90)]
