"""All mechanisms by name.  Each lives in a file of its own, which is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from engine.common.errors import UsageError, did_you_mean
from engine.mechanisms.base import Mechanism

_WHERE = {
    "rds": ("key_swaps", "RDS"),
    "dds": ("key_swaps", "DDS"),
    "pram": ("pram", "PRAM"),
    "maps": ("maps", "MAPS"),
    "smike": ("smike", "SMIKE"),
    "cgs": ("group_swap", "CGS"),
    "noise": ("noise", "NOISE"),
    "cgs_noise": ("pipeline", "CGS_NOISE"),
}


def names() -> tuple[str, ...]:
    """Names of the mechanisms that draw over records, in a fixed order; the random swap is not among them."""
    return tuple(_WHERE)


def mechanism(name: str) -> Mechanism:
    """The mechanism called ``name``."""
    if name not in _WHERE:
        raise UsageError(f"unknown mechanism '{name}'.{did_you_mean(name, ['random_swap', *_WHERE])}")
    module, attribute = _WHERE[name]
    found: Mechanism = getattr(import_module(f"engine.mechanisms.{module}"), attribute)
    return found
