"""The figures of the unaltered data, which a bound on risk is compared with."""

from __future__ import annotations

from engine.data.microdata import Microdata
from engine.measures import call
from engine.plan.types import Plan
from engine.sweeps.evaluator import Question


def original_figure(plan: Plan, data: Microdata, measure: str) -> float | None:
    """``measure`` (a name with its parameters) on the unaltered data, in its own unit.

    None for a measure that works on records: it takes long, and a study has its figure.  Parameters or attributes that
    do not fit are a :class:`~engine.common.errors.UsageError`.
    """

    wanted = call(measure)
    if wanted.measure.on_records:
        return None
    return Question(data.table, (wanted,), plan).original()[str(wanted)]
