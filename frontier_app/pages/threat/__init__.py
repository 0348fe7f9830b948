"""The page Intruder and uses, part by part."""
