"""Speed of the mechanisms as ratios to slow twins that follow the papers record by record, and of a sweep's
regressions as ratios to statsmodels.

The twins would take minutes to hours on these data, so each is timed on a part of them and scaled up: its time is
proportional to visits, imputations or records.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks._harness import seconds, timed, word
from engine.common.processes import one_thread
from engine.common.streams import derive
from engine.data.microdata import Microdata
from engine.mechanisms.base import Mechanism
from engine.mechanisms.group_swap import CGS
from engine.mechanisms.key_swaps import DDS, RDS
from engine.mechanisms.maps import MAPS
from engine.mechanisms.noise import NOISE
from engine.mechanisms.pram import PRAM
from engine.mechanisms.smike import SMIKE
from engine.models import location, regression, statsmodels_fit
from engine.models.regression import FAST
from engine.plan.entries import FAMILIES
from engine.release.records import ReleasedTable
from tests.location_draws import natural
from tests.numeric_data import numbered
from tests.twins import group_swap, key_swaps, maps, noise, pram, smike
from tests.twins import location as model_twin

TARGET, D = 20, 10
Twin = Callable[[Any, Any], float]


class Case(NamedTuple):
    """A mechanism on data, and the seconds of its twin on as many, of what was prepared and drawn."""

    name: str
    mechanism: Mechanism
    data: Microdata
    given: dict[str, str]
    twin: Twin
    numeric: tuple[str, ...] = ()


def in_cells(n: int, cells: int, concentration: float = 0.3) -> np.ndarray:
    """Codes of ``n`` records in at most that many key cells of very different sizes."""
    rng = np.random.default_rng(20)
    return np.unique(rng.choice(cells, n, p=rng.dirichlet(np.full(cells, concentration))), return_inverse=True)[1]


def key_swap_cases(n: int, visits: int = 3) -> list[Case]:
    """RDS with all records as initiators, and DDS out of a third of the cells."""
    data = numbered({"x": in_cells(n, 5000)}, {})
    x, few = data.codes[0].tolist(), np.random.default_rng(1).permutation(n)[:visits].tolist()

    def twin(other: bool) -> Twin:
        return lambda _, drawn: (
            seconds(lambda: key_swaps.swap(x, few, lambda k: k // 2, other), 1) / visits * drawn.diagnostics["pairs"]
        )

    return [
        Case("RDS", RDS, data, {"rate": "0.5"}, twin(False)),
        Case("RDS, other cell", RDS, data, {"rate": "0.5", "partner_pool": "other_cell"}, twin(True)),
        Case("DDS", DDS, data, {"s": "20"}, twin(True)),
    ]


def pram_cases(n: int, part: int = 2_000) -> list[Case]:
    """PRAM by the invariant matrix and by a given one."""
    given = np.full((40, 40), 0.01)
    np.fill_diagonal(given, 0.61)

    def case(name: str, x: np.ndarray, asked: dict[str, str]) -> Case:
        data, u = numbered({"x": x}, {}), np.random.default_rng(1).random(part).tolist()
        some = data.codes[0][:part].tolist()

        def twin(prepared: Any, _: Any) -> float:
            matrix = prepared.variables[0].matrix.tolist()
            return seconds(lambda: pram.transit(some, matrix, u), 1) / part * n

        return Case(name, PRAM, data, asked, twin)

    uniform = np.random.default_rng(2).integers(0, 40, n)
    return [
        case("PRAM, 50 key cells", in_cells(n, 50), {"theta": "0.9"}),
        case("PRAM, 1,000 key cells", in_cells(n, 1000), {"theta": "0.9"}),
        case("PRAM, given 40 x 40", uniform, {"matrix": json.dumps(given.round(2).tolist())}),
    ]


def group_cases(n: int, strata: int = 6, moved: int = 300) -> list[Case]:
    """CGS, 15 propensity models of six parameters and three pairs of strata, and noise on the same four columns."""
    rng, numeric = np.random.default_rng(20), ("a", "b", "c", "d")
    g = rng.integers(0, strata, n)
    y = rng.normal(size=(n, 4)) + rng.normal(size=(strata, 4))[g] / 2
    data = numbered({"G": g, "B": rng.random(n) < 0.3 + g / 20}, dict(zip(numeric, y.T, strict=True)))
    table = ReleasedTable(data)
    x = np.column_stack([data.codes[1], *(table.numeric(name) for name in numeric)]).astype(float)

    def swap_twin(_: Any, __: Any) -> float:
        part = np.flatnonzero(data.codes[0] < 2)[:600]
        second = (data.codes[0][part] == 1).tolist()
        fit = seconds(lambda: group_swap.propensities(x[part].tolist(), second, 0.0), 1)
        weights, some = rng.random(2000).tolist(), np.random.default_rng(2)
        one = seconds(lambda: group_swap.successive(weights, 30, some), 1)
        # each record is in a model with each other stratum; draws take one record after the other
        return fit * n * (strata - 1) / len(part) + one * n / 2000 * moved / 30

    def noise_twin(_: Any, __: Any) -> float:
        rows, normals = x[:2000, 1:].tolist(), rng.standard_normal((2000, 4)).tolist()
        return seconds(lambda: noise.noisy(rows, normals, 0.15, True), 1) * n / 2000

    return [
        Case("CGS", CGS, data, {"strata": "G", "n_swap": str(moved)}, swap_twin, numeric),
        Case("noise", NOISE, data, {}, noise_twin, numeric),
    ]


def model_cases(n: int, cells: int) -> list[Case]:
    """MaPS and SMIKe; the twins' time omits the fit, the draws of parameters and SMIKe's choice of mixing sets."""
    rng, x = np.random.default_rng(20), in_cells(n, cells, 0.45)
    y = rng.normal(size=(cells, 2))[x] + rng.normal(size=(n, 2)) @ [[1, 0.8], [0, 0.6]]
    data = numbered({"x": x}, {"y1": y[:, 0], "y2": y[:, 1]})
    keys = location.key_cells(data, (0,), 5, "le")
    z = location.variables(MAPS.setting(data, {}, (0,), ("y1", "y2")), "MaPS").z
    fitted = location.fit(z, keys.x, len(keys.counts), ("y1", "y2"))
    theta = location.draw(fitted, np.random.default_rng(1))
    mu, sigma = natural(theta, fitted)
    assert theta.log_pi is not None
    whole = model_twin.Theta(np.exp(theta.log_pi).tolist(), list(mu), sigma)
    sensitive = keys.records.tolist()

    def maps_twin(_: Any, __: Any, visits: int = 3) -> float:
        few, halves = sensitive[:visits], [0.5] * visits
        return (
            seconds(lambda: maps.swap(keys.x.tolist(), list(z), whole, few, halves, 0.8), 1)
            / visits
            * len(sensitive)
            * D
        )

    def smike_twin(_: Any, drawn: Any) -> float:
        records = np.flatnonzero(drawn.touched[0]).tolist()
        used, few = np.unique(keys.x[records]).tolist(), records[:20]
        some = model_twin.Theta([whole.pi[k] for k in used], [whole.mu[k] for k in used], whole.sigma)
        imputed = seconds(lambda: smike.impute(few, used, list(z), some, [0.5] * len(few)), 1)
        return imputed / len(few) * len(records) * D

    asked = {"s": "5", "D": str(D)}
    return [
        Case("MaPS", MAPS, data, asked, maps_twin, ("y1", "y2")),
        *(
            Case(f"SMIKe {s}", SMIKE, data, {**asked, "selection": s}, smike_twin, ("y1", "y2"))
            for s in ("local", "global")
        ),
    ]


def beside_twin(case: Case) -> None:
    """Print one line: the ratio of the twin's time to preparing and drawing together."""
    setting = case.mechanism.setting(case.data, case.given, (0,), case.numeric)
    fit, prepared = timed(lambda: case.mechanism.prepare(setting), 2)
    draw, drawn = timed(lambda: case.mechanism.draw(prepared, setting, derive(bytes(16), "benchmark")))
    slow = case.twin(prepared, drawn)
    ratio = slow / (fit + draw)
    verdict = word("twin ÷ engine", ratio, least=TARGET)
    print(
        f"{case.name:<24} {case.data.n_records:>9,} {fit:>8.3f}s {draw:>8.4f}s {slow:>9.1f}s {ratio:>9,.0f}x"
        f"  >= {TARGET}: {verdict}",
        flush=True,
    )


def regressions(small: bool) -> None:
    """Print the time of fits that a sweep makes by the thousand, from the original's estimates."""
    random = np.random.default_rng(7)
    print(f"\n{'regression':<24} {'ours':>10} {'statsmodels':>12} {'ratio':>7}")
    for rows, counted in ((500, True), (1_000, False), (10_000, False))[: 1 if small else 3]:
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
                fast = seconds(partial(regression.solve, family, x, y, None, begin, counts), 20)
                slow = seconds(partial(statsmodels_fit.solve, model, x, y, None, counts), 20)
            name = f"{family}, {rows:,} {'cells' if counted else 'records'}"
            print(f"{name:<24} {1000 * fast:>8.2f}ms {1000 * slow:>10.2f}ms {slow / fast:>6.1f}x")


def main(small: bool = False) -> None:
    """Measure and print."""
    print(f"NumPy {np.__version__}\n{'':<24} {'records':>9} {'prepare':>9} {'draw':>9} {'twin':>10} {'ratio':>10}")
    part = 20 if small else 1
    for case in (
        *key_swap_cases(100_000 // part),
        *pram_cases(1_000_000 // part),
        *group_cases(20_000 // (2 if small else 1)),
        *model_cases(10_000 // part, 800 // part),
    ):
        beside_twin(case)
    regressions(small)
