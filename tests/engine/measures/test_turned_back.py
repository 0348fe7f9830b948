"""Original values that the released ones give back: by the definition, and on releases of each mechanism that can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.measures.turned_back import Exchanged, TurnedBack, _guess, _likeliest, most_turned_back, turned_back
from engine.plan import AttributePlan, DataPlan, MechanismPlan, Plan, SpacePlan
from engine.plan.coding import code
from engine.release.records import ReleasedTable
from engine.report.detected import release_verdict
from engine.sweeps.remake import Remade, remake, stream_of
from engine.sweeps.sweep import plan_problems, ready
from tests.examples import examples

KEY = bytes(range(32))


def by_definition(own: Sequence[int], shown: Sequence[int], group: Sequence[int]) -> tuple[int, float, int]:
    """Record by record: the commonest original value of the others with the same released value in the same group."""
    named, right, as_released = 0, 0.0, 0
    for i in range(len(own)):
        others = [own[k] for k in range(len(own)) if k != i and (shown[k], group[k]) == (shown[i], group[i])]
        counts = Counter(others)
        most = max(counts.values(), default=0)
        modes = [value for value, count in counts.items() if count == most]
        if not modes or counts[shown[i]] == most:
            continue
        named += 1
        as_released += own[i] == shown[i]
        right += (own[i] in modes) / len(modes)
    return named, right, as_released


RECORDS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=14)


@examples(100)
@given(RECORDS)
def test_guesses_are_those_of_the_definition(records: list[tuple[int, int, int]]) -> None:
    own, shown, group = (np.array(column) for column in zip(*records, strict=True))
    found = _guess("a", own, shown, group, np.ones(len(own), np.int64))
    named, right, as_released = by_definition(own.tolist(), shown.tolist(), group.tolist())
    assert (found.named, found.as_released) == (named, as_released) and found.right == pytest.approx(right)
    assert found.altered == int((own != shown).sum()) and found.n == len(records)
    rows, weight = np.unique(np.array(records), axis=0, return_counts=True)
    assert _guess("a", rows[:, 0], rows[:, 1], rows[:, 2], weight) == found


def guessed(own: np.ndarray, shown: np.ndarray, *held: np.ndarray) -> TurnedBack:
    found = most_turned_back([Exchanged(["a"], [own], [shown], held, np.ones(len(own), np.int64))])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("flipped", "severity", "undoes"),
    [(0.3, "none", False), (0.5, "none", False), (0.9, "serious", False), (0.99, "serious", True)],
)
def test_two_levels_that_most_records_trade(flipped: float, severity: str, undoes: bool) -> None:
    own = np.arange(2_000) % 2
    found = guessed(own, np.where(np.arange(2_000) < flipped * 2_000, 1 - own, own))
    assert found.verdict.severity == severity and found.undoes == undoes
    if severity == "serious":
        assert found.verdict.right == pytest.approx(flipped * 2_000) and found.verdict.named == 2_000


def test_values_that_were_drawn_without_regard_to_the_original_are_not_guessed() -> None:
    rng = np.random.default_rng(1)
    own, shown = rng.integers(0, 50, (2, 4_000))
    assert guessed(own, shown).verdict.severity == "none"
    assert guessed(own, shown, rng.integers(0, 400, 4_000)).verdict.severity == "none"


def test_partners_of_one_group_have_two_levels_where_all_have_three() -> None:
    group = np.arange(3_000) % 3
    own = (group + np.arange(3_000) // 3 % 2) % 3
    shown = 2 * group + 1 - own  # the other level of the group
    shown = np.where(own == group, (group + 1) % 3, group)
    assert guessed(own, shown).verdict.severity in ("none", "caution")
    found = guessed(own, shown, group)
    assert found.verdict.severity == "serious" and found.undoes and found.named == 3_000


def likeliest_by_definition(own: Sequence[float], shown: Sequence[float]) -> list[float]:
    """Record by record: the number of another record with the greatest density times frequency."""
    mean, centre = float(np.mean(own)), float(np.mean(shown))
    slope = sum((x - mean) * (y - centre) for x, y in zip(own, shown, strict=True)) / sum((x - mean) ** 2 for x in own)
    variance = float(np.mean([(y - centre - slope * (x - mean)) ** 2 for x, y in zip(own, shown, strict=True)]))
    guesses = []
    for i, y in enumerate(shown):
        others = Counter(own[k] for k in range(len(own)) if k != i)
        guesses.append(
            max(
                sorted(others),
                key=lambda x: np.log(others[x]) - (y - centre - slope * (x - mean)) ** 2 / (2 * variance),
            )
        )
    return guesses


@examples(50)
@given(st.lists(st.integers(0, 4), min_size=3, max_size=20).filter(lambda own: len(set(own)) > 1), st.integers(0, 99))
def test_the_likeliest_number_is_that_of_the_definition(own: list[int], seed: int) -> None:
    x = np.array(own, float)
    shown = x + np.random.default_rng(seed).normal(0, 0.5, len(x))
    levels, level, count = np.unique(x, return_inverse=True, return_counts=True)
    assert _likeliest(levels, level, count, shown).tolist() == likeliest_by_definition(x.tolist(), shown.tolist())


NUMBERS = {
    "counts": lambda rng, n: rng.integers(0, 20, n),
    "hundreds": lambda rng, n: 100 * rng.integers(10, 10_000, n),
    "cents": lambda rng, n: np.round(rng.gamma(2, 900, n), 2),
    "yes or no": lambda rng, n: rng.integers(0, 2, n),
    "few": lambda rng, n: rng.choice([1.5, 2.25, 7.0, 40.0], n),
    "rare": lambda rng, n: (rng.random(n) < 0.04) * 1,
    "benefit": lambda rng, n: (rng.random(n) < 0.05) * np.round(rng.gamma(2, 300, n)),
    "single precision": lambda rng, n: rng.normal(0, 1, n).astype(np.float32),
}


@pytest.mark.parametrize(
    ("kind", "c", "severity", "undoes"),
    [
        *((kind, "0.0000000000001", "serious", True) for kind in ("counts", "hundreds", "cents", "yes or no", "few")),
        ("single precision", "0.000000000000000001", "serious", True),
        ("counts", "0.0005", "serious", True),
        ("counts", "0.003", "serious", False),
        ("counts", "0.15", "caution", False),
        ("hundreds", "0.0001", "none", False),
        ("cents", "0.0001", "none", False),
        ("yes or no", "0.15", "serious", True),
        ("counts", "1", "none", False),
        ("few", "9", "none", False),
        ("benefit", "0.0000000000001", "serious", True),  # most are 0, and the others are all given back
        ("rare", "4", "none", False),  # nearly all are 0, whatever is released
    ],
)
def test_numbers_with_noise(kind: str, c: str, severity: str, undoes: bool) -> None:
    rng = np.random.default_rng(7)
    values = NUMBERS[kind](rng, 900)
    raw, attributes = data_of(a=2, b=4, c=3)
    pay = RawColumn("pay", pa.array(values), np.arange(900, dtype=np.int32))
    raw = RawTable({**raw.columns, "pay": pay}, 900, "test")
    plan = plan_of(attributes, "noise", ("0.1",), cols="pay", c=c)
    plan = replace(
        plan, data=replace(plan.data, carry=("pay",), numeric=("pay",)), measures=("distance_linkage", "mean_shift")
    )
    found = turned_back(remade(plan, raw).tables)
    assert found is not None and (found.verdict.severity, found.undoes) == (severity, undoes)
    assert found.attributes == "'pay'" and found.altered > (20 if kind in ("benefit", "rare") else 800)
    remarks: list[str] = []
    plan_problems(plan, raw, remarks.append)
    assert any("values of 'pay' right" in text and "Add more noise" in text for text in remarks) == (severity != "none")


def data_of(n: int = 900, **levels: int) -> tuple[RawTable, tuple[AttributePlan, ...]]:
    rng = np.random.default_rng(3)
    columns = {
        name: RawColumn(name, pa.array([f"{name}{k}" for k in range(many)]), rng.integers(0, many, n).astype(np.int32))
        for name, many in levels.items()
    }
    return RawTable(columns, n, "test"), tuple(map(AttributePlan, levels))


def plan_of(attributes: tuple[AttributePlan, ...], mechanism: str, rates: tuple[str, ...], **grid: str) -> Plan:
    mechanisms = (MechanismPlan.of(mechanism, {name: [text] for name, text in grid.items()}),)
    specs = ("a:S b:F",) if mechanism == "random_swap" else ()
    space = SpacePlan(specs=specs, rates=rates, replicates=2)
    return Plan(
        DataPlan(attributes),
        keys=("a",) if mechanism == "cgs" else tuple(one.name for one in attributes),
        mechanisms=mechanisms,
        measures=("small_cells", "hellinger"),
        space=space,
    )


WAYS = [
    ("random_swap", "0.9", {}, True),
    ("random_swap", "0.2", {}, False),
    ("random_swap", "0.9", {"lean": "1"}, True),
    ("pram", "0.1", {"vars": "a", "matrix": "0.1 0.9; 0.9 0.1"}, True),
    ("pram", "0.1", {"vars": "a", "matrix": "0.9 0.1; 0.1 0.9"}, False),
    ("pram", "0.1", {"vars": "c", "matrix": "0.02 0.49 0.49; 0.49 0.02 0.49; 0.49 0.49 0.02"}, True),
    ("pram", "0.1", {"vars": "a", "theta": "0.95"}, True),
    ("cgs", "0.1", {"strata": "a", "n_swap": "400", "mode": "RGS"}, True),
    ("cgs", "0.1", {"strata": "a", "n_swap": "40", "mode": "RGS"}, False),
    ("survey_swap", "0.1", {"swap": "a", "rate": "0.5"}, True),
    ("survey_swap", "0.1", {"swap": "a", "rate": "0.05"}, False),
]


def remade(plan: Plan, raw: RawTable) -> Remade:
    made = ready(raw, plan)
    spec = made.specs[0]
    return remake(made.data, made.question, spec, stream_of(KEY, spec, made.data, 1))


@pytest.mark.parametrize(("mechanism", "rate", "grid", "found"), WAYS)
def test_a_plan_and_its_release_say_it_and_others_do_not(
    mechanism: str, rate: str, grid: dict[str, str], found: bool
) -> None:
    raw, attributes = data_of(a=2, b=4, c=3)
    plan = plan_of(attributes, mechanism, (rate,), **grid)
    release = remade(plan, raw)
    guesses = turned_back(release.tables)
    assert guesses is not None and guesses.verdict.finds == found
    verdict = release_verdict(release, plan)
    assert verdict.finds or not found
    remarks: list[str] = []
    assert not plan_problems(plan, raw, remarks.append)
    told = [text for text in remarks if "original values" in text]
    assert bool(told) == found and tuple(told) == tuple(t for t in ready(raw, plan).remarks if "original values" in t)


def test_the_lowest_rate_that_can_be_turned_back_is_told() -> None:
    raw, attributes = data_of(a=2, b=4, c=3)
    plan = plan_of(attributes, "random_swap", ("0.1", "0.7", "0.9"))
    (told,) = ready(raw, plan).remarks
    assert "70 %" in told and "90 %" not in told.split(":")[0]


def test_of_several_tables_the_worst_counts() -> None:
    raw, attributes = data_of(a=2, b=4)
    data: Microdata = code(raw, Plan(DataPlan(attributes)))
    few, many = ((np.arange(900) < n) for n in (90, 880))
    tables = [
        ReleasedTable(data, replaced={0: np.where(mask, 1 - data.codes[0], data.codes[0])}) for mask in (few, many)
    ]
    found, alone = turned_back(tables), turned_back(tables[1:])
    assert found == alone and found is not None and found.verdict.severity == "serious"
    assert turned_back([ReleasedTable(data)]) is None
    assert replace(found.verdict, why="").kind == "method"
