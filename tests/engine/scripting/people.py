"""Some people as a DataFrame, in columns of several types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

KEY = bytes(range(16))


def people(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "age": rng.integers(1, 4, n),
            "sex": pd.Categorical(rng.choice(["m", "f"], n), categories=["m", "f"]),
            "race": pd.array(rng.choice(["a", "b", "c"], n)),
            "school": np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 3, n)),
            "income": rng.integers(20, 60, n) * 25.0,
        },
        index=[f"p{i}" for i in range(n)],
    )


SPACE: dict[str, Any] = {
    "swap_sizes": [1, 2],
    "rates": [0.05, 0.2],
    "replicates": 12,
    "measures": ["small_cells", "hellinger"],
}
