"""A document's HTML file as a tagged PDF, where WeasyPrint and the libraries that it draws with are installed."""

from __future__ import annotations

import importlib
import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache


def pdf_bytes(html: str) -> bytes | None:
    """The file as a tagged PDF (PDF/UA-1), or None where :func:`why_no_pdf` says why."""
    if why_no_pdf():
        return None
    with _kept_quiet():
        from weasyprint import HTML
        from weasyprint.urls import URLFetcher

        only_embedded = URLFetcher(allowed_protocols=["data"])  # nothing is ever loaded from elsewhere
        content: bytes = HTML(string=html, url_fetcher=only_embedded).write_pdf(pdf_variant="pdf/ua-1")
    return content


@cache
def why_no_pdf() -> str:
    """What is missing for a PDF, and how to get it; empty where one can be made."""
    try:
        with _kept_quiet():
            importlib.import_module("weasyprint")
    except ImportError:
        return "WeasyPrint is not installed; `pip install weasyprint` brings it"
    except OSError:  # a library that it draws with is not there
        return "WeasyPrint finds no Pango on this machine; install Pango (Debian's package is libpangoft2-1.0-0)"
    return ""


@contextmanager
def _kept_quiet() -> Iterator[None]:
    """Whatever WeasyPrint warns of or prints, such as which library a later version will need, stops nothing."""
    for name in ("weasyprint", "fontTools"):
        logging.getLogger(name).setLevel(logging.ERROR)
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
