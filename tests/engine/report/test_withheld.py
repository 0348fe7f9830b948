"""What findings may never hold: nothing in them tells how many records were altered, or whose study it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engine.data.microdata import RawColumn, RawTable
from engine.plan import AttributePlan, DataPlan, DecisionPlan, Plan, SpacePlan
from engine.report.answers import risk_sentence, ten_questions
from engine.report.build_findings import findings
from engine.report.candidate_words import utility_words
from engine.report.context import report_context
from engine.report.describe import remade
from engine.report.redaction import WITHHELD_WORDS, two_digits
from engine.sweeps.sweep import sweep
from tests.engine.report.conftest import MECHANISMS, Case, case_of, plan_of
from tests.engine.report.recount import leaves, numbers

PLANS = {
    "plain": plan_of(),
    "one attribute": plan_of(
        space=SpacePlan(swap_sizes=(1,), rates=("0.1139",), replicates=10), decision=DecisionPlan(slope="0.3")
    ),
    "fixed": plan_of(
        space=SpacePlan(swap_sizes=(1,), fix=("D",), rates=("0.0719",), replicates=10), edits=(), tables=()
    ),
    "keys": plan_of(keys=("A", "B"), measures=("small_cells[n_rule=5]", "total_variation"), analyses=()),
    "rds": plan_of(
        mechanisms=(MECHANISMS["rds"],), space=SpacePlan(rates=("0.0719",), replicates=10), keys=("A", "B", "C")
    ),
    "pram": plan_of(mechanisms=(MECHANISMS["pram"],), space=SpacePlan(rates=("0.0719",), replicates=10)),
}
WHY = (
    "LABEL at 5.37% (0.2113, 21.13 percent, 0.0719, 11.39 %, 7.31 %, 0.9317) beats x0123, see A:S B:F, replicate 1, "
    "/home/someuser/study.study, key 0123456789abcdef0123456789abcdef"
)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_a_member_sees_no_rate_no_name_no_key_and_no_path(name: str, tmp_path: Path):
    case = case_of(tmp_path, PLANS[name], WHY)
    text = case.findings.to_json()
    plain = json.loads(text)
    study = case.study
    for scenario in study.scenarios:
        assert scenario.label not in text
        assert str(scenario.spec) not in text
    assert not {float(rate) for rate in study.plan.space.rates}.intersection(numbers(plain))
    words = " ".join(leaf for leaf in leaves(plain) if isinstance(leaf, str))
    for secret in ("/home", "someuser", "study.study", "0123456789abcdef", ":S", ":F", "/data/", "secret-source"):
        assert secret not in words, secret
    for rate in (
        case.realisation.spec.rate,
        *(v for m in study.plan.mechanisms for _, vs in m.grid for v in vs if "." in v),
    ):
        if len(rate) > 4:
            for form in (rate, f"{100 * float(rate):g} %", f"{100 * float(rate):g}%", f"{100 * float(rate):g} percent"):
                assert f" {form}" not in words
    assert "replicate" not in words
    assert "voters.csv" in words
    if case.realisation.spec.mechanism == "random_swap":
        records = {"altered", "changed", "records_changed", "rate", "spec", "replicate", "key", "seed"}
        assert not records.intersection(keys_of(plain)) - {"changed", "key"}


def keys_of(plain: Any) -> set[str]:
    if isinstance(plain, dict):
        return set(plain) | {k for v in plain.values() for k in keys_of(v)}
    return {k for v in plain for k in keys_of(v)} if isinstance(plain, list) else set()


def test_other_candidates_are_only_roughly_placed(case: Case):
    view = report_context(case.study, case.realisation).view
    exact = set(np.round(view.utility_loss, 12).tolist())
    off = [u for u, _ in case.findings.map.others if round(u, 12) in exact]
    assert len(off) <= 2  # the ends of the grid are places of candidates


@pytest.mark.slow
def test_on_a_sparse_table_no_distance_gives_the_rate_away(tmp_path: Path):
    rng, n = np.random.default_rng(3), 307
    levels = pa.array([f"v{k}" for k in range(4)])
    raw = RawTable(
        {f"q{j}": RawColumn(f"q{j}", levels, rng.integers(0, 4, n).astype(np.int32)) for j in range(9)}, n, "s"
    )
    attributes = tuple(AttributePlan(name) for name in raw.names)
    space = SpacePlan(specs=("q0:S", "q1:S"), rates=("0.0873",), replicates=10)
    plan = Plan(DataPlan(attributes), space=space, measures=("small_cells", "hellinger", "total_variation"))
    with sweep(raw, plan, tmp_path / "sparse.study", workers=1) as study:
        realisation = remade(study, raw, study.scenarios[0].label, 1)
        share = realisation.changed.mean()
        # nothing cancels here, so the exact distances would be the share of records changed, and its root
        assert realisation.figures["total_variation"] == pytest.approx(share)
        assert realisation.figures["hellinger"] == pytest.approx(np.sqrt(share))
        report = findings(study, realisation)
    figures = np.array(list(numbers(json.loads(report.to_json()))))
    rows = [row for row in report.measures if row.title in ("Hellinger distance", "Total variation distance")]
    assert len(rows) == 2
    for row in rows:
        assert (row.mean, row.se, row.released) == (None, None, None) and WITHHELD_WORDS in row.meaning
    assert report.utility.distance.hellinger is None
    why = WITHHELD_WORDS.partition(": ")[2]
    assert any(f"withheld ({why})" in line for answer in ten_questions(report) for line in answer.lines)
    at = report.map
    assert at.utility_title == "Hellinger distance, to one digit" and at.spreads[1].mean is None
    on_map = [c.utility for c in at.candidates] + [u for u, _ in (*at.frontier, *at.others)]
    assert on_map and all(u is not None and (10 * u) == pytest.approx(round(10 * u)) for u in on_map)
    assert all(c.utility_se is None for c in at.candidates)
    assert all(len(utility_words(report, c)) == 3 for c in at.candidates)  # "0.3"
    assert "about" in risk_sentence(report)
    # nor do two digits of the share, of its root or of the number of records stand anywhere
    withheld = np.concatenate([two_digits(np.array([share, np.sqrt(share)])), [round(share * 307), 307 - share * 307]])
    assert not np.isclose(figures[:, None], withheld, rtol=1e-9).any()
    assert not (np.isclose(figures, share, rtol=1e-6) | np.isclose(figures, np.sqrt(share), rtol=1e-6)).any()
