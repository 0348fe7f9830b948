"""What each reader gets, and what it takes to get it."""

from __future__ import annotations

import csv
import importlib
import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from engine.bundle import export, read_manifest, replay
from engine.bundle.readers import TIERS, Refused, Tier, check_files, files_below, tiers_of
from engine.common.errors import EngineError, UsageError
from engine.common.output import Message
from engine.data.microdata import RawTable
from engine.decision.choice import choose
from engine.decision.states import decide
from engine.report.documents import why_no_pdf
from engine.study.decision_log import entries
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from tests.engine.attacks import log_attack
from tests.engine.household_survey import approve, label_of, plan, submit, survey, swept

pytestmark = pytest.mark.slow  # whole bundles are made


def test_each_reader_has_a_folder_with_files_of_its_own(every: Path) -> None:
    assert sorted(p.name for p in every.iterdir()) == ["analyst", "board", "public"], (
        "the plan withholds the swap rate from no copy"
    )
    assert {*files_below(every / "public")} == {
        "METHODS.txt",
        "SHA256SUMS",
        "codebook.html",
        "codebook.xml",
        *(f"load.{end}" for end in ("R", "sas", "do", "sps")),
        *(f"release.{end}" for end in ("csv", "parquet", "sav", "dta")),
    }
    assert {"board.json", "memo.docx", "memo.html", "tables.xlsx", "slides.pptx"} <= {*files_below(every / "board")}
    inside = {name.removeprefix("internal/") for name in files_below(every / "analyst") if name.startswith("internal/")}
    assert {
        "manifest.json",
        "seed-annex.json",
        "decision-log.json",
        "self-attack.json",
        "candidates.csv",
        "pairs.parquet",
        "plan.toml",
        "REPLAY.txt",
    } <= inside


def test_the_release_is_the_same_for_analyst_and_public(every: Path, home: tuple[Path, RawTable]) -> None:
    for name in ("release.csv", "release.parquet", "release.sav", "release.dta"):
        assert (every / "public" / name).read_bytes() == (every / "analyst" / "release" / name).read_bytes()
    found = replay(every, home[1])
    assert found.differs == () and len(found.same) == 4


def test_ids_are_new_and_tell_nothing_of_any_order(every: Path, home: tuple[Path, RawTable]) -> None:
    import numpy as np

    with (every / "public" / "release.csv").open(newline="") as file:
        ids = [int(row["case"]) for row in csv.DictReader(file)]
    assert sorted(ids) == list(range(1, 161))
    pairs = pq.read_table(every / "analyst" / "internal" / "pairs.parquet").to_pydict()
    assert pairs["id"] == [f"c{i}" for i in range(160)]
    by_row = dict(zip(pairs["row"], pairs["new_id"], strict=True))
    assert [by_row[row] for row in range(160)] == ids
    for one, other in ((ids, range(160)), (pairs["new_id"], range(160)), (pairs["row"], range(160))):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.45


def test_pair_map_and_manifest_tell_the_same_story(every: Path) -> None:
    inside = every / "analyst" / "internal"
    manifest = read_manifest(every)
    pairs = pq.read_table(inside / "pairs.parquet").to_pydict()
    moved = [record != partner for record, partner in enumerate(pairs["from:town"])]
    assert sum(moved) == manifest["records_changed"] == 24
    assert manifest["tables"] == 1
    assert manifest["intact"]
    assert manifest["made_with"]["packages"]["numpy"] and len(manifest["made_with"]["lock"]) == 64
    with (inside / "candidates.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 4


def test_the_attack_is_written_down_and_exports_are_logged(every: Path, home: tuple[Path, RawTable]) -> None:
    found = json.loads((every / "analyst" / "internal" / "self-attack.json").read_text())
    assert found["made"] and found["keys"] == {"succeeded": False, "seeds": 8192}
    tables = found["published_tables"]
    assert tables["attributes"] == ["town"] and tables["low"] <= tables["inferred"] <= tables["high"]
    assert 0 <= tables["auc"] <= 1 and tables["precision"] is not None
    for tier in ("public", "board"):
        texts = [path.read_bytes() for path in (every / tier).rglob("*") if path.is_file()]
        assert not any(b"precision" in text and b"inferred" in text for text in texts)
    with Study.open(home[0] / "household.study") as study:
        logged = [entry for entry in entries(study) if entry.event == "exported" and len(entry.detail["tiers"]) == 3]
    # other tests may have exported the same study, before it or after
    assert read_manifest(every)["sha256"] in [entry.detail["sha256"] for entry in logged]


def test_equal_secrets_give_equal_bytes_and_other_secrets_another_order(
    every: Path, home: tuple[Path, RawTable], tmp_path: Path
) -> None:
    folder, raw = home
    with Study.open(folder / "household.study") as study:
        again = export(study, raw, None, tmp_path / "again", include=("weight", "id"), same_order_as=every)
        other = export(study, raw, None, tmp_path / "other", include=("weight", "id"))
    for name in ("release.csv", "release.parquet"):
        assert (again / "release" / name).read_bytes() == (every / "public" / name).read_bytes()
        assert (other / "release" / name).read_bytes() != (every / "public" / name).read_bytes()
    rows = [
        sorted(row.split(",")[1:] for row in (out / "release/release.csv").read_text().splitlines())
        for out in (again, other)
    ]
    assert rows[0] == rows[1], "the records are the same, but for their new ids"


@pytest.mark.parametrize("tier", ["public", "all"])
def test_the_public_gets_what_was_approved_and_nothing_else(
    home: tuple[Path, RawTable], tmp_path: Path, tier: str
) -> None:
    folder, raw = home
    with Study.open(folder / "household.study") as study:
        other = label_of(study, "age")
        with pytest.raises(UsageError, match="the approval is for"):
            export(study, raw, other, tmp_path / "out", tier=tier)
    swept(raw, plan(), tmp_path / "new.study")
    with Study.open(tmp_path / "new.study") as study:
        with pytest.raises(UsageError, match="needs an approved recommendation, and it is none"):
            export(study, raw, label_of(study, "town"), tmp_path / "out", tier=tier)
        with pytest.raises(UsageError, match="nothing is recommended yet"):
            export(study, raw, None, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def copied(home: tuple[Path, RawTable], tmp_path: Path) -> Path:
    """A copy of the approved study, for a test that adds to its log."""
    import shutil

    for name in ("household.study", "household.study.key"):
        shutil.copy(home[0] / name, tmp_path / name)
    return tmp_path / "household.study"


def test_the_log_says_that_a_bundle_is_there_only_when_it_is(
    home: tuple[Path, RawTable], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.bundle.verify import verify

    module = importlib.import_module("engine.bundle.export")
    path, out, rename, append = copied(home, tmp_path), tmp_path / "out", os.rename, module.append

    def last() -> tuple[str, dict]:
        with Study.open(path) as other:
            return entries(other)[-1].event, dict(entries(other)[-1].detail)

    def renamed(*names) -> None:
        assert last()[0] == "exporting" and not out.exists()
        rename(*names)
        assert last()[0] == "exporting" and out.exists()

    def stopped(*names) -> None:
        raise KeyboardInterrupt

    with Study.open(path) as study:
        monkeypatch.setattr(os, "rename", stopped)
        with pytest.raises(KeyboardInterrupt):
            export(study, home[1], None, out, formats=("csv",))
        assert last()[0] == "exporting" and not out.exists()
        monkeypatch.setattr(os, "rename", renamed)
        export(study, home[1], None, out, formats=("csv",))
        event, detail = last()
        assert event == "exported" and detail["sha256"] == read_manifest(out)["sha256"]
        assert not any(one.problems for one in verify(out))

        def full(study: Study, event: str, *rest):
            if event == "exported":
                raise EngineError("the disk is full")
            return append(study, event, *rest)

        monkeypatch.setattr(module, "append", full)
        out = tmp_path / "second"
        with pytest.raises(EngineError, match="but the decision log could not record it: the disk"):
            export(study, home[1], None, out, formats=("csv",))
        assert last()[0] == "exporting" and not any(one.problems for one in verify(out))


def test_another_release_of_the_same_data_is_warned_of(home: tuple[Path, RawTable], tmp_path: Path) -> None:
    from engine.bundle.export import _warnings
    from engine.study.decision_log import append
    from tests.engine.bundle.sources import export_source

    with Study.open(copied(home, tmp_path)) as study:
        made = export_source(study, home[1], None)
        append(study, "exporting", {"tiers": ["public"], "candidate": "x456/1"})
        (message,) = _warnings(made, (Tier.PUBLIC,))
        assert "another public release of the same data may have been exported before: x456/1" in message.text
        append(study, "exported", {"tiers": ["public"], "candidate": "x123/1"})
        assert (
            "another public release of the same data was exported before: x123/1"
            in _warnings(made, (Tier.PUBLIC,))[0].text
        )
        assert _warnings(made, (Tier.ANALYST,)) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("publish", "the words for the public were changed after"),
        ("include", "what is released with the file was changed after the recommendation was approved"),
        ("deviation", "the plan departed from the approved one"),
    ],
)
def test_what_the_board_did_not_see_is_not_published(
    home: tuple[Path, RawTable], tmp_path: Path, change: str, words: str
) -> None:
    from dataclasses import replace

    from engine.decision.states import decide
    from engine.study.decision_log import append
    from engine.study.ledger import change_plan

    shutil.copytree(home[0], tmp_path / "home", ignore=shutil.ignore_patterns("every"))
    with Study.open(tmp_path / "home" / "household.study") as study:
        old = study.plan
        if change == "publish":
            publish = replace(old.publish, rate_policy="range", rate_range="between 10 and 20 percent")
            change_plan(study, replace(old, publish=publish), why="to say more", by="Ada")
        elif change == "include":
            change_plan(study, replace(old, publish=replace(old.publish, include=())), why="fewer", by="Ada")
        else:
            append(study, "deviation", {"what": ["tolerances.min_n: approved was 45"], "why": "too few"}, by="Ada")
        with pytest.raises(UsageError, match=words):
            export(study, home[1], None, tmp_path / "out", tier="public")
        assert not (tmp_path / "out").exists()
        decide(study, "returned", "Board", why="to be seen again")
        decide(study, "submitted", "Ada")
        log_attack(study)
        decide(study, "approved", "Board", number="DRB-8")
        assert export(study, home[1], None, tmp_path / "out", tier="public", formats=("csv",)).is_dir()


def test_a_range_that_does_not_hold_the_rate_is_told_to_nobody(home: tuple[Path, RawTable], tmp_path: Path) -> None:
    from engine.study.ledger import change_plan

    with Study.open(copied(home, tmp_path)) as study:
        publish = replace(study.plan.publish, rate_policy="range", rate_range="between 1 and 5 percent")
        change_plan(study, replace(study.plan, publish=publish), why="to say more", by="Ada")
        with pytest.raises(UsageError, match="the share of records concerned in this release is outside this range"):
            export(study, home[1], None, tmp_path / "out", tier="board")
        assert export(study, home[1], None, tmp_path / "out", formats=("csv",)).is_dir()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tier": "press"}, "tier == 'press', must be one of"),
        ({"formats": ("xls",)}, "format == 'xls', must be one of"),
        ({"formats": ()}, "no format is named"),
        ({"include": ("name",)}, "cannot include 'name'"),
    ],
)
def test_wrong_wishes_are_refused(home: tuple[Path, RawTable], tmp_path: Path, options: dict, words: str) -> None:
    folder, raw = home
    with Study.open(folder / "household.study") as study, pytest.raises(UsageError, match=words):
        export(study, raw, None, tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("without_pdf")
def test_a_public_bundle_holds_what_the_approved_plan_says_and_no_more(every: Path, tmp_path: Path) -> None:
    raw = survey(tmp_path)
    path = tmp_path / "less.study"
    swept(raw, plan(include='["id"]'), path)
    with Study.open(path) as study:
        approve(study, raw, label_of(study, "town"))
        words = r'has not approved that the weight be released.*include = \["id", "weight"\] in \[publish\]'
        for tier in ("public", "all"):
            with pytest.raises(UsageError, match=words):
                export(study, raw, None, tmp_path / "out", tier=tier, include=("weight",))
        out = export(study, raw, None, tmp_path / "out", tier="all", formats=("csv",))
        for file in (out / "public" / "release.csv", out / "analyst" / "release" / "release.csv"):
            assert file.read_text().splitlines()[0] == "case,age,age_flag,sex,work,town,pay"
        assert "wgtd" not in (out / "public" / "codebook.xml").read_text()
        assert "wgtd" in (every / "public" / "codebook.xml").read_text(), "weights that are released are counted with"
        assert "Released with the file: a new id of each record." in (out / "board" / "memo.html").read_text()
        more = export(study, raw, None, tmp_path / "more", include=("weight",), formats=("csv",))
        assert (more / "release" / "release.csv").read_text().splitlines()[0] == "case,age,age_flag,sex,work,town,pay,w"


def test_where_nothing_is_to_be_released_no_bundle_is_written(tmp_path: Path) -> None:
    raw = survey(tmp_path)
    swept(raw, plan(), tmp_path / "none.study")
    with Study.open(tmp_path / "none.study") as study:
        choose(study, risk_utility_map(study), "it is useful", candidate=label_of(study, "town"))
        decide(study, "withheld", "Ada", why="too risky")
        words = r"decided to release nothing.*reason given: too risky\. To decide otherwise, recommend a candidate"
        for candidate in (None, label_of(study, "town"), label_of(study, "age")):
            for tier in ("analyst", "board"):
                with pytest.raises(UsageError, match=words):
                    export(study, raw, candidate, tmp_path / "out", tier=tier)
        choose(study, risk_utility_map(study), "it is useful after all", candidate=label_of(study, "town"))
        assert export(study, raw, label_of(study, "age"), tmp_path / "after", formats=("csv",)).is_dir()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("tier", "name"),
    [
        (Tier.PUBLIC, "manifest.json"),
        (Tier.PUBLIC, "release.csv.bak"),
        (Tier.BOARD, "manifest.json"),
        (Tier.BOARD, "release.csv"),
    ],
)
def test_a_file_that_a_tier_does_not_name_refuses_the_bundle(tmp_path: Path, tier: Tier, name: str) -> None:
    check_files(tmp_path, tier)
    (tmp_path / name).write_text("x")
    with pytest.raises(EngineError, match=f"the {tier} bundle would hold '{name}'"):
        check_files(tmp_path, tier)


def test_tiers_by_name() -> None:
    assert tiers_of("all") == TIERS and tiers_of("public") == (Tier.PUBLIC,)
    with pytest.raises(UsageError, match="must be one of analyst, board"):
        tiers_of("chair")  # a folder of earlier exports


@pytest.mark.usefixtures("without_pdf")
def test_a_copy_circulates_where_the_plan_withholds_the_rate(home: tuple[Path, RawTable], tmp_path: Path) -> None:
    from engine.bundle.verify import verify
    from engine.study.ledger import change_plan

    with Study.open(copied(home, tmp_path)) as study:
        with pytest.raises(UsageError, match="there is no circulating copy; set members_rate"):
            export(study, home[1], None, tmp_path / "none", tier="circulating")
        publish = replace(study.plan.publish, members_rate="withhold")
        change_plan(study, replace(study.plan, publish=publish), why="papers go by post", by="Ada")
        decide(study, "returned", "Board", why="papers go by post")
        submit(study)
        log_attack(study)
        decide(study, "approved", "Board", number="DRB-8")
        out = export(study, home[1], None, tmp_path / "out", tier="all", formats=("csv",))
        assert {path.name for path in out.iterdir()} == {"analyst", "board", "circulating", "public"}
        assert not any(one.problems for one in verify(out))
        copy = (out / "circulating" / "circulating.json").read_text()
        assert "15\u00a0%" in (out / "board" / "memo.html").read_text() and '"rate' not in copy
        assert "15\u00a0%" not in (out / "circulating" / "memo.html").read_text() and "0.15" not in copy
        about = replace(study.plan.about, design="15 % of the records are exchanged")
        change_plan(study, replace(study.plan, about=about), why="to say more", by="Ada")
        with pytest.raises(Refused, match="holds the swap rate"):
            export(study, home[1], None, tmp_path / "tells", tier="circulating")
        assert export(study, home[1], None, tmp_path / "board", tier="board").is_dir()
    planted = json.loads(copy) | {"extent": {"share": 0.15}}
    (out / "circulating" / "circulating.json").write_text(json.dumps(planted))
    problems = [text for one in verify(out / "circulating") for text in one.problems]
    assert "circulating.json holds a field that no circulating copy has" in problems


@pytest.mark.parametrize(("tier", "told"), [("board", 1), ("analyst", 0)])
def test_an_export_says_that_the_pdf_is_missing(
    home: tuple[Path, RawTable], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tier: str, told: int
) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    why_no_pdf.cache_clear()
    messages: list[Message] = []
    try:
        with Study.open(home[0] / "household.study") as study:
            out = export(study, home[1], None, tmp_path / "out", tier=tier, tell=messages.append)
        note = Message("note", f"the memo is not made as a PDF: {why_no_pdf()}")
        assert [message for message in messages if message.kind == "note"] == [note] * told
    finally:
        why_no_pdf.cache_clear()
    assert (out / "memo.docx").exists() is bool(told) and not (out / "memo.pdf").exists()
