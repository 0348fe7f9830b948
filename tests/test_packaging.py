"""What gets installed: the wheel carries the samples and the glossary, the lock pins everything and names no place."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


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
    assert "frontier = engine.cli.main:main" in wheel.read(entry_points).decode()


def test_the_lock_pins_every_requirement():
    requirements = [
        *PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"]["test"],
        *PROJECT["dependency-groups"]["build"],
        *PROJECT["build-system"]["requires"],
    ]
    pinned = {normalised(name) for name in re.findall(r"^([\w.-]+)==", LOCK, flags=re.MULTILINE)}
    assert {normalised(requirement) for requirement in requirements} <= pinned


def test_the_lock_has_hashes_and_names_no_place():
    pins = re.split(r"\n(?=\S)", LOCK.strip())
    assert all(re.match(r"[\w.-]+==\S+", pin) and "--hash=sha256:" in pin for pin in pins)
    assert "://" not in LOCK
    assert not re.search(r"^--?[a-z]", LOCK, flags=re.MULTILINE)
