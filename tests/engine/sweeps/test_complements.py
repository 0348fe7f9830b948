"""The exchange of some attributes and that of all others: one candidate, unless a measure tells them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.measures import MEASURES
from engine.plan import Plan, SpacePlan
from engine.plan.coding import code
from engine.sweeps.candidates import merging_of, n_complete, space_of
from engine.sweeps.sweep import sweep
from tests.engine.small_studies import keyed
from tests.small_tables import Small

SHAPE = (5, 4, 3, 4)
SMALL = Small(tuple(tuple(row) for row in np.random.default_rng(5).integers(0, SHAPE, (90, 4)).tolist()), SHAPE)
RAW = SMALL.raw()
NEED_MORE = {"external_links", "external_unmatched", "risky_left", "left_level", "area_change"}
"""They need a file, or places that nest."""
ABOUT = {
    **{name: f"{name}[target=C]" for name in ("correct_attribution", "attribution_gain", "l_diversity", "t_closeness")},
    **{name: f"{name}[fraction=0.1]" for name in ("population_uniques", "expected_matches")},
    "small_cells_subset": "small_cells_subset[size=1;n_rule=20]",
}
SOME, ALL = SMALL.names[:2], SMALL.names


def plan_of(keys: tuple[str, ...], *measures: str, **space: Any) -> Plan:
    space = {"rates": ("0.5",), "replicates": 6, "swap_sizes": (), **space}
    return SMALL.plan(
        space=SpacePlan(**space), measures=tuple(dict.fromkeys(("small_cells", "hellinger", *measures))), keys=keys
    )


@pytest.fixture(scope="module")
def told_apart(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], set[str]]:
    """For some keys and for all: the measures that differ between two complements, which draw the same pairs."""
    texts = [ABOUT.get(name, name) for name in MEASURES if name not in NEED_MORE]
    found = {}
    for keys in (SOME, ALL):
        figures = []
        for spec in ("A:C B:C C:S D:C", "A:S B:S C:C D:S"):
            path = keyed(tmp_path_factory.mktemp("complements") / "s.study")
            with sweep(RAW, plan_of(keys, *texts, specs=(spec,)), path, workers=1) as study:
                figures.append(study.runs.results().values)
                names = [call.measure.name for call in study.measures]
        one, other = figures
        same = np.isclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True).all(axis=0)
        found[keys] = {name for name, is_same in zip(names, same, strict=True) if not is_same}
    return found


@pytest.mark.slow
def test_what_depends_on_the_table_or_on_unaltered_records_does_not_tell_complements_apart(
    told_apart: dict[tuple[str, ...], set[str]],
) -> None:
    for keys, of_all in ((SOME, False), (ALL, True)):
        may = {name for name, measure in MEASURES.items() if measure.differs_between_complements(of_all)}
        assert told_apart[keys] <= may


@pytest.mark.slow
def test_no_measure_is_said_to_depend_on_more_than_it_does(told_apart: dict[tuple[str, ...], set[str]]) -> None:
    """What needs households or weights says nothing here: these keep complements apart anyway.  In so small a table
    nobody is recognised."""
    silent = {name for name in MEASURES if "household" in name} | {"altered_share_max", "small_cells_recognised"}
    for keys, kinds in ((SOME, {"unaltered", "records"}), (ALL, {"records"})):
        depend = {name for name, measure in MEASURES.items() if measure.depends_on in kinds}
        of_all_attributes = {name for name in depend if MEASURES[name].over == "all"}
        assert depend - silent - NEED_MORE - of_all_attributes <= told_apart[keys]


@pytest.mark.parametrize(
    ("plan", "n_apart"),
    [
        (plan_of(ALL), 0),
        (plan_of(SOME), 1),
        (plan_of(ALL, "distance_linkage"), 1),
        (plan_of(ALL, "r1"), 0),
        (plan_of(ALL, "r1[attributes=A+B]"), 1),
        (plan_of(ALL, "k_anonymity[attributes=A+B]"), 0),
        (plan_of(ALL, "hellinger[attributes=A+B]"), 0),
    ],
)
def test_complements_are_two_candidates_where_a_measure_tells_them_apart(plan: Plan, n_apart: int) -> None:
    data = code(RAW, plan)
    assert merging_of(plan, data) == ("same" if n_apart else "complements")
    written = plan_of(plan.keys, *plan.measures[2:], specs=("C:S A:C B:C D:C", "A:S B:S C:C D:S", "A:S B:S C:U D:S"))
    found = space_of(written, data)
    assert len(found.specs) == 1 + n_apart, "U that must differ is C"
    whole = plan_of(plan.keys, *plan.measures[2:], all_specs=True)
    # of 160 that can work 28 are the same exchange as another one, and 25 more are the complement of another one
    assert len(space_of(whole, data).specs) == n_complete(whole, data) == (132 if n_apart else 107)
