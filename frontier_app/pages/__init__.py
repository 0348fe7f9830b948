"""One page a file; a page with parts is a package."""
