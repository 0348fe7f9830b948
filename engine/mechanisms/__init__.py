"""All mechanisms by name; each lives in a file of its own, which is imported on demand.

A new one is a file of this package and a line here; :func:`register` adds one from outside (docs/extending.md).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from engine.common.registry import Registry
from engine.mechanisms.base import Drawn, Mechanism, shared_stream, table_stream
from engine.release.parameter import Amount
from engine.release.spec import ReleaseSpec

_FILES = {
    "random_swap": ("random_swap", "SWAP"),
    "rds": ("key_swaps", "RDS"),
    "dds": ("key_swaps", "DDS"),
    "pram": ("pram", "PRAM"),
    "maps": ("maps", "MAPS"),
    "smike": ("smike", "SMIKE"),
    "cgs": ("group_swap", "CGS"),
    "noise": ("noise", "NOISE"),
    "cgs_noise": ("noise", "CGS_NOISE"),
    "trs": ("targeted", "TRS"),
    "survey_swap": ("survey_swap", "SURVEY_SWAP"),
}


@cache
def _load(name: str) -> Mechanism:
    module, attribute = _FILES[name]
    loaded: Mechanism = getattr(import_module(f"engine.mechanisms.{module}"), attribute)
    return loaded


MECHANISMS: Registry[Mechanism] = Registry("mechanism", _FILES, _load, Mechanism)
"""Every mechanism by its name, the random swap first."""


def register(mechanism: Mechanism) -> Mechanism:
    """Add a mechanism from outside the package, for as long as this process runs; returns it.

    A mechanism registered before under the same name is replaced; the name of one of the package is refused.

    Example::

        sf.register_mechanism(sf.Mechanism("rotate", prepare=prepare, draw=draw, ...))
    """
    return MECHANISMS.register(mechanism)


def names() -> tuple[str, ...]:
    """Names of the mechanisms, in a fixed order: those of the package, then registered ones."""
    return tuple(MECHANISMS)


def mechanism(name: str) -> Mechanism:
    """The mechanism called ``name``."""
    return MECHANISMS.find(name)


def amount(spec: ReleaseSpec) -> Amount:
    """How much a scenario changes, in the terms of its mechanism."""
    return mechanism(spec.mechanism).amount(spec)


__all__ = [
    "MECHANISMS",
    "Drawn",
    "Mechanism",
    "amount",
    "mechanism",
    "names",
    "register",
    "shared_stream",
    "table_stream",
]
