"""What gets installed: the wheel carries the samples and the glossary, the lock pins everything and names no place."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Collection
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
TEST_LOCK = (ROOT / "requirements-test.lock").read_text(encoding="utf-8")
LEFT_OUT = {"pydeck"}
"""What Streamlit asks for and only its maps need."""


def normalised(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match
    return re.sub(r"[-_.]+", "-", match[0]).lower()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        yield archive


def test_only_the_two_packages_are_at_the_top(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"engine", "frontier_app"}


def test_samples_and_glossary_travel_inside_the_engine(wheel):
    samples = {
        f"engine/_shipped/datasets/{path.relative_to(ROOT / 'datasets').as_posix()}"
        for path in (ROOT / "datasets").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "engine/_shipped/datasets/make_survey.py" in samples
    shipped = {name for name in wheel.namelist() if name.startswith("engine/_shipped/")}
    assert shipped == samples | {"engine/_shipped/GLOSSARY.md"}
    assert wheel.read("engine/_shipped/GLOSSARY.md") == (ROOT / "docs" / "GLOSSARY.md").read_bytes()


@pytest.mark.parametrize("folder", ["engine/report/templates", "engine/bundle/templates"])
def test_templates_travel_beside_their_readers(folder, wheel):
    shipped = {name: wheel.read(name) for name in wheel.namelist() if name.startswith(f"{folder}/")}
    assert shipped and shipped == {f"{folder}/{path.name}": path.read_bytes() for path in (ROOT / folder).iterdir()}


def test_the_dashboards_settings_travel_with_it(wheel):
    assert wheel.read("frontier_app/.streamlit/config.toml") == (ROOT / ".streamlit" / "config.toml").read_bytes()


def test_every_package_says_that_it_is_one(wheel):
    names = set(wheel.namelist())
    modules = [name for name in names if name.endswith(".py") and "/_shipped/" not in name]
    folders = {name.rsplit("/", 1)[0] for name in modules}
    assert [folder for folder in sorted(folders) if f"{folder}/__init__.py" not in names] == []


def test_both_packages_tell_type_checkers_that_they_are_typed(wheel):
    assert {"engine/py.typed", "frontier_app/py.typed"} <= set(wheel.namelist())


def test_the_command_is_installed(wheel):
    (entry_points,) = [name for name in wheel.namelist() if name.endswith("/entry_points.txt")]
    assert "frontier = engine.cli.main:command" in wheel.read(entry_points).decode()


def pins(lock: str) -> list[str]:
    """The entries of a lock, each with its hashes."""
    return re.split(r"\n(?=\S)", lock.strip())


def needed(declared: list[str]) -> set[str]:
    """Names of everything that requirements bring along here, by what the installed packages ask for."""
    names: set[str] = set()
    waiting = [one for one in map(Requirement, declared) if wanted(one)]
    while waiting:
        one = waiting.pop()
        if normalised(one.name) not in names or one.extras:
            names.add(normalised(one.name))
            waiting += [each for each in map(Requirement, requires(one.name) or []) if wanted(each, one.extras)]
    return names


def wanted(requirement: Requirement, extras: Collection[str] = ()) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def test_the_lock_for_tests_pins_every_requirement():
    requirements = [
        *PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"]["test"],
        *PROJECT["dependency-groups"]["build"],
        *PROJECT["build-system"]["requires"],
    ]
    pinned = {normalised(pin) for pin in pins(TEST_LOCK)}
    assert {normalised(requirement) for requirement in requirements} <= pinned


def test_the_lock_pins_what_the_program_needs_and_nothing_else():
    optional = PROJECT["project"]["optional-dependencies"]
    declared = [*PROJECT["project"]["dependencies"], *optional["pdf"], *PROJECT["dependency-groups"]["build"]]
    here = needed(declared) - LEFT_OUT
    pinned = {normalised(pin) for pin in pins(LOCK) if (one := Requirement(first_line(pin))) and wanted(one)}
    assert pinned == here


def first_line(pin: str) -> str:
    return pin.partition(" --hash")[0].replace("\\", "").strip()


def test_both_locks_name_the_same_files():
    assert set(pins(LOCK)) < set(pins(TEST_LOCK))


def test_the_demo_installs_no_tools_of_tests():
    """Half of what tests need in space and in number of packages is of no use to somebody who looks at the demo."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = dict(re.findall(r"^([\w()$]+): (.*\n(?:\t.*\n|#.*\n)*)", makefile, flags=re.MULTILINE))
    assert rules["demo"].startswith("$(READY)\n")
    assert "requirements.lock" in rules["$(READY)"] and "requirements-test.lock" not in rules["$(READY)"]
    assert rules["lint"].startswith("$(TEST_READY)\n") and rules["$(TEST_READY)"].startswith("requirements-test.lock")
    assert "--quiet" not in rules["$(READY)"] + rules["$(TEST_READY)"]


@pytest.mark.parametrize("lock", [LOCK, TEST_LOCK], ids=["requirements.lock", "requirements-test.lock"])
def test_a_lock_has_hashes_and_names_no_place(lock):
    assert all(re.match(r"[\w.-]+==\S+", pin) and "--hash=sha256:" in pin for pin in pins(lock))
    assert "://" not in lock
    assert not re.search(r"^--?[a-z]", lock, flags=re.MULTILINE)
