"""Validate an installation offline, in a temporary folder, within a minute.

A model is compared with its published figure, and draws with a digest made when this version was; a release is
exported and remade bit for bit.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.bundle.export import export
from engine.bundle.replay import replay
from engine.common.errors import EngineError
from engine.common.os_support import write_private
from engine.models.loglinear import CZECH_LITERATURE, Counts, fit, parse
from engine.plan.coding import code
from engine.plan.samples import load
from engine.study.keys import key_path
from engine.sweeps.sweep import sweep

KEY = hashlib.sha256(b"the key of the self-test").digest()[:16]
"""A key that is no secret, so that draws can be compared with pinned ones.  Never use it for a release."""
Result = tuple[bool, str]
_DRAWS = "081441453ee62bd16ce00610a9e5960c"


@dataclass(frozen=True)
class Check:
    """One check: its subject, whether it passed, its result in words, and the seconds that it took."""

    subject: str
    passed: bool
    result: str
    seconds: float


def run_checks() -> Iterator[Check]:
    """Run all checks, one after the other; each is yielded when it is done."""
    with tempfile.TemporaryDirectory(prefix="swap-frontier-", ignore_cleanup_errors=True) as folder:
        for subject, check in _CHECKS.items():
            start = time.perf_counter()
            try:
                passed, result = check(Path(folder))
            except Exception as error:  # any failure is reported, and the checks that follow are run
                kind = "" if isinstance(error, EngineError) else f"ended with {type(error).__name__}: "
                passed, result = False, f"{kind}{error}"
            yield Check(subject, passed, result, time.perf_counter() - start)


def _models(folder: Path) -> Result:
    data = code(*load("czech"))
    counted = Counts(data.table.cells, data.table.counts, data.domain.shape)
    fitted = fit(counted, parse(CZECH_LITERATURE, data.domain.names))
    result = f"log-likelihood {fitted.log_likelihood:.4f} of {CZECH_LITERATURE}, {counted.saturated:.4f} saturated"
    is_near = abs(fitted.log_likelihood + 6665.4277) < 0.02 and abs(counted.saturated + 6643.1336) < 1e-4
    return is_near, result


def _draws(folder: Path) -> Result:
    """Integers only, so that the digest is the same on every platform."""
    raw, plan = load("czech")
    names = ("small_cells", "hellinger", "total_variation", "false_zeros")
    plan = replace(plan, space=replace(plan.space, rates=("0.02", "0.1"), replicates=40), measures=names)
    path = folder / "selftest.study"
    write_private(key_path(path), KEY.hex().encode() + b"\n")
    with sweep(raw, plan, path, workers=1) as study:
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
    return digest == _DRAWS, f"{len(rows):,} realisations with digest {digest}"


def _release(folder: Path) -> Result:
    raw, plan = load("czech")
    plan = replace(plan, space=replace(plan.space, swap_sizes=(1,), rates=("0.1",), replicates=2))
    with sweep(raw, plan, folder / "release.study", workers=1) as study:
        replayed = replay(export(study, raw, f"{study.scenarios[0].label}/2", folder / "release"), raw)
    if replayed.differs or not replayed.same:
        return False, "; ".join(replayed.differs) or "no files"
    return True, f"{len(replayed.same)} released files are remade bit for bit"


_CHECKS: dict[str, Callable[[Path], Result]] = {
    "Log-linear models": _models,
    "Draws, bit for bit": _draws,
    "A release": _release,
}
