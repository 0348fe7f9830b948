"""The command that makes a study asks, of data that are somebody's own, which other studies of them came before."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.cli.main import main
from engine.plan.samples import write
from engine.study.ledger import Ledger, ledger_of
from engine.study.study import Study

pytestmark = pytest.mark.slow

SMALL = ("--swap-sizes", "1", "--rates", "0.1", "--replicates", "2", "--workers", "1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file and a study of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "home"))
    write("czech", "own.csv")
    assert run("first.study") == 0
    return tmp_path


def run(study: str, *words: str, data: str = "own.csv") -> int:
    """Exit code of a sweep."""
    attributes = () if data == "czech" else ("--attributes", "A,B,C")
    try:
        return main(["sweep", data, "--study", study, *SMALL, *attributes, *words])
    except SystemExit as ended:  # argparse leaves by itself
        return int(ended.code or 0)


def ledger(name: str) -> Ledger:
    with Study.open(name) as study:
        found = ledger_of(study)
    assert found is not None
    return found


def names(name: str) -> list[str]:
    return [earlier.name for earlier in ledger(name).earlier]


def test_a_study_beside_another_of_the_same_data_is_made_only_with_an_answer(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run("second.study") == 2
    error = capsys.readouterr().err
    assert error == (
        "frontier: 'first.study' beside 'second.study' is of the same data, and what was seen of it belongs in the new "
        "study's decision log; name it as earlier, or say why it has nothing to do with the new study (--after STUDY, "
        "--after-all, or --unrelated WHY)\n"
    )
    assert not list(here.glob("second*")), "nothing was made, no key either"
    assert run("second.study", "--after", "first.study") == 0
    assert run("second.study") == 0, "to go on with a study needs no answer"
    assert run("second.study", "--after", "first.study") == 0, "the same command resumes it"
    assert run("third.study", "--after", "second.study") == 0, "which tells of the first one"
    assert names("third.study") == ["first.study", "second.study"]
    assert run("fourth.study", "--unrelated", "for other users") == 0
    assert [(s.studies, s.why) for s in ledger("fourth.study").unrelated] == [
        (("first.study", "second.study", "third.study"), "for other users")
    ]
    assert run("fifth.study", "--after-all") == 0 and len(names("fifth.study")) == 4
    assert run("sixth.study", "--after-all", "--unrelated", "both") == 2


def test_other_data_are_not_asked_about(here: Path) -> None:
    lines = (here / "own.csv").read_text().splitlines(keepends=True)
    (here / "other.csv").write_text("".join([lines[0], *reversed(lines[1:])]))
    assert run("other.study", data="other.csv") == 0 and ledger("other.study") == Ledger()
    assert run("second.study", "--after", "other.study") == 2


def test_nobody_is_asked_about_a_sample_and_its_studies_are_told_all_the_same(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{name}.study") for name in "ab"]
    assert [run(path, data="czech") for path in paths] == [0, 0]
    assert names(paths[1]) == ["a.study"]


def test_log_and_comparison_tell_what_came_before(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("third.study", "--after-all", "--measures", "small_cells,hellinger") == 0
    for words in (("decide", "third.study"), ("diff", "first.study", "third.study")):
        capsys.readouterr()
        assert main(words) == 0
        told = capsys.readouterr().out
        assert "first.study of the same data came before: results of 3 candidates" in told
        assert "measures: was" in told
