"""Elements of a page under test, found by their keys."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def press(made: AppTest, key: str) -> AppTest:
    """The page after a click on a button."""
    return made.button(key=key).click().run()


def has_button(made: AppTest, key: str) -> bool:
    """Whether a page has a button."""
    return any(button.key == key for button in made.button)


def leads_to(made: AppTest, page: str) -> bool:
    """Whether a page has a button to another one."""
    return any(str(button.key).startswith(f"go-{page}-") for button in made.button)
