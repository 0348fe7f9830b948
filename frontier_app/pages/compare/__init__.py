"""The Compare page, part by part."""
