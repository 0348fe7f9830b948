"""Released tables as data frames, for twins that fit models to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from engine.release.records import ReleasedTable


def frame_of(table: ReleasedTable, names: Sequence[str]) -> pd.DataFrame:
    """Attributes as categoricals with all their declared levels, other raw columns (also as NAME_raw) as numbers."""
    domain, columns = table.data.domain, dict[str, Any]()
    for name in names:
        if name in domain.names:
            j = domain.index(name)
            levels = pd.Index(domain.attributes[j].levels, dtype=object)
            columns[name] = pd.Categorical.from_codes(table.codes(j).astype(np.int64), levels)
        else:
            columns[name] = table.numeric(name if name in table.data.raw.columns else name.removesuffix("_raw"))
    return pd.DataFrame(columns)
