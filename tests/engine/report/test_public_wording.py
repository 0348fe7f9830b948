"""The public paragraph claims nothing that is not so of the file, and warns its users."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.report.audit import _row_order
from engine.report.coherence import check_words
from engine.report.facts import EDITS, ROW_ORDER, Check, Exposure, Publish
from engine.report.public_wording import match_words, methods_paragraph, public_wording
from tests.engine.report.conftest import Case


def paragraph(*, swap: bool = True, new_ids: bool = False) -> str:
    return methods_paragraph(title="", extent="", wording="", swap=swap, n_tables=1, new_ids=new_ids)


def test_it_names_no_organisations_and_identifiers_only_where_they_are_released() -> None:
    assert "organisation" not in paragraph() and "some variables" not in paragraph()
    assert "identifiers" not in paragraph() and "identifiers were assigned anew" in paragraph(new_ids=True)


@pytest.mark.parametrize("extent", ["", "between 5 and 15 %"])
def test_of_several_files_nothing_is_said_to_be_unpublished_that_their_differences_show(extent: str) -> None:
    of_one, of_ten = (
        methods_paragraph(title="", extent=extent, wording="", swap=True, n_tables=n, new_ids=False) for n in (1, 10)
    )
    assert "ariables" in of_one and "not published" in of_one
    assert "Where the files differ, values were concerned" in of_ten and "ariables" not in of_ten.split("In partic")[0]
    assert ((extent in of_one) == (extent in of_ten) and "The share" not in of_ten) or extent


def test_users_of_a_swapped_file_are_warned_of_weaker_associations() -> None:
    assert "tend to be weaker" in paragraph() and "standard errors" in paragraph()
    assert "tend to be weaker" not in paragraph(swap=False)


@pytest.mark.parametrize(
    ("order", "holds"),
    [
        (None, None),
        (np.random.default_rng(1).permutation(500), True),
        (np.arange(500), False),
        (np.zeros(500, np.int64), False),
    ],
)
def test_a_random_order_is_claimed_of_a_file_that_has_one(order: np.ndarray | None, holds: bool | None) -> None:
    check = _row_order(order, 500)
    assert (check.name, check.holds) == (ROW_ORDER, holds)


def test_what_was_not_looked_at_is_not_called_inapplicable() -> None:
    assert check_words(Check(EDITS, "none", None)) == "not checked: none declared"
    assert check_words(Check(ROW_ORDER, "later", None)) == "checked at export"
    assert (check_words(Check("x", "y", True)), check_words(Check("x", "y", False))) == ("holds", "does not hold")


def test_no_promise_of_a_random_order_stands_beside_a_check_that_is_yet_to_come() -> None:
    check = _row_order(None, 500)
    assert "not checked" not in f"{check_words(check)} {check.found}".lower()
    assert "A file that keeps anything of the original order is not written." in check.found


@pytest.mark.parametrize(
    ("small", "unaltered", "wanted"),
    [
        (0, 0, "No record stands in a small cell of this file, so nobody who knows the keys alone finds an apparent"),
        (2, 1, "Of 2 records in small cells of this file 1 is unaltered: a match with the other is false."),
        (3, 1, "Of 3 records in small cells of this file 1 is unaltered: a match with one of the others is false."),
        (
            2,
            2,
            "In this file 2 records in small cells are unaltered, and none is altered: a match with one of them",
        ),
    ],
)
def test_the_board_reads_what_the_sentence_on_matches_means_in_this_file(
    small: int, unaltered: int, wanted: str
) -> None:
    exposure = Exposure(3, 5, small, unaltered, ())
    assert match_words(exposure).startswith(wanted)


def test_a_title_that_names_no_people_fits_the_paragraph() -> None:
    titled = methods_paragraph(
        title="Risk factors, public file", extent="", wording="", swap=True, n_tables=1, new_ids=False
    )
    assert titled.startswith(
        "To protect confidentiality, values in this file (“Risk factors, public file”) were exchanged"
    )
    assert paragraph().startswith("To protect confidentiality, values in this file were exchanged")


def test_where_every_match_is_false_none_is_called_unaltered() -> None:
    exposure = Exposure(3, 5, 2, 0, ())
    text = match_words(exposure, is_exactly_none=True)
    assert "none is unaltered: a match with one of them is false" in text and "about 0" not in text


def test_the_paragraph_follows_the_policy_of_the_plan(case: Case) -> None:
    assert "are not published" in public_wording(case.findings)
    given = replace(case.findings, publish=Publish("Cars", "Own words.", "between 1 and 5 percent", ("id",)))
    text = public_wording(given)
    assert "between 1 and 5 percent" in text and text.endswith("Own words.") and "are not published" not in text
