"""Gomatam, Karr and Sanil (2005), *Data swapping as a decision problem*: the paper's statements and figures.

Exact statements are checked exactly.  Means beside an independent implementation are rows of the table of
reproductions.
"""

from __future__ import annotations

import numpy as np
import pytest

from engine.data.microdata import Microdata
from engine.measures import call
from engine.plan import Plan, SpacePlan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.space import by_swap_sizes
from engine.release.spec import ReleaseSpec
from engine.sweeps.candidates import space_of
from engine.sweeps.evaluator import question_of
from tests.papers import rows_decision
from tests.papers.rows_decision import LETTERS, of_file
from tests.shared import shared_file
from tests.small_tables import rows


@pytest.fixture(scope="module")
def cps() -> tuple[Plan, Microdata]:
    return rows_decision.cps()


@pytest.fixture(scope="module")
def czech() -> tuple[Plan, Microdata]:
    raw, plan = load("czech")
    return plan, code(raw, plan)


# -- exact statements ------------------------------------------------------------------------------------------------


def test_the_cps_table(cps):
    """Table 1 and section 5.1: 48,842 records, 2,880 cells, 1,695 of them not empty."""
    plan, data = cps
    assert data.table.n_records == 48_842
    assert int(np.prod(data.domain.shape)) == 2_880 and data.domain.shape == (3, 4, 5, 2, 2, 2, 3, 2)
    assert len(data.table) == 1_695
    assert (np.count_nonzero(data.table.counts == 1), np.count_nonzero(data.table.counts == 2)) == (361, 186)
    risk = question_of(plan, data).original()["small_cells"]
    assert risk == (361 + 2 * 186) / 48_842 == pytest.approx(0.015008, abs=5e-7)
    built = space_of(Plan(plan.data, space=SpacePlan(swap_sizes=(1, 2))), data)
    assert len(built.specs) == 36 and not built.merged and not built.impossible


def test_the_czech_table(czech):
    """Table 2: 1,841 men; one cell of one and two of two; one empty cell."""
    plan, data = czech
    table = data.table
    assert data.domain.names == tuple("ABCDEF") and data.domain.shape == (2,) * 6
    assert table.n_records == 1_841 and len(table) == 63
    assert sorted(table.counts.tolist())[:3] == [1, 2, 2]
    positive = data.domain.attributes[5].levels.index("pos")
    assert int(table.counts[table.cells[:, 5] == positive].sum()) == 260
    assert question_of(plan, data).original()["small_cells"] == 5 / 1_841


# Table 2 as printed, with its three boxed cells restored; F, E, D and C by rows, B and A by columns.
CZECH = """
neg <3  <140  no   44  40 112  67
neg <3  <140  yes 129 145  12  23
neg <3  >=140 no   35  12  80  33
neg <3  >=140 yes 109  67   7   9
neg >=3 <140  no   23  32  70  66
neg >=3 <140  yes  50  80   7  13
neg >=3 >=140 no   24  25  73  57
neg >=3 >=140 yes  51  63   7  16
pos <3  <140  no    5   7  21   9
pos <3  <140  yes   9  17   1   4
pos <3  >=140 no    4   3  11   8
pos <3  >=140 yes  14  17   5   2
pos >=3 <140  no    7   3  14  14
pos >=3 <140  yes   9  16   2   3
pos >=3 >=140 no    4   0  13  11
pos >=3 >=140 yes   5  14   4   4
"""


def test_the_czech_counts_cell_by_cell(czech):
    _, data = czech
    levels = [attribute.levels for attribute in data.domain.attributes]
    counts = {
        tuple(levels[j][level] for j, level in enumerate(cell)): int(count)
        for cell, count in zip(data.table.cells.tolist(), data.table.counts, strict=True)
    }
    for line in CZECH.split("\n")[1:-1]:
        f, e, d, c, *printed = line.split()
        for (b, a), count in zip([("no", "no"), ("no", "yes"), ("yes", "no"), ("yes", "yes")], printed, strict=True):
            assert counts.get((a, b, c, d, e, f), 0) == int(count)


def test_the_shared_czech_file_is_the_sample(czech):
    _, data = of_file(shared_file("data", "czech.csv"))
    assert sorted(data.table.counts.tolist()) == sorted(czech[1].table.counts.tolist())


# -- means beside an independent implementation ----------------------------------------------------------------------


def test_what_the_paper_says_of_its_figures(cps):
    """Section 5.1 and Appendix B: distortion grows about linearly with the rate; who distorts most and least."""
    plan, data = cps
    names, rates = data.domain.names, ["0.01", "0.02", "0.1"]
    specs = [ReleaseSpec(spec, rate) for spec in by_swap_sizes(names, names, [1]) for rate in rates]
    calls = [call(name) for name in ("small_cells", "hellinger", "total_variation")]
    found = rows(question_of(plan, data, calls), specs, range(1, 11))
    means = found.reshape(8, 3, 10, -1).mean(axis=2)
    variation, distance, risk = means[:, :, 6], means[:, :, 5], means[:, :, 4]
    ratio = variation / variation[:, :1]
    assert ((ratio[:, 1] > 1.5) & (ratio[:, 1] < 2.1)).all() and ((ratio[:, 2] > 5.5) & (ratio[:, 2] < 10.5)).all()
    order = [LETTERS[j] for j in np.argsort(distance[:, 2])]
    assert order[-1] == "I" and set(order[-3:]) == {"I", "A", "M"}
    assert order[0] == "E" and "R" in order[:4]
    # Edu at 10 % is dominated once rates are pooled: MS at 2 % has less risk and less distortion
    edu, ms = LETTERS.index("E"), LETTERS.index("M")
    assert risk[ms, 1] < risk[edu, 2] and distance[ms, 1] < distance[edu, 2]


@pytest.mark.slow
def test_all_rows():
    found = rows_decision.rows(quick=False)
    assert [row for row in found if row.required and not row.agrees] == []
