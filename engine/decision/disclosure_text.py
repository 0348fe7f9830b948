"""Refuse texts for the public that tell how a release was made."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

import numpy as np

from engine.common.errors import UsageError
from engine.mechanisms import amount
from engine.release.scenarios import Scenario
from engine.study.study import Study

LABEL = re.compile(r"(?<![\w.#&/-])x[0-9a-f]{3,40}(?![\w-])(?:/\d+)?")
"""What a candidate's own id looks like, with the replicate if one is named."""
DRAWN = re.compile(r"\b(seeds?|replicates?(?! weight)|study keys?)\b", re.IGNORECASE)
"""Words that tell how a release was drawn."""
EXTENT = "the share of records changed"
EXPOSED = "a small-cell risk as a share, which together with its count gives the rate"


def disclosure_in(study: Study, scenario: Scenario, text: str, risks: Iterable[float] = ()) -> str:
    """The first thing that a text discloses, in words; empty where it discloses nothing.

    Ids of candidates in the study and their specs; of ``scenario`` the rate, how many records were changed in any of
    its runs, and its small-cell risk as a share: those recorded with its choices and ``risks`` of a run.
    """
    if label := label_in(study, text):
        return f"the id of a candidate ({label})"
    if spec := _spec_in(study, text):
        return f"a role as it is written in specs ({spec})"
    if says_rate(text, amount(scenario.spec).share):
        return "the swap rate"
    if not re.search(r"\d", _plain_numbers(text)):
        return ""
    n_records = int(study.about["n_records"])
    changed = np.unique(study.runs.of([scenario.index]).changed)
    if any(says_extent(text, number, n_records) for number in changed.tolist()):
        return EXTENT
    return EXPOSED if any(says_share(text, share) for share in (*risks, *_exposed_shares(study, scenario))) else ""


def check_public(study: Study, scenario: Scenario, texts: Iterable[str]) -> None:
    """Refuse (:class:`UsageError`) words for the public that tell anything at all: they are published as they are."""
    for text in texts:
        word = DRAWN.search(text)
        told = f"how the release was drawn ('{word[0]}')" if word else disclosure_in(study, scenario, text)
        if told:
            raise UsageError(f"this text names {told}, so the public bundle would be refused; say it without: {text}")


def label_in(study: Study, text: str) -> str:
    """The first id of a candidate of the study in a text; empty where it holds none."""
    for match in LABEL.finditer(text):
        if study.scenarios.index_of(match[0].partition("/")[0]) is not None:
            return match[0]
    return ""


def _spec_in(study: Study, text: str) -> str:
    """The first role in a text as specs of the study have it; empty where it holds none."""
    names = "|".join(re.escape(name) for name in sorted(study.names, key=len, reverse=True))
    spec = re.search(rf"(?<!\w)(?:{names}):[SFCU](?!\w)", text)
    return spec[0] if spec else ""


def _exposed_shares(study: Study, scenario: Scenario) -> list[float]:
    """Eq. 6 of a candidate as a share: means over runs and the run to be released, as its choices recorded them."""
    calls, shares = [str(call) for call in study.measures if call.measure.of_unaltered], []
    for record in (choice.record for choice in study.choices.all() if choice.label == scenario.label):
        means = [record.get("figures") or {}, record.get("fresh") or {}]
        figures = [record.get("released") or {}, *({name: row["mean"] for name, row in of.items()} for of in means)]
        shares += [of.get(name) for of in figures for name in calls]
    return [float(share) for share in shares if share is not None]


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
    """Return whether a text names a rate: as a decimal fraction ("0.02", "0,02"), a percentage ("2 %", "two percent"),
    or in so many of a hundred ("2 in 100", "1/50")."""
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


def _ratio(match: re.Match[str]) -> Decimal | None:
    """The share that "2 in 100" names; None where it names none."""
    count_text, total_text = (word.lower() for word in match.groups())
    numerator = Decimal(_WORDS.index(count_text) + 1) if count_text in _WORDS else Decimal(count_text)
    denominator = Decimal({"hundred": 100, "thousand": 1000}.get(total_text) or total_text)
    return numerator / denominator if denominator else None


def says_extent(text: str, number: int, n_records: int) -> bool:
    """Return whether a text names the share of records that were changed (``number`` of ``n_records``), with two digits
    or more, or their number in a sentence about changing."""
    if not number:
        return False
    spellings = "|".join({str(number), f"{number:,}", f"{number:_}".replace("_", " ")})
    for sentence in re.split(r"(?<=[.;!?])\s", text):
        counted = re.search(rf"(?<![\d.,])(?:{spellings})(?![\d]|[.,]\d)", sentence)
        if counted and re.search(r"swap|chang|alter|perturb|modif", sentence, re.IGNORECASE):
            return True
    return says_share(text, number / n_records)


def says_share(text: str, share: float) -> bool:
    """Return whether a text names a share below 1, as a fraction or a percentage, with two significant digits or
    more."""
    if not 0 < share < 1:
        return False
    for match in re.finditer(rf"(?<![\w.,])(\d*\.\d+|\d+)(?![\d]|[.,]\d)(\s*{_PERCENT})?", _plain_numbers(text), re.I):
        digits = match[1]
        if len(digits.replace(".", "").lstrip("0")) < 2 or not (match[2] or digits.startswith(("0.", "."))):
            continue
        decimals = len(digits.partition(".")[2])
        exact = Decimal(share) * (100 if match[2] else 1)
        if round(exact, decimals) == Decimal(digits):
            return True
    return False
