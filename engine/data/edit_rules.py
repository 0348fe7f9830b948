"""Edit rules: combinations of levels that must not occur, and which records meet which part of one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from engine.data.domain import Attribute

_BITS = 64


@dataclass(frozen=True)
class EditRule:
    """A forbidden combination: a record fails when, for every named attribute, its level is among those listed.

    Failures are counted in every release.  Of a rule with ``refuse`` no exchange may make any: a pair is refused after
    which a record would fail the rule that did not fail it before.
    """

    name: str
    forbid: tuple[tuple[str, tuple[str, ...]], ...]
    refuse: bool = False

    @property
    def attributes(self) -> frozenset[str]:
        """Names of the attributes that the rule looks at."""
        return frozenset(name for name, _ in self.forbid)


def parts_met(
    rules: Sequence[EditRule],
    attributes: Sequence[Attribute],
    codes: Sequence[np.ndarray],
    looked_at: Collection[int],
) -> np.ndarray:
    """Bits of the rules whose part over the attributes ``looked_at`` each row meets, shape ``(rows, words)``: a word of
    64 bits for every 64 rules.

    ``codes`` are the rows' level codes, an array for each attribute.  A rule without a part there is met by all.
    """
    n_rows = len(codes[0])
    words = np.zeros((n_rows, -(-len(rules) // _BITS)), np.uint64)
    index = {attribute.name: j for j, attribute in enumerate(attributes)}
    for number, rule in enumerate(rules):
        meets = np.ones(n_rows, bool)
        for name, levels in rule.forbid:
            j = index[name]
            if j in looked_at:
                meets &= np.isin(np.array(attributes[j].levels), levels)[codes[j]]
        words[meets, number // _BITS] |= np.uint64(1) << np.uint64(number % _BITS)
    return words
