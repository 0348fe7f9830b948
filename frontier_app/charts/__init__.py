"""Figures from given arrays."""
