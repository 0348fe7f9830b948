"""Roles, rates, the text form of a spec, and short ids.

What a random swap asks beyond roles, read from its parameters and told in words.
"""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.data.domain import Attribute, Domain, EditRule
from engine.release.spec import (
    AttributeSpec,
    ReleaseSpec,
    Selection,
    beyond_roles,
    pairs_wanted,
    percent,
    rate_text,
    selection_of,
)
from engine.report.context import candidate_words
from frontier_app.wording.text import spec_words, swap_short

THREE = ("Age", "Sex", "Job")
PARAMS = (
    *(("lean", "1.5"), ("risk", "Sex+Job"), ("near", "Age:2+Job:1")),
    *(("similar", "Sex+Job"), ("similarity", "1")),
)
SPEC = ReleaseSpec(AttributeSpec(THREE, "SUU"), "0.1", params=PARAMS)


def test_parameters_become_places_and_numbers():
    assert selection_of(PARAMS, THREE) == Selection("1.5", (1, 2), ((0, 2), (2, 1)), (1, 2), 1)
    assert selection_of((), THREE) == Selection() and Selection().limits(THREE) == []


def test_an_unknown_name_is_refused_with_a_suggestion():
    with pytest.raises(UsageError, match=r"near names the unknown attribute 'Agee'. Did you mean 'Age'\?"):
        selection_of((("near", "Agee:1"),), THREE)


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
    attributes = tuple(Attribute(name, ("v0", "v1")) for name in THREE)
    plain = ReleaseSpec(SPEC.attributes, "0.1")
    for name, told in (("Age", ("edit rules refuse pairs",)), ("Job", ())):
        assert beyond_roles(plain, Domain(attributes, (EditRule("r", ((name, ("v0",)),), True),))) == told


NAMES = ("Age", "Marital status", "Race", "a:b")


# -- rates -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("0.10", "0.1"),
        (" .1 ", "0.1"),
        ("1e-2", "0.01"),
        ("1E-7", "0.0000001"),
        ("1", "1"),
        ("1.000", "1"),
        ("0", "0"),
        ("-0.0", "0"),
        ("0e5", "0"),
        (0.1, "0.1"),
        (1, "1"),
        (Decimal("0.050"), "0.05"),
    ],
)
def test_a_rate_has_one_spelling(text, rate):
    assert rate_text(text) == rate == rate_text(rate)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ten", "rate == 'ten', must be a number between 0 and 1, such as 0.02."),
        ("", "rate == '', must be a number between 0 and 1, such as 0.02."),
        ("nan", "rate == nan, must be between 0 and 1."),
        ("inf", "rate == inf, must be between 0 and 1."),
        ("-0.1", "rate == -0.1, must be between 0 and 1."),
        ("10", "rate == 10, must be between 0 and 1. Did you mean 0.1?"),
        ("101", "rate == 101, must be between 0 and 1."),
    ],
)
def test_a_wrong_rate_is_answered_in_words(text, message):
    with pytest.raises(UsageError) as got:
        rate_text(text)
    assert str(got.value) == message


@pytest.mark.parametrize(
    ("rate", "words"), [("0.1", "10 %"), ("0.015", "1.5 %"), ("1", "100 %"), ("0", "0 %"), ("0.00001", "0.001 %")]
)
def test_percent(rate, words):
    assert percent(rate) == words


@given(st.integers(0, 1000), st.integers(2, 10**7))
def test_records_to_swap_are_floored_exactly(thousandths, n):
    rate = rate_text(Decimal(thousandths) / 1000)
    to_swap, pairs = pairs_wanted(rate, n)
    assert to_swap == thousandths * n // 1000
    assert pairs == min((to_swap + 1) // 2, n // 2)


# -- text form -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("Age:S Race:F", "SUFU"),
        ("Race:F, Age:S", "SUFU"),
        ("age:S", None),
        ("Age:s", "SUUU"),
        ("Marital status:C Age:S", "SCUU"),
        ("a:b:S", "UUUS"),
        ("  ", "UUUU"),
        ("Age:S,Marital status:F,Race:C,a:b:U", "SFCU"),
    ],
)
def test_parsing(text, roles):
    if roles is None:
        with pytest.raises(UsageError, match="unknown attribute 'age'"):
            AttributeSpec.parse(text, NAMES)
    else:
        assert AttributeSpec.parse(text, NAMES).roles == roles


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Age", "cannot read 'Age' in the spec 'Age'; write NAME:ROLE, such as \"Age:S Race:F\"."),
        ("Age:", "role of 'Age' == '', must be one of S, F, C, U."),
        ("Age:X", "role of 'Age' == 'X', must be one of S, F, C, U."),
        ("Age:SS", "role of 'Age' == 'SS', must be one of S, F, C, U."),
        ("Age:S Age:F", "attribute 'Age' is named twice in the spec 'Age:S Age:F'"),
        ("Rase:S", "unknown attribute 'Rase' in the spec 'Rase:S'. Did you mean 'Race'?"),
        (":S", "cannot read ':S' in the spec ':S'"),
    ],
)
def test_a_wrong_spec_is_answered_in_words(text, message):
    with pytest.raises(UsageError) as got:
        AttributeSpec.parse(text, NAMES)
    assert str(got.value).startswith(message)


@given(st.lists(st.sampled_from("SFCU"), min_size=4, max_size=4))
def test_the_text_form_reads_back(roles):
    spec = AttributeSpec(NAMES, "".join(roles))
    assert AttributeSpec.parse(str(spec), NAMES) == spec


def test_a_name_may_begin_like_another():
    names = ("A", "A:S B", "B")
    for roles in ("SUU", "USU", "SFC", "FSU", "UFS"):
        spec = AttributeSpec(names, roles)
        assert AttributeSpec.parse(str(spec), names) == spec


def test_roles_are_checked():
    with pytest.raises(UsageError, match="spec has 3 roles for 2 attributes; give one of S, F, C, U to each"):
        AttributeSpec(("A", "B"), "SUU")
    with pytest.raises(UsageError, match=r"role of 'B' == 'x', must be one of S, F, C, U\."):
        AttributeSpec(("A", "B"), "Sx")
    with pytest.raises(UsageError, match=r"rule == 'strikt', must be strict or loose\."):
        ReleaseSpec(AttributeSpec(("A", "B"), "SU"), "0.1", "strikt")


def test_places_and_names_by_role():
    spec = AttributeSpec(NAMES, "SFSC")
    assert spec.having("S") == (0, 2) and spec.names_having("S") == ("Age", "Race") and spec.having("U") == ()
    release = ReleaseSpec(spec, "0.10")
    structure = release.structure()
    assert (structure.differ, structure.equal, structure.free, structure.constrained) == ((0, 2, 3), (1,), (), True)
    assert release.structure((2, 3)).same_kind == (2,), "kinds count where something is exchanged"
    assert str(release) == "Age:S Marital status:F Race:S a:b:C at 10 %"


# -- digests ---------------------------------------------------------------------------------------------------------


def test_the_canonical_text_of_a_known_spec():
    """Pinned: ids are cut from its digest and written down in decisions."""
    spec = ReleaseSpec(AttributeSpec(("A", "B"), "SU"), "0.10")
    assert spec.canonical() == '{"mech": "random_swap", "rate": "0.1", "rule": "strict", "spec": {"A": "S", "B": "U"}}'
    assert spec.digest().startswith("dbb") and spec.digest() == ReleaseSpec(spec.attributes, "0.1").digest()


def test_digests_differ_by_everything_that_matters():
    names = ("A", "B")
    specs = [
        ReleaseSpec(AttributeSpec(names, "SU"), "0.1"),
        ReleaseSpec(AttributeSpec(names, "US"), "0.1"),
        ReleaseSpec(AttributeSpec(names, "SU"), "0.2"),
        ReleaseSpec(AttributeSpec(names, "SU"), "0.1", "loose"),
        ReleaseSpec(AttributeSpec(("B", "A"), "SF"), "0.1"),
    ]
    assert len({spec.digest() for spec in specs}) == len(specs)
