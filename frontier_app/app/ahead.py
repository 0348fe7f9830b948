"""This module loads what the first page needs, while the browser is still starting.

Most of the time until a new server shows its first page goes into importing pandas, plotly, scipy and the engine.  The
server imports this module in a thread of its own as soon as it starts, so that the first page finds them loaded.
"""

from __future__ import annotations

import plotly.graph_objects as go
import scipy.special

from frontier_app.charts import style
from frontier_app.pages.explore import card, controls, table
from frontier_app.session import loading
from frontier_app.widgets import finalists

__all__ = ["card", "controls", "finalists", "loading", "scipy", "table"]

# The first figure of a process loads the classes that check every figure.
style.framed(go.Figure(go.Scatter(x=[0.0], y=[0.0], mode="markers"))).to_json()
