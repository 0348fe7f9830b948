"""Altered records, counted one by one in the sense of the glossary, and every measure that counts the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan, nan

import pytest
from hypothesis import given

from engine.common.errors import EngineError
from engine.data.microdata import RawTable
from engine.mechanisms import mechanism as mechanism_of
from engine.mechanisms.base import Drawn
from engine.plan import MechanismPlan, Plan
from engine.release.reader_view import columns_beside
from engine.release.records import ReleasedTable
from engine.sweeps.candidates import setting_of
from engine.sweeps.evaluator import Evaluator
from engine.sweeps.groups import group_of
from engine.sweeps.remake import remake, stream_of
from engine.sweeps.sweep import ready
from tests.engine.sweeps.test_no_change import KEY, PARAMETERS, plans
from tests.examples import examples
from tests.twins.measures import full_table, small_cells

Record = tuple[int, ...]
MEASURES = ("small_cells[n_rule=4]", "unchanged_uniques", "r1[s=3]", "small_cells_subset[size=1]", "rarity_auc")
OF_HOUSEHOLDS = ("exposed_households", "household_uniques")


def records(table: ReleasedTable) -> list[Record]:
    return list(zip(*(table.codes(j).tolist() for j in range(len(table.data.domain))), strict=True))


def on_keys(table: ReleasedTable, keys: Sequence[int]) -> list[Record]:
    return [tuple(record[j] for j in keys) for record in records(table)]


def rows_in_order(table: ReleasedTable, beside: tuple[str, ...]) -> Iterator[tuple[float, ...]]:
    """The released rows: attributes, and at the decimals of their column all columns beside them."""
    originals = [ReleasedTable(table.data).numeric(name).tolist() for name in beside]
    decimals = [0 if all(x == round(x) for x in own) else 1 for own in originals]
    columns = [[round(x, n) for x in table.numeric(name).tolist()] for name, n in zip(beside, decimals, strict=True)]
    yield from ((*codes, *numbers) for codes, *numbers in zip(records(table), *columns, strict=True))


def rows(table: ReleasedTable, beside: tuple[str, ...]) -> Counter[tuple[float, ...]]:
    return Counter(rows_in_order(table, beside))


def homes(table: ReleasedTable, beside: tuple[str, ...], unit: list[int]) -> Counter[tuple[object, ...]]:
    """Households by the rows of their members."""
    members: dict[int, list[object]] = {}
    for u, row in zip(unit, rows_in_order(table, beside), strict=True):
        members.setdefault(u, []).append(row)
    return Counter(tuple(sorted(listed, key=repr)) for listed in members.values())


def units_move_whole(table: ReleasedTable, unit: list[int]) -> bool:
    """Return whether what was exchanged is the same in all members of each household, before and after."""
    both = [codes.tolist() for j in table.altered for codes in (table.data.codes[j], table.codes(j))]
    return table.source is not None and all(len({*zip(unit, codes, strict=True)}) == len({*unit}) for codes in both)


def unchanged_uniques(before: list[Record], after: list[Record]) -> float:
    old, new = Counter(before), Counter(after)
    return sum(a == b and old[a] == new[a] == 1 for a, b in zip(before, after, strict=True))


def r1(before: list[Record], after: list[Record]) -> float:
    new = Counter(after)
    return sum(1 / new[a] for a, b in zip(before, after, strict=True) if a == b and new[a] <= 3)


def chance_of_rarer(rarity: list[int], altered: list[bool]) -> float:
    pairs = [(a, b) for a, is_altered in zip(rarity, altered, strict=True) if is_altered
             for b, other in zip(rarity, altered, strict=True) if not other]  # fmt: skip
    return sum((a < b) + (a == b) / 2 for a, b in pairs) / len(pairs) if pairs else nan


def slow(name: str, before: list[Record], after: list[Record], unit: list[int] | None) -> float:
    """A measure of one table, from records over the keys."""
    keys = range(len(before[0]))
    shape = [1 + max(record[j] for record in (*before, *after)) for j in keys]
    if name.startswith("small_cells["):
        return small_cells(before, after, keys, shape, 4)
    if name.startswith("small_cells_subset"):
        each = [small_cells(before, after, [j], shape, 3) for j in keys]
        return max((one for one in each if not isnan(one)), default=nan)
    if name.startswith("r1"):
        return r1(before, after)
    if name == "unchanged_uniques":
        return unchanged_uniques(before, after)
    counts = full_table(after, keys, shape)
    sharing, altered = [counts[record] for record in after], [a != b for a, b in zip(before, after, strict=True)]
    members = [[i for i, u in enumerate(unit) if u == one] for one in sorted({*unit})] if unit else []
    if name == "rarity_auc":
        if members:
            sharing = [min(sharing[i] for i in home) for home in members]
            altered = [any(altered[i] for i in home) for home in members]
        return chance_of_rarer(sharing, altered)
    stayed = [home for home in members if not any(altered[i] for i in home)]
    if name == "exposed_households":
        return sum(any(sharing[i] < 3 for i in home) for home in stayed) / len(stayed) if stayed else nan
    alike = Counter(tuple(sorted(after[i] for i in home)) for home in members)
    return sum(alike[tuple(sorted(after[i] for i in home))] == 1 for home in stayed)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", PARAMETERS)
def test_measures_count_the_records_that_are_unaltered_on_their_keys(mechanism: str) -> None:
    checked: Counter[str] = Counter()
    loose: Counter[str] = Counter()

    @examples(120)
    @given(plans(mechanism))
    def holds(made: tuple[Plan, RawTable]) -> None:
        plan, raw = made
        measures = (*MEASURES, *(OF_HOUSEHOLDS if plan.data.unit else ()))
        if "c" in PARAMETERS[mechanism]:  # noise that alters numbers
            noisy = MechanismPlan.of(mechanism, {k: [v] for k, v in {**PARAMETERS[mechanism], "c": "2"}.items()})
            plan = replace(plan, mechanisms=(noisy,))
        plan = replace(plan, measures=measures)
        try:
            prepared = ready(raw, plan)
        except EngineError:
            return
        data, beside = prepared.data, columns_beside(prepared.data, plan.publish.include)
        unit = None if data.units is None else data.units.of_record.tolist()
        keys = data.domain.indices(plan.keys)
        for spec in prepared.specs:
            row = Evaluator(prepared.question, KEY).run(group_of(spec, data.table), [1]).rows[0]
            remade = remake(data, prepared.question, spec, stream_of(KEY, spec, data, 1))
            original = ReleasedTable(data)
            left = tuple(name for name in beside if name != data.unit_column)
            own = rows(original, left)
            before = records(original)
            shown = [original] if row[3] == 0 else remade.tables
            if spec.by_roles:
                setting, one = setting_of(spec, plan, data), mechanism_of(spec.mechanism)
                drawn: Drawn = one.draw(one.fitted(setting), setting, one.stream(KEY, spec, data.table, 1))
                partner = drawn.tables[0].as_drawn.source
                assert partner is not None
                stays = [j for j in range(len(data.domain)) if j not in spec.attributes.having("S")]
                n_pairs = sum(
                    partner[i] > i
                    and (
                        not setting.rows_are_cells or any(data.codes[j][i] != data.codes[j][partner[i]] for j in stays)
                    )
                    for i in range(data.n_records)
                )
                assert row[3] in (0, 2 * n_pairs), "both records of each pair that is not alike in all else are altered"
                assert drawn.touched.sum() == 2 * n_pairs
                loose[spec.rule] += len(partner) > 2 * n_pairs > 0
            elif all(table.renumbered for table in shown):  # noise is drawn record by record
                sides = [[*rows_in_order(table, left)] for table in (original, *shown)]
                assert row[3] == sum(a != b for a, b in zip(*sides, strict=True)), spec
            elif unit and all(units_move_whole(table, unit) for table in shown):
                own_homes = homes(original, left, unit)
                kept = [(own_homes & homes(table, left, unit)).total() for table in shown]
                moved = [len({u for u, a, b in zip(unit, before, records(t), strict=True) if a != b}) for t in shown]
                assert [len({*unit}) - k for k in kept] == moved, spec
            elif "unit" not in plan.publish.include:
                kept = [(own & rows(table, left)).total() for table in shown]
                assert row[3] == round(sum(data.n_records - k for k in kept) / len(kept)), spec
            for k, name in enumerate(measures):
                each = [slow(name, on_keys(original, keys), on_keys(table, keys), unit) for table in shown]
                assert row[4 + k] == pytest.approx(sum(each) / len(each), nan_ok=True), (name, spec)
                checked[name] += row[3] > 0

    holds()
    assert all(checked[name] for name in MEASURES), checked
    assert mechanism != "random_swap" or loose["loose"], "some pair was alike in all else"
