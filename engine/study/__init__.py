"""The study file; no other package speaks SQL."""
