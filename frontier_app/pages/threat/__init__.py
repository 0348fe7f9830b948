"""The Threat page, part by part."""
