"""Gomatam, Karr and Sanil (2005), *Data swapping as a decision problem*: the paper's statements and figures.

Exact statements are checked exactly.  Means are compared with an independent implementation of the paper's Appendix A
(tables in the shared folder) under a fixed key: every difference within 4.5 standard errors of both simulations.
"""

from __future__ import annotations

import numpy as np
import pytest

from engine.data.microdata import Microdata
from engine.measures import call
from engine.plan import Plan, SpacePlan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.scenarios import RunStatus
from engine.release.space import by_swap_sizes, scenarios
from engine.release.spec import AttributeSpec, ReleaseSpec
from engine.sweeps.candidates import space_of
from engine.sweeps.evaluator import question_of
from tests.papers import rows_decision
from tests.papers.rows_decision import LETTERS, MOST, of_file, references, roles
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


def test_numbers_of_candidates():
    """Section 5.1: 108 (36 per rate); 5.2: 21; figure 2: 24; 5.3: 800 runs of 8 scenarios."""
    eight, six = tuple("ABCDEFGH"), tuple("ABCDEF")
    rates = ["0.01", "0.02", "0.10"]
    pairs = list(by_swap_sizes(eight, eight, [1, 2]))
    singles = list(by_swap_sizes(eight, eight, [1]))
    assert len(pairs) == 36 and len(scenarios(pairs, rates)) == 108
    assert len(scenarios(list(by_swap_sizes(six, six, [1, 2])), ["0.10"])) == 21
    assert len(scenarios(singles, rates)) == 24
    assert len(scenarios(singles, ["0.10"])) * 100 == 800


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


def compare(
    found: np.ndarray,
    specs: list[ReleaseSpec],
    reference: list[tuple[dict[str, str], str, int]],
    columns: dict[str, int],
) -> dict[str, float]:
    """z of every mean; both simulations' standard errors are in it."""
    scores = {}
    for place, (row, spread, n) in enumerate(reference):
        mine = found[found[:, 0] == place]
        assert (mine[:, 2] == RunStatus.OK).all()
        for name, column in columns.items():
            mean, spread_there = float(row[f"{name}_mean"]), float(row[f"{name}_{spread}"])
            scores[f"{name} of {specs[place]}"] = rows_decision.scores(mine[:, column], mean, spread_there, n)
    return scores


def check(scores: dict[str, float]) -> None:
    values = np.array(list(scores.values()))
    worst = max(scores, key=lambda name: abs(scores[name]))
    assert abs(scores[worst]) <= MOST, f"{worst}: z = {scores[worst]:.2f}"
    # and as a whole they look like draws of a standard normal
    assert abs(values.mean()) < 0.4 and 0.75 < values.std() < 1.35


@pytest.mark.slow
def test_all_108_candidates_of_the_cps_data(cps):
    """DR, HD, TV and entropy change, 20 replicates each, and the eight single swaps at 5 % besides."""
    plan, data = cps
    reference = references("reference_cps8d.csv")
    assert sum(row["rate"] != "0.05" for row in reference) == 108
    specs = []
    for row in reference:
        specs.append(ReleaseSpec(AttributeSpec(data.domain.names, roles(row["swap"], LETTERS)), row["rate"]))
    calls = [call(name) for name in ("small_cells", "hellinger", "total_variation", "entropy_change")]
    found = rows(question_of(plan, data, calls), specs, range(1, 21))
    assert len(found) == 20 * len(specs)
    seeds = [(row, "std", int(row["n_seeds"])) for row in reference]
    check(compare(found, specs, seeds, {"DR": 4, "HD": 5, "TV": 6, "dH": 7}))


@pytest.mark.slow
def test_all_21_swaps_of_the_czech_data(czech):
    """DR and HD at 10 %, 400 replicates each; the reference holds 500 seeds."""
    plan, data = czech
    reference = references("reference_czech.csv")
    assert len(reference) == 21
    specs = []
    for row in reference:
        specs.append(ReleaseSpec(AttributeSpec(data.domain.names, roles(row["swap"], "ABCDEF")), "0.1"))
    calls = [call(name) for name in ("small_cells", "hellinger")]
    found = rows(question_of(plan, data, calls), specs, range(1, 401))
    check(compare(found, specs, [(row, "sd", 500) for row in reference], {"DR": 4, "HD": 5}))


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
def test_rows_of_the_paper(cps):
    """The rows that the table of reproductions shows; means over few runs, for the statements do not need more."""
    found = [*rows_decision.rows_counts(), *rows_decision.rows_cps(quick=True)]
    assert [row for row in found if row.required and not row.agrees] == []
    assert len({row.name for row in found}) == len(found)


@pytest.mark.slow
def test_all_rows():
    found = rows_decision.rows(quick=False)
    assert [row for row in found if row.required and not row.agrees] == []
