"""What every measure on records owes: the original's value for the original, direction, range, the order of records, "
"D tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.data.io.readers import read_table
from engine.data.microdata import Microdata
from engine.measures import MEASURES, call, evaluate_records
from engine.models.record_release import RecordRelease
from engine.plan import Plan, plan_from_toml
from engine.plan.coding import code
from engine.release.records import ReleasedTable
from engine.release.spec import AttributeSpec, ReleaseSpec

N = 160
PLAN = """
[data]
weight = "w"
unit = "home"
carry = ["pay", "hours"]
numeric = ["pay", "hours"]
[[attribute]]
name = "age"
[[attribute]]
name = "sex"
[[attribute]]
name = "work"
[[attribute]]
name = "ill"
[[analysis]]
name = "pay"
formula = "pay ~ age + sex"
[[analysis]]
name = "ill"
formula = "ill ~ sex + pay"
family = "logistic"
"""
EXTRA = {
    "population_uniques": "[fraction=0.1]",
    "expected_matches": "[fraction=0.1]",
    "risky_left": "[hierarchy=age]",
    "left_level": "[level=age]",
    "area_change": "[level=age;least=5]",
}
NAMES = [name for name, measure in MEASURES.items() if measure.needs == "records"]
TEXTS = [name + EXTRA.get(name, "") for name in NAMES]
NEEDS_SEVERAL = {"information_loss"}
"""Defined for several tables only."""
NEEDS_CHANGE = {"rarity_auc", "detection_unit_auc", "detection_unit_precision", "detection_unit_certain"}
"""Defined where something was altered only."""


def records() -> list[str]:
    rng = np.random.default_rng(7)
    age, sex, work = rng.integers(0, 3, N), rng.integers(0, 2, N), rng.integers(0, 4, N)
    pay = 10 + 3 * age + 2 * sex + rng.normal(size=N)
    hours = 30 + work + rng.normal(size=N)
    ill = rng.random(N) < 1 / (1 + np.exp(-(0.15 * pay - 2)))
    texts = zip(age, sex, work, ill, pay, hours, range(N), strict=True)
    return [
        f"{'abc'[a]},{'fm'[s]},{'wxyz'[w]},{int(i)},{p:.4f},{h:.4f},{1 + k % 5},home {k}"
        for a, s, w, i, p, h, k in texts
    ]


def data_of(lines: list[str], folder: Path, name: str) -> tuple[Plan, Microdata]:
    (folder / name).write_text("age,sex,work,ill,pay,hours,w,home\n" + "\n".join(lines) + "\n")
    plan = plan_from_toml(PLAN)
    return plan, code(read_table(folder / name), plan)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Microdata]:
    return data_of(records(), tmp_path_factory.mktemp("records"), "a.csv")


def partners(n_pairs: int) -> np.ndarray:
    """A fixed exchange of pairs."""
    chosen = np.random.default_rng(3).permutation(N)[: 2 * n_pairs]
    source = np.arange(N)
    source[chosen[:n_pairs]], source[chosen[n_pairs:]] = chosen[n_pairs:], chosen[:n_pairs]
    return source


def release(
    made: tuple[Plan, Microdata], n_pairs: int, tables: int = 1, source: np.ndarray | None = None
) -> RecordRelease:
    plan, data = made
    source = partners(n_pairs) if source is None else source
    rate = f"{2 * n_pairs / N:.6f}".rstrip("0").rstrip(".")
    spec = ReleaseSpec(AttributeSpec(data.domain.names, "SUUU"), rate or "0", "loose")
    original = ReleasedTable(data)
    return RecordRelease(original, [ReleasedTable(data, source, (0,)) for _ in range(tables)], plan, spec)


def value(text: str, one: RecordRelease) -> float:
    return evaluate_records(call(text), one).value


@pytest.mark.parametrize("text", TEXTS)
def test_the_original_is_as_good_as_it_gets(made: tuple[Plan, Microdata], text: str) -> None:
    measure = call(text).measure
    figure = evaluate_records(call(text), release(made, 0))
    if measure.name in NEEDS_SEVERAL | NEEDS_CHANGE:
        assert np.isnan(figure.value) and figure.note, "what is undefined says why"
        return
    assert not np.isnan(figure.value), figure.note
    if measure.kind == "utility":
        assert figure.value == (1.0 if measure.better == "higher" else 0.0)
    else:
        assert figure.value >= 0 or measure.better == "higher"


@pytest.mark.parametrize("text", [text for text in TEXTS if text not in NEEDS_SEVERAL])
def test_more_exchange_is_no_more_useful_and_no_riskier(made: tuple[Plan, Microdata], text: str) -> None:
    measure = call(text).measure
    least = 10 if measure.name in NEEDS_CHANGE else 0
    few, many = (measure.loss(np.array([value(text, release(made, n))]))[0] for n in (least, 70))
    assert np.isfinite([few, many]).all()
    if measure.kind == "utility":
        assert many >= few
    else:
        assert many <= few + 0.15 * abs(few), "an exchange of nearly all records does not raise what intruders find"


@pytest.mark.parametrize("text", TEXTS)
def test_equal_tables_are_as_one(made: tuple[Plan, Microdata], text: str) -> None:
    one, three = value(text, release(made, 40)), value(text, release(made, 40, tables=3))
    if call(text).measure.name in NEEDS_SEVERAL:
        assert np.isnan(one) and three == 0
    else:
        assert three == pytest.approx(one, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("text", TEXTS)
def test_the_order_of_records_does_not_matter(made: tuple[Plan, Microdata], tmp_path: Path, text: str) -> None:
    order = np.random.default_rng(5).permutation(N)
    lines = records()
    turned = data_of([lines[i] for i in order], tmp_path, "b.csv")
    back = np.argsort(order)
    a = value(text, release(made, 40))
    b = value(text, release(turned, 40, source=back[partners(40)[order]]))
    assert b == pytest.approx(a, rel=1e-6, abs=1e-9, nan_ok=True)
