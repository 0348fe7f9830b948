"""Risk–utility frontiers for data swapping: candidate releases, disclosure risk, data utility, decision, release.

The names below are the engine's face for scripts (docs/api.md).  Each is imported when it is first used, so that
``import engine`` takes no time::

    import engine as sf

    swaps = sf.sweep(df, attributes=["age", "sex", "race"], rates=[0.01, 0.10])
    swaps.frontier()
    best = swaps.choose(max_risk=0.013)
    protected = best.release(df)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine.common import __version__

if TYPE_CHECKING:
    from engine.common.errors import (
        DisclosureWarning,
        EngineError,
        SweepInterruptedWarning,
        UndefinedFigureWarning,
        UsageError,
    )
    from engine.measures import Measure
    from engine.measures import register as register_measure
    from engine.mechanisms import Mechanism
    from engine.mechanisms import register as register_mechanism
    from engine.plan import Plan
    from engine.scripting.candidate import Candidate
    from engine.scripting.data import list_samples, load
    from engine.scripting.measuring import list_measures, list_mechanisms, risk_utility
    from engine.scripting.result import Sweep
    from engine.scripting.sweeping import open_study, sweep

_WHERE = {
    "sweep": "engine.scripting.sweeping",
    "open_study": "engine.scripting.sweeping",
    "risk_utility": "engine.scripting.measuring",
    "load": "engine.scripting.data",
    "list_samples": "engine.scripting.data",
    "list_measures": "engine.scripting.measuring",
    "list_mechanisms": "engine.scripting.measuring",
    "register_measure": "engine.measures:register",
    "register_mechanism": "engine.mechanisms:register",
    "Sweep": "engine.scripting.result",
    "Candidate": "engine.scripting.candidate",
    "Plan": "engine.plan",
    "Measure": "engine.measures",
    "Mechanism": "engine.mechanisms",
    "EngineError": "engine.common.errors",
    "UsageError": "engine.common.errors",
    "DisclosureWarning": "engine.common.errors",
    "SweepInterruptedWarning": "engine.common.errors",
    "UndefinedFigureWarning": "engine.common.errors",
}

__all__ = [
    "Candidate",
    "DisclosureWarning",
    "EngineError",
    "Measure",
    "Mechanism",
    "Plan",
    "Sweep",
    "SweepInterruptedWarning",
    "UndefinedFigureWarning",
    "UsageError",
    "__version__",
    "list_measures",
    "list_mechanisms",
    "list_samples",
    "load",
    "open_study",
    "register_measure",
    "register_mechanism",
    "risk_utility",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'engine' has no attribute '{name}'")
    module, _, attribute = _WHERE[name].partition(":")
    value = globals()[name] = getattr(import_module(module), attribute or name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
