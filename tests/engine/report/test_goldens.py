"""Texts of the board's documents as they are, reviewed as diffs.

After a change of words: ``GOLDENS=write pytest tests/engine/report/test_goldens.py``, then read the diff.
"""

from __future__ import annotations

import difflib
import html
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from engine.decision.choice import choose
from engine.plan import samples
from engine.report.build_findings import findings
from engine.report.decision_pages import folded, page_one, pages
from engine.report.describe import remade
from engine.report.findings import Findings
from engine.study.keys import key_path
from engine.study.map_reader import risk_utility_map
from engine.sweeps.sweep import sweep
from tests.engine.report.test_earlier_formats import old

GOLDENS = Path(__file__).parents[2] / "goldens"
KEY = "7d1f0c2b9a8e4635b1c2d3e4f5a60718"


@pytest.fixture(scope="module")
def random_swap(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """The findings of a random swap of the Czech sample under a fixed key."""
    raw, plan = samples.load("czech")
    plan = replace(
        plan,
        space=replace(plan.space, swap_sizes=(1, 2), rates=("0.02", "0.1"), replicates=20),
        decision=replace(plan.decision, max_risk="0.002"),
    )
    path = tmp_path_factory.mktemp("goldens") / "czech.study"
    key_path(path).write_text(KEY)
    with sweep(raw, plan, path, workers=1) as study:
        choice = choose(study, risk_utility_map(study), "most useful release within the limit")
        return findings(study, remade(study, raw, choice.label, choice.replicate))


def text_of(page: str) -> str:
    """The text of a page, an element a line; days and times are left out."""
    page = re.sub(r"<style>.*?</style>|<img[^>]*>", "", page, flags=re.DOTALL)
    page = re.sub(r"</(p|h1|h2|h3|li|tr|dt|dd|caption|figcaption|title)>", "\n", page)
    text = html.unescape(re.sub(r"<[^>]+>", " ", page))
    lines = (re.sub(r"\s+", " ", line).strip() for line in text.split("\n"))
    return re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?", "DAY", "\n".join(filter(None, lines))) + "\n"


def board_page(found: Findings) -> str:
    """What the Board page shows, folded parts included."""
    shown = page_one(found)
    lines = [*shown["request"], *(f"{row.title}: {row.before} | {row.after} {row.limit}" for row in shown["figures"])]
    lines += [f"{name}: {text}" for name, text in shown["before_signing"]]
    for title, answer, pictures, parts in folded(found):
        lines += ["", f"{title} {answer}", *(f"[{picture.title}]" for picture in pictures), *parts]
    return re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?", "DAY", "\n".join(lines)) + "\n"


def check(name: str, text: str) -> None:
    """Compare a text with its golden, or write it."""
    path = GOLDENS / f"{name}.txt"
    if os.environ.get("GOLDENS") == "write":
        path.write_text(text, encoding="utf-8")
    golden = path.read_text(encoding="utf-8")
    changed = "\n".join(difflib.unified_diff(golden.split("\n"), text.split("\n"), lineterm="", n=0))
    assert not changed, f"{path.name} reads otherwise; if it should, run with GOLDENS=write\n{changed}"


def test_the_decision_sheet_of_a_random_swap(random_swap: Findings) -> None:
    check("random_pages", text_of(pages(random_swap)))
    check("random_board_page", board_page(random_swap))


def test_the_sheet_of_a_release_that_something_speaks_against(random_swap: Findings) -> None:
    against = replace(
        random_swap.recommendation,
        obstacles=("The released run is over the limit: small-cell risk 0.3 % of unaltered records, limit 0.2 %.",),
        despite="the users need the file this month",
    )
    check("refused_pages", text_of(pages(replace(random_swap, recommendation=against))))


def test_the_record_of_a_decision(random_swap: Findings) -> None:
    cover = replace(random_swap.cover, state="approved", number="DRB-26-014", conditions="no further release")
    check("approved_pages", text_of(pages(replace(random_swap, cover=cover))))


@pytest.mark.parametrize("name", ["census-tell", "fair-withhold"])
def test_a_bundle_of_an_earlier_version(name: str) -> None:
    check(f"format_1_{name.replace('-', '_')}", text_of(pages(Findings.from_json(old(name)))))
