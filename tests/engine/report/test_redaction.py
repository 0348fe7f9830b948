"""Free texts lose what identifies a run and keep the rest."""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pytest

from engine.common.wording import lower_first
from engine.measures import MEASURES, call
from engine.measures.base import MeasureCall
from engine.report.redaction import (
    ONE_DIGIT,
    Redactor,
    coarse,
    error_beside,
    is_count_risk,
    is_count_title,
    is_one_digit_title,
    meaning_of,
    title_of,
    two_digits,
)
from engine.report.words import about, figure

SAFE = Redactor(
    {"x7f3": "B"}, frozenset({Decimal("0.1"), Decimal("0.025")}), ("Age", "Age group"), (call("hellinger"),)
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x7f3 is better than x99a", "candidate B is better than another candidate"),
        ("x7f3/12 is it", "candidate B is it"),
        ("at 10 % it is fine", "at [withheld] it is fine"),
        ("at 10% and .1 and 0.10 and 2.5 per cent", "at [withheld] and [withheld] and [withheld] and [withheld]"),
        ("10 people, 110 %, 0.15 and 1.10 stay", "10 people, 110 %, 0.15 and 1.10 stay"),
        ("see /home/ada/plan.toml or C:\\data\\x.csv", "see [withheld] or [withheld]"),
        ("see ~/a/b and \\\\server\\share\\f", "see [withheld] and [withheld]"),
        ("and/or at https://agency.example/a/b", "and/or at https://agency.example/a/b"),
        ("Age group:S with Age:F", "Age group with Age"),
        ("x7f3 Age:S at 10 % loses least", "candidate B, the exchange of Age (rate withheld) loses least"),
        ("x7f3/2, Age:S Age group:F", "candidate B, the exchange of Age"),
        ("Age:S Age group:S at 0.025", "the exchange of Age and Age group (rate withheld)"),
        ("Age:F at 15 %, or Age:S at 10 %", "Age at 15 %, or the exchange of Age (rate withheld)"),
        ("Age:F Age group:U at 10%", "Age and Age group (rate withheld)"),
        ("replicate no. 3 was lucky", "one run was lucky"),
        ("key " + "0f" * 16, "key [withheld]"),
        ("least hellinger", "least Hellinger distance"),
    ],
)
def test_what_goes_and_what_stays(text: str, wanted: str):
    assert SAFE(text) == wanted


def test_a_column_may_have_any_name():
    odd = ("a\\x", r"b\1", r"c\g<0>")
    redact = Redactor({}, frozenset(), odd)
    assert redact(" and ".join(f"{name}:S" for name in odd)) == " and ".join(odd)


def test_titles():
    assert title_of(call("small_cells[n_rule=5;attributes=Age+Sex]")) == (
        "Unaltered records in small cells (n rule 5, of Age × Sex)"
    )
    assert "secret" not in title_of(call("external_links[file=/data/secret.csv]"))
    assert title_of(call("entropy_change")).startswith("Size of ")
    assert "fewer than 5" in meaning_of(call("small_cells[n_rule=5]"))
    assert is_count_risk(call("small_cells")) and not is_count_risk(call("r1"))
    assert [lower_first(t) for t in ("Hellinger distance", "Cramér's V", "Small cells", "")] == [
        "Hellinger distance",
        "Cramér's V",
        "small cells",
        "",
    ]


def test_figures_that_can_equal_the_share_of_records_changed_are_coarse():
    values = np.array([0.05371, -0.2236, 0.0, np.nan, 123.0])
    np.testing.assert_allclose(two_digits(values), [0.054, -0.22, 0.0, np.nan, 120.0])
    for name, sparse, is_coarse in (
        ("total_variation", False, True),
        ("hellinger", False, False),
        ("hellinger", True, True),
        ("weighted_hellinger", True, True),
        ("cramers_v_change", True, False),
    ):
        assert (float(coarse(call(name), np.array([0.05371]), sparse)[0]) == 0.054) is is_coarse


@pytest.mark.parametrize(
    ("name", "exposed", "is_coarse"),
    [
        *((name, share, True) for name in ("r1", "r2", "r1_share", "p1", "p2") for share in (0.0, 1.0)),
        *((name, share, share > 0.25) for name in ("unchanged_uniques",) for share in (0.1, 0.3, 0.9)),
        ("sample_uniques", 0.9, False),
    ],
)
def test_figures_of_who_kept_the_keys_are_coarse_where_they_tell_how_many_did(
    name: str, exposed: float, is_coarse: bool
):
    assert (float(coarse(call(name), np.array([0.97024]), False, exposed)[0]) == 0.97) is is_coarse


def test_an_error_is_as_coarse_as_the_figure_beside_it():
    values, errors = np.array([231.4, 231.4, 0.05371, 7.0]), np.array([3.2, 12.1, 0.0004, 1.234])
    np.testing.assert_allclose(error_beside(values, two_digits(values), errors), [10, 20, 0.001, 1.234])
    still = np.array([0.15161])
    np.testing.assert_allclose(error_beside(still, two_digits(still), np.zeros(1)), [0.01])  # the rounding is an error


@pytest.mark.parametrize(
    ("value", "error", "alone", "beside"),
    [
        (0.15161, 0.0016, "0.15", "about 0.15"),
        (0.15161, 0.021, "0.15", "0.15 ± 0.03"),
        (0.0996, 0.004, "0.1", "about 0.10"),
        (-0.03521, 0.0004, "−0.035", "about −0.035"),
        (231.4, 3.2, "230", "about 230"),
        (231.4, 12.1, "230", "230 ± 20"),
    ],
)
def test_no_digit_is_shown_that_was_not_kept(value: float, error: float, alone: str, beside: str):
    kept = two_digits(np.array([value]))
    se = error_beside(np.array([value]), kept, np.array([error]))
    assert (figure(float(kept[0])), about(float(kept[0]), float(se[0]))) == (alone, beside)


def test_figures_that_nobody_rounded_keep_their_digits():
    assert [figure(x) for x in (0.15161, 0.1501, 1.006, 12.04, 0.25)] == ["0.152", "0.150", "1.01", "12.0", "0.25"]
    assert about(0.15161, 0.0016) == "0.1516 ± 0.0016" and about(0.15161, 0.01) == "0.152 ± 0.010"


@pytest.mark.parametrize(
    ("name", "follows"),
    [
        ("total_variation", True),
        ("weighted_hellinger", True),
        ("hellinger_two_way", True),
        ("false_zeros", True),
        ("hellinger_large", False),
        ("cramers_v_change", False),
    ],
)
def test_which_measures_follow_the_records_changed(name: str, follows: bool):
    assert call(name).measure.follows_changes is follows


@pytest.mark.parametrize(
    ("name", "counted", "of_keys"),
    [
        ("small_cells", True, True),
        ("small_cells[n_rule=5]", True, True),
        ("small_cells[attributes=A+B]", True, False),
        ("small_cells[n_rule=5;attributes=A+B]", True, False),
        ("sample_uniques", False, False),
    ],
)
def test_the_measure_behind_a_title_in_a_bundle_is_known(name: str, counted: bool, of_keys: bool) -> None:
    title = title_of(call(name))
    for shown in (title, title + ONE_DIGIT):
        assert is_count_title(shown) == counted and is_count_title(shown, of_keys=True) == of_keys
        assert is_one_digit_title(shown) == (shown != title)


def test_what_a_measure_says_holds_numbers_and_no_names_of_parameters():
    told = {
        "small_cells_unswapped[n_rule=5]": "(fewer than 5 together)",
        "small_cells_subset[size=2]": "a few keys (2 of them)",
        "l_diversity[target=A;l=3]": "fewer than 3 different values",
        "k_anonymity[k=4]": "that fewer than 4 records share",
        "altered_share_max": "no fewer than 45 records",
        "r2": "everyone's keys",
    }
    assert {text: words in meaning_of(call(text)) for text, words in told.items()} == dict.fromkeys(told, True)
    for measure in MEASURES.values():
        for name, value in measure.parameters.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                assert not re.search(rf"(?<!at )(?<![\w'])\b{name}\b", meaning_of(MeasureCall(measure))), measure.name
