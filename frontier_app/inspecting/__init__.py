"""One candidate before and after, part by part."""
