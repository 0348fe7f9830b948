"""Speed of MaPS and SMIKe, as ratios to the slow twins that follow the papers' text, and of a sweep's regressions, as
ratios to statsmodels.

``python benchmarks/models.py`` prints seconds for 10,000 records and 10 tables.  The twins would take minutes on these,
so each is timed on a few visits or imputations of the same data and scaled up (its time is proportional to them).  Left
out of the twins' time, not of the engine's: the fit, the draws of parameters and SMIKe's choice of mixing sets.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._targets import word
from engine.common.processes import one_thread
from engine.common.streams import derive
from engine.data.microdata import Microdata
from engine.mechanisms.base import Mechanism
from engine.mechanisms.maps import MAPS
from engine.mechanisms.smike import SMIKE
from engine.models import location, regression, statsmodels_fit
from engine.models.regression import FAST
from engine.plan.entries import FAMILIES
from tests.location_draws import natural
from tests.numeric_data import numbered
from tests.twins import location as model_twin
from tests.twins import maps as maps_twin
from tests.twins import smike as smike_twin

N, CELLS, D, TARGET = 10_000, 800, 10, 20


def made() -> Microdata:
    """10,000 records in some 600 key cells, about 500 of them sensitive at s = 5, and two numbers."""
    rng = np.random.default_rng(20)
    x = rng.choice(CELLS, N, p=rng.dirichlet(np.full(CELLS, 0.45)))
    x = np.unique(x, return_inverse=True)[1]
    y = rng.normal(size=(CELLS, 2))[x] + rng.normal(size=(N, 2)) @ [[1, 0.8], [0, 0.6]]
    return numbered({"x": x}, {"y1": y[:, 0], "y2": y[:, 1]})


def seconds(action: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The least of some runs, and what the last one gave."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        found = action()
        times.append(time.perf_counter() - start)
    return min(times), found


def engine(mechanism: Mechanism, data: Microdata, given: dict[str, str]) -> tuple[float, float, Any]:
    """Seconds to prepare and to draw, and the draw."""
    setting = mechanism.setting(data, {"s": "5", "D": str(D), **given}, (0,), ("y1", "y2"))
    fit, prepared = seconds(lambda: mechanism.prepare(setting), 2)
    draw, drawn = seconds(lambda: mechanism.draw(prepared, setting, derive(bytes(16), "benchmark")))
    return fit, draw, drawn


def main() -> None:
    """Measure and print."""
    data = made()
    keys = location.key_cells(data, (0,), 5, "le")
    z = location.variables(MAPS.setting(data, {}, (0,), ("y1", "y2")), "MaPS").z
    x, y, sensitive = keys.x.tolist(), list(z), keys.records.tolist()
    fitted = location.fit(z, keys.x, len(keys.counts), ("y1", "y2"))
    theta = location.draw(fitted, np.random.default_rng(1))
    mu, sigma = natural(theta, fitted)
    assert theta.log_pi is not None
    slow_theta = model_twin.Theta(np.exp(theta.log_pi).tolist(), list(mu), sigma)
    print(
        f"NumPy {np.__version__}; {N:,} records, {len(keys.counts)} key cells, {len(sensitive)} sensitive, {D} tables"
    )
    print(f"{'':<16} {'prepare':>9} {'draw':>9} {'twin':>10} {'ratio':>8}")

    visits = 3
    slow, _ = seconds(lambda: maps_twin.swap(x, y, slow_theta, sensitive[:visits], [0.5] * visits, 0.8), 1)
    fit, draw, _ = engine(MAPS, data, {})
    show("MaPS", fit, draw, slow / visits * len(sensitive) * D)

    for selection in ("local", "global"):
        fit, draw, drawn = engine(SMIKE, data, {"selection": selection})
        records = np.flatnonzero(drawn.touched[0]).tolist()
        cells = np.unique(keys.x[records]).tolist()
        some = model_twin.Theta([slow_theta.pi[k] for k in cells], [slow_theta.mu[k] for k in cells], slow_theta.sigma)
        few = records[:20]
        imputed = seconds(lambda: smike_twin.impute(few, cells, y, some, [0.5] * len(few)), 1)[0]  # noqa: B023
        show(f"SMIKe {selection}", fit, draw, imputed / len(few) * len(records) * D)
    regressions()


def regressions() -> None:
    """The fits that a sweep makes by the thousand: from the original's estimates, on records and on cells."""
    random = np.random.default_rng(7)
    print(f"\n{'regression':<24} {'ours':>10} {'statsmodels':>12} {'ratio':>7}")
    for rows, counted in ((1_000, False), (10_000, False), (500, True)):
        x = np.column_stack([np.ones(rows), random.normal(size=(rows, 4)), random.integers(0, 2, (rows, 4))])
        eta, counts = 0.3 * x @ random.normal(size=9) / 3, random.integers(1, 200, rows) if counted else None
        for family in FAST:
            y = {
                "linear": eta + random.normal(size=rows),
                "logistic": (random.random(rows) < 1 / (1 + np.exp(-eta))).astype(float),
                "poisson": random.poisson(np.exp(eta)).astype(float),
            }[family]
            model = statsmodels_fit.Model(FAMILIES[family], 0.5, (), tuple("abcdefghi"))
            begin = regression.solve(family, x, y, counts=counts).estimate * 1.05
            with one_thread():
                fast = seconds(partial(regression.solve, family, x, y, None, begin, counts), 20)[0]
                slow = seconds(partial(statsmodels_fit.solve, model, x, y, None, counts), 20)[0]
            name = f"{family}, {rows:,} {'cells' if counted else 'records'}"
            print(f"{name:<24} {1000 * fast:>8.2f}ms {1000 * slow:>10.2f}ms {slow / fast:>6.1f}x")


def show(name: str, fit: float, draw: float, slow: float) -> None:
    """One line: the ratio is of the twin's time to preparing and drawing together."""
    ratio = slow / (fit + draw)
    verdict = word("twin ÷ engine", ratio, least=TARGET)
    print(f"{name:<16} {fit:>8.3f}s {draw:>8.3f}s {slow:>9.1f}s {ratio:>7,.0f}x  >= {TARGET}: {verdict}")


if __name__ == "__main__":
    main()
