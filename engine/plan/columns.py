"""Single columns: facts, partitions of the records, heuristics on names and values, and a search by name or value."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np

from engine.common.raw_values import PLAIN, is_number, smallest, texts
from engine.data.microdata import ColumnLabels, RawColumn, RawTable
from engine.plan.coding import assign_columns, missing_mask, n_missing
from engine.plan.doubts import (
    MISSING_WORDS,
    code_like,
    codes_below_zero,
    codes_beside_numbers,
    marked_numbers,
    possible_answers,
    texts_among_numbers,
)
from engine.plan.types import DEFAULT_MISSING, Plan

RECORDS_PER_LEVEL = 20
"""A column with fewer records per value than this is nearly unique: that it decides another says little."""

_RARER = 16


@dataclass
class Partition:
    """A column's partition of the records.

    ``codes`` are level codes 0..n_levels-1 in order of first appearance (an empty value is a level), the raw column's
    own where these are so, and ``position`` is the column's position in the file.
    """

    raw: RawColumn
    codes: np.ndarray
    n_levels: int
    position: int

    @property
    def name(self) -> str:
        """The column's name."""
        return self.raw.name

    @property
    def nearly_unique(self) -> bool:
        """Return whether there are few records per value."""
        return self.n_levels * RECORDS_PER_LEVEL > len(self.codes)

    @property
    def first(self) -> np.ndarray:
        """The first record of each level."""
        # a column of few records per value would take more memory for these than for its codes
        return firsts(self.codes, self.n_levels) if self.nearly_unique else self._first

    @cached_property
    def _first(self) -> np.ndarray:
        return firsts(self.codes, self.n_levels)

    @property
    def signature(self) -> bytes:
        """The same for columns that part the records alike."""
        return hashlib.blake2b(smallest(self.codes, self.n_levels).tobytes(), digest_size=16).digest()

    @cached_property
    def rarer(self) -> np.ndarray:
        """A few records whose value is not the one that most have."""
        records = np.flatnonzero(self.codes != self.support[1])
        return records[:: -(-len(records) // _RARER)]

    @cached_property
    def support(self) -> tuple[np.ndarray, int]:
        """Records per level, and the level that has most."""
        counts = np.bincount(self.codes, minlength=self.n_levels)
        return counts, int(counts.argmax())

    def read(self, level: int) -> str:
        """The raw value of a level as text; an empty one is ""."""
        code = int(self.raw.codes[np.argmax(self.codes == level)])
        return "" if code < 0 else texts(self.raw.values.slice(code, 1))[0]


def partition(raw: RawColumn, position: int) -> Partition:
    """The partition that a column makes; linear in its records."""
    n_values = len(raw.values)
    # null has code -1, and so the last index
    first = firsts(raw.codes, n_values + 1)
    order = np.argsort(first, kind="stable")
    used = order[first[order] < len(raw.codes)]
    if len(used) == n_values and (used == np.arange(n_values)).all():
        return Partition(raw, raw.codes, n_values, position)
    number = np.zeros(len(first), np.int32)
    number[used] = np.arange(len(used))
    return Partition(raw, smallest(number, len(used))[raw.codes], len(used), position)


def firsts(codes: np.ndarray, size: int | None = None) -> np.ndarray:
    """The first record of each code; the number of records for a code that does not occur."""
    first = np.full(int(codes.max()) + 1 if size is None else size, len(codes), np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


_MOST_VALUES = 5000  # a column of more distinct values is not searched for codes
_SKIP_WORDS = re.compile(
    r"\b(valid|legitimate|legit)\W*skip|\bskip(ped)?\b|inapplicable|not\W+applicable|not\W+asked|not\W+in\W+universe|"
    r"does\W+not\W+apply|\bniu\b|\binap\b",
    re.IGNORECASE,
)
_WEIGHT_NAME = re.compile(
    r"wgt|w(ei)?ght|repw|(^|_)wt|wts?\d*($|_)|ecwth|"
    r"gewicht|hochrechnung|(^|_)(coeff|pond(era(cion|dor))?|fac(tor)?_?exp\w*|fexp\w*)\d*($|_)|"
    r"(^|_)w\d*_?(fin(al)?|full|base|samp\w*|pers\w*|house\w*|hh|rep\w*|adj\w*|cal\w*|norm\w*|trim\w*)\d*($|_)",
    re.IGNORECASE,
)
_IMPLIED_DECIMALS = re.compile(r"[hm]?v005s?|d005s?", re.IGNORECASE)  # six of them, in weights of health surveys
_NO_WEIGHT = re.compile(
    r"birth|body|kg|kilo|lbs?\b|pound|gram|k(ö|oe)rper|geburt|klasse|gruppe|expen|food", re.IGNORECASE
)
_NUMBERS_SOMEBODY = re.compile(
    r"(pers\w*|house\w*|hh|fam\w*|resp\w*)_?(id|nr|no|num|number|key)\d*($|_)", re.IGNORECASE
)
_LEAST_DISTINCT = 50  # distinct values from which a column may be a weight by its values alone
_HEAPED = 0.3  # share of multiples of ten from which numbers were rounded by people, as incomes are
_ID_NAME = re.compile(r"(^|_)(\w*id|ident\w*|serial\w*|key|uuid|recno|case(no|num)?)\d*($|_)", re.IGNORECASE)
_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_TIME = re.compile(
    rf"(?:\d{{4}}([-./]){_DAY}\1{_DAY}|{_DAY}([-./]){_DAY}\2\d{{2,4}}|{_DAY}[ -]?(?:{_MONTH})[a-z]*[ -]?\d{{2,4}})"
    r"(?:[T ].*)?|\d{1,2}:\d\d(?::\d\d.*)?",
    re.IGNORECASE,
)
_UNIT_NAME = re.compile(
    r"(^|_)(hid|hh_?(id|num|no|nr|number|key|serial)|house(hold)?(_?(id|num|no|nr|number|key|serial))?|serial(no)?|"
    r"h_?serial[a-z]?|hh?_?ref|dwelling(_?(id|no|number))?|fam(ily)?_?(id|no|number)|qhhnum)\d*($|_)",
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
    if is_weight(column.raw, facts):
        return False
    if facts.looks_like_id:
        return not is_measured(column.raw)
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


def is_measured(column: RawColumn) -> bool:
    """Return whether all values of a column are dates, times or amounts such as "$1,234.50", which number no records
    even where each has another one."""
    import pyarrow as pa

    if not column.is_text:
        return bool(pa.types.is_temporal(column.values.type))
    if _ID_NAME.search(column.name) or _UNIT_NAME.search(column.name):
        return False
    written = [text for text in texts(column.values.slice(0, _SAMPLE)) if text not in DEFAULT_MISSING]
    if written and all(_TIME.fullmatch(text.strip()) for text in written):
        return True
    signs = marked_numbers(column)
    return bool(signs) and not all(sign.isalpha() for sign in signs)  # 123A and 12DE may be numbers of records


def numbers_units(column: RawColumn, facts: Facts) -> bool:
    """Return whether a column numbers households: whole numbers or texts, nearly all of them of 1 to 15 records, with
    a name that says so or with the records of each number together in the file.  Few records may have none, or a code
    for missing in its place."""
    codes, n_records = column.codes, len(column.codes)
    if facts.labelled or n_records <= 50 or facts.n_distinct * 2 * _MOST_MEMBERS < n_records:
        return False
    if is_weight(column, facts):
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
    """Return whether a column is a survey weight, by its name or label and its values; a few codes below 0 may stand
    in place of weights."""
    label, values = column.about.label, _without_codes(column)
    labelled_weight = re.search(r"\bweight\b", label, re.IGNORECASE) and re.search(
        r"sampl|survey|final|person|household|replicate|analysis|base", label, re.IGNORECASE
    )
    named = _WEIGHT_NAME.search(column.name) or (
        _IMPLIED_DECIMALS.fullmatch(column.name) and len(values) and (not _whole(values) or np.median(values) > 10_000)
    )
    if not (facts.numeric and facts.n_distinct > 2 and (named or labelled_weight)):
        return False
    numbering = (_ID_NAME, _UNIT_NAME, _NUMBERS_SOMEBODY)
    if _whole(values) and any(pattern.search(column.name) for pattern in numbering):
        return False
    if _NO_WEIGHT.search(column.name) or _NO_WEIGHT.search(label):
        return False
    return len(values) > 0 and bool((values >= 0).all()) and not _are_years(values)


def _without_codes(column: RawColumn) -> np.ndarray:
    """The numbers of a column without infinite ones and codes below 0."""
    values: np.ndarray = column.numbers[np.isfinite(column.numbers)]
    return values[values >= 0] if codes_below_zero(column) else values


def may_be_weight(column: Partition, facts: Facts) -> bool:
    """Return whether a column may be a survey weight by its values alone: a positive number in every record, or a
    code below 0, nearly all of them different, and not heaped on round figures. An exact measurement looks so too."""
    if not facts.numeric or facts.labelled or facts.n_missing:
        return False
    if facts.n_distinct < _LEAST_DISTINCT or not column.nearly_unique:
        return False
    values = column.raw.numbers
    usual = _without_codes(column.raw)
    if not (np.isfinite(values).all() and (usual > 0).all()) or _are_years(usual):
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


MOST_NUMERIC_LEVELS = 30
"""A numeric column with more distinct values than this is taken for a measurement, not for a category."""


MOST_TEXT_LEVELS = 1000
"""A text column with more distinct values than this looks like an id."""


_SAMPLE = 2000  # distinct values that decide whether a long column is numeric


@dataclass(frozen=True)
class Facts:
    """Facts about a column's values, missing ones aside; ``labelled``: the file names its values one by one.
    ``numeric`` are also numbers beside some codes for missing, and those that can be read in two ways."""

    n_distinct: int
    n_missing: int
    numeric: bool
    looks_like_id: bool
    labelled: bool = False

    @property
    def categorical(self) -> bool:
        """Return whether the column can be an attribute as it stands."""
        return (
            self.n_distinct > 0
            and not self.looks_like_id
            and not (self.numeric and self.n_distinct > MOST_NUMERIC_LEVELS and not self.labelled)
        )


def default_missing(column: RawColumn) -> tuple[str, ...]:
    """Raw values that mean missing in a column of which nobody has decided: all default codes but possible answers."""
    answers = possible_answers(column)
    return tuple(code for code in DEFAULT_MISSING if code not in answers)


def facts(column: RawColumn, n_records: int, missing: Sequence[str] | None = None) -> Facts:
    """The :class:`Facts` of one column, with the codes of :func:`default_missing` or these ``missing`` ones; linear in
    its distinct values."""
    mask = missing_mask(column, default_missing(column) if missing is None else missing)
    n_distinct = int(np.count_nonzero(~mask))
    first = ~mask[:_SAMPLE]
    sample = RawColumn(column.name, column.values.slice(0, _SAMPLE), column.codes)
    odd = first & np.isnan(column.notation.numbers(sample.values))
    # codes for missing do not make texts of numbers
    numeric = bool(first.any()) and (not odd.any() or not column.notation.clear or bool(codes_beside_numbers(sample)))
    numeric = numeric or bool(texts_among_numbers(sample))
    missing_records = n_missing(column, mask)
    all_distinct = n_records > 50 and n_distinct == n_records - missing_records and n_distinct > 50
    # a measurement may be all distinct too, but hardly in whole numbers; an id has no signs between its thousands
    could_count = numeric and all_distinct and not missing_records and column.notation == PLAIN
    counts_up = could_count and _whole(column.numbers[~np.isnan(column.numbers)])
    looks_like_id = counts_up or (not numeric and (n_distinct > MOST_TEXT_LEVELS or all_distinct))
    label_of = column.about.label_of
    labelled = len(label_of) >= n_distinct > 0 and all(text in label_of for text in texts(column.values.filter(~mask)))
    return Facts(n_distinct, missing_records, numeric, looks_like_id and not labelled, labelled)


_MOST_BARS = 24


def histogram(column: RawColumn, facts: Facts) -> list[int]:
    """Return records by value, in the order of the values; where there are many, numbers in classes of equal width, and
    the most frequent texts.  Empty for an id and a column without values."""
    present = ~missing_mask(column, default_missing(column))
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))[present]
    if facts.looks_like_id or not counts.any():
        return []
    numbers = column.numbers[present]
    if np.isfinite(numbers).all():
        if len(numbers) > _MOST_BARS:
            return np.histogram(numbers, _MOST_BARS, weights=counts)[0].astype(int).tolist()  # type: ignore[no-any-return]
        return counts[np.argsort(numbers)].tolist()  # type: ignore[no-any-return]
    if len(numbers) > _MOST_BARS:
        return np.sort(counts)[::-1][:_MOST_BARS].tolist()  # type: ignore[no-any-return]
    order = np.argsort(np.array(texts(column.values.filter(present))), kind="stable")
    return counts[order].tolist()  # type: ignore[no-any-return]


_VALUES_SHOWN = 3  # values named of a column that is found by some of its values


class Obstacle(Enum):
    """An obstacle that keeps a column from being given a role as it stands."""

    WEIGHT = "it is the weight"
    ID = "it is the id"
    UNIT = "it numbers households"
    DROPPED = "it is dropped, so it never leaves"
    UNDECIDED = "the plan gives it no use yet"
    EMPTY = "it has no values"
    NAMES_RECORDS = "its values tell records apart, as ids do"
    TOO_MANY_VALUES = "it is a number with many values, which has to be cut into levels first"


@dataclass(frozen=True)
class ColumnFound:
    """A column that fits what was searched for.

    ``values`` are those of its values, or their labels, that fit, a few at most.  ``attribute`` is the name by which it
    can be given a role: its own, or its block's where it makes the levels of that or could not; None where there is an
    ``obstacle``.  ``block`` is the attribute that it is a part of.
    """

    name: str
    label: str
    values: tuple[str, ...]
    attribute: str | None
    obstacle: Obstacle | None
    block: str | None = None


@dataclass(frozen=True)
class SearchableColumn:
    """The parts of a column that are searched: its label, and its values with their labels; no values of what looks
    like an id, which name records, and none of a number with many."""

    label: str
    values: tuple[str, ...]
    facts: Facts


def searchable(raw: RawTable) -> dict[str, SearchableColumn]:
    """The searchable parts of every column, in file order; linear in all distinct values."""
    return {name: _searchable(column, raw.n_records) for name, column in raw.columns.items()}


def _searchable(column: RawColumn, n_records: int) -> SearchableColumn:
    seen = facts(column, n_records)
    label_of = column.about.label_of
    values = [text for text in texts(column.values) if text not in label_of] if _is_searched(seen) else []
    labels = [f"{value} = {label}" for value, label in column.about.values]
    return SearchableColumn(column.about.label, (*labels, *values), seen)


def _is_searched(seen: Facts) -> bool:
    return seen.categorical and seen.n_distinct <= MOST_TEXT_LEVELS


def find_columns(columns: Mapping[str, SearchableColumn], plan: Plan, typed: str) -> list[ColumnFound]:
    """The columns whose name, label or values hold ``typed``, in any case: by name first, by value last, each in file
    order; none where nothing is typed."""
    wanted = typed.strip().casefold()
    if not wanted:
        return []
    part_of = {column: part for part in plan.attributes for column in part.columns}
    assigned = assign_columns(plan.data, tuple(columns))
    carried, dropped = frozenset(assigned.carried), frozenset(assigned.dropped)
    ranked: list[tuple[int, ColumnFound]] = []
    for name, column in columns.items():
        values = tuple(value for value in column.values if wanted in value.casefold())
        ranks = (name.casefold() == wanted, wanted in name.casefold(), wanted in column.label.casefold(), bool(values))
        if True not in ranks:
            continue
        part = part_of.get(name)
        obstacle = _obstacle(name, column.facts, plan, carried, dropped) if part is None else None
        leads = part is None or (name not in part.view and column.facts.categorical)
        offered = None if obstacle is not None else name if leads or part is None else part.name
        block = part.name if part is not None else None
        found = ColumnFound(name, column.label, values[:_VALUES_SHOWN], offered, obstacle, block)
        ranked.append((ranks.index(True), found))
    return [found for _, found in sorted(ranked, key=lambda ranked_column: ranked_column[0])]


def _obstacle(name: str, seen: Facts, plan: Plan, carried: frozenset[str], dropped: frozenset[str]) -> Obstacle | None:
    """The obstacle that keeps a column that no attribute has from being given a role."""
    if name == plan.data.weight:
        return Obstacle.WEIGHT
    if name == plan.data.id:
        return Obstacle.ID
    if name in plan.data.unit_columns:
        return Obstacle.UNIT
    if name in dropped:
        return Obstacle.DROPPED
    if name not in carried:
        return Obstacle.UNDECIDED
    if not seen.n_distinct:
        return Obstacle.EMPTY
    if seen.looks_like_id:
        return Obstacle.NAMES_RECORDS
    return None if seen.categorical else Obstacle.TOO_MANY_VALUES
