"""The dashboard reads the glossary: a list of terms, each once, with a meaning and perhaps a source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.measures import MEASURES

TEXT, CODE = (Path(__file__).parents[1] / "docs" / "GLOSSARY.md").read_text(encoding="utf-8").split("\n# ")
ENTRIES = {
    term: " ".join(meaning.split())
    for term, _, meaning in (part.partition("**: ") for part in TEXT.split("\n* **")[1:])
}
TERMS = [*ENTRIES]


def test_a_table_of_words_of_the_code_follows_and_gives_each_a_meaning():
    title, *rest = CODE.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in rest if line.startswith("|")][2:]
    words = [name for first, _, _ in rows for name in first.split(", ")]
    assert title == "Words of the code" and words
    assert all(meaning for _, meaning, _ in rows)
    assert len(set(words)) == len(words)


def test_terms_are_in_alphabetical_order_and_occur_once():
    folded = [term.casefold() for term in TERMS]
    assert folded == sorted(folded) and len(folded) > 100
    assert len(set(folded)) == len(folded) == TEXT.count("\n* ")


def test_a_term_that_another_one_refers_to_is_there():
    known = {term.casefold() for term in TERMS}
    assert not [name for body in ENTRIES.values() for name in re.findall(r"See ([\w -]+)\.", body) if name not in known]


def test_small_cell_risk_is_not_taken_for_a_probability():
    assert "not the chance of being identified" in ENTRIES["Small-cell risk"]


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


def test_every_measure_has_a_symbol_of_its_own_a_meaning_a_range_and_a_source():
    for one in MEASURES.values():
        assert one.symbol and one.title and one.meaning and one.range and one.source, one.name
    symbols = [one.symbol for one in MEASURES.values()]
    assert len(set(symbols)) == len(symbols)


@pytest.mark.parametrize("role", ["S", "F", "C", "U"])
def test_every_role_is_there_with_its_source(role):
    (entry,) = [body for term, body in ENTRIES.items() if term.startswith(f"Role {role} (")]
    assert "Source: GKS" in entry


def test_no_risk_is_read_as_the_chance_of_identification_unless_it_says_so():
    for one in MEASURES.values():
        if one.symbol == "DR":
            assert "not the chance that somebody is identified" in one.meaning
        elif one.kind == "risk":
            assert "chance of identification" not in one.meaning and "probability of identification" not in one.meaning
