"""What the board asks for and the plan leaves empty is a list, in the words of the memo."""

from __future__ import annotations

from dataclasses import replace

from engine.plan import AttributePlan, DataPlan, Plan
from engine.plan.types import unstated


def test_only_empty_entries_are_listed_and_changes_only_of_what_was_released_before() -> None:
    plan = Plan(DataPlan((AttributePlan("A"),)))
    entries = [entry.entry for entry in unstated(plan)]
    assert {"about.survey", "about.contact", "threat.intruder", "threat.public_files", "publish.title"} <= set(entries)
    assert "about.changes" not in entries and "about.classification" not in entries
    about = replace(plan.about, survey="Labour Force Survey", release_type="re-release")
    filled = [entry.entry for entry in unstated(replace(plan, about=about))]
    assert "about.survey" not in filled and "about.changes" in filled
    assert all(entry.title for entry in unstated(plan))
