"""Published figures that nothing here reproduces, with the reason: lost or misprinted definitions, missing data."""

from __future__ import annotations

from tests.papers.row import Row

_HOSPITALS = "not compared: neither the propensity model nor the fifth stratum's partner is published"
_NO_DATA = "data not public here"
_P2 = (0.879, 0.835, 0.719, 0.660, 0.609, 0.615, 0.620, 0.656)
_P2_ELSEWHERE = (0.551, 0.425, 0.309, 0.239, 0.229, 0.278, 0.367, 0.465)


def _row(name: str, published: str, why: str, grade: str = "X") -> Row:
    return Row(name, published, None, grade, why=why)


MAPS = [_row("table 3: ten releases of seven records", "a sample", "one illustrative draw of an unknown seed")]
GROUP_SWAPPING = [
    _row(f"SMHO {reg}: disjoint intervals (CGS 20, CGS 40, RGS 20, RGS 40)", published, _HOSPITALS, "C")
    for reg, published in (
        ("Reg3, of 900", "0, 0, 2, 100"),
        ("Reg4, of 900", "0, 0, 0, 11"),
        ("Reg5, of 2500", "5, 14, 196, 393"),
        ("Reg6, of 2500", "0, 71, 25, 158"),
    )
] + [
    _row(f"SMHO {what} (CGS 20, CGS 40, RGS 20, RGS 40)", published, _HOSPITALS, "C")
    for what, published in (
        ("ratios of means, mean", "0.99, 0.96, 0.94, 0.92"),
        ("ratios of covariances, mean", "1.03, 0.90, 0.87, 0.79"),
        ("sign changes of covariances, of 8000", "0, 334, 276, 332"),
    )
]
DECISION = [
    _row(
        "5.3: single swaps on the frontier of the school data",
        "Administrator Experience, Race, Sex",
        _NO_DATA,
    )
]
SMIKE = [
    _row(
        f"GS proper P2 over sensitive cells, s={s}",
        f"{published:.3f}",
        f"by the printed definition {elsewhere:.3f} in simulations elsewhere; the printed figure is met over occupied "
        "cells, see above",
    )
    for s, published, elsewhere in zip(range(3, 11), _P2, _P2_ELSEWHERE, strict=True)
] + [
    _row(
        "study III, scenario V: coverage",
        "extremely poor",
        "four variants of it covered 0.90 to 0.97 in 400 data sets elsewhere: mild under-coverage at most",
    ),
    _row(
        "table 5, group 3: records in M", "131", "a misprint: 81 sensitive and 70 mixing records, as printed, make 151"
    ),
    _row("table 6: P1 of SMIKe on the Alameda data", "0.987 (0.004)", _NO_DATA),
    _row("table 6: P2 of SMIKe on the Alameda data", "0.978 (0.016)", _NO_DATA),
    _row("table 6 and figure 7: information loss γ on the Alameda data", "0.001 to about 0.4", _NO_DATA),
]
