"""Validate an installation: recompute known figures offline, in a temporary folder, within minutes.

Each check compares with a result that is known: a published figure, a figure pinned when this version was made, that of
a slow computation beside the fast one, or a fact that must hold exactly.

The part of the self-test on households: a release of them is swept, exported, remade and looked at.
"""

from __future__ import annotations

import gzip
import hashlib
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.bundle.export import export
from engine.bundle.leaks import Secret, forms_of_bytes
from engine.bundle.replay import replay
from engine.bundle.unpack import parts_of
from engine.common.errors import EngineError
from engine.common.os_support import write_private
from engine.data.io.labelled_writers import write_dta, write_sav
from engine.data.io.readers import read_table
from engine.data.io.writers import write_csv, write_parquet
from engine.data.labels import ColumnLabels
from engine.data.microdata import RawColumn, RawTable
from engine.data.units import Units
from engine.frontier.undominated import undominated
from engine.models.loglinear import CZECH_LITERATURE, Counts, fit, parse
from engine.plan import plan_from_toml
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release.space import build, by_swap_sizes, complete, counts
from engine.report.describe import remade
from engine.study.keys import key_path
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
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


KEY = hashlib.sha256(b"the key of the self-test").digest()[:16]
"""A key that is no secret, so that draws can be compared with pinned ones.  Never use it for a release."""
_DRAWS = "081441453ee62bd16ce00610a9e5960c"
_STUDY = "selftest.study"
_PEOPLE = 240
EVERY_MECHANISM = """
[data]
carry = ["pay"]
numeric = ["pay"]
[[attribute]]
name = "sex"
[[attribute]]
name = "region"
[[attribute]]
name = "work"
[roles]
keys = ["sex", "region"]
swap = ["sex", "region"]
[[analysis]]
name = "pay"
formula = "pay ~ sex + work"
[[mechanism]]
name = "random_swap"
[[mechanism]]
name = "rds"
s = 30
[[mechanism]]
name = "dds"
s = 30
[[mechanism]]
name = "pram"
[[mechanism]]
name = "maps"
s = 30
D = 2
[[mechanism]]
name = "smike"
s = 30
D = 2
[[mechanism]]
name = "cgs"
strata = "sex"
n_swap = 20
[[mechanism]]
name = "noise"
[[mechanism]]
name = "cgs_noise"
strata = "sex"
n_swap = 20
[[mechanism]]
name = "survey_swap"
rate = "0.05"
swap = "work"
boundary = "sex"
[space]
swap_sizes = [1]
rates = ["0.1"]
replicates = 2
[measures]
names = ["small_cells", "hellinger", "ci_overlap"]
"""


@dataclass(frozen=True)
class Check:
    """One check: its subject, whether it passed, its result in words, and the seconds that it took."""

    subject: str
    passed: bool
    result: str
    seconds: float


class Mismatch(Exception):
    """A result differs from the known one."""


def _must(holds: object, result: str) -> str:
    if not holds:
        raise Mismatch(result)
    return result


def run_checks() -> Iterator[Check]:
    """Run all checks, one after the other; each is yielded when it is done."""
    with tempfile.TemporaryDirectory(prefix="swap-frontier-", ignore_cleanup_errors=True) as folder:
        for subject, check in _CHECKS.items():
            start = time.perf_counter()
            try:
                passed, result = True, check(Path(folder))
            except (Mismatch, EngineError) as error:
                passed, result = False, str(error)
            except Exception as error:  # any failure is reported, and the checks that follow are run
                passed, result = False, f"ended with {type(error).__name__}: {error}"
            yield Check(subject, passed, result, time.perf_counter() - start)


def _sample(folder: Path) -> str:
    table = code(*load("czech")).table
    n_records, cells = int(table.counts.sum()), np.bincount(table.counts)
    result = f"{n_records:,} records in {len(table)} of 64 cells; {cells[1]} with one record, {cells[2]} with two"
    return _must((n_records, len(table), int(cells[1]), int(cells[2])) == (1841, 63, 1, 2), result)


def _spaces(folder: Path) -> str:
    table = code(*load("czech")).table
    names = table.domain.names
    small, full = build(by_swap_sizes(names, names, (1, 2)), table), build(complete(names, names), table)
    result = f"{len(small.specs)} swaps of one and two attributes, {len(full.specs):,} distinct specs in all"
    return _must((len(small.specs), (full.legal, full.feasible, len(full.specs))) == (21, counts(6)), result)


def _models(folder: Path) -> str:
    data = code(*load("czech"))
    counted = Counts(data.table.cells, data.table.counts, data.domain.shape)
    fitted = fit(counted, parse(CZECH_LITERATURE, data.domain.names))
    result = f"log-likelihood {fitted.log_likelihood:.4f} of {CZECH_LITERATURE}, {counted.saturated:.4f} saturated"
    is_near = abs(fitted.log_likelihood + 6665.4277) < 0.02 and abs(counted.saturated + 6643.1336) < 1e-4
    return _must(is_near, result)


def _swept(folder: Path) -> Study:
    """A study of the Czech data with the key that is no secret."""
    path = folder / _STUDY
    if path.exists():
        return Study.open(path)
    raw, plan = load("czech")
    names = ("small_cells", "hellinger", "total_variation", "false_zeros")
    plan = replace(plan, space=replace(plan.space, rates=("0.02", "0.1"), replicates=40), measures=names)
    if not key_path(path).exists():
        write_private(key_path(path), KEY.hex().encode() + b"\n")
    return sweep(raw, plan, path, workers=1)


def _draws(folder: Path) -> str:
    """Integers only, so that the digest is the same on every platform."""
    with _swept(folder) as study:
        results, n = study.runs.results(), int(study.about["n_records"])
    rows = np.column_stack(
        [
            results.scenario,
            results.replicate,
            results.status,
            results.changed,
            np.rint(results.values[:, 0] * (n - results.changed)),
            np.rint(results.values[:, 2] * 2 * n),
        ]
    )
    digest = hashlib.blake2b(rows.astype("<i8").tobytes(), digest_size=16).hexdigest()
    return _must(digest == _DRAWS, f"{len(rows):,} realisations with digest {digest}")


def _means(folder: Path) -> str:
    """Hellinger distances at 10 %, means of 40 realisations, beside an independent computation."""
    known = {"A": 0.0357, "B": 0.0662, "F": 0.0489, "B C": 0.0367, "B F": 0.0865, "C F": 0.0868}
    with _swept(folder) as study:
        view = risk_utility_map(study)
        index_of = {}
        for scenario in study.scenarios:
            if scenario.spec.rate == "0.1":
                roles = zip(study.names, scenario.spec.attributes.roles, strict=True)
                index_of[" ".join(name for name, role in roles if role == "S")] = scenario.index
    distances = {swap: abs(float(view.summary.mean[index_of[swap], 1])) for swap in known}
    worst = max(abs(distances[swap] / known[swap] - 1) for swap in known)
    return _must(worst < 0.06, f"at most {100 * worst:.1f} % from the means of another program for {len(known)} swaps")


def _marginals(folder: Path) -> str:
    raw, _ = load("czech")
    checked = 0
    with _swept(folder) as study:
        for scenario in study.scenarios:
            release = remade(study, raw, scenario.label, 1)
            for j, role in enumerate(scenario.spec.attributes.roles):
                before, after = release.data.codes[j], release.codes(j)
                same = np.array_equal(np.bincount(before), np.bincount(after))
                if not same or (role != "S" and not np.array_equal(before, after)):
                    raise Mismatch(f"{scenario.label}: attribute '{study.names[j]}' is not kept")
            checked += 1
    return f"{checked} releases keep every marginal, and every attribute that is not swapped record by record"


def _frontier(folder: Path) -> str:
    rng = np.random.default_rng(1)
    for k in (2, 3, 4):
        points = rng.integers(0, 30, (600, k)).astype(float)
        a, b = points[:, None, :], points[None, :, :]
        worse = np.all(a >= b, axis=2) & np.any(a > b, axis=2)
        _must(np.array_equal(undominated(points), ~np.any(worse, axis=1)), f"the maxima in {k} dimensions are wrong")
    return "maxima in 2, 3 and 4 dimensions equal those of comparing every pair"


def _people() -> RawTable:
    """Made-up people: no record is anybody's."""
    import pyarrow as pa

    rng = np.random.default_rng(7)
    sex, region, work = (rng.integers(0, k, _PEOPLE) for k in (2, 3, 4))
    pay = np.round(20 + 5 * sex + 3 * work + rng.normal(0, 4, _PEOPLE), 1)
    values, codes = np.unique(pay, return_inverse=True)
    columns = {
        "sex": RawColumn("sex", pa.array(["f", "m"]), sex.astype(np.int8)),
        "region": RawColumn("region", pa.array(["north", "south", "west"]), region.astype(np.int8)),
        "work": RawColumn("work", pa.array(["field", "office", "home", "none"]), work.astype(np.int8)),
        "pay": RawColumn("pay", pa.array([f"{value:g}" for value in values]), codes.astype(np.int32)),
    }
    return RawTable(columns, _PEOPLE, "made-up people")


def _mechanisms(folder: Path) -> str:
    """One run of each is drawn in the sweep and remade."""
    raw = _people()
    with sweep(raw, plan_from_toml(EVERY_MECHANISM), folder / "all.study", workers=1) as study:
        results, scenarios = study.runs.results(), {s.spec.mechanism: s for s in study.scenarios}
        for name, scenario in scenarios.items():
            row = np.flatnonzero((results.scenario == scenario.index) & (results.replicate == 2))[0]
            release = remade(study, raw, scenario.label, 2)
            for k, call in enumerate(study.measures):
                stored, figure = float(results.values[row, k]), release.figures[str(call)]
                if not (figure == stored or (figure != figure and stored != stored)):
                    raise Mismatch(f"{name}: {call} is {figure!r}, the sweep had {stored!r}")
    return _must(len(scenarios) == 10, f"releases of {len(scenarios)} mechanisms are remade with equal figures")


def _replay(folder: Path) -> str:
    """Choice, export and replay, of a release with one table and of one with two."""
    raw, files = _people(), 0
    with Study.open(folder / "all.study") as study:
        for name in ("random_swap", "maps"):
            scenario = next(s for s in study.scenarios if s.spec.mechanism == name)
            replayed = replay(export(study, raw, scenario.label, folder / name), raw)
            _must(replayed.same and not replayed.differs, "; ".join(replayed.differs))
            files += len(replayed.same)
    return f"{files} released files are remade bit for bit"


def _formats(folder: Path) -> str:
    """Values, labels and missing codes through SPSS and Stata, values through CSV and Parquet."""
    import pyarrow as pa

    codes = pa.array([1, 2, 9, 1], pa.int64())
    labels = {"work": ColumnLabels("Is at work", (("1", "yes"), ("2", "no"), ("9", "refused")), missing=("9",))}
    for name, write in (("a.sav", write_sav), ("a.dta", write_dta)):
        write(folder / name, {"work": codes}, labels)
        column = read_table(folder / name).columns["work"]
        about, values = column.about, [float(column.values[int(code)].as_py()) for code in column.codes]
        labelled = about.label == "Is at work" and dict(about.values) == {"1": "yes", "2": "no", "9": "refused"}
        missing = name == "a.dta" or about.missing == ("9",)  # Stata cannot declare a code such as 9 missing
        _must(values == [1, 2, 9, 1] and labelled and missing, f"{name} is not read back as it was written")
    for name, write_plain in (("a.csv", write_csv), ("a.parquet", write_parquet)):
        write_plain(folder / name, {"work": codes})
        column = read_table(folder / name).columns["work"]
        _must(
            [str(column.values[int(code)]) for code in column.codes] == ["1", "2", "9", "1"], f"{name} is not read back"
        )
    return "CSV, Parquet, SPSS and Stata files are read back as they were written"


def _leaks(folder: Path) -> str:
    """A key that is hidden in a released file, plain, as hexadecimal digits or compressed, is found."""
    secret = Secret("a key", forms_of_bytes(KEY))
    hidden = folder / "hidden"
    hidden.mkdir()
    (hidden / "plain.csv").write_bytes(b"a,b\n" + KEY)
    (hidden / "digits.csv").write_text("a,b\n" + KEY.hex().upper(), encoding="utf-8")
    (hidden / "packed.gz").write_bytes(gzip.compress(KEY.hex().encode()))
    with zipfile.ZipFile(hidden / "memo.docx", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("docProps/core.xml", "made with " + KEY.hex())
    for path in hidden.iterdir():
        _must(any(secret.found_in(part) for part in parts_of(path)), f"the key in {path.name} was not found")
    (folder / "clean.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    _must(not any(secret.found_in(part) for part in parts_of(folder / "clean.csv")), "a key was found where none is")
    return "a key is found in plain, written, compressed and packed files, and nowhere else"


_CHECKS: dict[str, Callable[[Path], str]] = {
    "The Czech car workers": _sample,
    "Release spaces": _spaces,
    "Log-linear models": _models,
    "Draws, bit for bit": _draws,
    "Mean distortions": _means,
    "What a swap keeps": _marginals,
    "Frontiers": _frontier,
    "All mechanisms": _mechanisms,
    "Export and replay": _replay,
    "Households": check_households,
    "File formats": _formats,
    "Leak scan": _leaks,
}
