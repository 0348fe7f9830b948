"""Small made-up files of persons in households."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from engine.data.domain import KINDS, Attribute
from engine.data.microdata import Microdata, RawColumn
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
    region = [0, 1, *draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))]
    size = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    within = draw(st.lists(st.integers(0, towns - 1), min_size=n, max_size=n))
    town = [r * towns + t for r, t in zip(region, within, strict=True)]
    tenure = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    rows = draw(st.permutations([h for h in range(n) for _ in range(size[h])]))
    persons = {
        name: draw(st.lists(st.integers(0, levels), min_size=len(rows), max_size=len(rows)))
        for name, levels in (("sex", 1), ("age", 3))
    }
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
