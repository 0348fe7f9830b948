"""Short ids of candidates such as ``x7f3``, cut from their digests."""

from __future__ import annotations

import numpy as np

from engine.common.errors import UsageError
from engine.common.raw_values import first_places
from engine.release.spec import DIGEST_BYTES

NO_IDS = np.zeros(0, "S1")
"""None taken yet."""
LONGEST_ID = 1 + 2 * DIGEST_BYTES
"""Most characters of an id."""
_FEWEST = 3  # hexadecimal digits of an id
_ONE_BY_ONE = 1_000  # so many are done sooner one by one
_MOST_AT_ONCE = 16  # digits that a whole number of 64 bits holds


def short_ids(digests: np.ndarray, taken: np.ndarray = NO_IDS) -> np.ndarray:
    """A short id for each digest (a row of ten bytes), in order: its shortest prefix, of three hexadecimal digits or
    more, that no earlier one has and that is not ``taken``, after an x.

    Digests differ from each other and from those whose ids are taken.  Ids are texts of dtype S.  Once given they never
    change, since those that are given later come later in the order.
    """
    text = np.frombuffer(digests.tobytes().hex().encode(), np.uint8).reshape(len(digests), 2 * DIGEST_BYTES)
    head = np.ascontiguousarray(digests[:, :8]).view(">u8").astype(np.uint64).ravel()
    lengths, left, n_digits = np.zeros(len(digests), np.int64), np.arange(len(digests)), _FEWEST
    taken_lengths = np.char.str_len(taken) - 1
    while len(left) > _ONE_BY_ONE and n_digits <= _MOST_AT_ONCE:
        prefixes = head[left] >> np.uint64(4 * (_MOST_AT_ONCE - n_digits))
        is_free = first_places(prefixes) == np.arange(len(left))
        if len(taken):
            is_free &= ~np.isin(prefixes, _numbers(taken[taken_lengths == n_digits], n_digits))
        free = np.flatnonzero(is_free)
        lengths[left[free]] = n_digits
        left = left[~is_free]
        n_digits += 1
    known = set(taken[taken_lengths >= n_digits].tolist())
    for index in left.tolist():
        label = b"x" + text[index].tobytes()
        length = next((k for k in range(n_digits, len(label)) if label[: k + 1] not in known), 0)
        if not length:
            raise UsageError(f"two different scenarios share the digest {label[1:].decode()}; report this")
        known.add(label[: length + 1])
        lengths[index] = length
    width = int(lengths.max(initial=0))
    labels = np.zeros((len(digests), 1 + width), np.uint8)
    labels[:, 0] = ord("x")
    labels[:, 1:] = np.where(np.arange(width) < lengths[:, None], text[:, :width], 0)
    return labels.view(f"S{1 + width}").ravel()


def _numbers(labels: np.ndarray, n_digits: int) -> np.ndarray:
    """The numbers that labels of so many hexadecimal digits show."""
    signs = labels.astype(f"S{1 + n_digits}").view(np.uint8).reshape(len(labels), 1 + n_digits)[:, 1:]
    digits = np.where(signs >= ord("a"), signs - ord("a") + 10, signs - ord("0")).astype(np.uint64)
    return np.asarray((digits << np.arange(4 * n_digits - 4, -1, -4, dtype=np.uint64)).sum(axis=1, dtype=np.uint64))
