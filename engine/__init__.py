"""Risk–utility frontiers for data swapping: candidate releases, disclosure risk, data utility, decision, release."""

from engine.common.version import __version__

__all__ = ["__version__"]
