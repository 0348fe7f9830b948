"""No release of any plan is the original unless it says so, and none says so that is not: by its rows, counted."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from engine.bundle.released_files import write_streamed
from engine.common.errors import EngineError, UsageError
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream
from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.measures import MEASURES, MeasureCall, call
from engine.mechanisms import MECHANISMS
from engine.mechanisms import mechanism as mechanism_of
from engine.mechanisms import names as mechanism_names
from engine.mechanisms.base import Drawn
from engine.models.record_release import RecordRelease
from engine.plan import AttributePlan, DataPlan, DecisionPlan, MechanismPlan, Plan, SpacePlan, plan_from_toml
from engine.plan.coding import code, tabulate
from engine.plan.entries import PublishPlan
from engine.plan.samples import open_source
from engine.release.reader_view import as_seen
from engine.release.records import ReleasedTable
from engine.release.scenarios import NoteKind, RunStatus
from engine.release.spec import ReleaseSpec
from engine.sweeps.adaptive import NONE_TO_START
from engine.sweeps.candidates import record_scenarios, setting_of
from engine.sweeps.evaluator import Evaluator, Outcome, Question
from engine.sweeps.groups import group_of
from engine.sweeps.realisations import ALTERED_SHARE, figure
from engine.sweeps.remake import Remade, released_columns, remake, remake_cells, stream_of
from engine.sweeps.sweep import Ready, open_sweep, plan_problems, ready
from engine.sweeps.workers import SettlingExecutor
from tests import every_mechanism
from tests.examples import examples

KEY = bytes(range(32))
PARAMETERS: dict[str, dict[str, str]] = {
    "random_swap": {},
    "rds": {"s": "3"},
    "dds": {"s": "3"},
    "maps": {"s": "3", "D": "2", "w0": "0.1"},
    "smike": {"s": "3", "D": "2", "n_mix": "1"},
    "pram": {"theta": "0.3"},
    "cgs": {"n_swap": "1"},
    "noise": {"c": "0.0001"},
    "cgs_noise": {"n_swap": "1", "c": "0.0001"},
    "trs": {"hierarchy": "a", "rate": "0.5"},
    "survey_swap": {"swap": "a", "rate": "0.3"},
}


def test_every_mechanism_is_tried() -> None:
    assert set(PARAMETERS) == set(mechanism_names())


@st.composite
def plans(draw: st.DrawFn, mechanism: str) -> tuple[Plan, RawTable]:
    """A plan of one mechanism on few small records, many of them alike."""
    n = draw(st.integers(4, 14))

    def column(name: str, values: pa.Array) -> RawColumn:
        return RawColumn(
            name, values, np.array(draw(st.lists(st.integers(0, len(values) - 1), min_size=n, max_size=n)), np.int32)
        )

    names = "abc"[: draw(st.integers(1, 3))]
    columns = [column(name, pa.array([f"{name}{k}" for k in range(draw(st.integers(2, 3)))])) for name in names]
    columns += [column("x", pa.array([1.0, 2.5, 4.0])), column("w", pa.array([1.0, 2.0]))]
    columns.append(column("u", pa.array(np.arange(6))))
    carry = tuple(draw(st.lists(st.sampled_from(["x"]), unique=True)))
    weight = draw(st.sampled_from([None, "w"]))
    unit = draw(st.sampled_from([None, "u"])) if mechanism != "trs" else "u"
    uses = {"weight": weight, "unit": unit}
    include = tuple(role for role, name in uses.items() if name and draw(st.booleans()))
    single = {name for name in (*carry, weight, unit) if name}
    data = DataPlan(
        tuple(AttributePlan(name) for name in names),
        weight=weight,
        unit=unit,
        carry=carry,
        drop=tuple(name for name in "xwu" if name not in single),
    )
    keys = tuple(draw(st.lists(st.sampled_from(names), min_size=1, unique=True)))
    numeric = carry or ("x",)
    parameters = {name: [text] for name, text in PARAMETERS[mechanism].items()}
    if mechanism == "survey_swap" and draw(st.booleans()):
        parameters["swap"] = ["+".join(names)]
    plan = Plan(
        data if not carry else replace(data, numeric=numeric),
        keys=tuple(name for name in names if name in keys),
        mechanisms=(MechanismPlan.of(mechanism, parameters),),
        measures=("small_cells", "unchanged_uniques", "hellinger"),
        space=SpacePlan(
            swap_sizes=(1,), rates=("0.2", "0.6"), replicates=2, rule=draw(st.sampled_from(["strict", "loose"]))
        ),
        publish=PublishPlan(include=include),
    )
    raw = RawTable({c.name: c for c in columns}, n, "test")
    if unit and mechanism == "trs" and draw(st.booleans()):  # where all of a household have one place
        places = raw.columns["a"]
        one = replace(places, codes=places.codes[np.unique(raw.columns["u"].codes, return_index=True)[1]][
            np.unique(raw.columns["u"].codes, return_inverse=True)[1]
        ])  # fmt: skip
        raw = replace(raw, columns={**raw.columns, "a": one})
    return plan, raw


def as_read(made: Remade, table: int, include: tuple[str, ...]) -> Counter[object]:
    """The rows of a released file; with numbers of households the households, each by its rows."""
    n, data = made.data.n_records, made.data
    new = {data.unit_column: data.units.of_record} if data.unit_column and data.units is not None else {}
    order = np.random.default_rng(1).permutation(n)
    columns = released_columns(made, table, order, include, new)
    numbers = columns.pop(data.unit_column).to_pylist() if data.unit_column in columns else None
    rows = [
        tuple(round(v, 1) if isinstance(v, float) else v for v in row)
        for row in zip(*(c.to_pylist() for c in columns.values()), strict=True)
    ]
    if numbers is None:
        return Counter(rows)
    members: dict[int, list[str]] = {}
    for number, row in zip(numbers, rows, strict=True):
        members.setdefault(number, []).append(repr(row))
    return Counter(tuple(sorted(listed)) for listed in members.values())


def releases(
    plan: Plan, raw: RawTable, replicates: int = 2
) -> Iterator[tuple[ReleaseSpec, Remade, np.ndarray, list[float]]]:
    """All runs of a plan, remade and as a sweep stores them, with the figures of the original; none where it is
    refused."""
    try:
        made = ready(raw, plan)
    except EngineError:
        return
    original = list(made.question.original().values())
    evaluator = Evaluator(made.question, KEY)
    for spec in made.specs:
        for replicate in range(1, replicates + 1):
            rows = evaluator.run(group_of(spec, made.data.table), [replicate]).rows
            remade = remake(made.data, made.question, spec, stream_of(KEY, spec, made.data, replicate))
            yield spec, remade, rows[0], original


def check(plan: Plan, raw: RawTable, replicates: int = 2) -> int:
    """Hold all runs of a plan against what is in their files; returns the number of runs."""
    include, n_runs = plan.publish.include, 0
    for spec, made, row, original in releases(plan, raw, replicates):
        n_runs += 1
        same = Remade(made.data, spec, (ReleasedTable(made.data),), RunStatus.OK, {}, bytes(32))
        before = as_read(same, 0, include)
        files = [as_read(made, d, include) for d in range(len(made.tables))]
        is_void = before in files
        assert made.status in ((RunStatus.NOOP, RunStatus.FAILED) if is_void else tuple(RunStatus)), spec
        assert is_void or made.status != RunStatus.NOOP, f"{spec} is called the original and is not"
        assert row[2] == made.status, spec
        if made.status == RunStatus.NOOP:
            assert row[3] == 0
            assert row[4:].tolist() == pytest.approx(original, nan_ok=True, abs=0), spec
        elif len(files) == 1 and "unit" not in include and not spec.by_roles:
            assert (row[3] > 0) == (not is_void), f"{spec} is called altered and is not"
    return n_runs


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", PARAMETERS)
def test_no_release_of_a_random_plan_is_the_original_unless_it_says_so(mechanism: str) -> None:
    seen = [0, 0]

    @examples(90)
    @given(plans(mechanism))
    def holds(made: tuple[Plan, RawTable]) -> None:
        runs = check(*made)
        seen[0] += runs
        seen[1] += runs == 0

    holds()
    assert seen[0] > 20, "hardly any plan was run"


def alike(households: bool, n: int = 40) -> tuple[Plan, RawTable]:
    """Persons in households of two, each household thrice or more: what stays of a record is never its own alone."""
    rng = np.random.default_rng(5)
    household = np.arange(n) // 2
    place = rng.integers(0, 3, n)[household if households else np.arange(n)]
    columns = {
        "a": RawColumn("a", pa.array(["p", "q", "r"]), place.astype(np.int32)),
        "b": RawColumn("b", pa.array(["f", "m"]), (np.arange(n) % 2).astype(np.int32)),
        "c": RawColumn("c", pa.array([f"k{k}" for k in range(n)]), (household % (n // 6)).astype(np.int32)),
        "u": RawColumn("u", pa.array(np.arange(n)), household.astype(np.int32)),
    }
    attributes = tuple(AttributePlan(name) for name in "abc")
    if households:
        return Plan(DataPlan(attributes, unit="u"), keys=("a", "b")), RawTable(columns, n, "test")
    return Plan(DataPlan(attributes, drop=("u",)), keys=("a",)), RawTable(columns, n, "test")


OF_PLACES = {
    "risky_left": "risky_left[hierarchy=a]",
    "l_diversity": "l_diversity[target=c]",
    "t_closeness": "t_closeness[target=c]",
    "correct_attribution": "correct_attribution[target=c]",
}
"""Measures that must be told of what."""


def risks(plan: Plan, data: Microdata) -> list[MeasureCall]:
    """Every measure of risk that these data have a figure of."""
    calls = []
    for name in MEASURES:
        one = call(OF_PLACES.get(name, name))
        if one.measure.kind != "risk":
            continue
        try:
            Question(data.table, (one,), plan, data).original()
        except EngineError as error:
            assert name.startswith("external") or plan.data.unit is None or "household" not in name, f"{name}: {error}"
        else:
            calls.append(one)
    return calls


EXCHANGES = ["rds", "dds", "cgs", "survey_swap", "trs"]


@pytest.mark.parametrize("mechanism", EXCHANGES)
def test_a_record_that_trades_with_its_like_is_unaltered_in_every_measure_of_risk(
    mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who draws only records (households) that are alike in all that stays draws nothing: not in one figure."""
    plan, raw = alike(mechanism == "trs")
    plan = replace(plan, mechanisms=(MechanismPlan.of(mechanism, {k: [v] for k, v in PARAMETERS[mechanism].items()}),))
    data = code(raw, plan)
    kind = data.codes[2] * 2 + (0 if mechanism == "trs" else data.codes[1])
    source = np.arange(data.n_records)
    for number in np.unique(kind):
        like = np.flatnonzero(kind == number)
        source[like] = np.roll(like, 2 if mechanism == "trs" else 1)
    place = data.codes[0]
    assert (place[source] != place).any(), "some are in another key cell than before"
    made = mechanism_of(mechanism)
    everyone = np.ones((1, data.n_records), bool)
    drawn = Drawn([ReleasedTable(data, source, [0])], RunStatus.OK, everyone, {})
    monkeypatch.setitem(MECHANISMS._registered, mechanism, replace(made, draw=lambda *_: drawn))
    calls = risks(plan, data)
    assert len(calls) > 20
    question = Question(data.table, tuple(calls), plan, data)
    spec = record_scenarios(plan.mechanisms[0], plan, data)[0]
    row = Evaluator(question, KEY).run(group_of(spec, data.table), [1]).rows[0]
    assert row[2] == RunStatus.NOOP and row[3] == 0
    np.testing.assert_array_equal(row[4:], list(question.original().values()))
    # and beside records that did change, these count as unaltered all the same
    far = np.array([0, int(np.flatnonzero((data.codes[2] != data.codes[2][0]) & (place != place[0]))[0])])
    if mechanism != "trs":
        alone = np.arange(data.n_records)
        alone[far] = far[::-1]
        original = ReleasedTable(data)
        seen = [as_seen(ReleasedTable(data, one, [0]), original, ()) for one in (alone, alone[source])]
        assert seen[0].changed.sum() == seen[1].changed.sum() == 2
        for one in calls:
            if not one.measure.on_records:
                few, many = (figure(one, RecordRelease(original, [table], plan))[0] for table in seen)
                assert few == many or (few != few and many != many), str(one)


REQUIRED = {"trs": {"rate": ["0.1"]}, "survey_swap": {"rate": ["0.1"]}, "cgs": {"n_swap": ["1"]}}
"""What has no default, or by default does nothing."""


UNABLE = {
    *product(["czech", "fair", "census"], ["maps", "smike"], [None]),
    *product(["fair", "census"], ["cgs_noise"], [None]),  # too many strata
    *product(["czech", "fair", "census"], ["rds", "dds", "cgs"], [None]),  # nothing stays, or too many strata
    *product(["czech", "fair"], ["trs"], [None, 2]),  # no households
}
"""Samples that a mechanism refuses, with all attributes as keys (None) or two."""


def with_pay(raw: RawTable, plan: Plan) -> tuple[RawTable, Plan]:
    """A sample with whole numbers that are carried."""
    values = np.random.default_rng(3).integers(0, 400, raw.n_records)
    pay = RawColumn("pay", pa.array(np.arange(400)), values.astype(np.int32))
    data = replace(plan.data, carry=(*plan.data.carry, "pay"), numeric=("pay",))
    return replace(raw, columns={**raw.columns, "pay": pay}), replace(plan, data=data)


@pytest.mark.slow
@pytest.mark.parametrize("n_keys", [None, 2])
@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize("source", ["czech", "fair", "census"])
def test_no_streamed_file_of_a_sample_is_the_original(
    source: str, carried: bool, n_keys: int | None, tmp_path: Path
) -> None:
    raw, plan = open_source(source)
    assert isinstance(raw, RawTable) and plan is not None
    dropped = tuple(name for name in raw.names if name in (*plan.data.unit_columns, *plan.data.drop))
    plan = replace(plan, publish=PublishPlan(), decision=DecisionPlan())
    plan = replace(plan, data=replace(plan.data, unit=None, drop=dropped))
    raw, plan = with_pay(raw, plan) if carried else (raw, plan)
    columns = {name: pa.DictionaryArray.from_arrays(pa.array(c.codes), c.values) for name, c in raw.columns.items()}
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    space = SpacePlan(swap_sizes=(1,), rates=("0.01", "1"), replicates=1)
    plan = replace(
        plan, edits=(), keys=plan.names[:n_keys], mechanisms=(), measures=("small_cells", "hellinger"), space=space
    )
    plan = replace(plan, swap=plan.names[:1])
    made = ready(tabulate(open_stream(tmp_path / "a.parquet"), plan), plan)
    for number, spec in enumerate(made.specs):
        row = Evaluator(made.question, KEY).run(group_of(spec, made.data.table), [1]).rows[0]
        cells = remake_cells(made.data, made.question, spec, stream_of(KEY, spec, made.data, 1))
        (folder := tmp_path / str(number)).mkdir()
        write_streamed(folder, cells, plan, (), ("parquet",), bytes(32))
        released = parquet.read_table(folder / "release.parquet")
        before = parquet.read_table(tmp_path / "a.parquet", columns=released.column_names)
        rows = [
            Counter(zip(*(c.cast(pa.string()).to_pylist() for c in t.columns), strict=True)) for t in (before, released)
        ]
        assert (row[2] == RunStatus.NOOP) == (rows[0] == rows[1]), spec
        assert (row[3] > 0) == (rows[0] != rows[1]), spec
        assert row[3] >= (rows[1] - rows[0]).total(), spec


@pytest.mark.slow
@pytest.mark.parametrize("n_keys", [None, 2])
@pytest.mark.parametrize("mechanism", PARAMETERS)
@pytest.mark.parametrize("source", ["czech", "fair", "census"])
def test_no_file_of_a_sample_is_the_original(source: str, mechanism: str, n_keys: int | None) -> None:
    raw, plan = open_source(source)
    assert isinstance(raw, RawTable) and plan is not None
    parameters = dict(REQUIRED.get(mechanism, {}))
    if "noise" in mechanism:
        raw, plan = with_pay(raw, plan)
    if mechanism == "trs":
        parameters["hierarchy"] = [plan.names[0]]
    if mechanism == "survey_swap":  # persons do not leave their households
        parameters["swap"] = [plan.names[-1]]
    plan = replace(
        plan,
        edits=(),
        keys=plan.names[-2:] if n_keys and mechanism == "survey_swap" else plan.names[:n_keys],
        mechanisms=(MechanismPlan.of(mechanism, parameters),),
        measures=("small_cells", "mean_shift" if "noise" in mechanism else "hellinger"),
        space=SpacePlan(swap_sizes=(1,), rates=("0.1",), replicates=1),
        decision=DecisionPlan(),
    )
    runs = check(plan, raw, 1)
    assert (runs == 0) == ((source, mechanism, n_keys) in UNABLE)


def test_workers_without_records_leave_open_what_is_marked_where_these_are() -> None:
    """Exchanges cancel in the cells: with a carried column only the records say whether they cancel in the file."""
    codes = {"a": [0, 1] * 4, "b": [0, 1, 1, 0] * 2, "x": [0, 0, 0, 0, 0, 0, 1, 1]}
    columns = {
        name: RawColumn(name, pa.array([f"{name}{k}" for k in range(2)]), np.array(own, np.int32))
        for name, own in codes.items()
    }
    plan = Plan(
        DataPlan((AttributePlan("a"), AttributePlan("b")), carry=("x",)),
        measures=("small_cells", "hellinger"),
        space=SpacePlan(swap_sizes=(1,), rates=("0.5", "1"), replicates=40),
    )
    made = ready(RawTable(columns, 8, "test"), plan)
    asked, here = pickle.loads(pickle.dumps(made.question)), Evaluator(made.question, KEY)
    statuses = set()
    for spec in made.specs:
        task = group_of(spec, made.data.table), range(1, 41)
        open_, wanted = Evaluator(asked, KEY).run(*task), here.run(*task).rows
        assert asked.data is None and open_.unclear
        (settled,) = SettlingExecutor(Fixed(open_), made.question).run([])
        np.testing.assert_array_equal(settled.rows, wanted)
        assert not settled.unclear
        statuses |= {int(wanted[at, 2]) for at, *_ in open_.unclear}
    assert statuses == {RunStatus.OK, RunStatus.NOOP}, "some cancel in the file, some do not"


@pytest.mark.parametrize(
    ("mechanism", "parameters", "void"),
    [
        ("survey_swap", {"swap": "a", "boundary": "b+c"}, True),
        ("survey_swap", {"swap": "a", "linked": "c", "boundary": "b"}, True),
        ("survey_swap", {"swap": "a+b+c"}, True),
        ("survey_swap", {"swap": "a", "boundary": "b"}, False),
        ("trs", {"hierarchy": "a", "similar": "b+c"}, True),
        ("trs", {"hierarchy": "a", "similar": "b+c|c+b"}, True),
        ("trs", {"hierarchy": "a", "similar": "b+c|b"}, False),
        ("trs", {"hierarchy": "a", "similar": "b"}, False),
    ],
)
@pytest.mark.parametrize("carried", [False, True])
def test_partners_that_are_alike_in_all_else_are_refused_before_a_draw(
    mechanism: str, parameters: dict[str, str], void: bool, carried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Households of one person; a carried column stays with its record, so that something changes."""
    rng = np.random.default_rng(1)
    columns = {
        name: RawColumn(name, pa.array([f"{name}{k}" for k in range(3)]), rng.integers(0, 3, 60).astype(np.int32))
        for name in "abcx"
    }
    columns["u"] = RawColumn("u", pa.array(np.arange(60)), np.arange(60, dtype=np.int32))
    raw = RawTable(columns, 60, "test")
    data = DataPlan(tuple(map(AttributePlan, "abc")), unit="u", **{"carry" if carried else "drop": ("x",)})  # type: ignore[arg-type]
    made = {"rate": ["0.3"], **{name: [text] for name, text in parameters.items()}}
    plan = Plan(data, keys=("a", "b"), mechanisms=(MechanismPlan.of(mechanism, made),), measures=("small_cells",))
    if void and not carried:
        never = replace(mechanism_of(mechanism), draw=lambda *_: pytest.fail("drawn"))
        monkeypatch.setitem(MECHANISMS._registered, mechanism, never)
        (problem,) = plan_problems(plan, raw)
        assert "so that every release is the original" in problem
        assert all(named in problem for named in ("boundary" if "boundary" in parameters else "", mechanism))
        with pytest.raises(UsageError, match="so that every release is the original"):
            ready(raw, plan)
    else:
        assert "is the original" not in str(plan_problems(plan, raw))


LIKE = MechanismPlan.of("random_swap", {"similar": ["a+b+c"], "similarity": ["2"]})
LESS = MechanismPlan.of("random_swap", {"similar": ["a+b+c"], "similarity": ["1"]})
HALF = MechanismPlan.of("random_swap", {"similar": ["b+c"], "similarity": ["1", "2"]})


@pytest.mark.parametrize("way", ["written", "fixed", "searched"])
@pytest.mark.parametrize(
    ("fixed", "mechanism", "carried", "void"),
    [
        ("bc", None, False, True),
        ("bc", None, True, False),
        ("b", None, False, False),
        ("", LIKE, False, True),
        ("b", LIKE, False, True),
        ("", LIKE, True, False),
        ("", LESS, False, False),
        ("b", HALF, False, False),
    ],
)
def test_a_random_swap_between_equal_records_is_refused_under_the_loose_rule_too(
    way: str, fixed: str, mechanism: MechanismPlan | None, carried: bool, void: bool
) -> None:
    rng = np.random.default_rng(1)
    columns = {
        name: RawColumn(name, pa.array([f"{name}{k}" for k in range(3)]), rng.integers(0, 3, 60).astype(np.int32))
        for name in "abcx"
    }
    raw = RawTable(columns, 60, "test")
    specs = ("a:S " + " ".join(f"{name}:F" for name in fixed),) if way == "written" else ()
    fix = () if way == "written" else tuple(fixed)
    space = SpacePlan(
        rates=("0.2",), replicates=2, rule="loose", specs=specs, fix=fix, swap_sizes=() if specs else (1,)
    )
    if way == "searched":
        space = replace(space, search=True, screen=2, swap_sizes=(), specs=())
    data = DataPlan(tuple(map(AttributePlan, "abc")), **{"carry" if carried else "drop": ("x",)})  # type: ignore[arg-type]
    mechanisms = () if mechanism is None else (mechanism,)
    plan = Plan(
        data, swap=("a",), keys=("a", "b"), measures=("small_cells", "hellinger"), space=space, mechanisms=mechanisms
    )
    problems = plan_problems(plan, raw)
    assert any(text in str(problems) for text in ("every release is the original", NONE_TO_START)) == void, problems
    if void and way != "searched":
        with pytest.raises(UsageError, match="every release is the original"):
            ready(raw, plan)


@dataclass
class Fixed:
    """An executor with one outcome."""

    outcome: Outcome
    workers: int = 1

    def run(self, batches: object) -> Iterator[Outcome]:
        return iter([self.outcome._replace(rows=self.outcome.rows.copy())])


@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize(
    ("mechanism", "parameters"),
    [
        ("random_swap", {}),
        ("random_swap", {"lean": ["1"]}),
        ("survey_swap", {"swap": ["a"], "rate": ["0.4"]}),
        ("pram", {"vars": ["a"], "matrix": ["0.2 0.8; 0.8 0.2"]}),
    ],
)
def test_runs_whose_exchanges_cancel_each_other_say_how_many_records_are_altered(
    mechanism: str, parameters: dict[str, list[str]], carried: bool
) -> None:
    """Two attributes of two levels: most exchanges cancel, unless a carried column tells records apart."""
    rng = np.random.default_rng(2)
    columns = {
        name: RawColumn(name, pa.array([f"{name}{k}" for k in range(2)]), rng.integers(0, 2, 400).astype(np.int32))
        for name in "ab"
    }
    columns["x"] = RawColumn("x", pa.array(np.arange(400.0)), np.arange(400, dtype=np.int32))
    data = DataPlan(tuple(map(AttributePlan, "ab")), **{"carry" if carried else "drop": ("x",)})  # type: ignore[arg-type]
    mechanisms = (MechanismPlan.of(mechanism, parameters),)
    space = SpacePlan(swap_sizes=(1,), rates=("0.8",), replicates=2)
    plan = Plan(data, keys=("a", "b"), mechanisms=mechanisms, measures=("small_cells", "hellinger"), space=space)
    made = ready(RawTable(columns, 400, "test"), plan)
    spec = made.specs[0]
    outcome = Evaluator(made.question, KEY).run(group_of(spec, made.data.table), [1, 2])
    told = [
        json.loads(note.text) for note in outcome.notes if note.kind is NoteKind.DIAGNOSTICS and note.replicate == 1
    ]
    shares = [run[ALTERED_SHARE] for run in told if ALTERED_SHARE in run]
    assert len(shares) == (not carried) and all(run["warning"] for run in told if ALTERED_SHARE in run)
    if shares:
        remade = realised(made, spec)
        before, after = (as_read(one, 0, ()) for one in (replace(remade, tables=(ReleasedTable(made.data),)), remade))
        assert shares[0] == pytest.approx((after - before).total() / touched(made, spec), rel=1e-9)
        assert shares[0] < 0.5


def realised(made: Ready, spec: ReleaseSpec) -> Remade:
    return remake(made.data, made.question, spec, stream_of(KEY, spec, made.data, 1))


def touched(made: Ready, spec: ReleaseSpec) -> int:
    """The records that take part in the first run."""
    setting, one = setting_of(spec, made.question.plan, made.data), mechanism_of(spec.mechanism)
    return int(one.draw(one.fitted(setting), setting, one.stream(KEY, spec, made.data.table, 1)).touched.sum())


@pytest.mark.parametrize("lean", ["0", "1"])
def test_a_random_swap_of_everybody_that_brings_back_the_rows_is_the_original(lean: str) -> None:
    """Of four equal parts each pair of opposite corners becomes the other pair."""
    corners = {"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5}
    columns = {name: RawColumn(name, pa.array([0, 1]), np.array(codes, np.int32)) for name, codes in corners.items()}
    mechanisms = (MechanismPlan.of("random_swap", {"lean": [lean]}),)
    space, measures = SpacePlan(swap_sizes=(1,), rates=("1",), replicates=2), ("small_cells", "hellinger")
    plan = Plan(
        DataPlan((AttributePlan("a"), AttributePlan("b"))), mechanisms=mechanisms, measures=measures, space=space
    )
    made = ready(RawTable(columns, 20, "test"), plan)
    row = Evaluator(made.question, KEY).run(group_of(made.specs[0], made.data.table), [1]).rows[0]
    assert row[2] == RunStatus.NOOP and row[3] == 0 and row[4:].tolist() == list(made.question.original().values())


NOTHING = {
    "random_swap": "",
    "rds": 's = 30\nrate = "0"',
    "dds": "s = 1",
    "pram": 'theta = "0"',
    "maps": "s = 1\nD = 2",
    "smike": "s = 1\nn_mix = 1\nD = 2",
    "cgs": 'strata = "sex"\nn_swap = 0',
    "noise": 'c = "0"',
    "cgs_noise": 'strata = "sex"\nn_swap = 0\nc = "0"',
    "trs": 'rate = "0"\nhierarchy = "region"\nsimilar = "size"\nk = 0',
    "survey_swap": 'rate = "0"\nswap = "sex"\nboundary = "work"',
}
"""A grid of each mechanism by which it changes nothing."""


@pytest.mark.parametrize("searched", [False, True])
@pytest.mark.parametrize("names", [*((name,) for name in NOTHING), tuple(NOTHING)], ids="+".join)
def test_a_plan_of_which_no_candidate_changes_a_record_stops_before_the_sweep(
    names: tuple[str, ...], searched: bool, tmp_path: Path
) -> None:
    raw = read_table(every_mechanism.write(tmp_path))
    text = every_mechanism.plan_text("random_swap").partition("[[mechanism]]")[0]
    text = text.replace('rates = ["0.1", "0.2"]', 'rates = ["0", "0.001"]') + (
        '[[mechanism]]\nname = "{}"\n{}\n' * len(names)
    ).format(*(part for name in names for part in (name, NOTHING[name])))
    plan = plan_from_toml(text)
    if searched:
        plan = replace(plan, space=replace(plan.space, search=True, swap_sizes=(), screen=2))
    (problem,) = plan_problems(plan, raw)
    assert problem.startswith("every release is the original: ")
    for target in (None, tmp_path / "s.study"):
        with pytest.raises(UsageError, match="every release is the original"):
            open_sweep(raw, plan, target)
    assert [*tmp_path.iterdir()] == [tmp_path / "people.csv"], "neither a study nor a key"
    more = replace(plan, mechanisms=(*plan.mechanisms, MechanismPlan.of("pram", {"theta": ["0.5"]})))
    assert "every release is the original" not in str(plan_problems(more, raw)), "one candidate changes records"
