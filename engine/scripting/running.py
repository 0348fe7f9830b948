"""Work on a study that a script asks for."""

from __future__ import annotations

import warnings

from engine.common.errors import SweepInterruptedWarning
from engine.common.progress import Ticker, announce
from engine.sweeps.sweep import OpenSweep


def fill_study(opened: OpenSweep, workers: int, progress: bool) -> None:
    """Draw and measure what a study does not hold yet; an interruption ends the work and leaves what is done."""
    try:
        opened.run(workers=workers, on_progress=Ticker() if progress else None, announce=announce if progress else None)
    except KeyboardInterrupt:
        state = opened.study.progress
        warnings.warn(
            f"interrupted after {state.done:,} of {state.total:,} runs; what is done can be used, and resume goes on",
            SweepInterruptedWarning,
            stacklevel=4,
        )
