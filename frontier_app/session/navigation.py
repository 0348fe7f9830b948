"""The pages of the dashboard: title, icon, address and file of each, in the order of the work."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

_PAGES = Path(__file__).resolve().parents[1] / "pages"


@dataclass(frozen=True)
class Page:
    """One page: ``name`` is its address, ``file`` its script below ``pages/``."""

    name: str
    title: str
    icon: str
    file: str

    @property
    def path(self) -> Path:
        """The script."""
        return _PAGES / self.file

    def as_streamlit(self, default: bool) -> st.Page:
        """The page for ``st.navigation``."""
        return st.Page(self.path, title=self.title, icon=f":material/{self.icon}:", url_path=self.name, default=default)


PAGES = {
    page.name: page
    for page in (
        Page("data", "Data", "table", "file/page.py"),
        Page("threat", "Intruder and uses", "shield", "threat/page.py"),
        Page("candidates", "Candidates", "tune", "candidates/page.py"),
        Page("explore", "Explore", "scatter_plot", "explore/page.py"),
        Page("compare", "Compare", "compare_arrows", "compare/page.py"),
        Page("decide", "Decide", "gavel", "decide/page.py"),
        Page("release", "Export", "inventory_2", "export/page.py"),
    )
}
BOARD_PAGES = ("decide",)
"""What a bundle for the board can show: it holds no data and no study."""


def script(name: str) -> str:
    """The script of a page as Streamlit names it when pages are switched: seen from the folder of the frame."""
    return f"../pages/{PAGES[name].file}"


def go_to(name: str) -> None:
    """Show another page."""
    st.switch_page(script(name))
