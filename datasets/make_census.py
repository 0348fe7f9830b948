"""A made-up census: persons in households, households in municipalities, districts and regions.

No record is a real person and no figure was estimated from data.  It has what makes a census hard to protect: most
households are alike, a few are alone in their village, citizenship clusters in towns, and the codes of places nest.

`python datasets/make_census.py census.csv` writes it; `full` behind the name writes the large one for benchmarks.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from engine.common.errors import UsageError
from engine.data.microdata import ColumnLabels, RawColumn, RawTable

_SEED = 31_011  # any number; the census is the same on every machine


class Size(NamedTuple):
    """How large a census is: persons in all, and areas of each level within one of the level above."""

    persons: int
    regions: int
    districts: int
    municipalities: int


SIZES = {"small": Size(20_000, 4, 3, 6), "full": Size(355_000, 5, 8, 15)}
_HOUSEHOLD_SIZE = {False: (0.28, 0.33, 0.17, 0.14, 0.05, 0.02, 0.01), True: (0.44, 0.3, 0.13, 0.09, 0.03, 0.007, 0.003)}
_CITIZENSHIPS = ("national", "A", "B", "C", "D", "E", "F", "G")
_CITIZEN_SHARE = {
    False: (0.955, 0.018, 0.01, 0.007, 0.005, 0.003, 0.0015, 0.0005),
    True: (0.845, 0.055, 0.035, 0.025, 0.018, 0.012, 0.007, 0.003),
}
_TYPES = ("single", "couple", "couple with children", "lone parent", "other")
_EDUCATION = ("none yet", "basic", "secondary", "tertiary")
_WORK = ("not of age", "employed", "unemployed", "in education", "retired", "at home")
_LABELS = {
    "person": "Person identifier",
    "household": "Household identifier",
    "region": "Region of residence",
    "district": "District of residence",
    "municipality": "Municipality of residence",
    "hhsize": "Persons in household",
    "hhtype": "Type of household",
    "tenure": "Tenure of dwelling",
    "dwelling": "Type of dwelling",
    "origin": "Citizenship of reference person",
    "age": "Age in years",
    "sex": "Sex",
    "citizenship": "Country of citizenship",
    "education": "Highest education",
    "work": "Activity status",
}


def census(size: str = "small", seed: int = _SEED) -> RawTable:
    """The census of a size in ``SIZES``, the last household cut short so that the number of persons is exact."""
    if size not in SIZES:
        raise UsageError(f"unknown size '{size}', must be one of {', '.join(SIZES)}")
    return _table(_columns(SIZES[size], np.random.default_rng(seed)))


def _columns(size: Size, rng: np.random.Generator) -> dict[str, np.ndarray]:
    n, most = size.persons, 2 * size.persons // 3
    place, town = _places(size, rng, most)
    n_members = np.empty(most, np.int64)
    for kind, share in _HOUSEHOLD_SIZE.items():
        n_members[town == kind] = _drawn(rng, share, int((town == kind).sum())) + 1
    household = np.repeat(np.arange(most), n_members)[:n]
    first = np.searchsorted(household, np.arange(int(household[-1]) + 1))
    n_members = np.diff(np.append(first, n))
    person = np.arange(n) - first[household]
    households = _households(rng, n_members, town)
    region, district = place // (size.districts * size.municipalities), place // size.municipalities
    codes = {
        "region": [f"R{r + 1}" for r in range(size.regions)],
        "district": [f"R{d // size.districts + 1}.{d % size.districts + 1:02}" for d in range(int(district.max()) + 1)],
    }
    below = size.municipalities
    codes["municipality"] = [f"{codes['district'][m // below]}.{m % below + 1:02}" for m in range(int(place.max()) + 1)]
    areas = {"region": region, "district": district, "municipality": place}
    named = {name: np.array(codes[name])[areas[name][: len(first)]] for name in areas}
    return {
        "person": rng.permutation(n) + 4_000_001,
        "household": rng.permutation(len(first))[household] + 700_001,
        **{name: column[household] for name, column in (named | households).items() if name != "couple"},
        **_persons(rng, household, person, n_members, households),
    }


def _places(size: Size, rng: np.random.Generator, n_households: int) -> tuple[np.ndarray, np.ndarray]:
    """Each household's municipality, and whether it is a town: the largest one or two of a district."""
    n_districts = size.regions * size.districts
    of_district = 0.4 + rng.random(n_districts)
    within = np.exp(1.1 * rng.standard_normal((n_districts, size.municipalities)))
    within = np.maximum(within / within.sum(axis=1, keepdims=True), 0.01)
    share = (within / within.sum(axis=1, keepdims=True) * of_district[:, None]).ravel()
    place = _drawn(rng, share / share.sum(), n_households)
    town = within >= np.sort(within, axis=1)[:, -max(1, size.municipalities // 6), None]
    return place, town.ravel()[place]


def _households(rng: np.random.Generator, n_members: np.ndarray, town: np.ndarray) -> dict[str, np.ndarray]:
    """What holds for a whole household; ``couple`` says that its second member is the partner of the first."""
    n, town = len(n_members), town[: len(n_members)]
    couple = (n_members > 1) & (rng.random(n) < np.where(n_members == 2, 0.76, 0.82))
    other = (n_members > 1) & (rng.random(n) < 0.04)
    kind = np.select(
        [n_members == 1, other, couple & (n_members == 2), couple], [0, 4, 1, 2], default=np.where(n_members > 1, 3, 0)
    )
    owns = rng.random(n) < np.where(town, 0.36, 0.71)
    dwelling = np.where(town, np.where(rng.random(n) < 0.8, 1, 0), np.where(rng.random(n) < 0.06, 2, 0))
    citizen = np.empty(n, np.int64)
    for value, share in _CITIZEN_SHARE.items():
        citizen[town == value] = _drawn(rng, share, int((town == value).sum()))
    return {
        "hhsize": n_members,
        "hhtype": np.array(_TYPES)[kind],
        "tenure": np.where(owns, "owner", "tenant"),
        "dwelling": np.array(["house", "flat", "farm"])[dwelling],
        "origin": np.array(["national", "neighbouring", "other"])[np.searchsorted([1, 4], citizen, side="right")],
        "couple": np.where(couple, citizen, -1 - citizen),
    }


def _persons(
    rng: np.random.Generator,
    household: np.ndarray,
    person: np.ndarray,
    n_members: np.ndarray,
    households: dict[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """What differs between members."""
    n = len(household)
    couple, citizen = households["couple"] >= 0, np.maximum(households["couple"], -1 - households["couple"])
    head = np.where(n_members <= 2, 22 + 70 * rng.random(len(couple)) ** 0.85, 27 + 32 * rng.random(len(couple)))
    head = head.astype(np.int64)
    child = np.maximum(0, head[household] - 22 - (18 * rng.random(n)).astype(np.int64))
    partner = np.maximum(18, head[household] - 7 + (12 * rng.random(n)).astype(np.int64))
    age = np.where(person == 0, head[household], np.where((person == 1) & couple[household], partner, child))
    sex = np.where(rng.random(n) < 0.505, "female", "male")
    own = np.where(rng.random(n) < 0.93, citizen[household], _drawn(rng, _CITIZEN_SHARE[True], n))
    grown = rng.random(n)
    education = np.where(age < 15, 0, np.where(grown < 0.2 + age / 300, 1, np.where(grown < 0.72, 2, 3)))
    status = rng.random(n)
    work = np.where(status < 0.74, 1, np.where(status < 0.8, 2, np.where(status < 0.84, 3, 5)))
    work = np.where((age < 25) & (status < 0.5), 3, np.where(age >= 65, 4, work))
    return {
        "age": np.minimum(age, 99),
        "sex": sex,
        "citizenship": np.array(_CITIZENSHIPS)[own],
        "education": np.array(_EDUCATION)[education],
        "work": np.array(_WORK)[np.where(age < 15, 0, work)],
    }


def _drawn(rng: np.random.Generator, share: np.ndarray | tuple[float, ...], n: int) -> np.ndarray:
    """``n`` codes drawn with these shares."""
    below: np.ndarray = np.cumsum(share)
    codes: np.ndarray = np.minimum(np.searchsorted(below, rng.random(n), side="right"), len(below) - 1)
    return codes


def _table(columns: dict[str, np.ndarray]) -> RawTable:
    import pyarrow as pa

    raw = {}
    for name, values in columns.items():
        distinct, codes = np.unique(values, return_inverse=True)
        about = ColumnLabels(_LABELS[name], measure="scale" if name in ("person", "household", "age") else "nominal")
        raw[name] = RawColumn(name, pa.array(distinct), codes.astype(np.int32), about)
    return RawTable(raw, len(columns["person"]), "census")


def main() -> None:
    """Write the census named on the command line: a file, and perhaps a size."""
    import pyarrow as pa

    from engine.data.io.writers import write_csv

    path, size = [*sys.argv[1:], "small"][:2]
    table = census(size)
    write_csv(path, {c.name: c.values.take(pa.array(c.codes)) for c in table.columns.values()})


if __name__ == "__main__":
    main()
