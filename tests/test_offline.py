"""The folder for machines without a network holds what the program needs there, and nothing of its tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def offline() -> ModuleType:
    spec = importlib.util.spec_from_file_location("offline", ROOT / ".ci" / "offline.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("platform", ["win_amd64", "manylinux_2_34_x86_64"])
def test_the_folder_holds_what_the_program_needs_and_no_tools_of_its_tests(offline: ModuleType, platform: str) -> None:
    target = offline.environment(platform, "3.12")
    locked = dict(offline.locked((ROOT / "requirements.lock").read_text(encoding="utf-8"), target))
    assert {"streamlit", "numpy", "pyreadstat", "python-docx", "numba"} <= set(locked)
    assert not set(locked) & {"pytest", "playwright", "mypy", "ruff", "hypothesis", "swap-frontier"}
    for entry in locked.values():
        assert "--hash=sha256:" in entry and ";" not in entry.splitlines()[0]


def test_markers_are_those_of_the_target(offline: ModuleType) -> None:
    lock = (
        "one==1 ; sys_platform == 'win32' \\\n    --hash=sha256:aa\n"
        "two==2 ; sys_platform != 'win32' and python_full_version >= '3.12' \\\n    --hash=sha256:bb\n"
    )
    windows = dict(offline.locked(lock, offline.environment("win_amd64", "3.12")))
    assert windows == {"one": "one==1 \\\n    --hash=sha256:aa"}
    assert list(dict(offline.locked(lock, offline.environment("manylinux_2_28_aarch64", "3.12")))) == ["two"]
    assert not dict(offline.locked(lock, offline.environment("macosx_14_0_arm64", "3.11")))


def test_an_unknown_platform_is_refused(offline: ModuleType) -> None:
    with pytest.raises(SystemExit, match="must begin with one of win"):
        offline.environment("beos", "3.12")
