"""Heuristics on names, labels and values of single columns: ids, weights, flags, skipped and missing codes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from engine.common.notation import PLAIN
from engine.common.raw_values import is_number, texts
from engine.data.labels import ColumnLabels
from engine.data.microdata import RawColumn
from engine.plan.missing_codes import MISSING_WORDS, code_like
from engine.plan.partition import Partition
from engine.plan.types import DEFAULT_MISSING

if TYPE_CHECKING:
    from engine.plan.guess import Facts

_MOST_VALUES = 5000  # a column of more distinct values is not searched for codes
_SKIP_WORDS = re.compile(
    r"\b(valid|legitimate|legit)\W*skip|\bskip(ped)?\b|inapplicable|not\W+applicable|not\W+asked|not\W+in\W+universe|"
    r"does\W+not\W+apply|\bniu\b|\binap\b",
    re.IGNORECASE,
)
_WEIGHT_NAME = re.compile(
    r"wgt|w(ei)?ght|repw|(^|_)wt|wts?\d*($|_)|ecwth|"
    r"(^|_)w\d*_?(fin(al)?|full|base|samp\w*|pers\w*|house\w*|hh|rep\w*|adj\w*|cal\w*|norm\w*|trim\w*)\d*($|_)",
    re.IGNORECASE,
)
_IMPLIED_DECIMALS = re.compile(r"[hm]?v005s?|d005s?", re.IGNORECASE)  # six of them, in weights of health surveys
_NO_WEIGHT = re.compile(r"birth|body|kg|kilo|lbs?\b|pound|gram", re.IGNORECASE)
_LEAST_DISTINCT = 50  # distinct values from which a column may be a weight by its values alone
_HEAPED = 0.3  # share of multiples of ten from which numbers were rounded by people, as incomes are
_ID_NAME = re.compile(r"(^|_)(\w*id|ident\w*|serial\w*|key|uuid|recno|case(no|num)?)\d*($|_)", re.IGNORECASE)
_UNIT_NAME = re.compile(
    r"(^|_)(hid|hh_?(id|num|no|nr|number|key|serial)|house(hold)?(_?(id|num|no|nr|number|key|serial))?|serial(no)?|"
    r"dwelling(_?(id|no|number))?|fam(ily)?_?(id|no|number)|qhhnum)\d*($|_)",
    re.IGNORECASE,
)
_MOST_MEMBERS = 15  # of a household; larger groups are places, schools or classes
_IN_HOUSEHOLDS = 0.98  # share of records that stand in groups of so many
_NUMBERED = 0.9  # share of records that have a number at all
_LEAST_TOGETHER = 0.05  # share of groups of several records from which a column does not number records with errors
_FLAG_NAMES = (
    re.compile(r"(?:imp|impf|imputed|flag|f|i|alloc|q)_(.+)", re.IGNORECASE),
    re.compile(r"(.+?)_?(?:imp|impf|imputed|imputation|flag|alloc)", re.IGNORECASE),
    re.compile(r"(.+)_(?:f|i|q)", re.IGNORECASE),
)
_MOST_FLAG_LEVELS = 12


def is_id(column: Partition, facts: Facts) -> bool:
    """Return whether a column numbers the records, or groups of them such as households."""
    if facts.looks_like_id:
        return True
    if not column.nearly_unique or len(column.codes) <= 50 or column.raw.notation != PLAIN:
        return False  # no id has signs between its thousands
    named = _ID_NAME.search(column.name) is not None
    if not facts.numeric:
        return named
    values = column.raw.numbers
    all_whole = bool((np.mod(values[np.isfinite(values)], 1) == 0).all())
    # A household's number: whole, rising with the file and never coming back.
    in_order = np.append(values, np.nan)[column.raw.codes]
    rising = all_whole and bool((in_order[1:] >= in_order[:-1]).all())
    return rising or (named and all_whole)


def numbers_units(column: RawColumn, facts: Facts) -> bool:
    """Return whether a column numbers households: whole numbers or texts, nearly all of them of 1 to 15 records, with
    a name that says so or with the records of each number together in the file.  Few records may have none, or a code
    for missing in its place."""
    codes, n_records = column.codes, len(column.codes)
    if facts.labelled or n_records <= 50 or facts.n_distinct * 2 * _MOST_MEMBERS < n_records:
        return False
    sizes = np.bincount(codes + 1)[1:]
    if column.notation != PLAIN or np.count_nonzero(sizes > 1) < max(1.0, _LEAST_TOGETHER * np.count_nonzero(sizes)):
        return False
    absent = unnumbered(column)
    if absent.any():
        codes = codes[~absent]
        sizes = np.bincount(codes, minlength=1)
    if len(codes) < _NUMBERED * n_records or np.count_nonzero(sizes) * _MOST_MEMBERS < len(codes):
        return False
    if sizes[sizes <= _MOST_MEMBERS].sum() < _IN_HOUSEHOLDS * len(codes) or sizes.max() < 2:
        return False
    values = column.numbers[codes]
    if _UNIT_NAME.search(column.name):
        return not facts.numeric or _whole(values)
    together = int(np.count_nonzero(np.diff(codes))) + 1 == np.count_nonzero(sizes)
    if not facts.numeric:
        return together and facts.looks_like_id
    return together and _whole(values) and bool((np.diff(values) >= 0).all())


def unnumbered(column: RawColumn) -> np.ndarray:
    """Mask of records that have no number, or a code for missing in its place; shape ``(n_records,)``."""
    like, apart = code_like(column)
    crowd = np.bincount(column.codes + 1, minlength=len(like) + 1)[1:] > _MOST_MEMBERS
    absent = column.about.absent_mask(column.values, DEFAULT_MISSING) | apart | (like & crowd)
    mask: np.ndarray = np.append(absent, True)[column.codes]
    return mask


def _whole(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).all() and (np.mod(values, 1) == 0).all())


def names_units(column: RawColumn) -> bool:
    """Return whether a column of whole numbers has a name of household numbers."""
    return _UNIT_NAME.search(column.name) is not None and _whole(column.numbers)


def units_first(columns: Sequence[RawColumn]) -> tuple[str, ...]:
    """Names of columns that number households, those first whose names say household and not family."""
    by_name = sorted(columns, key=lambda column: bool(re.match("fam", column.name, re.IGNORECASE)))
    return tuple(column.name for column in by_name)


def is_weight(column: RawColumn, facts: Facts) -> bool:
    """Return whether a column is a survey weight, by its name or label and its values."""
    label, values = column.about.label, column.numbers
    values = values[np.isfinite(values)]
    labelled_weight = re.search(r"\bweight\b", label, re.IGNORECASE) and re.search(
        r"sampl|survey|final|person|household|replicate|analysis|base", label, re.IGNORECASE
    )
    named = _WEIGHT_NAME.search(column.name) or (
        _IMPLIED_DECIMALS.fullmatch(column.name) and len(values) and (not _whole(values) or np.median(values) > 10_000)
    )
    if not (facts.numeric and facts.n_distinct > 2 and (named or labelled_weight)):
        return False
    if _NO_WEIGHT.search(column.name) or _NO_WEIGHT.search(label):
        return False
    return len(values) > 0 and bool((values >= 0).all()) and not _are_years(values)


def may_be_weight(column: Partition, facts: Facts) -> bool:
    """Return whether a column may be a survey weight by its values alone: a positive number in every record, nearly all
    of them different, and not heaped on round figures. An exact measurement looks so too."""
    if not facts.numeric or facts.labelled or facts.n_missing:
        return False
    if facts.n_distinct < _LEAST_DISTINCT or not column.nearly_unique:
        return False
    values = column.raw.numbers
    if not (np.isfinite(values).all() and (values > 0).all()) or _are_years(values):
        return False
    round_values = np.mod(values, 10) == 0
    return bool(np.count_nonzero(round_values[column.raw.codes]) < _HEAPED * len(column.codes))


def _are_years(values: np.ndarray) -> bool:
    """Return whether all numbers are whole and could be years of this age, as years of birth are."""
    return bool(len(values) and _whole(values) and (values >= 1850).all() and (values <= 2100).all())


def likeliest_first(columns: Sequence[Partition]) -> list[Partition]:
    """Columns that may be weights by their values, the likeliest first: those that are multiples of another one, as
    rescaled weights are, then those with the mean 1, then the others in file order."""
    sampled = {column.name: _sampled(column) for column in columns}

    def is_rescaled(column: Partition) -> bool:
        own = sampled[column.name]
        ratios = (values / own for name, values in sampled.items() if name != column.name)
        return any(bool(np.ptp(ratio) < 1e-3 * ratio[0]) for ratio in ratios)

    def has_mean_one(column: Partition) -> bool:
        return abs(float(sampled[column.name].mean()) - 1) < 0.1

    return sorted(columns, key=lambda column: (not is_rescaled(column), not has_mean_one(column), column.position))


def _sampled(column: Partition) -> np.ndarray:
    """The column's numbers in a few records, evenly spread over the file."""
    records = np.linspace(0, len(column.raw.codes) - 1, 200).astype(int)
    return np.asarray(column.raw.numbers[column.raw.codes[records]], float)


def skip_like(column: Partition) -> list[tuple[int, str | None]]:
    """Levels that may say "skipped", each with its raw value (None: empty)."""
    raw = column.raw
    raw_texts = texts(raw.values)
    codes: set[int] = {-1}
    labels = raw.about
    declared = set(labels.missing_among(raw_texts)) | set(DEFAULT_MISSING)
    codes |= {
        i for i, text in enumerate(raw_texts) if text in declared or _SKIP_WORDS.search(labels.label_of.get(text, ""))
    }
    codes |= {i for i, text in enumerate(raw_texts) if _SKIP_WORDS.fullmatch(text.strip())}
    if len(raw_texts) <= _MOST_VALUES:
        values = raw.numbers
        negative = np.flatnonzero((values < 0) & np.isfinite(values))
        if 0 < len(negative) <= 6 and (values[negative] % 1 == 0).all() and (values >= 0).sum() > 1:
            codes |= set(negative.tolist())
    levels = []
    for code in sorted(codes):
        record = int(np.argmax(raw.codes == code))
        if raw.codes[record] == code:
            levels.append((int(column.codes[record]), None if code < 0 else raw_texts[code]))
    return levels


def says_skip(column: Partition, code: str | None) -> bool:
    """Return whether a code is said in words to mean skipped."""
    labels = column.raw.about
    return code is not None and bool(_SKIP_WORDS.search(labels.label_of.get(code, code)))


def flags(columns: Sequence[Partition]) -> Iterable[tuple[str, str]]:
    """Columns that are flags of another by their name, such as ``income_flag`` and ``imp_income``."""
    folded = {column.name.casefold(): column for column in columns}
    for column in columns:
        if column.n_levels > _MOST_FLAG_LEVELS:
            continue
        for pattern in _FLAG_NAMES:
            match = pattern.fullmatch(column.name)
            owner = folded.get(match.group(1).casefold()) if match else None
            if owner is not None and owner is not column:
                yield owner.name, column.name
                break


def missing_codes(
    columns: Sequence[Partition], skip_codes: Collection[tuple[str, str | None]]
) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Raw values that mean missing and are not declared so by default: by the file, its labels, or a negative code
    that many columns share; ``skip_codes`` are (column, code) of skips."""
    negative: dict[str, int] = {}
    per_column: list[tuple[str, list[str], set[str]]] = []
    for column in columns:
        labels, raw_texts = column.raw.about, texts(column.raw.values) if len(column.raw.values) <= _MOST_VALUES else []
        if not raw_texts:
            continue
        declared = set(labels.missing_among(raw_texts))
        declared |= {text for text in raw_texts if MISSING_WORDS.search(labels.label_of.get(text, ""))}
        declared |= {text for text in raw_texts if _SKIP_WORDS.search(labels.label_of.get(text, ""))}
        negatives = [code for _, code in skip_like(column) if code is not None and code.startswith("-")]
        for code in negatives:
            negative[code] = negative.get(code, 0) + 1
        per_column.append((column.name, negatives, declared))
    for name, negatives, declared in per_column:
        codes = declared | {code for code in negatives if negative[code] >= 3}
        missing = tuple(sorted(c for c in codes if (name, c) not in skip_codes and c not in DEFAULT_MISSING))
        if missing:
            yield name, missing


def says_missing(about: ColumnLabels, value: str, others: Collection[str]) -> bool:
    """Return whether a raw value seems to mean a missing answer: by the file, by its label, or as a negative code where
    none of the ``others`` is negative."""
    label = about.label_of.get(value, value)
    if about.missing_among([value]) or MISSING_WORDS.search(label) or _SKIP_WORDS.search(label):
        return True
    negative = [text for text in (value, *others) if is_number(text) and float(text) < 0]
    return negative == [value]
