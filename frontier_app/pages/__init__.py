"""The pages, a package each."""
