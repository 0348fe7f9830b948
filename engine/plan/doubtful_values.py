"""Values in doubt: answers that read like codes for missing, and different texts that look alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from unicodedata import normalize

import numpy as np

from engine.common.errors import EngineError
from engine.common.raw_values import PLAIN, is_number, readings, texts
from engine.common.wording import without_hidden_signs
from engine.data.microdata import RawColumn, RawTable
from engine.plan.coding import counted as count
from engine.plan.entries import AttributePlan
from engine.plan.mismatches import UndecidedCode
from engine.plan.missing_codes import reads_as_missing, says_answer
from engine.plan.proposal import Proposal
from engine.plan.types import DEFAULT_MISSING, Plan

MOST_VALUES = 1000
"""A column with more distinct values than this is no category, and nothing in it is in doubt."""
_MOST_CODES = 6  # beside numbers
_GROUPS_SHOWN = 4  # of values that look alike
_FEWEST_AMOUNTS, _MOST_SIGNS = 30, 4  # distinct values of a column of amounts, and different signs beside them
_AMOUNT = re.compile(
    r"[(<>~≈]?[+\-−–]?\s*(?P<before>[$¢£¤¥€₡-⃏%‰]|(?:[A-Z]{3}|R[Ss]|[Kk]r|Fr)\.?(?=\s*[\d+\-−]))?\s*[+\-−–]?\s*"
    r"\d+(?:(?:[.,'’\s]\d{2,3})*[.,'’\s]\d{3})?(?:[.,]\d*)?(?:[eE][+\-−]?\d{1,3})?\s*"
    r"(?P<after>[$¢£¤¥€₡-⃏%‰°]|[^\W\d_]{1,5}\.?)?(?:[.,]?[\-−–]+)?\)?"
)

_DASH = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,(?![0-9]{3}$)[0-9]+")  # no comma between thousands


def possible_answers(column: RawColumn) -> tuple[str, ...]:
    """Values that mean missing by default and could be answers, in order of appearance.

    The file has a label for such a value, or most other values are texts of the same kind: written with the same sort
    of signs, and some as short and some as long, as the country codes beside "NA" are.
    """
    if len(column.values) > MOST_VALUES or not column.is_text:
        return ()
    values = texts(column.values)
    codes = [text for text in values if text and text in DEFAULT_MISSING]
    if not codes:
        return ()
    others = [text for text in values if text not in DEFAULT_MISSING]
    return tuple(code for code in codes if _could_answer(code, others, column.about.label_of))


def _could_answer(code: str, others: list[str], label_of: Mapping[str, str]) -> bool:
    if code in label_of:
        return says_answer(label_of[code])
    like = [len(text) for text in others if _sort_of_signs(text) == _sort_of_signs(code)]
    return len(like) > 0 and 2 * len(like) > len(others) and min(like) - 1 <= len(code) <= max(like)


def _sort_of_signs(text: str) -> str:
    """The sort of signs that a text is written with: capitals, small letters, both, and others."""
    letters = "".join(sign for sign in text if sign.isalpha())
    case = "upper" if letters.isupper() else "lower" if letters.islower() else "mixed" if letters else ""
    digits, others = any(map(str.isdigit, text)), any(not sign.isalnum() for sign in text)
    return f"{case}{' digits' if digits else ''}{' signs' if others else ''}"


def possible_codes(column: RawColumn) -> tuple[str, ...]:
    """Values that do not mean missing by default and may, by what they say: "None", "-", "not asked"; without those of
    which the file has a label, and of columns that say nothing else."""
    if len(column.values) > MOST_VALUES or not column.is_text:
        return ()
    answers = possible_answers(column)
    values = [text for text in texts(column.values) if text in answers or text not in DEFAULT_MISSING]
    found = [text for text in values if reads_as_missing(text) and text not in column.about.label_of]
    return tuple(found) if len(found) < len(values) else ()


def codes_beside_numbers(column: RawColumn) -> tuple[str, ...]:
    """Words and signs for a missing answer in a column all of whose other values are numbers."""
    if not column.is_text:
        return ()
    strange = np.flatnonzero(np.isnan(column.numbers))
    n_figures = len(column.values) - len(strange)
    if not n_figures or len(strange) > _MOST_CODES + len(DEFAULT_MISSING):
        return ()
    odd = [text for i in strange.tolist() if (text := column.values[i].as_py()) not in DEFAULT_MISSING]
    return tuple(odd) if len(odd) <= min(_MOST_CODES, n_figures) and all(map(reads_as_missing, odd)) else ()


def look_alikes(column: RawColumn) -> tuple[tuple[str, ...], ...]:
    """Groups of values that differ only in blanks, hidden signs, capitals, dashes or the way in which a sign or
    number is written, each with the one that most records have first: " 1", "01", "1" and "1.0"."""
    if len(column.values) > MOST_VALUES or not column.is_text:
        return ()
    alike: dict[object, list[str]] = {}
    for text in texts(column.values):
        if text in DEFAULT_MISSING or text in column.about.label_of:
            continue
        alike.setdefault(_reading(text), []).append(text)
    n_of = records_of(column, [text for group in alike.values() if len(group) > 1 for text in group])
    return tuple(tuple(sorted(group, key=lambda text: -n_of[text])) for group in alike.values() if len(group) > 1)


def _reading(text: str) -> object:
    """The content of a text without blanks, hidden signs, capitals, sorts of dashes and ways of writing signs and
    numbers."""
    plain = without_hidden_signs(" ".join(_DASH.sub("-", normalize("NFKC", text)).split())).casefold()
    number = plain.replace(",", ".") if _DECIMAL_COMMA.fullmatch(plain) else plain
    if is_number(number):
        return float(number)
    return "null" if plain in ("null", "none") else plain


def default_codes(column: RawColumn) -> tuple[str, ...]:
    """Texts that mean missing by default in a column of texts, other than possible answers: "NA" among names."""
    if len(column.values) > MOST_VALUES or not column.is_text:
        return ()
    values, answers = texts(column.values), possible_answers(column)
    if all(is_number(text) or text in DEFAULT_MISSING for text in values):
        return ()
    return tuple(text for text in values if text and text in DEFAULT_MISSING and text not in answers)


def marked_numbers(column: RawColumn) -> tuple[str, ...]:
    """The signs beside the numbers of a column whose values are all amounts and not all plain numbers ("€", "%"), or
    their way of writing; () of another column, or of one with few values."""
    if not column.is_text or len(column.values) <= _FEWEST_AMOUNTS or column.notation != PLAIN:
        return ()
    written = [text.strip() for text in texts(column.values.slice(0, MOST_VALUES))]
    odd = [text for text in written if not (is_number(text) or text in DEFAULT_MISSING or reads_as_missing(text))]
    found = [_AMOUNT.fullmatch(normalize("NFKC", text)) for text in odd]
    if len(odd) <= _FEWEST_AMOUNTS or not all(found):
        return ()
    signs = {sign for match in found if match for sign in match.group("before", "after") if sign}
    if len(signs) > _MOST_SIGNS or sum(sign[0].isalpha() for sign in signs) > 1:
        return ()  # codes such as 12A and 12B
    return tuple(sorted(signs)) or ("groups of digits, powers or other signs",)


def records_of(column: RawColumn, values: Iterable[str], counts: np.ndarray | None = None) -> Counter[str]:
    """The number of records of some values; ``counts`` are those that each row stands for, None where each is one."""
    weights = None if counts is None else counts.astype(float)
    n_of = np.bincount(column.codes[column.codes >= 0], None if weights is None else weights[column.codes >= 0])
    place = {text: i for i, text in enumerate(texts(column.values))}
    return Counter({text: int(n_of[place[text]]) for text in values if place[text] < len(n_of)})


def doubts(column: RawColumn) -> Iterator[Proposal]:
    """Proposals on the values of one column that are in doubt; only a person can decide them."""
    name, same_kind = column.name, possible_answers(column)
    for value in possible_codes(column):
        why = ", as the other values are texts of the same kind," if value in same_kind else ""
        yield Proposal(
            "code",
            (name,),
            f"'{name}' has {_counted(column, (value,))}: an answer{why} or a code for a missing one.",
            "It becomes missing; decline it where it is an answer.",
            codes=((name, (value,)),),
            certain=False,
        )
    if codes := default_codes(column):
        are = "means" if len(codes) == 1 else "mean"
        yield Proposal(
            "code",
            (name,),
            f"'{name}' has {_counted(column, codes)}, which {are} missing by default.",
            "The plan says so itself; list under levels of the attribute what is an answer.",
            codes=((name, codes),),
            certain=False,
        )
    groups = look_alikes(column)
    if groups:
        named = "; ".join(_counted(column, group) for group in groups[:_GROUPS_SHOWN])
        more = f"; and {len(groups) - _GROUPS_SHOWN} more groups" if len(groups) > _GROUPS_SHOWN else ""
        yield Proposal(
            "alike",
            (name,),
            f"'{name}' has values that look alike: {named}{more}.",
            "Those that look alike become one level each; the data keep what is written.",
            codes=tuple((name, group) for group in groups),
            certain=False,
        )
    yield from _unclear_numbers(column)


def _unclear_numbers(column: RawColumn) -> Iterator[Proposal]:
    """One proposal for each way to read numbers that can be read in several; one to drop them where no way fits all."""
    name = column.name
    ways = readings(column.values) if column.about.notation is None else ()
    read = "as texts" if not column.notation.clear else "with a decimal point"
    for way in ways:
        yield Proposal(
            "number",
            (name,),
            f"The numbers of column '{name}' can be read in several ways. So far they are read {read}.",
            f"They have {way.words}.",
            certain=False,
            notation=way,
        )
    if marks := marked_numbers(column):
        yield Proposal(
            "number",
            (name,),
            f"The values of column '{name}' look like numbers with signs that no number has here ({', '.join(marks)}). "
            "They are read as texts, each a level of its own.",
            "The column is dropped until the file writes plain numbers; decline it to keep the texts.",
            certain=False,
        )
    if not ways and not column.notation.clear:
        yield Proposal(
            "number",
            (name,),
            f"The numbers of column '{name}' are written in several ways, and no decimal sign fits all of them. So far "
            "they are read as texts.",
            "The column is dropped until the file writes all in one way; decline it to keep the texts.",
            certain=False,
        )


def _counted(column: RawColumn, values: Sequence[str]) -> str:
    n_of = records_of(column, values)
    return ", ".join(f"'{value}' ({count(n_of[value], 'record')})" for value in values)


def undecided_codes(plan: Plan, attribute: AttributePlan, table: RawTable) -> Iterator[UndecidedCode]:
    """Values of an attribute that mean missing only because nobody said otherwise, and may be answers."""
    if plan.data.missing != DEFAULT_MISSING or len(attribute.view) > 1 or attribute.cut:
        return
    column = table.distinct.columns[attribute.view[0]]
    decided = {*attribute.answers, *attribute.missing, *attribute.skip}
    open_codes = [code for code in possible_answers(column) if code not in decided]
    for code, n in records_of(column, open_codes, table.multiplicity).items():
        yield UndecidedCode(attribute.name, code, n, column.about.label_of.get(code, ""))


def refuse_undecided(plan: Plan, table: RawTable) -> None:
    """Refuse (:class:`EngineError`) a plan that takes as missing what may be an answer, where nobody said so."""
    for attribute in plan.attributes:
        for undecided in undecided_codes(plan, attribute, table):
            raise EngineError(f"{undecided.sentence}; {undecided.remedy}")
