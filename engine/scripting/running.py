"""Work on a study that a script asks for."""

from __future__ import annotations

import warnings

from engine.common.errors import SweepInterruptedWarning, UndefinedFigureWarning
from engine.common.output import Ticker, announce
from engine.release.results import NoteKind
from engine.study.runs import RunTable
from engine.study.study import Study
from engine.sweeps.sweep import OpenSweep


def fill_study(opened: OpenSweep, workers: int, progress: bool) -> None:
    """Draw and measure what a study does not hold yet, and warn of undefined figures; an interruption ends the work and
    leaves what is done."""
    try:
        if progress:
            ticker = Ticker()
            opened.run(workers=workers, on_progress=ticker, on_time_left=ticker.time_left, announce=announce)
        else:
            opened.run(workers=workers)
    except KeyboardInterrupt:
        state = opened.study.progress
        warnings.warn(
            f"interrupted after {state.done:,} of {state.total:,} runs; what is done can be used, and resume goes on",
            SweepInterruptedWarning,
            stacklevel=4,
        )
    warn_of_undefined(opened.study, stacklevel=5)


def warn_of_undefined(study: Study, table: RunTable = "realisation", stacklevel: int = 4) -> None:
    """Warn of each measure that has no figure for some runs, with the reason of the first."""
    for k, call in enumerate(study.measures):
        runs = study.runs.undefined(k, table)
        if runs is None:
            continue
        n, (scenario, replicate) = runs
        reasons = [
            note.text
            for note in study.notes.of(scenario)
            if (note.replicate, note.kind, note.measure) == (replicate, NoteKind.FIGURE, k)
        ]
        reason = reasons[0].removeprefix(f"{call}: ") if reasons else call.measure.undefined
        warnings.warn(
            f"measure '{call}' is undefined in {n:,} of {study.runs.count(table):,} runs, first in "
            f"{study.scenarios[scenario].label}/{replicate}: {reason}",
            UndefinedFigureWarning,
            stacklevel=stacklevel,
        )
