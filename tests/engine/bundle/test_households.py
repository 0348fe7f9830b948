"""Releases of persons in households, looked at in the files that were written, and household files that follow."""

from __future__ import annotations

import csv
import json
import re
import shutil
import zipfile
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pyreadstat
import pytest
from pyarrow import parquet

from engine.bundle import export
from engine.bundle.apply import apply
from engine.bundle.leaks import scan, search_of
from engine.bundle.readers import TIERS, AttackSucceeded, Refused, Tier
from engine.bundle.replay import replay
from engine.bundle.verify import verify
from engine.cli.main import main
from engine.common.errors import UsageError
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import plan_from_toml
from engine.study.study import Study
from tests import intruder
from tests.engine.bundle.sources import export_source
from tests.engine.household_survey import approve, few_guesses, swept
from tests.households import CENSUS_PLAN, census_files

pytestmark = pytest.mark.slow  # whole bundles are made

FORMATS = ("csv", "parquet", "sav")
Row = dict[str, str]


def rows(path: Path) -> list[Row]:
    """The records of a released file, every value as text."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    if path.suffix == ".parquet":
        records = parquet.read_table(path).to_pylist()
    else:
        records = pyreadstat.read_sav(path)[0].to_dict("records")
    return [{name: as_text(value) for name, value in record.items()} for record in records]


def as_text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def by_household(persons: Iterable[Row]) -> dict[str, list[Row]]:
    households: dict[str, list[Row]] = {}
    for person in persons:
        households.setdefault(person["hid"], []).append(person)
    return households


def people(members: Iterable[Row]) -> tuple[object, ...]:
    """All that a household's members are, but for where they live and how they are numbered."""
    return tuple(sorted(tuple(m[name] for name in ("hsize", "tenure", "rent", "sex", "age")) for m in members))


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RawTable]:
    """The folder of an approved study and of its bundles, and the persons."""
    folder = tmp_path_factory.mktemp("census")
    persons, _ = census_files(folder)
    raw = read_table(persons)
    swept(raw, plan_from_toml(CENSUS_PLAN), folder / "census.study")
    with pytest.MonkeyPatch.context() as patched, Study.open(folder / "census.study") as study:
        few_guesses(patched)
        approve(study, raw, study.scenarios[0].label)
        export(study, raw, None, folder / "bundles", tier="all", formats=FORMATS)
    return folder, raw


@pytest.fixture(scope="module")
def before(census) -> list[Row]:
    return rows(census[0] / "persons.csv")


@pytest.fixture(scope="module", params=FORMATS)
def released(census, request: pytest.FixtureRequest) -> list[Row]:
    return rows(census[0] / "bundles" / "public" / f"release.{request.param}")


def test_households_leave_whole_with_one_place_for_all_members(before: list[Row], released: list[Row]) -> None:
    households = by_household(released)
    assert len(households) == 240 and len(released) == len(before)
    assert all(len({(m["region"], m["town"]) for m in members}) == 1 for members in households.values())
    assert all(len(members) == int(members[0]["hsize"]) for members in households.values())
    assert Counter(map(people, households.values())) == Counter(map(people, by_household(before).values()))


def test_some_households_live_elsewhere(before: list[Row], released: list[Row]) -> None:
    def places(persons: list[Row]) -> Counter[object]:
        return Counter((people(members), members[0]["town"]) for members in by_household(persons).values())

    moved = (places(before) - places(released)).total()
    assert 20 <= moved <= 150


def test_an_intruder_with_tables_of_places_finds_nothing_that_the_attack_did_not_say(
    census, before: list[Row], released: list[Row]
) -> None:
    told = json.loads(
        (census[0] / "bundles" / "analyst" / "internal" / "self-attack.json").read_text(encoding="utf-8")
    )["units"]
    others = ["sex", "age", "tenure", "hsize", "rent"]
    columns = [{name: [row[name] for row in rows] for name in ("town", "hid", *others)} for rows in (before, released)]
    guesses = intruder.attack(columns[1], intruder.publish(columns[0], "town", others), "town", "hid")
    lived = {(people(members), members[0]["town"]) for members in by_household(before).values()}
    homes = by_household(released)
    moved = {home for home, m in homes.items() if (people(m), m[0]["town"]) not in lived}
    found = intruder.auc(guesses.excess, moved)
    assert told["of"] == "households" and told["n"] == 240 and told["altered"] == len(moved)
    assert 0.7 < found <= told["auc"] + 0.03
    right = dict(map(tuple, told["named"]))
    assert 0.3 < intruder.precision(guesses.excess, moved, 50) <= right[50] / 50 + 0.05
    assert guesses.certain <= moved and 0 < len(guesses.certain) <= told["certain"]
    assert told["telling"] and told["severity"] == "serious" and "households" in told["why"]


def test_counts_by_area_stay_where_that_is_promised(before: list[Row], released: list[Row]) -> None:
    for area in ("region", "town"):
        for kept in (("hsize",), ()):
            names = (area, *kept)
            assert _table(before, names) == _table(released, names), "persons"
            assert _table(_heads(before), names) == _table(_heads(released), names), "households"
    everything = ("hsize", "tenure", "sex", "age")  # without geography nothing changes
    assert _table(before, everything) == _table(released, everything)
    assert _table(_heads(before), ("town", "tenure")) != _table(_heads(released), ("town", "tenure")) or _table(
        before, ("town", "sex", "age")
    ) != _table(released, ("town", "sex", "age"))


def _heads(persons: list[Row]) -> list[Row]:
    return [members[0] for members in by_household(persons).values()]


def _table(records: list[Row], names: tuple[str, ...]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(record[name] for name in names) for record in records)


def test_new_numbers_of_households_tell_neither_the_old_ones_nor_an_order(before: list[Row], released) -> None:
    numbers = [int(person["hid"]) for person in released]
    assert set(numbers) == set(range(1, 241))
    assert {person["hid"] for person in before}.isdisjoint(person["hid"] for person in released)
    neighbours = sum(a == b for a, b in pairwise(numbers))
    assert neighbours < 20, "members of a household stand apart, as all records do"


def test_old_numbers_are_nowhere_in_what_leaves(census, before: list[Row]) -> None:
    old = {person["hid"].encode() for person in before}
    bundles = census[0] / "bundles"
    files = [*(bundles / "public").rglob("*"), *(bundles / "analyst" / "release").rglob("*")]
    files += [*(bundles / "board").rglob("*")]
    for path in filter(Path.is_file, files):
        content = path.read_bytes()
        assert not any(number in content for number in old), path.name


@pytest.mark.parametrize("n", [1, 3])
def test_an_old_number_planted_in_the_public_bundle_refuses_it(census, tmp_path: Path, n: int) -> None:
    folder, raw = census
    planted = tmp_path / "public"
    shutil.copytree(folder / "bundles" / "public", planted)
    old = list(dict.fromkeys(row["hid"] for row in rows(folder / "persons.csv")))[:n]
    with (planted / "METHODS.txt").open("a", encoding="utf-8") as file:
        file.write(" ".join(old))
    with Study.open(folder / "census.study") as study:
        source = export_source(study, raw, None, include=("id", "unit"))
        with pytest.raises(Refused, match="holds the original numbers of households"):
            scan(planted, Tier.PUBLIC, search_of(source, tmp_path))


def test_the_boards_workbook_of_places_verifies_and_is_nobody_elses(census, before: list[Row]) -> None:
    bundles = census[0] / "bundles"
    checks = verify(bundles)
    assert {check.tier for check in checks} >= {*TIERS} - {Tier.CIRCULATING}
    assert [check.statement for check in checks if check.problems or check.note] == []
    assert [path.relative_to(bundles).as_posix() for path in bundles.rglob("places*")] == ["board/places.xlsx"]
    with zipfile.ZipFile(bundles / "board" / "places.xlsx") as book:
        texts = re.findall(r"<t>([^<]*)</t>", book.read("xl/sharedStrings.xml").decode())
    assert {row[name] for row in before for name in ("region", "town")} <= set(texts)


def test_what_a_workbook_of_places_hides_is_found(census, tmp_path: Path) -> None:
    folder, raw = census
    planted = tmp_path / "board"
    shutil.copytree(folder / "bundles" / "board", planted)
    with Study.open(folder / "census.study") as study:
        source = export_source(study, raw, None, include=("id", "unit"))
        search = search_of(source, tmp_path)
        scan(planted, Tier.BOARD, search)
        with zipfile.ZipFile(planted / "places.xlsx", "a", zipfile.ZIP_DEFLATED) as book:
            book.writestr("xl/custom.xml", f"<a>{source.key.hex()}</a>")
        with pytest.raises(Refused, match="holds the study key"):
            scan(planted, Tier.BOARD, search)
    (spoilt := tmp_path / "all").mkdir()
    shutil.copytree(planted, spoilt / "board")
    assert any("places.xlsx" in problem for check in verify(spoilt) for problem in check.problems)


def test_the_release_replays_bit_for_bit(census) -> None:
    found = replay(census[0] / "bundles" / "analyst", census[1])
    assert not found.differs and len(found.same) == len(FORMATS)


@pytest.fixture(scope="module")
def linked(census) -> Path:
    folder, _ = census
    out = folder / "linked"
    data = ["--data", str(folder / "dwellings.csv"), "--out", str(out), "--formats", ",".join(FORMATS)]
    assert main(["apply", str(folder / "bundles" / "analyst"), "--unit", "hid", *data]) == 0
    return out


@pytest.mark.parametrize("form", FORMATS)
def test_the_household_file_follows_the_persons(census, linked: Path, form: str) -> None:
    persons, households = (
        rows(path) for path in (census[0] / f"bundles/public/release.{form}", linked / f"linked.{form}")
    )
    place_of = {person["hid"]: (person["region"], person["town"]) for person in persons}
    assert {h["hid"]: (h["region"], h["town"]) for h in households} == place_of
    rooms = {row["hid"]: row["rooms"] for row in rows(census[0] / "dwellings.csv")}
    assert Counter(h["rooms"] for h in households) == Counter(rooms.values())
    old_of = {people(m): number for number, m in by_household(rows(census[0] / "persons.csv")).items()}
    twins = Counter(people(m) for m in by_household(rows(census[0] / "persons.csv")).values())
    for number, members in by_household(persons).items():
        if twins[people(members)] == 1:
            (dwelling,) = [h for h in households if h["hid"] == number]
            assert dwelling["rooms"] == rooms[old_of[people(members)]], "rooms stay with the household"


def test_the_household_file_stands_in_the_order_of_first_members(census, linked: Path) -> None:
    persons = rows(census[0] / "bundles" / "public" / "release.csv")
    assert [row["hid"] for row in rows(linked / "linked.csv")] == list(dict.fromkeys(row["hid"] for row in persons))


def altered(census, tmp_path: Path, change) -> RawTable:
    lines = (census[0] / "dwellings.csv").read_text(encoding="utf-8").splitlines()
    path = tmp_path / "other.csv"
    path.write_text("\n".join(change(lines)) + "\n", encoding="utf-8")
    return read_table(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: lines[:-3], "'other.csv' lacks 3 of the 240 households of the release; give the whole file"),
        (
            lambda lines: [*lines, "EX9999999,t1,3,r0"],
            "1 of 241 records of 'other.csv' have a household in column 'hid' that the original does not have",
        ),
        (
            lambda lines: [line.replace(",t1,", ",t2,") for line in lines],
            "'town' differs between the two files in ",
        ),
        (
            lambda lines: [*lines, lines[1].replace(lines[1].split(",")[1], "t9")],
            "column 'town' is to be exchanged between records but differs among those of one id",
        ),
    ],
)
def test_household_files_that_differ_are_refused(census, tmp_path: Path, change, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        apply(census[0] / "bundles" / "analyst", altered(census, tmp_path, change), "hid", tmp_path / "o", by="unit")
    assert str(refused.value).startswith(words)
    assert not (tmp_path / "o").exists()


def test_a_child_file_without_places_may_lack_households(census, tmp_path: Path) -> None:
    path = tmp_path / "cars.csv"
    old = list(by_household(rows(census[0] / "persons.csv")))
    path.write_text("hid,car\n" + "".join(f"{number},{i}\n{number},{i}b\n" for i, number in enumerate(old[:9])))
    done = apply(census[0] / "bundles" / "analyst", read_table(path), "hid", tmp_path / "o", by="unit")
    cars = rows(done.folder / "linked.csv")
    assert len(cars) == 18 and len({car["hid"] for car in cars}) == 9 and done.exchanged == ()


def test_a_file_of_persons_leaves_without_old_numbers_of_households(census, tmp_path: Path) -> None:
    done = apply(census[0] / "bundles" / "analyst", census[1], "pid", tmp_path / "o")
    assert "hid" in done.dropped and "hid" not in rows(done.folder / "linked.csv")[0]


def random_swap(folder: Path, raw: RawTable, more: str = "") -> tuple[Study, list[str]]:
    start, end = CENSUS_PLAN.index("[[mechanism]]"), CENSUS_PLAN.index("[space]")
    text = CENSUS_PLAN[:start] + CENSUS_PLAN[end:].replace("replicates = 10", 'specs = ["town:S"]\nreplicates = 2')
    text = text.replace("[roles]", f"{more}\n[roles]")
    said: list[str] = []
    swept(raw, plan_from_toml(text), folder / "random.study")
    study = Study.open(folder / "random.study")
    export(study, raw, study.scenarios[0].label, folder / "out", tell=lambda m: said.append(m.text))
    return study, said


def test_an_export_of_single_persons_warns_and_no_household_file_follows(census, tmp_path: Path) -> None:
    study, said = random_swap(tmp_path, census[1])
    study.close()
    words = "'town' is the same within all 240 households; a swap of single persons would tear them apart; use "
    assert any(words + "mechanism 'trs'" in message for message in said)
    with pytest.raises(UsageError, match="column 'town' was exchanged between single persons, so "):
        apply(tmp_path / "out", read_table(census[0] / "dwellings.csv"), "hid", tmp_path / "o", by="unit")


def test_a_bundle_without_unit_says_how_household_files_are_matched(every: Path, tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("case,x\nc1,1\nc2,2\n", encoding="utf-8")
    with pytest.raises(UsageError, match="declares no unit, so no household of another file can be found in it"):
        apply(every, read_table(path), "case", tmp_path / "o", by="unit")


def test_a_column_that_tells_households_apart_is_refused_in_public(tmp_path: Path) -> None:
    persons, _ = census_files(tmp_path)
    lines = persons.read_text(encoding="utf-8").splitlines()
    numbers = {number: i for i, number in enumerate(dict.fromkeys(line.split(",")[1] for line in lines))}
    phones = ["phone", *(str(700_000 + 7 * numbers[line.split(",")[1]]) for line in lines[1:])]
    text = "\n".join(f"{line},{phone}" for line, phone in zip(lines, phones, strict=True))
    persons.write_text(text + "\n", encoding="utf-8")
    raw = read_table(persons)
    plan = plan_from_toml(CENSUS_PLAN.replace('carry = ["rent"]', 'carry = ["rent", "phone"]'))
    swept(raw, plan, tmp_path / "c.study")
    with Study.open(tmp_path / "c.study") as study:
        approve(study, raw, study.scenarios[0].label)
        with pytest.raises(AttackSucceeded, match="column 'phone' tells nearly every household apart"):
            export(study, raw, None, tmp_path / "out", tier="public")


@pytest.mark.parametrize("refuse", [True, False])
def test_a_refusing_rule_leaves_no_forbidden_combination_in_the_files(tmp_path: Path, refuse: bool) -> None:
    path, _ = census_files(tmp_path)
    lines = [line.replace(",o,", ",r,") if ",t0," in line else line for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    raw = read_table(path)
    rule = '[[edit]]\nname = "all rent in t0"\nforbid = { town = ["t0"], tenure = ["o"] }\n[roles]'
    rule = rule.replace("\n[roles]", f"\nrefuse = {str(refuse).lower()}\n[roles]")
    text = CENSUS_PLAN.replace("[roles]", rule).replace("hsize+tenure|hsize", "hsize").replace('"0.1"', '"0.4"')
    swept(raw, plan_from_toml(text), tmp_path / "c.study")
    with Study.open(tmp_path / "c.study") as study:
        export(study, raw, f"{study.scenarios[0].label}/1", tmp_path / "out", formats=FORMATS)
    for form in FORMATS:
        persons = rows(tmp_path / "out" / "release" / f"release.{form}")
        broken = [person for person in persons if (person["town"], person["tenure"]) == ("t0", "o")]
        assert bool(broken) is not refuse, "a rule that only counts lets some in"


def in_parts(path: Path) -> Path:
    """The file with the household's number in two columns, neither of which is one alone; places with it."""
    records = rows(path)
    numbers = {number: i for i, number in enumerate(dict.fromkeys(record["hid"] for record in records))}
    parted = [
        {"cluster": str(7 + numbers[r["hid"]] % 20), "number": str(1 + numbers[r["hid"]] // 20)} | r for r in records
    ]
    target = path.with_name("parted-" + path.name)
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [name for name in parted[0] if name != "hid"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(parted)
    return target


def test_a_unit_of_two_columns_goes_the_whole_way(census, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    persons, _ = census_files(tmp_path)
    raw, plan = read_table(in_parts(persons)), CENSUS_PLAN.replace('unit = "hid"', 'unit = ["cluster", "number"]')
    swept(raw, plan_from_toml(plan), tmp_path / "p.study")
    with Study.open(tmp_path / "p.study") as study, Study.open(census[0] / "census.study") as alone:
        assert study.scenarios[0].label == alone.scenarios[0].label
        few_guesses(monkeypatch)
        approve(study, raw, study.scenarios[0].label)
        export(study, raw, None, tmp_path / "bundles", tier="all", formats=FORMATS)
    for tier in ("analyst", "public"):
        folder = tmp_path / "bundles" / tier
        table = next(folder.rglob("release.csv"))
        released = [{"hid": record["cluster"]} | record for record in rows(table)]
        assert "number" not in released[0] and {r["cluster"] for r in released} == {str(i + 1) for i in range(240)}
        households = by_household(released)
        assert Counter(map(people, households.values())) == Counter(map(people, by_household(rows(persons)).values()))
    labels = pyreadstat.read_sav(table.with_suffix(".sav"))[1].column_names_to_labels
    assert labels["cluster"] == "new number of the household, in place of cluster and number"
    assert not any(check.problems for check in verify(tmp_path / "bundles"))
    assert not replay(tmp_path / "bundles" / "analyst", raw).differs
    homes = {r["cluster"]: r["town"] for r in rows(next((tmp_path / "bundles" / "analyst").rglob("release.csv")))}
    numbered = read_table(tmp_path / "parted-persons.csv")
    path = tmp_path / "towns.csv"
    first = {(r["cluster"], r["number"]): r["town"] for r in rows(tmp_path / "parted-persons.csv")}
    path.write_text("cluster,number,town\n" + "".join(f"{a},{b},{town}\n" for (a, b), town in first.items()))
    done = apply(tmp_path / "bundles" / "analyst", read_table(path), ["cluster", "number"], tmp_path / "o", by="unit")
    assert {r["cluster"]: r["town"] for r in rows(done.folder / "linked.csv")} == homes
    assert done.dropped == ("number",) and numbered.n_records == raw.n_records
    with pytest.raises(UsageError, match="2 columns"):
        apply(tmp_path / "bundles" / "analyst", read_table(path), "number", tmp_path / "p", by="unit")
