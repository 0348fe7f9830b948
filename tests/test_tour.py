"""The written tour: every page in its order, every picture there, small and described, and none left over."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from frontier_app.widgets.elements import STEPS
from tests.browser.steps import KEY, ROOT, environment, injected
from tests.browser.tour import SAME_KEY

DOCS = Path(__file__).parents[1] / "docs"
TEXT = (DOCS / "tour.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", TEXT)


def test_it_walks_through_the_pages_in_the_order_of_the_work():
    headings = re.findall(r"^## \d+\. (.+)$", TEXT, re.MULTILINE)
    assert headings == list(STEPS)
    assert [int(n) for n in re.findall(r"^## (\d+)\.", TEXT, re.MULTILINE)] == list(range(1, len(STEPS) + 1))


@pytest.mark.parametrize(("words", "path"), SHOWN, ids=[path for _, path in SHOWN])
def test_a_picture_is_there_small_and_described(words: str, path: str):
    content = (DOCS / path).read_bytes()
    assert content.startswith(b"\x89PNG\r\n") and len(content) < 200_000
    width, height = struct.unpack(">II", content[16:24])
    assert width == 1280 and 480 <= height <= 1500
    assert len(words) > 15


def test_every_picture_that_is_taken_is_shown_once():
    shown = [Path(path).name for _, path in SHOWN]
    assert sorted(shown) == sorted(path.name for path in (DOCS / "tour").glob("*.png"))
    taken = re.findall(r'picture\("([\w-]+)"\)', (DOCS.parent / "tests/browser/tour.py").read_text(encoding="utf-8"))
    assert shown == sorted(shown, key=lambda name: [f"{one}.png" for one in _order(taken)].index(name))
    assert {f"{one}.png" for one in taken} == set(shown)


def _order(taken: list[str]) -> list[str]:
    """The pictures as the text shows them: the board's answer is recorded once the board has seen its page."""
    moved = [one for one in taken if one != "decide-approved"]
    moved.insert(moved.index("decide-submitted") + 1, "decide-approved")
    return moved


def test_the_risk_is_not_read_as_a_chance():
    assert "**not** the chance that somebody is identified" in TEXT


@pytest.mark.slow
def test_a_sweep_that_the_dashboard_starts_finds_the_key_of_the_tour(tmp_path: Path):
    (tmp_path / "about.json").write_text("{}")
    with injected(tmp_path, SAME_KEY):
        env = {**environment(tmp_path), "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
        command = [sys.executable, "-P", "-m", "engine", "-"]
        subprocess.run(command, cwd=tmp_path, env=env, input="[]", capture_output=True, text=True, timeout=60)
    assert (tmp_path / "study-1.study.key").read_text() == KEY
