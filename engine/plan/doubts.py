"""Values in doubt (words and numbers that read like missing answers, texts that look alike), and proposals on them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args
from unicodedata import normalize

import numpy as np

from engine.common.errors import EngineError
from engine.common.raw_values import PLAIN, Notation, is_number, notation_of, readings, texts
from engine.common.wording import without_hidden_signs
from engine.data.microdata import RawColumn, RawTable
from engine.plan.coding import counted as count
from engine.plan.entries import AttributePlan, MechanismPlan
from engine.plan.mismatches import TextAmongNumbers, UndecidedCode
from engine.plan.types import DEFAULT_MISSING, Plan

_MISSING_WORD = re.compile(
    r"n\W?a\W?n?|\W*n\W?/\W?a\W*|none|null|nil|nan|[-–—?.*#]+|\.[a-z_]|missing|unknown|refused|refusal|dk|don'?t[\W_]+know|"
    r"not[\W_]+(asked|stated|known|available|applicable|reported|ascertained)([\W_]+code)?|"
    r"no[\W_]+(answer|response)|prefer[\W_]+not[\W_]+to[\W_]+(say|answer)|declined|skipped|"
    r"k\W+a\W*|keine[\W_]+(angaben?|antwort)|wei(ß|ss)[\W_]+nicht|unbekannt|verweigert|trifft[\W_]+nicht[\W_]+zu|"
    r"ns\W*nc|n[oã]o?[\W_]+(sabe|contesta|responde|aplica)|nsp|ne[\W_]+sait[\W_]+pas|(sans|non)[\W_]+réponse|"
    r"non[\W_]+(renseigné|concerné|so|risponde)|refus|inconnue?|desconocido|desconhecido|sconosciuto|onbekend|"
    r"weet[\W_]+niet|geen[\W_]+antwoord|vet[\W_]+ej|"
    r"inapplicable|[-+]?inf(inity)?|#(div/0|value|ref|num|name|null)[!?]",
    re.IGNORECASE,
)
MISSING_WORDS = re.compile(
    r"\b(refus\w*|don'?t\W+know|do\W+not\W+know|not\W+ascertained|missing|no\W+answer|not\W+stated|not\W+reported|"
    r"nonresponse|non-response|unknown|not\W+available|dk)\b",
    re.IGNORECASE,
)
"""Words in the label of a value that says nothing."""
_APART = 3  # times the usual step between numbers, from which a code lies away from the others
_LONGEST = 40  # signs of a word
_MOST_NEGATIVE = 6  # codes below 0, where all other numbers are not


def reads_as_missing(text: str) -> bool:
    """Return whether a text is one of the usual codes or words for a missing answer."""
    return text.isspace() or _MISSING_WORD.fullmatch(text.strip()) is not None


def says_answer(label: str) -> bool:
    """Return whether the label of a value names an answer and not that there is none."""
    return not (reads_as_missing(label) or MISSING_WORDS.search(label))


def code_like(column: RawColumn) -> tuple[np.ndarray, np.ndarray]:
    """Masks of distinct values, each of shape ``(len(values),)``: those that read like a code for missing (0, 99), and
    of these the ones that no other value resembles: words, and numbers that are negative or lie away from all others.

    A value with a label is a code if the label says so, and no code otherwise.
    """
    figures = column.numbers
    finite = np.isfinite(figures)
    negative = finite & (figures < 0)
    if np.count_nonzero(negative) > min(_MOST_NEGATIVE, np.count_nonzero(finite) / 2):
        negative[:] = False
    coded = finite & (figures >= 0) & _is_zero_or_nines(figures)
    apart = negative.copy()
    usual = np.unique(figures[finite & (figures >= 0) & ~coded])
    if len(usual) and coded.any():
        step = float(np.median(np.diff(usual))) if len(usual) > 1 else 1.0
        apart |= coded & (np.maximum(figures - usual[-1], usual[0] - figures) > max(1.0, _APART * step))
    like = negative | coded
    if column.is_text and not finite.all():
        words = [i for i, text in enumerate(texts(column.values)) if len(text) < _LONGEST and reads_as_missing(text)]
        words = [i for i in words if not finite[i]]
        like[words] = apart[words] = True
    if column.about.label_of:
        for i, text in enumerate(texts(column.values)):
            if text in column.about.label_of:
                like[i] = apart[i] = not says_answer(column.about.label_of[text])
    return like, apart


def _is_zero_or_nines(figures: np.ndarray) -> np.ndarray:
    """Mask of numbers from 0 on that are 0, or whose digits are all 7, 8 or 9 (99, 888), or 9 before one of these
    (997, 98): the codes for missing answers that people choose."""
    figures = np.where(np.abs(figures) < 1e15, figures, 1)
    whole = np.floor(figures)
    power = 10.0 ** (np.floor(np.log10(np.maximum(whole, 1) + 0.5)) + 1)
    rest = np.round(power - 1 - whole)
    ones = np.round((power - 1) / 9)
    written = (rest <= 2) | (whole == 8 * ones) | (whole == 7 * ones)
    part = figures - whole
    mask: np.ndarray = (figures == 0) | (written & (whole > 10) & ((part == 0) | (part > 0.89)))
    return mask


ProposalKind = Literal[
    "unit",
    "line",
    "id",
    "weight",
    "missing",
    "code",
    "alike",
    "number",
    "constant",
    "block",
    "skip",
    "name",
    "places",
]
PROPOSALS: tuple[ProposalKind, ...] = get_args(ProposalKind)
"""Kinds of proposals, in the order in which they are best decided."""
LinkKind = Literal["recode", "same", "flag", "skip"]
"""How a column depends on another: decided by it, the same information, a flag by its name, skipped for some values."""


@dataclass(frozen=True)
class Link:
    """``column`` depends on ``source``: a :data:`LinkKind`.

    Of a skip, ``values`` are the raw values of ``source`` for which ``column`` is skipped and ``code`` is the raw value
    that says so in ``column`` (None: the value is empty).
    """

    column: str
    source: str
    kind: LinkKind
    values: tuple[str, ...] = ()
    code: str | None = None


@dataclass(frozen=True)
class Proposal:
    """One thing that a person may accept.

    ``columns`` are those involved, the leading one first; ``sentence`` says what was seen in the records and ``effect``
    what accepting does to the plan.  ``links`` say how the columns of a block or a skip pattern hang together, and
    ``codes`` are, per column, raw values that mean missing (kinds "missing" and "code") or that each group of
    look-alikes holds (kind "alike").  ``exchange`` is the
    mechanism that exchanges households between places (kind "places"), ``new_name`` the name that the attribute of
    the columns gets (kind "name"); ``together`` are columns that number households only together (kind "unit"), and
    ``notation`` is one of the ways to read the column's numbers (kind "number").  What is not ``certain`` only may be
    so, and is accepted singly, by its key.
    """

    kind: ProposalKind
    columns: tuple[str, ...]
    sentence: str
    effect: str
    links: tuple[Link, ...] = ()
    codes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exchange: MechanismPlan | None = None
    certain: bool = True
    new_name: str = ""
    together: tuple[str, ...] = ()
    notation: Notation | None = None

    def __post_init__(self) -> None:
        if not self.columns:
            raise EngineError(f"a proposal of kind '{self.kind}' names no column")

    @property
    def key(self) -> str:
        """A name that stays the same while the data and the kind do, for choosing this proposal again."""
        name = f"{self.kind}:{self.columns[0]}"
        if self.notation is not None:
            return f"{name}:{self.notation.name}"
        if self.kind == "code":
            return f"{name}:{self.codes[0][1][0]}"
        if self.kind != "skip" or not self.links:
            return name
        # One gate may close several sets of columns, and one column be skipped for several reasons.
        last = self.links[-1]
        return f"{name}:{last.column}" + (f"={last.code}" if last.code else "")


MOST_VALUES = 1000
"""A column with more distinct values than this is no category, and nothing in it is in doubt."""
_MOST_CODES = 6  # beside numbers
_FEWEST_NUMBERS, _MOST_STRAYS = 30, 0.1  # distinct numbers of a measurement, and texts to each of them
_GROUPS_SHOWN = 4  # of values that look alike
_FEWEST_AMOUNTS, _MOST_SIGNS = 30, 4  # distinct values of a column of amounts, and different signs beside them
_AMOUNT = re.compile(
    r"[(<>~≈]?[+\-−–]?\s*(?P<before>[$¢£¤¥€₡-⃏%‰]|(?:[A-Z]{3}|R[Ss]|[Kk]r|Fr)\.?(?=\s*[\d+\-−]))?\s*[+\-−–]?\s*"
    r"\d+(?:(?:[.,'’\s]\d{2,3})*[.,'’\s]\d{3})?(?:[.,]\d*)?(?:[eE][+\-−]?\d{1,3})?\s*"
    r"(?P<after>[$¢£¤¥€₡-⃏%‰°]|[^\W\d_]{1,5}\.?)?(?:[.,]?[\-−–]+)?\)?"
)

_LIKE_NUMBER = re.compile(r"[+\-]?\d[\d.,'’\s]*")
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


def texts_among_numbers(column: RawColumn) -> tuple[str, ...]:
    """Texts that are no numbers in a column of many numbers, which they would make one of as many levels; without those
    that are declared missing or mean it by default."""
    return _numbers_and_texts(column)[1]


def _numbers_and_texts(column: RawColumn) -> tuple[Notation, tuple[str, ...]]:
    """The notation of most values of a column, and its :func:`texts_among_numbers`."""
    notation, nothing = column.notation, (PLAIN, ())
    if not column.is_text or not len(column.values) or not notation.clear or column.about.values:
        return nothing
    first = column.values.slice(0, MOST_VALUES)
    if notation == PLAIN and np.isnan(notation.numbers(first)).mean() > _MOST_STRAYS:
        like_numbers = first.filter([_LIKE_NUMBER.fullmatch(text) is not None for text in first.to_pylist()])
        if len(like_numbers) < len(first) / 2:
            return nothing
        notation = notation_of(like_numbers)
        notation = notation if notation.clear else next(iter(readings(like_numbers)), PLAIN)
    strange = np.isnan(notation.numbers(column.values))
    n_numbers = len(strange) - int(np.count_nonzero(strange))
    strange &= ~column.about.absent_mask(column.values, DEFAULT_MISSING)
    n_strange = int(np.count_nonzero(strange))
    if n_numbers <= _FEWEST_NUMBERS or n_strange > max(1, _MOST_STRAYS * n_numbers):
        return nothing
    return notation, tuple(column.values[i].as_py() for i in np.flatnonzero(strange).tolist())


def codes_below_zero(column: RawColumn) -> tuple[str, ...]:
    """Numbers below 0 that are codes for missing beside numbers that are not."""
    _, apart = code_like(column)
    return tuple(texts(column.values.filter(apart & (column.numbers < 0))))


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
    name, same_kind, found = column.name, possible_answers(column), possible_codes(column)
    blanks = tuple(filter(str.isspace, found))
    for values in (*((value,) for value in found if value not in blanks), *[blanks] * bool(blanks)):
        why = ", as the other values are texts of the same kind," if values[0] in same_kind else ""
        yield Proposal(
            "code",
            (name,),
            f"'{name}' has {counted_values(column, values)}: an answer{why} or a code for a missing one.",
            "It becomes missing; decline it where it is an answer.",
            codes=((name, values),),
            certain=False,
        )
    if codes := default_codes(column):
        yield Proposal(
            "code",
            (name,),
            f"'{name}' has {counted_values(column, codes)}, missing by default.",
            "The plan says so itself; list under levels of the attribute what is an answer.",
            codes=((name, codes),),
            certain=False,
        )
    groups = look_alikes(column)
    if groups:
        named = "; ".join(counted_values(column, group) for group in groups[:_GROUPS_SHOWN])
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
    notation, words = _numbers_and_texts(column)
    if words:
        are, more = ("is", "") if len(words) == 1 else ("are", f" and {len(words) - _GROUPS_SHOWN} more texts")
        shown = counted_values(column, words[:_GROUPS_SHOWN]) + (more if len(words) > _GROUPS_SHOWN else "")
        yield Proposal(
            "number",
            (name,),
            f"'{name}' is a column of {len(column.values) - len(words):,} different numbers, beside which {are} "
            f"{shown}.",
            "Texts that are no numbers become missing, and the data keep them. If the column holds codes, decline it "
            "and make an attribute with all of them as levels.",
            codes=((name, words),),
            certain=False,
            notation=notation if notation not in (PLAIN, column.notation) else None,
        )
    elif marks := marked_numbers(column):
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


def counted_values(column: RawColumn, values: Sequence[str]) -> str:
    """Values with their numbers of records."""
    n_of = records_of(column, values)
    return ", ".join(f"'{value}' ({count(n_of[value], 'record')})" for value in values)


def undecided_codes(plan: Plan, attribute: AttributePlan, table: RawTable) -> Iterator[UndecidedCode]:
    """Values of an attribute that mean missing only because nobody said otherwise, and may be answers; and texts that
    are levels beside numbers."""
    if len(attribute.view) == 1 and not attribute.cut and not attribute.levels:
        column = table.distinct.columns[attribute.view[0]]
        decided = {*attribute.answers, *attribute.missing_codes(plan.data.missing), *attribute.skip}
        strays = [text for text in texts_among_numbers(column) if text not in decided]
        for text, n in records_of(column, strays, table.multiplicity).items():
            yield TextAmongNumbers(attribute.name, text, n, "")
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
