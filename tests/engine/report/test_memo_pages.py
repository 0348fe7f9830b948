"""The memo's first page stands alone and seven pages of evidence follow, none of them half empty."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.common.cache import Cache
from engine.data.io.readers import read_table
from engine.data.microdata import RawTable
from engine.decision.choice import choose, obstacles_now
from engine.decision.states import decide
from engine.plan import AboutPlan, Plan, TablePlan, ThreatPlan
from engine.plan.analysis import AnalysisPlan
from engine.plan.edit import edit_plan
from engine.plan.guess import first_plan
from engine.plan.samples import load
from engine.report import pdf_file
from engine.report.build_findings import findings
from engine.report.describe import remade
from engine.report.html_file import html_text
from engine.report.ledger_facts import EarlierFacts, LedgerFacts
from engine.report.memo import memo
from engine.study.keys import read_key
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.sweep import recheck, sweep
from tests.shared import shared_file

MOST_PAGES = 8
KEY = "0123456789abcdef" * 2
_MADE = Cache()
MEASURES = ["small_cells", "hellinger", "total_variation", "entropy_change"]


def submitted(folder: Path, raw: RawTable, plan: Plan, bound: float) -> Any:
    """The findings on what a bound picks, once it is submitted."""
    (folder / "s.study.key").write_text(KEY)
    study: Study = sweep(raw, plan, folder / "s.study", workers=1)
    choice = choose(study, risk_utility_map(study), "the most useful release within the bound", max_risk=bound)
    recheck(study, raw, read_key(folder / "s.study.key"), [study.find(choice.label)[0].index], 400)
    despite = "the law asks for this table" if obstacles_now(study, choice) else ""
    decide(study, "submitted", "A. Analyst", despite=despite)
    run = remade(study, raw, choice.label, choice.replicate)
    return findings(study, run)


def readme_example(folder: Path) -> Any:
    raw, plan = load("czech")
    return submitted(folder, raw, edit_plan(plan, swap_sizes=[1, 2], rates=["0.02", "0.10"], replicates=20), 0.002)


def filled_in(folder: Path) -> Any:
    """The same with everything stated that a plan can state, and a rule for the run."""
    raw, plan = load("czech")
    about = AboutPlan(
        survey="Prospective study of car workers",
        vintage="1981",
        sponsor="Institute of Health Statistics",
        contact="Head of disclosure control, extension 4411",
        authority="Statistics Act, section 12",
        design="all workers of one plant; no sample, no strata, no weights, no households",
        geography="one city; no smaller area is released",
        overlaps="none",
    )
    threat = ThreatPlan(
        "a colleague who knows who took part, and smoking, work and family history of some",
        ("none known",),
        "an employer learns of heart disease in the family",
        published_tables="no",
    )
    plan = edit_plan(plan, swap_sizes=[1, 2], rates=["0.02", "0.10"], replicates=100, adaptive=True, measures=MEASURES)
    publish = replace(plan.publish, title="Risk factors of car workers, public use file")
    decision = replace(plan.decision, max_risk="0.002", realisation="first_within")
    plan = replace(plan, about=about, threat=threat, publish=publish, decision=decision)
    made = submitted(folder, raw, plan, 0.002)
    locked = replace(made.approved, number="DAP-26-003", at="2026-11-23", departures=())
    return replace(made, approved=locked)


def _census(folder: Path) -> Any:
    raw = read_table(shared_file("data/cps8d.csv"))
    plan = edit_plan(first_plan(raw), swap_sizes=[1], rates=["0.02", "0.1"], replicates=20)
    analyses = (
        AnalysisPlan("high pay", "AnnSal ~ Age + Edu + MS + Race + Sex", "logistic"),
        AnalysisPlan("married", "MS ~ Age + Sex + AvgHrs + Race", "logistic"),
    )
    plan = replace(plan, analyses=analyses, tables=(TablePlan("pay by sex", ("AnnSal", "Sex")),))
    return submitted(folder, raw, plan, 0.0138)


def census(folder: Path) -> Any:
    return _MADE.cached("census", lambda: _census(folder))


def lowest(page: Any) -> float:
    """Where the lowest text or picture of a page stands, as a share of its height; without the page number."""
    height, lows = float(page.mediabox.height), [1.0]

    def text(string: str, matrix: list[float], text_matrix: list[float], *_: Any) -> None:
        if string.strip():
            lows.append((text_matrix[4 + 1] * matrix[3] + matrix[5]) / height)

    def operand(operator: bytes, _: Any, matrix: list[float], __: Any) -> None:
        if operator == b"Do":
            lows.append(min(matrix[5], matrix[5] + matrix[3]) / height)

    page.extract_text(visitor_text=text, visitor_operand_before=operand)
    return min(low for low in lows if low > FOOT)


FOOT = 0.07


def after_many(folder: Path) -> Any:
    """The census after five studies with other plans, and beside two that are said to be unrelated."""
    differing = ("keys was A, B, C, D, E, F, is A, B", *(f"another entry for the {word}" for word in LONG.split()))
    earlier = EarlierFacts("2026-01-02", 84, 2, "the board returned the recommendation", ("0.014", "0.02"), differing)
    report = census(folder)
    ledger = LedgerFacts((earlier,) * 5, 2, ("a trial for other users",), 1, approved_after=True)
    return replace(report, approved=replace(report.approved, ledger=ledger))


LONG = "methods rates measures runs weights tables"


@pytest.mark.slow
@pytest.mark.parametrize("example", [readme_example, filled_in, census, after_many])
def test_the_memo_has_eight_pages_at_most_and_none_is_half_empty(tmp_path: Path, example: Any) -> None:
    import pypdf

    if why := pdf_file.why_no_pdf():
        pytest.skip(f"no PDF: {why}")
    content = pdf_file.pdf_bytes(html_text(memo(example(tmp_path))))
    assert content is not None
    pages = pypdf.PdfReader(io.BytesIO(content)).pages
    assert 2 < len(pages) <= (MOST_PAGES + (example is after_many) if example in (census, after_many) else 7)
    texts = [" ".join(page.extract_text().split()) for page in pages]
    assert "Signed for the board" in texts[0] and not any("Signed for the board" in text for text in texts[1:])
    assert "2 The data, and what an intruder knows" in texts[1]
    assert all(lowest(page) < 0.5 for page in pages[:-1]), [round(lowest(page), 2) for page in pages]
    if example is filled_in:
        (chart,) = (i for i, text in enumerate(texts) if "The frontier of " in text and "averages over runs (" in text)
        assert "The recommended candidate and its neighbours" in texts[chart]
        assert len(pages) == 6 or lowest(pages[-1]) < 0.5
