"""The ``frontier`` command."""
