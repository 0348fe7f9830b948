"""Steps of a person on the page Data: a small file of people, opened and looked at part by part."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from engine.plan import Plan
from frontier_app.session.workspace import Workspace
from tests.frontier_app.conftest import APP, launched


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


def plan_of(made: AppTest) -> Plan:
    plan = made.session_state["frontier"].plan
    assert plan is not None
    return plan


def workspace_of(made: AppTest) -> Workspace:
    at = made.session_state["frontier"].workspace
    assert at is not None
    return at


def words_of(made: AppTest) -> str:
    return "\n".join(str(p.value) for kind in (made.markdown, made.caption, made.success) for p in kind)
