"""Foundations that every package uses: errors, raw values, the operating system, compiled kernels, keyed streams."""

__all__ = [
    "blas_threads",
    "cache",
    "compiled",
    "errors",
    "messages",
    "os_support",
    "output",
    "parsing",
    "printable",
    "progress",
    "raw_values",
    "registry",
    "resources",
    "spreadsheets",
    "stored_values",
    "streams",
    "terminal",
    "untrusted",
    "version",
    "wording",
]
