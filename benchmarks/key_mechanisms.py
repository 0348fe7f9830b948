"""Speed of RDS, DDS and PRAM, as ratios to the slow twins that go record by record.

``python benchmarks/key_mechanisms.py`` prints seconds for 100,000 records (swaps) and 1,000,000 records (PRAM).  The
twins of the swaps would take hours on these, so each is timed on a few visits to the same data and scaled up (its time
is proportional to them); PRAM's twin is timed on a part of the records.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._targets import word
from engine.common.streams import derive
from engine.data.microdata import Microdata
from engine.mechanisms.base import Mechanism
from engine.mechanisms.key_swaps import DDS, RDS
from engine.mechanisms.pram import PRAM
from tests.numeric_data import numbered
from tests.twins import key_swaps as swap_twin
from tests.twins import pram as pram_twin

TARGET = 20


def made(n: int, cells: int) -> Microdata:
    """``n`` records in at most that many key cells of very different sizes."""
    rng = np.random.default_rng(20)
    x = rng.choice(cells, n, p=rng.dirichlet(np.full(cells, 0.3)))
    return numbered({"x": np.unique(x, return_inverse=True)[1]}, {})


def seconds(action: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The least of some runs, and what the last one gave."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        found = action()
        times.append(time.perf_counter() - start)
    return min(times), found


def engine(mechanism: Mechanism, data: Microdata, given: dict[str, str]) -> tuple[float, float, Any, Any]:
    """Seconds to prepare and to draw, what was prepared, and the draw."""
    setting = mechanism.setting(data, given, (0,))
    fit, prepared = seconds(lambda: mechanism.prepare(setting))
    draw, drawn = seconds(lambda: mechanism.draw(prepared, setting, derive(bytes(16), "benchmark")))
    return fit, draw, prepared, drawn


def swaps(n: int = 100_000, visits: int = 3) -> None:
    """RDS with all records as initiators and DDS out of a third of the cells."""
    data = made(n, 5000)
    x, rng = data.codes[0].tolist(), np.random.default_rng(1)
    few = rng.permutation(n)[:visits].tolist()
    cases: tuple[tuple[str, Mechanism, dict[str, str], bool], ...] = (
        ("RDS", RDS, {"rate": "0.5"}, False),
        ("RDS other cell", RDS, {"rate": "0.5", "partner_pool": "other_cell"}, True),
        ("DDS", DDS, {"s": "20"}, True),
    )
    for name, mechanism, given, other in cases:
        fit, draw, _, drawn = engine(mechanism, data, given)
        slow = seconds(lambda: swap_twin.swap(x, few, lambda k: k // 2, other), 1)[0]  # noqa: B023
        show(
            f"{name}, {int(drawn.diagnostics['pairs']):,} pairs", fit, draw, slow / visits * drawn.diagnostics["pairs"]
        )


def pram(n: int = 1_000_000, part: int = 2_000) -> None:
    """PRAM by the invariant matrix and by a given one."""
    for cells in (50, 1000):
        data = made(n, cells)
        size = len(data.domain.attributes[0].levels)
        fit, draw, prepared, _ = engine(PRAM, data, {"theta": "0.9"})
        x, u = data.codes[0][:part].tolist(), np.random.default_rng(1).random(part).tolist()
        matrix = prepared.variables[0].matrix.tolist()
        slow = seconds(lambda: pram_twin.transit(x, matrix, u), 1)[0] / part * n  # noqa: B023
        show(f"PRAM, {size} categories", fit, draw, slow)
    given = np.full((40, 40), 0.01)
    np.fill_diagonal(given, 0.61)
    data = numbered({"x": np.random.default_rng(2).integers(0, 40, n)}, {})
    fit, draw, prepared, _ = engine(PRAM, data, {"matrix": json.dumps(given.round(2).tolist())})
    x, matrix = data.codes[0][:part].tolist(), prepared.variables[0].matrix.tolist()
    slow = seconds(lambda: pram_twin.transit(x, matrix, u), 1)[0] / part * n
    show("PRAM, given 40 x 40", fit, draw, slow)


def show(name: str, fit: float, draw: float, slow: float) -> None:
    """One line: the ratio is of the twin's time to preparing and drawing together."""
    ratio = slow / (fit + draw)
    verdict = word("twin ÷ engine", ratio, least=TARGET)
    print(f"{name:<32} {fit:>8.4f}s {draw:>8.4f}s {slow:>9.1f}s {ratio:>9,.0f}x  >= {TARGET}: {verdict}")


def main() -> None:
    """Measure and print."""
    print(f"NumPy {np.__version__}; swaps of 100,000 records, PRAM of 1,000,000")
    print(f"{'':<32} {'prepare':>9} {'draw':>9} {'twin':>10} {'ratio':>10}")
    swaps()
    pram()


if __name__ == "__main__":
    main()
