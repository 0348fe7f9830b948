"""Keyed random streams: the one source of randomness.

Every realisation is a function of *what it is*, never of when, where or in which order it is computed.  Its generator
is seeded with a keyed hash (BLAKE2b, RFC 7693) of

    (study key, stream version, purpose, parts..., replicate)

The study key has 128 bits from the operating system's secure source; replicates are indices under it, not seeds.  The
hash is one-way: a derived key remakes one realisation and tells nothing about the study key or any other realisation.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable

import numpy as np

STREAM_VERSION = 1
"""Version of everything a replay depends on: hashing, generator, cell order, order of draws, retry limit, rebuild
rule."""

KEY_BYTES = 16
_ZERO, _ONE = bytes(32), bytes([1, *bytes(31)])
_COMMITMENT = b"swap-frontier study key 1\n"


class Written:
    """A part of a stream's name that has been written out already: its ``repr`` is that text."""

    def __init__(self, part: object) -> None:
        self._text = repr(part)

    def __repr__(self) -> str:
        return self._text


def new_key() -> bytes:
    """A fresh study key: 128 bits from the operating system's secure source."""
    return secrets.token_bytes(KEY_BYTES)


def derive(key: bytes, purpose: str, parts: Iterable[object] = ()) -> bytes:
    """The 32-byte key of one stream.

    ``purpose`` separates streams of the same realisation (pairs of cells, records, ...); ``parts`` name the
    realisation. Parts are hashed by ``repr`` with a separator that cannot occur inside one, so distinct lists never
    collide.
    """
    return _hashed(key, "\x1f".join([str(STREAM_VERSION), purpose, *map(repr, parts)])).digest()


def derived_by_last(key: bytes, purpose: str, parts: Iterable[object]) -> Callable[[object], bytes]:
    """Keys of streams that differ in their last part, by that part: ``derive(key, purpose, (*parts, last))``, of which
    what they have in common is hashed once."""
    common = _hashed(key, "\x1f".join([str(STREAM_VERSION), purpose, *map(repr, parts), ""]))

    def derived(last: object) -> bytes:
        whole = common.copy()
        whole.update(repr(last).encode())
        return whole.digest()

    return derived


def derived_by_rest(key: bytes, purpose: str, parts: Iterable[object]) -> Callable[..., bytes]:
    """Keys of streams that share their first ``parts``, by the texts (``repr``) of all others: what they have in common
    is hashed once."""
    common = _hashed(key, "\x1f".join([str(STREAM_VERSION), purpose, *map(repr, parts), ""]))

    def derived(*rest: str) -> bytes:
        whole = common.copy()
        whole.update("\x1f".join(rest).encode())
        return whole.digest()

    return derived


def _hashed(key: bytes, text: str) -> hashlib.blake2b:
    return hashlib.blake2b(text.encode(), key=key, digest_size=32, person=b"swap-frontier")


def kernel_states(derived: Iterable[bytes]) -> np.ndarray:
    """States of the in-kernel generator (xoshiro256**), one for each derived key: rows of four unsigned 64-bit words,
    never all zero."""
    # zero has one chance in 2**256; the generator would stand still
    words = b"".join([_ONE if key == _ZERO else key for key in derived])
    return np.frombuffer(words, "<u8").astype(np.uint64).reshape(-1, 4)


def kernel_state(derived: bytes) -> np.ndarray:
    """The state of the in-kernel generator for one derived key."""
    state: np.ndarray = kernel_states([derived])[0]
    return state


def generator(derived: bytes) -> np.random.Generator:
    """A NumPy generator (PCG64) on a derived key, for everything that is not drawn inside a kernel."""
    return np.random.Generator(np.random.PCG64(int.from_bytes(derived, "little")))


def key_check(key: bytes) -> str:
    """A value that tells whether a key is the one a study was made with, and nothing else about it."""
    return derive(key, "check").hex()[:16]


def key_commitment(key: bytes) -> str:
    """SHA-256 over a fixed prefix and a study key: written down before a sweep, it tells afterwards that the key was
    not exchanged.  Any program can make it again; 128 random bits cannot be found from it."""
    return hashlib.sha256(_COMMITMENT + key).hexdigest()


def fingerprint(key: bytes, content: bytes) -> str:
    """Keyed fingerprint (HMAC-SHA-256) of the data; a plain hash would confirm a guess of them."""
    return hmac.new(key, content, hashlib.sha256).hexdigest()
