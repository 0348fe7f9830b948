"""Texts for the board without what a member may not see, and titles of measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from engine.common.wording import listed, lower_first
from engine.measures import MeasureCall
from engine.plan.lock import approved_plan

if TYPE_CHECKING:
    from engine.plan import Plan
    from engine.report.facts import Better, MeasureRow
    from engine.study.study import Study

WITHHELD = "[withheld]"
_LABEL = re.compile(r"\bx[0-9a-f]{3,20}(/\d+)?\b")
_NUMBER = re.compile(r"(?<![\w.,])(\d*\.?\d+)(\s*(?:%|per\s?cent\b))?(?!\w|[.,]\d)", re.IGNORECASE)
_PATH = re.compile(r"""(?<![^\s"'(=])(?:file://|[A-Za-z]:[\\/]|\\\\|~?/)[^\s"')]*[\\/][^\s"')]*""")
_SECRET = re.compile(r"\b[0-9a-fA-F]{24,}\b")
_RUN = re.compile(r"\breplicate\s*(?:no\.?|number|#)?\s*\d+", re.IGNORECASE)


@dataclass(frozen=True)
class Redactor:
    """Takes out of a free text what identifies a run: internal names become letters; rates and other settings
    (unless members are told the rate),
    paths, specs, numbers of replicates and anything that looks like a key are withheld."""

    letters: Mapping[str, str]
    rates: frozenset[Decimal]
    attributes: tuple[str, ...]
    calls: tuple[MeasureCall, ...] = ()

    @classmethod
    def of(cls, study: Study, letters: Mapping[str, str]) -> Redactor:
        """For a study whose scenarios have these letters (label to letter)."""
        told = study.plan.publish.members_rate == "tell"
        return cls(letters, frozenset() if told else _settings(study.plan), study.names, study.measures)

    @classmethod
    def of_plan(cls, plan: Plan, calls: tuple[MeasureCall, ...], *, settings: bool = False) -> Redactor:
        """For a plan that nobody has run yet; ``settings`` lets rates and settings stand, for the chair."""

        rates = frozenset() if settings else _settings(plan) | _settings(approved_plan(plan) or plan)
        return cls({}, rates, plan.names, calls)

    def __call__(self, text: str) -> str:
        """The text as a member may see it."""
        text = _PATH.sub(WITHHELD, text)
        for call in sorted(self.calls, key=lambda c: -len(str(c))):
            text = re.sub(rf"\b{re.escape(str(call))}(?![\w\[])", _as_it_is(lower_first(title_of(call))), text)
        text = self._specs(text)
        text = _LABEL.sub(self._candidate, text)
        text = _SECRET.sub(WITHHELD, text)
        text = _RUN.sub("one run", text)
        return _NUMBER.sub(self._number, text)

    def all(self, texts: Iterable[str]) -> tuple[str, ...]:
        """Several texts."""
        return tuple(self(text) for text in texts)

    @property
    def _names(self) -> str:
        return "|".join(re.escape(name) for name in sorted(self.attributes, key=len, reverse=True))

    def _specs(self, text: str) -> str:
        """Specs in words: ``x7f3 Age:S Sex:F at 10 %`` is candidate B, the exchange of Age; a role that stands alone is
        its attribute."""
        if not self.attributes:
            return text
        role = rf"(?<!\w)(?:{self._names}):[SFCUsfcu]\b"
        label = rf"(?P<label>{_LABEL.pattern},?\s+)?"
        spec = re.compile(rf"{label}(?P<spec>{role}(?:\s+{role})*)(?P<at>\s+at\s+{_NUMBER.pattern})?")
        return spec.sub(self._spec, text)

    def _spec(self, match: re.Match[str]) -> str:
        rate = match["at"] or ""
        label, number = match["label"], _NUMBER.search(rate)
        parts = re.findall(rf"(?<!\w)({self._names}):([SFCUsfcu])\b", match["spec"])
        withheld = number is not None and self._number(number) == WITHHELD
        if len(parts) == 1 and not label and not withheld:
            result: str = parts[0][0] + rate
            return result
        swapped = [name for name, role in parts if role in "Ss"]
        text = f"the exchange of {listed(swapped)}" if swapped else listed(name for name, _ in parts)
        label_text = f"{label.strip().rstrip(',')}, " if label else ""
        return label_text + text + (" (rate withheld)" if withheld else rate)

    def _candidate(self, match: re.Match[str]) -> str:
        letter = self.letters.get(match.group().partition("/")[0])
        return f"candidate {letter}" if letter else "another candidate"

    def _number(self, match: re.Match[str]) -> str:
        value = Decimal(match.group(1))
        if match.group(2):
            value /= 100
        return WITHHELD if value in self.rates and 0 < value < 1 else match.group()


def _settings(plan: Plan) -> frozenset[Decimal]:
    """The rates of a plan and the numbers among its mechanisms' settings."""
    texts = set(plan.space.rates)
    for mechanism in plan.mechanisms:
        texts.update(value for _, values in mechanism.grid for value in values)
    return frozenset(Decimal(text) for text in texts if re.fullmatch(r"\d*\.?\d+", text))


def _as_it_is(text: str) -> str:
    """A text as a replacement: a backslash in the name of a column is no reference to a group."""
    return text.replace("\\", "\\\\")


_BY_STEPS = frozenset({"total_variation", "total_variation_two_way", "weighted_total_variation"})


def tells_rate(call: MeasureCall) -> bool:
    """Whether figures of a measure may tell the rate: of all that are not declared otherwise (``rounding``), but for
    the total variation, which is told as coarsely as other changes and is among what the attacks on a bundle use."""
    return call.measure.rounding == "always" and call.measure.name not in _BY_STEPS


def is_count_risk(call: MeasureCall) -> bool:
    """Whether a measure is eq. 6, which reports show as a count of records."""
    return call.measure.of_unaltered


RECORDS = "records"
"""The unit of counts of records."""
COUNT_TITLE = "Unaltered records in small cells"
"""What eq. 6 is called where it is shown as a count of records."""
SPARSE_CELLS = 0.5
"""Share of small cells of a table from which on its Hellinger distance tells how many records were changed."""
SPARSE = 0.25
"""Share of records in small cells from which on a count of unaltered ones tells how many were altered."""
SATURATED = 0.5
"""Share of records in small cells of a table from which on its distances are withheld: even two digits of them give the
share of records changed."""
ONE_DIGIT = ", to one digit"
"""What follows the title of a map's axis whose exact figures are withheld."""
WITHHELD_WHY = "this figure can tell how many records were altered"
"""Why a figure is not shown."""
WITHHELD_WORDS = f"withheld: {WITHHELD_WHY}"
"""What stands for a figure that is not shown."""


def coarse(call: MeasureCall, values: np.ndarray, sparse: bool, exposed: float = 0.0) -> np.ndarray:
    """Figures as members see them: those that can equal the share of records changed have two significant digits.

    Where nothing cancels, the total variation is that share, and on a sparse table the Hellinger distance its root.
    Where nearly everybody is ``exposed`` (the share of records in small cells of the original), the unaltered ones
    among them are nearly all unaltered ones, and the rest of the file are the altered ones.  The measures of Little and
    Liu say what share of the people in sensitive cells kept their keys; of a file of such people that is everybody.
    """
    rounded = {"exact": False, "sparse": sparse, "exposed": exposed > SPARSE, "always": True}[call.measure.rounding]
    return two_digits(values) if rounded else values


def two_digits(values: np.ndarray) -> np.ndarray:
    """Rounded to two significant digits; what is undefined stays so."""
    return digits(values, 2)


def half_unit(value: float, count: int) -> float:
    """How far a value may be from what it was before it was rounded to so many significant digits; 0 for 0."""
    return float(np.nan_to_num(_unit(np.array(value, float), count))) / 2


def digits(values: np.ndarray, count: int) -> np.ndarray:
    """Rounded to so many significant digits; what is undefined stays so."""
    values = np.asarray(values, float)
    unit = _unit(values, count)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.isfinite(unit) & (unit > 0), np.round(np.round(values / unit) * unit, 15), values)


def error_beside(values: np.ndarray, rounded: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Standard errors beside figures: of one that was rounded to two digits up to the same place (one unit of it at
    least, for the rounding), others exact."""
    values, errors = np.asarray(values, float), np.asarray(errors, float)
    unit = _unit(np.asarray(rounded, float), 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.round(np.maximum(np.ceil(np.round(errors / unit, 9)), 1) * unit, 15)
    return np.where((values != rounded) & np.isfinite(up), up, errors)


def _unit(values: np.ndarray, count: int) -> np.ndarray:
    """The place of the last of so many significant digits; 0 or not a number where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(10.0 ** (np.floor(np.log10(np.abs(values))) - count + 1))


def _shown(key: str, value: int | str) -> str | None:
    """A parameter as a word, or None where it might name a file."""
    text = str(value)
    if key == "file" or "/" in text or "\\" in text or re.search(r"\.\w{2,8}$", text):
        return None
    return f"{key.replace('_', ' ')} {text}"


def title_of(call: MeasureCall) -> str:
    """A measure's title with what is particular about it; never a file's name."""
    title = COUNT_TITLE if is_count_risk(call) else call.measure.title
    if call.measure.better == "zero":
        title = f"Size of {lower_first(title)}"
    parameters = [_shown(key, value) for key, value in call.parameters if value != call.measure.parameters[key]]
    particulars = [text for text in parameters if text]
    if call.attributes is not None:
        particulars.append("of " + " × ".join(call.attributes))
    return title + (f" ({', '.join(particulars)})" if particulars else "")


_PARTICULARS = r"(?: \((?:n rule \d+)?(?:, )?(?P<attributes>of .+)?\))?"  # see :func:`title_of`
_COUNT_TITLE = re.compile(f"{COUNT_TITLE}{_PARTICULARS}(?:{ONE_DIGIT})?", re.DOTALL)


def is_count_title(title: str, *, of_keys: bool = False) -> bool:
    """Whether a title that a bundle holds is that of eq. 6 as a count; ``of_keys`` if of the keys, not of attributes of
    its own.  A bundle holds titles and no names of measures."""
    match = _COUNT_TITLE.fullmatch(title)
    return match is not None and not (of_keys and match["attributes"])


def is_one_digit_title(title: str) -> bool:
    """Whether the title of a map's axis, as a bundle holds it, is that of figures which are shown to one digit."""
    return title.endswith(ONE_DIGIT)


_ITS_FIGURES = f" Its figures are {WITHHELD_WORDS}."


_ITS_FIGURES_BEFORE = (  # in bundles of earlier versions
    " Its figures are withheld: on a table where nearly every cell is small this figure tells how many records were "
    "altered."
)


def withheld_meaning(meaning: str) -> str:
    """What a measure says, of one whose figures are withheld."""
    return meaning + _ITS_FIGURES


def is_withheld(row: MeasureRow) -> bool:
    """Whether a row of a bundle is about a measure whose figures are withheld; of an earlier version its words tell."""
    if row.withheld is not None:
        return row.withheld
    return row.meaning.endswith((_ITS_FIGURES, _ITS_FIGURES_BEFORE))


def meaning_of(call: MeasureCall) -> str:
    """What a measure says, in words for the board."""
    if is_count_risk(call):
        return (
            f"The number of unaltered records that stand alone or nearly alone (fewer than {call.values['n_rule']} "
            "together) in the released table of what an intruder knows. It counts exposed records; it is not the "
            "chance that somebody is identified."
        )
    return call.meaning


def unit_of(call: MeasureCall) -> str:
    """The unit in which reports show a measure."""
    return RECORDS if is_count_risk(call) else call.measure.unit


def better_of(call: MeasureCall) -> Better:
    """Which figures of a measure are better as reports show them: of a signed change its size, which is better low."""
    return "higher" if call.measure.better == "higher" else "lower"
