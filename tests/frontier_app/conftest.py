"""A private home for workspaces, an app under test, and small studies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from engine.plan import edit_plan, samples
from engine.sweeps import probe
from frontier_app.session import workspace
from frontier_app.session.navigation import PAGES, script
from frontier_app.session.workspace import Workspace
from frontier_app.wording import markup
from tests.frontier_app.finished_studies import FinishedStudies

APP = Path(__file__).resolve().parents[2] / "frontier_app" / "app" / "main.py"


@pytest.fixture(scope="session", autouse=True)
def once_as_in_a_server() -> Iterator[None]:
    """What a server does once and every run of an AppTest anew: metadata of all installed packages are searched for
    custom components, and the app and its pages are compiled; a third of all time.  Nor does it look a thousand times
    a second whether a run has ended."""
    from streamlit.components.v2 import manifest_scanner
    from streamlit.runtime.scriptrunner.script_cache import ScriptCache
    from streamlit.testing.v1 import app_test, local_script_runner

    compiled, late = ScriptCache(), local_script_runner.require_widgets_deltas

    def ended(runner: local_script_runner.LocalScriptRunner, timeout: float = 3) -> None:
        assert runner._script_thread is not None
        runner._script_thread.join(timeout)
        if runner._script_thread.is_alive():
            late(runner, 0)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(manifest_scanner, "scan_component_manifests", lambda: [])  # no page uses any
        for module in (app_test, local_script_runner):
            patched.setattr(module, "ScriptCache", lambda: compiled)
        patched.setattr(local_script_runner, "require_widgets_deltas", ended)
        yield


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Workspaces of a test live in its own folder."""
    monkeypatch.setenv("FRONTIER_HOME", str(tmp_path / "home"))
    workspace.begin("", None)  # no launch: a server of its own each test
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def short_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates of time look at fewer candidates, for no test of pages is about how good they are."""
    monkeypatch.setattr(probe, "_SPENT", 0.005)
    monkeypatch.setattr(probe, "_SPENT_ON_RECORDS", 0.02)


def to_page(made: AppTest, name: str) -> AppTest:
    """The app on another page, at once as by its address, or after the pages that it showed before; "board" is what
    the board sees on the page Decide."""
    if name in ("decide", "board"):
        made.session_state["decide-view"] = name
        name = "decide"
    if not made._registered_pages:
        made._page_hash = calc_hash("" if name == next(iter(PAGES)) else name)
        return made.run()
    return made.switch_page(script(name)).run()


def launched(at: Workspace | None) -> str:
    """The token of a launch on a workspace, as if this process were its server."""
    token = workspace.new_token()
    workspace.begin(workspace.digest(token), at.folder if at else None)
    return token


@pytest.fixture(scope="session")
def finished_studies(tmp_path_factory: pytest.TempPathFactory) -> FinishedStudies:
    """Studies that are swept once in the session."""
    return FinishedStudies(tmp_path_factory)


@pytest.fixture
def swept(finished_studies: FinishedStudies) -> Callable[..., Workspace]:
    """A workspace on a sample with a finished small study."""

    def make(name: str = "czech", **changes: object) -> Workspace:
        raw, plan = samples.load(name)
        plan = edit_plan(plan, **{"swap_sizes": [1], "rates": ["0.02", "0.1"], "replicates": 10, **changes})  # type: ignore[arg-type]
        return finished_studies.workspace(name, raw, plan)

    return make


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], bytes]]:
    """What the page offers as a download, by key: it is made only when somebody asks for it."""
    found: dict[str, Callable[[], bytes]] = {}
    markup.prepare()  # replaces the buttons, once in a process
    real = st.download_button

    def button(label: str, data: Callable[[], bytes], *args: Any, **given: Any) -> bool:
        found[given["key"]] = data
        return real(label, b"", *args, **given)

    monkeypatch.setattr(st, "download_button", button)
    return found
