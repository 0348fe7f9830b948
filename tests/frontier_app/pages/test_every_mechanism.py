"""Every page on a study of every mechanism, and of all of them together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.mechanisms import amount
from engine.plan import plan_from_toml
from engine.plan.samples import open_data
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from frontier_app.charts import map_data, maps
from frontier_app.pages.explore.table import rows
from frontier_app.session.state import Look
from frontier_app.session.workspace import Workspace
from frontier_app.widgets import candidate_card
from frontier_app.widgets.recommendation import Rule
from frontier_app.wording import text
from tests import every_mechanism
from tests.every_mechanism import CASES, MIX
from tests.frontier_app.finished_studies import FinishedStudies
from tests.frontier_app.pages.test_pages import app, select, to, words

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return every_mechanism.write(tmp_path_factory.mktemp("people"))


def workspace(case: str, people: Path, finished_studies: FinishedStudies) -> Workspace:
    plan = plan_from_toml(every_mechanism.plan_text(case))
    return finished_studies.workspace(str(people), open_data(str(people))[0], plan)


@pytest.mark.parametrize("case", CASES)
def test_every_page_works_and_says_the_amount(case: str, people: Path, finished_studies: FinishedStudies):
    at = workspace(case, people, finished_studies)
    with Study.open(at.folder / "study-1.study") as study:
        view = risk_utility_map(study)
    label = view.scenarios[len(view.scenarios) - 1].label
    made = app(at, "data")
    for page in ("threat", "candidates", "explore"):
        assert not to(made, page).exception and not made.error
    select(made, label)
    spec = view.scenarios[len(view.scenarios) - 1].spec
    assert str(amount(spec)) in words(made) or amount(spec).short in words(made)
    for page in ("compare", "decide", "release"):
        assert not to(made, page).exception and not made.error


@pytest.mark.parametrize("case", CASES)
def test_maps_and_tables_follow_the_amount(case: str, people: Path, finished_studies: FinishedStudies):
    at = workspace(case, people, finished_studies)
    with Study.open(at.folder / "study-1.study") as study:
        view = risk_utility_map(study)
    specs = [scenario.spec for scenario in view.scenarios]
    table, _ = rows(view, np.arange(len(specs)), Rule(), {})
    assert table["id"].tolist() == [scenario.label for scenario in view.scenarios]
    told = candidate_card.differing(view)
    assert len({told.name(i) for i in range(len(specs))}) == len(specs), "names differ as the candidates do"
    codes, names = map_data.amounts(view)
    for code, spec in zip(codes.tolist(), specs, strict=True):
        assert names[code] == (amount(spec).short if case != MIX or amount(spec).share else map_data.OTHER)
    for drawn in map_data.DRAWN:
        maps.candidate_figure(view, Look(drawn=drawn), map_data.Shown())
    assert all("0 %" not in text.named(scenario).split() for scenario in view.scenarios)
