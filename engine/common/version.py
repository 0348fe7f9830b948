"""The version of the program: it stands in studies, manifests and certificates."""

__version__ = "0.1.0"
