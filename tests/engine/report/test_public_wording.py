"""The public paragraph claims nothing that is not so of the file, and warns its users."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.common.errors import EngineError
from engine.decision.statements import statement
from engine.report.audit import _row_order
from engine.report.facts import Figure, Publish
from engine.report.findings import Findings
from engine.report.public_wording import (
    claims,
    claims_checked,
    methods_paragraph,
    public_text,
    public_wording,
)
from tests.engine.report.conftest import Case, N
from tests.engine.report.recount import release_of


def paragraph(*, swap: bool = True, new_ids: bool = False) -> str:
    return methods_paragraph(Publish("", "", "", ()), swap=swap, n_tables=1, new_ids=new_ids)


def test_it_names_no_organisations_and_identifiers_only_where_they_are_released() -> None:
    assert "organisation" not in paragraph() and "some variables" not in paragraph()
    assert "identifiers" not in paragraph() and "identifiers were assigned anew" in paragraph(new_ids=True)


@pytest.mark.parametrize("extent", ["", "between 5 and 15 %"])
def test_of_several_files_nothing_is_said_to_be_unpublished_that_their_differences_show(extent: str) -> None:
    of_one, of_ten = (
        methods_paragraph(Publish("", "", extent, ()), swap=True, n_tables=n, new_ids=False) for n in (1, 10)
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
    assert _row_order(order, 500)[1] is holds


def test_a_title_that_names_no_people_fits_the_paragraph() -> None:
    titled = methods_paragraph(Publish("Risk factors, public file", "", "", ()), swap=True, n_tables=1, new_ids=False)
    assert titled.startswith(
        "To protect confidentiality, values in this file (“Risk factors, public file”) were exchanged"
    )
    assert paragraph().startswith("To protect confidentiality, values in this file were exchanged")


def test_the_paragraph_follows_the_policy_of_the_plan(case: Case) -> None:
    assert "are not published" in public_wording(case.findings)
    given = replace(case.findings, publish=Publish("Cars", "Own words.", "between 1 and 5 percent", ("id",)))
    text = public_wording(given)
    assert "between 1 and 5 percent" in text and text.endswith("Own words.") and "are not published" not in text


def claiming(case: Case, **parts: Any) -> Findings:
    assert case.findings.claims is not None
    return replace(case.findings, claims=replace(case.findings.claims, **parts))


def test_the_attributes_that_differ_are_those_of_which_some_record_differs(case: Case) -> None:
    data = case.realisation.data
    differing = [
        name for j, name in enumerate(data.domain.names) if not np.array_equal(case.realisation.codes(j), data.codes[j])
    ]
    assert case.findings.claims is not None
    assert list(case.findings.claims.differing) == differing != []
    (true,), (untrue,) = claims_checked(case.findings), claims_checked(claiming(case, differing=()))
    assert true.values["untrue"] == () and untrue.values["untrue"] == ("exchanged values",)


@pytest.mark.parametrize(("after", "weaker"), [(0.1, True), (0.3, False), (None, None)])
def test_the_strongest_association_of_an_altered_and_another_attribute_decides(case: Case, after, weaker) -> None:
    """An association next to 0 grows by chance: the strongest one decides."""
    altered = claims(release_of(case), case.study.plan, (), 0.1).differing
    other, far = [name for name in case.study.names if name not in altered][:2]

    def _association(first: str, second: str, what: str, before: float, after: float | None) -> Figure:
        pair = " × ".join(sorted((first, second), key=case.study.names.index))
        plain = ("association", pair, "", what, False, N, N, None, None, before, None, after, None, None, None)
        return Figure(*plain)  # type: ignore[arg-type]

    rows = [
        _association(altered[0], other, "Cramér's V", 0.2, after),
        _association(altered[0], far, "Cramér's V", 0.01, 0.04),
        _association(altered[0], other, "contingency coefficient C", 0.2, 0.2),
        _association(other, far, "Cramér's V", 0.2, 0.9),
    ]
    rows = rows if after is not None else rows[2:]
    assert claims(release_of(case), case.study.plan, rows, 0.1).weaker is weaker


@pytest.mark.parametrize(("share", "holds"), [(0.03, True), (0.07, False)])
def test_a_range_that_the_share_leaves_is_not_called_true(case: Case, share: float, holds: bool) -> None:
    publish = replace(case.study.plan.publish, rate_policy="range", rate_range="between 1 and 5 percent")
    plan = replace(case.study.plan, publish=publish)
    claimed = claims(release_of(case), plan, (), share)
    told = replace(case.findings.publish, extent="between 1 and 5 percent")
    (checked,) = claims_checked(replace(case.findings, claims=claimed, publish=told))
    assert (checked.values["untrue"] == ()) is holds
    assert claims(release_of(case), case.study.plan, (), share).extent is None


def test_the_board_judges_what_no_program_can(case: Case) -> None:
    (plain,) = claims_checked(case.findings)
    told = replace(case.findings.publish, wording="Ask us.", title="Ages by A, public file")
    (own,) = claims_checked(replace(claiming(case, differing=("A",)), publish=told))
    assert own.values["n"] == int(str(plain.values["n"])) + 1
    before, after = (str(claim.values["unchecked"]) for claim in (plain, own))
    assert "Ask us." in after and "Ask us." not in before
    assert own.values["untrue"] == ("what is not published",)


def test_a_statement_of_another_group_is_not_for_the_public() -> None:
    assert public_text([statement("may_mislead")]).endswith("do not show this.")
    for secret in (statement("alters", swap=True, names=("A",), n=1, of=9, files=1, method="x"), statement("off_plan")):
        with pytest.raises(EngineError, match="is not for the public"):
            public_text([statement("may_mislead"), secret])
