"""The ``frontier`` command."""

__all__ = ["main"]
