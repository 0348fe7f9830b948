"""The study file: the only package that speaks SQL."""
