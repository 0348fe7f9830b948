"""Tables of the measures and mechanisms that a plan can name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.measures import MEASURES
from engine.mechanisms import mechanism, names

if TYPE_CHECKING:
    import pandas as pd

_MEASURE = ("name", "kind", "title", "symbol", "better", "range", "unit", "over", "needs", "cost", "meaning", "source")
_MECHANISM = ("name", "title", "rate", "when", "source")


def list_measures() -> pd.DataFrame:
    """Return the measures, registered ones too, one row each by its name.

    ``kind`` is "risk" or "utility"; ``better`` is "lower", "higher" or "zero" (nearer to zero); ``over`` says which
    attributes it tabulates unless told otherwise (keys, analyse or all); ``needs`` is "counts" or "records";
    ``parameters`` are written in brackets behind the name, such as ``small_cells[n_rule=5]``.

    Example::

        sf.list_measures().query("kind == 'risk'")
    """
    import pandas as pd

    rows = [
        (*(getattr(measure, field) for field in _MEASURE), "; ".join(f"{k}={v}" for k, v in measure.parameters.items()))
        for measure in MEASURES.values()
    ]
    return pd.DataFrame(rows, columns=[*_MEASURE, "parameters"]).set_index("name")


def list_mechanisms() -> pd.DataFrame:
    """Return the mechanisms, registered ones too, one row each by its name.

    ``rate`` says what its amount counts, ``when`` when to use it; ``parameters`` go into ``mechanisms`` of
    :func:`sweep`, such as ``mechanisms={"rds": {"s": [2, 3]}}``, each with its default where it has one.

    Example::

        sf.list_mechanisms()["parameters"]
    """
    import pandas as pd

    rows = []
    for declared in map(mechanism, names()):
        parameters = "; ".join(p.name if p.default is None else f"{p.name}={p.default}" for p in declared.parameters)
        rows.append((*(str(getattr(declared, field)) for field in _MECHANISM), parameters))
    return pd.DataFrame(rows, columns=[*_MECHANISM, "parameters"]).set_index("name")
