"""The made-up census of the shared folder, made on demand, and figures of a release of it."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv

from engine.data.domain import Attribute, Domain
from engine.data.microdata import Microdata, RawColumn, RawTable
from engine.mechanisms.base import Drawn
from engine.mechanisms.targeted import Prepared
from tests.shared import shared_file

LEVELS = ("nuts2", "nuts3", "lau")


@lru_cache(1)
def census() -> Microdata:
    """355,336 persons in 152,000 households; the test is skipped where the shared folder is absent."""
    script = shared_file("data", "make_census.py")
    found = importlib.util.spec_from_file_location("make_census", script)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "census.csv"
        module.main(str(path))
        table = pa.csv.read_csv(path)
    attributes, codes, raw = [], [], {}
    for name in table.column_names:
        values, numbers = np.unique(table[name].to_numpy(), return_inverse=True)
        texts = tuple(map(str, values.tolist()))
        raw[name] = RawColumn(name, pa.array(texts), numbers.astype(np.int32))
        if name not in ("pid", "hid"):
            attributes.append(Attribute(name, texts))
            codes.append(numbers.astype(np.int32))
    data = RawTable(raw, table.num_rows, "census")
    return Microdata(Domain(tuple(attributes)), tuple(codes), data, unit="hid")


def figures(prepared: Prepared, drawn: Drawn, risk: tuple[str, ...], k: int) -> dict[str, float]:
    """The figures of the reference on one run, by their names there."""
    units, table, area = prepared.units, drawn.tables[0], prepared.area
    data, domain = table.data, table.data.domain
    assert table.source is not None
    partner = units.of_record[table.source[units.first]]
    everyone = np.arange(len(units))
    swapped = partner != everyone
    crossed = area != area[:, partner]
    first = units.first
    found: dict[str, float] = {
        "households_swapped": swapped.sum(),
        "share_households": swapped.mean(),
        "persons_swapped": units.size[swapped].sum(),
        "involution": bool((partner[partner] == everyone).all()),
        "geography_is_partners": all(
            (table.codes(j)[first] == data.codes[j][first[partner]]).all() for j in prepared.places
        ),
        "moved_nuts2": crossed[0].sum(),
        "moved_nuts3_only": (crossed[1] & ~crossed[0]).sum(),
        "moved_lau_only": (crossed[2] & ~crossed[1]).sum(),
        "swapped_unmoved": (swapped & ~crossed[2]).sum(),
        "profile1_share_of_swapped": (prepared.group[0] == prepared.group[0][partner])[swapped].mean(),
        "hsize_equal": bool((units.size == units.size[partner]).all()),
        "not_risky_swapped": (swapped & (prepared.level == len(area))).sum(),
        "households_logged_without_donor": float(drawn.diagnostics["without_donor"]),
    }
    for h, name in enumerate(LEVELS):
        risky = prepared.level == h
        found[f"risky_at_{name}"] = risky.sum()
        found[f"risky_at_{name}_swapped"] = (risky & swapped).sum()
        found[f"risky_at_{name}_moved_across"] = (risky & crossed[h]).sum()
    lowest = domain.index("lau")
    before, after = data.codes[lowest].astype(np.int64), table.codes(lowest).astype(np.int64)
    size = data.codes[domain.index("hsize")][first]
    found["households_by_lau_kept"] = bool((np.bincount(before[first]) == np.bincount(after[first])).all())
    found["persons_by_lau_kept"] = bool((np.bincount(before) == np.bincount(after)).all())
    found["hsize_by_lau_kept"] = changed_cells(before[first], after[first], size) == 0
    found["profile1_by_lau_cells_changed"] = changed_cells(before[first], after[first], prepared.group[0])
    for name in LEVELS:
        for other in ("nat", "agegrp"):
            found |= distances(drawn, (name, "sex", other), f"{name}_sex_{other}")
    return found | small(drawn, ("lau", *risk), k)


def changed_cells(before: np.ndarray, after: np.ndarray, other: np.ndarray) -> int:
    """Cells of area by something whose count changed."""
    n = int(other.max()) + 1
    length = (int(before.max()) + 1) * n
    was, now = (np.bincount(area * n + other, minlength=length) for area in (before, after))
    return int(np.count_nonzero(was != now))


def distances(drawn: Drawn, names: tuple[str, ...], suffix: str) -> dict[str, float]:
    """Hellinger distance, total variation distance and largest difference of a table of persons."""
    table = drawn.tables[0]
    places = table.data.domain.indices(names)
    shape = [table.data.domain.shape[j] for j in places]
    was, now = (
        np.bincount(np.ravel_multi_index(codes, shape), minlength=int(np.prod(shape)))
        for codes in ([table.data.codes[j] for j in places], [table.codes(j) for j in places])
    )
    n = len(table.data.codes[0])
    return {
        f"HD_{suffix}": float(np.sqrt(((np.sqrt(was / n) - np.sqrt(now / n)) ** 2).sum() / 2)),
        f"TV_{suffix}": float(np.abs(was - now).sum() / n / 2),
        f"maxdiff_{suffix}": float(np.abs(was - now).max()),
    }


def small(drawn: Drawn, names: tuple[str, ...], k: int) -> dict[str, float]:
    """Persons in cells of fewer than k before and after, those of them who did not move, and uniques still true."""
    table = drawn.tables[0]
    places = table.data.domain.indices(names)
    shape = [table.data.domain.shape[j] for j in places]
    before = np.ravel_multi_index([table.data.codes[j] for j in places], shape)
    after = np.ravel_multi_index([table.codes(j) for j in places], shape)
    length = int(np.prod(shape))
    was, now = np.bincount(before, minlength=length)[before], np.bincount(after, minlength=length)[after]
    unmoved = before == after
    return {
        "small_persons_before": float((was < k).sum()),
        "small_persons_after": float((now < k).sum()),
        "small_persons_after_unmoved": float(((now < k) & unmoved).sum()),
        "true_uniques_left": float(((was == 1) & (now == 1) & unmoved).sum()),
    }
