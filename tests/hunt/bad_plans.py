"""Plans in which every key gets every kind of nonsense: numbers that no machine holds, wrong types, names that are no
names, formulas and parameters that cannot be, and files that are no plan at all."""

from __future__ import annotations

import random

from engine.plan.entries import FAMILIES
from tests.hunt import damage
from tests.hunt.tries import Content, Link, Pipe, Sparse

DATA = "A,B,C,x,w\n" + "".join(
    f"{'abc'[i % 3]},{'yn'[i * i % 2]},{i % 4},{(i * 37 % 50) / 10},{1 + i % 3}\n" for i in range(40)
)
KEYS = {
    "data": ("missing", "weight", "id", "carry", "drop", "numeric"),
    "attribute": (*("name", "columns", "view", "cut", "labels", "levels", "merge", "skip", "missing", "on_missing"),),
    "roles": ("keys", "swap", "analyse"),
    "edit": ("name", "forbid"),
    "analysis": ("name", "formula", "family", "tau", "by", "weighted"),
    "mechanism": ("name", "D", "w0", "s", "theta", "n_init", "matrix", "rate", "m", "vars", "share"),
    "space": (
        *("swap_sizes", "all_specs", "specs", "fix", "change", "rule", "rates", "replicates"),
        *("search", "budget", "adaptive", "screen"),
    ),
    "measures": ("names",),
    "decision": ("risk", "utility", "max_risk", "slope", "realisation"),
    "about": ("survey", "release_type", "overlaps"),
    "threat": ("intruder", "public_files", "harm"),
    "table": ("name", "attributes"),
    "tolerances": ("change", "min_n", "se", "se_ratio"),
    "publish": ("title", "rate_policy", "rate_range", "wording", "include", "members_rate"),
    "lock": ("number", "by", "at", "digest", "plan"),
}
LISTS = ("attribute", "edit", "analysis", "mechanism", "table")
NUMBERS = (
    *("0", "-1", "1", "2", "3", "40", "1.5", "-0.0", "1e308", "1e-308", "1e400", "nan", "inf", "-inf", "0.1"),
    *("9223372036854775807", "9223372036854775808", "9" * 4301, "0x" + "f" * 5000, "1_000", "0.5", "1e-400"),
)
TEXTS = (
    *("", " ", "A", "B", "x", "C", "w", "A,B", "A:S", "A:S B:F", "A:Q", "*", "[", "[!", "?", "nobody", "\\u0000"),
    *("\\u001b[2J", "\\u202e", "a\\nb", "0.1", "nan", "1e400", "1e-999999999", "1e999999999", "sNaN", "-1", "first"),
    *("random_swap", "rds", "maps", "pram", "small_cells", "hellinger", "hellinger[", "x" * 100_000, "../etc", "\\\\"),
    *("all", "strict", "loose", *FAMILIES, "level", "refuse", "\U0001f600"),
)
FORMULAS = (
    *("x ~ A", "x ~ A + B", "x ~ A * B * C", "x ~", "~ x", "x", "x ~ A ~ B", "x ~ nobody", "A ~ x", "B ~ x"),
    *("log(x) ~ A", "x ~ log(x)", "x ~ x", "x ~ 0", "x ~ 1", "x ~ C(A)", "x ~ C(nobody)", "x ~ A_raw", "x ~ C_raw"),
    *("B == 'y' ~ x", "B == 'z' ~ x", "x ~ I(9**9**9**9)", "x ~ I(x**9**9)", "x ~ __import__('os')", "x ~ x.y"),
    *("x ~ " + "(" * 300 + "x" + ")" * 300, "x ~ " + " + ".join(["x"] * 3000), "x ~ " + "-" * 2000 + "x", "x ~ I(1/0)"),
    *("x ~ I(x/0)", "x ~ (A+B+C)**99", "x ~ 'A'", "x ~ Q('A')", "x ~ Q('no')", "x ~ \\u0000", "x ~ x[0]", "x ~ A:B:C"),
    *("x ~ lambda: 1", "x ~ [x]", "x ~ {x}", "x ~ A %in% B", "x ~ -1", "x ~ x - x", "w ~ A", "x ~ ,", "x ~ I()"),
)
MEASURES = (
    *("small_cells", "small_cells[n_rule=0]", "small_cells[n_rule=-1]", "small_cells[n_rule=999999999]", "hellinger"),
    *("small_cells[n_rule=" + "9" * 5000 + "]", "small_cells[n_rule=1;n_rule=2]", "small_cells[attributes=A+A]"),
    *("small_cells[attributes=nobody]", "small_cells[attributes=]", "r1_share", "cramers_v_change", "reanalysis"),
    *("coefficient_shift[analysis=no]", "propensity", "small_cells[[]]", "total_variation[n=1]", "edit_failures"),
    *("linkage", "interval_overlap", "moments", "uniques", "entropy_change", "rank_swapping", "nobody"),
)
DEEP = (
    "[" * 1000 + "]" * 1000,
    "{a=" * 1000 + "1" + "}" * 1000,
    "[[[[[1]]]]]",
    "{a = {b = {c = 1}}}",
    "[[]]",
    "{}",
    "[]",
)
DATES = ("1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "9999-99-99", "2024-02-30")
BASE = """\
[data]
carry = ["x"]
weight = "w"

[[attribute]]
name = "A"

[[attribute]]
name = "B"

[[attribute]]
name = "C"
cut = [1, 2]
"""
REST = """\

[space]
rates = ["0.1"]
swap_sizes = [1]
replicates = 1
"""
COMMANDS = (
    ("plan", "check", "plan.toml", "--data", "data.csv"),
    ("space", "data.csv", "--plan", "plan.toml"),
    ("plan", "document", "plan.toml", "--out", "dap.html"),
    ("plan", "document", "plan.toml", "--data", "data.csv", "--out", "dap.html"),
    ("plan", "propose", "data.csv", "--plan", "plan.toml"),
    ("diff", "plan.toml", "other.toml"),
    ("plan", "lock", "plan.toml", "--number", "1", "--by", "B"),
)


def trial(rng: random.Random) -> tuple[dict[str, Content], tuple[str, ...], tuple[str, ...]]:
    """Files with a plan of :func:`text`, a damaged one or none at all; a command that reads it; the files that it
    may change."""
    way = rng.random()
    plan = (
        _file(rng) if way < 0.12 else damage.damaged(rng, (BASE + REST).encode()) if way < 0.3 else text(rng).encode()
    )
    argv = rng.choice(COMMANDS)
    writes = ("plan.toml",) if "lock" in argv else ("dap.html",) if "document" in argv else ()
    return {"plan.toml": plan, "other.toml": (BASE + REST).encode(), "data.csv": DATA.encode()}, argv, writes


def text(rng: random.Random) -> str:
    """A plan that is right but for one to three entries, some of which may be right as well."""
    parts = {"data": "", "attribute": "", "space": ""}
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        section = rng.choice(list(KEYS))
        key = rng.choice(KEYS[section])
        parts[section] = parts.get(section, "") + f"{key} = {value(rng, section, key)}\n"
    made = BASE + REST
    for section, lines in parts.items():
        if not lines:
            continue
        if section in LISTS:
            made += f"\n[[{section}]]\n{_needed(rng, section, lines)}{lines}"
        elif f"[{section}]\n" in made:
            kept = [line for line in made.splitlines() if not _sets(line, lines)]
            made = "\n".join(kept).replace(f"[{section}]", f"[{section}]\n{lines}", 1) + "\n"
        else:
            made += f"\n[{section}]\n{lines}"
    return made


def _sets(line: str, lines: str) -> bool:
    return " = " in line and any(other.startswith(line.split(" = ")[0] + " = ") for other in lines.splitlines())


def _needed(rng: random.Random, section: str, lines: str) -> str:
    """Entries without which the others would not be looked at."""
    needed = {
        "edit": {"name": '"e"', "forbid": '{A = ["a"], B = ["y"]}'},
        "analysis": {"name": '"a"', "formula": f'"{rng.choice(FORMULAS)}"'},
        "mechanism": {"name": f'"{rng.choice(("rds", "maps", "pram", "cgs", "noise", "random_swap", "rank_swap"))}"'},
        "table": {"name": '"t"', "attributes": '["A"]'},
        "attribute": {"name": '"w2"', "columns": '["x"]'},
    }[section]
    return "".join(f"{key} = {one}\n" for key, one in needed.items() if f"{key} = " not in lines)


def value(rng: random.Random, section: str, key: str) -> str:
    """TOML for a value of a key: often of the right type, never certainly a right one."""
    if key == "formula" and rng.random() < 0.8:
        return f'"{rng.choice(FORMULAS)}"'
    if (section, key) == ("measures", "names") and rng.random() < 0.8:
        return _list(rng, MEASURES)
    kind = rng.random()
    if kind < 0.25:
        return f'"{rng.choice(TEXTS)}"'
    if kind < 0.45:
        return rng.choice(NUMBERS)
    if kind < 0.6:
        return _list(rng, TEXTS)
    if kind < 0.72:
        return "[" + ", ".join(rng.choices(NUMBERS, k=rng.randint(0, 3))) + "]"
    if kind < 0.8:
        return rng.choice(("true", "false"))
    if kind < 0.87:
        return "{" + f'"{rng.choice(TEXTS)}" = {_list(rng, TEXTS)}' + "}"
    return rng.choice((*DEEP, *DATES))


def _list(rng: random.Random, of: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{one}"' for one in rng.choices(of, k=rng.randint(0, 3))) + "]"


def _file(rng: random.Random) -> Content:
    """What is there in place of a plan's text."""
    whole = BASE + REST
    encoded = whole.encode()
    found: tuple[Content, ...] = (
        b"\xef\xbb\xbf" + encoded,
        whole.encode("utf-16"),
        whole.encode("utf-16-le"),
        whole.encode("latin-1") + b"\n# \xe9",
        encoded[: rng.randrange(len(encoded))],
        encoded + encoded,
        encoded + b"\x00",
        encoded + b"\n[about]\nsurvey = '" + b"x" * 10_000_000 + b"'\n",
        encoded + b"\n[about]\n" + b"a." * 100_000 + b"b = 1\n",
        encoded + b"\n[" + b'"a".' * 50_000 + b"b]\n",
        encoded + b'\n[about]\nsurvey = """' + b'"' * 1_000_001,
        encoded + b"\n[about]\nsurvey = " + b"'" * 999_999,
        encoded + b"\n[[edit]]" * 100_000,
        encoded.replace(b"\n", b"\r"),
        encoded.replace(b"\n", b"\r\n"),
        b"",
        b"\n" * 1_000_000,
        Pipe(),
        Link("/dev/zero"),
        Link("."),
        Link("plan.toml"),
        Link("nowhere"),
        Sparse(3 << 30),
        bytes(rng.randrange(256) for _ in range(2000)),
    )
    return rng.choice(found)
