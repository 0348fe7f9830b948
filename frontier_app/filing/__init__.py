"""The page of the file, part by part."""
