"""Links to an external file: by the slow count, the limits that the formula implies, and files that are wrong."""

from __future__ import annotations

import os
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.common.os_support import EXTERNAL, external_beside, external_file
from engine.measures import call, evaluate
from tests.examples import examples
from tests.small_tables import Small, release, releases, roles_for, smalls
from tests.twins import random_swap as swap_twin
from tests.twins.tables import external_counts


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


def test_the_file_is_read_once(tmp_path):
    batch = release(SMALL, "SU", [])
    file = write(tmp_path / "register.csv", SMALL, [0, 1], [(0, 0)])
    first = values(f"external_links[file={file}]", SMALL, batch)
    (tmp_path / "register.csv").unlink()
    assert values(f"external_links[file={file};beta=2]", SMALL, batch) == first
    assert values(f"external_unmatched[file={file}]", SMALL, batch)[0] == pytest.approx(2 / 3)


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
        ("external_links[file=x.csv;beta=-1]", "beta == -1, must not be negative."),
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
