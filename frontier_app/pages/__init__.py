"""The pages, a package each."""

__all__ = []
