"""The statements of the public paragraph are looked at on the file, and the memo says which hold and who judges the
rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engine.report.claims import BOARD, PROGRAM, claims, claims_summary, statements
from engine.report.findings import Findings
from engine.report.loss_facts import Figure
from tests.engine.report.conftest import Case, N
from tests.engine.report.recount import release_of


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
    says = {row.says: row for row in statements(case.findings)}
    assert says["exchanged values"].found.startswith("Yes: in some records ")
    nothing = {row.says: row for row in statements(claiming(case, differing=()))}["exchanged values"]
    assert nothing.holds is False and "not so of it: exchanged values" in claims_summary(claiming(case, differing=()))


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
    rows = statements(replace(case.findings, claims=claimed, publish=told))
    assert [row.holds for row in rows if row.says.startswith("the share of records")] == [holds]
    assert claims(release_of(case), case.study.plan, (), share).extent is None


def test_the_board_judges_what_no_program_can(case: Case) -> None:
    plain = statements(case.findings)
    assert all(row.by != BOARD for row in plain) and any(row.by == PROGRAM for row in plain)
    told = replace(case.findings.publish, wording="Ask us.", title="Ages by A, public file")
    own = statements(replace(claiming(case, differing=("A",)), publish=told))
    assert own[-1].by == BOARD and "Ask us." in own[-1].says
    assert any(row.holds is False and "name A, which was altered" in row.found for row in own)
