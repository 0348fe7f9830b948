"""Elements of a page under test, found by their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest
import streamlit as st
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


def typed(patch: pytest.MonkeyPatch, name: str, *rows: Mapping[str, Any]) -> None:
    """Let the table in which the list ``name`` of the plan is edited hold these rows."""
    drawn = st.data_editor

    def data_editor(table: pd.DataFrame, *, key: str, **options: Any) -> pd.DataFrame:
        shown = drawn(table, key=key, **options)
        if not key.startswith(f"edits-{name}-"):
            return shown
        return pd.DataFrame([{column: row.get(str(column)) for column in table} for row in rows], columns=table.columns)

    patch.setattr(st, "data_editor", data_editor)
