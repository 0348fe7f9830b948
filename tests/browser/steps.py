"""What a person does in the dashboard, as steps that every journey shares."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page

    from frontier_app.session.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 240_000
"""Milliseconds until a step that does not come is a failure: generous, since machines differ."""
KEY = hashlib.sha256(b"a study key for pictures and journeys").hexdigest()[:32]
"""A study key for runs that have to be the same every time; one with a pattern would be refused at export."""
PAGES = {
    "data": "Data",
    "threat": "Intruder and uses",
    "candidates": "Candidates",
    "explore": "Explore",
    "compare": "Compare",
    "decide": "Decide",
    "release": "Export",
}
"""Pages by their part of the address, with their names in the navigation, in the order of the work."""


def environment(home: Path) -> dict[str, str]:
    """The environment of a server with a home of its own."""
    return {
        **os.environ,
        "FRONTIER_HOME": str(home),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "PYTHONUNBUFFERED": "1",
    }


def engine(home: Path, *arguments: str) -> str:
    """What a command of `frontier` prints."""
    command = [sys.executable, "-m", "engine", *arguments]
    done = subprocess.run(command, cwd=home.parent, env=environment(home), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def variable(name: str, value: Path) -> Iterator[None]:
    """While it lasts, a variable of this process's environment has another value."""
    before = os.environ.get(name)
    os.environ[name] = str(value)
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def at_home(home: Path) -> AbstractContextManager[None]:
    """While it lasts, workspaces are those of a server with this home."""
    return variable("FRONTIER_HOME", home)


def workspace_with(home: Path, name: str = "czech", *, swept: bool = True, **changes: object) -> Workspace:
    """A workspace in the home of a server: a sample with its plan, changed, and its sweep finished if ``swept``."""
    from engine.plan import edit_plan, plan_to_toml, samples
    from engine.sweeps.sweep import sweep
    from frontier_app.session import workspace

    raw, plan = samples.load(name)
    plan = edit_plan(plan, **{"swap_sizes": [1], "rates": ["0.02", "0.1"], "replicates": 12, **changes})  # type: ignore[arg-type]
    with at_home(home):
        at = workspace.create()
        at.save_plan(plan_to_toml(plan))
        at.note(data=name, study="study-1.study" if swept else None)
        if swept:
            (at.folder / "study-1.study.key").write_text(KEY)
            sweep(raw, plan, at.folder / "study-1.study", workers=1).close()
    return at


def open_at(page: Page, address: str, at: Workspace, name: str = "data") -> None:
    """Go straight to a page of a workspace."""
    origin = "/".join(address.split("/")[:3])
    page.goto(f"{origin}/{'' if name == 'data' else name}?w={at.token}")
    page.get_by_test_id("stHeading").first.wait_for()
    settled(page)


def every_page(page: Page, address: str, at: Workspace) -> Iterator[str]:
    """Go through a workspace from page to page, as a person does; yields each page's name while it is shown.

    Only the first one is loaded anew, which takes longer than all that tests do on it; that every page can be opened at
    its own address is tried in test_console.py.
    """
    for name in PAGES:
        if name == "data":
            open_at(page, address, at)
        else:
            visit(page, name)
        yield name


@contextmanager
def injected(folder: Path, code: str) -> Iterator[None]:
    """While it lasts, servers that are started, and the processes that they start, run this code first of all."""
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    with variable("PYTHONPATH", folder):
        yield


@contextmanager
def dashboard(cwd: Path, home: Path, *arguments: str) -> Iterator[str]:
    """The address of a running `frontier app`, started in ``cwd``."""
    with served(cwd, home, *arguments) as (address, _):
        yield address


@contextmanager
def served(
    cwd: Path, home: Path, *arguments: str, errors: IO[bytes] | None = None
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Address and process of a running `frontier app`; the process leads a group of its own.

    Its errors go to the file ``errors`` if one is given.
    """
    command = [sys.executable, "-m", "engine", "app", *arguments, "--no-browser"]
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found, "no address was printed"
            yield found.group(), process
        finally:
            process.terminate()  # not as Ctrl-C does, which whatever a shell starts in the background may not hear
            try:
                process.wait(20)
            finally:
                process.kill()  # else a server that does not end would be waited for without end


@contextmanager
def keeping_to_itself(context: BrowserContext, address: str) -> Iterator[list[str]]:
    """While it lasts, the windows of a context ask this server alone, and break no rule of its
    Content-Security-Policy; yields the list of where they did."""
    strange: list[str] = []
    ours = tuple(f"{kind}://{address.split('/')[2]}/" for kind in ("http", "ws"))

    def asked(url: str) -> None:
        if not url.startswith((*ours, "data:", f"blob:{ours[0]}", "about:")):
            strange.append(f"asked {url}")

    context.expose_binding("brokenPolicy", lambda source, what: strange.append(f"{source['page'].url}: {what}"))
    context.add_init_script(
        "addEventListener('securitypolicyviolation', e => brokenPolicy("
        "`${e.effectiveDirective} forbids ${e.blockedURI} (${e.sourceFile}, line ${e.lineNumber})`))"
    )
    context.on("request", lambda request: asked(request.url))
    context.on("page", lambda page: page.on("websocket", lambda socket: asked(socket.url)))
    yield strange
    assert not strange, strange


def settled(page: Page) -> None:
    """Wait until the page's script has run and has nothing more to run."""
    page.wait_for_timeout(150)
    quiet = "[data-testid=stApp][data-test-script-state=notRunning]"
    page.wait_for_selector(quiet)
    page.wait_for_timeout(100)
    page.wait_for_selector(quiet)


def visit(page: Page, name: str) -> None:
    """Go to a page by the navigation at the top; the page's heading is there afterwards."""
    page.get_by_test_id("stHeader").get_by_role("link", name=PAGES[name], exact=True).click()
    page.wait_for_function(f"() => location.pathname.replace(/^\\//, '') === '{'' if name == 'data' else name}'")
    settled(page)


def button(page: Page, name: str) -> Locator:
    """A button by its words; an icon before them is part of its name."""
    return page.get_by_role("button", name=name)


def enter(page: Page, label: str, value: str) -> None:
    """Type into an input and leave it."""
    box = page.get_by_label(label, exact=True)
    box.fill(value)
    box.press("Enter")
    settled(page)


def map_drawn(page: Page) -> None:
    """Wait until the map has its axes."""
    page.wait_for_function("() => document.querySelector('.js-plotly-plot')?._fullLayout?.xaxis?.range")
    settled(page)


def at_hand(page: Page) -> str:
    """The name of the candidate on the card; empty where there is none."""
    name = page.locator(".st-key-card h4")
    return str(name.inner_text()) if name.count() else ""


_FINDINGS = ("gpp_bad", "blockWhatstandsagainstthisrelease")  # the sign, then the words


def no_trouble(page: Page) -> None:
    """No error and no exception is on the page; a serious verdict and obstacles to a release are
    findings, and no errors."""
    assert page.get_by_test_id("stException").count() == 0
    said = page.locator("[data-testid=stAlertContentError]").all_inner_texts()
    errors = [text for text in said if not "".join(text.split()).startswith(_FINDINGS)]
    assert not errors, errors


def submit(page: Page, by: str) -> None:
    """Submit the recommendation, with a reason where fresh runs leave its share open."""
    settled(page)
    why = page.get_by_label("Why it is submitted all the same", exact=True)
    if why.count():
        why.fill("the share is near enough to the one that was asked for")
    page.get_by_label("Who submits it to the board", exact=True).fill(by)
    button(page, "Submit to the board").click()
