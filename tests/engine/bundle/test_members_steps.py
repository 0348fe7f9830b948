"""A members' bundle of a random swap is never refused for what its figures tell: the last step tells none that depends
on the rate, and at the steps before it members learn how bad the worst loss is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.bundle import members
from engine.bundle.members import told_to_members
from engine.bundle.members_attack import FACTOR, attack_members_bundle
from engine.bundle.members_classes import class_evidence
from engine.bundle.members_evidence import Member
from engine.bundle.refusal import Refused
from engine.decision.choice import choose
from engine.models.rate_likelihood import likely_rates
from engine.plan import SpacePlan
from engine.plan.samples import load
from engine.report.build_findings import findings
from engine.report.coarse_counts import count
from engine.report.coarsening import NAMED_WORST, WIDE_CLASSES, coarsened
from engine.report.describe import remade
from engine.report.exposed_counts import direction
from engine.report.findings import Findings
from engine.report.memo import memo
from engine.report.rate_facts import AT_LEAST_ONE, COUNTS, STEPS, Counts, Range, Step
from engine.report.slides import slides
from engine.report.tables import tables_bytes
from engine.study.keys import key_path
from engine.study.map_reader import risk_utility_map
from engine.sweeps.sweep import sweep
from tests.browser.steps import KEY
from tests.engine.bundle.members_case import Swept, swept

pytestmark = pytest.mark.slow  # whole bundles are made

LAST: tuple[Step, Counts] = (STEPS[-1], COUNTS[-1])


def recommended_of(folder: Path, sample: str, bound: str, space: SpacePlan, key: str) -> Findings:
    """What the chair sees of the candidate with the last of the rates."""
    raw, plan = load(sample)
    plan = replace(plan, space=space, decision=replace(plan.decision, max_risk=bound))
    path = folder / f"{sample}.study"
    key_path(path).write_text(key)
    with sweep(raw, plan, path, workers=1) as study:
        label = next(one.label for one in study.scenarios if one.spec.rate == space.rates[-1])
        choice = choose(study, risk_utility_map(study), "by the rule", candidate=label, by="somebody")
        return findings(study, remade(study, raw, choice.label, choice.replicate))


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """The candidate that the tour recommends, under the tour's key."""
    space = SpacePlan(specs=("religious:S occ:S",), rates=("0.01", "0.1"), replicates=20)
    return recommended_of(tmp_path_factory.mktemp("tour"), "fair", "0.125", space, KEY)


@pytest.fixture(scope="module")
def by_rate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Swept]]:
    """The same file, swapped at a low and at a high rate."""
    made = {rate: swept(tmp_path_factory.mktemp("rate"), rate) for rate in ("0.02", "0.4")}
    yield made
    for one in made.values():
        one.study.close()


def test_the_bundle_of_the_tour_is_written(tour: Findings) -> None:
    """Nine tenths of its runs meet the bound and the riskiest one does not, so that counts to one digit tell the rate
    within a factor of three however little is said of changes."""
    assert tour.recommendation.run is not None and tour.recommendation.run.within == 18
    low, high = attack_members_bundle(coarsened(tour, "tables", "without groups").to_json()).counts
    assert low > 0 and high < FACTOR * low
    told, attacks = told_to_members(tour, 0.1)
    again = attack_members_bundle(told.to_json())
    assert again.leaves_enough and again.both[0] <= 0.1 <= again.both[1]
    assert (attacks["changes"], attacks["counts"]) == ("classes without figures", "without runs")


def _leaves(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{where}.{name}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{where}.{number}")
    else:
        yield where, value


DECISIONS = ("within", "within_bound", "low", "high", "n_within", "riskier_than_nothing", "place", "as_safe")
"""What a board must know of how the run and its siblings stand to the bound and to doing nothing."""


def _depends(by_rate: dict[str, Findings]) -> set[str]:
    """Names of what differs between bundles at two rates."""
    one, other = (dict(_leaves(json.loads(board.to_json()))) for board in by_rate.values())
    differing = {where for where in one.keys() | other.keys() if one.get(where) != other.get(where)}
    return {where for where in differing if where.rpartition(".")[2] not in DECISIONS}


def _without_words(board: Findings) -> Findings:
    """Without the log and cautions, whose words are about the decision."""
    recommendation = replace(board.recommendation, cautions=(), obstacles=())
    return replace(board, recommendation=recommendation, approved=replace(board.approved, changes=()))


def test_the_last_step_holds_no_figure_that_depends_on_the_rate(by_rate: dict[str, Swept]) -> None:
    whole = {rate: _without_words(made.findings) for rate, made in by_rate.items()}
    told = {rate: coarsened(board, *LAST) for rate, board in whole.items()}
    changed = _depends(told)
    assert {where for where in changed if not where.startswith((".utility.changes.", ".recognised.few_keys."))} == set()
    # of changes only whether a declared analysis or table has a flagged figure, without any size
    for board in told.values():
        for row in board.utility.changes:
            assert row.kind in ("coefficient", "cell") and row.level == AT_LEAST_ONE
            assert (row.n, row.before, row.relative, row.errors) == (None,) * 4
        assert attack_members_bundle(board.to_json()).both == (0.0, 1.0)
    # and so little only there
    assert len(_depends({rate: coarsened(board, "tables", "without runs") for rate, board in whole.items()})) > 10


def _one_through(board: Findings, whole: Findings) -> Iterator[Findings]:
    """Bundles of the last step that each let one figure of the release through."""
    exposure, utility, board_map = whole.exposure, whole.utility, whole.map
    yield replace(board, exposure=replace(board.exposure, unaltered_after=exposure.unaltered_after))
    yield replace(board, exposure=replace(board.exposure, cells_after=exposure.cells_after))
    yield replace(board, utility=replace(board.utility, distance=utility.distance))
    yield replace(board, utility=replace(board.utility, tallies=utility.tallies))
    yield replace(board, map=replace(board.map, candidates=board_map.candidates))
    yield replace(board, map=replace(board.map, spreads=board_map.spreads))
    yield replace(board, measures=whole.measures)
    yield replace(board, recommendation=replace(board.recommendation, run=whole.recommendation.run))


def test_a_last_step_that_lets_one_figure_through_is_seen(by_rate: dict[str, Swept]) -> None:
    whole = {rate: _without_words(made.findings) for rate, made in by_rate.items()}
    mutants = [_one_through(coarsened(board, *LAST), board) for board in whole.values()]
    allowed = (".utility.changes.", ".recognised.few_keys.")
    for number, pair in enumerate(zip(*mutants, strict=True)):
        seen = {where for where in _depends(dict(zip(whole, pair, strict=True))) if not where.startswith(allowed)}
        assert seen, f"mutant {number}"


def test_a_last_step_with_counts_of_runs_is_refused(tour: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack rejects a step that withholds everything but the run's counts and those of its siblings."""

    def leaky(board: Findings, step: Step, counts: Counts) -> Findings:
        told = coarsened(board, step, counts)
        shown = coarsened(board, step, "without groups")
        run = replace(shown, exposure=shown.exposure, members_rate=replace(told.members_rate, counts="without groups"))
        return run if counts in ("without runs", "withheld") else told

    monkeypatch.setattr(members, "coarsened", leaky)
    with pytest.raises(Refused, match="within a factor of less than 3"):
        told_to_members(tour, 0.1)


GRID = [
    (sample, bound, spec, rate, key)
    for sample, bound, spec in (
        ("czech", "0.002", "B:S"),
        ("czech", "0.002", "C:S D:S"),
        ("fair", "0.125", "age:S"),
        ("fair", "0.125", "occ:S affair:S"),
    )
    for rate, key in (("0.02", "one"), ("0.1", "two"), ("0.3", "one"), ("0.6", "two"))
]


@pytest.mark.slow
@pytest.mark.parametrize(("sample", "bound", "spec", "rate", "key"), GRID)
def test_no_rate_makes_a_bundle_that_is_refused(
    sample: str, bound: str, spec: str, rate: str, key: str, tmp_path: Path
) -> None:
    space = SpacePlan(specs=(spec,), rates=("0.01", rate), replicates=20)
    secret = hashlib.sha256(key.encode()).hexdigest()[:32]
    told, attacks = told_to_members(recommended_of(tmp_path, sample, bound, space, secret), float(rate))
    low, high = attack_members_bundle(told.to_json()).both
    assert high >= FACTOR * low and low <= float(rate) <= high
    assert list(attacks["tried"].values())[-1]["both"] == [round(low, 4), round(high, 4)]


def test_members_learn_how_bad_the_worst_loss_is(tour: Findings) -> None:
    told = coarsened(tour, "worst", "without runs")
    sized = [row for row in told.utility.changes if row.errors is not None]
    assert told.utility.changes[:NAMED_WORST] == tuple(sized) and len(sized) == NAMED_WORST
    worst = tour.utility.losses[0]
    first = next(row for row in sized if (row.table, row.level) == (worst.of, worst.what))
    assert first.errors == Range(2.0, 20.0) and 2 <= (worst.errors or 0) < 20
    assert all((row.errors or Range(0, 0)).low in WIDE_CLASSES and row.before is row.relative is None for row in sized)
    others = told.utility.changes[NAMED_WORST:]
    assert all(row.level == AT_LEAST_ONE and row.flagged for row in others)
    assert "changes by 2 to 20 standard errors" in repr(memo(told).sections)


def test_others_than_the_worst_are_named_by_their_table_alone(by_rate: dict[str, Swept]) -> None:
    told = coarsened(by_rate["0.4"].findings, "worst", "one digit").utility.changes
    flagged = {(row.kind, row.table) for row in coarsened(by_rate["0.4"].findings, "tables").utility.changes}
    assert {(row.kind, row.table) for row in told} == flagged and len(told) == len(flagged) > NAMED_WORST
    assert all((row.level == AT_LEAST_ONE) is (row.errors is None) for row in told)


def test_what_the_class_of_the_worst_says_of_all_others_is_attacked(tour: Findings) -> None:
    """If the worst of all changes by less than 2 standard errors, most records stayed as they were."""
    told = coarsened(tour, "worst", "withheld")
    small = tuple(replace(row, errors=Range(0.0, 2.0), flagged=False) for row in told.utility.changes[:1])
    for rows, has_end in ((small, True), (tuple(replace(row, errors=Range(20.0, None)) for row in small), False)):
        evidence = class_evidence(Member(replace(told, utility=replace(told.utility, changes=rows))))
        assert (evidence is not None and likely_rates(evidence)[1] < 0.5) is has_end


@pytest.mark.parametrize(("step", "counts"), [("worst", "without runs"), ("tables", "withheld"), LAST])
def test_documents_say_what_is_withheld(tour: Findings, step: Step, counts: Counts) -> None:
    told = Findings.from_json(coarsened(tour, step, counts).to_json())
    text = " ".join(repr([document.sections for document in (memo(told), slides(told))]).split())
    assert tables_bytes(told) and "equal as shown" not in text and "figure(None" not in text
    is_withheld = counts == "withheld"
    assert ("in the release of candidate A is withheld" in text) is is_withheld
    assert ("No unaltered record stands in a small cell." in text) is False
    assert ("How many figures are beyond the tolerances is withheld" in text) is (step == "analyses")
    assert "No figure that users would compute changes" not in text


@pytest.mark.parametrize(
    ("before", "after", "counts", "wanted"),
    [
        (733, 566, "exact", "fewer"),
        (733, 740, "exact", "more"),
        (733, 733, "exact", "as many"),
        (733, 660, "one digit", "about as many"),
        (590, 560, "one digit", "about as many"),
        (560, 590, "one digit", "about as many"),
        (733, 560, "one digit", "fewer"),
        (733, 900, "one digit", "more"),
        (733, 900, "withheld", "withheld"),
    ],
)
def test_a_rounded_count_says_no_more_than_it_knows(
    tour: Findings, before: int, after: int, counts: Counts, wanted: str
) -> None:
    exposure = replace(tour.exposure, small_before=before, unaltered_after=after)
    told = coarsened(replace(tour, exposure=exposure), "tables", counts)
    assert counts == "withheld" or told.exposure.unaltered_after == (after if counts == "exact" else count(after, 1))
    assert direction(told) == wanted
