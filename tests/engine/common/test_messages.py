"""A started command reports in JSON lines; the program that started it reads those and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine.common.output import Message, read_messages, report_json, report_words


def test_a_person_reads_sentences_and_a_program_the_same_messages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    messages = [
        Message("step", "attacking"),
        Message("note", "größe\nof \u001b"),
        Message("warning", "two"),
        Message("error", "refused", {"attack": "keys"}),
        Message("error", "not there", {"study": "a.study"}, "NEW_STUDY"),
    ]
    for message in messages:
        report_words(message)
    sentences = capsys.readouterr().err.splitlines()
    assert sentences[0] == "attacking" and sentences[-3:] == [
        "warning: two",
        "frontier: refused",
        "frontier: not there",
    ]
    for message in messages:
        report_json(message)
    log = tmp_path / "a.log"
    log.write_text("12 of 20 runs\n" + capsys.readouterr().err + 'Traceback\n[1]\n{"kind": "step"}\n{"kind": ', "utf-8")
    assert read_messages(log) == messages
    log.write_text(json.dumps({"kind": "note", "text": "of an earlier version", "values": {}}), "utf-8")
    assert read_messages(log) == [Message("note", "of an earlier version")]
    assert read_messages(tmp_path / "none") == []


@pytest.mark.slow
def test_a_defect_of_a_started_process_is_told_as_one(tmp_path: Path) -> None:
    code = (
        "import sys, runpy, engine.cli.main as cli\n"
        "cli.check_texts = lambda texts: 1 / 0\n"
        "sys.argv = ['engine', '-']\n"
        "runpy.run_module('engine', run_name='__main__', alter_sys=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=json.dumps(["version"]), capture_output=True, text=True)
    (tmp_path / "a.log").write_text(done.stderr)
    assert done.returncode == 1 and "Traceback" in done.stderr
    assert read_messages(tmp_path / "a.log") == [Message("fault", "ZeroDivisionError")]
