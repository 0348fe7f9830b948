"""Plans that are cut, altered, nested or of wrong types."""

from __future__ import annotations

import random
from collections.abc import Iterator

from engine.plan import plan_to_toml, samples
from tests.hunt.case import Case

DATA = b"A,B,w\n1,x,0.5\n2,y,1\n1,y,2\n3,x,1\n"
VALUES = [
    "true",
    '""',
    "[]",
    "{}",
    "-1",
    "1e308",
    "nan",
    "inf",
    "9" * 4301,
    "[" * 1000 + "]" * 1000,
    "1979-05-27",
    '"\\u0000"',
    '["A","A"]',
    '[["A"]]',
    "0x7fffffffffffffff",
    '"' + "x" * 100_000 + '"',
    "{a = 1}",
    '"../../etc"',
]


def cases(rng: random.Random, count: int) -> Iterator[Case]:
    whole = plan_to_toml(samples.load("czech")[1])
    for number in range(count):
        how = rng.choice((_cut, _swap_value, _flip, _twice, _nest))
        plan = how(rng, whole)
        argv = rng.choice(
            (
                ["plan", "check", "plan.toml", "--data", "czech"],
                ["space", "czech", "--plan", "plan.toml"],
                ["plan", "document", "plan.toml", "--out", "dap.html"],
            )
        )
        yield Case("plans", f"{how.__name__[1:]} {number}", {"plan.toml": plan, "data.csv": DATA}, argv)


def _cut(rng: random.Random, whole: str) -> bytes:
    return whole.encode()[: rng.randrange(len(whole))]


def _swap_value(rng: random.Random, whole: str) -> bytes:
    lines = whole.splitlines()
    places = [k for k, line in enumerate(lines) if " = " in line]
    at = rng.choice(places)
    lines[at] = lines[at].split(" = ")[0] + " = " + rng.choice(VALUES)
    return "\n".join(lines).encode()


def _flip(rng: random.Random, whole: str) -> bytes:
    content = bytearray(whole.encode())
    for _ in range(rng.randint(1, 4)):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def _twice(rng: random.Random, whole: str) -> bytes:
    lines = whole.splitlines()
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return "\n".join(lines).encode()


def _nest(rng: random.Random, whole: str) -> bytes:
    deep = rng.choice((10, 200, 1000, 5000))
    left, right = rng.choice((("[", "]"), ("{a=", "}")))
    table = rng.choice(("data", "space", "about", "publish"))
    return f"{whole}\n[{table}.zz]\nx = {left * deep}1{right * deep}\n".encode()
