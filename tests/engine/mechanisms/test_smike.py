"""SMIKe: the twin's mixing sets and imputations from the same random numbers, its law from its own, what must hold."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from engine.common.errors import EngineError, UsageError
from engine.common.streams import derive
from engine.data.microdata import Microdata
from engine.mechanisms import smike
from engine.mechanisms import smike as mixing
from engine.mechanisms.base import Drawn, shared_stream, table_stream
from engine.mechanisms.smike import SMIKE
from engine.models import location
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus
from tests.examples import examples
from tests.location_draws import natural, predictive
from tests.numeric_data import numbered, with_numbers
from tests.twins import location as model_twin
from tests.twins import smike as twin

DERIVED = derive(bytes(range(16)), "test")

EXAMPLE_1 = (
    [-1.498256, -1.703345, -2.257808, -0.578633, -1.979207, -1.482834, -0.510513],
    [
        *(2.196066, -0.308010, 2.473768, -0.039146, 0.516418, -0.392493, 1.503878, 0.197190, -0.481482, 1.122731),
        *(-0.337457, 1.507346, 0.691961),
    ],
    "1111011111 1111110111 1101110011 1111111101 1111110111 0111111111 0110111110",
)
EXAMPLE_2 = (
    [0.137912, 0.165671, 1.720408, 0.856713, 2.720610, 2.630290, 1.897888],
    [
        *(3.124605, 3.846479, 3.553457, 2.778747, 4.479235, 3.816940, 4.125836, 3.295777, 3.503293, 3.235821),
        *(2.967702, 2.906859, 3.023004),
    ],
    "1110100100 1001011110 1111111111 1110101101 1111111111 1111111111 1111111111",
)
"""Little and Liu (2003), appendix III: numbers of the sensitive record and its mixing set, those of the others, and the
ten imputed keys of the former."""


def printed(example: tuple[list[float], list[float], str]) -> Microdata:
    return numbered({"key": [0] + [1] * 19}, {"y": example[0] + example[1]})


def made(seed: int, p: int = 1, n: int = 60) -> Microdata:
    """Seven key cells over two keys, three of them small; the second number has ties."""
    rng = np.random.default_rng(seed)
    cell = np.concatenate([[0, 0, 3, 5, 5, 5], rng.choice([1, 2, 4, 6], n - 6, p=[0.2, 0.1, 0.3, 0.4])])
    numbers = {"u": rng.normal(size=n) + cell / 4, "v": np.round(rng.normal(size=n) - cell / 4)}
    return numbered({"A": cell // 4, "B": cell % 4}, dict(list(numbers.items())[:p]))


def run(data: Microdata, **given: str) -> Drawn:
    numeric = [name for name in data.raw.names if name[0] in "uvy"]
    setting = SMIKE.setting(data, given, range(len(data.domain.names)), numeric)
    return SMIKE.draw(SMIKE.prepare(setting), setting, DERIVED)


def shown(drawn: Drawn) -> list[list[int]]:
    """Each table's key cells by record."""
    places = range(len(drawn.tables[0].data.domain.names))
    return [table.cells(tuple(places)).tolist() for table in drawn.tables]


@pytest.mark.parametrize("example", [EXAMPLE_1, EXAMPLE_2], ids=["example 1", "example 2"])
def test_the_printed_mixing_sets_are_the_six_nearest_records(example: tuple[list[float], list[float], str]):
    drawn = run(printed(example), selection="global", n_mix="6", s="1")
    assert (drawn.touched == (np.arange(20) < 7)).all()
    assert drawn.diagnostics["imputed_records"] == 7 and drawn.diagnostics["donor_cells"] == 1


@pytest.mark.parametrize(("example", "r1", "r2"), [(EXAMPLE_1, 0.1, 0), (EXAMPLE_2, 0.3, 1)])
def test_the_twins_risks_are_the_printed_ones(example: tuple[list[float], list[float], str], r1: float, r2: float):
    """With s = 3; R1 is the mean over tables, R2 takes all of them together."""
    imputed = [[int(digit) for digit in row] for row in example[2].split()]
    tables = [[row[d] for row in imputed] + [1] * 13 for d in range(10)]
    x = [0] + [1] * 19
    assert twin.r1(x, tables, 3) == pytest.approx(r1)
    assert twin.r2(x, tables, 3) == r2


def model_of(data: Microdata) -> tuple[location.KeyCells, np.ndarray, np.ndarray]:
    """Key cells, standardised and whitened numbers."""
    numeric = [name for name in data.raw.names if name[0] in "uvy"]
    places = tuple(range(len(data.domain.names)))
    keys = location.key_cells(data, places, 3, "le")
    z = location.variables(SMIKE.setting(data, {}, places, numeric), "SMIKe").z
    return keys, z, location.whiten(z, location.fit(z, keys.x, len(keys.counts), numeric).factor)


@pytest.mark.slow
@examples(60)
@given(with_numbers(30), st.integers(1, 12))
def test_mixing_sets_are_the_twins(data: Microdata, n_mix: int):
    """On data with many ties, unique cells and equal records."""
    try:
        keys, z, v = model_of(data)
    except EngineError:
        return
    small = set(np.flatnonzero(keys.sensitive).tolist())
    sensitive, x, y = keys.records, keys.x.tolist(), list(z)
    donors = np.flatnonzero(~keys.sensitive)
    if not len(sensitive) or not len(donors):
        return
    nearest = mixing.global_choices(v, sensitive, np.flatnonzero(~keys.sensitive[keys.x]), n_mix)
    means, _ = location.within(v, keys.x, keys.counts)
    local = mixing.local_choices(v, sensitive, means, donors, keys, n_mix)
    for i, near, cells in list(zip(sensitive.tolist(), nearest, local, strict=True))[:4]:
        assert set(near.records.tolist()) == set(twin.global_set(i, x, y, small, n_mix))
        slow = twin.local_cells(i, x, y, small, n_mix)
        assert cells.records.tolist() == [j for cell in slow for j in cell]
        assert cells.ends.tolist() == np.cumsum([len(cell) for cell in slow]).tolist()
        for fill in ("uniform", "sequential"):
            ours = mixing.mixing_set(cells, n_mix, fill, np.random.default_rng(i))
            assert ours.tolist() == twin.local_set(slow, n_mix, fill, np.random.default_rng(i))
            assert len(set(ours.tolist())) == min(n_mix, int(np.count_nonzero(~keys.sensitive[keys.x])))


@pytest.mark.parametrize("proper", ["yes", "no"])
@pytest.mark.parametrize(("selection", "model_set"), [("local", "C"), ("global", "M")])
def test_imputations_are_the_twins_from_the_same_random_numbers(selection: str, model_set: str, proper: str):
    for seed in range(3):
        data = made(seed, 1 + seed % 2)
        ours = shown(run(data, selection=selection, D="3", proper=proper, n_mix="4"))
        keys, z, _ = model_of(data)
        x, small, shared = keys.x.tolist(), set(np.flatnonzero(keys.sensitive).tolist()), shared_stream(DERIVED)
        chosen = set(keys.records.tolist())
        for i in keys.records.tolist():
            if selection == "global":
                chosen |= set(twin.global_set(i, x, list(z), small, 4))
            else:
                chosen |= set(twin.local_set(twin.local_cells(i, x, list(z), small, 4), 4, "uniform", shared))
        records = sorted(chosen)
        cells = sorted({x[i] for i in records})
        used = np.array(records if model_set == "M" else [i for i in range(60) if x[i] in cells])
        place = {k: c for c, k in enumerate(cells)}
        counts = np.bincount([place[x[i]] for i in records])
        local = np.array([place[x[i]] for i in used])
        fitted = location.fit(z[used], local, len(cells), ("u", "v"), counts)
        same = None if proper == "yes" else location.draw(fitted, shared)
        codes = ReleasedTable(data).cells((0, 1))
        cell_code = {int(k): int(code) for k, code in zip(x, codes, strict=True)}
        for d in range(3):
            rng = table_stream(DERIVED, d + 1)
            theta = same or location.draw(fitted, rng)
            mu, sigma = natural(theta, fitted)
            assert theta.log_pi is not None
            slow_theta = model_twin.Theta(np.exp(theta.log_pi).tolist(), list(mu), sigma)
            slow = twin.impute(records, cells, list(z), slow_theta, rng.random(len(records)).tolist())
            expected = codes.copy()
            expected[records] = [cell_code[k] for k in slow]
            assert ours[d] == expected.tolist()


@pytest.mark.slow
def test_the_law_is_the_twins_and_not_one_with_another_model_set():
    y = np.random.default_rng(3).normal(size=16) * 1.5 + np.repeat([3, 0, 0], [2, 6, 8])
    x = [0, 0] + [1] * 6 + [2] * 8
    data = numbered({"K": x}, {"u": y})
    fast = Counter((row[0], row[1]) for row in shown(run(data, selection="global", n_mix="3", D="400")))
    for model_set, right in (("M", True), ("C", False)):
        rows = twin.tables(x, list(y[:, None]), np.random.default_rng(4), 3, 3, "global", model_set, 400)
        slow = Counter((row[0], row[1]) for row in rows)
        kinds = sorted(set(fast) | set(slow))
        p = float(chi2_contingency([[fast[k] for k in kinds], [slow[k] for k in kinds]]).pvalue)
        assert p > 1e-3 if right else p < 1e-9


def test_cells_get_what_their_probabilities_promise():
    keys, z, _ = model_of(made(1))
    fitted = location.fit(z, keys.x, len(keys.counts), ("u",))
    v = location.whiten(z, fitted.factor)
    one = smike.Task(np.arange(60), np.arange(len(keys.counts)), fitted, v, 60)
    theta = location.draw(fitted, np.random.default_rng(2))
    grid = (np.arange(500) + 0.5) / 500
    got = np.array([smike.impute(one, theta, np.full(60, u)) for u in grid])
    q = predictive(theta, location.turned(v, theta.turn))
    for k in range(len(keys.counts)):
        assert np.abs((got == k).mean(axis=0) - q[:, k]).max() <= 1 / 500


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch):
    whole = {selection: shown(run(made(2, 2), selection=selection)) for selection in ("local", "global")}
    for module in (smike, mixing):
        monkeypatch.setattr(module, "_SEGMENT", 16)
    assert {selection: shown(run(made(2, 2), selection=selection)) for selection in whole} == whole


@pytest.mark.slow
@examples(60)
@given(with_numbers(), st.sampled_from(["local", "global"]), st.sampled_from(["auto", "C", "M"]), st.integers(1, 9))
def test_what_always_holds(data: Microdata, selection: str, model_set: str, n_mix: int):
    known = ("every key cell is sensitive", "model needs at least p=", "numeric variables are linearly dependent")
    try:
        drawn = run(data, selection=selection, model_set=model_set, n_mix=str(n_mix), D="3")
    except EngineError as refused:
        assert str(refused).startswith(known)
        return
    places = tuple(range(len(data.domain.names)))
    keys, original = location.key_cells(data, places, 3, "le"), ReleasedTable(data)
    imputed, cells = drawn.touched[0], set(original.cells(places).tolist())
    assert drawn.status == (RunStatus.OK if len(keys.records) else RunStatus.NOOP)
    assert imputed[keys.records].all() and (drawn.touched == imputed).all()
    allowed = set(original.cells(places)[imputed].tolist())
    for table in drawn.tables:
        now = table.cells(places)
        assert np.array_equal(now[~imputed], original.cells(places)[~imputed])
        assert set(now[imputed].tolist()) <= allowed <= cells
        for name in data.raw.names:
            if name.startswith("y"):
                assert np.array_equal(table.numeric(name), original.numeric(name))
        assert all(table.codes(j).dtype == data.codes[j].dtype for j in places)


def test_mixing_with_all_nonsensitive_records_imputes_everything():
    drawn = run(made(3), selection="global", n_mix="54")
    assert drawn.touched.all() and "warning" not in drawn.diagnostics
    drawn = run(made(3), n_mix="55")
    assert drawn.touched.all()
    assert drawn.diagnostics["warning"] == "only 54 nonsensitive records for n_mix=55; all are used"


@pytest.mark.parametrize("proper", ["yes", "no"])
def test_more_tables_begin_with_the_fewer(proper: str):
    assert shown(run(made(1), D="10", proper=proper))[:5] == shown(run(made(1), D="5", proper=proper))


def test_fewer_than_4_is_3_or_fewer():
    assert shown(run(made(2), s="4", rule="lt")) == shown(run(made(2), s="3"))


def test_units_do_not_matter():
    data = made(4, 2)
    u, v = (ReleasedTable(data).numeric(name) for name in "uv")
    other = numbered({"A": data.codes[0], "B": data.codes[1]}, {"u": u * 4096, "v": v * 0.25 + 64})
    for selection in ("local", "global"):
        assert shown(run(other, selection=selection)) == shown(run(data, selection=selection))


def test_a_key_within_which_to_mix_does_not_change():
    data = made(5, 1, 80)
    drawn = run(data, within="A")
    for table in drawn.tables:
        assert np.array_equal(table.codes(0), data.codes[0])
        assert not np.array_equal(table.codes(1), data.codes[1])


def test_diagnostics_count_what_happened():
    data = made(7)
    drawn = run(data)
    imputed, found = drawn.touched[0], drawn.diagnostics
    original = ReleasedTable(data).cells((0, 1))
    moved = np.mean([np.array(row) != original for row in shown(drawn)], axis=0)
    small = location.key_cells(data, (0, 1), 3, "le").records
    assert found["imputed_share"] == imputed.mean() and found["imputed_records"] == imputed.sum()
    assert found["changed_share_of_imputed"] == pytest.approx(moved[imputed].mean())
    assert found["sensitive_changed_share"] == pytest.approx(moved[small].mean())
    assert found["cells"] == len(np.unique(original[imputed]))
    assert found["donor_cells"] == len(np.unique(original[imputed])) - 3
    assert found["model_set"] == "C"
    assert found["model_records"] == np.isin(original, original[imputed]).sum()


def test_a_model_on_records_chosen_by_their_numbers_is_warned_of():
    assert run(made(1), selection="global", model_set="C").diagnostics["warning"] == (
        "mixing records were chosen by y; a model on all donor-cell records is biased (use model_set='M')"
    )


@pytest.mark.parametrize("given", [{}, {"s": "1", "rule": "lt"}])
def test_no_sensitive_record_changes_nothing_even_without_a_model(given: dict[str, str]):
    drawn = run(numbered({"K": [0] * 4 + [1] * 4}, {}), **given)
    assert drawn.status == RunStatus.NOOP and len(drawn.tables) == 10 and not drawn.touched.any()
    assert drawn.diagnostics["warning"] == "no key cell is sensitive; every table is the original"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"s": "0"}, "sensitivity threshold must be a positive integer"),
        ({"n_mix": "0"}, "n_mix == 0, must be at least 1."),
        ({"within": "C"}, "within names 'C', which is not a key. Known: A, B."),
    ],
)
def test_parameters_out_of_range(given: dict[str, str], message: str):
    with pytest.raises(UsageError) as refused:
        run(made(1), **given)
    assert str(refused.value) == message


def refusal(data: Microdata, **given: str) -> str:
    with pytest.raises(EngineError) as refused:
        run(data, **given)
    return str(refused.value)


def test_data_that_do_not_allow_it():
    assert refusal(numbered({"K": range(5)}, {"u": range(5)})) == (
        "every key cell is sensitive at s=3; nothing to mix with"
    )
    assert refusal(numbered({"K": [0] * 5 + [1]}, {"u": range(6), "v": range(6)})) == (
        "numeric variables are linearly dependent within key cells (rank 1 of 2); drop one of: u, v"
    )
    assert refusal(numbered({"K": [0] * 5 + [1]}, {"u": [np.nan] * 2 + [1, 2, 3, 4]})) == (
        "column 'u' has 2 missing values; fill, drop or recode them as a level before using it in SMIKe"
    )
    data = numbered({"A": [0] * 5 + [1] + [1] * 2, "B": [0] * 6 + [1] * 2}, {"u": range(8)})
    assert refusal(data, within="A") == (
        "3 sensitive records have no nonsensitive cell in their level of A: rows 6, 7, 8"
    )


def test_a_model_on_too_few_imputed_records_suggests_the_other():
    data = numbered({"K": [0] + [1] * 9}, {"u": np.arange(10) ** 2})
    assert refusal(data, selection="global", n_mix="1") == (
        "model needs at least p=1 more records than key cells (n=2, K=2): merge key categories or use fewer numeric "
        "variables; the model on all records of the donor cells can be fitted (use model_set='C')"
    )
    assert run(data, selection="global", n_mix="1", model_set="C").status == RunStatus.OK
