"""The page of exports: who gets what, what is refused, what lies on disk; without waiting for real exports."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.bundle.attack import ADVICE
from engine.bundle.readers import Attack, AttackSucceeded, Tier
from engine.common.errors import EngineError
from engine.common.output import Message
from engine.decision.choice import choose
from engine.decision.states import decide, decision_status
from engine.decision.verdict_log import log_verdict, verdict_words
from engine.measures.verdict import SEVERITIES, AttackKind, Severity, Verdict, verdict_values
from engine.plan import PublishPlan
from engine.plan.samples import load
from engine.study.keys import key_path, read_key
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import recheck
from frontier_app.session import jobs, workspace
from frontier_app.session.workspace import Workspace
from tests.engine.attacks import log_attack
from tests.frontier_app.elements import leads_to
from tests.frontier_app.pages.test_pages import app, to, words


@pytest.fixture
def at(swept: Callable[..., Workspace]) -> Workspace:
    """A workspace with a recommendation that is a draft."""
    made = swept()
    with Study.open(made.folder / "study-1.study") as study:
        view = risk_utility_map(study)
        place = int(view.frontier()[0])
        recheck(study, load("czech")[0], read_key(key_path(study.path)), [place], 2)
        choose(study, view, "safe", candidate=study.scenarios[place].label, by="Ada")
    return made


def approve(at: Workspace) -> None:
    with Study.open(at.folder / "study-1.study") as study:
        decide(study, "submitted", "Ada")
        log_attack(study)
        decide(study, "approved", "Board", number="1")


def opened(at: Workspace) -> AppTest:
    return app(at, "release")


def write_button(made: AppTest):
    return made.button(key="write-bundle")


def written(at: Workspace, name: str = "x000-20260102-030405-ab12", tiers: tuple[str, ...] = ("public",)) -> Path:
    """What an export leaves on disk, as far as the page looks at it."""
    folder = at.folder / "exports" / name
    marks = {"analyst": "internal/manifest.json", "board": "board.json", "public": "METHODS.txt"}
    for tier in tiers:
        inside = folder / tier if len(tiers) > 1 else folder
        path = inside / marks[tier]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    return folder


@pytest.mark.slow
def test_without_a_recommendation_the_page_leads_to_one(swept: Callable[..., Workspace]):
    at = swept()
    made = opened(at)
    assert not made.exception and "Nothing has been recommended yet" in words(made)
    assert leads_to(made, "decide") and made.title[0].value == "No release is recommended yet"
    with Study.open(at.folder / "study-1.study") as study:
        decide(study, "withheld", "Board", why="no")
    assert "decision is to release nothing" in words(opened(at))


def test_what_an_intruder_finds_is_a_curve_over_the_keys_known(at: Workspace):
    made = opened(at)
    assert not made.exception and made.title[0].value.startswith("Bundles for inside can be written")
    before, after = (trace for trace in json.loads(made.get("plotly_chart")[0].proto.spec)["data"])
    with Study.open(at.folder / "study-1.study") as study:
        n = len(study.plan.keys)
    assert before["x"] == after["x"] and before["x"][-1] == str(n) and before["x"][0] == "2"
    assert all(left <= small for left, small in zip(after["y"], before["y"], strict=True))
    assert before["y"] == sorted(before["y"]), "who knows more finds more"
    assert f"stand out on all {n} keys" in words(made)


def tier_of(made: AppTest):
    return next(radio for radio in made.radio if radio.label == "For whom")


@pytest.mark.slow
def test_only_readers_whose_turn_it_is_can_be_chosen(at: Workspace):
    made = opened(at)
    assert (tier_of(made).value, tier_of(made).options) == ("analyst", ["Analyst", "Board"])
    assert "needs an approved recommendation, and this one is a draft" in words(made) and "exact rate" in words(made)
    with Study.open(at.folder / "study-1.study") as study:
        decide(study, "submitted", "Ada")
    made = opened(at)
    assert tier_of(made).value == "board" and "The board has to approve it" in words(made)
    assert "It tells the exact rate" in words(made)
    with Study.open(at.folder / "study-1.study") as study:
        log_attack(study)
        decide(study, "approved", "Board", number="1")
    made = opened(at)
    assert tier_of(made).value == "public" and "Not yet for the public" not in words(made)
    for tier in ("public", "all"):
        tier_of(made).set_value(tier).run()
        assert not write_button(made).disabled and not made.exception
        assert "The public is told neither the rate" in words(made)
    with Study.open(at.folder / "study-1.study") as study:
        decide(study, "returned", "Board", why="wait")
    made.run()
    assert not made.exception and tier_of(made).value == "analyst", "what was chosen then is not open any more"


@pytest.mark.slow
def test_the_range_that_the_public_is_told_is_said(at: Workspace):
    with Study.open(at.folder / "study-1.study") as study:
        publish = PublishPlan(rate_policy="range", rate_range="between 1 and 5 percent")
        study.grow(replace(study.plan, publish=publish))
    approve(at)
    assert "told a range instead of the rate: between 1 and 5 percent" in words(opened(at))


@pytest.mark.slow
def test_what_is_asked_for_is_started_and_kept(at: Workspace, monkeypatch):
    started: list[list[str]] = []

    def launch(arguments: list[str], *_: object) -> int:
        started.append(arguments)
        return 0

    monkeypatch.setattr("frontier_app.session.jobs.launch", launch)
    made = opened(at)
    made.multiselect(key="export-formats").set_value(["csv", "sav"]).run()
    tier_of(made).set_value("board").run()
    to(made, "compare")
    to(made, "release")
    assert tier_of(made).value == "board"
    write_button(made).click().run()
    (arguments,) = started
    assert arguments[:2] == ["export", str(at.study)]
    asked = dict(zip(arguments[2::2], arguments[3::2], strict=True))
    assert (asked["--for"], asked["--formats"], asked["--data"]) == ("board", "csv,sav", "czech")
    assert Path(asked["--out"]).parent == at.folder / "exports"


def test_only_the_analyst_may_have_more_than_the_plan_says(at: Workspace, monkeypatch):
    started: list[list[str]] = []

    def launch(arguments: list[str], *_: object) -> int:
        started.append(arguments)
        return 0

    monkeypatch.setattr("frontier_app.session.jobs.launch", launch)
    with Study.open(at.folder / "study-1.study") as study:
        data = replace(study.plan.data, weight="w", id="case")
        study.grow(replace(study.plan, data=data, publish=PublishPlan(include=("id",))))
    approve(at)
    made = opened(at)
    assert tier_of(made).value == "public" and not made.checkbox
    assert "Released with the file: a new id of each record." in words(made)
    tier_of(made).set_value("analyst").run()
    (box,) = made.checkbox
    assert box.label == "Give the analyst the weight too (column w)"
    box.check().run()
    write_button(made).click().run()
    assert started[-1][-2:] == ["--include", "weight"]
    made = opened(at)
    tier_of(made).set_value("public").run()
    write_button(made).click().run()
    assert "--include" not in started[-1]


def test_an_export_needs_a_format_and_the_data(at: Workspace):
    made = opened(at)
    made.multiselect(key="export-formats").set_value([]).run()
    assert write_button(made).disabled
    at.note(data=None)
    made = app(at, "release")
    assert not made.exception and leads_to(made, "data")


def lines(*parts: Message | str) -> str:
    """A log: messages as the command writes them, and other lines as they are."""
    return "".join((part if isinstance(part, str) else json.dumps(asdict(part))) + "\n" for part in parts)


_STEP = Message("step", "attacking the release itself")
_REFUSED = Message("error", "the release was refused: a key can be guessed")
_FAULT = ("Traceback", "KeyError: 'secret'", Message("fault", "KeyError"))


@pytest.mark.parametrize(
    ("log", "state", "shown"),
    [
        (lines(_STEP, _REFUSED), "failed", "a key can be guessed"),
        (lines(*_FAULT), "failed", "the export ended unexpectedly; nothing was written"),
        (lines(_STEP), "failed", "the export was ended; nothing was written"),
        (lines(Message("warning", "two releases"), "wrote /tmp/x: the public"), "finished", "two releases"),
    ],
)
def test_how_an_export_ended(at: Workspace, log: str, state: str, shown: str):
    folder = written(at) if state == "finished" else at.folder / "exports" / "x000-none"
    (at.folder / "export.json").write_text(json.dumps({"pid": 0, "out": folder.name, "tier": "public"}))
    (at.folder / "export.log").write_text(log)
    assert jobs.job(at).state == state
    made = opened(at)
    assert not made.exception
    boxes = [box.value.lower() for box in (*made.error, *made.warning)]
    assert any(shown in box for box in boxes)
    assert not any("/tmp/x" in box or "secret" in box for box in boxes)


def test_one_that_runs_is_watched_and_not_started_twice(at: Workspace, monkeypatch):
    (at.folder / "export.json").write_text(json.dumps({"pid": os.getpid(), "out": "x", "tier": "public"}))
    (at.folder / "export.log").write_text(lines(_STEP))
    assert jobs.job(at) == jobs.Exporting("running", "public", (_STEP,))
    monkeypatch.setattr("frontier_app.session.jobs.launch", lambda *_: pytest.fail("started twice"))
    jobs.start_export(at, "x", "public", ["csv"], [], False)


def test_what_a_running_export_complains_of_is_no_step(at: Workspace):
    (at.folder / "export.json").write_text(json.dumps({"pid": os.getpid(), "out": "x", "tier": "public"}))
    for end in ((_REFUSED,), _FAULT, ('{"kind": "step", "te',)):
        (at.folder / "export.log").write_text(lines(_STEP, "", *end))
        assert jobs.job(at) == jobs.Exporting("running", "public", (_STEP,))


@pytest.mark.parametrize(
    ("kind", "mended"),
    [("identifiers", True), ("recodes", True), ("keys", False), ("order", False)],
)
def test_a_refusal_is_told_with_what_to_do_and_where(at: Workspace, kind: Attack, mended: bool):
    """The words are the engine's own; the button leads to where the plan can be mended."""
    (at.folder / "export.json").write_text(json.dumps({"pid": 0, "out": "x000-none", "tier": "public"}))
    error = AttackSucceeded(kind, "column 'INCOME' tells nearly every record (and more) apart", ADVICE[kind])
    (at.folder / "export.log").write_text(lines(_STEP, Message("error", str(error), error.values)))
    made = opened(at)
    (box,) = made.error
    what, mend = box.value.split("\n\n")
    assert "The release was refused, and nothing was written." in what and "**What to do:**" in mend
    assert what.endswith("Column 'INCOME' tells nearly every record (and more) apart.")
    assert mend.removeprefix("**What to do:** ").lower() == f"{ADVICE[kind]}.".lower()
    assert ("attack on it succeeded" not in box.value) and ("Nothing was written" not in mend)
    buttons = [button.label for button in made.button]
    assert ("Mend it under Data" in buttons) == mended
    assert ("approved anew" in words(made)) == mended


def test_without_data_nothing_is_started(at: Workspace):
    at.note(data=None)
    with pytest.raises(EngineError, match="needs the data"):
        jobs.start_export(at, "x", "public", ["csv"], [], False)


BOXES = {"untried": "info", "none": "success", "caution": "warning", "serious": "error"}


@pytest.mark.slow
@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("logged", [False, True])
def test_one_verdict_decides_the_colour_of_an_export(at: Workspace, severity: Severity, logged: bool) -> None:
    """Of the verdict in the analyst's bundle or, without that, of the logged one; nothing else is green or red."""
    right = {"none": 10, "caution": 30, "serious": 90}.get(severity, 0)
    kind: AttackKind = "untried" if severity == "untried" else "tables"
    found = Verdict(kind, 1000, 100, right, 10, why="it is too large")
    with Study.open(at.folder / "study-1.study") as study:
        choice = decision_status(study).choice
        assert choice is not None
        if logged:
            log_verdict(study, f"{choice.label}/{choice.replicate}", found)
    name = f"{choice.label}-20260102-030405-ab12"
    folder = written(at, name, ("public",) if logged else ("analyst", "public"))
    if not logged:
        values = {"verdict": verdict_values(found)}
        (folder / "analyst" / "internal" / "self-attack.json").write_text(json.dumps(values))
    made = opened(at)
    assert not made.exception
    boxes = {kind: [box.value for box in getattr(made, kind)] for kind in BOXES.values()}
    assert [kind for kind, values in boxes.items() if verdict_words(found) in values] == [BOXES[severity]]
    assert "no attack succeeded" not in words(made)


def test_what_was_written_is_listed_and_zipped_on_disk(at: Workspace):
    folder = written(at, tiers=("analyst", "board", "public"))
    tables = {
        **{"tried": 1, "attributes": ["town"], "altered": ["town"], "inferred": 0.0961, "low": 0.093, "high": 0.099},
        **{"rate": 0.1, "auc": 0.772, "precision": 0.61, "top": 0.01},
    }
    found = Verdict("tables", 1000, 10, 6.1, 1)
    attack = {
        "keys": {"succeeded": False, "seeds": 8192},
        "order": {"succeeded": False},
        "published_tables": tables,
        "verdict": asdict(found),
    }
    (folder / "analyst" / "internal" / "self-attack.json").write_text(json.dumps(attack))
    (folder / "public" / "release.csv").write_text("a\n1\n")
    (at.folder / "exports" / "x111-broken").mkdir()
    made = opened(at)
    assert not made.exception
    shown = words(made)
    assert "finds that town was swapped, and infers that 9.61 % of the records are altered" in shown
    assert "61 % of the 1 % of records that are most suspect are altered" in shown
    assert verdict_words(found) in shown
    assert "8,192 seeds" in shown and "release.csv" in shown and "can undo the swap" in shown
    (one,) = jobs.complete(at)
    archive = one.archive(Tier.PUBLIC)
    assert archive.parent == folder.parent and archive.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(archive) as whole:
        assert whole.namelist() == ["METHODS.txt", "release.csv"]
        assert {entry.date_time for entry in whole.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert whole.read("release.csv") == b"a\n1\n"
    assert one.archive(Tier.PUBLIC) == archive and not list(folder.parent.glob("*.part"))
    assert jobs.complete(workspace.create()) == []
