"""Errors of the database are sentences; what is damaged or cut short is found."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.common.errors import EngineError, UsageError
from engine.common.untrusted import from_json
from engine.decision.choice import choose
from engine.decision.states import decision_status
from engine.report.sentences import counted_runs
from engine.study import database
from engine.study import runs as aggregate_cache
from engine.study.database import Database, errors_in_words, is_cut_short, new_in_memory, write_new
from engine.study.decision_log import entries
from engine.study.map_reader import risk_utility_map
from engine.study.study import Study, pin, pins
from engine.sweeps.sweep import add_measures, recheck, sweep
from tests import forked
from tests.engine.small_studies import RAW, ROOT, keyed, plan_of, swept, table_of
from tests.small_tables import KEY


@pytest.fixture
def path(tmp_path) -> Path:
    """Where a study goes whose key is known."""
    return keyed(tmp_path / "s.study")


def naming(name: str):
    return lambda db: db.execute(f"create table {name} (a)")


def test_new_studies_have_large_pages_also_copies_of_those_in_memory(tmp_path):
    write_new(tmp_path / "x", naming("first"))
    with Database(None, new_in_memory(naming("first"))) as study:
        study.copy_to(tmp_path / "y")
    for name in "xy":
        with closing(sqlite3.connect(tmp_path / name)) as db:
            assert db.execute("pragma page_size").fetchone() == (8192,)


@pytest.mark.parametrize("links", [True, False])
def test_of_two_that_make_one_file_at_once_the_first_stays(tmp_path, monkeypatch, links):
    path = tmp_path / "x"

    def no_link(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    if not links:
        monkeypatch.setattr(os, "link", no_link)

    def late(db: sqlite3.Connection) -> None:
        write_new(path, naming("first"))
        naming("second")(db)

    with pytest.raises(
        UsageError, match="'x' exists already; choose another path or, if another process has just made"
    ):
        write_new(path, late)
    with sqlite3.connect(path) as db:
        assert db.execute("select name from sqlite_master").fetchall() == [("first",)]
    db.close()
    assert [file.name for file in tmp_path.iterdir()] == ["x"]


@pytest.mark.slow
def test_of_two_sweeps_that_begin_at_once_one_goes_on_and_the_other_says_so(tmp_path):
    for round in range(4):
        path = keyed(tmp_path / f"{round}.study")
        command = ["-m", "engine", "sweep", "czech", "--study", str(path), "--workers", "1"]
        both = [forked.start(command) for _ in range(2)]
        said = [(process.communicate(timeout=120), process.returncode) for process in both]
        assert 0 in [code for _, code in said]
        for (_, words), code in said:
            if code:
                last = words.strip().splitlines()[-1]
                assert "if another process has just made it" in last or "another sweep (process" in last, words
                assert "Traceback" not in words
        with Study.open(path) as study:
            assert study.progress.state == "finished" and study.progress.done == len(study.runs.results())


READING = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no file can grow, as on a full disk
from engine.cli.main import main
sys.exit(main(["status", sys.argv[1]]) or main(["show", sys.argv[1], "--format", "csv"]))
"""


def read_where_no_file_can_grow(path: Path) -> str:
    said = subprocess.run(
        [sys.executable, "-B", "-c", READING, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert said.returncode == 0, said.stderr
    return said.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows cannot limit the sizes of files; run the tests on Linux or macOS")
def test_a_study_is_read_where_no_file_can_grow(path):
    swept(path, plan_of())
    assert not Path(f"{path}-wal").exists()
    before = path.read_bytes()
    assert read_where_no_file_can_grow(path).count("\n") == 2 + 1 + 20
    assert path.read_bytes() == before


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows cannot limit the sizes of files; run the tests on Linux or macOS")
def test_a_study_that_a_killed_sweep_left_is_read_where_no_file_can_grow(path, tmp_path):
    script = tmp_path / "left.py"
    script.write_text(
        "import os, sys; from engine.sweeps.sweep import sweep; from pathlib import Path\n"
        "from tests.engine.small_studies import RAW, plan_of\n"
        "study = sweep(RAW, plan_of(), Path(sys.argv[1]), workers=1)\n"
        "os._exit(0)"
    )
    process = forked.start([str(script), str(path)])
    assert process.communicate(timeout=60) == ("", "") and process.returncode == 0
    assert Path(f"{path}-wal").stat().st_size
    Path(f"{path}-shm").unlink()  # as after a copy of the two files
    assert read_where_no_file_can_grow(path).count("\n") == 2 + 1 + 20


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0,
    reason="rights do not bind root, nor anybody on Windows; run the tests as a plain user on Linux or macOS",
)
def test_a_study_is_read_in_a_folder_that_may_not_be_written_to(tmp_path):
    (tmp_path / "folder").mkdir()
    path = keyed(tmp_path / "folder" / "s.study")
    swept(path, plan_of())
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with Study.open(path) as study:
            assert len(study.runs.results()) == 80
    finally:
        path.parent.chmod(0o700)


def complaint(code: int, text: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "free", "words"),
    [
        (sqlite3.SQLITE_FULL, 10**12, "could not be written: the disk is full; free some space"),
        (sqlite3.SQLITE_IOERR_WRITE, 0, "could not be written: the disk is full; free some space"),
        (sqlite3.SQLITE_IOERR_READ, 10**12, "could not be read where it lies (why); see to the disk"),
        (sqlite3.SQLITE_IOERR_WRITE, 10**12, "could not be written where it lies (why); see to the disk"),
        (sqlite3.SQLITE_READONLY, 10**12, "is read-only; copy it to a folder you may write to"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, 10**12, "is locked by another program; wait for it or close it"),
        (sqlite3.SQLITE_CANTOPEN, 10**12, "cannot be opened: its folder does not exist or may not be written to"),
        (sqlite3.SQLITE_CORRUPT, 10**12, "is damaged: why; restore it from a copy"),
        (sqlite3.SQLITE_ERROR, 10**12, "is damaged: why; restore it from a copy"),
    ],
)
def test_only_a_full_disk_is_called_full(tmp_path, monkeypatch, code, free, words):
    monkeypatch.setattr(database, "_room", lambda path: free)
    with pytest.raises(EngineError) as got, errors_in_words(tmp_path / "s.study"):
        raise complaint(code, "why")
    assert str(got.value).startswith(f"study 's.study' {words}")


def test_room_is_asked_for_where_the_file_lies(tmp_path):
    assert database._room(tmp_path / "s.study") > 2**20
    assert database._room(tmp_path / "none" / "s.study") == database._LITTLE_ROOM


@pytest.mark.slow
def test_a_study_that_is_opened_twice_in_a_process_keeps_the_first_ones_locks(path):
    """Else the next process to close it takes its log away, and what the first one reads and writes is lost."""
    swept(path, plan_of())
    counting = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "db.execute('update run set total = total + 1000'); db.close()"
    )
    with Study.open(path) as first:
        before = first.progress.total
        Study.open(path).close()
        for times in (1, 2):
            subprocess.run([sys.executable, "-c", counting, str(path)], check=True)
            assert first.progress.total == before + 1000 * times


PAGE = 8192


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, bytes]]:
    """A study with what it had stored before it was killed, by the kind of journal that was left beside it."""
    folder = tmp_path_factory.mktemp("killed")
    path = keyed(folder / "s.study")
    sweep(RAW, plan_of(space={"replicates": 40}), path, workers=1).close()
    found = {}
    for mode, ending in (("wal", "-wal"), ("delete", "-journal")):
        at = folder / f"{mode}.study"
        shutil.copy(path, at)
        with closing(sqlite3.connect(at, isolation_level=None)) as db:
            db.execute(f"pragma journal_mode = {mode}")
            db.execute("pragma cache_size = 1")  # so that changed pages are written before the transaction ends
            db.execute("create table more (text)")
            db.execute("insert into more values (zeroblob(50000))")
            db.execute("begin")
            db.execute("insert into more values (zeroblob(60000))")
            db.execute("update more set text = zeroblob(70000)")
            if mode == "wal":
                db.execute("commit")
            found[ending] = (at.read_bytes(), Path(f"{at}{ending}").read_bytes())
    return found


def left(folder: Path, study: bytes, beside: bytes, ending: str) -> Path:
    path = keyed(folder / "left.study")
    for name in ("", "-wal", "-journal", "-shm"):
        Path(f"{path}{name}").unlink(missing_ok=True)
    path.write_bytes(study)
    if beside:
        Path(f"{path}{ending}").write_bytes(beside)
    return path


def outcome(path: Path) -> str:
    """Whether it is refused when it is opened; what is not must be whole."""
    try:
        Study.open(path).close()
    except EngineError as error:
        return "damaged" if "damaged" in str(error) else str(error)
    try:
        with closing(sqlite3.connect(path)) as db:
            return str(db.execute("pragma integrity_check(1)").fetchone()[0])
    except sqlite3.Error as error:
        return f"opened, but {error}"


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_what_was_left_by_a_kill_is_whole(ending: str, halves: dict[str, tuple[bytes, bytes]], tmp_path: Path):
    study, beside = halves[ending]
    path = left(tmp_path, study, beside, ending)
    assert beside and not is_cut_short(path) and outcome(path) == "ok"


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_a_study_cut_short_is_whole_again_or_damaged(
    ending: str, halves: dict[str, tuple[bytes, bytes]], tmp_path: Path
):
    study, beside = halves[ending]
    found = set()
    for pages in range(1, len(study) // PAGE, max(1, len(study) // PAGE // 12)):
        for more in (0, 100):
            found.add(said := outcome(left(tmp_path, study[: pages * PAGE + more], beside, ending)))
            assert said in ("ok", "damaged"), (pages, more)
    assert "damaged" in found


def test_a_study_cut_short_without_a_journal_is_damaged(halves: dict[str, tuple[bytes, bytes]], tmp_path: Path):
    for n in (PAGE, 3 * PAGE + 7, len(halves["-wal"][0]) // 2):
        assert outcome(left(tmp_path, halves["-wal"][0][:n], b"", "")) == "damaged"


def test_a_log_or_journal_that_is_none_says_nothing(tmp_path: Path):
    path = tmp_path / "a.study"
    path.write_bytes(bytes(100))
    for ending in ("-wal", "-journal"):
        for content in (b"", b"x" * 10, b"x" * 100, bytes(40)):
            Path(f"{path}{ending}").write_bytes(content)
            assert not is_cut_short(path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A study with everything that a study can hold, in one file."""
    path = keyed(tmp_path_factory.mktemp("whole") / "s.study")
    with sweep(RAW, plan_of(space={"replicates": 10}), path, workers=1) as study:
        recheck(study, RAW, KEY, [0, 3], 3)
        add_measures(study, RAW, KEY, ["false_zeros"], workers=1)
        view = risk_utility_map(study)
        choose(study, view, "small enough", candidate=study.scenarios[3].label, by="A. Chair")
        pin(study, study.scenarios[3].label, "third")
    one_file(path)
    return path


def one_file(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("pragma journal_mode = delete")


def seen(path: Path) -> dict[str, Any]:
    """All that a person is shown of a study's figures."""
    with Study.open(path) as study:
        view = risk_utility_map(study)
        found = {
            "runs": table_of(study),
            "kept": [a.tobytes() for a in (*vars(view.summary).values(), view.dominance.share, view.dominance.clear)],
            "original": study.original,
            "fresh": [column.tobytes() for column in vars(study.runs.results("fresh")).values()],
            "one": [counted_runs(study, place, True).tobytes() for place in range(3)],
            "notes": [study.notes.of(place) for place in range(3)],
            "choices": [vars(choice) for choice in study.choices.all()],
            "log": [vars(entry) for entry in entries(study)],
            "state": decision_status(study).state,
            "n": study.about["n_records"],
            "measures": [str(call) for call in study.measures],
        }
        pins(study)
    return found


def outcome_of_damaged(path: Path, expected: dict[str, Any]) -> str:
    """same, refused, or which figures are others without a word."""
    try:
        found = seen(path)
    except EngineError as error:
        assert "\n" not in str(error) and len(str(error)) < 600
        return "refused"
    return ", ".join(name for name in expected if found[name] != expected[name]) or "same"


def turned(content: bytes, bit: int) -> bytes:
    made = bytearray(content)
    made[bit // 8] ^= 1 << bit % 8
    return bytes(made)


def flips(whole: Path, at: Path, bits: list[int]) -> dict[str, int]:
    expected, content, counts = seen(whole), whole.read_bytes(), {"same": 0, "refused": 0}
    for bit in bits:
        for left in at.parent.glob(f"{at.name}-*"):
            left.unlink()
        at.write_bytes(turned(content, bit))
        got = outcome_of_damaged(at, expected)
        assert got in counts, f"bit {bit} changed {got} without a word"
        counts[got] += 1
    return counts


@pytest.mark.slow
def test_a_turned_bit_changes_no_figure_without_a_word(whole, tmp_path):
    """A third of them where figures lie, for most of a file is room."""
    content = whole.read_bytes()
    rng = random.Random(6)
    bits = rng.sample(range(8 * len(content)), 400)
    with Study.open(whole) as study:
        figures = study.runs.results().values
    for value in rng.sample(figures[np.isfinite(figures) & (figures % 1 != 0)].tolist(), 60):
        at = content.find(np.array(value, ">f8").tobytes())
        assert at > 0
        bits.append(8 * at + rng.randrange(64))
    counts = flips(whole, keyed(tmp_path / "s.study"), bits)
    assert counts["refused"] >= 5 and counts["same"] >= 5


@pytest.mark.slow
def test_no_run_is_missed_where_a_page_leads_to_a_wrong_one(whole: Path, tmp_path: Path) -> None:
    """In the page above all runs: where each page below is, and the keys of the run between two of them."""
    content = whole.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    with closing(sqlite3.connect(whole)) as db:
        ((root,),) = db.execute("select rootpage from sqlite_master where name = 'realisation'")
    page = content[(root - 1) * size : root * size]
    assert page[0] == 2, "SQLite's kind of page that leads to others"
    pages = [*range(8, 12)]  # the last of them
    for k in range(int.from_bytes(page[3:5], "big")):
        cell = int.from_bytes(page[12 + 2 * k : 14 + 2 * k], "big")
        pages += range(cell, cell + 32)  # a page, the kind and length of each value, scenario and replicate
    bits = [8 * ((root - 1) * size + byte) + bit for byte in pages for bit in range(8)]
    counts = flips(whole, keyed(tmp_path / "s.study"), bits)
    assert counts["refused"] > len(bits) / 2


def test_a_run_that_damage_moved_to_another_scenario_is_missed_by_its_own(whole: Path, tmp_path: Path) -> None:
    path = keyed(tmp_path / "s.study")
    for other, which in ((1, "min"), (3, "max")):
        path.write_bytes(whole.read_bytes())
        with closing(sqlite3.connect(path)) as db:
            moved = f"(select {which}(replicate) from realisation where scenario = 2)"
            db.execute("delete from realisation where scenario = ?", (other,))
            db.execute(f"update realisation set scenario = ? where scenario = 2 and replicate = {moved}", (other,))
            db.commit()
        with Study.open(path) as study:
            assert len(study.runs.of([12]).scenario) == 10, "far from the damage"
            with pytest.raises(EngineError, match=r"the figures of 1 run \(small_cells, .*\) do not fit"):
                study.runs.of([2])


@pytest.mark.parametrize("number", ["'two'", "2.5", "x'02'"])
def test_a_run_whose_candidate_is_no_whole_number_is_damage_for_all_others(
    whole: Path, tmp_path: Path, number: str
) -> None:
    path = keyed(tmp_path / "s.study")
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"update realisation set scenario = {number} where scenario = 2 and replicate = 10")
        db.commit()
    with Study.open(path) as study, pytest.raises(EngineError, match="its runs are not in their order"):
        study.runs.of([12])


DEEP = "[" * 100_000
DAMAGE = {
    "a text for a figure": "update realisation set m0 = 'ten' where scenario = 2",
    "bytes for a figure": "update realisation set m1 = x'00ff' where scenario = 2",
    "another figure": "update realisation set m1 = m1 + 0.01 where scenario = 2",
    "a figure for none": "update realisation set m1 = null where scenario = 2",
    "another fresh figure": "update fresh set m4 = m4 + 0.5",
    "another replicate": "update realisation set replicate = 77 where scenario = 2 and replicate = 4",
    "no such candidate": "update realisation set scenario = 77 where scenario = 19",
    "no such status": "update realisation set status = 9 where scenario = 2",
    "a status that is no number": "update realisation set status = 'ok'",
    "no sum": "update realisation set crc0 = null where scenario = 2",
    "no column of sums": "alter table realisation drop column crc0",
    "no column of figures": "alter table realisation drop column m1",
    "no JSON": "update about set value = '{' where name = 'original'",
    "deep JSON": f"update about set value = '{DEEP}' where name = 'measures'",
    "a huge number": f"update about set value = '{'9' * 5000}' where name = 'n_records'",
    "another number of records": "update about set value = '99' where name = 'n_records'",
    "bytes for JSON": "update about set value = x'ff' where name = 'measures'",
    "no plan": "delete from about where name = 'plan'",
    "no measures": "delete from about where name = 'measures'",
    "no format": "delete from about where name = 'format'",
    "a format that is a list": "update about set value = '[1]' where name = 'format'",
    "an infinite format": "update about set value = 'Infinity' where name = 'format'",
    "no label": "update scenario set label = null where id = 3",
    "a bad label": "update scenario set label = 'ä/../x' where id = 3",
    "another label": "update scenario set label = 'x123456' where id = 3",
    "bad roles": "update scenario set roles = 'QQ' where id = 3",
    "a bad rate": "update scenario set rate = 'many' where id = 3",
    "bad parameters": "update scenario set params = '[1' where id = 3",
    "a candidate missing": "delete from scenario where id = 3",
    "a number that is none": "update run set done = 'many'",
    "a state that is none": "update run set state = 'asleep'",
    "nothing on the sweep": "delete from run",
    "a choice of none": "update decision set record = '['",
    "a choice of bytes": "update decision set why = x'00'",
    "a choice of no candidate": "update decision set scenario = 99",
    "a log that is no JSON": "update log set detail = '{'",
    "a deep log": f"update log set detail = '{DEEP}'",
    "a log without events": "update log set event = 'gossip'",
    "a log of bytes": "update log set digest = x'00' where number = 2",
    "a seal that is none": "update log_seal set length = 'all'",
    "a seal of bytes": "update log_seal set seal = x'ff'",
    "a pin of bytes": "update pin set name = x'ff'",
    **{
        f"no table {name}": f"drop table {name}"
        for name in ("about", "scenario", "realisation", "fresh", "run", "note", "decision")
    },
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_gets_one_sentence(whole, tmp_path, what):
    path = keyed(tmp_path / "s.study")
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as db:
        db.execute("delete from aggregate")  # else most would not be looked at
        db.execute(DAMAGE[what])
        db.commit()
    one_file(path)
    with pytest.raises(EngineError) as got:
        seen(path)
    assert "s.study" in str(got.value) or "decision log" in str(got.value)
    assert "\n" not in str(got.value) and len(str(got.value)) < 600


def test_the_sentence_says_what_to_do(whole, tmp_path):
    path = keyed(tmp_path / "s.study")
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as db:
        db.execute("update realisation set m1 = m1 + 0.01 where scenario = 2")
        db.commit()
    with Study.open(path) as study, pytest.raises(EngineError) as got:
        counted_runs(study, 2, True)
    assert str(got.value) == (
        "study 's.study' is damaged: the figures of 10 runs (small_cells, hellinger, total_variation, entropy_change)"
        " do not fit their check sums; restore it from a copy, or sweep it anew with the same key file, which gives the"
        " same figures"
    )


@pytest.mark.slow
def test_what_was_worked_out_and_is_damaged_is_worked_out_again(whole, tmp_path):
    expected = seen(whole)
    path = keyed(tmp_path / "s.study")
    for change in (
        "update aggregate set value = zeroblob(length(value)) where name like '%mean/%'",
        "delete from aggregate where name like '%share/%'",
        "update aggregate set name = replace(name, 'mean', 'meam')",
        "update aggregate set value = 'text'",
    ):
        path.write_bytes(whole.read_bytes())
        with closing(sqlite3.connect(path)) as db:
            db.execute(change)
            db.commit()
        assert outcome_of_damaged(path, expected) == "same", change


def test_arrays_of_other_measures_are_not_used(whole, tmp_path):
    """As a program left them that worked them out before a measure was added."""
    path = keyed(tmp_path / "s.study")
    path.write_bytes(whole.read_bytes())
    with Study.open(path) as study:
        before = [str(call) for call in study.measures][:-1]
        with study.database.transaction() as db:
            aggregate_cache.store(db, "fresh runs", {"values": np.zeros((6, 4))}, before)
        assert study.runs.results("fresh").values.shape == (6, 5)


def test_deep_json_is_no_json():
    for text in (DEEP, "{", None, b"{}", "9" * 5000):
        with pytest.raises(ValueError):
            from_json(text)
    assert from_json(json.dumps({"a": [1, None]})) == {"a": [1, None]}


@pytest.mark.parametrize("table", ["realisation", "fresh"])
def test_nothing_is_added_to_damaged_runs(whole: Path, tmp_path: Path, table: str):
    path = keyed(tmp_path / "s.study")
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as db:
        first = f"scenario = 0 and replicate = (select min(replicate) from {table})"
        db.execute(f"update {table} set scenario = '' where {first}")
        db.commit()
    with Study.open(path) as study, pytest.raises(EngineError, match=r"'s\.study'.* is damaged"):
        add_measures(study, RAW, KEY, ["r1_share"], workers=1)


@pytest.mark.parametrize(
    ("code", "kept"),
    [
        (sqlite3.SQLITE_FULL, True),
        (sqlite3.SQLITE_IOERR_WRITE, True),
        (sqlite3.SQLITE_CANTOPEN, False),
        (sqlite3.SQLITE_READONLY_DIRECTORY, False),
        (sqlite3.SQLITE_BUSY, None),
        (None, None),
    ],
)
def test_a_study_is_read_without_a_write_where_none_can_be_made_and_a_full_disk_is_remembered(
    code: int | None, kept: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    error, made = sqlite3.OperationalError("x"), SimpleNamespace(unwritten=None, close=lambda: None)
    if code is not None:
        error.sqlite_errorcode = code

    def look(_: object) -> None:
        raise error

    monkeypatch.setattr(database, "_connection", lambda _: made)
    monkeypatch.setattr(database, "_unwritten", lambda _: made)
    monkeypatch.setattr(database, "_look", look)
    if kept is None:
        with pytest.raises(sqlite3.OperationalError):
            database.connected(Path("x"))
    else:
        assert database.connected(Path("x")) is made and made.unwritten is (error if kept else None)


@pytest.mark.parametrize(
    ("size", "log", "is_short"),
    [(4096, None, False), (4095, None, True), (4095, b"", True), (4095, b"x", False), (4097, b"", False)],
)
def test_a_file_shorter_than_it_says_is_damaged_unless_a_log_has_the_rest(
    size: int, log: bytes | None, is_short: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.study"
    path.write_bytes(bytes(size))
    if log is not None:
        Path(f"{path}-wal").write_bytes(log)
    says: Any = SimpleNamespace(
        execute=lambda asked: SimpleNamespace(fetchone=lambda: (4,) if asked == "pragma page_count" else (1024,))
    )
    if is_short:
        with pytest.raises(EngineError, match="it was cut short"):
            database._check_length(path, says)
    else:
        database._check_length(path, says)


def test_pages_of_a_rollback_journal_are_those_that_it_holds_whole() -> None:
    header = bytes.fromhex("d9d505f920a163d7") + bytes(8) + (9).to_bytes(4) + (32).to_bytes(4) + (16).to_bytes(4)
    first, second, third = (number.to_bytes(4) + bytes(16 + 4) for number in (2, 5, 7))
    begun = header.ljust(32, b"\0") + first + second
    for content, pages in (
        (begun, {2, 5}),
        (begun + third[:-1], {2, 5}),
        (header.ljust(32, b"\0"), set()),
    ):
        found = database._journalled(BytesIO(content))
        assert found == (16, 9, pages)
    assert database._journalled(BytesIO(header[:-1])) is None
    assert database._journalled(BytesIO(header[:24] + bytes(4))) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are made on Linux and macOS; run it there")
@pytest.mark.parametrize("ending", ["-wal", "-journal", "-shm"])
def test_a_pipe_beside_a_study_is_refused_and_not_waited_for(
    ending: str, halves: dict[str, tuple[bytes, bytes]], tmp_path: Path
):
    path = left(tmp_path, halves["-wal"][0], b"", ending)
    os.mkfifo(f"{path}{ending}")
    assert outcome(path) == f"'left.study{ending}' is a named pipe, must be a file; take it away"
