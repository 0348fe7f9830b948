"""Foundations that every package uses: errors, raw values, the operating system, compiled kernels, keyed streams."""
