"""Random interactions with every page in a real browser.

A walk begins with nothing loaded, a sample, a file with hostile names, or a finished study, and does one thing after
the other.  After each the page must be whole, its script must have ended, and what was there must still be there.
``--case W --step K`` does walk W again and stops after step K with a picture of the page.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.steps import button, open_at, served, workspace_with
from tests.conftest import find_chromium
from tests.hunt import monkey
from tests.hunt.case import Outcome

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

STARTS = ("nothing", "sample", "own", "study")
STEPS = 25
"""Interactions of a walk."""
PATIENCE = 20.0
_QUIET = "[data-testid=stApp][data-test-script-state=notRunning]"
_BROKEN = re.compile("Traceback|This page could not be shown|Something in the program has failed")
_HARMLESS = re.compile(r"\b404\b.*/_stcore/(health|host-config)$")
"""Streamlit's page looks for its server under each part of its address."""
_options = argparse.Namespace(keep=None, case=None, step=None)


def settle(args: argparse.Namespace) -> None:
    """Take over the options of the command line."""
    global _options
    _options = args


def trials(rng: random.Random, count: int) -> Iterator[Outcome]:
    """That many interactions."""
    from playwright.sync_api import sync_playwright

    seeds = [rng.randrange(2**32) for _ in range(-(-count // STEPS))]
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place)
        files = upload(folder / "files")
        log = folder / "server.log"
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        with log.open("wb") as to, served(folder, folder / "home", errors=to) as (address, process):
            for number, seed in enumerate(seeds):
                if _options.case not in (None, number):
                    continue
                steps = min(STEPS, count - number * STEPS)
                context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
                walk = Walk(number, seed, context, address, folder, files)
                yield from walk.outcomes(steps)
                context.close()
                if process.poll() is not None:
                    yield Outcome("browser", f"walk {number}", "crash", "the server ended", number=number)
                    break
        browser.close()


class Walk:
    """One person's way through the dashboard."""

    def __init__(self, number: int, seed: int, context: BrowserContext, address: str, folder: Path, files: list[Path]):
        self.number, self.start = number, STARTS[number % len(STARTS)]
        self.rng = random.Random(seed)
        self.context, self.address, self.folder, self.files = context, address, folder, files
        self.origin = "/".join(address.split("/")[:3]) + "/"
        self.complaints: list[str] = []
        self.pages: list[Page] = []
        self.page = self.opened()
        self.seen_log = (folder / "server.log").stat().st_size
        self.kept = Kept(folder / "home")

    def opened(self) -> Page:
        """A new tab that is listened to."""
        page = self.context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        page.on(
            "console",
            lambda told: (
                self.complaints.append(f"{told.text} {told.location['url']}") if told.type == "error" else None
            ),
        )
        page.on("request", lambda asked: self.asked(asked.url))
        page.on("dialog", lambda dialog: dialog.accept())
        self.pages.append(page)
        return page

    def asked(self, url: str) -> None:
        """Nothing is asked for elsewhere."""
        if not url.startswith((self.origin, self.origin.replace("http", "ws", 1), "data:", "blob:", "about:")):
            self.complaints.append(f"the page asked for {url}")

    def outcomes(self, steps: int) -> Iterator[Outcome]:
        """One for each step."""
        self.begin()
        for step in range(steps):
            began = time.monotonic()
            done = self.tried()
            trouble = self.trouble()
            name = f"walk {self.number} ({self.start}) step {step}: {done}"
            took = time.monotonic() - began
            if trouble or step == _options.step:
                self.picture(step)
            if trouble:
                yield Outcome("browser", name, trouble[0], trouble[1], took, self.number)
                self.page.goto(self.page.url)  # go on from a whole page
                self.quiet()
                self.complaints.clear()
            else:
                yield Outcome("browser", name, "accepted", "", took, self.number)
            if _options.step is not None:
                print(name, flush=True)
                if step == _options.step:
                    return
        self.kept.whole = True

    def tried(self) -> str:
        """One thing that was really done: what the hand reaches for may go away under it."""
        missed = ""
        for _ in range(4):
            try:
                return missed + self.step()
            except Exception as error:
                if type(error).__module__.split(".")[0] != "playwright":
                    raise
                missed = f"missed ({str(error).splitlines()[0][:60]}), then "
                if not self.quiet():
                    break
        return missed + "nothing"

    def begin(self) -> None:
        """Get to where the walk starts."""
        if self.start == "study":
            at = workspace_with(self.folder / "home")
            open_at(self.page, self.address, at, self.rng.choice(("explore", "compare", "recommend", "release")))
            return
        self.page.goto(self.address)
        button(self.page, "Open czech").wait_for()
        if self.start == "sample":
            button(self.page, "Open czech").click()
            button(self.page, "Next: threat and uses").wait_for()
        elif self.start == "own":
            self.page.locator("input[type=file]").first.set_input_files(self.files[self.number // len(STARTS) % 2])
            button(self.page, "Next: threat and uses").wait_for()
        self.quiet()

    def step(self) -> str:
        """One thing, or now and then something done to the whole page."""
        chance = self.rng.random()
        if chance < 0.12:
            return self.whole_page()
        touches = self.still()
        if not touches:
            return "nothing to touch"
        touch = monkey.choose(self.rng, touches)
        done = monkey.act(self.rng, self.page, touch, self.files)
        if self.rng.random() < 0.15:  # impatience: something else before the page has answered
            touches = monkey.there(self.page)
            if touches:
                done += "; at once " + monkey.act(self.rng, self.page, monkey.choose(self.rng, touches), self.files)
        return done

    def still(self) -> list[monkey.Touch]:
        """What can be touched once nothing is being added any more, so that a walk can be done again."""
        touches = monkey.there(self.page)
        for _ in range(10):
            self.page.wait_for_timeout(150)
            before, touches = touches, monkey.there(self.page)
            if touches == before:
                break
        return touches

    def whole_page(self) -> str:
        """Reload, back, forth, another tab, light or dark, narrow or wide."""
        match self.rng.choice(("reload", "back", "forward", "tab", "dark", "light", "narrow", "wide")):
            case "back":
                self.page.go_back()
                if not self.page.url.startswith("http"):
                    self.page.go_forward()
                return "back"
            case "forward":
                self.page.go_forward()
                return "forward"
            case "tab":
                url = self.page.url
                if len(self.pages) < 2:
                    self.opened().goto(url)
                self.page = next(page for page in self.pages if page is not self.page)
                return "another tab"
            case "dark" | "light" as scheme:
                self.page.emulate_media(color_scheme=scheme)
                return scheme
            case "narrow" | "wide" as width:
                self.page.set_viewport_size({"width": 600 if width == "narrow" else 1500, "height": 900})
                return width
            case _:
                self.page.reload()
                return "reload"

    def quiet(self) -> bool:
        """Wait until the script has ended; whether it did."""
        busy = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 1.0
        patience = PATIENCE * max(1.0, busy)  # on a machine that others use too, everything takes longer
        try:
            for _ in range(2):
                self.page.wait_for_timeout(150)
                self.page.wait_for_selector(_QUIET, timeout=1000 * patience)
        except Exception as error:
            if "Timeout" not in type(error).__name__:
                raise
            return False
        return True

    def trouble(self) -> tuple[str, str] | None:
        """What is wrong after a step."""
        if not self.quiet():
            return "hang", "the page's script does not end"
        if self.page.get_by_test_id("stException").count():
            return "traceback", self.page.get_by_test_id("stException").first.inner_text()[:2000]
        words = self.page.locator("body").inner_text()
        if found := _BROKEN.search(words):
            return "traceback", words[max(0, found.start() - 200) : found.start() + 800]
        if logged := self.logged():
            return "traceback", logged
        complaints = [one for one in self.complaints if not _HARMLESS.search(one)]
        if complaints:
            return "wrong", "the browser's console: " + " | ".join(complaints)[:1500]
        if lost := self.kept.lost():
            return "left", lost
        return None

    def logged(self) -> str:
        """What the server, or a job that it started, has logged of a failure since the last step."""
        log = self.folder / "server.log"
        added = log.read_bytes()[self.seen_log :]
        self.seen_log += len(added)
        text = added.decode("utf-8", "replace")
        found = [text] if re.search("Traceback|the page failed|Error", text) else []
        for path in (self.folder / "home").rglob("*.log"):
            said = path.read_text(encoding="utf-8", errors="replace")
            if "Traceback" in said and str(path) not in self.kept.told:
                self.kept.told.add(str(path))
                found.append(f"{path.name}: {said}")
        return "\n".join(found)[-6000:]

    def picture(self, step: int) -> None:
        """Save how the page looks."""
        if _options.keep:
            _options.keep.mkdir(parents=True, exist_ok=True)
            with suppress(Exception):
                self.page.screenshot(path=_options.keep / f"browser-{self.number}-{step}.png", full_page=True)


class Kept:
    """What is kept in a home: studies with their runs, keys, plans.  None of it may become less."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.told: set[str] = set()
        self.whole = False
        self.before = self.now()

    def now(self) -> dict[str, int]:
        """Files, with the runs that a study holds."""
        found = {}
        for path in self.home.rglob("*"):
            if path.suffix == ".study" and not path.name.startswith("."):
                found[str(path)] = self.runs(path)
            elif path.name.endswith(".study.key") or path.name == "plan.toml":
                found[str(path)] = path.stat().st_size and 1
        return found

    @staticmethod
    def runs(path: Path) -> int:
        """Rows of a study; -1 of one that cannot be read."""
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=10)) as db:
                return int(db.execute("select count(*) from realisation").fetchone()[0])
        except sqlite3.Error:
            return -1

    def lost(self) -> str:
        """What has become less since the last look, in words."""
        now = self.now()
        less = [path for path, count in self.before.items() if now.get(path, -1) < count]
        self.before = now
        return "; ".join(f"{Path(path).name} has become less" for path in less)


def upload(folder: Path) -> list[Path]:
    """Files to be uploaded: two with hostile names that can be opened, and others that cannot, or are no data."""
    folder.mkdir()
    marked = ["![x](http://127.0.0.1:9/a.png)", ":red[b]", "$c$", "<b>d</b>", "=1+1", "e|f", "[g](http://x)", "w"]
    strange = ["long " * 60, "two\nlines", "\u202eback", "tab\there", "Ünïcödé", "🦊", "A", "a "]
    contents = {
        "hostile.csv": _table(marked, ["<script>alert(1)</script>", ":material/home:", "**x**", "a`b", "é", "=2"]),
        "strange.csv": _table(strange, ["word " * 80, "\u200b", "x\ny", "-1", "~~z~~", "\x1b[31m"]),
        "small.csv": b"A,B\n1,x\n2,y\n1,y\n" * 5,
        "empty.csv": b"",
        "![x](y).csv": b"a,b\n1,2\n",
        "broken.sav": b"$FL2@(#) SPSS DATA FILE" + bytes(range(256)) * 4,
        "plan.toml": b"[space]\nrates = [",
        "nested.toml": b"[space]\nrates = " + b"[" * 2000 + b"]" * 2000,
        "book.csv": b'name,label\n"*","![x](http://127.0.0.1:9/)"\n',
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


def _table(names: list[str], levels: list[str]) -> bytes:
    rng = random.Random(5)
    rows = [[rng.choice(levels[: 2 + k % 4]) for k in range(len(names) - 1)] for _ in range(300)]
    lines = [names, *([*row, str(rng.randint(1, 9))] for row in rows)]
    return "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines).encode()
