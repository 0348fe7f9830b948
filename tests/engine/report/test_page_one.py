"""The memo's first page: what was overruled and why, what is not stated, what was fixed beforehand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.decision.states import decide
from engine.report.build_findings import findings as build
from engine.report.certainty import NOISE_WORDS, certainty, fresh_runs
from engine.report.describe import remade
from engine.report.document import BLANK, Bullets, Entries, Paragraph
from engine.report.docx_file import docx_bytes
from engine.report.findings import Findings
from engine.report.html_file import html_text
from engine.report.memo import memo
from engine.report.page_one import left_out, page_one
from engine.study.decision_log import entries
from engine.study.keys import read_key
from engine.sweeps.sweep import recheck
from tests.engine.attacks import log_attack
from tests.engine.report.conftest import Case, case_of, plan_of, raw_table

NAMES = ["Why this one", "Risk", "Left out", "Most exposed", "Worst losses", "Neighbours", "How sure",
         "Fixed beforehand", "Conditions"]  # fmt: skip


def rows_of(findings: Findings) -> dict[str, str]:
    return dict(page_one(findings).rows)


def test_the_first_page_answers_everything_and_leaves_only_signature_and_date_blank(case: Case) -> None:
    assert list(rows_of(case.findings)) == NAMES
    first, *others = memo(case.findings).sections
    entries = [element for element in first.elements if isinstance(element, Entries)]
    assert [name for name, text in entries[0].rows if not text] == ["Signed for the board", "Date"]
    assert not any(text == "" for part in others for e in part.elements if isinstance(e, Entries) for _, text in e.rows)
    assert others[0].new_page and not any(part.new_page for part in others[1:])
    assert html_text(memo(case.findings)).count(BLANK) == 2


def test_obstacles_stand_on_the_first_page_with_the_reason_that_overruled_them(case: Case) -> None:
    assert not any("against the release" in text for text in page_one(case.findings).warnings)
    obstacles = ("The run to be released is above the bound on risk.",)
    for despite, wanted in (("the minister asked", "for this recorded reason: the minister asked"), ("", "cannot be")):
        recommendation = replace(case.findings.recommendation, obstacles=obstacles, despite=despite)
        warning = page_one(replace(case.findings, recommendation=recommendation)).warnings[0]
        assert obstacles[0] in warning and wanted in warning


def test_a_plan_that_is_not_locked_is_not_called_fixed(case: Case) -> None:
    fixed = rows_of(case.findings)["Fixed beforehand"]
    assert fixed.startswith("The plan was not approved and locked before results were seen. The secret key that ")
    assert "A rule picks the run to be released: the first run that meets the bound and is less risky" in fixed
    assert "Nothing was fixed" not in fixed and "by the plan" not in fixed
    locked = replace(case.findings, approved=replace(case.findings.approved, number="DAP-7", at="2026-01-02"))
    assert rows_of(locked)["Fixed beforehand"].startswith("The plan was approved as DAP-7 and locked on 2026-01-02.")
    text = html_text(memo(case.findings))
    assert "its parameters could be changed with results in view" in text
    assert "Of all that follows only the secret key was fixed beforehand." in text
    assert "As planned" not in text and "In this study" in text
    assert "could be changed with results in view" not in html_text(memo(locked))


@pytest.mark.parametrize(
    ("state", "conditions", "wanted"),
    [
        ("draft", "", "Beside this none is proposed."),
        ("submitted", "a warning to users", "Proposed, beside this: a warning to users."),
        ("approved", "a warning to users", "Set by the board, beside this: a warning to users."),
        ("approved", "", "Beside this none is set by the board."),
    ],
)
def test_conditions_are_those_of_the_approval_or_proposed_before_it(case: Case, state, conditions, wanted) -> None:
    cover = replace(case.findings.cover, state=state, conditions=conditions)
    text = rows_of(replace(case.findings, cover=cover))["Conditions"]
    silence = "No more is said of the method in public than in section 8."
    assert text == f"{silence} The figures of risk hold only under this. {wanted}"


def test_an_approval_presupposes_silence_and_no_published_tables_where_the_plan_says_so(case: Case) -> None:
    facts = case.findings.recognised
    assert facts is not None
    texts = {}
    for published in ("yes", "no", "not known"):
        tables = replace(facts.tables, published=published)
        texts[published] = rows_of(replace(case.findings, recognised=replace(facts, tables=tables)))["Conditions"]
    assert texts["no"].startswith("(1) No two-way table of the original is published, as the plan says. (2) No more ")
    assert texts["no"].endswith("hold only under these. Beside these none is proposed.")
    assert all("two-way" not in texts[published] for published in ("yes", "not known"))
    assert all(
        "hold only under" in text and "No more is said of the method in public than in section 8." in text
        for text in texts.values()
    )


@pytest.mark.parametrize(
    ("state", "wanted", "to_sign"),
    [
        ("draft", "The board is to be asked to approve the release of candidate A. Candidate A ", True),
        ("submitted", "The board is asked to approve the release of candidate A. Candidate A ", True),
        (
            "returned",
            "Record of the decision: the board returned the recommendation of candidate A on 2026-03-04.",
            False,
        ),
        ("approved", "Record of the decision: the release of candidate A was approved on 2026-03-04 as DRB-7.", False),
        ("released", "the release of candidate A was approved on 2026-03-04 as DRB-7, and it is published.", False),
    ],
)
def test_the_board_is_asked_to_approve_until_it_has_decided(case: Case, state, wanted, to_sign) -> None:
    number, day = ("", "") if to_sign else ("" if state == "returned" else "DRB-7", "2026-03-04")
    findings = replace(case.findings, cover=replace(case.findings.cover, state=state, number=number, decided=day))
    page = page_one(findings)
    assert wanted in page.decision and page.to_sign is to_sign
    assert ("asked to approve" in page.decision) is to_sign
    assert html_text(memo(findings)).count(BLANK) == (2 if to_sign else 0)


@pytest.mark.slow
def test_the_day_of_an_approval_is_that_of_the_log(tmp_path: Path) -> None:
    made = case_of(tmp_path, plan_of(analyses=()))
    assert made.findings.cover.decided == ""
    choice = made.study.choices.all()[-1]
    key = read_key(made.study.path.with_name(made.study.path.name + ".key"))
    recheck(made.study, raw_table(), key, [made.study.find(choice.label)[0].index])
    decide(made.study, "submitted", "A. Analyst")
    log_attack(made.study)
    decide(made.study, "approved", "Board", number="DRB-7")
    cover = build(made.study, remade(made.study, raw_table(), choice.label, choice.replicate)).cover
    assert cover.decided == entries(made.study)[-1].at[:10]


@pytest.mark.slow
def test_what_is_not_stated_is_named_in_one_row(case: Case) -> None:
    def unstated(findings: Findings) -> str:
        rows = [row for e in memo(findings).sections[1].elements if isinstance(e, Entries) for row in e.rows]
        return dict(rows).get("Not stated", "")

    assert "survey" in unstated(case.findings) and "contact" in unstated(case.findings)
    stated = replace(case.findings, cover=replace(case.findings.cover, survey="Labour Force Survey"))
    assert "survey" not in unstated(stated) and "contact" in unstated(stated)
    assert "Labour Force Survey" in html_text(memo(stated))


def test_other_risk_measures_are_told_in_a_sentence_of_their_own(case: Case) -> None:
    one = next(row for row in case.findings.measures if row.chosen_by)
    others = [replace(one, title=title, kind="risk", chosen_by=False) for title in ("Uniques", "Right matches")]
    both, single = (left_out(replace(case.findings, measures=(one, *others[:n]))) for n in (2, 1))
    assert both.endswith("for true. Uniques and right matches are in section 4.")
    assert single.endswith("for true. Uniques is in section 4.")


def test_clear_is_worded_as_what_it_is() -> None:
    assert "95 % confidence" in NOISE_WORDS and "against all others" in NOISE_WORDS
    assert "that it could not" not in NOISE_WORDS


@pytest.mark.parametrize(
    ("first", "words"), [(True, "made before the recommendation"), (False, "made after the recommendation")]
)
def test_fresh_runs_are_told_with_when_they_were_made(case: Case, first: bool, words: str) -> None:
    rows = tuple(replace(row, fresh=row.mean, fresh_se=row.se) for row in case.findings.measures)
    recommendation = replace(case.findings.recommendation, rechecked_first=first)
    findings = replace(case.findings, measures=rows, recommendation=recommendation)
    assert words in fresh_runs(findings) == certainty(findings)[-1]  # no fresh runs were made: none is counted
    assert "has not been run again" in fresh_runs(case.findings)


@pytest.mark.slow
def test_rows_and_tables_of_the_docx_are_not_parted(case: Case) -> None:
    import io

    import docx
    from docx.oxml.ns import qn

    sections = memo(case.findings).sections
    elements = [element for part in sections for element in part.elements]
    notes = [e.text for e in elements if isinstance(e, Paragraph) and e.kind == "note"]
    made = docx.Document(io.BytesIO(docx_bytes(memo(case.findings))))
    assert all(row._tr.xpath("./w:trPr/w:cantSplit") for table in made.tables for row in table.rows)
    for table in made.tables:
        kept = [row.cells[0].paragraphs[0].paragraph_format.keep_with_next for row in table.rows]
        is_grid = bool(table._tbl.xpath("./w:tblPr/w:tblDescription"))
        space = table._tbl.getnext()
        is_noted = "".join(text.text for text in space.getnext().iter(qn("w:t"))) in notes
        assert kept[-1] == (is_grid and is_noted), "a note stays with its table"
        assert all(kept[:-1]) or not is_grid
    bullets = [p for p in made.paragraphs if p.style is not None and p.style.name == "List Bullet"]
    others = [p for p in bullets if not p.paragraph_format.keep_with_next]
    assert bullets and len(others) == sum(
        isinstance(e, Bullets) for part in memo(case.findings).sections for e in part.elements
    )
    breaks = [p.text for p in made.paragraphs if p.paragraph_format.page_break_before]
    assert breaks == ["2  The data, and what an intruder knows"]
