"""The decision sheet and its evidence, from findings alone."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace

import pytest

from engine.decision.statements import Statement, Value, number, statement, words
from engine.measures.verdict import Verdict
from engine.plan.entries import PublishedTables, TolerancePlan
from engine.report import board_pictures, decision_pages, documents, sheet
from engine.report.board_pictures import change_words
from engine.report.decision_pages import folded, page_one, pages
from engine.report.facts import Check, Figure
from engine.report.findings import Findings
from engine.report.log import Event
from engine.report.losses import by_table, flagged_of, largest, new_values, tolerances_of
from engine.report.sheet import figure_name
from engine.report.sheet_facts import Attacked
from engine.report.tables import sheets
from engine.report.write import write_findings
from engine.study.ledger import BoundOrigin
from tests.engine.report.conftest import Case


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)))


@pytest.fixture(scope="module")
def page(case: Case) -> str:
    return pages(case.findings)


def test_it_has_six_sections_five_pictures_and_at_most_1700_words(page: str) -> None:
    assert page.count("<section") == 6 and page.count("<img") >= 5
    assert len(text_of(page).split()) <= 1700


def test_its_title_names_the_survey_once(case: Case) -> None:
    def titled(survey: str, vintage: str, release: str) -> str:
        cover = replace(case.findings.cover, survey=survey, vintage=vintage, title=release)
        return sheet.title(replace(case.findings, cover=cover))

    assert titled("Census", "2026", "census of 2026, public file") == "Census of 2026, public file"
    assert titled("Census", "2025", "census of 2026, public file") == "Census 2025: Census of 2026, public file"
    assert (titled("Census", "2026", ""), titled("", "", "census")) == ("Census 2026", "Census")
    assert titled("", "", "") == "Disclosure review"


def test_names_are_told_by_their_labels_where_they_stand(case: Case) -> None:
    design = case.findings.design
    assert not any(row.label for row in design.attributes) and page_one(case.findings)["names_told"] == ""
    labelled = tuple(replace(row, label=f"Label of {row.name}") for row in design.attributes)
    findings = replace(case.findings, design=replace(design, attributes=labelled))
    told, page = page_one(findings)["names_told"], pages(findings)
    shown = {row.group.partition(": ")[0] for row in sheet.exposed_groups(findings)}
    assert shown and shown <= set(re.findall(r"label of (\w+)", told)) < {row.name for row in design.attributes}
    assert case.findings.extent is not None
    altered = [row.name for row in case.findings.extent.attributes if row.records]
    assert altered and all(f"{name} (label of {name})" in page_one(findings)["request"][1] for name in altered)
    assert all(f"{row.name}: label of {row.name}" in text_of(page) for row in design.attributes)


def test_its_slides_are_the_first_four_sections(page: str) -> None:
    assert len(re.findall(r'<section class="[^"]*slide', page)) == 4
    assert documents.pptx(page) and documents.docx(page)


def test_the_risk_that_decides_has_its_counts(case: Case) -> None:
    """They are those of the records, of the share that the limit is on."""
    assert case.findings.sheet is not None
    facts, exposed = case.findings.sheet.decided_by, case.findings.exposure
    assert facts.counted_before is not None and facts.counted_after is not None and facts.after is not None
    assert (facts.counted_before.part, facts.counted_before.of) == (exposed.small_before, 240)
    assert facts.counted_after.part == exposed.unaltered_after
    assert facts.counted_after.part / facts.counted_after.of == pytest.approx(facts.after)
    assert facts.after == case.realisation.figures["small_cells"] and facts.limit == 0.5
    row = page_one(case.findings)["figures"][0]
    assert row.met and row.after_under == f"{facts.counted_after.part:,} of {facts.counted_after.of:,}"
    beyond = replace(case.findings.sheet, decided_by=replace(facts, limit=facts.after / 2))
    assert not page_one(replace(case.findings, sheet=beyond))["figures"][0].met


def test_cells_by_size_add_up_to_the_small_cells(case: Case) -> None:
    exposed = case.findings.exposure
    assert case.findings.sheet is not None
    small = [row for row in case.findings.sheet.sizes if row.size < exposed.fewest]
    assert sum(row.before for row in small) == exposed.small_before
    assert sum(row.unaltered for row in small) == exposed.unaltered_after
    assert sum(row.unaltered + row.altered for row in small) == exposed.small_after


def test_neighbours_are_told_by_what_differs(case: Case) -> None:
    own, *others = sheet.choices(case.findings)
    assert own.kind == "proposed" and own.letter == "A" and others
    assert case.findings.sheet is not None
    names = case.findings.sheet.candidates.settings
    for other in others:
        base, row = (sheet.lettered(case.findings, letter).settings for letter in ("A", other.letter))
        differing = [name for name, a, b in zip(names, base, row, strict=True) if a != b]
        assert differing and other.settings.count(";") == len(differing) - 1


def test_losses_are_the_largest_and_the_workbook_holds_all_that_are_flagged(case: Case) -> None:
    use = case.findings.utility
    figures = tuple(f if f.errors is None else replace(f, flagged=f.errors > 0.4) for f in use.figures)
    findings = replace(case.findings, utility=replace(use, figures=figures))
    shown = page_one(findings)["losses"]
    wanted = [row for row in largest(figures) if row.flagged][:3]
    assert [row[0] for row in shown] == [sheet.figure_name(row) for row in wanted] and len(wanted) == 3
    header, rows = sheets(findings)["Losses"]
    assert len(rows) == sum(figure.flagged is True for figure in figures)
    errors = [row[header.index("change in standard errors")] for row in rows]
    assert [e for e in errors if e is not None] == sorted((e for e in errors if e is not None), reverse=True)
    assert ("New values" in sheets(findings)) == bool(new_values(figures))


def test_the_workbook_has_the_shares_of_groups_and_the_runs_of_analyses_that_the_pages_show(case: Case) -> None:
    findings = case.findings
    header, rows = sheets(findings)["Exposed groups"]
    share = header.index("after, as a share of unaltered records of the group")
    assert [row[share] for row in rows] == [g.after / g.of_after for g in findings.exposure.groups]
    text = text_of(pages(findings))
    for runs in findings.utility.analysis_runs:
        if runs.letter == findings.recommendation.letter:
            assert f"{number(runs.beyond or 0.0, digits=2)} on average over {runs.runs} runs" in text


def test_every_cell_of_the_workbook_is_text_or_a_number(case: Case) -> None:
    cells = [cell for _, rows in sheets(case.findings).values() for row in rows for cell in row]
    assert {type(cell) for cell in cells} <= {str, int, float, type(None)}


def test_counts_have_the_size_of_their_group_after_where_that_is_another() -> None:
    figure = Figure("percentage of two attributes", "a × b", "a: 1", "b: 2", False, 487, 540, 2684, 2698, *[None] * 6)  # type: ignore[arg-type]
    assert change_words(figure) == "487 of 2,684 → 540 of 2,698"
    assert change_words(replace(figure, within_after=2684)) == "487 → 540 of 2,684"


def test_tables_are_drawn_only_where_one_loses_more_than_one_figure(case: Case) -> None:
    one = next(figure for figure in case.findings.utility.figures if figure.note == "")
    losses = [replace(one, of=of, flagged=True, note="") for of in ("a × b", "c × d")]

    def drawn(figures: list[Figure]) -> bool:
        use = replace(case.findings.utility, figures=tuple(figures))
        return board_pictures.by_tables(replace(case.findings, utility=use)) is not None

    assert not drawn(losses) and drawn([*losses, replace(losses[0], what="another")])


def test_a_table_has_as_many_new_values_in_its_bar_as_in_the_table_below(case: Case) -> None:
    first = next(figure for figure in case.findings.utility.figures if figure.n is not None and figure.group)
    small = replace(first, weighted=False)
    new = [replace(small, what=f"x: {k}", note="new value", errors=None, flagged=None) for k in range(3)]
    assert [row.new for row in by_table(new)] == [sum(row.groups for row in new_values(new))] == [3]


def test_a_tolerance_says_whether_the_plan_sets_it(case: Case) -> None:
    plan = case.study.plan
    assert not tolerances_of(replace(plan, tolerances=TolerancePlan())).planned
    assert tolerances_of(replace(plan, tolerances=TolerancePlan(change="0.2"))).planned


def test_measures_of_one_name_keep_their_particulars(case: Case) -> None:
    row = replace(case.findings.measures[0], kind="risk", chosen_by=False)
    several = [replace(row, title=title) for title in ("Cells (of 3)", "Cells (of 5)", "Uniques (a + b)")]
    titles = decision_pages.names(replace(case.findings, measures=(*case.findings.measures, *several)))["other_risks"]
    assert [title for title, *_ in titles][-3:] == ["Cells (of 3)", "Cells (of 5)", "Uniques"]


def test_hostile_names_stay_text(case: Case) -> None:
    name = "<b>x</b> & {{ 1 }} \u202e"
    hostile = replace(case.findings, cover=replace(case.findings.cover, survey=name, contact="<script>"))
    page = pages(hostile)
    assert "<b>x" not in page and "<script" not in page and "\u202e" not in page and "&lt;b&gt;x" in page


def test_a_sheet_that_is_decided_has_no_line_to_sign(case: Case) -> None:
    assert sheet.to_sign(case.findings)
    decided = replace(case.findings, cover=replace(case.findings.cover, state="approved", number="7"))
    assert not sheet.to_sign(decided) and "approved as 7" in words(sheet.request(decided)[0])
    assert 'class="sign"' not in pages(decided)


def test_its_pictures_name_no_program(page: str) -> None:
    pictures = [base64.b64decode(data) for data in re.findall(r'src="data:image/png;base64,([^"]+)"', page)]
    assert len(pictures) >= 5 and all(png.startswith(b"\x89PNG") for png in pictures)
    assert not [png for png in pictures if b"Software" in png or b"tEXt" in png]


def test_the_figures_hold_only_where_the_plan_says_that_no_table_is_published(case: Case) -> None:
    facts = case.findings.recognised
    assert facts is not None
    for published in ("yes", "no", "not known"):
        told = replace(facts, published=published)
        cover = replace(case.findings.cover, conditions="once only")
        rows = sheet.conditions(replace(case.findings, recognised=told, cover=cover))
        assert (statement("no_table_published") in rows) == (published == "no")
        assert words(rows[-1]) == "Once only."


@pytest.mark.parametrize(
    ("also_within", "kinds"), [((False,), ["more useful"]), ((True,), ["also"]), ((True, True), [])]
)
def test_the_one_other_candidate_within_the_limit_is_named_and_of_several_none(
    case: Case, also_within: tuple[bool, ...], kinds: list[str]
) -> None:
    assert case.findings.sheet is not None
    own = case.findings.map.recommended
    letters = [row.letter for row in case.findings.map.candidates if row is not own]
    others = [
        replace(own, letter=letter, recommended=False, also_within=also, more_useful_by=0.5)
        for letter, also in zip(letters, also_within, strict=False)
    ]
    shown = replace(case.findings, map=replace(case.findings.map, candidates=(own, *others)))
    candidates = replace(case.findings.sheet.candidates, same="")
    shown = replace(shown, sheet=replace(case.findings.sheet, candidates=candidates))
    assert [choice.kind for choice in sheet.choices(shown)] == ["proposed", *kinds]


@pytest.mark.parametrize("known", [True, False])
def test_a_neighbour_has_the_attack_on_it_and_the_checks_that_it_fails(case: Case, known: bool) -> None:
    assert case.findings.sheet is not None
    found = statement("new_to_place", areas=7, place="town", attributes=("job",))
    attacked = Attacked(Verdict("tables", 240, 10, 9, 1), (Check("Values known in their place", found, False),))
    candidates = case.findings.sheet.candidates
    rows = tuple(replace(row, attacked=attacked if known else None) for row in candidates.rows)
    shown = replace(case.findings, sheet=replace(case.findings.sheet, candidates=replace(candidates, rows=rows)))
    neighbours = [choice for choice in sheet.choices(shown) if choice.kind != "proposed"]
    assert neighbours
    for choice in neighbours:
        told = [words(each) for each in (choice.attack, *(choice.failed or ())) if each is not None]
        assert told == (["9 of 10", "new values in 7 areas"] if known else []) and (choice.failed is None) is not known
    assert ("7 areas" in text_of(pages(shown))) is known


@pytest.mark.parametrize(("right", "alike"), [(18.0, True), (10.0, False)])
def test_an_attack_that_finds_as_much_of_each_neighbour_is_told_once(case: Case, right: float, alike: bool) -> None:
    """By the share of the most suspect that are altered; else a column tells of which it finds more."""
    assert case.findings.sheet is not None and case.findings.extent is not None
    candidates = case.findings.sheet.candidates
    rows = tuple(replace(row, attacked=Attacked(Verdict("tables", 240, 20, right, 1), ())) for row in candidates.rows)
    shown = replace(
        case.findings,
        sheet=replace(case.findings.sheet, candidates=replace(candidates, rows=rows)),
        extent=replace(case.findings.extent, verdict=Verdict("tables", 240, 10, 9, 1)),
    )
    told = [words(one) for one in sheet.before_signing(shown) if one.kind == "attacked_alike"]
    assert page_one(shown)["attacked"] is not alike and bool(told) is alike
    assert all(f"{choice.letter} (18 of 20)" in told[0] for choice in sheet.choices(shown)[1:] if alike)


@pytest.mark.parametrize(
    ("asked", "edit_limits", "told"),
    [
        (0.9, 0, "in at least 90 % of its runs; hollow below the line: in fewer. "),
        (0.9, 1, "in fewer, or excluded by an edit rule. "),
        (None, 1, "hollow below the line: too few runs, or excluded by an edit rule. "),
    ],
)
def test_the_map_says_why_a_mark_below_the_line_is_hollow(
    case: Case, asked: float | None, edit_limits: int, told: str
) -> None:
    board = replace(case.findings.map, bound_at=1.0, bound_asked=asked, within_at=(), edit_limits=edit_limits)
    found = board_pictures.the_map(replace(case.findings, map=board), small=True)
    assert found is not None and told in found.note
    within = (*board.frontier, *board.others, *((c.utility, c.risk) for c in board.candidates))
    board = replace(board, within_at=tuple((u, r) for u, r in within if u is not None and r is not None))
    found = board_pictures.the_map(replace(case.findings, map=board), small=True)
    assert found is not None and "hollow" not in found.note


def test_the_agency_is_asked_for_what_it_alone_knows(case: Case) -> None:
    assert case.findings.recognised is not None
    cases: dict[PublishedTables, bool] = {"yes": True, "no": False}
    for published, asked in cases.items():
        known = replace(case.findings.recognised, published=published)
        (told,) = [s for s in sheet.before_signing(replace(case.findings, recognised=known)) if s.kind == "not_stated"]
        assert ("published two-way tables, by name" in str(told.values["entries"])) is asked


def test_what_chance_hides_of_the_frontier_is_told_where_it_is_known(case: Case) -> None:
    assert case.findings.map.recall is not None
    plain = json.loads(case.findings.to_json())
    del plain["map"]["recall"]
    for found, told in ((case.findings, True), (Findings.from_json(json.dumps(plain)), False)):
        assert ("More runs may put" in pages(found)) is told


def test_obstacles_come_first_before_signing(case: Case) -> None:
    against = replace(case.findings.recommendation, obstacles=(statement("changes_nothing"),), despite="urgent")
    first, second, *_ = sheet.before_signing(replace(case.findings, recommendation=against))
    assert first == statement("changes_nothing") and second == statement("despite", reason="urgent")
    assert (sheet.heading(first), sheet.heading(second)) == ("Against release", "Submitted despite this")


@pytest.mark.parametrize(
    ("published", "means"), [("yes", "is possible"), ("no", "is not possible"), ("not known", "if so")]
)
def test_an_attack_has_its_meaning_and_what_it_needs(case: Case, published: PublishedTables, means: str) -> None:
    assert case.findings.extent is not None and case.findings.recognised is not None
    verdict = Verdict("tables", 240, 10, 9, 1)
    shown = replace(
        case.findings,
        extent=replace(case.findings.extent, verdict=verdict),
        recognised=replace(case.findings.recognised, published=published),
        threat=replace(case.findings.threat, public_files=("register of voters",)),
        cover=replace(case.findings.cover, overlaps="a sample of 2020"),
    )
    told = {each.kind: words(each) for each in sheet.before_signing(shown)}
    assert "(not measured)" in told["attack"] and means in told["tables_published"]
    assert "Register of voters" in told["files_overlap"] and "A sample of 2020." in told["releases_overlap"]
    calm = replace(shown, cover=replace(shown.cover, overlaps="None."), threat=replace(shown.threat, public_files=()))
    assert not {"files_overlap", "releases_overlap"} & {each.kind for each in sheet.before_signing(calm)}


def test_a_failed_check_has_all_that_was_found(case: Case) -> None:
    failed = Check(
        "Values known in their place", statement("new_to_place", areas=2, place="town", attributes=("job",)), False
    )
    told = [words(each) for each in sheet.before_signing(replace(case.findings, checks=(failed,)))]
    assert any(text.startswith(f"{failed.name}: {words(failed.found)}") for text in told)


@pytest.mark.parametrize(
    ("found", "bars"),
    [
        (statement("new_to_place", areas=2, place="town", attributes=("job",)), False),
        (statement("misfit", attribute="a", beside=("b",), undoes=False), False),
        (statement("misfit", attribute="a", beside=("b",), undoes=True), True),
        (statement("not_to_change", attribute="a"), True),
        (statement("recorded", text="It failed"), None),
    ],
)
def test_a_failed_check_says_whether_it_bars_the_release(case: Case, found: Statement, bars: bool | None) -> None:
    failed = Check("A check", found, False)
    shown = replace(case.findings, checks=(failed,))
    (told,) = [one for one in sheet.before_signing(shown) if one.kind == "check_failed"]
    assert told.values["bars"] is sheet.bars(failed) is bars
    outcome = decision_pages._checks(shown)[0].values["outcome"]
    assert outcome == {None: "fails", True: "fails: bars the release", False: "fails: does not bar the release"}[bars]


def test_who_set_the_limit_and_whether_the_plan_was_followed_is_told(case: Case) -> None:
    told = (
        statement("locked", at=""),
        statement("sweep_begun", again=False),
        statement("plan_changed", deviation=False, changes=(), why=""),
        statement("recommended", letter="A", rule="", limit="", origin=""),
    )
    log = tuple(Event(f"2026-01-02 10:0{k}", (one,)) for k, one in enumerate(told))
    plan = replace(case.findings.approved, number="D-1", at="2026-01-02", by="the chair", departures=(), log=log)
    swept = "the sweep began (2026-01-02 10:01)"
    by_origin: dict[BoundOrigin, str] = {
        "fixed": f"In the plan before {swept}; approved by the chair as D-1 on 2026-01-02 10:00.",
        "chosen": f"Set by the analyst with the choice on 2026-01-02 10:03, after {swept}.",
        "changed": f"Set in a change of the plan on 2026-01-02 10:02, after {swept}.",
    }
    for origin, by in by_origin.items():
        shown = replace(case.findings, approved=replace(plan, limit_origin=origin))
        (limit,) = sheet.limit_set(shown)
        assert words(limit) == by and by in text_of(pages(shown))
    assert "no deviations" in pages(shown) and "The plan was approved as D-1" in pages(shown)
    off = pages(replace(case.findings, approved=replace(plan, departures=("Fewer runs.",))))
    assert "The plan was not followed: Fewer runs." in off and not sheet.limit_set(
        replace(case.findings, approved=replace(plan, limit_origin=""))
    )


def test_the_log_keeps_the_sweep_and_leaves_out_runs_that_were_asked_for_again(case: Case) -> None:
    kinds = ("begun", "locked", "sweep_begun", "approved", "returned", "withheld", "replaced")
    again = statement("rechecked", runs=9, others=0, afterwards=True, again=True)
    values: dict[str, dict[str, Value]] = {
        "begun": {"key_fixed": True},
        "locked": {"at": ""},
        "sweep_begun": {"again": False},
    }
    told = [*(statement(kind, **values.get(kind, {})) for kind in kinds), again]
    log = tuple(Event(f"2026-01-0{1 + k // 4} 10:00", (one,)) for k, one in enumerate(told))
    shown = decision_pages._log(replace(case.findings, approved=replace(case.findings.approved, log=log)))
    texts = [text for _, text in shown]
    assert len(shown) == 6 and words(statement("sweep_begun", again=False)) == texts[2]
    assert not [text for text in texts if "asked for again" in text]
    assert [at for at, _ in shown] == [f"2026-01-0{day} 10:00" for day in (1, 1, 1, 2, 2, 2)]


def test_what_changes_nothing_reads_well(case: Case) -> None:
    calm = replace(case.findings.utility, figures=(), tallies=(), associations=())
    page = pages(replace(case.findings, utility=calm))
    assert "No figure changes" in page and flagged_of(calm) == (0, 0)


def test_the_board_page_folds_the_same_answers(case: Case, page: str) -> None:
    text = text_of(page)
    for _, answer, pictures, _ in folded(case.findings):
        assert answer in text or "&#x27;" in text
        assert all(picture.title in text for picture in pictures)


@pytest.mark.slow
def test_equal_findings_give_equal_files(case: Case, tmp_path) -> None:
    made = []
    for name in "ab":
        (tmp_path / name).mkdir()
        again = Findings.from_json(case.findings.to_json())
        write_findings(again, tmp_path / name)
        made.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert made[0] == made[1] and {"memo.docx", "memo.html", "tables.xlsx", "slides.pptx"} <= made[0].keys()
    assert decision_pages.BANNER.encode() in made[0]["memo.html"]


def test_a_figure_is_named_by_its_column_and_a_level_whatever_signs_they_hold() -> None:
    def name(kind: str, of: str, group: str, what: str) -> str:
        return figure_name(Figure(kind, of, group, what, False, *[None] * 10))  # type: ignore[arg-type]

    assert name("mean", "pay by hour by region", "region: North", "mean") == "mean of pay by hour · region North"
    assert name("percentage of two attributes", "a × b", "a: 1", "b: x, y: z") == "a 1 · b x, y: z"
    assert name("cell of a declared table", "t", "a: 1", "b: 2, c: 3") == "a 1 · b 2, c 3"
