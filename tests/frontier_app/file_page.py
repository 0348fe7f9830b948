"""Steps of a person on the page Data: a small file of people, opened and looked at part by part."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from engine.plan import Plan
from frontier_app.session.workspace import Workspace
from tests.frontier_app.conftest import APP, launched
from tests.frontier_app.elements import press


def people(folder: Path) -> Path:
    """Ages with their recode, a question skipped by those without a job, an id, and an income."""
    lines = ["case,age,agegrp,sex,job,hours,pay"]
    for i in range(240):
        age = 18 + 5 * (i * 7 % 8)
        job = "yes" if i % 3 else "no"
        group = "young" if age < 34 else "old"
        hours = "-1" if job == "no" else str(20 + 10 * (i % 2))
        lines.append(f"c{i:04d},{age},{group},{'mf'[i // 3 % 2]},{job},{hours},{1000.5 + 13 * i}")
    path = folder / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def start(owner: bool = True) -> AppTest:
    made = AppTest.from_file(str(APP), default_timeout=300)
    if owner:
        made.query_params["w"] = launched(None)
    return made.run()


def open_file(path: Path) -> AppTest:
    made = start()
    made.text_input(key="open-path-text").set_value(str(path))
    return click(made, "Open this file")


def click(made: AppTest, label: str) -> AppTest:
    return next(b for b in made.button if b.label.startswith(label)).click().run()


def button_key(made: AppTest, start: str) -> str:
    return next(str(b.key) for b in made.button if str(b.key).startswith(start))


def to_part(made: AppTest, part: str) -> AppTest:
    switch = next(group for group in made.button_group if str(group.key).startswith("file-part"))
    return switch.set_value(part).run()


def asked(made: AppTest) -> dict[str, tuple[str, ...]]:
    """The questions on the page: what was found, what the column is, what it becomes, and all of it in sentences."""
    rows = next((table.value.to_dict("records") for table in made.dataframe if "why" in table.value), [])
    return {str(row["column"]): tuple(str(row[name]) for name in ("found", "now", "to", "why")) for row in rows}


def answer(made: AppTest, patch: pytest.MonkeyPatch, answers: Mapping[str, str] | None = None) -> AppTest:
    """The page after these questions were answered by their columns, "" as it is offered; None: as all are offered."""
    drawn = st.data_editor

    def data_editor(rows: pd.DataFrame, *, key: str, **options: Any) -> pd.DataFrame:
        shown = drawn(rows, key=key, **options)
        if answers is None or not key.startswith("questions-"):
            return shown
        shown = shown.copy()
        shown["tick"] = [column in answers for column in shown["column"]]
        shown["to"] = [answers.get(str(one["column"])) or str(one["to"]) for one in shown.to_dict("records")]
        return shown

    with patch.context() as patched:
        patched.setattr(st, "data_editor", data_editor)
        return press(made.run(), "apply-questions")


def next_may_be_opened(made: AppTest) -> bool:
    """Whether the next page may be opened."""
    return not next(button for button in made.button if str(button.key).startswith("go-threat-")).disabled


def plan_of(made: AppTest) -> Plan:
    plan = made.session_state["frontier"].plan
    assert plan is not None
    return plan


def workspace_of(made: AppTest) -> Workspace:
    at = made.session_state["frontier"].workspace
    assert at is not None
    return at


def words_of(made: AppTest) -> str:
    sentences = [row[-1] for row in asked(made).values()]
    return "\n".join(
        str(p.value) for kind in (made.title, made.markdown, made.caption, made.success) for p in kind
    ) + "\n".join(sentences)
