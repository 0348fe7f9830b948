"""A study of records that are read by streaming is exported, verified and replayed as one of records in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine.bundle import export, replay
from engine.bundle.apply import apply
from engine.bundle.readers import AttackSucceeded, Refused
from engine.bundle.released_files import SecondPass
from engine.bundle.verify import verify
from engine.common.errors import EngineError, UsageError
from engine.common.streams import derive
from engine.data.io.readers import read_table
from engine.data.io.stream import open_stream
from engine.data.microdata import RawTable
from engine.decision.choice import choose, gate_now
from engine.decision.verdict_log import STREAMED
from engine.measures.turned_back import turned_back
from engine.measures.verdict import Verdict
from engine.plan import Plan, plan_from_toml
from engine.plan.coding import code, tabulate
from engine.report.detected import attack_choice
from engine.study.decision_log import entries
from engine.study.keys import key_path, read_key
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study
from engine.sweeps.evaluator import question_of
from engine.sweeps.remake import remake, stream_of
from engine.sweeps.sweep import sweep
from tests.small_tables import KEY
from tests.streamed_sources import records, small_pieces, write_source

pytestmark = pytest.mark.slow  # a study and whole bundles

PLAN = """
[data]
carry = ["note"]
id = "case"
weight = "weight"
[[attribute]]
name = "age"
cut = [25, 55]
[[attribute]]
name = "job"
on_missing = "level"
[[attribute]]
name = "sex"
[space]
specs = ["age:S", "age:S job:S"]
rates = ["0.1", "0.2"]
replicates = 2
[measures]
names = ["small_cells", "hellinger"]
"""
N = 500


def people(path: Path, **columns: pa.Array) -> Path:
    """A Parquet file of records with an id and a weight; ``columns`` replace others."""
    table = records(N).drop_columns(["income"])
    table = table.append_column("case", pa.array([str(10_000_000 + 7 * k) for k in range(N)]))
    table = table.append_column("weight", pa.array(np.random.default_rng(2).gamma(2, 1, N).round(3)))
    notes = pa.array([f"n{k}" for k in np.random.default_rng(3).permutation(N)])
    for name, values in {"note": notes, **columns}.items():
        table = table.set_column(table.column_names.index(name), name, values)
    return write_source(path, "parquet", table, [], 100)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RawTable]:
    """A folder with a study of streamed records, and these."""
    return swept(tmp_path_factory.mktemp("streamed"))


def swept(folder: Path, plan: Plan | None = None, **columns: pa.Array) -> tuple[Path, RawTable]:
    plan = plan or plan_from_toml(PLAN)
    key_path(folder / "people.study").write_text(derive(KEY, "study").hex()[:32])
    raw = tabulate(open_stream(people(folder, **columns)), plan)
    sweep(raw, plan, folder / "people.study", workers=1).close()
    return folder, raw


@pytest.fixture
def study(home: tuple[Path, RawTable]) -> Iterator[Study]:
    with Study.open(home[0] / "people.study") as opened:
        yield opened


def a_candidate(study: Study) -> str:
    return f"{study.scenarios[3].label}/2"


def test_steps_are_told(home: tuple[Path, RawTable], study: Study, tmp_path: Path) -> None:
    told: list[str] = []
    export(study, home[1], a_candidate(study), tmp_path / "out", formats=("csv",), tell=lambda m: told.append(m.text))
    assert told == [
        STREAMED,
        "writing the analyst bundle",
        "reading the records a second time",
        "writing the release in its new order",
        "reading 'release.csv' back",
    ]


@pytest.fixture(scope="module")
def bundle(home: tuple[Path, RawTable]) -> Path:
    with Study.open(home[0] / "people.study") as opened, small_pieces(60, 100, 2048):
        return export(opened, home[1], a_candidate(opened), home[0] / "bundle", include=("weight", "id"))


def test_the_bundle_verifies(bundle: Path) -> None:
    problems = [problem for check in verify(bundle) for problem in check.problems]
    assert problems == []
    names = {path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()}
    assert names == {
        "SHA256SUMS",
        "release/release.csv",
        "release/release.parquet",
        *(
            f"internal/{name}"
            for name in (
                *("manifest.json", "seed-annex.json", "decision-log.json", "self-attack.json"),
                *("candidates.csv", "pairs.parquet", "plan.toml", "REPLAY.txt"),
            )
        ),
    }


def test_the_manifest_counts_what_was_swapped(bundle: Path, home: tuple[Path, RawTable]) -> None:
    manifest = json.loads((bundle / "internal" / "manifest.json").read_text(encoding="utf-8"))
    pairs = parquet.read_table(bundle / "internal" / "pairs.parquet")
    assert pairs.column_names == ["first", "second"]
    original = parquet.read_table(home[0] / "people.parquet")
    first, second = (original.take(pairs[name]) for name in ("first", "second"))
    ages = [np.digitize(side["age"].to_numpy(), [25, 55]) for side in (first, second)]
    jobs = [np.array(side["job"].fill_null("").to_pylist()) for side in (first, second)]
    changed = 2 * int(((ages[0] != ages[1]) | (jobs[0] != jobs[1])).sum())
    assert manifest["records_changed"] == changed
    assert len(pairs) == 50
    assert manifest["n_records"] == N


def test_new_ids_are_numbers_in_the_new_order_and_old_ones_are_gone(bundle: Path, home: tuple[Path, RawTable]) -> None:
    released = parquet.read_table(bundle / "release" / "release.parquet")
    original = parquet.read_table(home[0] / "people.parquet")
    assert released.column_names == original.column_names
    assert released["case"].to_pylist() == list(range(1, N + 1))
    notes = original["note"].to_pylist()
    order = [notes.index(note) for note in released["note"].to_pylist()]
    assert sorted(order) == list(range(N))
    assert released["weight"].to_pylist() == original["weight"].take(order).to_pylist()
    assert released["sex"].to_pylist() == original["sex"].take(order).to_pylist()
    assert released["job"].to_pylist() != original["job"].take(order).to_pylist()


def test_it_replays_bit_for_bit_and_tells_a_changed_file(
    bundle: Path, home: tuple[Path, RawTable], tmp_path: Path
) -> None:
    result = replay(bundle, open_stream(home[0] / "people.parquet"), tmp_path / "again")
    assert result.differs == ()
    assert result.same == ("release.csv", "release.parquet")
    for name in result.same:
        assert (tmp_path / "again" / "release" / name).read_bytes() == (bundle / "release" / name).read_bytes()
    with pytest.raises(UsageError, match="belongs to other data"):
        replay(bundle, read_table(home[0] / "people.parquet"))


def test_the_order_of_another_bundle_is_used_again(
    bundle: Path, home: tuple[Path, RawTable], study: Study, tmp_path: Path
) -> None:
    again = export(study, home[1], f"{study.scenarios[0].label}/1", tmp_path / "b", same_order_as=bundle)
    notes = [parquet.read_table(b / "release" / "release.parquet")["note"] for b in (bundle, again)]
    assert notes[0] == notes[1]


@pytest.mark.parametrize("tier", ["board", "all"])
def test_bundles_that_need_records_are_refused_with_what_is_possible(
    home: tuple[Path, RawTable], study: Study, tmp_path: Path, tier: str
) -> None:
    with pytest.raises(UsageError, match=r"read by streaming.*export the analyst's bundle"):
        export(study, home[1], a_candidate(study), tmp_path / "out", tier=tier)
    with pytest.raises(UsageError, match="must be one of csv, parquet for data that are read by streaming"):
        export(study, home[1], a_candidate(study), tmp_path / "out", formats=("csv", "sav"))
    assert list(tmp_path.iterdir()) == []


def test_an_external_file_is_not_brought_in_line(bundle: Path, home: tuple[Path, RawTable], tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="read by streaming"):
        apply(bundle, read_table(home[0] / "people.parquet"), "case", tmp_path / "linked")


def test_nothing_is_left_where_what_was_written_is_wrong(
    home: tuple[Path, RawTable], study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = SecondPass.rows

    def twice(self: SecondPass) -> Iterator[pa.RecordBatch]:
        for batch in rows(self):
            yield batch.slice(1)
            yield batch.slice(batch.num_rows - 1)

    monkeypatch.setattr(SecondPass, "rows", twice)
    n_entries = len(entries(study))
    with pytest.raises(EngineError, match="does not hold the table that was measured"):
        export(study, home[1], a_candidate(study), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    assert len(entries(study)) == n_entries


OLD = [str(10_000_000 + 7 * k) for k in range(N)]


@pytest.mark.parametrize(
    ("note", "what"),
    [
        (pa.array([OLD[k] if k % 9 == 0 else "" for k in range(N)]), "the original ids of records"),
        (pa.array([str(20_000_000 + 9 * k) for k in range(N)]), "values in the order of the original ids"),
        (pa.array([-3.5 * k for k in range(N)]), "values in the order of the original ids"),
    ],
)
def test_original_ids_in_a_carried_column_refuse_the_bundle(tmp_path: Path, note: pa.Array, what: str) -> None:
    folder, raw = swept(tmp_path, note=note)
    with Study.open(folder / "people.study") as study, pytest.raises(Refused, match=f"column 'note' holds {what}"):
        export(study, raw, a_candidate(study), folder / "out", formats=("parquet",))
    assert not (folder / "out").exists()


def test_its_words_promise_nothing_that_streaming_does_not_give(bundle: Path) -> None:
    assert "frontier apply" not in (bundle / "internal" / "REPLAY.txt").read_text(encoding="utf-8")
    attack = json.loads((bundle / "internal" / "self-attack.json").read_text(encoding="utf-8"))
    assert (attack["made"], attack["why"], attack["verdict"]["kind"]) == (False, STREAMED, "untried")
    assert attack["guessed"]["tried"] and not attack["guessed"]["telling"]


@pytest.mark.parametrize(("rate", "severity"), [("0.3", "none"), ("0.7", "serious"), ("0.92", "refused")])
def test_values_that_the_release_gives_back_are_counted_as_of_records_in_memory(
    tmp_path: Path, rate: str, severity: str
) -> None:
    text = PLAN.replace('"age:S", "age:S job:S"', '"sex:S"').replace('"0.1", "0.2"', f'"{rate}"')
    plan = plan_from_toml(text.replace("replicates = 2", "replicates = 10"))
    folder, raw = swept(tmp_path, plan)
    whole = read_table(folder / "people.parquet")
    told: list[str] = []
    with Study.open(folder / "people.study") as study:
        (scenario,) = study.scenarios
        data = code(whole, plan)
        choice = choose(study, risk_utility_map(study), "by hand", candidate=scenario.label)
        derived = stream_of(read_key(key_path(study.path)), scenario.spec, data, choice.replicate)
        in_memory = turned_back(remake(data, question_of(plan, data, study.measures), scenario.spec, derived).tables)
        verdict = attack_choice(study, raw, read_key(key_path(study.path)), [scenario.index])
        assert in_memory is not None and verdict is not None
        assert verdict == (in_memory.verdict if severity != "none" else Verdict("untried", why=STREAMED))
        assert "not_attacked" in [each.kind for each in gate_now(study, choice)]
        candidate = f"{scenario.label}/{choice.replicate}"
        if severity == "refused":
            with pytest.raises(AttackSucceeded, match="original values of 'sex'"):
                export(study, raw, candidate, folder / "out", formats=("csv",))
            return
        export(study, raw, candidate, folder / "out", formats=("csv",), tell=lambda m: told.append(m.text))
    guessed = json.loads((folder / "out" / "internal" / "self-attack.json").read_text(encoding="utf-8"))["guessed"]
    assert guessed["severity"] == severity == in_memory.verdict.severity
    assert guessed.items() >= in_memory._asdict().items()
    assert any("original values of 'sex'" in text for text in told) == (severity != "none")
