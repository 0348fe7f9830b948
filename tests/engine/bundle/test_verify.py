"""A bundle says by itself whether it is whole, belongs to its reader, and was not touched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from engine.bundle import verify as verify_module
from engine.bundle.export import export
from engine.bundle.folder import write_sums
from engine.bundle.manifest import read_manifest
from engine.bundle.readers import Contents, Tier
from engine.bundle.unpack import fault
from engine.bundle.verify import verify
from engine.cli.main import main
from engine.common.errors import EngineError
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.plan import plan_from_toml
from engine.report.findings import BOARD, read_board
from engine.study.study import Study
from tests.engine.household_survey import PLAN, label_of, swept, text

pytestmark = pytest.mark.slow  # whole bundles are made

NOT_EXPORTED = "the decision log of 'odd.study' records no such bundle: it was changed, or belongs to another study"
NOT_TOGETHER = "it is not the bundle that was written with the analyst's bundle beside it"


def wrong(path: Path) -> list[str]:
    return [text for one in verify(path) for text in one.problems]


def test_every_bundle_verifies_alone_and_beside_the_others(every: Path) -> None:
    assert wrong(every) == []
    tiers = {one.tier for one in verify(every)}
    assert tiers == {"analyst", "board", "public", "all"}
    for tier in ("analyst", "board", "public"):
        found = verify(every / tier)
        assert {one.tier for one in found} == {tier} and not any(one.problems for one in found)


def edit(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    def made(bundle: Path) -> None:
        path = bundle / name
        path.write_text(change(path.read_text()))

    return made


def log(change: Callable[[list[dict]], object]) -> Callable[[Path], None]:
    def made(bundle: Path) -> None:
        path = bundle / "internal" / "decision-log.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return made


def manifest(**fields: object) -> Callable[[Path], None]:
    def made(bundle: Path) -> None:
        path = bundle / "internal" / "manifest.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    return made


def filled(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda bundle: (bundle / name).write_bytes(content)


def described(bundle: Path) -> None:
    from pyarrow import parquet

    table = parquet.read_table(bundle / "release.parquet")
    parquet.write_table(table.replace_schema_metadata({"a": "b"}), bundle / "release.parquet")


TAMPERED = [
    ("public", edit("release.csv", lambda t: t + "\n"), False, "'release.csv' was changed"),
    ("public", lambda b: (b / "load.R").unlink(), False, "'load.R' was removed"),
    ("public", lambda b: (b / "notes.txt").write_text("x"), False, "'notes.txt' was added"),
    ("public", lambda b: (b / "notes.txt").write_text("x"), True, "'notes.txt' is not on the list of what this reader"),
    ("public", lambda b: (b / "SHA256SUMS").unlink(), False, "SHA256SUMS is missing or damaged"),
    ("public", edit("SHA256SUMS", lambda t: t[1:]), False, "SHA256SUMS is missing or damaged"),
    ("public", described, True, "'release.parquet' holds a description beside its columns"),
    ("public", edit("release.csv", lambda t: t.replace("sex", "flag", 1)), True, "holds the column 'flag', which the"),
    ("public", edit("METHODS.txt", lambda t: t + "More.\n"), True, "'METHODS.txt' is not one paragraph"),
    ("public", edit("METHODS.txt", lambda t: "The seed was 7.\n"), True, "tells how the release was drawn"),
    ("public", edit("load.R", lambda t: t + f"# {Path.cwd()}\n"), True, "holds a path of this machine"),
    (
        "board",
        edit("memo.html", lambda t: t.replace("</body>", "x7f3 </body>")),
        True,
        "holds 'x7f3'",
    ),
    ("board", edit("board.json", lambda t: t.replace("{", '{"seed": 1,', 1)), True, "seed"),
    ("analyst", log(lambda c: c.pop(1)), True, "the decision log is broken at entry 2"),
    ("analyst", log(lambda c: c[1].update(by="Eve")), True, "the decision log is broken at entry 2"),
    ("analyst", log(lambda c: c.pop()), True, "the decision log ends elsewhere than the manifest says"),
    ("analyst", log(lambda c: c[0].pop("by")), True, "the decision log is missing or damaged"),
    ("analyst", edit("internal/manifest.json", lambda t: t.replace('"0.15"', '"0.2"')), True, "a field was changed"),
    ("analyst", edit("internal/seed-annex.json", lambda t: t + " "), True, "not the one that was sealed"),
    (
        "analyst",
        edit("release/release.csv", lambda t: t + "\n"),
        True,
        "'release/release.csv' was changed after the export",
    ),
    (
        "analyst",
        edit("internal/candidates.csv", lambda t: t.replace("0.", "9.", 1)),
        True,
        "'internal/candidates.csv' was changed after",
    ),
    (
        "analyst",
        edit("internal/self-attack.json", lambda t: t.replace("false", "true", 1)),
        True,
        "'internal/self-attack.json' was changed",
    ),
    (
        "analyst",
        lambda b: shutil.copy(b / "internal/pairs.parquet", b / "internal/pairs-02.parquet"),
        True,
        "'internal/pairs-02.parquet' was added",
    ),
    (
        "analyst",
        lambda b: (b / "internal/annex-b-analyst.html").unlink(),
        True,
        "'internal/annex-b-analyst.html' was removed",
    ),
    (
        "analyst",
        lambda b: shutil.copy(b / "release/release.csv", b / "release/release-02.csv"),
        True,
        "release-02.csv' was added after",
    ),
    *(
        (tier, filled(name, bytes(9999)), True, f"'{name}' cannot be opened as what it is")
        for tier, name in (("board", "memo.docx"), ("board", "tables.xlsx"), ("public", "load.R"))
    ),
    ("public", filled("METHODS.txt", b"\xff\xfe"), True, "'METHODS.txt' cannot be read: it is no UTF-8 text"),
    ("public", filled("release.parquet", b"\n"), True, "'release.parquet' cannot be opened as what it is"),
    ("board", filled("board.json", b"[" * 100_000), True, "'board.json' cannot be opened as what it is"),
    ("analyst", manifest(sha256=5), True, "the field 'sha256' does not have its type"),
    ("analyst", manifest(figures=[]), True, "the field 'figures' does not have its type"),
    ("analyst", manifest(sha256={"../../secret": "0" * 64}), True, "names a file that cannot be one of a release"),
]


@pytest.mark.parametrize(("tier", "tamper", "summed", "words"), TAMPERED, ids=[f"{t[0]}: {t[3]}" for t in TAMPERED])
def test_what_was_done_to_a_bundle_is_seen(
    every: Path, tmp_path: Path, tier: str, tamper: Callable[[Path], object], summed: bool, words: str
) -> None:
    bundle = tmp_path / tier
    shutil.copytree(every / tier, bundle)
    tamper(bundle)
    if summed:  # whoever changes a file can write the list of digests anew
        write_sums(bundle)
    assert any(words in text for text in wrong(bundle)), wrong(bundle)


@pytest.mark.usefixtures("without_pdf")
@pytest.mark.parametrize("odd", ["level", "attribute"])
def test_a_name_of_the_data_may_read_like_the_id_of_a_candidate(tmp_path: Path, odd: str) -> None:
    path, is_level = tmp_path / "odd.csv", odd == "level"
    path.write_text(text().replace(",p,", ",x996,") if is_level else text().replace("town", "x996", 1))
    raw, name = read_table(path), "town" if is_level else "x996"
    swept(raw, plan_from_toml(PLAN.replace('"town"', f'"{name}"')), tmp_path / "odd.study")
    with Study.open(tmp_path / "odd.study") as study:
        out = export(study, raw, label_of(study, name), tmp_path / "board", tier="board")
    assert "x996" in (out / "memo.html").read_text() and "x996" in (out / "board.json").read_text()
    assert wrong(out) == []
    edit("memo.html", lambda t: t.replace("</body>", "x7f3 </body>"))(out)
    write_sums(out)
    assert wrong(out) == ["'memo.html' holds 'x7f3', which reads like the id of a candidate", NOT_EXPORTED]


def test_every_kind_of_file_that_is_not_what_its_name_says_is_seen(every: Path, tmp_path: Path) -> None:
    shutil.copytree(every, tmp_path / "all")
    seen = set()
    for tier in ("analyst", "board", "public"):
        bundle = tmp_path / "all" / tier
        for path in sorted(p for p in bundle.rglob("*") if p.is_file() and p.name != "SHA256SUMS"):
            content, name = path.read_bytes(), path.relative_to(bundle).as_posix()
            for spoilt in (bytes(len(content)), b""):
                path.write_bytes(spoilt)
                assert fault(path), name
            path.write_bytes(content)
            assert not fault(path), name
            seen.add(path.suffix)
    assert {".docx", ".xlsx", ".pptx", ".html", ".json", ".csv", ".parquet", ".sav", ".dta", ".R"} <= seen


def test_a_document_with_a_flipped_byte_and_a_cut_pdf_are_damaged(every: Path, tmp_path: Path) -> None:
    content = bytearray((every / "board" / "memo.docx").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "a.docx").write_bytes(bytes(content))
    assert fault(tmp_path / "a.docx")
    pdf = b"%PDF-1.7\n1 0 obj\nendobj\nstartxref\n9\n%%EOF\n"
    for place, end in enumerate((len(pdf), len(pdf) - 8)):
        (tmp_path / f"{place}.pdf").write_bytes(pdf[:end])
    assert not fault(tmp_path / "0.pdf") and fault(tmp_path / "1.pdf")


def test_the_contact_may_be_who_made_the_bundle(every: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "statistics@agency.example")
    assert wrong(every / "board") == []
    monkeypatch.setenv("USER", "recommended")
    assert any("holds the user's name" in text for text in wrong(every / "board"))


def test_the_approver_of_the_plan_may_be_who_made_the_bundle(
    every: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(every / "board", tmp_path / "board")
    findings = read_board(tmp_path / "board")
    named = replace(findings, approved=replace(findings.approved, by="chairperson"))
    (tmp_path / "board" / BOARD).write_text(named.to_json())
    write_sums(tmp_path / "board")
    monkeypatch.setenv("USER", "chairperson")
    assert not [text for text in wrong(tmp_path / "board") if "the user's name" in text]
    anonymous = replace(findings, approved=replace(findings.approved, by="", departures=("chairperson",)))
    (tmp_path / "board" / BOARD).write_text(anonymous.to_json())
    write_sums(tmp_path / "board")
    assert [text for text in wrong(tmp_path / "board") if "the user's name" in text]


def test_bundles_that_do_not_belong_together(every: Path, tmp_path: Path) -> None:
    for tier in ("analyst", "public"):
        shutil.copytree(every / tier, tmp_path / "both" / tier)
    both = tmp_path / "both"
    assert wrong(both) == []
    with (both / "public" / "release.csv").open("a") as file:
        file.write("\n")
    write_sums(both / "public")
    assert wrong(both) == [NOT_TOGETHER, "'release.csv' of the analyst's bundle differs from that of the public one"]
    (both / "notes.txt").write_text("x")
    assert "'notes.txt' lies beside them" in wrong(both)


def exported(path: Path, study: Path | None = None) -> dict[str, str]:
    """What is said of each bundle's being one that was exported."""
    found = [one for one in verify(path, study) if one.statement == "it is a bundle that was exported"]
    return {one.tier: " ".join(filter(None, (*one.problems, one.note))) for one in found}


def other_figure(bundle: Path) -> None:
    """A member's bundle with another figure, its list of digests written anew."""
    path = bundle / "board.json"
    content = json.loads(path.read_text())
    content["exposure"]["unaltered_after"] += 1
    path.write_text(json.dumps(content))
    write_sums(bundle)


def test_a_figure_that_was_changed_with_the_digests_is_seen_beside_the_study(
    home: tuple[Path, RawTable], every: Path, tmp_path: Path
) -> None:
    bundle, study = tmp_path / "board", home[0] / "household.study"
    shutil.copytree(every / "board", bundle)
    assert exported(bundle, study) == {"board": ""}
    other_figure(bundle)
    (said,) = exported(bundle).values()
    assert wrong(bundle) == [] and said.startswith("from the bundle alone nobody can tell; name the study")
    assert exported(bundle, study) == {"board": NOT_EXPORTED.replace("odd", "household")}
    shutil.copy(study, tmp_path / "beside.study")
    assert "decision log of 'beside.study' records no such bundle" in exported(bundle)["board"]
    (tmp_path / "beside.study").write_bytes(b"no study")
    assert exported(bundle)["board"].startswith("from the bundle alone")
    assert "no study" in exported(bundle, tmp_path / "beside.study")["board"]


def test_the_analysts_bundle_says_which_others_were_written_with_it(every: Path, tmp_path: Path) -> None:
    both = tmp_path / "both"
    for tier in ("analyst", "board"):
        shutil.copytree(every / tier, both / tier)
    said = exported(both)
    assert said["board"] == "" and said["analyst"].startswith("from the bundle alone")
    other_figure(both / "board")
    assert exported(both / "board") == {"board": NOT_TOGETHER}
    manifest(bundles={})(both / "analyst")
    assert "the manifest of the analyst's bundle beside it was changed" in exported(both)["board"]


def test_a_log_that_was_rewritten_vouches_for_nothing(home: tuple[Path, RawTable], every: Path, tmp_path: Path) -> None:
    import sqlite3

    from engine.bundle.folder import sha256
    from engine.bundle.readers import SUMS

    shutil.copytree(every / "board", tmp_path / "board")
    old = sha256(tmp_path / "board" / SUMS)
    other_figure(tmp_path / "board")
    shutil.copy(home[0] / "household.study", tmp_path / "own.study")
    with closing(sqlite3.connect(tmp_path / "own.study")) as db, db:
        db.execute("update log set detail = replace(detail, ?, ?)", (old, sha256(tmp_path / "board" / SUMS)))
    assert "the decision log is broken at entry" in exported(tmp_path / "board")["board"]


def test_a_fault_of_this_program_is_not_called_damage(every: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slips(files: Contents) -> Iterator[str]:
        yield from ()
        raise AttributeError("a slip")

    monkeypatch.setitem(verify_module._CHECKS, "one paragraph on methods", (slips, (Tier.PUBLIC,)))
    with pytest.raises(AttributeError, match="a slip"):
        verify(every / "public")


def test_a_manifest_leads_to_no_file_outside(every: Path, tmp_path: Path) -> None:
    copy = tmp_path / "analyst"
    shutil.copytree(every / "analyst", copy)
    manifest(sha256={"../../secret": "0" * 64})(copy)
    with pytest.raises(EngineError, match="cannot be one of a release"):
        read_manifest(copy)
    manifest(sha256={}, plan=7)(copy)
    with pytest.raises(EngineError, match="the field 'plan' does not have its type"):
        read_manifest(copy)


def test_what_is_no_bundle(every: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(EngineError, match="is no bundle"):
        verify(tmp_path)
    with pytest.raises(EngineError, match=r"is no folder|does not exist"):
        verify(tmp_path / "nothing")
    assert main(["verify", str(every / "public")]) == 0
    assert "public   holds  it is a bundle that was exported" in capsys.readouterr().out
    shutil.copytree(every / "public", tmp_path / "public")
    assert main(["verify", str(tmp_path / "public")]) == 0
    assert "public   open   it is a bundle that was exported\n                from the" in capsys.readouterr().out
    (tmp_path / "public" / "load.R").unlink()
    assert main(["verify", str(tmp_path / "public")]) == 1
    assert "wrong  every file is the one that was written" in capsys.readouterr().out
