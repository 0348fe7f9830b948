"""A document as files: DOCX, HTML, and PDF where it can be made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.report.docx_file import docx_bytes
from engine.report.html_file import html_text
from engine.report.pdf_file import pdf_bytes

if TYPE_CHECKING:
    from engine.report.document import Document


def write_document(document: Document, folder: Path, name: str, *, pdf: bool = False) -> list[Path]:
    """Write ``name``.docx and ``name``.html, and with ``pdf`` a tagged PDF where WeasyPrint can be used."""
    html = html_text(document)
    written = [_put(folder / f"{name}.docx", docx_bytes(document)), _put(folder / f"{name}.html", html.encode())]
    if pdf:
        tagged_pdf = pdf_bytes(html)
        if tagged_pdf is not None:
            written.append(_put(folder / f"{name}.pdf", tagged_pdf))
    return written


def _put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
