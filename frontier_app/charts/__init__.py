"""Figures, from arrays that are handed in."""
