"""Scenarios are written by few statements, whatever their number, as rows made one by one."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from engine.common.untrusted import sum_of
from engine.release.scenarios import params_text
from engine.release.space import complete
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.release.specs import ReleaseSpecs
from engine.study import runs as scenario_rows
from engine.study import runs as scenario_table

NAMES = tuple("abcde")
SWAPS = ReleaseSpecs.product(complete(NAMES, NAMES), ["0.01", "0.02", "0.1"], ways=[(), (("lean", "1"),)])
OTHER = ReleaseSpecs.of(
    ReleaseSpec(AttributeSpec(NAMES, "SSUUU"), "", mechanism="maps", params=(("w0", text),))
    for text in ("ü", "0.9", "")
)


@pytest.fixture
def db():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute(scenario_table.SCENARIOS)
    yield connection
    connection.close()


def written(db: sqlite3.Connection, start: int, specs: ReleaseSpecs) -> tuple[list, list]:
    """Rows as they are written, and as they would be made one by one."""
    labels = np.array([f"x{k:04x}{'0123456789abcde'[: k % 16]}".encode() for k in range(len(specs))])
    scenario_rows.insert_scenarios(db, start, labels, specs)
    rows = [
        (start + k, labels[k].decode(), s.mechanism, s.rate, s.rule, s.attributes.roles, params_text(s.params))
        for k, s in enumerate(specs)
    ]
    return db.execute("select * from scenario order by id").fetchall(), [(*row, sum_of(row)) for row in rows]


@pytest.mark.parametrize("start", [0, 8, 95, 999_990])
@pytest.mark.parametrize("rows_at_once", [1, 7, 50_000])
def test_rows_are_those_made_one_by_one(db, monkeypatch, start, rows_at_once):
    monkeypatch.setattr(scenario_rows, "_AT_A_TIME", rows_at_once)
    specs = SWAPS[:40].joined(OTHER)
    stored, made = written(db, start, specs)
    assert stored == made
    assert [list(map(type, row)) for row in stored] == [list(map(type, row)) for row in made]
