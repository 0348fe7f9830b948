"""Compile integer kernels with numba where it is installed; run them as plain Python elsewhere.

Import this module only from kernel modules, and those only inside the functions that need them: importing numba takes a
third of a second that the first page and ``--help`` should not pay.  Kernels hold integers, and floating point numbers
only where no sum of products is formed, so the compiled and the plain run give the same bits.

``FRONTIER_NUMBA=0`` in the environment blocks numba (as some sites' policies do).

The generator of kernels is xoshiro256**, with its state in four local variables, which stay in the processor's
registers, or in an array, which is read and written for every number.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from engine.common.os_support import home, is_full, others_of, user_folder_place

_F = TypeVar("_F", bound=Callable[..., Any])
Integer = int | np.integer[Any]
"""Integers of kernels: NumPy's integers where compiled, either kind where not."""
KERNEL_FILES = (
    "common/compiled.py",
    "data/row_kernels.py",
    "measures/exchange_kernels.py",
    "mechanisms/dealing_kernels.py",
    "mechanisms/donor_kernels.py",
    "mechanisms/swap_kernels.py",
    "release/exchanges.py",
    "sweeps/batch_kernels.py",
)
"""Files of the engine that hold kernels."""


def digest_of_kernels(engine: Path) -> str:
    """A digest of all kernels' sources under a folder: compiled code contains the kernels of other files that it calls,
    and numba looks only at its own file to see whether it is out of date."""
    digest = hashlib.blake2b(digest_size=8)
    for name in KERNEL_FILES:
        digest.update((engine / name).read_bytes())
    return digest.hexdigest()


def cache_folder() -> Path:
    """A folder for compiled code that is known to be writable, made on first use.

    ``FRONTIER_CACHE`` wins; then the platform's per-user cache folder; then, where the home is read-only, the folder
    that ``FRONTIER_HOME`` names; then a private temporary folder, which means compiling once per process.  A shared
    folder, or one that others can change, is never used: compiled code is executed when it is loaded.
    """
    own = user_folder_place() if os.environ.get("FRONTIER_HOME") else None
    for folder in [*_candidates(), *([own / "cache"] if own else [])]:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.TemporaryFile(dir=folder):
                if not (others_of(folder) or (folder.parent == own and others_of(own)) or is_full(folder)):
                    return folder
        except OSError:
            continue
    private = tempfile.mkdtemp(prefix="swap-frontier-")
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return Path(private)


def _candidates() -> list[Path]:
    named, at = os.environ.get("FRONTIER_CACHE"), home()
    if named:
        return [Path(named)]
    place: str | Path | None
    if os.name == "nt":
        place, inside = os.environ.get("LOCALAPPDATA") or (at and at / "AppData" / "Local"), "swap-frontier/cache"
    elif sys.platform == "darwin":
        place, inside = at and at / "Library" / "Caches", "swap-frontier"
    else:
        place, inside = os.environ.get("XDG_CACHE_HOME") or (at and at / ".cache"), "swap-frontier"
    return [Path(place) / inside] if place else []


def _find_numba() -> tuple[Any, str]:
    """The numba module and an empty reason, or None and why it is not used."""
    if os.environ.get("FRONTIER_NUMBA", "1") == "0":
        return None, "numba is switched off (FRONTIER_NUMBA=0)"
    if "NUMBA_CACHE_DIR" not in os.environ:
        os.environ["NUMBA_CACHE_DIR"] = str(cache_folder() / digest_of_kernels(Path(__file__).parents[1]))
    try:
        import numba
    except Exception as error:  # a blocked DLL raises OSError, a mismatch of versions ImportError or SystemError
        return None, f"numba cannot be loaded ({type(error).__name__})"
    return numba, ""


_numba, WHY_NOT = _find_numba()
COMPILED = _numba is not None
"""Whether kernels are compiled in this process; ``WHY_NOT`` says why not."""
_NOTHING: Any = nullcontext()


def kernel(function: _F) -> _F:
    """Compile ``function`` on its first call and keep the result on disk; without numba return it unchanged.

    Kernels work on unsigned 64-bit integers that wrap around by design; call them under :func:`wrapping`.
    """
    if _numba is None:
        return function
    result: _F = _numba.njit(cache=True, nogil=True)(function)
    return result


def wrapping() -> Any:
    """A context in which plain NumPy integers may wrap around without a warning (compiled code never warns)."""
    return _NOTHING if COMPILED else np.errstate(over="ignore")


_LOW = np.uint64(0xFFFFFFFF)
_TWO32 = np.uint64(1 << 32)


@kernel
def step(s0: np.uint64, s1: np.uint64, s2: np.uint64, s3: np.uint64) -> tuple[np.uint64, ...]:
    """Next output of xoshiro256** (Blackman and Vigna 2018, doi 10.1145/3460772), then its next state of four words."""
    x = s1 * np.uint64(5)
    result = ((x << np.uint64(7)) | (x >> np.uint64(57))) * np.uint64(9)
    t = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    return result, s0, s1, s2, (s3 << np.uint64(45)) | (s3 >> np.uint64(19))


@kernel
def step_below(
    n: Integer, s0: np.uint64, s1: np.uint64, s2: np.uint64, s3: np.uint64
) -> tuple[np.int64, np.uint64, np.uint64, np.uint64, np.uint64]:
    """A uniform integer in ``0..n-1`` for ``1 <= n < 2**32``, without modulo bias (Lemire 2019, doi 10.1145/3230636),
    then the generator's next state."""
    bound = np.uint64(n)
    word, s0, s1, s2, s3 = step(s0, s1, s2, s3)
    m = (word >> np.uint64(32)) * bound
    if (m & _LOW) < bound:
        threshold = (_TWO32 - bound) % bound
        while (m & _LOW) < threshold:
            word, s0, s1, s2, s3 = step(s0, s1, s2, s3)
            m = (word >> np.uint64(32)) * bound
    return np.int64(m >> np.uint64(32)), s0, s1, s2, s3


@kernel
def next_word(s: np.ndarray) -> np.uint64:
    """The output of :func:`step` from a state in an array, which goes on to the next one."""
    result, s[0], s[1], s[2], s[3] = step(s[0], s[1], s[2], s[3])
    return result


@kernel
def below(s: np.ndarray, n: Integer) -> np.int64:
    """The integer of :func:`step_below` from a state in an array, which goes on to the next one."""
    result, s[0], s[1], s[2], s[3] = step_below(n, s[0], s[1], s[2], s[3])
    return result
