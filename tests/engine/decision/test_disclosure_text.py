"""What must not reach the public is said when it is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.common.errors import UsageError
from engine.data.microdata import RawTable
from engine.decision.disclosure_text import (
    DRAWN,
    check_public,
    disclosure_in,
    says_extent,
    says_rate,
)
from engine.decision.states import decide
from engine.study.ledger import change_plan
from engine.study.study import Study
from tests.engine.attacks import log_attack
from tests.engine.frontier.test_risk_utility_map import ENOUGH, study_of
from tests.engine.household_survey import approve, label_of, plan, survey, swept


@pytest.fixture
def study(tmp_path):
    with study_of(tmp_path, ENOUGH) as opened:
        yield opened


def test_ids_specs_and_the_rate_are_named(study: Study) -> None:
    scenario = study.scenarios[0]
    name, rate = study.names[0], float(scenario.spec.rate)
    assert disclosure_in(study, scenario, "the least loss within the limit") == ""
    assert scenario.label in disclosure_in(study, scenario, f"better than {scenario.label}")
    assert disclosure_in(study, scenario, "xabc is no candidate of this study") == ""
    assert f"{name}:S" in disclosure_in(study, scenario, f"because {name}:S is enough")
    assert disclosure_in(study, scenario, f"{100 * rate:g} % are enough") == "the swap rate"
    assert disclosure_in(study, scenario, "it changes 2 records") == "the share of records changed"


def test_ids_and_specs_in_words(study: Study) -> None:
    first, name = study.scenarios[0], study.names[0]
    assert disclosure_in(study, first, f"we take {first.label}.") and disclosure_in(study, first, f"({first.label}/1)")
    assert not disclosure_in(study, first, f"a{first.label} and x00000000000000")
    assert disclosure_in(study, first, f"only {name}:S") and disclosure_in(study, first, f"swap {name}:S B:F")
    assert not disclosure_in(study, first, f"see p{name}:S and vitamin:Z")


@pytest.mark.parametrize(
    ("text", "rate", "says"),
    [
        ("2 % of records", "0.02", True),
        ("2% of records", "0.02", True),
        ("2.0 percent", "0.02", True),
        ("two per cent", "0.02", True),
        ("twenty-two per cent", "0.03", False),
        ("a rate of 0,02", "0.02", True),
        ("2,0 % of records", "0.02", True),
        ("2 pct", "0.02", True),
        ("two in a hundred, 2 in 100", "0.02", True),
        ("every record with 1/50", "0.02", True),
        ("since 1/50/2020 with 12,020 % and 3 in 100", "0.02", False),
        ("a rate of 0.02", "0.02", True),
        ("a rate of .02", "0.02", True),
        ("a rate of 0.020", "0.02", True),
        ("a risk of 0.021", "0.02", False),
        ("12 % of records", "0.02", False),
        ("1.2 % of records", "0.02", False),
        ("all of it, 100 %", "1", True),
        ("number 1", "1", False),
        ("version 0.02%", "0.02", False),
        ("nothing", "0.02", False),
    ],
)
def test_a_rate_in_words(text: str, rate: str, says: bool) -> None:
    assert says_rate(text, rate) == says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("we changed 36 records", True),
        ("36 people live there. We changed some", False),
        ("1.96 percent of them", True),
        ("a share of 0.01955", True),
        ("a share of 0.019", False),
        ("1,955 % of them", True),
        ("1955 of them", False),
        ("in 36.5 records that were swapped", False),
    ],
)
def test_the_extent_in_words(text: str, says: bool) -> None:
    assert says_extent(text, 36, 1841) == says
    assert not says_extent(text, 0, 1841)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RawTable]:
    """A folder with a study of 160 records of which every candidate changes 24, and its data."""
    folder = tmp_path_factory.mktemp("home")
    raw = survey(folder)
    swept(raw, plan(), folder / "household.study")
    return folder, raw


@pytest.fixture
def fresh(home: tuple[Path, RawTable], tmp_path: Path) -> Path:
    """A copy of the study, to be decided about."""
    for name in ("household.study", "household.study.key"):
        (tmp_path / name).write_bytes((home[0] / name).read_bytes())
    return tmp_path / "household.study"


def test_words_for_the_public_that_tell_the_extent_are_not_submitted(fresh: Path, home: tuple[Path, RawTable]) -> None:
    """The board may read them: a reason, a condition and the plan's own words say what they like."""
    with Study.open(fresh) as study:
        approve(study, home[1], label_of(study, "town"))
        decide(study, "returned", "Board", why="24 altered records are too many")
        publish = replace(study.plan.publish, wording="In all, 24 records were altered.")
        change_plan(study, replace(study.plan, publish=publish), why="to say more", by="Ada")
        with pytest.raises(UsageError, match="names the share of records changed, so the public bundle would be ref"):
            decide(study, "submitted", "Ada")
        about = replace(study.plan.about, design="24 records were altered")
        change_plan(study, replace(study.plan, about=about, publish=replace(publish, wording="")), why="so", by="Ada")
        decide(study, "submitted", "Ada")
        log_attack(study)
        decide(study, "approved", "Board", number="DRB-8", conditions="no more than 24 records are changed")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("It was drawn with seed 7.", "seed"),
        ("Seed 20261126 was used.", "Seed"),
        ("All seeds are kept.", "seeds"),
        ("Replicate 3 was released.", "Replicate"),
        ("The Study Key is kept apart.", "Study Key"),
        ("Use the replicate weights for variances of seedlings.", ""),
    ],
)
def test_words_for_the_public_do_not_tell_how_a_release_was_drawn(text: str, word: str) -> None:
    found = DRAWN.search(text)
    assert (found[0] if found else "") == word
    if word:
        with pytest.raises(UsageError, match=f"names how the release was drawn \\('{word}'\\)"):
            check_public(None, None, [text])  # type: ignore[arg-type]  # the words alone are looked at
