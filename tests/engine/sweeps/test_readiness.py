"""`plan check` finds whatever a sweep would refuse."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from engine.cli.main import main
from tests.hunt import bad_plans, checked_plans

BAD = {
    "outcome": '[[analysis]]\nname = "a"\nformula = "A ~ x"\nfamily = "logistic"',
    "code": '[[analysis]]\nname = "a"\nformula = "x ~ __import__(\'os\')"',
    "mechanism": '[[mechanism]]\nname = "nobody"',
    "parameter": '[[mechanism]]\nname = "pram"\ntheta = "2"',
    "measure": '[measures]\nnames = ["small_cells", "hellinger", "nobody"]',
    "measure's parameter": '[measures]\nnames = ["small_cells[n_rule=0]", "hellinger"]',
    "measure's attributes": '[measures]\nnames = ["small_cells[attributes=nobody]", "hellinger"]',
    "search": '[measures]\nnames = ["small_cells"]',
}


@pytest.mark.parametrize("what", BAD)
def test_what_a_sweep_refuses_the_check_refuses_in_the_same_words(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, data, study = tmp_path / "plan.toml", tmp_path / "data.csv", tmp_path / "new.study"
    rest = bad_plans.REST if what != "search" else '[space]\nrates = ["0.1"]\nsearch = true\nreplicates = 4\n'
    plan.write_text(f"{bad_plans.BASE}\n{BAD[what]}\n{rest}")
    data.write_text(bad_plans.DATA)
    assert main(["sweep", str(data), "--plan", str(plan), "--study", str(study), "--workers", "1"]) in (1, 2)
    refused = capsys.readouterr().err.strip().splitlines()[-1].removeprefix("frontier: ")
    assert not study.exists()
    assert main(["plan", "check", str(plan), "--data", str(data)]) == 1
    assert capsys.readouterr().out.strip().splitlines()[-1] == refused


def test_a_column_that_an_analysis_misses_is_settled_as_others_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, data = tmp_path / "plan.toml", tmp_path / "data.csv"
    plan.write_text(f'{bad_plans.BASE}\n[[analysis]]\nname = "a"\nformula = "x ~ nobody"\n{bad_plans.REST}')
    data.write_text(bad_plans.DATA)
    assert main(["plan", "check", str(plan), "--data", str(data)]) == 1
    assert "column 'nobody' (analysis 'a') is not in the data" in capsys.readouterr().out
    assert main(["plan", "check", str(plan), "--data", str(data), "--fix", "absent=drop", "--out", "-"]) == 0
    assert "nobody" not in capsys.readouterr().out


@pytest.mark.slow
def test_generated_plans_are_checked_as_they_are_swept() -> None:
    outcomes = list(checked_plans.trials(random.Random(7), 40))
    assert [one.detail for one in outcomes if not one.good] == []
    assert {one.verdict for one in outcomes} == {"accepted", "refused"}
