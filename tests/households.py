"""Small made-up files of persons in households."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from engine.data.domain import KINDS, Attribute
from engine.data.microdata import Microdata, RawColumn
from tests.level_codes import level_codes
from tests.numeric_data import numbered

PLACES = ("region", "town")


def in_households(
    households: Sequence[int],
    of_household: Mapping[str, Sequence[int]],
    of_person: Mapping[str, Sequence[int]],
    unknown: Mapping[str, int] | None = None,
) -> Microdata:
    """Persons by household number, attributes of households (by that number) and of persons as level codes.

    ``unknown`` names a level of an attribute that means missing.
    """
    at = np.asarray(households)
    data = numbered({name: np.asarray(codes)[at] for name, codes in of_household.items()} | dict(of_person), {})
    _, codes = np.unique(at, return_inverse=True)
    raw = dict(data.raw.columns)
    raw["hid"] = RawColumn("hid", pa.array([f"h{h}" for h in np.unique(at)]), codes.astype(np.int32))
    attributes = [_with_missing(attribute, (unknown or {}).get(attribute.name)) for attribute in data.domain.attributes]
    return replace(
        data, raw=replace(data.raw, columns=raw), domain=replace(data.domain, attributes=tuple(attributes)), unit="hid"
    )


def _with_missing(attribute: Attribute, level: int | None) -> Attribute:
    if level is None:
        return attribute
    kinds = tuple(KINDS[2] if code == level else KINDS[0] for code in range(attribute.size))
    return replace(attribute, kinds=kinds)


@st.composite
def persons_in_households(draw: st.DrawFn, most_households: int = 14) -> Microdata:
    """4 to 14 households of 1 to 3 persons in 2 regions of 1 to 3 towns, with sex and age, size and tenure; rows in any
    order."""
    n = draw(st.integers(4, most_households))
    towns = draw(st.integers(1, 3))
    region = [0, 1, *draw(level_codes(n - 2, 2))]
    size = [1 + more for more in draw(level_codes(n, 3))]
    within = draw(level_codes(n, towns))
    town = [r * towns + t for r, t in zip(region, within, strict=True)]
    tenure = draw(level_codes(n, 2))
    rows = [h for h in range(n) for _ in range(size[h])]
    Random(draw(st.integers(0, 2**32 - 1))).shuffle(rows)
    persons = {name: draw(level_codes(len(rows), n_levels)) for name, n_levels in (("sex", 2), ("age", 4))}
    ranks = {t: rank for rank, t in enumerate(sorted(set(town)))}
    return in_households(
        rows,
        {
            "region": region,
            "town": [ranks[t] for t in town],
            "size": [persons - 1 for persons in size],
            "tenure": tenure,
        },
        persons,
    )


CENSUS_PLAN = """
[about]
contact = "Ada Example, statistics@agency.example"
[publish]
title = "the Census of Exampleland"
include = ["id", "unit"]
[data]
id = "pid"
unit = "hid"
carry = ["rent"]
[[attribute]]
name = "region"
[[attribute]]
name = "town"
[[attribute]]
name = "hsize"
[[attribute]]
name = "tenure"
[[attribute]]
name = "sex"
[[attribute]]
name = "age"
[roles]
keys = ["town", "sex", "age"]
[[mechanism]]
name = "trs"
rate = "0.1"
hierarchy = "region+town"
risk = "sex+age"
k = 2
similar = "hsize+tenure|hsize"
[space]
replicates = 10
[measures]
names = ["small_cells", "hellinger"]
"""


def census_files(folder: Path, n_households: int = 240) -> tuple[Path, Path]:
    """A small made-up census as two CSV files, of persons and of their households, both in an order of their own."""
    rng = np.random.default_rng(20)
    town = rng.integers(0, 8, n_households)
    size = rng.choice([1, 2, 3, 4], n_households, p=[0.3, 0.35, 0.2, 0.15])
    tenure, rent = rng.integers(0, 2, n_households), rng.integers(30, 120, n_households) * 10
    number = [f"EX{h:07d}" for h in rng.permutation(10_000)[:n_households]]
    persons = ["pid,hid,region,town,hsize,tenure,rent,sex,age"]
    for h in rng.permutation(n_households).tolist():
        for _ in range(size[h]):
            persons.append(
                f"{5_000_000 + len(persons)},{number[h]},r{town[h] // 4},t{town[h]},{size[h]},{'or'[tenure[h]]},"
                f"{rent[h]},{'fm'[rng.integers(2)]},{rng.integers(0, 5)}"
            )
    households = ["hid,town,rooms,region"]
    for h in rng.permutation(n_households).tolist():
        households.append(f"{number[h]},t{town[h]},{1 + rng.integers(6)},r{town[h] // 4}")
    paths = folder / "persons.csv", folder / "dwellings.csv"
    for path, lines in zip(paths, (persons, households), strict=True):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths
