"""The Board page."""
