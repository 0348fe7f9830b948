"""Count what the decision sheet shows of a study and its remade release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np

from engine.common.wording import listed, lower_first, upper_first
from engine.decision.bounds import title_of
from engine.decision.comparison import differences
from engine.decision.states import meant_run
from engine.mechanisms import amount, mechanism
from engine.models.record_release import RecordRelease
from engine.plan.households import places_of
from engine.release.parameter import Parameter
from engine.release.records import ReleasedTable
from engine.release.spec import UNIFORM, ReleaseSpec, percent, selection_of
from engine.report.audit import checks
from engine.report.context import as_read
from engine.report.detected import release_verdict
from engine.report.exposed import sizes
from engine.report.facts import Figure
from engine.report.losses import optional
from engine.report.places import areas_of, persons_with
from engine.report.redaction import better_of
from engine.report.sheet_facts import (
    Area,
    Attacked,
    Candidates,
    CellSize,
    Counted,
    DecidedBy,
    Further,
    Lettered,
    Places,
    Sheet,
)
from engine.report.side_by_side import compared_letters
from engine.report.unit_counts import units_changed
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import remake, stream_of

if TYPE_CHECKING:
    from engine.frontier.risk_utility_map import RiskUtilityMap
    from engine.report.context import ReportContext
    from engine.sweeps.remake import Remade

_LARGEST_CELL = 10
_CLOSE = 1e-6
_MOST_COMPARED = 200


def sheet(context: ReportContext, realisation: Remade, release: RecordRelease, figures: Sequence[Figure]) -> Sheet:
    """Return what the decision sheet and its pictures show beside the other findings."""
    return Sheet(
        decided_by=_decided_by(context, realisation, release),
        sizes=_cell_sizes(release, context.study.plan.keys),
        candidates=_candidates(context, realisation),
        places=_places(context, realisation, figures),
    )


def _decided_by(context: ReportContext, realisation: Remade, release: RecordRelease) -> DecidedBy:
    call = context.view.measures[context.view.risk]
    measure = call.measure
    before, after = (
        optional(float(v)) for v in (context.view.original[context.view.risk], realisation.figures[str(call)])
    )
    n, wholes = realisation.data.n_records, None
    attributes = realisation.data.domain.indices(call.attributes or context.study.plan.keys)
    if measure.of_unaltered and len(realisation.tables) == 1:
        wholes = n, n - int(release.changed(realisation.tables[0], attributes).sum())
    elif measure.share_of == "unmoved households" and (units := units_changed(realisation)) is not None:
        wholes = units.n_units, units.n_units - units.changed
    elif measure.unit_kind == "share_of_records" and not measure.of_unaltered:
        wholes = n, n
    counted = (
        [None, None] if wholes is None else [_counted(v, of) for v, of in zip((before, after), wholes, strict=True)]
    )
    return DecidedBy(
        title=title_of(call),
        unit=measure.unit,
        of=measure.share_of or ("records" if measure.unit_kind == "share_of_records" else ""),
        before=before,
        after=after,
        limit=None if context.bound is None else float(context.bound),
        counted_before=counted[0],
        counted_after=counted[1],
    )


def _counted(share: float | None, of: int) -> Counted | None:
    """The count behind a share; None where it is not one of so many."""
    if share is None or abs(share * of - round(share * of)) > _CLOSE * max(1, of):
        return None
    return Counted(round(share * of), of)


def _cell_sizes(release: RecordRelease, keys: Sequence[str]) -> tuple[CellSize, ...]:
    """People by the size of their cell of the keys' table; several tables are averaged and rounded."""
    data, n = release.data, release.data.n_records
    attributes = data.domain.indices(tuple(keys))
    shape, most = [data.domain.shape[j] for j in attributes], _LARGEST_CELL + 1
    _, own = sizes([data.codes[j] for j in attributes], shape, n)
    before = np.bincount(np.minimum(own, most), minlength=most + 1)
    after = np.zeros((2, most + 1))
    for table in release.tables:
        _, released = sizes([table.codes(j) for j in attributes], shape, n)
        is_altered = release.changed(table, attributes)
        for k, mask in enumerate((~is_altered, is_altered)):
            after[k] += np.bincount(np.minimum(released[mask], most), minlength=most + 1) / len(release.tables)
    return tuple(
        CellSize(k, int(before[k]), round(float(after[0, k])), round(float(after[1, k]))) for k in range(1, most)
    )


# -- candidates ------------------------------------------------------------------------------------------------------


def _candidates(context: ReportContext, realisation: Remade) -> Candidates:
    view = context.view
    letters = context.lettered
    differing, settings = _distinguished({letter: view.scenarios[index].spec for letter, index in letters.items()})
    others = [k for k in range(len(view.measures)) if k not in (view.risk, view.utility)]
    same, by = better_elsewhere(view, context.scenario.index)
    runs, n_records = view.results.counted(view.allow_partial), int(context.study.about["n_records"])
    attacked = _attacked(context, realisation, same)

    def of_runs(index: int) -> tuple[float, ...]:
        values = view.results.values[runs & (view.results.scenario == index), view.risk]
        return tuple(float(value) for value in values if np.isfinite(value))

    return Candidates(
        settings=differing,
        further=tuple(
            Further(title_of(view.measures[k]), view.measures[k].measure.unit, better_of(view.measures[k]))
            for k in others
        ),
        rows=tuple(
            Lettered(
                letter=letter,
                settings=settings[letter],
                further=tuple(optional(float(as_read(view.measures[k], view.summary.loss[index, k]))) for k in others),
                runs=of_runs(index),
                altered=optional(float(context.view.summary.changed[index]) / n_records),
                attacked=attacked.get(letter),
            )
            for letter, index in letters.items()
        ),
        same=next((letter for letter, index in letters.items() if index == same), ""),
        same_by=None if by is None else others.index(by),
    )


def _attacked(context: ReportContext, realisation: Remade, same: int | None) -> dict[str, Attacked]:
    """The attack on the neighbours of the recommended candidate, and the checks that they fail, by letter: each is made
    again as it would be released.  Empty where this process was not given the study's key and it does not lie beside
    the study."""
    study, view = context.study, context.view
    key, data, plan = study.given_key(), realisation.data, study.plan
    others = compared_letters(context) | (dict(context.also_within) if len(context.also_within) == 1 else {})
    others |= {letter: index for letter, index in context.lettered.items() if index == same}
    found = dict[str, Attacked]()
    if key is None:
        return found
    for letter, index in others.items():
        if index == context.scenario.index:
            continue
        spec = view.scenarios[index].spec
        replicate = meant_run(study, index, view.risk, bound=context.bound, allow_partial=view.allow_partial)
        derived = stream_of(key, spec, data, replicate)
        made = remake(data, question_of(plan, data, ()), spec, derived)
        release = RecordRelease(ReleasedTable(data), made.tables, plan, spec)
        failed = tuple(check for check in checks(made, release, plan) if check.holds is False)
        found[letter] = Attacked(release_verdict(made, plan), failed)
    return found


def _distinguished(specs: Mapping[str, ReleaseSpec]) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The settings in which candidates (by letter) differ, as columns; candidates of several methods have the method
    and what distinguishes them within it."""
    settings = {letter: dict(settings_of(spec)) for letter, spec in specs.items()}

    def differing(letters: Iterable[str]) -> list[str]:
        own = [settings[letter] for letter in letters]
        names = dict.fromkeys(name for row in own for name in row)
        return [name for name in names if len({row.get(name, "–") for row in own}) > 1]

    methods: dict[str, list[str]] = {}
    for letter, spec in specs.items():
        methods.setdefault(spec.mechanism, []).append(letter)
    if len(methods) == 1:
        names = differing(specs)
        return tuple(names), {letter: tuple(own.get(name, "–") for name in names) for letter, own in settings.items()}
    rows: dict[str, tuple[str, ...]] = {}
    for method, letters in methods.items():
        names = differing(letters) if len(letters) > 1 else []
        for letter in letters:
            amount_text = str(amount(specs[letter]))
            parts = [f"{lower_first(name)}: {settings[letter].get(name, '–')}" for name in names] or [amount_text]
            if method == "pram":
                parts = ["each value is replaced at random, with known probabilities", *parts]
            rows[letter] = mechanism(method).title, upper_first("; ".join(parts))
    return ("Method", "Settings"), rows


def better_elsewhere(view: RiskUtilityMap, index: int) -> tuple[int | None, int | None]:
    """Return a candidate that cannot be told from one (``index``) on both axes and is clearly better on a further
    measure, clearly worse on none, and that measure; the measures are asked in the order of the plan, and of several
    candidates the one best on the first is returned."""
    axes = [view.risk, view.utility]
    others = [k for k in range(len(view.measures)) if k not in axes]
    if not others:
        return None, None
    gap = np.abs(view.summary.loss[:, axes] - view.summary.loss[index, axes])
    error = np.hypot(view.summary.loss_se[:, axes], view.summary.loss_se[index, axes])
    near = np.flatnonzero((gap <= 4 * error + _CLOSE).all(axis=1) & (np.arange(len(gap)) != index))
    better: dict[int, list[tuple[float, int]]] = {}
    for other in near[:_MOST_COMPARED].tolist():
        rows = differences(view, other, index)
        if any(rows[k].clear for k in axes) or any(rows[k].clear and rows[k].better < 0 for k in others):
            continue
        for k in others:
            if rows[k].clear and rows[k].better > 0:
                better.setdefault(k, []).append((-abs(rows[k].absolute), other))
    first = next((k for k in others if k in better), None)
    return (None, None) if first is None else (min(better[first])[1], first)


def settings_of(spec: ReleaseSpec) -> list[tuple[str, str]]:
    """Return what a candidate is made with: name and value of each setting in words."""
    if spec.by_roles:
        return _roles(spec)
    method = mechanism(spec.mechanism)
    known = {parameter.name: parameter for parameter in method.parameters}
    rows = [("Method", method.title)]
    for name, value in method.settings(spec):
        parameter = known.get(name)
        label = (parameter and parameter.label) or name.replace("_", " ").capitalize()
        rows.append((_TITLES.get((method.name, name), label), _value(method.name, name, value, parameter)))
    return rows


def _roles(spec: ReleaseSpec) -> list[tuple[str, str]]:
    roles = spec.attributes
    rows = [("Exchanged", listed(roles.names_having("S")))]
    for role, title in (("F", "Partners agree on"), ("C", "Partners differ on")):
        rows.append((title, listed(roles.names_having(role)) or "–"))
    selection = selection_of(spec.params, roles.names)
    if limits := selection.limits(roles.names):
        rows.append(("Partners", listed(limits)))
    if selection.lean != UNIFORM:
        rows.append(("Drawing", "rare records first"))
    return [*rows, ("Amount", f"{percent(spec.rate)} of records" if spec.rate else "–")]


_TITLES = {
    ("trs", "k"): "Risky if fewer than",
    ("trs", "must"): "Risky households",
    ("trs", "rate"): "Households to move",
    ("trs", "similar"): "Partners agree on",
    ("trs", "lean"): "Drawing",
}
_VALUES = {
    ("trs", "must", "all"): "all move",
    ("trs", "must", "within"): "within share",
    ("trs", "lean", "0"): "all alike",
    ("trs", "lean", "1"): "rarer first",
}


def _value(method: str, name: str, value: str, parameter: Parameter | None) -> str:
    if (method, name, value) in _VALUES:
        return _VALUES[method, name, value]
    if parameter and parameter.counts and parameter.counts.kind == "share":
        try:
            return percent(str(Decimal(value)))
        except InvalidOperation:
            return value
    if name == "similar":
        value = value.partition("|")[0]
    return value.replace("+", ", ") or "–"


# -- places ----------------------------------------------------------------------------------------------------------


def _places(context: ReportContext, realisation: Remade, figures: Sequence[Figure]) -> Places | None:
    """The finest places by the value whose share changes most often beyond the tolerances; None without places, and
    where no table of them changes."""
    places = places_of(context.study.plan)
    if not places:
        return None
    levels_of = {attribute.name: attribute.levels for attribute in realisation.data.domain.attributes}
    values = {f"{name}: {level}": (name, level) for name, levels in levels_of.items() for level in levels}
    areas_named = {f"{places[-1]}: {level}" for level in levels_of[places[-1]]}
    flagged = Counter(
        figure.what
        for figure in figures
        if figure.group in areas_named
        and figure.n is not None
        and not figure.weighted
        and not figure.note
        and figure.kind == "percentage of two attributes"
        and figure.flagged
    )
    if not flagged:
        return None
    attribute, value = values[max(flagged, key=lambda what: flagged[what])]
    areas = areas_of(realisation, places)
    before, after = persons_with(realisation, areas, attribute, value)
    residents, residents_after = areas.counted()
    parents = [_parents(realisation, places, areas.before, k) for k in range(len(places) - 1)]
    return Places(
        level=places[-1],
        parents=places[:-1],
        attribute=attribute,
        value=value,
        areas=tuple(
            Area(
                name,
                tuple(names[a] for names in parents),
                int(residents[a]),
                int(residents_after[a]),
                int(before[a]),
                int(after[a]),
            )
            for a, name in enumerate(areas.names)
            if residents[a] or residents_after[a]
        ),
    )


def _parents(realisation: Remade, places: Sequence[str], area: np.ndarray, k: int) -> list[str]:
    """The name of each area's parent at level ``k`` of the places."""
    j = realisation.data.domain.index(places[k])
    levels, codes = realisation.data.domain.attributes[j].levels, np.zeros(int(area.max()) + 1, np.int64)
    codes[area] = realisation.data.codes[j]
    return [levels[code] for code in codes.tolist()]
