"""The page of threat and uses, part by part."""
