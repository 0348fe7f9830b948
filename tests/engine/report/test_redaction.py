"""Free texts lose what identifies a run and keep the rest."""

from __future__ import annotations

import re

import pytest

from engine.decision.bounds import title_of
from engine.measures import MEASURES, call
from engine.measures.base import MeasureCall
from engine.report.redaction import Redactor
from engine.report.words import about, figure

SAFE = Redactor({"x7f3": "B"}, (call("hellinger"),))


def test_what_a_measure_says_holds_numbers_and_no_names_of_parameters():
    told = {
        "small_cells_unswapped[n_rule=5]": "(fewer than 5 together)",
        "small_cells_subset[size=2]": "a few keys (2 of them)",
        "l_diversity[target=A;l=3]": "fewer than 3 different values",
        "k_anonymity[k=4]": "that fewer than 4 records share",
        "altered_share_max": "no fewer than 45 records",
        "r2": "everyone's keys",
    }
    assert {text: words in call(text).meaning for text, words in told.items()} == dict.fromkeys(told, True)
    for measure in MEASURES.values():
        for name, value in measure.parameters.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                assert not re.search(rf"(?<!at )(?<![\w'])\b{name}\b", MeasureCall(measure).meaning), measure.name


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x7f3 is better than x99a", "candidate B is better than another candidate"),
        ("x7f3/12 is it", "candidate B is it"),
        ("Age:S at 10 % is fine", "Age:S at 10 % is fine"),
        ("see /home/ada/plan.toml or C:\\data\\x.csv", "see [withheld] or [withheld]"),
        ("see ~/a/b and \\\\server\\share\\f", "see [withheld] and [withheld]"),
        ("and/or at https://agency.example/a/b", "and/or at https://agency.example/a/b"),
        ("replicate no. 3 was lucky", "one run was lucky"),
        ("key " + "0f" * 16, "key [withheld]"),
        ("least hellinger", "least Hellinger distance"),
    ],
)
def test_what_goes_and_what_stays(text: str, wanted: str) -> None:
    assert SAFE(text) == wanted


def test_a_column_in_the_name_of_a_measure_may_have_any_name() -> None:
    for odd in ("a\\x", r"b\1", r"c\g<0>"):
        named = call(f"small_cells[attributes={odd}+Age]")
        assert SAFE.__class__({}, (named,))(f"by {named}").endswith(f"of {odd} × Age)")


def test_the_title_of_a_measure_has_its_parameters_and_no_file() -> None:
    assert title_of(call("small_cells[n_rule=5;attributes=Age+Sex]")).endswith("(n rule 5, of Age × Sex)")
    assert "secret" not in title_of(call("external_links[file=/data/secret.csv]"))
    assert title_of(call("entropy_change")).startswith("Size of ")


def test_figures_keep_the_digits_that_they_have() -> None:
    assert [figure(x) for x in (0.15161, 0.1501, 1.006, 12.04, 0.25)] == ["0.152", "0.150", "1.01", "12.0", "0.25"]
    assert about(0.15161, 0.0016) == "0.1516 ± 0.0016" and about(0.15161, 0.01) == "0.152 ± 0.010"
