"""A PDF is made wherever WeasyPrint can be loaded, whatever it warns of; elsewhere one sentence says why not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.common.errors import EngineError
from engine.report.documents import pdf, why_no_pdf

WARNS = """
import warnings
warnings.warn("HarfBuzz-Subset will be required by future versions", category=DeprecationWarning)
print("carefully follow the installation steps")

class HTML:
    def __init__(self, string, url_fetcher): ...
    def write_pdf(self, pdf_variant):
        warnings.warn("this font is not known", category=UserWarning)
        return b"%PDF made"
"""
NO_PANGO = """
print("carefully follow the installation steps")
raise OSError("cannot load library 'libpango-1.0-0'")
"""
NOT_INSTALLED = "raise ModuleNotFoundError"


@pytest.fixture
def weasyprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Put another WeasyPrint, of these lines, in the place of the installed one."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "weasyprint"]:
        monkeypatch.delitem(sys.modules, name)

    def instead(lines: str) -> None:
        package = tmp_path / "weasyprint"
        package.mkdir()
        (package / "__init__.py").write_text(lines, encoding="utf-8")
        (package / "urls.py").write_text("def URLFetcher(allowed_protocols): ...", encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))

    why_no_pdf.cache_clear()
    yield instead
    why_no_pdf.cache_clear()
    for name in ("weasyprint", "weasyprint.urls"):
        sys.modules.pop(name, None)


def test_what_the_library_warns_of_stops_nothing(
    weasyprint: Callable[[str], None], capfd: pytest.CaptureFixture[str]
) -> None:
    weasyprint(WARNS)
    assert why_no_pdf() == "" and pdf("<p>") == b"%PDF made"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("lines", "remedy"), [(NO_PANGO, "install Pango"), (NOT_INSTALLED, "pip install weasyprint")])
def test_what_is_missing_is_said_in_one_sentence(
    weasyprint: Callable[[str], None], capfd: pytest.CaptureFixture[str], lines: str, remedy: str
) -> None:
    weasyprint(lines)
    with pytest.raises(EngineError, match=f"no PDF can be made: .*{remedy}"):
        pdf("<p>")
    assert remedy in why_no_pdf() and "\n" not in why_no_pdf()
    assert capfd.readouterr() == ("", "")
