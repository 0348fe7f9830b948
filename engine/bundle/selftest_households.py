"""The part of the self-test on households: a release of them is swept, exported, remade and looked at."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from engine.bundle.export import export
from engine.bundle.replay import replay
from engine.common.errors import EngineError
from engine.data.io.readers import read_table
from engine.data.microdata import RawColumn, RawTable
from engine.data.units import Units
from engine.plan import plan_from_toml
from engine.sweeps.sweep import sweep

PLAN = """
[publish]
include = ["unit"]
[data]
unit = "home"
[[attribute]]
name = "region"
[[attribute]]
name = "town"
[[attribute]]
name = "size"
[[attribute]]
name = "sex"
[[mechanism]]
name = "trs"
rate = "0.2"
hierarchy = "region+town"
risk = "sex"
k = 3
similar = "size"
[space]
replicates = 2
[measures]
names = ["small_cells", "hellinger"]
"""


def homes() -> RawTable:
    """Made-up people in 120 homes of one to three, in six towns of two regions."""
    import pyarrow as pa

    rng = np.random.default_rng(9)
    size, town = rng.integers(1, 4, 120), rng.integers(0, 6, 120)
    home = np.repeat(np.arange(120), size)
    columns = {
        "home": ([f"home {i}" for i in range(120)], home),
        "region": (["north", "south"], town[home] // 3),
        "town": ([f"town {i}" for i in range(6)], town[home]),
        "size": (["1", "2", "3"], size[home] - 1),
        "sex": (["f", "m"], rng.integers(0, 2, len(home))),
    }
    coded = {name: RawColumn(name, pa.array(v), codes.astype(np.int32)) for name, (v, codes) in columns.items()}
    return RawTable(coded, len(home), "made-up homes")


def check_households(folder: Path) -> str:
    """Homes leave whole under new numbers, with one town each and as many persons by town and size as before; what
    does not hold is an :class:`EngineError`."""
    raw = homes()
    with sweep(raw, plan_from_toml(PLAN), folder / "homes.study", workers=1) as study:
        out = export(study, raw, f"{study.scenarios[0].label}/1", folder / "homes", formats=("csv",))
    replayed, released = replay(out, raw), read_table(out / "release" / "release.csv")
    new = Units.from_codes(released.columns["home"].codes)
    size = np.array(_values(released, "size"), int)
    faults = {
        "; ".join(replayed.differs): not replayed.same or bool(replayed.differs),
        "a home is in two towns": not new.constant(released.columns["town"].codes).all(),
        "a home is torn": not np.array_equal(size[new.first], new.size),
        "a town has other sizes than before": _sizes(raw) != _sizes(released),
        "an old number of a home is released": bool(set(_values(raw, "home")) & set(_values(released, "home"))),
    }
    for fault, found in faults.items():
        if found:
            raise EngineError(fault or "nothing was remade")
    return f"{len(new)} homes leave whole and renumbered, with all counts by town and size as they were"


def _sizes(table: RawTable) -> Counter[tuple[str, str]]:
    return Counter(zip(_values(table, "town"), _values(table, "size"), strict=True))


def _values(table: RawTable, name: str) -> list[str]:
    values = [str(value) for value in table.columns[name].values.to_pylist()]
    return [values[code] for code in table.columns[name].codes.tolist()]
