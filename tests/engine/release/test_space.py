"""How many specs there are, which are the same release, and which can never work.

Counting a release space beside enumerating it.

A space built from a matrix of roles is the one that is built spec by spec.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from math import comb
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.data.domain import Attribute, Domain, EditRule
from engine.data.table import ContingencyTable
from engine.plan import SpacePlan
from engine.plan.coding import code
from engine.plan.samples import load
from engine.release import space
from engine.release import specs as equal_roles
from engine.release.space import (
    EqualPartners,
    Merging,
    Space,
    build,
    by_swap_sizes,
    canonical,
    complete,
    counts,
    impossibility,
    impossibility_text,
    may_merge,
    n_specs,
    pair_bound,
    scenarios,
)
from engine.release.spec import AttributeSpec, ReleaseSpec, multi_kind
from engine.release.specs import F, S, Specs
from engine.sweeps.candidates import space_of
from engine.sweeps.groups import group
from engine.sweeps.warnings import PredictedFailure, predicted_failures
from tests.examples import examples
from tests.small_tables import Small, expand, roles_for, run, smalls
from tests.twins import space as twin
from tests.twins.random_swap import may_swap

N = {2: (6, 4, 1), 3: (36, 30, 15), 4: (174, 160, 107), 5: (780, 750, 585), 6: (3366, 3304, 2817)}
LARGER = {7: (14196, 14070, 12663), 8: (58974, 58720, 54679)}


def names(d: int) -> tuple[str, ...]:
    return tuple("ABCDEFGH"[:d])


def everything(d: int) -> list[AttributeSpec]:
    return [AttributeSpec(names(d), "".join(roles)) for roles in product("SFCU", repeat=d) if "S" in roles]


def full_table(d: int, size: int = 2):
    cells = list(product(range(size), repeat=d))
    return expand(cells, [1] * len(cells), (size,) * d).coded()[0]


def signature(roles: str, rule: str = "strict") -> frozenset:
    """What a spec does, by brute force: every feasible pattern of differences with the two halves exchanged."""
    d = len(roles)
    swapped = frozenset(j for j, role in enumerate(roles) if role == "S")
    found = set()
    for size in range(d + 1):
        for pattern in combinations(range(d), size):
            other = tuple(int(j in pattern) for j in range(d))
            if may_swap((0,) * d, other, roles, rule):
                delta = frozenset(pattern)
                found.add((delta, frozenset({swapped & delta, delta - swapped})))
    return frozenset(found)


# -- counting --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("d", N)
def test_numbers_of_specs_by_enumeration(d):
    legal = [spec for spec in everything(d) if set(spec.roles) != {"S"}]
    signatures = {spec.roles: signature(spec.roles) for spec in legal}
    feasible = [roles for roles, what in signatures.items() if what]
    distinct = {signatures[roles] for roles in feasible}
    assert (len(legal), len(feasible), len(distinct)) == N[d] == counts(d)
    built = build(everything(d), full_table(d))
    assert (built.legal, built.feasible, len(built.specs)) == N[d]
    assert len(built.merged) == len(feasible) - len(distinct)
    for spec, kept in built.merged:
        assert signatures[spec.roles] == signatures[kept.roles] and kept in built.specs
    assert {signatures[spec.roles] for spec in built.specs} == distinct
    for roles in feasible:
        assert signatures[canonical(AttributeSpec(names(d), roles)).roles] == signatures[roles]


@pytest.mark.parametrize("d", LARGER)
def test_numbers_of_specs_by_formula(d):
    assert counts(d) == LARGER[d]
    assert 2 * counts(d)[2] == 2 * 4**d - 3 * 3**d - d * 2**d + 2 * d + 1
    stirling = (3**d - 2 ** (d + 1) + 1) // 2
    assert counts(d)[1] - counts(d)[2] == d * (2 ** (d - 1) - 1) + stirling


def test_too_few_attributes_give_no_spec():
    assert counts(1) == counts(0) == (0, 0, 0)


def test_all_specs_of_eight_attributes():
    built = build(complete(names(8), names(8)), full_table(8))
    assert (built.legal, built.feasible, len(built.specs)) == LARGER[8]


@pytest.mark.parametrize(("d", "loose"), [(2, 5), (3, 30), (4, 149), (5, 690)])
def test_loose_specs_are_never_merged(d, loose):
    """Under the loose rule there are other classes (counted here) and no merging: a few specs run twice."""
    legal = [spec for spec in everything(d) if set(spec.roles) != {"S"}]
    assert len({signature(spec.roles, "loose") for spec in legal}) == loose
    built = build(everything(d), full_table(d), "loose")
    assert len(built.specs) == len(legal) and not built.merged


def test_families():
    assert len(list(by_swap_sizes(names(8), names(8), [1, 2]))) == 36 == 8 + comb(8, 2)
    assert len(list(by_swap_sizes(names(6), names(6), [1, 2]))) == 21
    assert len(list(by_swap_sizes(names(8), names(8), [1]))) == 8
    one = list(by_swap_sizes(names(4), ("A", "B", "C"), [1], fix=("D",), change=("C",)))
    assert [spec.roles for spec in one] == ["SUCF", "USCF"]
    assert len(list(complete(names(3), ("A",)))) == 9
    assert [spec.roles for spec in complete(names(3), ("A",), fix=("B",), change=("C",))] == ["SFC"]


# -- merging ---------------------------------------------------------------------------------------------------------


def attributes(d: int, **parts) -> Domain:
    return Domain(tuple(Attribute(name, ("a", "b"), **parts) for name in names(d)))


def test_when_merging_is_not_allowed():
    spec = AttributeSpec(names(3), "SCF")
    assert may_merge(spec, attributes(3), "strict")
    assert not may_merge(spec, attributes(3), "loose")
    assert not may_merge(spec, attributes(3, exact=False), "strict"), "raw values of F may differ"
    assert may_merge(AttributeSpec(names(3), "SCC"), attributes(3, exact=False), "strict")
    kinds = attributes(3, kinds=("value", "skip"))
    assert not may_merge(AttributeSpec(names(3), "SCC"), kinds, "strict")
    mixed = Domain((*attributes(2).attributes, Attribute("C", ("a", "b"), ("value", "skip"))))
    assert may_merge(spec, mixed, "strict"), "on F partners are equal, so their kinds are"


def test_only_what_may_be_merged_is_merged():
    table = full_table(3)
    specs = [AttributeSpec(names(3), roles) for roles in ("SCF", "CSF", "SUF", "USF")]
    assert [spec.roles for spec in build(specs, table).specs] == ["SCF"]
    assert [spec.roles for spec in build(specs, table, merging="same").specs] == ["SCF", "CSF"]
    assert len(build(specs, table, merging="none").specs) == 4
    assert len(build([*specs, specs[0]], table, merging="none").specs) == 4, "the same spec twice is one"
    # with two U the complement would demand that both differ: not the same
    two = [AttributeSpec(names(3), roles) for roles in ("SUU", "USS", "CSS")]
    built = build(two, table)
    assert [spec.roles for spec in built.specs] == ["SUU", "USS"] and built.merged == ((two[2], two[1]),)


@pytest.mark.slow
@given(smalls(), st.data())
@examples(50)
def test_merged_specs_release_the_same_tables(small, data):
    """Not only in law: complements share their stream, so run by run."""
    table, _ = small.coded()
    merging = [
        spec.roles
        for spec in (small.spec("".join(roles)) for roles in product("SFC", repeat=len(small.shape)))
        if {"S", "C"} <= set(spec.roles)
        and not impossibility(spec, table, "strict")
        and may_merge(spec, small.domain, "strict")
    ]
    assume(merging)
    roles = data.draw(st.sampled_from(merging))
    spec, other = small.spec(roles), roles.translate(str.maketrans("SC", "CS"))
    one, two = run(small, roles, "0.7"), run(small, other, "0.7")
    assert one.cells.tolist() == two.cells.tolist()
    assert canonical(spec) == canonical(small.spec(other))


# -- what can never work ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roles", "reason"),
    [
        ("UFC", "no attribute is marked S: nothing would be swapped"),
        ("SSS", "every attribute is swapped; exchanging whole records changes nothing"),
        ("SFF", "no unswapped attribute may differ (all are F), so no true swap exists"),
        ("USU", None),
        ("UUS", "attribute 'C' has one category; pairs can never differ on it"),
        ("SUC", "attribute 'C' has one category; pairs can never differ on it"),
        ("SFU", "no unswapped attribute that may differ has more than one category, so no true swap exists"),
        ("SUF", None),
        ("SUU", None),
    ],
)
def test_impossible_roles_and_levels(roles, reason):
    table, _ = Small(((0, 0, 1), (1, 1, 1), (0, 1, 1)), (2, 2, 2)).coded()
    found = impossibility(AttributeSpec(names(3), roles), table, "strict")
    assert (None if found is None else impossibility_text(found)) == reason


def test_impossible_specs_under_the_loose_rule():
    table = full_table(2)
    assert impossibility(AttributeSpec(names(2), "SF"), table, "loose") is None
    assert impossibility(AttributeSpec(names(2), "SS"), table, "loose")
    assert impossibility(AttributeSpec(names(2), "UF"), table, "loose")


@pytest.mark.slow
@given(smalls(most_records=12), st.data(), st.sampled_from(["strict", "loose"]))
@examples(80)
def test_a_spec_called_impossible_never_makes_a_swap(small, data, rule):
    roles = data.draw(roles_for(len(small.shape)))
    if impossibility(small.spec(roles), small.coded()[0], rule):
        assert not any(may_swap(a, b, roles, rule) for a, b in combinations(small.records, 2))


@pytest.mark.slow
@given(smalls(with_kinds=True), st.data(), st.sampled_from(["strict", "loose"]))
@examples(80)
def test_no_run_forms_more_pairs_than_the_bound(small, data, rule):
    roles = data.draw(roles_for(len(small.shape)))
    result = run(small, roles, "1", rule)
    most, by = pair_bound(result.structure, result.table)
    assert len(result.cells) <= most <= len(small.records) // 2
    assert by == -1 or by in result.structure.differ


def test_the_bound_of_the_czech_example():
    """F has 260 records of its rarer level, so rates above 520/1841 must fail."""
    raw, plan = load("czech")
    table = code(raw, plan).table
    spec = AttributeSpec(plan.names, "UUUUUS")
    assert pair_bound(ReleaseSpec(spec, "0.1").structure(), table) == (260, 5)
    assert predicted_failures([ReleaseSpec(spec, str(520 / 1841))], table) == []
    (failure,) = predicted_failures([ReleaseSpec(spec, "0.1"), ReleaseSpec(spec, "0.489")], table)
    assert failure == PredictedFailure(ReleaseSpec(spec, "0.489"), most=260, wanted=450, attribute="F")


def test_a_bound_within_the_cells_of_f():
    small = expand([(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1)], [5, 1, 3, 2], (2, 2, 2))
    structure = ReleaseSpec(small.spec("FSU"), "1").structure()
    assert pair_bound(structure, small.coded()[0]) == (1 + 2, 1)
    odd = expand([(0, 0), (1, 1)], [1, 1], (2, 2))
    assert pair_bound(ReleaseSpec(odd.spec("FS"), "1").structure(), odd.coded()[0])[0] == 0
    (failure,) = predicted_failures([ReleaseSpec(odd.spec("FS"), "1", "loose")], odd.coded()[0])
    assert (failure.most, failure.wanted) == (0, 1)


# -- from a plan -----------------------------------------------------------------------------------------------------


def built_from(small: Small, **parts):
    plan = small.plan(space=SpacePlan(**parts))
    return space_of(plan, code(small.raw(), plan))


CUBE = expand(list(product(range(2), repeat=3)), [2] * 8, (2, 2, 2))


def test_a_plan_gives_its_space():
    assert len(built_from(CUBE, swap_sizes=(1, 2)).specs) == 6
    assert len(built_from(CUBE, all_specs=True).specs) == 15
    assert [str(spec) for spec in built_from(CUBE, specs=("A:S B:F",), change=("C",)).specs] == ["A:S B:F C:C"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"specs": ("A:F",)}, "spec 'A:F': no attribute is marked S: nothing would be swapped"),
        ({"specs": ("A:S B:S C:S",)}, "every attribute is swapped; exchanging whole records changes nothing"),
        ({"specs": ("A:S B:F C:F",)}, "no unswapped attribute may differ (all are F), so no true swap exists"),
        ({"specs": ("A:S",), "fix": ("A",)}, "spec 'A:S' gives 'A' the role S, but the plan sets it to F from outside"),
    ],
)
def test_a_spec_in_the_plan_that_cannot_work_is_an_error(parts, message):
    with pytest.raises(UsageError) as got:
        built_from(CUBE, **parts)
    assert message in str(got.value)


def test_errors_of_families():
    with pytest.raises(UsageError, match="swap size == 4, must be between 1 and 3"):
        list(by_swap_sizes(names(3), names(3), [4]))
    with pytest.raises(UsageError, match=r"unknown attribute 'Z'\."):
        list(by_swap_sizes(names(3), names(3), [1], fix=("Z",)))
    with pytest.raises(UsageError, match=r"attribute 'A' is both fixed \(F\) and changed \(C\); choose one"):
        list(complete(names(3), names(3), fix=("A",), change=("A",)))
    with pytest.raises(UsageError, match="has 4,294,967,296 role strings, at most 2,000,000 can be enumerated"):
        list(complete(tuple(f"a{j}" for j in range(16)), tuple(f"a{j}" for j in range(16))))
    with pytest.raises(UsageError, match="no candidate release is possible: attribute 'A' has one category"):
        built_from(Small(((0, 0), (0, 0)), (1, 1)), swap_sizes=(1,))


def test_scenarios_and_groups():
    specs = list(by_swap_sizes(names(3), names(3), [1]))
    made = scenarios(specs, ["0.01", "0.1"])
    assert [(s.attributes.roles, s.rate) for s in made][:3] == [("SUU", "0.01"), ("SUU", "0.1"), ("USU", "0.01")]
    table = full_table(3)
    shared = scenarios([AttributeSpec(names(3), roles) for roles in ("SCU", "CSU", "SUC")], ["0.1", "0.5"])
    groups = group(shared, table)
    assert [[place for place, _ in one.scenarios] for one in groups] == [[0, 1, 2, 3], [4, 5]]
    assert all(one.structure is not None and one.structure.constrained for one in groups)


@pytest.mark.slow
@given(smalls(with_kinds=True), st.data())
@examples(60)
def test_scenarios_share_work_exactly_where_their_structures_are_equal(small, data):
    roles = data.draw(st.lists(roles_for(len(small.shape)), min_size=1, max_size=12))
    table = small.coded()[0]
    made = scenarios([small.spec(one) for one in roles], ["0.1", "0.5"])
    by_structure: dict[object, list[int]] = {}
    for place, spec in enumerate(made):
        by_structure.setdefault(spec.structure(multi_kind(table)), []).append(place)
    groups = group(made, table)
    assert {one.structure: [place for place, _ in one.scenarios] for one in groups} == by_structure
    assert [one.structure for one in groups] == list(by_structure)


@pytest.mark.slow
def test_families_over_several_hundred_attributes():
    many = tuple(f"A{j}" for j in range(300))
    specs = list(by_swap_sizes(many, many[5:], [1, 2], fix=many[:2], change=many[10:11]))
    assert len(specs) == 294 + comb(294, 2)
    assert specs[-1].names_having("S") == many[-2:] and specs[-1].names_having("F") == many[:2]
    assert specs[0].names is specs[-1].names, "the names are held once"


@pytest.mark.slow
@given(smalls(most_records=12))
@examples(80)
def test_a_space_explains_what_it_leaves_out(small):
    table, d = small.coded()[0], len(small.shape)
    found = build([AttributeSpec(small.names, "".join(roles)) for roles in product("SFCU", repeat=d)], table)
    assert all(impossibility(spec, table, "strict") == reason for spec, reason in found.impossible)
    assert not any(impossibility(spec, table, "strict") for spec in found.specs)
    assert len(found.specs) + len(found.merged) + len(found.impossible) == 4**d
    keys = [canonical(spec) if may_merge(spec, table.domain, "strict") else spec for spec in found.specs]
    assert len(set(keys)) == len(keys)


def cube(d: int) -> ContingencyTable:
    """Two levels of d attributes, both in use."""
    return Small(((0,) * d, (1,) * d), (2,) * d).coded()[0]


@pytest.mark.parametrize(("d", "wanted"), [(2, 1), (3, 15), (4, 107), (5, 585), (6, 2817), (7, 12663), (8, 54679)])
def test_the_published_counts(d, wanted):
    table = cube(d)
    assert n_specs(table, table.domain.names) == counts(d)[2] == wanted


def test_twenty_attributes_are_counted_without_enumerating():
    table = cube(20)
    assert n_specs(table, table.domain.names) == counts(20)[2] == 1_094_270_965_435


@pytest.mark.slow
@examples(80)
@given(
    smalls(with_kinds=True),
    st.data(),
    st.sampled_from(["strict", "strict", "loose"]),
    st.sampled_from(get_args(Merging)),
)
def test_it_counts_what_enumerating_keeps(small, data, rule, merging):
    table, _ = small.coded()
    exact = data.draw(st.lists(st.booleans(), min_size=len(small.shape), max_size=len(small.shape)))
    attributes = zip(table.domain.attributes, exact, strict=True)
    table = ContingencyTable(Domain(tuple(replace(a, exact=e) for a, e in attributes)), table.cells, table.counts)
    role_of = {name: data.draw(st.sampled_from(["swap", "swap", "not", "fix", "change"])) for name in small.names}
    swap = [name for name, what in role_of.items() if what != "not"]
    fix, change = ([name for name, what in role_of.items() if what == asked] for asked in ("fix", "change"))
    kept = build(complete(small.names, swap, fix, change), table, rule, merging).specs
    assert n_specs(table, swap, fix, change, rule, merging) == len(kept)


@examples(60)
@given(st.data(), st.integers(2, 5))
def test_specs_between_equal_partners_are_counted_as_they_are_listed(data, d):
    def mask():
        return np.array(data.draw(st.lists(st.booleans(), min_size=d, max_size=d)))

    ways = tuple(
        (similar := mask(), data.draw(st.integers(0, int(similar.sum())))) for _ in range(data.draw(st.integers(1, 2)))
    )
    equal = EqualPartners(mask(), mask(), ways)
    choices = [data.draw(st.sets(st.sampled_from("SFCU"), min_size=1)) for _ in range(d)]
    roles = Specs.of([AttributeSpec(tuple("ABCDE"[:d]), "".join(one)) for one in product(*map(sorted, choices))]).roles
    swapped = (roles == S).sum(axis=1)
    found = equal.among(roles) & (swapped > 0) & (swapped < d)
    assert equal.count(choices) == found.sum()
    for row in np.flatnonzero(found).tolist():  # of each way partners agree on all that is not exchanged
        for similar, similarity in ways:
            compared = [j for j in range(d) if similar[j] and roles[row, j] != S]
            equals = {j for j in range(d) if roles[row, j] == F or equal.narrow[j]}
            equals |= set(compared) if len(compared) <= similarity else set()
            assert all(roles[row, j] == S or (j in equals and equal.exact[j]) for j in range(d))


NAMES = tuple("ABCDEFGH")


@st.composite
def tables(draw: st.DrawFn, widths: st.SearchStrategy[int]) -> ContingencyTable:
    """Two records or one, of attributes of one or two levels, some of several kinds or not exact; perhaps a rule."""
    d = draw(widths)
    attributes = tuple(
        Attribute(
            f"A{j}",
            ("a", "b"),
            draw(st.sampled_from([(), ("value", "skip")])),
            exact=draw(st.sampled_from([True, True, False])),
        )
        for j in range(d)
    )
    rules = (EditRule("rule", (("A0", ("a",)),), refuse=True),) if draw(st.sampled_from([False, False, True])) else ()
    second = [draw(st.sampled_from([0, 1, 1, 1])) for _ in range(d)]
    cells = np.unique([[0] * d, second], axis=0)
    return ContingencyTable(Domain(attributes, rules), cells, np.ones(len(cells), np.int64))


def assert_same(built: Space, expected: twin.Built) -> None:
    found = twin.Built(list(built.specs), built.legal, built.feasible, list(built.merged), list(built.impossible))
    assert found == expected
    assert (built.distinct, built.n_merged, built.n_impossible) == (
        len(found.specs),
        len(found.merged),
        len(found.impossible),
    )


MERGINGS = st.sampled_from(get_args(Merging))


@pytest.mark.slow
@given(
    tables(st.integers(1, 4)),
    st.data(),
    st.sampled_from(["strict", "strict", "loose"]),
    MERGINGS,
)
@examples(150)
def test_every_spec_of_a_few_attributes_becomes_the_same(table, data, rule, merging):
    names = table.domain.names
    every = [AttributeSpec(names, "".join(roles)) for roles in product("SFCU", repeat=len(names))]
    specs = data.draw(st.permutations(every)) + data.draw(st.lists(st.sampled_from(every), max_size=5))
    assert_same(build(specs, table, rule, merging), twin.build(specs, table, rule, merging))


@pytest.mark.slow
@given(tables(st.integers(28, 70)), st.data(), st.sampled_from(["strict", "loose"]), MERGINGS)
@examples(60)
def test_specs_of_many_attributes_become_the_same(table, data, rule, merging):
    """More roles than a word holds."""
    names = table.domain.names
    few = st.lists(st.sampled_from("SFCU"), min_size=2, max_size=2)
    fill = st.sampled_from("SFC")
    texts = st.tuples(few, few, fill).map(lambda ends: "".join((*ends[0], ends[2] * (len(names) - 4), *ends[1])))
    specs = [AttributeSpec(names, text) for text in data.draw(st.lists(texts, max_size=30))]
    assert_same(build(specs, table, rule, merging), twin.build(specs, table, rule, merging))


@pytest.mark.slow
@given(st.integers(1, 5), st.data())
@examples(100)
def test_all_role_strings_and_all_choices_are_listed_in_the_same_order(d, data):
    names = NAMES[:d]
    outside = data.draw(st.dictionaries(st.sampled_from(names), st.sampled_from("FC")))
    fix, change = ([name for name, role in outside.items() if role == one] for one in "FC")
    swap = data.draw(st.sets(st.sampled_from(names)))
    assert complete(names, swap, fix, change) == list(twin.complete(names, swap, fix, change))
    able = len([name for name in swap if name not in outside])
    if able:
        sizes = data.draw(st.lists(st.integers(1, able), max_size=3))
        listed = list(twin.by_swap_sizes(names, swap, sizes, fix, change))
        assert by_swap_sizes(names, swap, sizes, fix, change) == listed


@pytest.mark.slow
def test_large_spaces_are_made_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    names = NAMES[:5]
    cells = np.array(list(product(range(2), repeat=5)))
    table = ContingencyTable(Domain(tuple(Attribute(name, ("a", "b")) for name in names)), cells, np.ones(32, np.int64))
    expected = twin.build(twin.complete(names, names), table, "strict", "complements")
    for size in (1, 7, 64):
        monkeypatch.setattr(space, "_CHUNK", size)
        monkeypatch.setattr(equal_roles, "_BLOCK", size)
        assert_same(build(complete(names, names), table), expected)
        assert by_swap_sizes(names, names, (1, 3, 2)) == list(twin.by_swap_sizes(names, names, (1, 3, 2)))


def test_of_equal_specs_a_known_one_counts() -> None:
    small = expand(list(product(range(2), repeat=3)), [1] * 8, (2, 2, 2))
    plan = small.plan(space=SpacePlan(all_specs=True))
    data = code(small.raw(), plan)
    known = {small.spec("FCS"), small.spec("UUS")}
    plain, resumed = space_of(plan, data), space_of(plan, data, Specs.of(known))
    assert small.spec("FSC") in plain.specs and small.spec("FCS") not in plain.specs
    assert list(resumed.specs[:2]) == [small.spec("FCS"), small.spec("UUS")]
    specs = sorted(twin.complete(plan.names, plan.swap), key=lambda spec: spec not in known)
    assert_same(resumed, twin.build(specs, data.table, "strict", "complements"))
    assert replace(resumed, specs=plain.specs) != resumed


def test_no_spec_is_made_before_somebody_looks_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names = NAMES[:5]
    cells = np.array(list(product(range(2), repeat=5)))
    table = ContingencyTable(Domain(tuple(Attribute(name, ("a", "b")) for name in names)), cells, np.ones(32, np.int64))
    made: list[AttributeSpec] = []
    monkeypatch.setattr(AttributeSpec, "__post_init__", lambda spec: made.append(spec))
    built = build(complete(names, names), table)
    build(by_swap_sizes(names, names, (1, 2)), table)
    assert built.merged[:2].specs[1:] and built.impossible[3:].specs.take(np.arange(2)) and not made
    _ = built.specs[0], built.merged[1], built.impossible[-1]
    assert len(made) == 4
