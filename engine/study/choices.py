"""The recorded choices of a study."""

from __future__ import annotations

import json
import time
from typing import Any

from engine.common.stored_values import from_json, is_number, is_whole, sum_of
from engine.release.scenarios import Choice, Scenario
from engine.study.database import Database
from engine.study.subject import Subject

SCHEMA = (
    "create table decision (id integer primary key, at real, scenario integer, replicate integer, rule text, why text,"
    " state text, record text, crc integer)"
)


class Choices:
    """The recorded choices of a study; none is ever overwritten."""

    def __init__(self, database: Database, subject: Subject) -> None:
        self._database, self._subject = database, subject

    def record(self, scenario: Scenario, replicate: int, rule: str, why: str, record: dict[str, Any]) -> Choice:
        """Record the choice of a scenario's ``replicate`` by a ``rule`` (in words), with the reason ``why``; earlier
        ones stay."""
        at, text = time.time(), json.dumps(record)
        row = {"at": at, "scenario": scenario.index, "replicate": replicate, "rule": rule, "why": why, "state": "draft"}
        row |= {"record": text, **({"crc": sum_of([at, text])} if self._subject.has_sums else {})}
        with self._database.transaction() as db:
            db.execute(
                f"insert into decision ({', '.join(row)}) values ({', '.join('?' * len(row))})", tuple(row.values())
            )
        return Choice(at, scenario.label, replicate, rule, why, "draft", record)

    def count(self) -> int:
        """Number of recorded choices, without reading them."""
        return int(self._database.rows("select count(*) from decision")[0][0])

    def all(self) -> list[Choice]:
        """All recorded choices, oldest first."""
        sums = self._subject.has_sums
        rows = self._database.rows(
            f"select at, label, replicate, decision.rule, why, state, record{', decision.crc' if sums else ''}"
            " from decision left join scenario on scenario.id = decision.scenario order by decision.id"
        )
        for at, *_, record, crc in rows if sums else ():
            if crc != sum_of([at, record]):  # the decision log covers all else
                raise self._database.damaged("the figures of a recorded choice do not fit their check sum")
        return [self._read(*row[:7]) for row in rows]

    def _read(self, at: Any, label: Any, replicate: Any, *texts: Any) -> Choice:
        """A stored choice, if it is one."""
        try:
            record = from_json(texts[3])
        except ValueError:
            record = None
        sound = all(isinstance(text, str) for text in (label, *texts)) and isinstance(record, dict)
        if not (sound and is_number(at) and is_whole(replicate)):
            raise self._database.damaged("a recorded choice cannot be read")
        rule, why, state, _ = texts
        return Choice(float(at), label, replicate, rule, why, state, record)
