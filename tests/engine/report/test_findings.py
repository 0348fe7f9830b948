"""Findings against independent counting, and what they may never hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from engine.errors import EngineError
from engine.plan import DecisionPlan, SpacePlan
from engine.report.answers import risk_sentence, ten_questions, utility_words
from engine.report.findings import BOARD, Findings, read_board
from engine.report.gather import findings
from engine.report.safe import WITHHELD_WORDS, two_digits
from tests.engine.report.conftest import MEASURES, MECHANISMS, Case, N, case_of, plan_of, raw_table


def codes(case: Case) -> tuple[np.ndarray, np.ndarray]:
    data = case.made.data
    return np.column_stack(data.codes), np.column_stack([case.made.codes(j) for j in range(len(data.domain))])


def column(case: Case, name: str) -> np.ndarray:
    raw = case.made.data.raw.columns[name]
    return np.array([float(raw.values[int(c)].as_py()) for c in raw.codes])


def test_exposure_is_recounted_record_by_record(case: Case):
    old, new = codes(case)
    before, after = Counter(map(tuple, old.tolist())), Counter(map(tuple, new.tolist()))
    same = (old == new).all(axis=1)
    found = case.found.exposure
    assert found.small_before == sum(before[tuple(row)] < 3 for row in old.tolist())
    assert found.small_after == sum(after[tuple(row)] < 3 for row in new.tolist())
    exposed = np.array([after[tuple(row)] < 3 and kept for row, kept in zip(new.tolist(), same.tolist(), strict=True)])
    assert found.unaltered_after == exposed.sum()
    assert (found.ones_before, found.twos_before) == tuple(sum(n == k for n in before.values()) for k in (1, 2))
    group = next(g for g in found.groups if g.group.startswith("B: "))
    level = case.made.data.domain.attributes[1].levels.index(group.group.removeprefix("B: "))
    assert group.people == int((old[:, 1] == level).sum())
    assert group.after == int(exposed[old[:, 1] == level].sum())


def test_eq_6_is_the_count_of_unaltered_records_and_no_share(case: Case):
    row = case.found.measures[0]
    assert row.unit == "records"
    assert row.released == case.found.exposure.unaltered_after
    assert row.before == case.found.exposure.small_before
    share = case.made.figures["small_cells"]
    assert share not in set(numbers(json.loads(case.found.to_json())))


def test_percentages_weighted_and_not(case: Case):
    old, new = codes(case)
    weight = column(case, "w")
    domain = case.made.data.domain
    for weighted, by in ((False, np.ones(N)), (True, weight)):
        rows = [r for r in case.found.utility.shares if r.weighted == weighted and r.table == "A × B"]
        assert rows
        for r in rows:
            level = [domain.attributes[j].levels.index(t) for j, t in enumerate(r.level.split(", "))]
            here, there = ((c[:, :2] == level).all(axis=1) for c in (old, new))
            assert r.before == pytest.approx(100 * by[here].sum() / by.sum())
            assert r.after == pytest.approx(100 * by[there].sum() / by.sum())
            assert r.n == here.sum()
            if r.before and r.relative is not None:
                assert r.relative == pytest.approx((r.after - r.before) / r.before)
                assert r.flagged == (r.n > 45 and abs(r.relative) > 0.1)
    for weighted in (False, True):
        two = [r for r in case.found.utility.shares if r.weighted == weighted and " × " in r.table]
        for enough in (True, False):
            sizes = [abs(r.relative) for r in two if r.relative is not None and (r.n > 45) == enough]
            assert sizes == sorted(sizes, reverse=True)


def test_means_and_correlations(case: Case):
    old, new = codes(case)
    x, y, w = (column(case, name) for name in "xyw")
    rows = {(r.column, r.group, r.weighted): r for r in case.found.utility.means}
    assert rows["x", "all records", False].before == pytest.approx(x.mean())
    assert rows["x", "all records", True].after == pytest.approx(np.average(x, weights=w))
    level = case.made.data.domain.attributes[0].levels[1]
    got = rows["x", f"A: {level}", False]
    assert got.before == pytest.approx(x[old[:, 0] == 1].mean())
    assert got.after == pytest.approx(x[new[:, 0] == 1].mean())
    assert got.errors == pytest.approx(abs(got.after - got.before) / (x[old[:, 0] == 1].std(ddof=1) / np.sqrt(got.n)))
    (pair,) = case.found.utility.correlations
    assert pair.before == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_associations_against_scipy(case: Case):
    old, new = codes(case)
    names = case.made.data.domain.names
    for row in case.found.utility.associations:
        i, j = names.index(row.first), names.index(row.second)
        for table, got in ((old, row.before), (new, row.after)):
            counts = np.zeros((table[:, i].max() + 1, table[:, j].max() + 1))
            np.add.at(counts, (table[:, i], table[:, j]), 1)
            phi2 = chi2_contingency(counts, correction=False).statistic / N
            wanted = np.sqrt(phi2 / (1 + phi2)) if "C" in row.statistic[-1] else np.sqrt(phi2 / (min(counts.shape) - 1))
            assert got == pytest.approx(wanted)


def test_hellinger_and_small_share(case: Case):
    old, new = codes(case)
    before, after = Counter(map(tuple, old.tolist())), Counter(map(tuple, new.tolist()))
    found = case.found.utility.distance
    total = sum((np.sqrt(after[c]) - np.sqrt(before[c])) ** 2 for c in {*before, *after})
    large = sum((np.sqrt(after[c]) - np.sqrt(before[c])) ** 2 for c in before if before[c] >= 3)
    assert found.hellinger == pytest.approx(np.sqrt(total / 2 / N)) == case.made.figures["hellinger"]
    assert found.hellinger_large == pytest.approx(np.sqrt(large / 2 / N))
    assert found.small_cells == pytest.approx(sum(n < 3 for n in before.values()) / len(before))


def test_coefficients_by_least_squares(case: Case):
    rows = case.found.utility.coefficients
    old, new = codes(case)
    x = column(case, "x")

    def fit(table: np.ndarray) -> np.ndarray:
        design = [np.ones(N), table[:, 0] == 1, table[:, 0] == 2, table[:, 1] == 1, table[:, 3] == 1]
        return np.linalg.lstsq(np.column_stack(design).astype(float), x, rcond=None)[0]

    by_name = {row.name: row for row in rows}
    for k, name in enumerate(("Intercept", "A: a1", "A: a2", "B: b1", "D: d1")):
        assert by_name[name].before == pytest.approx(fit(old)[k])
        assert by_name[name].after == pytest.approx(fit(new)[k])
    for row in rows:
        assert row.shift is not None and row.ratio is not None
        assert row.flagged == (row.shift > 1.96 or not 1 / 1.1 <= row.ratio <= 1.1)


def test_named_table_checks_and_certificate(case: Case):
    old, new = codes(case)
    (table,) = case.found.utility.tables
    counts = Counter(map(tuple, new[:, :2].tolist()))
    levels = [case.made.data.domain.attributes[j].levels for j in (0, 1)]
    for row in table.rows:
        assert row.after == counts[levels[0].index(row.levels[0]), levels[1].index(row.levels[1])]
    by_name = {check.name: check for check in case.found.checks}
    assert by_name["One-way tables kept"].holds
    assert by_name["Other columns identical"].holds
    rule = by_name["Edit rule “no a0 with c3”"]
    broken = [int(((t[:, 0] == 0) & (t[:, 2] == 3)).sum()) for t in (old, new)]
    assert rule.found == f"Broken by {broken[0]:,} records before and {broken[1]:,} after."
    moved = any(
        not np.allclose(np.bincount(o, column(case, "w")), np.bincount(n, column(case, "w")))
        for o, n in zip(old.T, new.T, strict=True)
    )
    assert by_name["Calibration totals"].holds is not moved
    assert case.found.certificate.figures == case.found.certificate.equal


def test_a_figure_that_was_not_made_again_shows_in_the_certificate(case: Case):
    from engine.report.gather import findings

    other = replace(case.made, figures={**case.made.figures, "hellinger": 0.999})
    certificate = findings(case.study, other).certificate
    assert certificate.equal == certificate.figures - 1


def test_the_map_compares_with_the_recommended_one(case: Case):
    at = case.found.map
    mine = next(c for c in at.candidates if c.recommended)
    assert mine.letter == "A" and [c.letter for c in at.candidates if c is not mine] == list(
        "BCDEFG"[: len(at.candidates) - 1]
    )
    for c in at.candidates:
        assert None not in (c.risk, c.utility, mine.risk, mine.utility)
        if not c.recommended:
            assert c.safer_by == pytest.approx(float(mine.risk or 0) - float(c.risk or 0))
            assert c.more_useful_by == pytest.approx(float(mine.utility or 0) - float(c.utility or 0))
    assert len(at.frontier) == at.n_frontier
    (spread, _) = at.spreads
    assert spread.least is not None and spread.mean is not None and spread.most is not None
    assert spread.least <= spread.mean <= spread.most
    assert spread.released == case.found.exposure.unaltered_after


def test_json_comes_back_equal_and_nothing_else_is_read(case: Case):
    text = case.found.to_json()
    assert Findings.from_json(text) == case.found
    plain = json.loads(text)
    for damage, words in (
        ({**plain, "rate": "0.05"}, "holds 'rate'"),
        ({k: v for k, v in plain.items() if k != "map"}, "lacks 'map'"),
        ({**plain, "format": 99}, "format 99"),
        ({**plain, "checks": {}}, "should be a list"),
        ({**plain, "cover": {**plain["cover"], "survey": 3}}, "must be str"),
        ({**plain, "cover": {**plain["cover"], "path": "/tmp"}}, "holds 'path'"),
    ):
        with pytest.raises(EngineError, match=words):
            Findings.from_json(json.dumps(damage))
    with pytest.raises(EngineError, match="no JSON"):
        Findings.from_json("{")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: b["measures"][0].update(mean=float("nan")), "plain figures"),
        (lambda b: b["map"].update(nothing_risk=float("inf")), "plain figures"),
        (lambda b: b["design"].update(n_records=10**400), "too large a number"),
        (lambda b: b["measures"][0].update(mean=10**400), "too large a number"),
        (lambda b: b["map"].update(candidates=[]), "one candidate"),
        (
            lambda b: b["map"]["candidates"].extend([{**b["map"]["candidates"][0], "recommended": True}] * 2),
            "one candidate",
        ),
        (lambda b: b["recommendation"].update(letter="?"), "one candidate"),
    ],
)
def test_a_hostile_file_is_refused_in_a_sentence(case: Case, change: Any, words: str):
    plain = json.loads(case.found.to_json())
    change(plain)
    with pytest.raises(EngineError, match=words):
        Findings.from_json(json.dumps(plain))


@pytest.mark.parametrize("text", ["[" * 200_000, '{"format": ' + "9" * 5000 + "}", '{"format": 1e999}', "NaN"])
def test_endless_lists_and_numbers_are_refused_in_a_sentence(text: str):
    with pytest.raises(EngineError, match="plain figures"):
        Findings.from_json(text)


def test_a_file_that_is_far_too_large_is_not_read(tmp_path: Path):
    with (tmp_path / BOARD).open("wb") as file:
        file.truncate(1 << 30)  # takes no room on the disk
    with pytest.raises(EngineError, match="larger than any"):
        read_board(tmp_path)


def test_a_bundle_is_found_by_its_folder(case: Case, tmp_path: Path):
    with pytest.raises(EngineError, match="no bundle for the board"):
        read_board(tmp_path)
    (tmp_path / "member").mkdir()
    (tmp_path / "member" / BOARD).write_text(case.found.to_json(), encoding="utf-8")
    assert read_board(tmp_path) == read_board(tmp_path / "member") == read_board(tmp_path / "member" / BOARD)
    (tmp_path / BOARD).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EngineError, match="cannot be read"):
        read_board(tmp_path)


# -- what a member may not see ---------------------------------------------------------------------------------------


def leaves(plain: Any) -> Iterator[Any]:
    if isinstance(plain, dict | list):
        for item in plain.values() if isinstance(plain, dict) else plain:
            yield from leaves(item)
    else:
        yield plain


def numbers(plain: Any) -> Iterator[float]:
    return (leaf for leaf in leaves(plain) if isinstance(leaf, float))


PLANS = {
    "plain": plan_of(),
    "one attribute": plan_of(
        space=SpacePlan(swap_sizes=(1,), rates=("0.1139",), replicates=4), decision=DecisionPlan(slope="0.3")
    ),
    "fixed": plan_of(
        space=SpacePlan(swap_sizes=(1,), fix=("D",), rates=("0.0719",), replicates=4), edits=(), tables=()
    ),
    "keys": plan_of(keys=("A", "B"), measures=("small_cells[n_rule=5]", "total_variation"), analyses=()),
    "rds": plan_of(
        mechanisms=(MECHANISMS["rds"],), space=SpacePlan(rates=("0.0719",), replicates=4), keys=("A", "B", "C")
    ),
    "pram": plan_of(mechanisms=(MECHANISMS["pram"],), space=SpacePlan(rates=("0.0719",), replicates=4)),
}
WHY = (
    "LABEL at 5.37% (0.2113, 21.13 percent, 0.0719, 11.39 %, 7.31 %, 0.9317) beats x0123, see A:S B:F, replicate 1, "
    "/home/someuser/study.study, key 0123456789abcdef0123456789abcdef"
)


@pytest.mark.parametrize("name", PLANS)
def test_a_member_sees_no_rate_no_name_no_key_and_no_path(name: str, tmp_path: Path):
    case = case_of(tmp_path, PLANS[name], WHY)
    text = case.found.to_json()
    plain = json.loads(text)
    study = case.study
    for scenario in study.scenarios:
        assert scenario.label not in text
        assert str(scenario.spec) not in text
    assert not {float(rate) for rate in study.plan.space.rates}.intersection(numbers(plain))
    words = " ".join(leaf for leaf in leaves(plain) if isinstance(leaf, str))
    for secret in ("/home", "someuser", "study.study", "0123456789abcdef", ":S", ":F", "/data/", "secret-source"):
        assert secret not in words, secret
    for rate in case.made.spec.rate, *(v for m in study.plan.mechanisms for _, vs in m.grid for v in vs if "." in v):
        if len(rate) > 4:
            for form in (rate, f"{100 * float(rate):g} %", f"{100 * float(rate):g}%", f"{100 * float(rate):g} percent"):
                assert f" {form}" not in words
    assert "replicate" not in words
    assert "voters.csv" in words
    if case.made.spec.mechanism == "random_swap":
        records = {"altered", "changed", "records_changed", "rate", "spec", "replicate", "key", "seed"}
        assert not records.intersection(keys_of(plain)) - {"changed", "key"}


def keys_of(plain: Any) -> set[str]:
    if isinstance(plain, dict):
        return set(plain) | {k for v in plain.values() for k in keys_of(v)}
    return {k for v in plain for k in keys_of(v)} if isinstance(plain, list) else set()


def test_other_candidates_are_only_roughly_placed(case: Case):
    from engine.report.standing import stand

    view = stand(case.study, case.made).view
    exact = set(np.round(view.utility_loss, 12).tolist())
    off = [u for u, _ in case.found.map.others if round(u, 12) in exact]
    assert len(off) <= 2  # the ends of the grid are places of candidates


def test_measures_of_the_plan_are_all_there(case: Case):
    assert len(case.found.measures) == len(MEASURES) + 1  # edit rules are counted without being asked for


def test_departures_and_changes_are_told_without_rates(tmp_path: Path):
    from engine.plan import TolerancePlan
    from engine.plan.lock import lock
    from engine.plan_changes import change_plan
    from engine.report.gather import findings

    case = case_of(tmp_path, lock(plan_of(decision=DecisionPlan()), "DRB-1", "Grace"))
    assert (case.found.approved.number, case.found.approved.departures) == ("DRB-1", ())
    old = case.study.plan
    rates = (*old.space.rates, "0.3197")
    new = replace(old, tolerances=TolerancePlan("0.07"), space=replace(old.space, rates=rates))
    change_plan(case.study, new, why="the board asked for 31.97 %", by="someuser", grow=True)
    found = findings(case.study, case.made).approved
    assert len(found.departures) == 2 and "Different: the swap rates" in found.departures
    assert any("Tolerances change" in text and "0.07" in text for text in found.departures)
    said = [words for _, words in found.changes if words.startswith("A deviation")]
    assert len(said) == 1 and "[withheld]" in said[0]
    text = case.found.to_json() + findings(case.study, case.made).to_json()
    assert not any(secret in text for secret in ("0.3197", "31.97", "0.0537", "Grace", "someuser"))


def test_a_choice_of_another_candidate_is_no_recommendation_of_this_one(case: Case, tmp_path: Path):
    from engine.describe import remade
    from engine.report.gather import findings
    from tests.engine.report.conftest import raw_table

    label = case.study.decisions[-1].label
    other = next(s for s in case.study.scenarios if s.label != label)
    found = findings(case.study, remade(case.study, raw_table(), other.label, 1))
    assert not found.recommendation.recorded and found.cover.state == "none" and found.cover.recommended == ""


def test_among_many_attributes_only_unchanged_pairs_are_passed_over(case: Case, monkeypatch: pytest.MonkeyPatch):
    from engine.records import RecordRelease, ReleasedTable
    from engine.report import shares

    release = RecordRelease(ReleasedTable(case.made.data), case.made.tables, case.study.plan)
    every = shares.associations(release, range(4))
    monkeypatch.setattr(shares, "_MANY", 2)
    some = shares.associations(release, range(4))
    old, new = codes(case)
    changed = {case.made.data.domain.names[j] for j in range(4) if (old[:, j] != new[:, j]).any()}
    assert set(some) == {row for row in every if changed.intersection((row.first, row.second))}
    assert 0 < len(some) < len(every)
    assert all(row.before == row.after for row in every if row not in some)


def test_on_a_sparse_table_no_distance_gives_the_rate_away(tmp_path: Path):
    import pyarrow as pa

    from engine.describe import remade
    from engine.microdata import RawColumn, RawTable
    from engine.plan import AttributePlan, DataPlan, Plan
    from engine.report.gather import findings
    from engine.sweep import sweep

    rng, n = np.random.default_rng(3), 307
    levels = pa.array([f"v{k}" for k in range(4)])
    raw = RawTable(
        {f"q{j}": RawColumn(f"q{j}", levels, rng.integers(0, 4, n).astype(np.int32)) for j in range(9)}, n, "s"
    )
    attributes = tuple(AttributePlan(name) for name in raw.names)
    space = SpacePlan(specs=("q0:S", "q1:S"), rates=("0.0873",), replicates=2)
    plan = Plan(DataPlan(attributes), space=space, measures=("small_cells", "hellinger", "total_variation"))
    with sweep(raw, plan, tmp_path / "sparse.study", workers=1) as study:
        made = remade(study, raw, study.scenarios[0].label, 1)
        share = made.changed.mean()
        # nothing cancels here, so the exact distances would be the share of records changed, and its root
        assert made.figures["total_variation"] == pytest.approx(share)
        assert made.figures["hellinger"] == pytest.approx(np.sqrt(share))
        found = findings(study, made)
    figures = np.array(list(numbers(json.loads(found.to_json()))))
    rows = [row for row in found.measures if row.title in ("Hellinger distance", "Total variation distance")]
    assert len(rows) == 2
    for row in rows:
        assert (row.mean, row.se, row.released) == (None, None, None) and WITHHELD_WORDS in row.meaning
    assert found.utility.distance.hellinger is None
    why = WITHHELD_WORDS.partition(": ")[2]
    assert any(f"withheld ({why})" in line for answer in ten_questions(found) for line in answer.lines)
    at = found.map
    assert at.utility_title == "Hellinger distance, to one digit" and at.spreads[1].mean is None
    on_map = [c.utility for c in at.candidates] + [u for u, _ in (*at.frontier, *at.others)]
    assert on_map and all(u is not None and (10 * u) == pytest.approx(round(10 * u)) for u in on_map)
    assert all(c.utility_se is None for c in at.candidates)
    assert all(len(utility_words(found, c)) == 3 for c in at.candidates)  # "0.3"
    assert "about" in risk_sentence(found)
    # nor do two digits of the share, of its root or of the number of records stand anywhere
    told = np.concatenate([two_digits(np.array([share, np.sqrt(share)])), [round(share * 307), 307 - share * 307]])
    assert not np.isclose(figures[:, None], told, rtol=1e-9).any()
    assert not (np.isclose(figures, share, rtol=1e-6) | np.isclose(figures, np.sqrt(share), rtol=1e-6)).any()


def test_a_caution_that_fresh_runs_have_answered_is_gone(tmp_path):
    from engine.keys import key_path, read_key
    from engine.rerun import reevaluate

    case = case_of(tmp_path, plan_of(measures=("small_cells", "hellinger"), analyses=(), edits=()))
    warned = "Its figures are those that led to the choice; it has not been run again on fresh draws."
    assert warned in case.found.recommendation.cautions
    reevaluate(
        case.study,
        raw_table(),
        read_key(key_path(case.study.path)),
        [case.study.find(case.study.decisions[-1].label)[0].place],
        3,
    )
    assert warned not in findings(case.study, case.made).recommendation.cautions
    case.study.close()
