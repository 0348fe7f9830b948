"""The engine from Python: DataFrames in, DataFrames out.

``import engine`` offers these names (docs/api.md).
"""

__all__ = ["candidate", "data", "measuring", "result", "sweeping"]
