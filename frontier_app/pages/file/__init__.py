"""The File page, part by part."""
