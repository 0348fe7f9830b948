"""What is too short to be searched in bytes (rate, spec, ids of candidates, replicates) is checked field by field."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.bundle.refused import Refused
from engine.bundle.tiers import members
from engine.bundle.unpack import parts_of, plain_text

if TYPE_CHECKING:
    import numpy as np

    from engine.bundle.package import Package

LABEL = re.compile(r"(?<![\w.#&/-])x[0-9a-f]{3,40}(?![\w-])(?:/\d+)?")
"""What a candidate's own id looks like, with the replicate if one is named."""
_PROSE = (".docx", ".pptx", ".xlsx", ".html")
_OPEN = re.compile(
    r"cover\..*|design\.(design|geography)|threat\.(intruder|harm|public_files\..*)|approved\.(departures|changes)\..*"
    r"|recommendation\.(why|alternatives\..*)|publish\..*|checks\.\d+\.name"
    r"|utility\.(tables\.\d+\.name|coefficients\.\d+\.analysis)"
)
"""Fields of the board's file in which people write: a rate may have slipped in there."""


def check_fields(folder: Path, tier: str, made: Package) -> None:
    """Refuse fields that a tier's reader must not see; ``made`` says what they would be."""
    if tier == "public":
        _public(folder, made)
    elif tier == "member":
        _member(folder, made)
    elif tier == "chair":
        _no_ids(folder, tier, made)


def _refuse(tier: str, where: str, what: str) -> None:
    raise Refused(f"the {tier} bundle was refused: '{where}' holds {what}; nothing was written", f"{tier}: {what}")


def _public(folder: Path, made: Package) -> None:
    from pyarrow import parquet

    wanted = list(made.columns)
    for path in sorted(folder.iterdir()):
        if path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                got = next(csv.reader(file))
        elif path.suffix == ".parquet":
            schema = parquet.read_schema(path)
            got = schema.names
            if schema.metadata or any(field.metadata for field in schema):
                _refuse("public", path.name, "a description beside its columns")
        else:
            continue
        if got != wanted:
            strange = next((name for name in got if name not in wanted), "an order of its own")
            _refuse("public", path.name, f"a column that is not released ({strange})")
    from engine.bundle.public import METHODS, methods_of

    text = (folder / METHODS).read_text(encoding="utf-8")
    if text != methods_of(made) + "\n":
        _refuse("public", METHODS, "other words than those on the methods")
    own = [made.study.plan.publish.title, made.study.plan.publish.wording, made.study.plan.publish.rate_range]
    for words in own:
        _free_text("public", METHODS, words, made)


def _member(folder: Path, made: Package) -> None:
    _no_ids(folder, "member", made)
    board = json.loads((folder / "board.json").read_text(encoding="utf-8"))
    for where, value in _leaves(board):
        if isinstance(value, str) and _OPEN.fullmatch(where):
            _free_text("member", f"board.json: {where}", value, made)
    reached = made.made.changed.mean()
    if len(str(float(reached)).rstrip("0")) >= 8:  # as a short decimal it could be any other figure
        for where, value in _leaves(board):
            if isinstance(value, float) and value == reached:
                _refuse("member", f"board.json: {where}", "the share of records changed")


def _leaves(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{where}.{name}" if where else name)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{where}.{place}")
    else:
        yield where, value


def _no_ids(folder: Path, tier: str, made: Package) -> None:
    """No candidate's own id, no spec: readers of these tiers know letters."""
    for name in members(folder):
        if Path(name).suffix not in (*_PROSE, ".json"):
            continue
        for part in parts_of(folder / name):
            if part.where.endswith((".rels", ".css", ".js")) or "theme" in part.where:
                continue
            found = id_in(plain_text(part), made)
            if found:
                _refuse(tier, part.where, found)


def id_in(text: str, made: Package) -> str:
    """What a text says of candidates' own names: an id or a spec of the study; empty where it says nothing."""
    for match in LABEL.finditer(text):
        if made.study.scenarios.place_of(match[0].partition("/")[0]) is not None:
            return "the id of a candidate"
    names = "|".join(re.escape(name) for name in sorted(made.data.domain.names, key=len, reverse=True))
    return "the spec of a candidate" if re.search(rf"(?<!\w)(?:{names}):[SFCU](?!\w)", text) else ""


def _free_text(tier: str, where: str, text: str, made: Package) -> None:
    found = id_in(text, made) or ("the rate" if says_rate(text, made.scenario.spec.rate) else "")
    if not found and says_extent(text, made.made.changed):
        found = "the share of records changed"
    if not found and any(_says_figure(text, share) for share in _exposed_shares(made)):
        found = "a small-cell risk as a share, which together with its count gives the rate"
    if found:
        _refuse(tier, where, found)


def _exposed_shares(made: Package) -> list[float]:
    """Eq. 6 of the release as a share: of the run itself, and means over runs as they were recorded."""
    calls = [str(call) for call in made.study.measures if call.measure.name == "small_cells"]
    found = [made.made.figures[name] for name in calls]
    for choice in made.study.decisions:
        if choice.label == made.scenario.label:
            for record in (choice.record.get("figures") or {}, choice.record.get("fresh") or {}):
                found += [record[name]["mean"] for name in calls if name in record]
    return [float(share) for share in found if share is not None]


_WORDS = re.findall(r"\w+", "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen")
_COUNTED = re.compile(
    rf"\b({'|'.join(_WORDS)}|\d+(?:\.\d+)?)\s*(?:/|per|in|out of)\s*(?:a\s+|every\s+)?(hundred|thousand|\d+)\b(?!/)",
    re.IGNORECASE,
)
_PERCENT = r"(?:%|per\s?cent\b|pct\b|percentage|prozent\b)"


def _plain_numbers(text: str) -> str:
    """The text with numbers in digits and decimal points: words before "percent" and decimal commas are replaced."""
    # a comma before three digits parts thousands, which no share is: 1,955 % is a decimal comma
    text = re.sub(rf"(?<![\d.,])(\d+),(?:(?!\d{{3}}(?!\d))|(?=\d+\s*{_PERCENT})|(?<=0,))(\d+)", r"\1.\2", text)
    words = "|".join(_WORDS)

    def digits(match: re.Match[str]) -> str:
        return str(_WORDS.index(match[1].lower()) + 1)

    return re.sub(rf"\b({words})(?=\s*{_PERCENT})", digits, text, flags=re.IGNORECASE)


def says_rate(text: str, rate: str) -> bool:
    """Whether a text names a rate: as a decimal fraction ("0.02", "0,02"), a percentage ("2 %", "two percent"), or in
    so many of a hundred ("2 in 100", "1/50")."""
    if not rate:
        return False
    share, text = Decimal(rate), _plain_numbers(text)
    if share < 1 and any(_ratio(match) == share for match in _COUNTED.finditer(text)):
        return True
    if not re.search(r"\d", text):
        return False
    percent = format((share * 100).normalize(), "f")
    if re.search(rf"(?<![\d.,])0?{re.escape(format(share.normalize(), 'f').lstrip('0'))}0*(?![\d%])(?!\s*%)", text):
        return share != share.to_integral_value()
    return bool(re.search(rf"(?<![\d.,]){re.escape(percent)}(?:\.0+)?\s*{_PERCENT}", text, re.IGNORECASE))


def _ratio(found: re.Match[str]) -> Decimal | None:
    """The share that "2 in 100" names; None where it names none."""
    part, whole = (word.lower() for word in found.groups())
    above = Decimal(_WORDS.index(part) + 1) if part in _WORDS else Decimal(part)
    below = Decimal({"hundred": 100, "thousand": 1000}.get(whole) or whole)
    return above / below if below else None


def says_extent(text: str, changed: np.ndarray) -> bool:
    """Whether a text names the share of records that were changed, with two digits or more, or their number in a
    sentence about changing; ``changed`` flags the records."""
    number, share = int(changed.sum()), float(changed.mean())
    if not number:
        return False
    ways = "|".join({str(number), f"{number:,}", f"{number:_}".replace("_", " ")})
    for sentence in re.split(r"(?<=[.;!?])\s", text):
        counted = re.search(rf"(?<![\d.,])(?:{ways})(?![\d]|[.,]\d)", sentence)
        if counted and re.search(r"swap|chang|alter|perturb|modif", sentence, re.IGNORECASE):
            return True
    return _says_figure(text, share)


def _says_figure(text: str, share: float) -> bool:
    """Whether a text names a share below 1, as a fraction or a percentage, with two significant digits or more."""
    if not 0 < share < 1:
        return False
    for match in re.finditer(rf"(?<![\w.,])(\d*\.\d+|\d+)(?![\d]|[.,]\d)(\s*{_PERCENT})?", _plain_numbers(text), re.I):
        digits = match[1]
        if len(digits.replace(".", "").lstrip("0")) < 2 or not (match[2] or digits.startswith(("0.", "."))):
            continue
        places = len(digits.partition(".")[2])
        exact = Decimal(share) * (100 if match[2] else 1)
        if round(exact, places) == Decimal(digits):
            return True
    return False
