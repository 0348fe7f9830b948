"""Numbers, names and errors in words; steps that mend an error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from textwrap import wrap

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.output import Message
from engine.common.wording import duration as duration
from engine.common.wording import listed as listed
from engine.common.wording import lower_first
from engine.common.wording import plural as plural
from engine.common.wording import rough_duration as rough_duration
from engine.measures import MeasureCall
from engine.mechanisms import mechanism
from engine.release.scenarios import Scenario
from engine.release.spec import UNIFORM, ReleaseSpec, pairs_wanted, percent, selection_of
from frontier_app.wording import mechanisms
from frontier_app.wording.markup import Markdown, markdown, stacked

_COMMAND_LINE = "Only the command line can do that: ask the person who started the dashboard."
_COLUMNS = "On the page Data, under “Columns”,"

STEPS = {
    Remedy.ADD_SAMPLE: _COMMAND_LINE,
    Remedy.APPROVAL: "On the page Decide, submit the recommendation and record the approval; or on the page Export, "
    "choose “Analyst”.",
    Remedy.ATTRIBUTES: f"{_COLUMNS} choose “attribute” as the decision on at least one column.",
    Remedy.ATTRIBUTES_AND_CUTS: f"{_COLUMNS} choose “attribute” as the decision on the columns that count; then cut "
    "numeric ones under “Levels”.",
    Remedy.CANCEL: "On the page Candidates or Decide, wait for the runs or click “Stop”.",
    Remedy.CANDIDATE: "On the page Decide, choose “A candidate that I name” and pick one of them.",
    Remedy.CANDIDATE_OR_CHOICE: "On the page Decide, click “Record the recommendation”.",
    Remedy.CLEAN_NAMES: "On the page Data, open the file and click “Open it with clean names”.",
    Remedy.CUT: "On the page Data, under “Levels”, choose {column} and type {edges} as “Edges of the levels”.",
    Remedy.DESPITE: "On the page Decide, fill in “Why it is submitted all the same”.",
    Remedy.DEVIATION: "On the page Candidates, fill in “Why the plan departs from its approval” and “Your name”, "
    "or click “Go back to what was approved”.",
    Remedy.DROP: f"{_COLUMNS} choose “drop” as the decision on {{column}}.",
    Remedy.EXTEND: "On the page Candidates, click “Add this to the study”.",
    Remedy.FAILED_RUNS: "On the page Explore, under “More”, switch on “Count failed runs too”.",
    Remedy.FEWER_SWAPS: "On the page Candidates, pick fewer attributes under “My attributes only”, or choose “Search”.",
    Remedy.ID_COLUMN: f"{_COLUMNS} choose “id”, “carry” or “drop” as the decision on {{column}}.",
    Remedy.KEYS: f"{_COLUMNS} untick “known” at some attributes, or choose “carry” as the decision on a column.",
    Remedy.KEY_FILE: "Put the file with the key beside the study, under the name that it had.",
    Remedy.LOCK: "Take the section [lock] out of the file; on the page Candidates, “Lock the plan” writes it anew.",
    Remedy.MECHANISMS: "The page Candidates lists all mechanisms under “1. How the data are protected”.",
    Remedy.NAME: "Fill in the name beside the button.",
    Remedy.NEW_STUDY: "On the page Candidates, click “Start the sweep”.",
    Remedy.NUMBER: "Fill in “Approval number”.",
    Remedy.NUMERIC_COLUMN: "On the page Data, cut {column} under “Levels”, for instance at {edges}; or choose “carry” "
    "or “drop” as the decision on it under “Columns”.",
    Remedy.ONE_WORKER: "Close other programs; then on the page Candidates, click “Resume the sweep”.",
    Remedy.OUTPUT: "Make room on the disk; then on the page Export, write the bundle again.",
    Remedy.REASON: "Fill in the reason above the button.",
    Remedy.RECHECK: "On the page Decide, click “Run on fresh replicates”.",
    Remedy.RECOMMEND: "On the page Decide, click “Record the recommendation” under the new one.",
    Remedy.RENAME: "On the page Data, accept the name under “Suggestions”, or type another one under “Columns”.",
    Remedy.REPLICATES: "On the page Candidates, raise “Replicates of each”; then click “Add this to the study”.",
    Remedy.RULE: "On the page Decide, choose one rule under “How it is chosen”.",
    Remedy.SETTLE_COLUMNS: "On the page Data, decide on each column that the plan does not name.",
    Remedy.SMALLER_SPACE: "On the page Candidates, choose “Search” or “One and two attributes”, or give attributes one "
    "part.",
    Remedy.SPACE: "On the page Candidates, choose “One and two attributes”, “Complete space” or “Other numbers”.",
    Remedy.SWEEP: "On the page Candidates, open another study or start a new one.",
    Remedy.TAKE_BACK: "On the page Decide, click “Record the return”; then submit it again.",
}
"""What mends an error on the pages, with the values of the error in braces.

Remedies that no page can need are left out: the pages name no cluster, no file of a plan and no other candidate.
"""


def error_text(error: EngineError) -> str:
    """The sentence of an error, and behind it what to do on which page, where that mends it."""
    return _with_step(str(error), error.remedy, error.values)


def message_text(message: Message) -> str:
    """The same of the error with which a process that a page started ended."""
    remedy = Remedy[message.remedy] if message.remedy in Remedy.__members__ else None
    return _with_step(message.text, remedy, message.values)


def _with_step(sentence: str, remedy: Remedy | None, values: Mapping[str, str]) -> str:
    if remedy not in STEPS:
        return sentence
    return f"{sentence.rstrip('.')}. {STEPS[remedy].format(**values)}"


_LEAST = 1e-4  # percent below which a change is none
_AXIS = 84  # signs of the title of a risk axis on one line
ROLE_WORDS = {
    "S": "swapped: exchanged between the two records of a pair, which must differ on it",
    "F": "fixed: not exchanged, the two records must agree on it",
    "C": "changed: not exchanged, the two records must differ on it",
    "U": "unconstrained: not exchanged, the two records may agree or differ on it",
}
RULE_WORDS = {
    "strict": "strict: at least one attribute that is not swapped must differ too, so that the table can change",
    "loose": "loose: each record must change, but the table may stay the same",
}
_PARTICULARS = {
    "n_rule": "fewer than {} records",
    "size": "{} keys known",
    "least": "groups of at least {} records",
    "analysis": "{}",
    "target": "{}",
    "file": "{}",
    "numeric": "with {}",
    "by": "by {}",
    "summary": "{}",
    "weighted": "weighted",
}
"""What is particular about a measure, by the parameter that says it; of others the parameter is named."""
DIRECTION = {"lower": "lower is better", "higher": "higher is better", "zero": "nearer to zero is better"}


def figure(value: float | None, digits: int = 4) -> str:
    """A figure with so many significant digits; an undefined one is a dash."""
    if value is None or math.isnan(value):
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return f"{value:.{digits + 3}f}".rstrip("0") if "e" in text and abs(value) >= 1e-5 else text


def with_error(mean: float, se: float) -> str:
    """A mean with its standard error, both to the error's first digit (its second where that digit is 1)."""
    if math.isnan(mean):
        return "–"
    if math.isnan(se):
        return figure(mean)
    if se == 0:
        return f"{figure(mean)} ± 0"
    magnitude = math.floor(math.log10(se))
    decimals = max(0, (1 if se < 1.95 * 10.0**magnitude else 0) - magnitude)
    shown = round(mean, decimals) or 0.0  # a mean that rounds to zero has no sign
    return f"{shown:,.{decimals}f} ± {se:.{decimals}f}"


def signed(value: float, digits: int = 3) -> str:
    """A difference with its sign."""
    if math.isnan(value):
        return "–"
    return "0" if value == 0 else f"{'+' if value > 0 else '−'}{figure(abs(value), digits)}"


def relative(after: float, before: float) -> str:
    """A difference in percent of the old figure; none where that is zero."""
    if math.isnan(after) or math.isnan(before) or before == 0:
        return ""
    share = 100 * (after - before) / abs(before)
    if abs(share) < _LEAST:
        return "±0 %"
    # a small change keeps one digit, so that it is not said to be none
    return f"{'+' if share > 0 else '−'}{f'{abs(share):.1f}' if abs(share) >= 0.05 else f'{abs(share):.1g}'} %"


def swap_short(spec: ReleaseSpec) -> str:
    """A scenario in a few words: what is swapped and how much, or another mechanism with its parameters."""
    if not spec.by_roles:
        return f"{spec.mechanism} {mechanisms.settings(spec)}".rstrip()
    return f"{spec.short}, {percent(spec.rate)}"


def named(scenario: Scenario) -> str:
    """A candidate by what it does, with its id."""
    return f"{swap_short(scenario.spec)} ({scenario.label})"


def spec_words(spec: ReleaseSpec, n_records: int) -> Markdown:
    """Sentences on what a candidate does."""
    roles = spec.attributes
    if not spec.by_roles:
        method, tables = mechanism(spec.mechanism), mechanisms.tables_of(spec)
        alterable = listed(roles.names_having("S")) or "no attribute, only numbers"
        changes = f" may change {alterable}. Its amount: {method.amount(spec)} ({method.rate})."
        if meant := mechanisms.meant(spec):
            changes += f" Its settings: {'; '.join(meant)}."
        published_together = markdown(" **{} tables** are published together.", tables) if tables > 1 else ""
        return markdown("**{}**{}{}", method.title, changes, published_together)
    to_swap = 2 * pairs_wanted(spec.rate, n_records)[1]
    swapped = listed(roles.names_having("S"))
    opening = f"About {to_swap:,} of {n_records:,} records ({percent(spec.rate)}) exchange "
    limits = [
        f"{verb} on {listed(names)}"
        for role, verb in (("F", "agree"), ("C", "differ"))
        if (names := roles.names_having(role))
    ]
    selection = selection_of(spec.params, roles.names)
    limits += selection.limits(roles.names)
    conditions = " that " + " and ".join(limits) if limits else ""
    unconstrained = roles.names_having("U")
    if unconstrained:
        conditions += (
            f"; {'the other attributes' if len(unconstrained) > 3 else listed(unconstrained)} may agree or differ"
        )
    leaning = f" Rare records are drawn more often: by 1/count to the power {selection.lean}."
    return markdown(
        "{}**{}** in pairs{}.{}", opening, swapped, conditions, leaning if selection.lean != UNIFORM else ""
    )


def measure_title(call: MeasureCall) -> str:
    """A measure's title with what is particular about it."""
    particulars = [
        _PARTICULARS.get(key, f"{key.replace('_', ' ')} {{}}").format(value)
        for key, value in call.parameters
        if value != call.measure.parameters[key]
    ]
    if call.attributes is not None:
        particulars.append(" × ".join(call.attributes))
    return call.measure.title + (f" ({', '.join(particulars)})" if particulars else "")


def measure_name(call: MeasureCall) -> str:
    """The title of what a frontier compares: of a signed change its size."""
    title = measure_title(call)
    return f"Size of {lower_first(title)}" if call.measure.better == "zero" else title


def measure_within(call: MeasureCall) -> str:
    """The same within a sentence: the name of a person keeps its capital."""
    name = measure_name(call)
    return lower_first(name)


def risk_axis(call: MeasureCall, of_runs: str = "") -> str:
    """The risk axis' title, with unit and direction; ``of_runs`` says what of the runs is drawn if not their mean."""
    unit = f", {call.measure.unit}" if call.measure.unit else ""
    reversal = " (reversed)" if call.measure.better == "higher" else ""
    return stacked(wrap(f"{measure_name(call)}{unit}{of_runs}{reversal} — {towards(call)} ↑", _AXIS))


def utility_axis(call: MeasureCall, *, distortion: bool = False) -> str:
    """The utility axis' title: the tick labels are the loss itself, so the axis runs backwards; not so in the
    distortion view, where more distortion is to the right."""
    if distortion:
        reversal = " (reversed)" if call.measure.better == "higher" else ""
        return f"{measure_name(call)}{reversal} — more distorted →"
    if call.measure.better == "higher":
        return f"{measure_name(call)} — {towards(call)} →"
    return f"{measure_name(call)}, reversed — {towards(call)} →"


def towards(call: MeasureCall) -> str:
    """The words for the end of a measure's axis, to the right or upwards, on every figure."""
    return "riskier" if call.measure.kind == "risk" else "more useful"


def measure_help(call: MeasureCall) -> str:
    """Meaning, direction, range and source of a measure."""
    measure = call.measure
    return f"{call.meaning} Range: {measure.range}; {DIRECTION[measure.better]}. Source: {measure.source}."


def rates_from_percent(text: str) -> tuple[str, ...]:
    """``"1, 2.5 %, 10"`` as shares in exact decimals."""
    rates = []
    for word in text.replace("%", " ").replace(";", ",").replace(",", " ").split():
        try:
            rates.append(str(Decimal(word) / 100))
        except InvalidOperation:
            raise UsageError(f"'{word}' is no percentage; write numbers such as 1, 2, 10") from None
    if not rates:
        raise UsageError("no swap rate is given; write at least one, such as 1")
    return tuple(rates)


def rates_to_percent(rates: tuple[str, ...]) -> str:
    """Shares as a list of percentages to edit."""
    return ", ".join(percent(rate).removesuffix(" %") for rate in rates)
