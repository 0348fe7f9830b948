"""A hand that does something at random on a page: what there is to touch, and one interaction with it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TYPED = (
    *("", "0", "-1", "5", "2, 10", "0.5", "1e309", "NaN", "100", "9" * 400, "1,,2", "x", "Age", "; --", "=1+1"),
    *("![x](http://127.0.0.1:9/x.png)", "[l](javascript:alert(1))", "<img src=x onerror=alert(1)>", "$a$ :red[b]", "`"),
    *("\u202egnp.exe", "é" * 50, "a|b|c", "{{7*7}}", "log(x) ~ y", "../../etc/passwd", "A" * 3000, "\t", "🦊"),
)
"""What is typed anywhere."""
NEVER = ("Delete this workspace", "Open other data", "stop", "Deploy")
"""Words of buttons that end a walk early or take away what is looked for."""
_TAG = """([never]) => {
    document.querySelectorAll('[data-hunt]').forEach(e => e.removeAttribute('data-hunt'));
    const kinds = {
        button: 'button:not([disabled])', page: 'a[data-testid=stTopNavLink]', choice: 'label:has(input[type=radio])',
        tick: '[data-testid=stCheckbox] label', select: '[role=combobox]', slider: '[role=slider]',
        text: 'input[type=text]:not([role=combobox]), textarea', number: 'input[type=number]', fold: 'summary',
        grid: '[data-testid=stDataFrame]', plot: '.js-plotly-plot', file: 'input[type=file]',
    };
    const found = [];
    for (const [kind, selector] of Object.entries(kinds))
        for (const e of document.querySelectorAll(selector)) {
            const box = e.getBoundingClientRect();
            const hidden = box.width < 2 || box.height < 2 || getComputedStyle(e).visibility == 'hidden';
            if (kind != 'file' && hidden) continue;
            if (e.disabled || e.closest('[aria-disabled=true]')) continue;
            const words = (e.innerText || e.getAttribute('aria-label') || e.title || '').trim().slice(0, 60);
            if (kind == 'button' && never.some(one => words.includes(one))) continue;
            e.setAttribute('data-hunt', found.length);
            found.push([kind, words]);
        }
    return found;
}"""
_WEIGHTS = {"button": 5, "page": 3, "grid": 1.5, "plot": 1.5, "select": 2.5, "text": 2, "file": 0.7, "fold": 0.7}


@dataclass(frozen=True)
class Touch:
    """Something on the page: its kind, its words, and its place in the list."""

    kind: str
    words: str
    place: int


def there(page: Page) -> list[Touch]:
    """What can be touched, in the order of kinds and of the page."""
    found = page.evaluate(_TAG, [list(NEVER)])
    return [Touch(kind, words, place) for place, (kind, words) in enumerate(found)]


def choose(rng: random.Random, touches: list[Touch]) -> Touch:
    """A kind first, so that many buttons do not hide one list."""
    kinds = sorted({touch.kind for touch in touches})
    kind = rng.choices(kinds, [_WEIGHTS.get(kind, 1.0) for kind in kinds])[0]
    return rng.choice([touch for touch in touches if touch.kind == kind])


def act(rng: random.Random, page: Page, touch: Touch, files: list[Path]) -> str:
    """Do something with it; returns what, in words."""
    at = page.locator(f'[data-hunt="{touch.place}"]')
    said = f"{touch.kind} {touch.words!r}"
    match touch.kind:
        case "text" | "number":
            return f"{said}: {_typed(rng, page, at, touch.kind)}"
        case "select":
            return f"{said}: {_picked(rng, page, at)}"
        case "slider":
            keys = [rng.choice(("ArrowLeft", "ArrowRight", "Home", "End")) for _ in range(rng.randint(1, 4))]
            at.focus(timeout=3000)
            for key in keys:
                page.keyboard.press(key)
            return f"{said}: {keys}"
        case "file":
            file = rng.choice(files)
            at.set_input_files(file, timeout=3000)
            return f"{said}: {file.name}"
        case "grid" | "plot":
            return f"{said}: {_pointed(rng, page, at, touch.kind)}"
        case _:
            twice = rng.random() < 0.1
            at.click(timeout=3000, click_count=2 if twice else 1)
            return said + (" twice" if twice else "")


def _typed(rng: random.Random, page: Page, at: Locator, kind: str) -> str:
    words = rng.choice(TYPED)
    if kind == "number":
        words = rng.choice(("0", "-1", "1", "2", "1e9", "0.0001", "99999999999999999999", ""))
    at.fill(words, timeout=3000)
    end = rng.choice(("Enter", "Tab", "Control+Enter", "Escape"))
    page.keyboard.press(end)
    return f"{words[:40]!r} {end}"


def _picked(rng: random.Random, page: Page, at: Locator) -> str:
    at.click(timeout=3000)
    down = rng.randint(0, 6)
    if rng.random() < 0.15:
        page.keyboard.type(rng.choice(TYPED)[:30])
    for _ in range(down):
        page.keyboard.press("ArrowDown")
    end = rng.choice(("Enter", "Enter", "Enter", "Escape", "Backspace"))
    page.keyboard.press(end)
    page.keyboard.press("Escape")
    return f"{down} down, {end}"


def _pointed(rng: random.Random, page: Page, at: Locator, kind: str) -> str:
    at.scroll_into_view_if_needed(timeout=3000)
    box = at.bounding_box()
    if box is None:
        return "gone"
    x, y = (box["x"] + rng.random() * box["width"], box["y"] + rng.random() * box["height"])
    page.mouse.move(x, y)
    if rng.random() < 0.3:
        page.mouse.down()
        page.mouse.move(x + rng.uniform(-200, 200), y + rng.uniform(-150, 150), steps=4)
        page.mouse.up()
        return "dragged"
    page.mouse.click(x, y, click_count=rng.choice((1, 1, 2)))
    if kind == "grid" and rng.random() < 0.5:
        page.keyboard.type(rng.choice(TYPED)[:30])
        page.keyboard.press(rng.choice(("Enter", "Tab", "Escape", "Delete")))
    return "clicked"
