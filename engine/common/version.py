"""The version of the program, as studies, manifests and certificates state it."""

__version__ = "0.1.0"
