"""The page Data, part by part."""
