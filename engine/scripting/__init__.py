"""The engine from Python: DataFrames in, DataFrames out.

``import engine`` offers these names (docs/api.md).
"""
