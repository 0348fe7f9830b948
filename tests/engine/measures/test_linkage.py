"""Distance-based linkage: its bounds, its twin, numbers, samples.

Links to an external file: by the slow count, the limits that the formula implies, and files that are wrong.
"""

from __future__ import annotations

import os
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.common.os_support import EXTERNAL, external_beside, external_file
from engine.measures import call, evaluate, evaluate_records, linkage
from engine.models.record_release import RecordRelease
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.records import ReleasedTable
from tests.examples import examples
from tests.record_releases import figure, microdata, released
from tests.small_tables import Small, release, releases, roles_for, smalls
from tests.twins import linkage as twin
from tests.twins import random_swap as swap_twin
from tests.twins.tables import external_counts


@st.composite
def altered(draw, most=14):
    """A table and a released one, in which any value may have become any other."""
    small = draw(smalls(most_records=most))
    row = st.tuples(*(st.integers(0, size - 1) for size in small.shape))
    after = [draw(st.one_of(st.just(record), row)) for record in small.records]
    return small, after


def with_numbers(small, after, old, new):
    """A release with the raw column ``w`` too."""
    data = microdata(small, old)
    codes = {j: column.astype(np.int32) for j, column in enumerate(np.array(after).reshape(len(after), -1).T)}
    release = released(small, [after], weights=old)
    changed = ReleasedTable(data, replaced=codes, numbers={"w": np.array(new, float)})
    return RecordRelease(ReleasedTable(data), [changed], release.plan)


@pytest.mark.slow
@given(altered(), st.data())
@examples(50)
def test_formula(case, data):
    small, after = case
    names = data.draw(st.permutations(small.names))[: data.draw(st.integers(1, len(small.names)))]
    some = sorted(small.names.index(name) for name in names)
    got = figure(f"distance_linkage[attributes={'+'.join(names)}]", released(small, [after]))
    assert got.value == pytest.approx(twin.distance_linkage(small.records, after, some), abs=1e-12)
    assert 0 <= got.value <= 1


@given(altered(most=10), st.data(), st.sampled_from(["euclidean", "gower"]))
@examples(50)
def test_formula_with_numbers(case, data, distance):
    small, after = case
    n = len(after)
    some = st.sampled_from([0.0, 1.0, 2.0, 5.5, float("nan")])
    old = data.draw(st.lists(some, min_size=n, max_size=n))
    new = [data.draw(st.one_of(st.just(x), some)) for x in old]
    if np.isnan(old).all():
        old[0] = 1.0
    before, now = ([None if np.isnan(x) else x for x in column] for column in (old, new))
    got = figure(f"distance_linkage[numeric=w;distance={distance}]", with_numbers(small, after, old, new))
    everything = range(len(small.shape))
    want = twin.distance_linkage(small.records, after, everything, [(before, now)], 2 if distance == "euclidean" else 1)
    assert got.value == pytest.approx(want, abs=1e-12)


def test_bounds():
    distinct = Small(tuple((a, b) for a in range(5) for b in range(4)), (5, 4))
    assert figure("distance_linkage", released(distinct, [distinct.records])).value == 1
    equal = Small(((1, 2),) * 9, (3, 3))
    assert figure("distance_linkage", released(equal, [equal.records])) == (
        1 / 9,
        "1.0 of 9 records linked correctly, 1.0 by guessing",
    )
    wiped = figure("distance_linkage", released(distinct, [[(0, 0)] * 20]))
    assert wiped.value == pytest.approx(1 / 20), "a file of equal records leaves guessing"


def test_missing_numbers_and_columns_that_do_not_vary():
    small = Small(((0, 0),) * 4, (1, 1))
    nan = float("nan")
    same = [3.0, 3.0, 3.0, 3.0]
    assert figure("distance_linkage[numeric=w]", with_numbers(small, small.records, same, same)).value == 1 / 4
    old = [1.0, 2.0, 3.0, nan]
    assert figure("distance_linkage[numeric=w]", with_numbers(small, small.records, old, old)).value == 1
    empty = figure("distance_linkage[numeric=w]", with_numbers(small, small.records, [nan] * 4, [nan] * 4))
    assert np.isnan(empty.value) and "column 'w' holds no numbers" in empty.note


@pytest.mark.slow
@given(altered(), st.randoms(use_true_random=True))
@examples(25)
def test_order_of_records_and_names_of_levels_do_not_matter(case, rng):
    small, after = case
    order = list(range(len(after)))
    rng.shuffle(order)
    again = Small(tuple(small.records[i] for i in order), small.shape)
    value = figure("distance_linkage", released(small, [after])).value
    assert figure("distance_linkage", released(again, [[after[i] for i in order]])).value == value
    levels = [rng.sample(range(size), size) for size in small.shape]
    renamed = [[tuple(levels[j][x] for j, x in enumerate(r)) for r in rows] for rows in (small.records, after)]
    other = Small(tuple(renamed[0]), small.shape)
    assert figure("distance_linkage", released(other, [renamed[1]])).value == value


def fair(share):
    """The sample ``fair`` with a share of its records in pairs that exchange one attribute."""
    raw, plan = load("fair")
    data = code(raw, plan)
    order = np.random.default_rng(5).permutation(data.n_records)
    pairs = order[: 2 * int(share * data.n_records / 2)].reshape(-1, 2)
    source = np.arange(data.n_records)
    source[pairs[:, 0]], source[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
    return RecordRelease(ReleasedTable(data), [ReleasedTable(data, source, (1,))], plan)


@pytest.mark.slow
def test_a_sample_stands_for_the_whole(monkeypatch):
    release = fair(0.5)
    text = call("distance_linkage[numeric=age+yrs_married]")
    whole = evaluate_records(text, release)
    assert "sample" not in whole.note
    monkeypatch.setattr(linkage, "_PAIRS", 200_000)
    part = evaluate_records(text, release)
    error = float(part.note.partition("standard error ")[2].split()[0])
    assert 0 < error < 0.05
    assert part.value != whole.value and abs(part.value - whole.value) < 4 * error
    assert evaluate_records(text, fair(0.5)) == part, "the same sample every time"


def test_its_standard_error_is_the_spread_over_samples(monkeypatch):
    rng = Random(3)
    small = Small(tuple((rng.randrange(4), rng.randrange(3), rng.randrange(3)) for _ in range(200)), (4, 3, 3))
    old = [float(i) for i in range(200)]
    new = [x + rng.gauss(0, 2) for x in old]
    release = with_numbers(small, list(small.records), old, new)
    rows = linkage.link_rows(release, release.tables[0], (0, 1, 2), ("w",))
    whole, none = linkage.credits_of(rows, 2)
    assert none == 0
    monkeypatch.setattr(linkage, "_PAIRS", 60 * 200)
    seen = []
    for number in range(200):
        monkeypatch.setattr(linkage, "generator", lambda key, number=number: np.random.default_rng(number))
        seen.append(linkage.credits_of(rows, 2))
    estimates, errors = np.array(seen).T
    assert abs(estimates.mean() - whole) < 4 * estimates.std() / np.sqrt(200)
    assert estimates.std() == pytest.approx(errors.mean(), rel=0.2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "distance_linkage[distance=euclid]",
            "distance == 'euclid', must be euclidean or gower. Did you mean 'euclidean'?",
        ),
        ("distance_linkage[numeric=w+]", "numeric == 'w+' holds an empty name"),
        ("distance_linkage[numeric=w+w]", "names a column twice"),
        ("distance_linkage[numeric=v]", "unknown column 'v'."),
    ],
)
def test_a_wrong_request_is_answered_in_words(text, message):
    small = Small(((0,), (1,)), (2,))
    with pytest.raises(UsageError) as got:
        figure(text, with_numbers(small, small.records, [1.0, 2.0], [1.0, 2.0]))
    assert message in str(got.value)


def test_a_swap_moves_the_numbers_behind_its_attribute():
    """The intruder meets the number that came with the exchanged level, and every other number where it was."""
    release = fair(0.4)
    table = release.tables[0]
    for name, moved in (("age", True), ("yrs_married", False)):
        rows = linkage.link_rows(release, table, (0,), (name,))
        mine, theirs = rows.numbers[rows.row_of_original, 0], rows.numbers[rows.row_of_released, 0]
        np.testing.assert_array_equal(theirs, mine[table.source] if moved else mine)
        assert (theirs != mine).any() == moved
        assert np.std(mine, ddof=1) == pytest.approx(1)


def write(path, small, places, records):
    lines = [",".join(["extra", *(small.names[j] for j in places)])]
    lines += [",".join(["x", *(f"v{level}" for level in record)]) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.environ[EXTERNAL] = str(path.parent)
    return path.name


@pytest.fixture(autouse=True)
def folders_of_this_test(monkeypatch):
    monkeypatch.setenv(EXTERNAL, "")


def values(text, small, batch, keys=None):
    return evaluate(call(text), batch, small.domain, {"keys": keys or small.names, "analyse": small.names})


@pytest.mark.slow
@given(smalls(), st.data())
@examples(60)
def test_by_the_slow_count(tmp_path_factory, small, data):
    d = len(small.shape)
    places = sorted(data.draw(st.lists(st.integers(0, d - 1), min_size=1, unique=True)))
    theirs = data.draw(st.lists(st.tuples(*(st.integers(0, small.shape[j] - 1) for j in places)), max_size=12))
    file = write(tmp_path_factory.mktemp("external") / "register.csv", small, places, theirs)
    several = []
    for seed in range(2):
        roles = data.draw(roles_for(d))
        several.append((roles, swap_twin.draw(small.records, roles, "0.5", Random(seed), "loose").pairs))
    batch = releases(small, several)
    n = [external_counts(swap_twin.exchange(small.records, pairs, roles), theirs, places) for roles, pairs in several]
    size = len(small.records)
    beta = data.draw(st.integers(0, 4))
    safe = values(f"external_links[file={file};beta={beta}]", small, batch)
    literal = values(f"external_links[file={file};beta={beta};zero=literal]", small, batch)
    unmatched = values(f"external_unmatched[file={file}]", small, batch)
    for k in range(2):
        assert safe[k] == sum(1 <= m <= beta for m in n[k]) / size
        assert literal[k] == sum(m <= beta for m in n[k]) / size
        assert unmatched[k] == sum(m == 0 for m in n[k]) / size
        alone = values(f"external_links[file={file};beta={beta}]", small, release(small, *several[k]))
        assert alone[0] == safe[k]
    np.testing.assert_allclose(literal, safe + unmatched, atol=1e-12)
    more = values(f"external_links[file={file};beta={beta + 1}]", small, batch)
    assert (more >= safe).all()
    assert (values(f"external_links[file={file};beta={len(theirs)};zero=literal]", small, batch) == 1).all()


@pytest.mark.slow
@given(smalls(), st.data())
@examples(40)
def test_the_release_itself_as_external_file(tmp_path_factory, small, data):
    roles = data.draw(roles_for(len(small.shape)))
    pairs = swap_twin.draw(small.records, roles, "0.5", Random(1), "loose").pairs
    after = swap_twin.exchange(small.records, pairs, roles)
    places = range(len(small.shape))
    file = write(tmp_path_factory.mktemp("external") / "register.csv", small, places, after)
    batch = release(small, roles, pairs)
    for zero in ("safe", "literal"):
        got = values(f"external_links[file={file};zero={zero}]", small, batch)[0]
        assert got == values("k_anonymity_share", small, batch)[0]
    assert values(f"external_unmatched[file={file}]", small, batch)[0] == 0


SMALL = Small(((0, 0), (0, 1), (1, 0)), (2, 2))


def test_an_empty_file_links_nothing(tmp_path):
    batch = release(SMALL, "SU", [])
    file = write(tmp_path / "empty.csv", SMALL, [0], [])
    assert values(f"external_links[file={file}]", SMALL, batch)[0] == 0
    assert values(f"external_links[file={file};zero=literal]", SMALL, batch)[0] == 1
    assert values(f"external_unmatched[file={file}]", SMALL, batch)[0] == 1
    other = write(tmp_path / "other.csv", Small(((0, 0, 0),) * 2, (1, 1, 1)), [2], [])
    with pytest.raises(UsageError, match=r"external file 'other\.csv' has none of the attributes A, B"):
        values(f"external_links[file={other}]", SMALL, batch)


def test_only_the_keys_are_compared(tmp_path):
    batch = release(SMALL, "SU", [])
    file = write(tmp_path / "register.csv", SMALL, [0, 1], [(0, 0)])
    assert values(f"external_links[file={file}]", SMALL, batch)[0] == pytest.approx(1 / 3)
    assert values(f"external_links[file={file}]", SMALL, batch, keys=("A",))[0] == pytest.approx(2 / 3)
    assert values(f"external_links[file={file};attributes=B]", SMALL, batch)[0] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A,B\nv0,v9\nv7,v1\n", "column 'A' has values that are no levels of the attribute: 'v7'."),
        (
            "B\nv0\nlow\nV1\n",
            "column 'B' has values that are no levels of the attribute: 'V1', 'low'. Did you mean 'v1'?",
        ),
        ("\n".join(["B", *(f"u{i:02}" for i in range(11))]), "'u07' and 3 more."),
        ("A,C\nv0,1\n,2\n", "values that are no levels of the attribute: ''"),
        (
            "C,D\n1,2\n",
            "external file 'register.csv' has none of the attributes A, B; its columns must carry their names",
        ),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    (tmp_path / "register.csv").write_text(text, encoding="utf-8")
    os.environ[EXTERNAL] = str(tmp_path)
    with pytest.raises(UsageError) as got:
        values("external_links[file=register.csv]", SMALL, release(SMALL, "SU", []))
    assert message in str(got.value)


def test_nulls_of_a_parquet_file_are_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"A": ["v0", None]}), tmp_path / "register.parquet")
    os.environ[EXTERNAL] = str(tmp_path)
    with pytest.raises(UsageError, match="column 'A' has empty values"):
        values("external_links[file=register.parquet]", SMALL, release(SMALL, "SU", []))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("external_links", "no external file is named; write for example external_links[file=register.csv]"),
        ("external_unmatched", "no external file is named"),
        ("external_links[file=nowhere.csv]", "external file 'nowhere.csv' is neither beside the plan"),
        ("external_links[file=/tmp/x.csv]", "an external file is given by its name alone, without folders"),
        ("external_unmatched[file=C:x.csv]", "an external file is given by its name alone, without folders"),
        ("external_links[file=..]", "an external file is given by its name alone, without folders"),
        ("external_links[file=x.csv;beta=-1]", "beta == -1, must be at least 0."),
        ("external_links[file=x.csv;zero=risky]", "zero == 'risky', must be safe or literal."),
    ],
)
def test_wrong_parameters(text, message):
    with pytest.raises(UsageError) as got:
        values(text, SMALL, release(SMALL, "SU", []))
    assert message in str(got.value)


def test_files_are_looked_for_beside_what_a_command_names_and_then_here(tmp_path, monkeypatch):
    for name in ("here", "plans", "set"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.csv").write_text("A\n")
        (tmp_path / name / "all.csv").write_text("A\n")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv(EXTERNAL, str(tmp_path / "set"))
    assert external_file("plans.csv") is None and external_file("here.csv") == tmp_path / "here" / "here.csv"
    with external_beside([None, str(tmp_path / "plans" / "plan.toml")]):
        assert external_file("plans.csv") == tmp_path / "plans" / "plans.csv"
        assert external_file("all.csv") == tmp_path / "set" / "all.csv"
    assert external_file("plans.csv") is None and external_file("all.csv") == tmp_path / "set" / "all.csv"
