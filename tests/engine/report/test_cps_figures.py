"""What readers of a memo on CPS-8D found wrong, Race swapped at 10 %: the worst losses, how many percentages there are,
and what a share is of.  Figures of one release are held against the spread over releases.
"""

from __future__ import annotations

import numpy as np
import pytest

from engine.report.losses import largest
from engine.report.tables import sheets
from tests.cps_release import ANALYSES, REPLICATES, Released, group_shares, largest_by_table, pair_counts, released
from tests.swapped_batches import cps

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Released:
    wanted = [("0.1", replicate) for replicate in range(1, REPLICATES + 1)]
    return released(tmp_path_factory.mktemp("cps"), wanted, ANALYSES)


def near(stated: float, figures: list[float]) -> bool:
    return abs(stated - np.mean(figures)) <= 3 * np.std(figures, ddof=1)


def test_page_one_tells_the_worst_loss_of_all_and_no_coefficient_alone(releases: Released) -> None:
    """9.7, 8.6 and 6.6 standard errors are percentages of two attributes; of the coefficients of pay alone the worst
    is 4.2 or thereabouts."""
    by_tables = [largest_by_table(made) for made, _ in releases.values()]
    for stated, table in ((9.7, "Race × AvgHrs"), (8.6, "EmpTyp × Race"), (6.6, "MS × Race"), (4.2, "pay")):
        assert near(stated, [by[table] for by in by_tables]), table
    for (made, _), by in zip(releases.values(), by_tables, strict=True):
        first = largest(made.utility.figures)[0]
        assert first.errors == max(by.values()) > by["pay"] and first.of != "pay"


def test_there_are_227_percentages_of_two_attributes_and_226_rest_on_more_than_45_records(releases: Released) -> None:
    counts = pair_counts(cps())
    assert (len(counts), int((counts > 45).sum())) == (227, 226)
    for made, _ in releases.values():
        tally = next(t for t in made.utility.tallies if t.kind == "percentages of two attributes")
        assert (tally.compared, tally.unchangeable, tally.eligible) == (227, 185, 42)


def test_a_share_of_a_group_is_of_its_unaltered_records_as_its_caption_says(releases: Released) -> None:
    """5.5 % of all records are 6.2 % of the unaltered ones."""
    shares = [group_shares(made, altered, "EmpTyp", "Other") for made, altered in releases.values()]
    assert near(0.055, [of_all for of_all, _ in shares]) and near(0.062, [of_unaltered for _, of_unaltered in shares])
    for (made, _), (_, of_unaltered) in zip(releases.values(), shares, strict=True):
        header, rows = sheets(made)["Exposed groups"]
        at = header.index("after, as a share of unaltered records of the group")
        assert {row[0]: row[at] for row in rows}["EmpTyp: Other"] == pytest.approx(of_unaltered)
