"""The Sweep page."""
