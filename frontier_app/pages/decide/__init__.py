"""The page Decide, part by part."""
