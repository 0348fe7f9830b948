"""A finding as a value: its declared kinds, and one catalogue of words for all readers.

Code that decides reads :attr:`Statement.kind` and its values.  Documents, pages, the decision log and the command line
print :func:`words`, so that they cannot differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from engine.common.errors import EngineError
from engine.common.wording import listed, lower_first, plural, printable, upper_first

if TYPE_CHECKING:
    from jinja2.environment import TemplateModule

Severity = Literal["fact", "note", "caution", "obstacle"]
Value = str | int | float | bool | None | tuple[str, ...]

CATALOGUE = Path(__file__).with_name("catalogue.jinja")
"""One macro for each kind, with its values as parameters."""


@dataclass(frozen=True)
class Statement:
    """One finding: one of :data:`KINDS`, the values that its kind declares, and its weight."""

    kind: str
    values: Mapping[str, Value]
    severity: Severity = "fact"

    def __post_init__(self) -> None:
        declared = KINDS.get(self.kind)
        if declared is None:
            raise ValueError(f"statement of the kind '{self.kind}', must be one of {', '.join(KINDS)}")
        if set(self.values) != set(declared.values):
            given, needed = ", ".join(sorted(self.values)) or "no values", ", ".join(declared.values)
            raise ValueError(f"statement '{self.kind}' with {given}, needs {needed}")

    def stored(self) -> dict[str, Any]:
        """Return kind and values for a study or a log; the severity is the kind's."""
        return {"kind": self.kind, "values": dict(self.values)}


class Kind(NamedTuple):
    """A declared kind of statement: names of its values, its severity, and the group that it belongs to."""

    values: tuple[str, ...]
    severity: Severity
    group: str


def _kinds(group: str, severity: Severity, **values: str) -> dict[str, Kind]:
    return {name: Kind(tuple(names.split()), severity, group) for name, names in values.items()}


KINDS: dict[str, Kind] = {
    **_kinds(
        "gate",
        "obstacle",
        changes_nothing="",
        no_figure="of measure",
        over_limit="of measure value limit share_of",
        over_edit_limit="of rule records at_most share",
        over_edit_limits="rules within runs asked",
        not_safer="of measure value original share_of",
        too_few_runs="fresh runs needed",
        rarely_within="fresh within runs low high asked",
        share_unsettled="within runs low high asked",
        not_attacked="why",
    ),
    **_kinds(
        "gate",
        "caution",
        limit_set_late="origin",
        limit_met_unaltered="measure original limit share_of",
        off_plan="",
        beaten_by_original="candidate original utility_only",
        partial_run="changed",
        near_limit="measure value limit share_of runs noise_known",
        not_rechecked="",
        sweep_unfinished="state done total",
        uneven_group="group times",
    ),
    **_kinds(
        "decision",
        "fact",
        requested="letter recorded state at number",
        alters="swap names n of files method",
        moves="n of persons level method",
        data="records households areas level attributes who",
        despite="reason",
        departs="change",
        plan_locked="number at departures",
        limit_set="origin number by at sweep",
        plan_not_locked="key_fixed",
        not_stated="entries undeclared",
        check_failed="name found bars",
        attack="found knowledge n named right guessed of certain altered certain_of certain_by",
        attacked_alike="neighbours",
        recognised="found knowledge n named right guessed of certain altered certain_of certain_by",
        values_guessed="found named right guessed attributes certain altered certain_of certain_by",
        not_tried="why",
        suspicion="share",
        tables_published="published needed",
        files_overlap="names",
        releases_overlap="text",
        no_other_release="",
        only_description="",
        no_table_published="",
        condition="text",
    ),
    **_kinds(
        "risk",
        "fact",
        stand_out="after before new",
        counted_risk="records small fewest after share name",
        measured_risk="title better before after name",
        undefined_risk="title why",
        intruder="who keys fewest",
        measured="title before after is_share",
        unmoved_keys="keys",
        rare_suspected="of",
        new_combinations="n",
        discarded="found of n matches matches_left small unaltered small_left unaltered_left",
        learns_also="columns",
        harm="text",
    ),
    **_kinds(
        "loss",
        "fact",
        flagged="flagged eligible common new",
        tolerance="errors change min_n planned",
        new_value="what table groups noun where n of",
        new_to_file="what n",
        altered_most="group n of share",
        table_changes="name changed cells largest reverses",
        predicts="analysis what beyond coefficients mean runs",
        no_use="attributes",
    ),
    **_kinds(
        "choice",
        "note",
        tie_broken="n measure value instead share_of",
        chosen="letter recorded most_useful within why",
        better_on_both="letter further",
        tried="better confusable",
        others_within="n letter",
        considered="letter why risk utility noise",
        limit_unmet="limit least share candidate original",
        larger_rate="rates risks next_rate reaches most",
        coarser_keys="keys",
        candidates_run="n frontier",
        within_limit="n",
        riskier_than_original="n",
        frontier_end="end candidate",
        deciding="factor setting n others within",
        crossing="rate_over rate_within cases",
    ),
    **_kinds(
        "cell",
        "fact",
        proposed="recorded most_useful within",
        neighbour="side further clear",
        over_in_runs="over runs",
        differs="parts",
        suspects_altered="named right",
        fails="check areas",
        names="meanings confusable",
    ),
    **_kinds(
        "sure",
        "fact",
        run_place="place of as_safe",
        one_run="letter",
        run_figure="value mean runs is_share rule",
        run_and_mean="measure value mean quantile asked",
        runs_within="fresh within runs low high asked",
        swept_within="within runs",
        hidden="share",
        failed_runs="n letter",
    ),
    **_kinds(
        "history",
        "fact",
        checked="name holds outcome found",
        claims_checked="n unchecked untrue",
        released_with="include",
        remade="version equal figures",
        definition="of",
    ),
    **_kinds(
        "check",
        "fact",
        row_order="found",
        one_way_tables="n changed",
        not_to_change="attribute",
        others_kept="kept carried renumbered",
        no_blocks="",
        blocks="names whole",
        no_recodes="",
        recodes_kept="pairs",
        recode_broken="decider decided undone more",
        misfit="attribute beside undoes",
        no_edits="",
        edits_broken="before after",
        new_to_place="areas place attributes",
        none_missing="",
        missing_changed="attributes",
        missing_kept="counts more",
        partners="found",
        without_partner="n",
        no_weights="",
        totals_kept="",
        totals_moved="level change",
    ),
    **_kinds(
        "earlier",
        "fact",
        ledger_unknown="",
        none_earlier="",
        seen_before="candidates studies certain",
        approved_after_earlier="",
        unrelated="n",
        unrelated_why="reasons",
        more_earlier="n candidates",
        earlier_study="begun candidates limits choices decision differences later certain",
        unread="n",
    ),
    **_kinds(
        "public",
        "fact",
        values_altered="title swap",
        several_files="n",
        public_extent="extent",
        not_published="several extent",
        may_mislead="",
        weaker_associations="",
        random_order="new_ids",
        own_wording="text",
    ),
    **_kinds(
        "log",
        "note",
        begun="key_fixed",
        locked="at",
        sweep_begun="again",
        plan_changed="deviation changes why",
        recommended="letter rule limit origin",
        replaces="why",
        replaced="",
        rechecked_in_sweep="",
        rechecked="runs others afterwards again",
        finalists_rechecked="runs finalists",
        fresh_result="within runs",
        withheld="",
        submitted="despite",
        approved="",
        returned="",
        by_contact="name",
        recorded="text",
    ),
}
"""All kinds of statements.

Those of the group "cell" stand in tables and are no sentences; ``recorded`` is a text of a study that stored words
instead of values.
"""


def statement(kind: str, /, **values: Value) -> Statement:
    """Return a statement of a declared kind.

    Raises:
        ValueError: the kind is unknown, or the values are not exactly those that it declares.
    """
    return Statement(kind, values, KINDS[kind].severity if kind in KINDS else "fact")


def from_stored(stored: object, severity: Severity | None = None) -> Statement:
    """Return a stored statement; a stored text becomes a ``recorded`` one of the given severity.

    Raises:
        EngineError: the kind is not known, or the values do not fit it.
    """
    if isinstance(stored, str):
        found = statement("recorded", text=stored)
        return found if severity is None else replace(found, severity=severity)
    if not isinstance(stored, Mapping) or not isinstance(stored.get("values"), Mapping):
        raise EngineError("a stored statement is neither a text nor a kind with values; the file was changed")
    values = {str(name): tuple(v) if isinstance(v, list) else v for name, v in stored["values"].items()}
    try:
        return statement(str(stored.get("kind")), **values)
    except ValueError as error:
        raise EngineError(f"a stored statement cannot be read ({error}); a newer version may have written it") from None


def of_severity(statements: Iterable[Statement], severity: Severity) -> list[Statement]:
    """Return the statements of one severity."""
    assert severity in get_args(Severity)
    return [found for found in statements if found.severity == severity]


def words(found: Statement) -> str:
    """Return a statement in words, as every reader sees it."""
    macro = getattr(catalogue(CATALOGUE.name), found.kind)
    return str(macro(**found.values)).strip()


def sentences(found: Iterable[Statement]) -> str:
    """Return several statements in words, one after another."""
    return " ".join(map(words, found))


@cache
def catalogue(name: str, **filters: Callable[..., str]) -> TemplateModule | ModuleType:
    """Return the macros of a file beside this one, with further filters."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(CATALOGUE.parent),
        undefined=StrictUndefined,
        autoescape=False,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "of": of,
        "count": count,
        "pct": percent,
        "number": number,
        "figure": figure,
        "shown": shown,
        "sentence": sentence,
        "listed": listed,
        "plural": plural,
        "lower_first": lower_first,
        "upper_first": upper_first,
        **filters,
    }
    return environment.get_template(name).module


def _shown(value: Any) -> Any:
    """Write texts printable and whole numbers with separators; other values need a filter."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, bool | float | tuple) or value is None:
        raise TypeError(f"{value!r} in the catalogue needs a filter such as 'figure'")
    return value  # undefined names raise when they are written


def number(value: float, other: float | None = None, digits: int = 3) -> str:
    """Return a number with three significant digits, whole ones with all theirs.

    Beside an ``other`` number that differs it has as many more digits as show the difference.
    """
    for n in (digits, 5, 9, 17):
        text = _rounded(value, n)
        if other is None or other == value or text != _rounded(other, n):
            break
    return text


def _rounded(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e15:
        decimals = 0
    else:
        decimals = min(17, max(0, digits - 1 - math.floor(math.log10(abs(value)))))
    text = f"{value:,.{decimals}f}".replace("-", "−")
    return text.rstrip("0").rstrip(".") if decimals else text


def figure(value: float, share_of: str = "", other: float | None = None) -> str:
    """Return a measure's figure: a share in per cent of its denominator, any other as a number."""
    if not share_of:
        return number(value, other)
    return f"{number(100 * value, None if other is None else 100 * other)} % of {share_of}"


def percent(share: float | Fraction, other: float | None = None, digits: int = 3) -> str:
    """Return a share in per cent, such as ``90 %``."""
    return f"{number(100 * float(share), None if other is None else 100 * other, digits)} %"


NONE = "–"


def shown(value: float | None, is_share: bool) -> str:
    """Return a figure as tables have it, a share in per cent of two digits, from a tenth of three; a dash for none."""
    if not is_share or value is None:
        return digits_kept(value)
    return f"{digits_kept(100 * value, 3 if abs(value) >= 0.1 else 2)} %"


def digits_kept(value: float | None, digits: int = 3) -> str:
    """A figure with so many significant digits, without noughts at the end; whole numbers from there on; an undefined
    one is a dash."""
    if value is None or math.isnan(value):
        return NONE
    if value == 0:
        return "0"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}".replace("-", "−")
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}".replace("-", "−")
    digits = next((n for n in (1, 2) if n < digits and _steps(value, _unit(value, n))), digits)
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(decimals, 8)}f}".replace("-", "−")


def _unit(value: float, digits: int) -> float:
    """The place of the last of so many significant digits."""
    return float(10.0 ** (math.floor(math.log10(abs(value))) - digits + 1))


def _steps(value: float, unit: float) -> int:
    """How many units a figure is, 0 where it is no whole number of them."""
    return round(abs(value) / unit) if abs(abs(value) / unit - round(abs(value) / unit)) < 1e-9 else 0


def sentence(text: str) -> str:
    """Return a text as a sentence: a capital first, and one full stop."""
    return upper_first(text.rstrip(".")) + "."


def count(value: float) -> str:
    """Return a number of things, ``no`` for none."""
    return f"{value:,.0f}" if value else "no"


def of(part: float, whole: float, noun: str = "", digits: int = 2) -> str:
    """Return a part with its denominator and its share: ``274 of 20,000 records (1.4 %)``."""
    share = f" ({number(100 * part / whole, digits=digits)} %)" if whole else ""
    return f"{part:,.0f} of {plural(round(whole), noun) if noun else f'{whole:,.0f}'}{share}"
