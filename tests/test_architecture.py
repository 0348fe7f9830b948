"""docs/architecture.md says what the code says: its tables, its modules, the entries of a plan."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from engine.data.domain import EditRule
from engine.plan import plan_from_toml
from engine.plan.entries import (
    AboutPlan,
    AnalysisPlan,
    AttributePlan,
    PublishPlan,
    TablePlan,
    ThreatPlan,
    TolerancePlan,
)
from engine.plan.types import DataPlan, DecisionPlan, SpacePlan
from tests.architecture import PAGE, ROOT, layers, module_path, rewritten

TEXT = PAGE.read_text(encoding="utf-8")
_EXAMPLE = re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)
EXAMPLE = _EXAMPLE[1] if _EXAMPLE else ""
SECTIONS = {
    "attribute": AttributePlan,
    "edit": EditRule,
    "analysis": AnalysisPlan,
    "table": TablePlan,
    "space": SpacePlan,
    "decision": DecisionPlan,
    "about": AboutPlan,
    "threat": ThreatPlan,
    "tolerances": TolerancePlan,
    "publish": PublishPlan,
    "data": DataPlan,
}


def entries(section: str) -> set[str]:
    """Entries of a section that the example shows, in comments too."""
    parts = re.split(r"^(?:# )?\[+(\w+)\]+.*\n", EXAMPLE, flags=re.MULTILINE)
    shown = "".join(body for name, body in zip(parts[1::2], parts[2::2], strict=True) if name == section)
    return set(re.findall(r"^(?:# )?([a-z_]+) = ", shown, re.MULTILINE))


@pytest.mark.slow
def test_generated_parts_are_those_of_the_code() -> None:
    assert rewritten(TEXT) == TEXT, "docs/architecture.md is stale; run `make architecture`"


@pytest.mark.slow
def test_a_changed_sentence_makes_the_page_stale() -> None:
    stale = TEXT.replace("Integer kernels", "Float kernels")
    assert stale != TEXT and rewritten(stale) == TEXT


@pytest.mark.parametrize("root", ["engine", "frontier_app"])
def test_every_package_has_its_layer(root: str) -> None:
    there = {f"{root}.{path.parent.name}" for path in (ROOT / root).glob("*/__init__.py")}
    assert there <= set(layers(root)) and all(module_path(name).exists() for name in layers(root))


def test_the_example_of_a_plan_is_read() -> None:
    assert plan_from_toml(EXAMPLE).data.attributes[0].name == "Age"


@pytest.mark.parametrize("section", SECTIONS)
def test_the_example_shows_every_entry_of_a_plan(section: str) -> None:
    elsewhere = {"attributes", "columns"} if section == "data" else set()  # in sections of their own
    assert entries(section) == {field.name for field in fields(SECTIONS[section])} - elsewhere
