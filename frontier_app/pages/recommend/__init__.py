"""The Recommend page."""
