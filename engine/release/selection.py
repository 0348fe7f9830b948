"""Selection of records and partners in a random swap, beyond what the roles of a spec ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from engine.common.errors import UsageError, did_you_mean
from engine.common.wording import listed

UNIFORM = "0"
"""The ``lean`` of the published random swap, which draws all records alike."""
_MOST_DIGITS = 9


@dataclass(frozen=True)
class Selection:
    """The demands of a random swap on a pair beyond the roles.

    Records are drawn with weights ``1/n`` to the power ``lean``, where ``n`` records share the attributes ``risk``.
    ``near`` pairs places of attributes with the most steps between the levels of two partners; partners agree on at
    least ``similarity`` of the attributes ``similar``.
    """

    lean: str = UNIFORM
    risk: tuple[int, ...] = ()
    near: tuple[tuple[int, int], ...] = ()
    similar: tuple[int, ...] = ()
    similarity: int = 0

    def limits(self, names: Sequence[str]) -> list[str]:
        """The demands on two partners beyond the roles, in words after *records that*; ``names`` are the
        attributes'."""
        words = [
            f"lie at most {steps} {'level' if steps == 1 else 'levels'} of {names[j]} apart" for j, steps in self.near
        ]
        if self.similar:
            words.append(f"agree on at least {self.similarity} of {listed([names[j] for j in self.similar])}")
        return words


@lru_cache(maxsize=256)
def selection_of(params: tuple[tuple[str, str], ...], names: tuple[str, ...]) -> Selection:
    """The selection that the parameters of a random swap ask for, over attributes with these names; refuses
    (:class:`UsageError`) unknown names and contradictions."""
    values: Mapping[str, str] = dict(params)
    near = []
    for name, steps in steps_of(values.get("near", "")):
        near.append((_place(name, names, "near"), steps))
    similar = tuple(_place(name, names, "similar") for name in _listed(values.get("similar", "")))
    similarity = int(values.get("similarity", "0"))
    if similar and not 1 <= similarity <= len(similar):
        raise UsageError(
            f"similarity == {similarity}, must be between 1 and {len(similar)}, the number of attributes of similar."
        )
    if similarity and not similar:
        raise UsageError(
            f"similarity == {similarity}, but similar names no attribute; name those on which partners are to agree"
        )
    risk = tuple(_place(name, names, "risk") for name in _listed(values.get("risk", "")))
    return Selection(values.get("lean", UNIFORM), risk, tuple(near), similar, similarity)


def steps_of(text: str) -> tuple[tuple[str, int], ...]:
    """Names with the most steps, from a text such as ``Age:2+Income:1``."""
    pairs = []
    for part in _listed(text):
        name, colon, steps = part.rpartition(":")
        if len(steps.strip()) > _MOST_DIGITS:
            raise UsageError(f"near: '{steps.strip()[:60]}' steps are too many, at most {_MOST_DIGITS} digits are read")
        if not colon or not name.strip() or not steps.strip().isdecimal() or int(steps) < 1:
            raise UsageError(
                f"near: cannot read '{part}'; write NAME:STEPS with at least one step, such as Age:2, joined by +"
            )
        pairs.append((name.strip(), int(steps)))
    return tuple(pairs)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split("+") if part.strip())


def _place(name: str, names: tuple[str, ...], entry: str) -> int:
    if name not in names:
        raise UsageError(f"{entry} names the unknown attribute '{name}'.{did_you_mean(name, names)}")
    return names.index(name)
