"""Foundations that every package uses: errors, raw values, the operating system, compiled kernels, keyed streams."""

__version__ = "0.1.0"
"""The version of the program, as studies, manifests and certificates state it."""
