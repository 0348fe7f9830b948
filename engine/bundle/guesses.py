"""Keys and secrets that can be guessed: small numbers, repeated digits, the output of programs for small seeds."""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

FAMILIES = (
    "number",
    "number, low byte first",
    "digits",
    "repeated digits",
    "repeated byte",
    "SHA-256",
    "MD5",
    "BLAKE2",
    "Python's random",
    "NumPy's generator",
    "NumPy's old generator",
)
"""Ways in which a small seed becomes bytes."""
SMALL = 1 << 40
"""A key that reads as a number below this is small."""


class _OldGenerator(threading.local):
    """One old generator in each thread: making one takes ten times as long as giving it another seed."""

    def __init__(self) -> None:
        self.generator = np.random.RandomState(0)


_old = _OldGenerator()


def old_generator(seed: int) -> np.random.RandomState:
    """A generator equal to ``numpy.random.RandomState(seed)``, until the next call in the same thread."""
    _old.generator.seed(seed)
    return _old.generator


def spread(family: str, seed: int, size: int) -> bytes:
    """The bytes that one family makes of a seed."""
    text = str(seed)
    if family == "number":
        return seed.to_bytes(size, "big")
    if family == "number, low byte first":
        return seed.to_bytes(size, "little")
    if family == "digits":  # as a person types it into a key file: 000...042 as hexadecimal digits
        return bytes.fromhex(text.zfill(2 * size)[-2 * size :])
    if family == "repeated digits":
        return bytes.fromhex((text * (2 * size))[: 2 * size])
    if family == "repeated byte":
        return bytes([seed % 256]) * size
    if family in ("SHA-256", "MD5", "BLAKE2"):
        name = {"SHA-256": "sha256", "MD5": "md5", "BLAKE2": "blake2b"}[family]
        digest = hashlib.new(name, text.encode()).digest()
        return (digest * (size // len(digest) + 1))[:size]
    if family == "Python's random":
        return random.Random(seed).randbytes(size)
    if family == "NumPy's generator":
        return np.random.default_rng(seed).bytes(size)
    return old_generator(seed).bytes(size)


def guesses(size: int, n_seeds: int) -> Iterator[tuple[str, int, bytes]]:
    """Family, seed and bytes of every guess with a seed below ``n_seeds``, each byte string once."""
    seen: set[bytes] = set()
    for seed in range(n_seeds):
        for family in FAMILIES:
            guess = spread(family, seed, size)
            if guess not in seen:
                seen.add(guess)
                yield family, seed, guess


def weakness(secret: bytes, n_seeds: int) -> str:
    """The way in which a secret could be guessed, in words; empty for one that none of the families makes."""
    if min(int.from_bytes(secret, "big"), int.from_bytes(secret, "little")) < SMALL:
        return "it is a small number"
    text = secret.hex()
    for length in range(1, 9):
        if text == (text[:length] * len(text))[: len(text)]:
            return "it repeats a few digits"
    if text.lstrip("0").isdecimal() and len(text.lstrip("0")) <= 14:
        return "it is a small number"
    if len(set(secret)) <= len(secret) // 2:
        return "it holds few different bytes"
    family = _families_by_bytes(len(secret), n_seeds).get(secret)
    return f"it comes of a small seed ({family})" if family else ""


@lru_cache(maxsize=4)
def _families_by_bytes(size: int, n_seeds: int) -> dict[bytes, str]:
    """The family by the bytes that it makes of a small seed, of the families that are slow to compute."""
    return {spread(family, seed, size): family for family in FAMILIES[5:] for seed in range(n_seeds)}
