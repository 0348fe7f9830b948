"""The pages, a package each."""

__all__ = ["explore"]
