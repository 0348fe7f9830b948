"""The Plan page, part by part."""
