"""Risk–utility frontiers for data swapping: candidate releases, disclosure risk, data utility, decision, release."""

__version__ = "0.1.0"
