"""The Disclosure Analysis Plan as a document: everything that the plan says, and nothing that a member may not see."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from engine.common.errors import EngineError, UsageError
from engine.plan import AboutPlan, MechanismPlan, Plan, PublishPlan, SpacePlan, ThreatPlan
from engine.plan.coding import code
from engine.plan.differences import lock
from engine.plan.samples import load
from engine.report.plan_document import FORMATS, at_most, count_plan, plan_document, write_plan_document
from engine.sweeps import candidates
from engine.sweeps import candidates as space_count
from tests.engine.report.conftest import Case, plan_of, raw_table
from tests.engine.report.pages import banner_of, rows_of, sections, text_of

_ABOUT = AboutPlan(
    survey="Car workers",
    vintage="1981",
    sponsor="Statistics Office",
    contact="Ada Byron, 555-0100",
    authority="Statistics Act, section 7",
    release_type="series",
    changes="one question is new",
    geography="districts",
    design="strata of plants",
    overlaps="the table builder",
)
SECTIONS = (
    "0 Cover",
    "1 Data and units",
    "2 Attributes",
    "3 Disclosure scenario",
    "4 What users do with the data",
    "5 Methods and their parameters",
    "6 Candidates",
    "7 Measures",
    "8 Selection rule and parameters",
    "9 What is said in public",
    "10 What may change after approval",
)


def full(**parts: object) -> Plan:
    """A plan with everything set; rates and settings are figures that nothing else equals."""
    given: dict[str, object] = {
        "about": _ABOUT,
        "threat": ThreatPlan(
            "a colleague with /srv/lists/notes.txt who heard of 5.37 %", ("/srv/lists/voters.csv",), "shame"
        ),
        "publish": PublishPlan("Car workers 1981", "range", "between 1 and 5 percent", "Ask us.", ("weight",)),
        "mechanisms": (
            MechanismPlan("random_swap"),
            MechanismPlan("rds", (("rate", ("0.0731", "0.0847")), ("partner_pool", ("any", "other_cell")))),
            MechanismPlan("pram", (("theta", ("0.9317",)), ("vars", ("A+B",)))),
        ),
        "space": SpacePlan(swap_sizes=(1, 2), fix=("D",), rates=("0.0537", "0.2113"), replicates=6),
    }
    return plan_of(**{**given, **parts})


@pytest.fixture(scope="module")
def member() -> str:
    plan = full()
    return plan_document(plan, count_plan(plan, code(raw_table(), plan)))


def test_every_section_is_there_and_says_something(member: str) -> None:
    empty = plan_document(load("czech")[1])
    for page in (member, empty):
        assert tuple(sections(page)) == SECTIONS
        for section in sections(page).values():
            text = text_of(section)
            assert len(text) > 100 and not re.search(r"\bNone\b(?!:)|\bnan\b", text)


@pytest.mark.parametrize(
    "wanted",
    [
        "Car workers 1981: Car workers 1981",
        "Changed since the earlier release: one question is new",
        "Weight: column w; it stays with its record and is released with it",
        "Released with the file: the weight of each record.",
        "no a0 with c3 | A is a0 and C is c3",
        "D | key, tabulated and always kept equal in a pair | 2 | levels as in the file: d0, d1",
        "0.0731; 0.0847",
        "any; other_cell",
        "F, fixed | Not exchanged; the two records agree on it | always D",
        "Candidates: 17",
        "Runs: 102",
        "Selection rule: The most useful candidate within the limit: at most 50 % of the unaltered records",
        "The extent is given as a range: between 1 and 5 percent.",
    ],
)
def test_what_the_plan_says_is_in_it(wanted: str, member: str) -> None:
    assert wanted in text_of(member)


def test_the_board_reads_the_rates_and_no_path(member: str) -> None:
    text = text_of(member)
    assert "/srv" not in text and "notes.txt" not in text and "secret-source-name" not in text
    assert "CONFIDENTIAL" in banner_of(member) and "0.9317" in text
    locked = lock(full(), "DAP-7", "Grace")
    assert locked.lock is not None
    text = text_of(plan_document(locked))
    assert "Approval number: DAP-7" in text and "Approved by: Grace" in text and locked.lock.at in text
    assert locked.lock.digest in text


def test_combinations_named_one_by_one_are_listed() -> None:
    plan = full(space=SpacePlan(specs=("A:S B:F", "C:S"), rates=("0.0537",)), mechanisms=())
    text = text_of(plan_document(plan))
    assert "1 | A:S B:F" in text and "2 combinations of roles" in text


def test_the_parameters_are_those_of_the_memo(case: Case) -> None:
    plan = case.study.plan
    counts = count_plan(plan, code(raw_table(), plan))
    table = next(sections(plan_document(plan, counts))["8 Selection rule and parameters"].iter("table"))
    assert tuple(rows_of(table)) == case.findings.approved.parameters


def test_a_plan_that_departs_from_its_approval_says_so_first() -> None:
    locked = lock(full(), "DAP-7", "Grace")
    changed = replace(locked, keys=("A", "B"), space=replace(locked.space, rates=("0.0613",)))
    cover = text_of(sections(plan_document(changed))["0 Cover"])
    assert "departs from what was approved" in cover and "approved was 0.0537, 0.2113, now it is 0.0613" in cover
    assert locked.lock is not None
    forged = replace(locked, lock=replace(locked.lock, approved=locked.lock.approved.replace("0.0537", "0.0538")))
    with pytest.raises(EngineError, match="damaged"):
        plan_document(forged)


def test_swaps_that_are_only_counted_have_the_figures_of_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = full()
    listed = text_of(plan_document(plan, count_plan(plan, code(raw_table(), plan))))
    monkeypatch.setattr(space_count, "MOST_LISTED", 0)
    monkeypatch.setattr(candidates, "space_of", None)
    monkeypatch.setattr(space_count, "space_of", None)
    assert text_of(plan_document(plan, count_plan(plan, code(raw_table(), plan)))) == listed


@pytest.mark.parametrize(
    ("space", "most", "words"),
    [
        (SpacePlan(swap_sizes=(1,), rates=("0.1", "0.2")), 8, "Every swap of 1 attribute "),
        (SpacePlan(all_specs=True, rates=("0.1",)), None, "The complete release space"),
        (SpacePlan(specs=("A:S",), rates=("0.1", "0.2")), 2, "1 combination of roles that the plan names alone"),
        (SpacePlan(search=True, budget=50, rates=("0.1",)), 50, "looks at no more than 50 candidates"),
    ],
)
def test_spaces_in_words_and_counts(space: SpacePlan, most: int | None, words: str) -> None:
    plan = plan_of(space=space)
    assert at_most(plan) == most
    assert words in text_of(plan_document(plan))
    counts = count_plan(plan, code(raw_table(), plan))
    exact = counts.candidates
    assert most is None or 0 < exact <= most
    text = text_of(plan_document(plan, counts))
    assert f"Candidates: {'at most ' if space.search else ''}{exact:,}\n" in text
    if space.search:
        assert f"in the whole space: {counts.complete:,}" in text


@pytest.mark.slow
@pytest.mark.parametrize("form", [".docx", ".html"])
def test_equal_plans_give_equal_bytes_without_traces(form: str, member: str) -> None:
    plan = full()
    again = plan_document(plan, count_plan(plan, code(raw_table(), plan)))
    content = FORMATS[form](again)
    assert content == FORMATS[form](member)
    parts = [content]
    if form == ".docx":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
            parts = [archive.read(name) for name in archive.namelist()]
    content = b"".join(parts)
    assert b"Disclosure Analysis Plan" in content and b"python-docx" not in content
    assert banner_of(member).encode() in content


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path, member: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dap.html"
    write_plan_document(member, path)
    assert [p.name for p in tmp_path.iterdir()] == ["dap.html"]
    with pytest.raises(UsageError, match="exists already"):
        write_plan_document(member, path)
    with pytest.raises(UsageError, match=r"must end in \.docx or \.html or \.pdf"):
        write_plan_document(member, tmp_path / "dap.txt")
    with pytest.raises(EngineError, match="could not be written"):
        write_plan_document(member, tmp_path / "nowhere" / "dap.docx")

    def failing(page: str) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(FORMATS, ".docx", failing)
    with pytest.raises(EngineError, match="the disk is full"):
        write_plan_document(member, tmp_path / "other.docx")
    assert [p.name for p in tmp_path.iterdir()] == ["dap.html"]


def test_a_measure_of_the_wrong_kind_is_refused() -> None:
    plan = plan_of()
    wrong = replace(plan, decision=replace(plan.decision, risk="hellinger"))
    with pytest.raises(UsageError, match="is not a measure of risk"):
        plan_document(wrong)


@pytest.mark.parametrize("banner", ['</style> "for" members\\', "plain"])
def test_a_banner_of_any_signs_stands_on_printed_pages_and_ends_no_style_sheet(banner: str) -> None:
    page = plan_document(replace(full(), about=replace(_ABOUT, classification=banner)))
    assert page.count("</style>") == 1 and "@banner@" not in page
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert f'content: "{_escaped(banner)}";' in style and banner_of(page) == banner


def _escaped(text: str) -> str:
    for sign, place in (("\\", "5c"), ("<", "3c"), ("/", "2f"), (">", "3e"), ('"', "22")):
        text = text.replace(sign, f"\\{place} ")
    return text
