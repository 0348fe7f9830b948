"""What a reader of the released file recognises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.bundle import export
from engine.bundle.readers import AttackSucceeded
from engine.data.io.readers import read_table
from engine.data.microdata import Microdata, RawTable
from engine.plan import Plan, SpacePlan, dependencies, plan_from_toml
from engine.plan.coding import code
from engine.plan.dependencies import decided_among
from engine.plan.samples import load
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.report.build_findings import findings
from engine.report.facts import MISFITS
from engine.study.study import Study
from engine.sweeps.evaluator import question_of
from engine.sweeps.reader_attacks import Misfit, Recode, misfits, released_recodes
from engine.sweeps.remake import Remade, remake, stream_of
from engine.sweeps.sweep import sweep
from engine.sweeps.warnings import _random_swap_may_part, carried_identifiers, loose_recodes, release_warnings
from tests.engine.bundle.sources import export_source
from tests.engine.household_survey import approve
from tests.engine.recoded import BLOCK, apart, survey
from tests.small_tables import KEY, Small

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


@pytest.fixture(scope="module")
def recoded(tmp_path_factory: pytest.TempPathFactory) -> RawTable:
    return survey(tmp_path_factory.mktemp("ages"))


def _released(data: Microdata, source: np.ndarray, *moved: str) -> Remade:
    roles = "".join("S" if name in moved else "U" for name in data.domain.names)
    spec = ReleaseSpec(AttributeSpec(data.domain.names, roles), "0.05", "strict")
    return Remade(data, spec, (ReleasedTable(data, source, data.domain.indices(moved)),), RunStatus.OK, {}, bytes(32))


def test_a_recode_of_which_one_side_may_be_swapped_is_named(recoded: RawTable) -> None:
    plan = apart()
    (warning,) = loose_recodes(code(recoded, plan), plan)
    assert warning.pairs == (("AGE", "AGEGRP"),) and warning.refused
    assert str(warning) == (
        "'AGE' decides 'AGEGRP' in every record, and one may be changed without the other: whoever recomputes the one "
        "from the other finds the altered records or undoes the swap, and a public bundle is refused where that is so; "
        "let them move as one block (accept the suggestion under Data, or name both in the columns of an attribute), "
        "or drop one"
    )
    assert release_warnings(code(recoded, plan), plan) == [warning]
    assert loose_recodes(code(recoded, plan), plan, dependencies(recoded)) == [warning], "an earlier look says the same"


@pytest.mark.parametrize(
    ("space", "named"),
    [
        ("swap_sizes = [2]", True),
        ("all_specs = true", True),
        ('swap_sizes = [2]\nfix = ["SEX", "TOWN"]', False),
        ('swap_sizes = [1]\nfix = ["AGE", "AGEGRP"]', False),
        ('swap_sizes = [1]\nfix = ["AGEGRP"]', False),
        ('swap_sizes = [1]\nchange = ["AGE", "AGEGRP"]', False),
        ('swap_sizes = [1]\nchange = ["AGE"]', True),
        ('specs = ["AGE:S AGEGRP:S", "SEX:S"]', False),
        ('specs = ["AGEGRP:S SEX:S"]', True),
        ('specs = ["AGE:S AGEGRP:F"]', False),
        ('swap_sizes = [1]\n[roles]\nswap = ["SEX", "TOWN"]', False),
    ],
)
def test_only_what_may_really_come_apart_is_named(recoded: RawTable, space: str, named: bool) -> None:
    space, roles = space.partition("\n[roles]")[::2]
    plan = apart("[roles]" + roles if roles else "", space)
    assert bool(loose_recodes(code(recoded, plan), plan)) == named


def test_a_block_is_safe_and_so_is_what_is_dropped_or_carried_as_one(recoded: RawTable) -> None:
    plan = plan_from_toml(BLOCK)
    assert loose_recodes(code(recoded, plan), plan) == []
    for entry, named in (
        ('drop = ["AGEGRP"]', False),
        ('carry = ["AGEGRP"]', True),
        ('carry = ["AGE", "AGEGRP"]', False),
    ):
        gone = [name for name in ("AGE", "AGEGRP") if f'"{name}"' in entry]
        text = f"[data]\n{entry}\n" + "".join(
            f'[[attribute]]\nname = "{name}"\n' for name in ("AGE", "AGEGRP", "SEX", "TOWN") if name not in gone
        )
        plan = plan_from_toml(text)
        assert bool(loose_recodes(code(recoded, plan), plan)) == named, entry


@pytest.mark.parametrize(("mechanism", "named"), [("pram", True), ("rds", False)])
def test_methods_that_move_all_keys_as_one_part_no_keys(recoded: RawTable, mechanism: str, named: bool) -> None:
    plan = apart(f'[[mechanism]]\nname = "{mechanism}"\n')
    assert bool(loose_recodes(code(recoded, plan), plan)) == named
    plan = replace(plan, keys=("AGEGRP",))
    assert loose_recodes(code(recoded, plan), plan), "a key that another column decides"


@pytest.mark.parametrize(("strata", "named"), [("AGEGRP", True), ("AGE+AGEGRP", False)])
def test_group_swapping_moves_its_strata_and_not_the_keys(recoded: RawTable, strata: str, named: bool) -> None:
    plan = apart(f'[[mechanism]]\nname = "cgs"\nstrata = "{strata}"\nn_swap = 5\n')
    assert bool(loose_recodes(code(recoded, plan), plan)) == named


def test_columns_of_the_same_information_stand_for_each_other(tmp_path: Path) -> None:
    ages = [20 + i % 40 for i in range(1600)]
    lines = [f"{a},{a // 10},{'abcdef'[a // 10]},{i % 3}" for i, a in enumerate(ages)]
    (tmp_path / "a.csv").write_text("age,group,letter,z\n" + "\n".join(lines) + "\n")
    recoded = read_table(tmp_path / "a.csv")
    pairs = {("age", "group"), ("age", "letter"), ("group", "letter"), ("letter", "group")}
    assert set(decided_among(recoded, set(recoded.names))) == pairs
    assert set(decided_among(recoded, {"age", "letter"})) == {("age", "letter")}
    assert set(decided_among(recoded, {"age", "letter"}, dependencies(recoded))) == {("age", "letter")}


def test_a_gate_of_two_answers_is_worked_out_from_what_is_skipped(tmp_path: Path) -> None:
    """Who works is seen from the hours; with a third answer the hours no longer tell which."""
    rng = np.random.default_rng(4)
    works = rng.integers(0, 2, 800)
    hours = np.where(works == 0, -1, rng.integers(1, 9, 800) * 5)
    for third, found in ((False, {("hours", "works")}), (True, set())):
        shown = np.where((works == 0) & (rng.random(800) < 0.3), 9, works) if third else works
        lines = "\n".join(f"{w},{h},{z}" for w, h, z in zip(shown, hours, rng.integers(0, 3, 800), strict=True))
        (tmp_path / "w.csv").write_text(f"works,hours,z\n{lines}\n")
        recoded = read_table(tmp_path / "w.csv")
        assert dependencies(recoded).skips and not dependencies(recoded).recodes
        assert set(decided_among(recoded, set(recoded.names))) == found


def test_in_a_small_file_a_recode_may_be_an_accident(tmp_path: Path) -> None:
    plan = apart()
    assert loose_recodes(code(survey(tmp_path, 60), plan), plan) == []


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), pairs=st.integers(0, 200))
def test_contradictions_are_counted_as_in_the_released_rows(recoded: RawTable, seed: int, pairs: int) -> None:
    data = code(recoded, apart())
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(data.n_records)[: 2 * pairs].reshape(2, -1)
    source = np.arange(data.n_records)
    source[chosen[0]], source[chosen[1]] = chosen[1], chosen[0]
    age, group = (
        np.array(recoded.columns[name].values.to_pylist()).astype(int)[recoded.columns[name].codes]
        for name in recoded.names[:2]
    )
    for moved, ages, groups in (("AGEGRP", age, group[source]), ("AGE", age[source], group)):
        wrong = int((ages // 10 != groups).sum())
        assert released_recodes(_released(data, source, moved)) == [
            Recode("AGE", "AGEGRP", wrong, moved == "AGEGRP" and wrong > 0)
        ]
    assert [one.broken for one in released_recodes(_released(data, source, "AGE", "AGEGRP"))] == [0]
    assert [one.broken for one in released_recodes(_released(data, source, "SEX"))] == [0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["czech", "fair", "nces", "survey", "census"])
def test_no_sample_has_a_recode_that_may_come_apart(name: str) -> None:
    recoded, plan = load(name)
    data = code(recoded, plan)
    assert loose_recodes(data, plan) == [] and carried_identifiers(data) == []


def test_a_column_that_tells_records_apart_is_known_from_the_start(tmp_path: Path) -> None:
    recoded = survey(tmp_path, 200, more="INCOME")
    for plan in (
        apart('[data]\ncarry = ["INCOME"]\n'),
        apart('[[attribute]]\nname = "class"\ncolumns = ["INCOME"]\ncut = [500]\n'),
    ):
        (warning,) = carried_identifiers(code(recoded, plan))
        assert (warning.column, warning.n_values, warning.n_records, warning.refused) == ("INCOME", 200, 200, True)
        how = "is carried and" if warning.carried else "belongs to an attribute and"
        assert str(warning) == (
            f"column 'INCOME' {how} differs in 200 of 200 records: released as it is, it may identify them, and a "
            "public bundle with it is refused; drop it, or put classes of it into the file in its place, or declare it "
            "as the id only if it numbers the records"
        )
    plan = apart('[data]\ndrop = ["INCOME"]\n')
    assert carried_identifiers(code(recoded, plan)) == []


@pytest.mark.slow
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_specs_that_are_written_out_part_what_one_of_them_parts(data: st.DataObject) -> None:
    small = Small(((0, 0, 0), (1, 1, 1)), (2, 2, 2))
    texts = data.draw(st.lists(st.text("SFCU", min_size=3, max_size=3), min_size=1, max_size=4, unique=True))
    written = [str(small.spec(text)) for text in texts if text != "UUU"]
    plan = small.plan(space=SpacePlan(specs=tuple(written) or ("A:S",)))
    specs = [AttributeSpec.parse(text, plan.names) for text in plan.space.specs]
    first, second = (data.draw(st.sampled_from([*plan.names, None])) for _ in range(2))
    binding = data.draw(st.sets(st.sampled_from(plan.names)))
    expected = any(
        (first in spec.names_having("S")) != (second in spec.names_having("S"))
        and binding.isdisjoint(spec.names_having("F"))
        for spec in specs
    )
    assert _random_swap_may_part(plan, first, second, binding) == expected
