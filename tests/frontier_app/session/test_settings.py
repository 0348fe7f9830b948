"""The privacy settings: one list, known to Streamlit, and in force."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from streamlit import config

from frontier_app.session.settings import PRIVACY

CONFIG = Path(__file__).parents[3] / ".streamlit" / "config.toml"


def read_config() -> dict[str, dict[str, object]]:
    return tomllib.loads(CONFIG.read_text(encoding="utf-8"))


def test_the_file_and_the_flags_say_the_same():
    in_file = {
        f"{section}.{name}": value
        for section, options in read_config().items()
        if section != "theme"
        for name, value in options.items()
    }
    assert in_file == PRIVACY


@pytest.mark.parametrize("option", PRIVACY)
def test_streamlit_knows_the_option(option):
    known = config.get_config_options()
    assert option in known
    assert not known[option].deprecated


def test_streamlit_knows_the_theme_options():
    known = config.get_config_options()
    for name, value in read_config()["theme"].items():
        for option in [f"theme.{name}.{inner}" for inner in value] if isinstance(value, dict) else [f"theme.{name}"]:
            assert option in known


def test_nothing_leaves_and_nothing_comes_in():
    assert PRIVACY["server.address"] == "127.0.0.1"
    assert PRIVACY["server.allowedHosts"] == ["127.0.0.1", "localhost"]
    assert PRIVACY["browser.gatherUsageStats"] is False
    assert PRIVACY["server.enableXsrfProtection"] is True
    assert PRIVACY["server.enableCORS"] is True


def test_fonts_are_the_systems_own():
    theme = read_config()["theme"]
    assert "fontFaces" not in theme
    assert not any("://" in str(theme[name]) for name in ("font", "headingFont", "codeFont"))
