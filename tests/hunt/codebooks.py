"""Commands on codebooks, and on files to make a sample of, that are wrong in some way."""

from __future__ import annotations

import random

from tests.hunt.damage import damaged
from tests.hunt.tries import Content

DATA = b"sex,age,income\n" + b"".join(
    b"%d,%d,%d\n" % (i % 2 + 1, 20 + i % 9, i % 7 * 100 - 9 * (i % 3)) for i in range(60)
)
GOOD = (
    b"name,label,role,block,missing,skip,values,measure\n"
    b'sex,Sex,key swap,,,,1=Male; 2=Female,nominal\nage,"Age, years",analyse,,99,,,scale\n'
    b'income,Income,,,-99 to -90;-9,-1,"""1=Yes; often"";2=No",scale\n'
)
ADULT = (
    b"39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, US, "
    b"<=50K\n"
)
_HEADINGS = ("name", "label", "role", "block", "missing", "skip", "values", "measure", "Name ", "NAME", "other", "")
_ENTRIES = (
    *[
        "sex",
        "age",
        "income",
        "*",
        "*_WT",
        "[",
        "?",
        "nobody",
        "\\",
        "=",
        "1=",
        "=x",
        "1=a=b",
        "key",
        "swap",
        "weight",
        "id",
        "attribute,key",
        "chief",
        "nominal",
        ";;;",
        "\\=",
        "1\\",
    ],
    *(
        "",
        " ",
        "\0",
        "weight id",
        "key drop",
        "x" * 5000,
        "\x1b[31m",
        "-99 to -90",
        "9 to 1",
        "nan to inf",
        "1e999 to 2",
    ),
    *(" to ", "a to b", '"', '"1=Yes; often"', '"open', "1=a\nb", "1=Male; 1=Female"),
)


def written_codebook(rng: random.Random) -> bytes:
    """A table of odd headings and odd entries."""

    def quoted(text: str) -> str:
        return text if rng.random() < 0.1 else '"' + text.replace('"', '""') + '"'

    headings = ["name", *rng.choices(_HEADINGS[:8] if rng.random() < 0.8 else _HEADINGS, k=rng.randrange(6))]
    if rng.random() < 0.8:
        headings = list(dict.fromkeys(headings))
    rows = [[rng.choice(_ENTRIES) for _ in headings] for _ in range(rng.randrange(1, 5))]
    for row in rows:
        if rng.random() < 0.7:
            row[0] = rng.choice(("sex", "age", "income", "*"))
    return "".join(",".join(map(quoted, row)) + "\n" for row in [headings, *rows]).encode()


def trial(rng: random.Random) -> tuple[dict[str, Content], list[str]]:
    """Files with a codebook, or a file to make a sample of, and a command that reads it."""
    way = rng.random()
    if way < 0.1:
        return {"adult.data": damaged(rng, ADULT * 3)}, ["datasets", "add", "cps8d", "--from", "adult.data"]
    book = written_codebook(rng) if way < 0.7 else damaged(rng, GOOD)
    argv = ["plan", "propose", "data.csv", "--codebook", "book.csv"]
    return {"data.csv": DATA, "book.csv": book}, argv + (["--accept", "all", "--out", "-"] * (rng.random() < 0.3))
