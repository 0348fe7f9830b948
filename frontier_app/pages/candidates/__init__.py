"""The page Candidates, part by part."""
