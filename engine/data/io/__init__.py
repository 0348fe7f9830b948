"""Readers and writers of data files."""
