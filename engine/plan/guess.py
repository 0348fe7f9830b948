"""A first plan from the columns of a file, with levels in the order that their words say (bands, months, scales)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf, isnan

import numpy as np

from engine.common.errors import EngineError, Remedy, UsageError, did_you_mean
from engine.common.raw_values import as_text, is_number, numbers_of_texts, written_unclearly
from engine.common.wording import number_text
from engine.data.microdata import RawColumn, RawTable
from engine.plan.coding import JOIN, in_order, sort_columns, view_of, with_seen
from engine.plan.columns import MOST_NUMERIC_LEVELS, Facts, default_missing, facts, is_measured, is_weight
from engine.plan.doubts import possible_answers, reads_as_missing
from engine.plan.entries import MISSING_LEVEL, AttributePlan, UnitColumns, unit_columns
from engine.plan.households import household_numbers
from engine.plan.types import DEFAULT_MISSING, DataPlan, Plan

_MONTHS = tuple(
    words.split()
    for words in (
        "january januar janvier enero gennaio januari janeiro",
        "february februar février febrero febbraio februari fevereiro",
        "march märz mars marzo maart março",
        "april avril abril aprile",
        "may mai mayo maggio mei maj maio",
        "june juni juin junio giugno junho",
        "july juli juillet julio luglio julho",
        "august août agosto augustus augusti",
        "september septembre septiembre settembre setembro",
        "october oktober octobre octubre ottobre outubro",
        "november novembre noviembre novembro",
        "december dezember décembre diciembre dicembre dezembro",
    )
)
_WEEKDAYS = tuple(
    words.split()
    for words in (
        "monday montag lundi lunes lunedì maandag måndag segunda-feira",
        "tuesday dienstag mardi martes martedì dinsdag tisdag terça-feira",
        "wednesday mittwoch mercredi miércoles mercoledì woensdag onsdag quarta-feira",
        "thursday donnerstag jeudi jueves giovedì donderdag torsdag quinta-feira",
        "friday freitag vendredi viernes venerdì vrijdag fredag sexta-feira",
        "saturday samstag samedi sábado sabato zaterdag lördag",
        "sunday sonntag dimanche domingo domenica zondag söndag",
    )
)
_SCALES = tuple(
    tuple(words.split(", "))
    for words in (
        "strongly disagree, disagree, somewhat disagree, slightly disagree, neither agree nor disagree, neither, "
        "neutral, undecided, slightly agree, somewhat agree, agree, strongly agree",
        "very dissatisfied, dissatisfied, somewhat dissatisfied, neither satisfied nor dissatisfied, neither, "
        "neutral, somewhat satisfied, satisfied, very satisfied",
        "never, almost never, hardly ever, rarely, seldom, occasionally, sometimes, often, frequently, usually, "
        "very often, almost always, always",
        "very poor, poor, very bad, bad, fair, average, neutral, moderate, satisfactory, good, very good, excellent",
        "very unlikely, unlikely, neutral, neither likely nor unlikely, neither, likely, very likely",
        "not at all, not very, a little, slightly, somewhat, moderately, fairly, quite, quite a bit, a lot, very, "
        "very much, extremely",
        "not at all important, unimportant, not important, slightly important, somewhat important, "
        "moderately important, important, very important, extremely important",
        "none, very low, low, medium low, medium, moderate, average, medium high, high, very high",
        "none, mild, moderate, severe, very severe",
        "extra small, very small, small, medium, large, very large, extra large",
        "none, a few, few, some, many, most, all",
        "much worse, worse, somewhat worse, about the same, the same, same, somewhat better, better, much better",
    )
)
_NUMBER = r"(?<![\d.,])(?:(?:(?<![\w)\]])-)?(?:\d{1,3}(?:[ ,.'’\u00a0\u202f]\d{3})+(?!\d)|\d+(?:[.,]\d+)?))(?:[km]\b)?"
_NUMBERS = re.compile(_NUMBER, re.IGNORECASE)
_BELOW = re.compile(
    r"^(?:<=?|≤|-\s*inf\w*\s*,)|\b(?:under|below|less\s+than|fewer\s+than|younger\s+than|lower\s+than|up\s+to|at\s+most)\b|"
    r"\b(?:unter|weniger\s+als|jünger\s+als|moins\s+de|menos\s+de|meno\s+di|minder\s+dan|onder)\b|"
    r"\b(?:(?:and|or)\s+)?(?:under|below|less|fewer|younger|lower)\b",
    re.IGNORECASE,
)
_ABOVE = re.compile(
    r"^(?:>=?|≥)|\+|,\s*\+?inf\w*|\b(?:over|above|more\s+than|older\s+than|greater\s+than|at\s+least)\b|"
    r"\b(?:über|mehr\s+als|älter\s+als|mindestens|plus\s+de|más\s+de|più\s+di|meer\s+dan|boven)\b|"
    r"\b(?:und|oder|et|ou|y|o|e|en|of)\s+(?:mehr|älter|darüber|über|plus|más|più|meer|ouder)\b|"
    r"\b(?:(?:and|or)\s+)?(?:over|above|more|older|greater|higher|up|upwards?|plus)\b",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"^\W*(?:to|through|thru|and|until|till|bis|à|a|tot|-|–|—)?\W*(?:under|below|less\s+than|unter)?\W*$", re.IGNORECASE
)
_CHUNKS = re.compile(r"\d+|\D+")
_DECIMAL = re.compile(r"[0-9]+\.[0-9]+")


def natural_order(labels: Sequence[str]) -> list[str]:
    """Return levels in the order that they say, or as :func:`~engine.plan.coding.in_order` has them.

    Bands stand by their numbers (``<5, 5-9, 10-14, 100+``; ``under 5, 5 to 9, 65 and over``), names with numbers by
    these (``Grade 2, Grade 10``), months and weekdays as in the year and the week, and the answers of a usual scale
    from the lowest to the highest.  Levels that say nothing of the kind, or that a code for missing stands for, come
    last.
    """
    if len(labels) < 2 or all(map(is_number, labels)) or any(JOIN in label for label in labels):
        return in_order(labels)
    figures = numbers_of_texts(labels)
    if not any(map(isnan, figures)):
        return [label for _, label in sorted(zip(figures, labels, strict=True))]
    for key_of in (_calendar(labels), _scale(labels), _bands(labels)):
        said = {label: key for label in labels if (key := key_of(label)) is not None}
        others = [label for label in labels if label not in said]
        if said and (len(others) <= len(said) / 3 or all(map(reads_as_missing, others))):
            return [*sorted(said, key=lambda label: (said[label], label)), *_numbered(others)]
    return _numbered(labels)


def _numbered(labels: Sequence[str]) -> list[str]:
    """Labels by their text, but numbers within them by their size."""
    return sorted(
        labels,
        key=lambda label: (
            [(0, float(label), "")]
            if _DECIMAL.fullmatch(label)
            else [(0, int(chunk), "") if chunk.isdecimal() else (1, 0, chunk) for chunk in _CHUNKS.findall(label)],
            label,
        ),
    )


_Key = Callable[[str], tuple[float, ...] | None]


def _calendar(labels: Sequence[str]) -> _Key:
    """Months or weekdays, whole or cut to three letters or more; not both."""
    words = [label.strip(" .").casefold() for label in labels]
    for names in (_MONTHS, _WEEKDAYS):
        place_of = {
            word: i
            for word in words
            for i, same in reversed([*enumerate(names)])
            if len(word) > 2 and any(name.startswith(word) for name in same)
        }
        if 2 * len(place_of) > len(words):
            return lambda label: _single(place_of.get(label.strip(" .").casefold()))
    return lambda label: None


def _scale(labels: Sequence[str]) -> _Key:
    """The first usual scale that most of the labels, and two at least, belong to."""
    words = [_plain(label) for label in labels if not reads_as_missing(label)]
    for scale in _SCALES:
        n_known = sum(word in scale for word in words)
        if n_known > 1 and all(word in scale for word in words):
            return lambda label, scale=scale: _single(scale.index(_plain(label)) if _plain(label) in scale else None)  # type: ignore[misc]
    return lambda label: None


def _single(place: int | None) -> tuple[float, ...] | None:
    return None if place is None else (place,)


def _plain(label: str) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", label).split()).casefold()


def _bands(labels: Sequence[str]) -> _Key:
    """Ranges of numbers, one of which has two ends or is open; what is said besides is the same everywhere."""
    read = {label: band for label in labels if (band := _band(label)) is not None}
    if not any(low != high for low, high, _ in read.values()):
        return lambda label: None
    common = Counter(rest for _, _, rest in read.values() if rest).most_common(1)
    alike = {"", *(rest for rest, _ in common)}
    return lambda label: read[label][:2] if label in read and read[label][2] in alike else None


def _band(label: str) -> tuple[float, float, str] | None:
    """The ends of a band and the words around them; None of a label that is none."""
    text = label.strip()
    found = list(_NUMBERS.finditer(text))
    if len(found) == 2:
        (a, b), between = found, text[found[0].end() : found[1].start()]
        if not _BETWEEN.match(between.replace("$", "").replace("€", "").replace("£", "")):
            return None
        return _size(a[0]), _size(b[0]), _rest(text[: a.start()] + " " + text[b.end() :])
    if len(found) != 1:
        return None
    value, around = _size(found[0][0]), text[: found[0].start()] + " " + text[found[0].end() :]
    if below := _BELOW.search(around):
        return -inf, value, _rest(around[: below.start()] + around[below.end() :])
    if above := _ABOVE.search(around):
        return value, inf, _rest(around[: above.start()] + around[above.end() :])
    return value, value, _rest(around)


def _rest(text: str) -> str:
    """The words beside the numbers, without their plural."""
    words = re.findall(r"[^\W\d_]+", text.casefold())
    return " ".join(word.removesuffix("s") for word in words if word not in ("between", "from", "age", "aged", "ages"))


def _size(text: str) -> float:
    factor = {"k": 1e3, "m": 1e6}.get(text[-1].casefold(), 1.0)
    digits = text.rstrip("kKmM")
    if re.fullmatch(r"-?\d{1,3}(?:[ ,.'’\u00a0\u202f]\d{3})+", digits):
        return float(re.sub(r"[^\d-]", "", digits)) * factor
    return float(digits.replace(",", ".")) * factor


def guess_plan(
    table: RawTable,
    *,
    attributes: Sequence[str] | None = None,
    carry: Sequence[str] = (),
    drop: Sequence[str] = (),
    weight: str | None = None,
    id: str | None = None,
    unit: UnitColumns = None,
    cut: Mapping[str, Sequence[float]] | None = None,
) -> Plan:
    """The plan that flags alone describe.

    Attributes are the named ones, or every column that looks categorical; other categorical columns are then carried.
    A numeric column of many values or one that looks like an id, which nothing names, is refused with what to do.
    """
    cut = dict(cut or {})
    single = {column: use for column, use in ((weight, "weight"), (id, "id")) if column is not None}
    single |= dict.fromkeys(unit_columns(unit), "unit")
    for name in (*(attributes or ()), *cut, *single):
        if name not in table.columns:
            raise UsageError(f"unknown column '{name}'.{did_you_mean(name, table.names)}")
    for name in cut:
        if attributes is not None and name not in attributes:
            raise UsageError(f"cut names '{name}', which is not among the attributes; add it to them")
    named = tuple(attributes) if attributes is not None else tuple(cut)
    claimed = {name: f"attribute '{name}'" for name in named}
    claimed |= single
    assigned = sort_columns(claimed, carry, drop, table.names)
    if assigned.absent:
        raise UsageError(f"unknown column '{assigned.absent[0]}'.{did_you_mean(assigned.absent[0], table.names)}")
    set_aside = {*assigned.carried, *assigned.dropped}
    attribute_names, carried, dropped = [], [], list(drop)
    profiles = {name: facts(column, table.n_records) for name, column in table.columns.items()}
    households = household_numbers(table, profiles)
    for name, column in table.columns.items():
        if name in set_aside or (name in claimed and name not in named):
            continue
        profile = profiles[name]
        if name in named:
            if profile.numeric and not column.notation.clear:
                raise UsageError(written_unclearly(name))
            if profile.numeric and profile.n_distinct > MOST_NUMERIC_LEVELS and name not in cut:
                raise UsageError(
                    f"attribute '{name}' is numeric with {profile.n_distinct} distinct values; "
                    f"give the edges of its levels, for example {example_edges(column)}",
                    Remedy.CUT,
                    column=name,
                    edges=example_edges(column),
                )
            continue
        if name in households.lines or _is_weight(column, profile):
            carried.append(name)
            continue
        _refuse_unnamed(name, column, profile)
        if name in households.numbers:
            dropped.append(name)
        elif attributes is None:
            attribute_names.append(name)
        else:
            carried.append(name)
    names = (
        named
        if attributes is not None
        else tuple(name for name in table.names if name in attribute_names or name in named)
    )
    if not names:
        raise UsageError(
            "no column of the data looks categorical; name the attributes, and the edges of numeric ones",
            Remedy.ATTRIBUTES_AND_CUTS,
        )
    attribute_plans = tuple(_unguessed(table, name, tuple(cut.get(name, ()))) for name in names)
    data = DataPlan(attribute_plans, DEFAULT_MISSING, weight, id, (*carry, *carried), tuple(dropped), unit=unit)
    return Plan(with_seen(data, table.names))


def _unguessed(table: RawTable, name: str, cut: tuple[float, ...]) -> AttributePlan:
    """The attribute of one column as it stands; where values that may be answers mean missing by default, its levels
    say that they are answers."""
    part, answers = AttributePlan(name, cut=cut), possible_answers(table.columns[name])
    if answers and not cut:
        return replace(part, levels=value_levels(part, table, default_missing(table.columns[name])))
    return in_said_order(part, table, DEFAULT_MISSING)


def in_said_order(part: AttributePlan, table: RawTable, missing: Sequence[str]) -> AttributePlan:
    """The attribute with its levels in the order that they say, where that is another than it has without."""
    if part.levels or part.cut or len(part.view) > 1 or part.view[0] not in table.distinct.columns:
        return part
    try:
        view, levels = view_of(part, table, missing), value_levels(part, table, missing)
    except EngineError:  # the plan does not fit the data, of which its check says more
        return part
    return part if levels == view.levels[: len(levels)] else replace(part, levels=levels)


def with_levels_in_order(plan: Plan, table: RawTable, before: Plan | None = None) -> Plan:
    """The plan whose attributes without declared levels have them in the order that these say (bands of ages, months),
    as a first plan has; ``before`` is the plan of the study that goes on, whose order stays.  An approved plan is as it
    was approved.
    """
    if plan.lock is not None:
        return plan
    known = {part.name: part for part in before.attributes} if before is not None else {}
    parts = []
    for part in plan.attributes:
        same = known.get(part.name)
        if before is None:
            parts.append(in_said_order(part, table, plan.data.missing))
        else:
            parts.append(same if same is not None and part == replace(same, levels=()) else part)
    return plan if tuple(parts) == plan.attributes else replace(plan, data=replace(plan.data, attributes=tuple(parts)))


def value_levels(attribute: AttributePlan, table: RawTable, missing: Sequence[str]) -> tuple[str, ...]:
    """The levels of an attribute that are answers, in the order that they say, where ``missing`` are the plan's
    codes."""
    view = view_of(attribute, table, missing)
    levels = [level for level, kind in zip(view.levels, view.kinds, strict=True) if kind == "value"]
    if attribute.levels:
        return tuple(levels)
    said = table.about(attribute.view[0]).order if len(attribute.view) == 1 else ()
    return tuple(sorted(levels, key=said.index) if set(levels) <= set(said) else natural_order(levels))


def _is_weight(column: RawColumn, profile: Facts) -> bool:
    """Return whether a column is a weight and would be taken for a category or an id."""
    return (profile.categorical or profile.looks_like_id) and not profile.labelled and is_weight(column, profile)


def _refuse_unnamed(name: str, column: RawColumn, profile: Facts) -> None:
    if profile.n_distinct == 0:
        raise EngineError(f"column '{name}' has no values at all; leave it out", Remedy.DROP, column=name)
    if profile.looks_like_id:
        raise EngineError(
            f"column '{name}' looks like an id: {profile.n_distinct} distinct values; declare it as the id, keep it "
            "with its record, or leave it out",
            Remedy.ID_COLUMN,
            column=name,
        )
    if not profile.categorical and not column.notation.clear:
        raise EngineError(f"{written_unclearly(name)}, or leave it out", Remedy.DROP, column=name)
    if not profile.categorical:
        raise EngineError(
            f"column '{name}' is numeric with {profile.n_distinct} distinct values; give the edges of its levels, for "
            f"example {example_edges(column)}, keep it with its record, or leave it out",
            Remedy.NUMERIC_COLUMN,
            column=name,
            edges=example_edges(column),
        )


def example_edges(column: RawColumn) -> str:
    """Two round example edges inside the range of a numeric column (from its distinct values, so no record shows); ""
    for a column without numbers."""
    values = column.numbers
    values = values[np.isfinite(values)]
    if not len(values):
        return ""
    low, high = (float(f"{q:.1g}") for q in np.quantile(values, [1 / 3, 2 / 3]))
    return ",".join(map(number_text, (low, high) if low < high else (low,)))


def first_plan(table: RawTable) -> Plan:
    """A plan for ``table`` that never refuses: measurements are carried, missing values become a level.

    The first id-like column is the ``id``, and others are dropped, as the numbers of households and their parts are:
    carried, they would be released.  Line numbers of a household's members are carried.  Attributes have
    explicit levels, so that a later file can be checked; a file's value labels name them where they say all of them.
    """
    attributes, carried, dropped, id = [], [], [], None
    profiles = {name: facts(column, table.n_records) for name, column in table.columns.items()}
    households = household_numbers(table, profiles)
    for name, profile in profiles.items():
        if name in households.lines or (name not in households.numbers and _is_weight(table.columns[name], profile)):
            carried.append(name)
            continue
        if name in households.numbers and not profile.looks_like_id:
            dropped.append(name)
            continue
        if not profile.categorical:
            if not profile.looks_like_id:
                carried.append(name)
            elif id is None and not is_measured(table.columns[name]):
                id = name
            else:
                dropped.append(name)
            continue
        attribute = first_part(table, name)
        if attribute.levels:
            attributes.append(attribute)
        else:
            carried.append(name)
    if not attributes:
        raise EngineError(
            "no column of the data looks categorical; write a plan by hand with a cut for each numeric attribute"
        )
    return Plan(DataPlan(tuple(attributes), DEFAULT_MISSING, None, id, tuple(carried), tuple(dropped)))


def reasons(table: RawTable, plan: Plan) -> list[str]:
    """A sentence on each column that :func:`first_plan` made the id or dropped, but for numbers of households and their
    parts, which a proposal explains."""
    told = []
    for name in (plan.data.id, *plan.data.drop):
        if name is None or not facts(column := table.columns[name], table.n_records).looks_like_id:
            continue
        if name == plan.data.id or not is_measured(column):
            use = "the id" if name == plan.data.id else "dropped"
            told.append(f"'{name}' is {use}: its values tell nearly all records apart.")
        else:
            told.append(
                f"'{name}' is dropped: it has so many different dates, times or amounts that they tell records apart. "
                "To keep it, put classes of them into the file."
            )
    return told


def first_part(table: RawTable, name: str, *, missing: Sequence[str] = (), skip: Sequence[str] = ()) -> AttributePlan:
    """The attribute that :func:`first_plan` makes of one column, with further raw values that mean missing or validly
    skipped; its ``levels`` are empty where the column holds no answers."""
    column = table.columns[name]
    profile = facts(column, table.n_records)
    attribute = AttributePlan(
        name,
        missing=tuple(missing),
        skip=tuple(skip),
        on_missing="level" if profile.n_missing or missing else "refuse",
    )
    if profile.n_missing and "missing" in as_text(column.values).to_pylist():
        attribute = replace(attribute, missing=tuple(dict.fromkeys((*attribute.missing, "missing"))))
    attribute = _with_labels(attribute, column)
    values = value_levels(attribute, table, default_missing(column))
    if attribute.merge:
        values = tuple(level for level, _ in attribute.merge)
    return replace(attribute, levels=values)


def _with_labels(attribute: AttributePlan, column: RawColumn) -> AttributePlan:
    """The attribute with the file's value labels as its levels, in the order of the codes; as it is where a value has
    none, two values share one, or a label is a word that levels of other kinds have."""
    label_of = column.about.label_of
    if not label_of:
        return attribute
    excluded = (*default_missing(column), *attribute.missing, *attribute.skip)
    coded = [text for text in as_text(column.values).to_pylist() if text not in excluded]
    named = [label_of.get(text, "") for text in coded]
    if not all(named) or len(set(named)) < len(named) or MISSING_LEVEL in named:
        return attribute
    listed = [text for text in label_of if text in coded]
    ordered = in_order(coded) if all(map(is_number, coded)) else listed
    return replace(attribute, merge=tuple((label_of[text], (text,)) for text in ordered))
