"""The glossary is regular, since the dashboard reads it: a heading, one to three sentences, perhaps a source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.measures import MEASURES

TEXT, CODE = (Path(__file__).parents[1] / "docs" / "GLOSSARY.md").read_text(encoding="utf-8").split("\n# ")
INTRODUCTION, *SECTIONS = re.split(r"^## ", TEXT, flags=re.MULTILINE)
TERMS = [section.split("\n", 1)[0] for section in SECTIONS]


def test_it_begins_with_one_title():
    assert INTRODUCTION.startswith("# Glossary\n\n")
    assert len(re.findall("^#", TEXT, flags=re.MULTILINE)) == 1 + len(SECTIONS)


def test_a_table_of_words_of_the_code_follows_and_gives_each_a_meaning():
    title, *rest = CODE.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in rest if line.startswith("|")][2:]
    words = [name for first, _, _ in rows for name in first.split(", ")]
    assert title == "Words of the code" and {"run", "remake", "replay", "recheck", "block", "member"} <= set(words)
    assert all(meaning for _, meaning, _ in rows)
    assert len(set(words)) == len(words)


def test_terms_are_in_alphabetical_order_and_occur_once():
    folded = [term.casefold() for term in TERMS]
    assert folded == sorted(folded)
    assert len(set(folded)) == len(folded)


@pytest.mark.parametrize("section", SECTIONS, ids=TERMS)
def test_a_term_is_defined_in_a_few_sentences(section):
    term, *paragraphs = [part.strip() for part in section.strip().split("\n\n")]
    assert term == term.strip() and "\n" not in term
    assert 1 <= len(paragraphs) <= 2
    definition = " ".join(paragraphs[0].split())
    assert definition.endswith(".")
    assert not definition.startswith("Source:")
    if len(paragraphs) == 2:
        assert re.fullmatch(r"Source: \S.*\.", paragraphs[1])


def test_small_cell_risk_is_not_taken_for_a_probability():
    section = next(section for section in SECTIONS if section.startswith("Small-cell risk\n"))
    assert "not the chance of being identified" in " ".join(section.split())


@pytest.mark.parametrize(
    "term",
    [
        "Candidate release",
        "Data utility (DU)",
        "Disclosure risk (DR)",
        "Hellinger distance",
        "Key",
        "Mechanism",
        "Neighbour",
        "Realisation",
        "Replicate",
        "Risk–utility frontier",
        "Scenario",
        "Study key",
        "Swap rate",
        "True swap",
        "Undominated",
    ],
)
def test_the_words_on_screen_are_there(term):
    assert term in TERMS


@pytest.mark.parametrize("page", ["README.md", "docs/tour.md"])
def test_a_word_that_a_page_introduces_is_there(page):
    text = (Path(__file__).parents[1] / page).read_text(encoding="utf-8")
    introduced = re.findall(r"\b[Aa] \*([a-z ]+)\*(?!\*)", text)
    known = {re.sub(r" (\(.*\)|of .*)$", "", term).casefold() for term in TERMS}
    assert introduced and not [word for word in introduced if word not in known]


def test_every_symbol_has_a_plain_sentence_a_range_and_a_source():
    for one in MEASURES.values():
        assert one.symbol and one.title and one.range and one.source, one.name
        assert one.meaning[0].isupper() and one.meaning.endswith(".") and len(one.meaning.split()) >= 8, one.name
    symbols = [one.symbol for one in MEASURES.values()]
    assert len(set(symbols)) == len(symbols)


@pytest.mark.parametrize("role", ["S", "F", "C", "U"])
def test_every_role_is_there_with_its_source(role):
    (section,) = [section for section in SECTIONS if section.startswith(f"Role {role} (")]
    assert "\nSource: Gomatam" in section


def test_no_risk_is_read_as_the_chance_of_identification_unless_it_says_so():
    for one in MEASURES.values():
        if one.symbol == "DR":
            assert "not the chance that somebody is identified" in one.meaning
        elif one.kind == "risk":
            assert "chance of identification" not in one.meaning and "probability of identification" not in one.meaning
