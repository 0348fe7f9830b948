"""What somebody recognises of a swap of Race on CPS-8D, and what it costs to find out.

``python benchmarks/detection.py`` prints, for swaps of 1, 2, 5 and 10 %: the rate inferred from two-way tables with the
spread over releases and the share of 95 % intervals that hold the truth; area under the curve, precision in the top 1 %
and .1 % by model; mean probability of being altered against the truth; altered shares by level; then the time per
candidate of each measure as a ratio to small_cells + hellinger + total_variation + entropy_change.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the tests are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.data.table import ContingencyTable
from engine.measures import call, evaluate
from engine.measures.detection import altered_by_level, attacked, auc, graded, precision
from engine.models.level_model import MODELS
from engine.release.batch import ReleaseBatch
from tests.shared import folder
from tests.swapped_batches import cps, swaps

RATES = ("0.01", "0.02", "0.05", "0.1")
FIGURES, INTERVALS = 25, 400
BASE = ("small_cells", "hellinger", "total_variation", "entropy_change")
MEASURES = (
    "small_cells_unswapped",
    "uniques_unswapped",
    "expected_matches_unswapped",
    "small_cells_subset",
    "rate_error",
    "detection_auc",
    "detection_precision",
    "small_cells_recognised",
    "altered_share_max",
    "l_diversity[target=AnnSal]",
    "t_closeness[target=AnnSal]",
)


def rates(table: ContingencyTable) -> None:
    """The rate from margins."""
    print(f"{'rate':<6} {'inferred':>16} {'naive error':>12} {'covered':>8}   ({INTERVALS} releases)")
    for rate in RATES:
        batch = swaps(table, "Race:S", rate, INTERVALS)
        truth = batch.changed / batch.n_records
        every = [inference for _, _, inference in attacked(batch)]
        got = np.array([one.rate for one in every])
        held = np.mean([one.low <= true <= one.high for one, true in zip(every, truth, strict=True)])
        error = np.mean([one.error for one in every])
        print(f"{rate:<6} {got.mean():>7.4f} ± {got.std(ddof=1):.4f} {error:>12.4f} {held:>8.1%}")


def records(table: ContingencyTable) -> None:
    """Which records."""
    print(f"\n{'rate':<6} {'model':<8} {'AUC':>16} {'top 1 %':>16} {'top .1 %':>16}   ({FIGURES} releases)")
    for rate in RATES:
        batch = swaps(table, "Race:S", rate, FIGURES)
        for model in reversed(MODELS):
            runs = graded(batch, model)
            columns = [
                [auc(one) for one in runs],
                [precision(one, 0.01) for one in runs],
                [precision(one, 0.001) for one in runs],
            ]
            shown = " ".join(f"{np.mean(c):>7.3f} ± {np.std(c, ddof=1):.3f}".rjust(16) for c in columns)
            print(f"{rate:<6} {model:<8} {shown}")
        one = graded(batch)[0]
        race = table.domain.index("Race")
        shares = ", ".join(
            f"{row.share:.1%} of {row.records:,}" for row in altered_by_level(one) if row.attribute == race
        )
        believed = float((one.release.counts * (1 - one.detection.unaltered)).sum() / one.release.counts.sum())
        print(f"{rate:<6} altered: {shares}; mean P(altered) {believed:.4f} against {one.rate:.4f}")


def seconds(texts: tuple[str, ...], batch: ReleaseBatch, table: ContingencyTable) -> float:
    """Least processor time for some measures, of three tries on a batch that nothing has looked at."""
    lists = {"keys": table.domain.names, "analyse": table.domain.names}
    times = []
    for _ in range(3):
        batch.own, batch._margins = type(batch.own)(), {}
        start = time.process_time()
        for text in texts:
            evaluate(call(text), batch, table.domain, lists)
        times.append(time.process_time() - start)
    return min(times)


def costs(table: ContingencyTable) -> None:
    """Time per candidate."""
    batch = swaps(table, "Race:S", "0.1", FIGURES)
    unit = seconds(BASE, batch, table)
    print(f"\n{'measure':<28} {'µs':>8} {'ratio':>8}")
    for text in (*MEASURES, MEASURES):
        texts = (text,) if isinstance(text, str) else text
        cost = seconds(texts, batch, table)
        name = text if isinstance(text, str) else f"all {len(text)} together"
        print(f"{name:<28} {cost / len(batch) * 1e6:>8.0f} {cost / unit:>8.1f}")


def main() -> None:
    """Measure and print."""
    if not (folder() / "data" / "cps8d.csv").is_file():
        print("CPS-8D is not there; nothing to show.")
        return
    table = cps()
    rates(table)
    records(table)
    costs(table)


if __name__ == "__main__":
    main()
