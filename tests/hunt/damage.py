"""Ways to damage bytes and JSON."""

from __future__ import annotations

import json
import random
from typing import Any

ODD: list[Any] = [
    *(None, True, "", " ", "x", "\x00", "\x1b[31m", "../..", "![x](http://127.0.0.1:9/)", "é" * 300, "x" * 100_000),
    *(0, -1, 1.5, 1e308, float("nan"), float("inf"), 2**31, 2**63, 10**400),
    *([], {}, [None], {"a": 1}, [[[[]]]], "2026-01-01", "1e999", "NaN"),
]
"""Values that stand where another one should."""


def flipped(rng: random.Random, content: bytes, most: int = 4) -> bytes:
    """A few bits turned over."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, most)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng: random.Random, content: bytes) -> bytes:
    """Only its beginning, or its end."""
    at = rng.randrange(len(content))
    return content[:at] if rng.random() < 0.8 else content[at:]


def blotted(rng: random.Random, content: bytes) -> bytes:
    """A stretch overwritten with zeros, noise, or another stretch of the same."""
    size = min(len(content), rng.choice((1, 4, 16, 100, 1000, 4096)))
    at, other = rng.randrange(len(content) - size + 1), rng.randrange(len(content) - size + 1)
    over = rng.choice((bytes(size), rng.randbytes(size), content[other : other + size], b"\xff" * size))
    return content[:at] + over + content[at + size :]


def grown(rng: random.Random, content: bytes) -> bytes:
    """With something behind or in between."""
    more = rng.choice((rng.randbytes(rng.randint(1, 1000)), bytes(4096), content))
    at = rng.choice((len(content), rng.randrange(len(content) + 1)))
    return content[:at] + more + content[at:]


def headed(rng: random.Random, content: bytes) -> bytes:
    """The description at the beginning with a few other bytes, or an extreme number of four bytes anywhere."""
    if rng.random() < 0.5:
        changed = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            changed[rng.randrange(min(len(changed), 1500))] = rng.randrange(256)
        return bytes(changed)
    number = rng.choice((0, -1, 2**31 - 1, -(2**31))).to_bytes(4, rng.choice(("little", "big")), signed=True)
    at = rng.randrange(len(content))
    return content[:at] + number + content[at + 4 :]


def moved(rng: random.Random, content: bytes) -> bytes:
    """A piece taken out, or put in twice."""
    at, size = rng.randrange(len(content)), rng.choice((1, 2, 4, 8, 80, 400))
    return content[:at] + content[at + size :] if rng.random() < 0.5 else content[: at + size] + content[at:]


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Damaged in one of these ways, and never the same as before."""
    changed = content
    while changed == content:
        ways = (flipped, headed, headed, cut, blotted, grown, moved) if content else (grown,)
        changed = rng.choice(ways)(rng, content)
    return changed


def altered(rng: random.Random, value: Any) -> Any:
    """A JSON value with one of its parts replaced, removed, doubled or renamed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = rng.choice(list(value))
        changed = dict(value)
        match rng.randrange(6):
            case 0:
                del changed[name]
            case 1:
                changed[str(rng.choice(ODD))[:50]] = changed.pop(name)
            case _:
                changed[name] = altered(rng, value[name])
        return changed
    if isinstance(value, list) and value and rng.random() < 0.9:
        at, items = rng.randrange(len(value)), list(value)
        match rng.randrange(6):
            case 0:
                del items[at]
            case 1:
                items += items
            case _:
                items[at] = altered(rng, value[at])
        return items
    return rng.choice(ODD)


def json_altered(rng: random.Random, content: bytes) -> bytes:
    """A JSON text with a part that is not as it should be; sometimes nested or long beyond all measure."""
    text = json.dumps(altered(rng, json.loads(content)))
    if rng.random() < 0.15:
        deep = rng.choice((500, 1000, 100_000))
        odd = rng.choice(
            ("[" * deep + "]" * deep, '{"a":' * deep + "1" + "}" * deep, "9" * 5000, "1" + "0" * 400, "-1e999")
        )
        places = [k for k, sign in enumerate(text) if sign in ":,"]
        if places:
            at = rng.choice(places) + 1
            text = f"{text[:at]} {odd}{_behind(text[at:])}"
    return text.encode()


def _behind(text: str) -> str:
    """What follows the value at the beginning of a JSON text."""
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except ValueError:
        return text
    return text.lstrip()[end:]
