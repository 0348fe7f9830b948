"""Little and Liu's simulations of SMIKe (2003, section 4; table 3), next to what the engine finds.

Study II: 750 records in 84 key cells with the printed probabilities (table 2) and two normal variables; the cell means
were not published, so every data set here draws its own from N(0, I).  Protection P1 divides by the number of sensitive
cells; the printed P2 can only be met when R2 is divided by the number of occupied cells, which the paper does not say.
Study I: 20 records in two cells, a sensitive one of at most three records.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from engine.common.errors import EngineError
from engine.common.streams import derive
from engine.mechanisms.smike import SMIKE
from tests.numeric_data import numbered

PI_100 = np.array(
    [
        2.64, 1.38, 2.17, 1.64, 1.61, 0.93, 2.37, 2.43, 0.86, 1.33, 0.44, 0.83,
        1.33, 0.85, 0.43, 0.13, 0.64, 0.07, 0.36, 0.56, 0.20, 0.15, 0.14, 0.07,
        3.26, 3.23, 1.15, 1.03, 0.80, 0.60, 2.10, 2.56, 0.33, 0.38, 0.11, 0.17,
        2.95, 4.53, 1.41, 1.69, 1.35, 0.97, 1.64, 4.08, 0.70, 1.41, 0.34, 0.65,
        2.55, 1.75, 0.73, 0.68, 1.02, 0.39, 1.40, 1.14, 0.40, 0.45, 0.32, 0.24,
        4.76, 3.28, 1.06, 0.49, 1.02, 0.11, 2.01, 2.44, 0.42, 0.36, 0.32, 0.10,
        3.03, 1.70, 1.08, 0.69, 0.69, 0.30, 1.27, 0.91, 0.69, 0.58, 0.30, 0.27,
    ]
)  # fmt: skip
SIGMA = np.array([[1.0, 1.02], [1.02, 1.44]])
N, D, THRESHOLDS = 750, 10, range(3, 11)
S1 = (0.253, 0.325, 0.388, 0.446, 0.497, 0.543, 0.584, 0.619)
S2 = (0.054, 0.088, 0.123, 0.162, 0.202, 0.243, 0.284, 0.324)


class Variant(NamedTuple):
    """One row of the papers' tables: parameters, printed P1 and P2 by threshold, grade, and tolerances by threshold."""

    name: str
    given: dict[str, str]
    p1: tuple[float, ...]
    p2: tuple[float, ...]
    grade: str
    p1_within: tuple[float, ...]
    p2_within: float


_GS, _LS = {"selection": "global", "model_set": "M"}, {"selection": "local", "model_set": "M"}
_WIDE = (0.06,) * 8
VARIANTS = (
    Variant(
        "GS proper", _GS, (0.885, 0.855, 0.865, 0.883, 0.902, 0.916, 0.928, 0.936),
        (0.879, 0.835, 0.719, 0.660, 0.609, 0.615, 0.620, 0.656), "B", (0.04, *(0.02,) * 7), 0.04,
    ),
    Variant(
        "GS improper", {**_GS, "proper": "no"}, (0.878, 0.870, 0.882, 0.898, 0.914, 0.925, 0.933, 0.938),
        (0.876, 0.801, 0.715, 0.639, 0.606, 0.597, 0.623, 0.652), "C", (0.04, *(0.02,) * 7), 0.04,
    ),
    Variant(
        "LS proper", _LS, (0.920, 0.906, 0.894, 0.894, 0.900, 0.905, 0.911, 0.916),
        (0.880, 0.840, 0.759, 0.731, 0.714, 0.704, 0.701, 0.699), "C", _WIDE, 0.06,
    ),
    Variant(
        "LS improper", {**_LS, "proper": "no"}, (0.913, 0.910, 0.903, 0.904, 0.908, 0.913, 0.917, 0.920),
        (0.876, 0.856, 0.756, 0.732, 0.713, 0.701, 0.700, 0.696), "C", _WIDE, 0.06,
    ),
    Variant(
        "LS proper, all records of the cells (2003a)", {**_LS, "model_set": "C"},
        (0.921, 0.904, 0.884, 0.882, 0.883, 0.888, 0.893, 0.898), (), "C", _WIDE, 0.06,
    ),
)  # fmt: skip


def r1(x: np.ndarray, shown: np.ndarray, s: int) -> float:
    """Eq. 7 and 8: 1/m over records that stayed in a sensitive cell of m, mean over the tables ``shown`` (D, n)."""
    total = 0.0
    for table in shown:
        size = np.bincount(table)[table]
        total += float(np.sum(1 / size[(table == x) & (size <= s)]))
    return total / len(shown)


def r2(x: np.ndarray, shown: np.ndarray, s: int) -> float:
    """Eq. 9: all tables together."""
    n, cells = len(x), int(max(x.max(), shown.max())) + 1
    e = np.bincount((shown * n + np.arange(n)).ravel(), minlength=cells * n).reshape(cells, n)
    at_most = e == e.max(axis=1, keepdims=True)
    u = at_most.sum(axis=1)[x]
    picked = at_most[x, np.arange(n)] & (e.max(axis=1)[x] > 0) & (u <= s)
    return float(np.sum(1 / u[picked]))


def sensitivity(sets: int) -> np.ndarray:
    """s1 and s2 by threshold, shape ``(sets, 2, 8)``."""
    counts = np.random.default_rng(84).multinomial(N, PI_100 / PI_100.sum(), sets)
    limit = np.array(THRESHOLDS)[None, :, None]
    small = (counts[:, None, :] > 0) & (counts[:, None, :] <= limit)
    return np.stack([small.sum(axis=2) / 84, (small * counts[:, None, :]).sum(axis=2) / N], axis=1)


def protection(variant: Variant, sets: int) -> np.ndarray:
    """P1 and P2 by threshold, shape ``(sets, 2, 8)``."""
    rng, out = np.random.default_rng(750), np.empty((sets, 2, len(THRESHOLDS)))
    root = np.linalg.cholesky(SIGMA)
    for one in range(sets):
        x = rng.choice(84, N, p=PI_100 / PI_100.sum())
        x = np.unique(x, return_inverse=True)[1]
        y = rng.normal(size=(84, 2))[x] + rng.normal(size=(N, 2)) @ root.T
        data = numbered({"x": x}, {"y1": y[:, 0], "y2": y[:, 1]})
        for t, s in enumerate(THRESHOLDS):
            setting = SMIKE.setting(data, {**variant.given, "s": str(s), "D": str(D)}, (0,), ("y1", "y2"))
            drawn = SMIKE.draw(SMIKE.prepare(setting), setting, derive(bytes(16), variant.name, (one, s)))
            shown = np.array([table.codes(0) for table in drawn.tables]).astype(np.int64)
            n_sensitive = np.count_nonzero(np.bincount(x) <= s)
            out[one, :, t] = 1 - r1(x, shown, s) / n_sensitive, 1 - r2(x, shown, s) / (x.max() + 1)
    return out


def study_1(mu2: float, n_mix: int, sets: int) -> np.ndarray:
    """P1 and P2 of study I, shape ``(usable sets, 2)``."""
    rng, out = np.random.default_rng(20), []
    for one in range(sets):
        x = (rng.random(20) < 0.9).astype(np.int64)
        y = rng.normal(size=20) + mu2 * x
        if not 1 <= 20 - x.sum() <= 3:
            continue
        given = {"selection": "global", "n_mix": str(n_mix), "D": str(D), "s": "3"}
        setting = SMIKE.setting(numbered({"x": x}, {"y": y}), given, (0,), ("y",))
        try:
            drawn = SMIKE.draw(SMIKE.prepare(setting), setting, derive(bytes(16), "study 1", (mu2, n_mix, one)))
        except EngineError:
            continue  # too few records for the model when n_mix is small
        shown = np.array([table.codes(0) for table in drawn.tables]).astype(np.int64)
        out.append((1 - r1(x, shown, 3), 1 - r2(x, shown, 3)))
    return np.array(out)


def _row(name: str, published: float, values: np.ndarray, grade: str, within: float, why: str = "") -> dict[str, Any]:
    ours = float(values.mean())
    return {
        "row": name, "published": published, "ours": round(ours, 4),
        "se": round(float(values.std(ddof=1) / np.sqrt(len(values))), 4), "grade": grade,
        "verdict": "agrees" if abs(ours - published) <= within else "differs", "why": why,
    }  # fmt: skip


def rows(quick: bool) -> list[dict[str, Any]]:
    """s1 and s2 over 500 data sets, protection over 12 (grade B: 60), study I over 400; when quick 200, 5 and 50."""
    out = []
    found = sensitivity(200 if quick else 500)
    for t, s in enumerate(THRESHOLDS):
        out.append(_row(f"s1 (sensitive cells of 84), s={s}", S1[t], found[:, 0, t], "B", 0.006))
        out.append(_row(f"s2 (share of sensitive records), s={s}", S2[t], found[:, 1, t], "B", 0.006))
    for variant in VARIANTS:
        found = protection(variant, 5 if quick else 60 if variant.grade == "B" else 12)
        why = "cell means not published" if "LS" in variant.name else ""
        for t, s in enumerate(THRESHOLDS):
            out.append(
                _row(
                    f"{variant.name} P1, s={s}", variant.p1[t], found[:, 0, t], variant.grade, variant.p1_within[t], why
                )
            )
            if variant.p2:
                divided = "; ".join(filter(None, [why, "R2 divided by the occupied cells, not by the sensitive ones"]))
                label = f"{variant.name} P2, s={s}"
                out.append(_row(label, variant.p2[t], found[:, 1, t], variant.grade, variant.p2_within, divided))
    for n_mix in (5, 6):
        found = study_1(0.0, n_mix, 50 if quick else 400)
        why = "printed: 0.70 to 0.80 needs n_mix of 5 or 6"
        out.append(_row(f"study I, equal means, n_mix={n_mix}: P2", 0.75, found[:, 1], "C", 0.1, why))
    return out
