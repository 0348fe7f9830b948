"""Short ids of candidates such as ``x7f3``, cut from their digests."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from engine.common.errors import UsageError
from engine.release.spec import DIGEST_BYTES

_FEWEST = 3  # hexadecimal digits of an id
_ONE_BY_ONE = 1_000  # so many are done sooner one by one
_MOST_AT_ONCE = 16  # digits that a whole number of 64 bits holds


def short_ids(digests: np.ndarray, taken: Collection[str] = ()) -> np.ndarray:
    """A short id for each digest (a row of ten bytes), in order: its shortest prefix, of three hexadecimal digits or
    more, that no earlier one has and that is not ``taken``, after an x.

    Digests differ from each other and from those whose ids are taken.  Texts of dtype S are returned: ids given once
    never change, since those that are given later come later in the order.
    """
    text = np.frombuffer(digests.tobytes().hex().encode(), np.uint8).reshape(len(digests), 2 * DIGEST_BYTES)
    head = np.ascontiguousarray(digests[:, :8]).view(">u8").astype(np.uint64).ravel()
    lengths, left, n_digits = np.zeros(len(digests), np.int64), np.arange(len(digests)), _FEWEST
    while len(left) > _ONE_BY_ONE and n_digits <= _MOST_AT_ONCE:
        prefixes = head[left] >> np.uint64(4 * (_MOST_AT_ONCE - n_digits))
        values, first = np.unique(prefixes, return_index=True)
        gone = [int(label[1:], 16) for label in taken if len(label) == n_digits + 1]
        free = first[~np.isin(values, np.array(gone, np.uint64))]
        lengths[left[free]] = n_digits
        left = np.delete(left, free)
        n_digits += 1
    known = set(taken)
    for index in left.tolist():
        label = "x" + digests[index].tobytes().hex()
        length = next((k for k in range(n_digits, len(label)) if label[: k + 1] not in known), 0)
        if not length:
            raise UsageError(f"two different scenarios share the digest {label[1:]}; report this")
        known.add(label[: length + 1])
        lengths[index] = length
    width = int(lengths.max(initial=0))
    labels = np.zeros((len(digests), 1 + width), np.uint8)
    labels[:, 0] = ord("x")
    labels[:, 1:] = np.where(np.arange(width) < lengths[:, None], text[:, :width], 0)
    return labels.view(f"S{1 + width}").ravel()
