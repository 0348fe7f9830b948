"""An analyst at the dashboard, of whom every decision, action and second of waiting is counted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.steps import button, no_trouble, settled

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

_BUSY = """() => ({
    still: document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning',
    shown: !!document.querySelector('[data-testid=stSpinner], [data-testid=stProgress]'),
})"""


@dataclass
class Step:
    """What one step of the work took: ``seconds`` of waiting, and of these the ``longest`` at a stretch in which the
    page was at work and showed no progress."""

    name: str
    decisions: int = 0
    actions: int = 0
    seconds: float = 0.0
    longest: float = 0.0


@dataclass
class Analyst:
    """Does everything on a page; a decision is a choice that takes thought, an action is each click, entry or file."""

    page: Page
    steps: list[Step] = field(default_factory=list)

    @property
    def decisions(self) -> int:
        """All decisions so far."""
        return sum(step.decisions for step in self.steps)

    @property
    def actions(self) -> int:
        """All actions so far."""
        return sum(step.actions for step in self.steps)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """A part of the work, to which all that is done in it counts; no error is on the page at its end."""
        self.steps.append(Step(name))
        yield
        no_trouble(self.page)

    def upload(self, path: Path) -> None:
        """Give a file to the first place that takes one."""
        self._act(lambda: self.page.locator("input[type=file]").first.set_input_files(path))

    def press(self, name: str, *, decides: bool = False) -> None:
        """Click on a button."""
        self.click(button(self.page, name).first, decides=decides)

    def click(self, at: Locator, *, decides: bool = False) -> None:
        """Click on anything."""
        self.steps[-1].decisions += decides
        self._act(at.click)

    def enter(self, box: Locator, value: str, *, leave: bool = True) -> None:
        """Type into an input and leave it, unless the next one is typed into at once."""
        self.steps[-1].decisions += 1
        self._act(lambda: box.fill(value), wait=False)
        if leave:
            self._act(lambda: box.press("Tab"))

    def pick(self, label: str, *values: str) -> None:
        """Choose each of some values in a list of several, by typing it, and close the list."""
        box = self.page.get_by_role("combobox", name=label).last
        for value in values:
            self.steps[-1].decisions += 1
            self._act(lambda value=value: box.fill(value), wait=False)
            self._act(lambda: box.press("Enter"))
        self._act(lambda: box.press("Escape"))

    def wait_for(self, at: Locator) -> None:
        """Wait for what a person would look for."""
        began = time.monotonic()
        at.first.wait_for()
        self.steps[-1].seconds += time.monotonic() - began
        self._settle()

    def report(self) -> str:
        """A line for each step, and one for all."""
        seconds, longest = sum(step.seconds for step in self.steps), max(step.longest for step in self.steps)
        rows = [*self.steps, Step("in all", self.decisions, self.actions, seconds, longest)]
        return "\n".join(
            f"{row.name:>12}: {row.decisions:2} decisions, {row.actions:2} actions, {row.seconds:5.1f} s,"
            f" at most {row.longest:.1f} s without progress"
            for row in rows
        )

    def _act(self, action, *, wait: bool = True) -> None:
        self.steps[-1].actions += 1
        action()
        if wait:
            self._settle()

    def _settle(self) -> None:
        step, began = self.steps[-1], time.monotonic()
        silent = began
        self.page.wait_for_timeout(60)
        while not (seen := self.page.evaluate(_BUSY))["still"]:
            now = time.monotonic()
            if seen["shown"]:
                silent = now
            step.longest = max(step.longest, now - silent)
            self.page.wait_for_timeout(30)
        step.seconds += time.monotonic() - began
        settled(self.page)
