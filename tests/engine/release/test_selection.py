"""What a random swap asks beyond roles, read from its parameters and told in words."""

from __future__ import annotations

import pytest

from engine.common.errors import UsageError
from engine.data.domain import Attribute, Domain, EditRule
from engine.release.selection import Selection, selection_of
from engine.release.spec import AttributeSpec, ReleaseSpec, beyond_roles
from engine.report.candidate_rows import candidate_words
from frontier_app.wording.text import spec_words, swap_short

NAMES = ("Age", "Sex", "Job")
PARAMS = (
    *(("lean", "1.5"), ("risk", "Sex+Job"), ("near", "Age:2+Job:1")),
    *(("similar", "Sex+Job"), ("similarity", "1")),
)
SPEC = ReleaseSpec(AttributeSpec(NAMES, "SUU"), "0.1", params=PARAMS)


def test_parameters_become_places_and_numbers():
    assert selection_of(PARAMS, NAMES) == Selection("1.5", (1, 2), ((0, 2), (2, 1)), (1, 2), 1)
    assert selection_of((), NAMES) == Selection() and Selection().limits(NAMES) == []


def test_an_unknown_name_is_refused_with_a_suggestion():
    with pytest.raises(UsageError, match=r"near names the unknown attribute 'Agee'. Did you mean 'Age'\?"):
        selection_of((("near", "Agee:1"),), NAMES)


def test_board_page_and_cards_say_what_is_asked_of_partners():
    words = candidate_words(SPEC)
    assert words == (
        "exchanges the attribute Age between records that lie at most 2 levels of Age apart and lie at most 1 level of "
        "Job apart and agree on at least 1 of Sex and Job, rare records more often than others"
    )
    card = str(spec_words(SPEC, 100))
    assert "that lie at most 2 levels of Age apart" in card and "by 1/count to the power 1.5" in card
    assert swap_short(SPEC).startswith("Age lean=1.5 risk=Sex+Job near=Age:2+Job:1") and "10 %" in swap_short(SPEC)
    plain = ReleaseSpec(SPEC.attributes, "0.1")
    assert candidate_words(plain) == "exchanges the attribute Age" and swap_short(plain) == "Age, 10 %"


def test_only_rules_on_swapped_attributes_are_beyond_the_roles():
    attributes = tuple(Attribute(name, ("v0", "v1")) for name in NAMES)
    plain = ReleaseSpec(SPEC.attributes, "0.1")
    for name, told in (("Age", ("edit rules refuse pairs",)), ("Job", ())):
        assert beyond_roles(plain, Domain(attributes, (EditRule("r", ((name, ("v0",)),), True),))) == told
