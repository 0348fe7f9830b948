"""Places and households of a plan: what the records suggest, what is usually tried, and what follows a change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.cli.main import main
from engine.common.errors import UsageError
from engine.data.microdata import RawTable
from engine.measures import call
from engine.plan import Plan, plan_from_toml, plan_to_toml
from engine.plan.coding import code
from engine.plan.dependencies import dependencies
from engine.plan.edit import set_use
from engine.plan.guess import first_plan
from engine.plan.households import (
    household_attributes,
    lacks_exchange,
    measured_by,
    places_of,
    suggested_places,
    usual_exchange,
    with_exchange,
    with_records_exchanged,
)
from engine.plan.propose import accept, accept_all, propose
from engine.plan.samples import load
from engine.sweeps.candidates import scenarios_of
from tests.engine.proposals import table_of
from tests.households import census_files

PLACES = ("region", "district", "municipality")


def first() -> tuple[RawTable, Plan]:
    """The census with the plan that its file alone leads to."""
    raw = load("census")[0]
    return raw, first_plan(raw)


@pytest.mark.slow
def test_places_are_suggested_where_names_say_so_and_codes_nest() -> None:
    raw, plan = first()
    assert suggested_places(raw, plan, "household") == PLACES
    shuffled = replace(raw.columns["district"], codes=np.roll(raw.columns["district"].codes, 1))
    mixed = replace(raw, columns={**raw.columns, "district": shuffled})
    assert suggested_places(mixed, plan, None) == ("region", "municipality"), "shifted districts lie in many regions"
    assert "district" not in suggested_places(mixed, plan, "household"), "members of a household live in two"


@pytest.mark.slow
def test_a_block_of_places_is_not_suggested_where_households_move_between_them() -> None:
    raw, plan = first()
    alone = replace(raw, columns={name: raw.columns[name] for name in raw.names if name != "household"})
    assert set(PLACES) in [set(p.columns) for p in propose(alone) if p.kind == "block"], "they hang together"
    for with_households in (None, plan, set_use(plan, "household", "unit"), load("census")[1]):
        assert not [p for p in propose(raw, with_households) if p.kind == "block" and set(PLACES) & set(p.columns)]


@pytest.mark.slow
def test_places_are_suggested_as_the_hierarchy_of_an_exchange() -> None:
    raw, plan = first()
    (alone,) = [p for p in propose(raw) if p.kind == "places"]
    assert alone.columns == PLACES and alone.key == "places:region"
    assert not [p for p in propose(raw, plan) if p.kind == "places"], "first households need a number"
    numbered = set_use(plan, "household", "unit")
    (proposal,) = [p for p in propose(raw, numbered) if p.kind == "places"]
    exchanging = accept(numbered, proposal)
    data = code(raw, numbered)
    assert exchanging == with_exchange(numbered, data, PLACES) and places_of(exchanging) == PLACES
    assert not [p for p in propose(raw, exchanging) if p.kind == "places"]


@pytest.mark.slow
def test_who_exchanges_records_one_by_one_says_so_in_the_plan_and_is_not_asked_again() -> None:
    raw, plan = first()
    numbered = set_use(plan, "household", "unit")
    declined = with_records_exchanged(numbered)
    assert [p for p in propose(raw, numbered) if p.kind == "places"] and lacks_exchange(numbered)
    assert not [p for p in propose(raw, declined) if p.kind == "places"] and not lacks_exchange(declined)
    data = code(raw, numbered)
    assert scenarios_of(declined, data) == scenarios_of(numbered, data), "what is tried stays the same"
    assert with_records_exchanged(declined) == declined
    assert places_of(with_exchange(declined, data, PLACES)) == PLACES, "it can be decided otherwise"


@pytest.mark.slow
def test_what_places_decide_goes_with_the_finest_and_leaves_them_apart() -> None:
    rng = np.random.default_rng(3)
    town = np.repeat(rng.integers(0, 24, 1500), 2)
    columns = {
        "lau": town.tolist(),
        "nuts3": (town // 3).tolist(),
        "nuts2": (town // 6).tolist(),
        "climate": (town // 12).tolist(),
        "sex": rng.integers(0, 2, 3000).tolist(),
    }
    raw = table_of(hid=np.repeat(np.arange(1500), 2).tolist(), **columns)
    proposals = propose(raw)
    assert [p.columns for p in proposals if p.kind == "places"] == [("nuts2", "nuts3", "lau")]
    assert [p.columns for p in proposals if p.kind == "block"] == [("lau", "climate")]
    done = accept_all(raw, first_plan(raw), dependencies(raw), lambda p: p.certain).plan
    assert done.data.unit == "hid" and places_of(done) == ("nuts2", "nuts3", "lau")
    assert {part.name: part.columns for part in done.attributes}["lau"] == ("lau", "climate")
    assert scenarios_of(done, code(raw, done))[0]
    early = accept_all(raw, first_plan(raw), dependencies(raw), lambda p: p.kind in ("unit", "places")).plan
    (block,) = [p for p in propose(raw, early) if p.kind == "block"]
    with pytest.raises(UsageError, match="the exchange of households uses 'climate', which would become part of 'lau'"):
        accept(early, block)


@pytest.mark.slow
def test_a_small_census_from_its_csv_is_ready_to_be_swept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    persons, out = census_files(tmp_path)[0], tmp_path / "plan.toml"
    assert main(["plan", "propose", str(persons), "--accept", "unit,places", "--out", str(out)]) == 0
    assert "accepted 2: unit:hid, places:region" in capsys.readouterr().err
    plan = plan_from_toml(out.read_text(encoding="utf-8"))
    assert plan.data.unit == "hid" and places_of(plan) == ("region", "town")
    assert "block" not in out.read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_a_household_has_in_common_begins_with_its_size() -> None:
    raw, plan = load("census")
    data = code(raw, plan)
    assert household_attributes(data, PLACES) == ("hhsize", "hhtype", "tenure", "dwelling", "origin")
    assert household_attributes(replace(data, unit=None), PLACES) == ()


@pytest.mark.slow
def test_an_exchange_takes_the_place_of_the_random_swap() -> None:
    raw, plan = first()
    numbered = replace(set_use(plan, "household", "unit"), keys=("sex", "citizenship"))
    data = code(raw, numbered)
    exchanging = with_exchange(numbered, data, PLACES)
    assert places_of(numbered) == () and places_of(exchanging) == PLACES
    assert exchanging.mechanisms == (usual_exchange(data, PLACES),)
    assert exchanging.keys == ("sex", "citizenship", "municipality"), "risk is looked at by place"
    assert exchanging.measures[: len(plan.measures)] == plan.measures
    assert "risky_left[hierarchy=region+district+municipality]" in exchanging.measures
    for place in PLACES:
        table = f"attributes={place}+sex+citizenship"
        assert {f"small_cells[{table}]", f"hellinger[{table}]", f"left_level[level={place}]"} <= {*exchanging.measures}
        assert f"area_change[level={place}]" in exchanging.measures
        assert (f"exposed_households[{table}]" in exchanging.measures) == (place != PLACES[-1])
    assert not any(name.startswith("weighted") for name in exchanging.measures)
    assert plan_from_toml(plan_to_toml(exchanging)) == exchanging
    assert len(scenarios_of(exchanging, data)[0]) == 24

    coarser = with_exchange(exchanging, data, PLACES[:2])
    assert places_of(coarser) == PLACES[:2]
    assert dict(coarser.mechanisms[0].grid)["rate"] == dict(exchanging.mechanisms[0].grid)["rate"]
    assert "area_change[level=district]" in coarser.measures
    assert "area_change[level=municipality]" not in coarser.measures
    assert with_exchange(coarser, data, PLACES[:2]) == coarser


def test_the_measures_at_each_level_can_be_formed_and_weighted_ones_with_a_weight() -> None:
    names = measured_by(PLACES, ("sex", "citizenship"), weighted=True)
    assert len({str(call(name)) for name in names}) == len(names)
    assert "weighted_hellinger[attributes=district+sex+citizenship]" in names
    assert measured_by((), ("sex",), weighted=False) == ()


def test_a_place_whose_name_cannot_be_written_is_refused() -> None:
    raw, plan = load("census")
    with pytest.raises(UsageError, match=r"'a\+b' cannot name a place"):
        with_exchange(plan, code(raw, plan), ("region", "a+b"))
