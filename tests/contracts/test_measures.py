"""What every measure keeps: its formula, its range, the original's value for the identity, the same bits in company.

Measures on counts are compared with their literal twins on full record tables; one that is added to the dict without a
twin fails here.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.common.errors import UsageError
from engine.data.domain import EditRule
from engine.measures import MEASURES, call, evaluate, original_batch
from tests.examples import examples
from tests.small_tables import Small, release, releases, roles_for, rows, rules, run, smalls
from tests.twins import detection, disclosure, loglinear, tables
from tests.twins import random_swap as swap_twin
from tests.twins.measures import TWINS as FIRST_TWINS
from tests.twins.measures import edit_failures

ON_COUNTS = [name for name, measure in MEASURES.items() if measure.needs == "counts"]
READ_A_FILE = {"external_links", "external_unmatched"}  # tested with their files
TABULAR = [name for name in ON_COUNTS if name != "edit_failures" and name not in READ_A_FILE]
TWINS = {**FIRST_TWINS, **tables.TWINS, **loglinear.TWINS, **detection.TWINS, **disclosure.TWINS}
ABOUT_A_TARGET = {"correct_attribution", "attribution_gain", "l_diversity", "t_closeness"}
CALLS = {
    **{name: f"{name}[target=A]" if name in ABOUT_A_TARGET else name for name in TABULAR},
    "correct_attribution, skip": "correct_attribution[target=B;unmatched=skip]",
    "hellinger_large, n_rule 2": "hellinger_large[n_rule=2]",
    "cramers_v_change, max": "cramers_v_change[summary=max]",
    "contingency_change, max": "contingency_change[summary=max]",
    "r1, s 1": "r1[s=1]",
    "r1, lt": "r1[s=4;rule=lt]",
    "p1, nonempty": "p1[denominator=nonempty]",
    "k_anonymity, k 5": "k_anonymity[k=5]",
    "small_cells_unswapped, n_rule 5": "small_cells_unswapped[n_rule=5]",
    "expected_matches_unswapped, n_rule 2": "expected_matches_unswapped[n_rule=2]",
    "small_cells_subset, size 2": "small_cells_subset[size=2;n_rule=4]",
    "l_diversity, entropy": "l_diversity[target=B;l=3;diversity=entropy]",
    "t_closeness, ordered": "t_closeness[target=B;distance=ordered]",
    "detection_auc, main": "detection_auc[model=main]",
    "detection_precision, level": "detection_precision[top=0.25;model=level]",
    "small_cells_recognised, n_rule 5": "small_cells_recognised[n_rule=5]",
    "altered_share_max, least 3": "altered_share_max[least=3]",
    "small_cells, n_rule 2": "small_cells[n_rule=2]",
    "small_cells, n_rule 5": "small_cells[n_rule=5]",
    "hellinger_two_way, max": "hellinger_two_way[summary=max]",
    "total_variation_two_way, max": "total_variation_two_way[summary=max]",
    "entropy_change_two_way, max": "entropy_change_two_way[summary=max]",
}


def value(text: str, small: Small, batch, keys=None, analyse=None) -> np.ndarray:
    """A measure over the batch, the plan's lists being all attributes unless given."""
    return evaluate(call(text), batch, small.domain, {"keys": keys or small.names, "analyse": analyse or small.names})


def with_attributes(text: str, names) -> str:
    inside = "attributes=" + "+".join(names)
    return text[:-1] + ";" + inside + "]" if text.endswith("]") else f"{text}[{inside}]"


def by_twin(text: str, before, after, attributes, shape) -> float:
    measure = call(text)
    name = measure.measure.name
    assert name in TWINS, f"add a twin of {name} to TWINS in tests/twins/measures.py"
    return TWINS[name](before, after, attributes, shape, **measure.values)


def same(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or a == pytest.approx(b, rel=1e-9, abs=1e-12)


def agrees(text: str, a: float, b: float) -> bool:
    """Equal; of two tables with changes of one size in either direction, either is the one that changed most."""
    return same(a, b) or ("summary=max" in text and same(abs(a), abs(b)))


@st.composite
def released(draw, n_max: int = 30):
    """A table and some pairs of its records that exchange under a spec (drawn by the slow twin)."""
    small = draw(smalls(most_records=n_max))
    roles = draw(roles_for(len(small.shape)))
    rule = draw(rules)
    rate = draw(st.sampled_from(["0.1", "0.5", "1"]))
    pairs = swap_twin.draw(small.records, roles, rate, Random(draw(st.integers(0, 999))), rule).pairs
    return small, roles, pairs


# -- formulas --------------------------------------------------------------------------------------------------------


def test_every_measure_on_counts_has_a_twin():
    for name in TABULAR:
        assert name in TWINS, f"add a twin of {name} to TWINS in tests/twins/measures.py"
    assert set(TWINS) <= set(TABULAR)


@given(released(), st.data())
@examples(40)
def test_formula(case, data):
    small, roles, pairs = case
    after = swap_twin.exchange(small.records, pairs, roles)
    batch = release(small, roles, pairs)
    names = data.draw(st.permutations(small.names))[: data.draw(st.integers(1, len(small.names)))]
    for text in CALLS.values():
        everything = range(len(small.shape))
        wanted = by_twin(text, small.records, after, everything, small.shape)
        assert agrees(text, value(text, small, batch)[0], wanted), text
        some = sorted(small.names.index(name) for name in names)
        got = value(with_attributes(text, names), small, batch)[0]
        assert agrees(text, got, by_twin(text, small.records, after, some, small.shape)), (text, names)
        if call(text).measure.over != "all":  # the same through the plan's list
            assert same(value(text, small, batch, keys=tuple(names), analyse=tuple(names))[0], got)


@given(released(), st.data())
@examples(50)
def test_edit_failures_are_the_records_that_break_a_rule(case, data):
    small, roles, _ = case
    literal = []
    declared = []
    for number in range(data.draw(st.integers(1, 2))):
        places = data.draw(st.lists(st.integers(0, len(small.shape) - 1), min_size=1, max_size=3, unique=True))
        rule = {j: data.draw(st.lists(st.integers(0, small.shape[j] - 1), min_size=1, unique=True)) for j in places}
        literal.append(rule)
        forbid = tuple((small.names[j], tuple(f"v{level}" for level in levels)) for j, levels in rule.items())
        declared.append(EditRule(f"rule {number}", forbid))
    asked = small.asked("edit_failures", edits=tuple(declared))
    from engine.release.spec import ReleaseSpec

    got = rows(asked, [ReleaseSpec(small.spec(roles), "1")], [1])[0]
    result = run(small, roles, "1")
    after = swap_twin.exchange(small.records, [tuple(pair) for pair in result.records.tolist()], roles)
    assert got[4] == edit_failures(after, literal)
    assert asked.original()["edit_failures"] == edit_failures(small.records, literal)


# -- identity, range, undefined --------------------------------------------------------------------------------------


@given(smalls())
@examples(30)
def test_a_release_without_swaps_has_the_originals_figures(small):
    table, _ = small.coded()
    original = original_batch(table.counts, table.cells, table.domain.shape)
    nothing = releases(small, [("S" + "U" * (len(small.shape) - 1), []), ("U" * (len(small.shape) - 1) + "S", [])])
    for text in CALLS.values():
        figures = value(text, small, nothing)
        assert figures.tobytes() == np.repeat(value(text, small, original), 2).tobytes()
        if call(text).measure.kind == "utility":
            defined = figures[~np.isnan(figures)]
            assert not defined.any() and not np.signbit(defined).any(), "a distance from itself is 0, and not -0"


@given(released())
@examples(40)
def test_ranges(case):
    small, roles, pairs = case
    batch = release(small, roles, pairs)
    cells = math.prod(small.shape)
    n = len(small.records)
    figures = {text: value(text, small, batch)[0] for text in CALLS.values()}
    for text, figure in figures.items():
        if text.startswith(("small_cells", "hellinger", "total_variation")):
            assert math.isnan(figure) or 0 <= figure <= 1
        elif text.startswith("entropy"):
            assert abs(figure) <= math.log(cells) + 1e-12
    assert 0 <= figures["false_zeros"] <= len(set(small.records)) and figures["false_zeros"] % 1 == 0
    assert 0 <= figures["false_nonzeros"] <= min(n, cells) and figures["false_nonzeros"] % 1 == 0
    distance, variation = figures["hellinger"], figures["total_variation"]
    assert distance**2 <= variation + 1e-12 <= math.sqrt(2) * distance + 2e-12
    assert variation <= 2 * len(pairs) / n + 1e-12
    assert figures["hellinger_two_way"] <= figures["hellinger_two_way[summary=max]"] + 1e-12
    assert figures["hellinger_two_way[summary=max]"] <= distance + 1e-12, "a margin is no farther apart than the whole"


def test_undefined_is_nan_and_never_nought():
    everyone = release(Small(((0, 0), (1, 1)), (2, 2)), "SU", [(0, 1)])
    small = Small(((0, 0), (1, 1)), (2, 2))
    assert math.isnan(value("small_cells", small, everyone)[0])
    assert value("small_cells[attributes=B]", small, everyone)[0] == 1, "nobody changed on B, where both are unique"
    for name in ("hellinger_two_way", "total_variation_two_way", "entropy_change_two_way"):
        assert math.isnan(value(f"{name}[attributes=A]", small, everyone)[0])
    assert math.isnan(value("edit_failures", small, everyone)[0])
    # one candidate's undefined figure leaves the others' alone
    both = releases(small, [("SU", [(0, 1)]), ("SU", [])])
    assert np.isnan(value("small_cells", small, both)).tolist() == [True, False]


# -- invariance ------------------------------------------------------------------------------------------------------


@given(released(), st.randoms(use_true_random=True))
@examples(30)
def test_rows_may_come_in_any_order_and_levels_may_have_any_names(case, random):
    small, roles, pairs = case
    order = list(range(len(small.records)))
    random.shuffle(order)
    new_place = {old: new for new, old in enumerate(order)}
    names = [random.sample(range(size), size) for size in small.shape]
    records = [tuple(names[j][level] for j, level in enumerate(small.records[old])) for old in order]
    other = Small(tuple(records), small.shape)
    moved = release(other, roles, [(new_place[a], new_place[b]) for a, b in pairs])
    batch = release(small, roles, pairs)
    for text in CALLS.values():
        if "ordered" in text:  # the order of the levels is what it measures by
            continue
        assert same(value(text, small, batch)[0], value(text, other, moved)[0]), text


@pytest.mark.slow
@given(smalls(), st.data())
@examples(15)
def test_in_company_and_alone_the_same_bits(small, data):
    several = []
    for seed in range(data.draw(st.integers(2, 5))):
        roles = data.draw(roles_for(len(small.shape)))
        rate = data.draw(st.sampled_from(["0.2", "1"]))
        several.append((roles, swap_twin.draw(small.records, roles, rate, Random(seed), "loose").pairs))
    together = releases(small, several)
    names = data.draw(st.lists(st.sampled_from(small.names), min_size=2, unique=True))
    for text in (*CALLS.values(), *(with_attributes(text, names) for text in CALLS.values())):
        alone = [value(text, small, release(small, roles, pairs)) for roles, pairs in several]
        assert value(text, small, together).tobytes() == np.concatenate(alone).tobytes(), text


def test_a_margin_of_a_margin_counts_the_originals_cells():
    """A release may fill a margin's cell that comes before an occupied one."""
    records = [(1, 1, 0, 0), (1, 1, 0, 1), (1, 1, 0, 0), (0, 0, 1, 1), (0, 0, 1, 0)]
    small = Small(tuple(records), (2, 2, 2, 2))
    pairs = [(0, 3)]
    after = swap_twin.exchange(small.records, pairs, "SUUU")
    for name in ("hellinger_two_way", "total_variation_two_way", "entropy_change_two_way"):
        for places in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)):
            some = with_attributes(name, [small.names[j] for j in places])
            got = value(some, small, release(small, "SUUU", pairs))[0]
            assert same(got, TWINS[name](small.records, after, places, small.shape)), some


def test_many_candidates_over_a_wide_margin():
    """More candidates times cells than are tabulated at once."""
    small = Small(tuple((i % 2, i, i % 3) for i in range(1200)), (2, 1200, 3))
    several = [("SUU", [(i, i + 1)]) for i in range(1100)]
    together = releases(small, several)
    for text in ("hellinger[attributes=A+B]", "small_cells[attributes=A+B]", "total_variation[attributes=A+C]"):
        got = value(text, small, together)
        for i in (0, 1, 500, 1099):
            assert got[i] == value(text, small, release(small, *several[i]))[0]


# -- eq. 6 -----------------------------------------------------------------------------------------------------------


@given(released())
@examples(50)
def test_small_cell_risk_rises_with_the_threshold(case):
    small, roles, pairs = case
    assume(2 * len(pairs) < len(small.records))
    batch = release(small, roles, pairs)
    figures = [value(f"small_cells[n_rule={n}]", small, batch)[0] for n in range(2, 9)]
    assert figures == sorted(figures)
    after = Counter(swap_twin.exchange(small.records, pairs, roles))
    above = max(*after.values(), *Counter(small.records).values()) + 1
    assert value(f"small_cells[n_rule={max(2, above)}]", small, batch)[0] == 1


@given(smalls(), st.data(), st.integers(0, 99))
@examples(60)
def test_small_cell_risk_is_the_same_for_complements(small, data, seed):
    roles = data.draw(roles_for(len(small.shape), "SFC"))
    assume("C" in roles)
    pairs = swap_twin.draw(small.records, roles, "0.5", Random(seed)).pairs
    other = roles.translate(str.maketrans("SC", "CS"))
    for text in ("small_cells", "hellinger", "total_variation", "entropy_change", "false_zeros", "false_nonzeros"):
        figures = [value(text, small, release(small, spec, pairs))[0] for spec in (roles, other)]
        assert same(*figures), text


def test_small_cell_risk_of_the_czech_table_is_5_of_1841():
    from engine.plan.coding import code
    from engine.plan.samples import load

    raw, plan = load("czech")
    table = code(raw, plan).table
    batch = original_batch(table.counts, table.cells, table.domain.shape)
    lists = {"keys": table.domain.names, "analyse": table.domain.names}
    assert table.n_records == 1841 and sorted(table.counts)[:4] == [1, 2, 2, 3]
    for n_rule, at_risk in ((2, 1), (3, 5), (4, 5 + 3 * int((table.counts == 3).sum())), (146, 1841)):
        assert evaluate(call(f"small_cells[n_rule={n_rule}]"), batch, table.domain, lists)[0] == at_risk / 1841


# -- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MEASURES)
def test_what_is_said_about_a_measure(name):
    measure = MEASURES[name]
    assert measure.name == name
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    assert measure.kind in ("risk", "utility") and measure.better in ("lower", "higher", "zero")
    assert measure.over in ("keys", "analyse", "all") and measure.needs in ("counts", "records")
    for field in ("symbol", "title", "range", "unit", "source", "meaning", "undefined", "cost"):
        text = getattr(measure, field)
        assert text and text == text.strip(), field
    assert measure.source != "registered by the analyst", f"name the paper or book that {name} is from"
    assert measure.meaning.endswith(".") and measure.meaning[0].isupper() and measure.title[0].isupper()
    assert all(isinstance(default, int | str) for default in measure.parameters.values())
    assert str(call(name)) == name and call(name).measure is measure
    assert measure.compute.__doc__ or "two_way" in name


def test_symbols_and_titles_are_distinct():
    for field in ("symbol", "title"):
        texts = [getattr(measure, field) for measure in MEASURES.values()]
        assert len(set(texts)) == len(texts), field


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" small_cells ", "small_cells"),
        ("small_cells[n_rule=3]", "small_cells"),
        ("small_cells[ n_rule = 5 ; attributes = B + A ]", "small_cells[n_rule=5;attributes=B+A]"),
        ("small_cells[attributes=A,n_rule=5]", "small_cells[n_rule=5;attributes=A]"),
    ],
)
def test_a_call_has_one_spelling(text, canonical):
    assert str(call(text)) == canonical == str(call(canonical))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read the measure ''"),
        ("small cells", "cannot read the measure 'small cells'"),
        ("smal_cells", "unknown measure 'smal_cells'. Did you mean 'small_cells'"),
        ("small_cells[n_rul=3]", "measure 'small_cells' has no parameter 'n_rul'. Did you mean 'n_rule'?"),
        ("small_cells[n_rule=x]", "small_cells: n_rule == 'x', must be a whole number."),
        ("small_cells[n_rule]", "cannot read 'n_rule' in the measure 'small_cells[n_rule]'"),
    ],
)
def test_a_wrong_call_is_answered_in_words(text, message):
    with pytest.raises(UsageError) as got:
        call(text)
    assert message in str(got.value)


def test_losses_turn_every_direction_the_same_way():
    values = np.array([-2.0, 1.0, np.nan])
    for measure in MEASURES.values():
        loss = measure.loss(values)
        wanted = {"lower": values, "higher": -values, "zero": np.abs(values)}[measure.better]
        np.testing.assert_array_equal(loss, wanted)
