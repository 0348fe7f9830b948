"""What must not reach the board is said when it is written."""

from __future__ import annotations

import pytest

from engine.bundle.telling import tells, told
from engine.study import Study
from tests.engine.test_decision import ROWS, study_of


@pytest.fixture
def study(tmp_path):
    with study_of(tmp_path, ROWS) as made:
        yield made


def test_ids_specs_and_the_rate_are_named(study: Study) -> None:
    scenario = study.scenarios[0]
    name, rate = study.names[0], float(scenario.spec.rate)
    assert tells(study, scenario, "the least loss within the bound") == ""
    assert scenario.label in tells(study, scenario, f"better than {scenario.label}")
    assert tells(study, scenario, "xabc is no candidate of this study") == ""
    assert f"{name}:S" in tells(study, scenario, f"because {name}:S is enough")
    assert tells(study, scenario, f"{100 * rate:g} % are enough") == "the swap rate"
    assert tells(study, None, f"{100 * rate:g} % are enough") == ""
    assert told(study, scenario, f"{100 * rate:g} % are enough").endswith("say it without")
    assert told(study, scenario, "fine") == ""
