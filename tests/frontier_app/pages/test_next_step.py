"""One blue button a page at most, and it is the next step."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from engine.data.io.readers import EXTENSIONS
from engine.decision.choice import choose
from engine.decision.states import decide
from engine.plan.samples import load
from engine.study.keys import key_path, read_key
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import recheck
from frontier_app.session import jobs
from frontier_app.session.workspace import Workspace
from tests.engine.attacks import log_attack
from tests.frontier_app.pages.test_export import written
from tests.frontier_app.pages.test_pages import app, to

_STATES = ("none", "draft", "rerun", "submitted", "approved", "exported", "released")
_NEXT = {
    ("decide", "none"): "Record the recommendation",
    ("decide", "draft"): "Run on fresh replicates",
    ("decide", "rerun"): "Submit to the board",
    ("decide", "submitted"): "Record the approval",
    ("decide", "approved"): "Export the public bundle",
    ("decide", "exported"): "Record the publication",
    ("decide", "released"): None,
    ("release", "draft"): "Write the bundle for: analyst",
    ("release", "submitted"): "Write the bundle for: board",
    ("release", "approved"): "Write the bundle for: public",
    ("release", "exported"): "Next: record the publication",
    ("release", "released"): None,
    ("explore", "none"): "Recommend A",
    ("explore", "draft"): "Its recommendation",
    ("candidates", "none"): "Next: explore the map",
}
"""The next step on a page, by the state of the recommendation; None where nothing is left to do."""


def blue(made: AppTest) -> list[str]:
    """The labels of the filled buttons on a page."""
    return [button.label for button in made.button if getattr(button.proto, "type", "") == "primary"]


def brought_to(at: Workspace, state: str) -> None:
    """A recommendation in the study of a workspace, as far on its way as ``state`` says."""
    reached = _STATES.index(state)
    with Study.open(at.folder / "study-1.study") as study:
        view = risk_utility_map(study)
        place = int(view.frontier()[0])
        label = study.scenarios[place].label
        if reached >= 1:
            choose(study, view, "safe", candidate=label, by="Ada")
        if reached >= 2:
            recheck(study, load("czech")[0], read_key(key_path(study.path)), [place])
        if reached >= 3:
            decide(study, "submitted", "Ada")
        if reached >= 4:
            log_attack(study)
            decide(study, "approved", "Board", number="1")
        if reached >= 5:
            written(at, f"{label}-20260102-030405-ab12")
        if reached >= 6:
            decide(study, "released", "Ada")


@pytest.mark.slow
@pytest.mark.parametrize(("page", "state"), _NEXT)
def test_the_blue_button_is_the_next_step(page: str, state: str, swept: Callable[..., Workspace]):
    at = swept(risk="small_cells", utility="hellinger", max_risk="0.01")
    brought_to(at, state)
    made = app(at, page)
    assert not made.exception and not made.error
    step = _NEXT[page, state]
    assert blue(made) == ([step] if step else [])


@pytest.mark.parametrize(
    ("name", "formats"),
    [
        ("a.sav", ("sav",)),
        ("A.DTA", ("dta",)),
        ("a.sas7bdat", ("csv", "parquet")),
        ("a.csv", ("csv",)),
        ("czech", ("csv", "parquet")),
    ],
)
def test_a_release_is_proposed_in_the_format_of_the_file(
    name: str, formats: tuple[str, ...], swept: Callable[..., Workspace]
):
    at = swept()
    at.note(data=name)
    assert jobs.like_the_file(at) == formats


def test_every_file_that_is_read_has_a_format_that_is_proposed():
    assert set(EXTENSIONS) <= set(jobs._LIKE)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["explore", "compare", "decide", "release"])
def test_a_page_without_a_study_leads_to_what_is_missing(page: str):
    made = app()
    assert blue(to(made, page)) == ["Open data"]
    made = app()
    made.button(key="open-czech").click().run()
    assert blue(to(made, page)) == ["Run the sweep"]
