"""Pages, words and pictures of the board's documents in three studies."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path

import pypdf
import pytest

from engine.report.documents import docx, pdf, why_no_pdf
from tests.goldens.studies import Studies
from tests.goldens.texts import GOLDENS

STUDIES = pytest.mark.parametrize("study", ["random", "household", "mixed"])
MOST_PAGES, MOST_WORDS, MOST_ON_SCREEN, FEWEST_PICTURES = 6, 1800, 600, 5
_PICTURE = re.compile(r"(?m)^\[.*\]$")
_MARKUP = re.compile(r"\[\w+\]|[|*•:-]+(?=\s)|:\w+-badge|\[image\]")


def golden(study: str, name: str) -> str:
    return (GOLDENS / study / f"{name}.txt").read_text(encoding="utf-8")


@STUDIES
def test_sheet_and_evidence_have_at_most_1800_words_and_five_pictures(study: str) -> None:
    text = f"{golden(study, 'sheet')}{golden(study, 'evidence')}"
    assert len(_PICTURE.sub("", text).split()) <= MOST_WORDS
    assert len(_PICTURE.findall(text)) >= FEWEST_PICTURES


@STUDIES
def test_the_board_page_has_at_most_600_words_before_anything_is_unfolded(study: str) -> None:
    shown, unfolds, _ = golden(study, "board_page").partition("[expander]")
    assert unfolds and 100 < len(_MARKUP.sub(" ", shown).split()) <= MOST_ON_SCREEN


@pytest.mark.slow
@STUDIES
def test_the_pdf_has_at_most_six_pages_and_the_sheet_alone_on_the_first(studies: Studies, study: str) -> None:
    if why_no_pdf():
        pytest.skip(why_no_pdf())
    made = pypdf.PdfReader(io.BytesIO(pdf(studies[study].page)))
    assert len(made.pages) <= MOST_PAGES
    assert "1 of" in made.pages[0].extract_text() and re.match(r"\W*2 ·", made.pages[1].extract_text())


@pytest.mark.slow
@STUDIES
def test_the_docx_is_at_most_one_page_longer(studies: Studies, study: str, tmp_path: Path) -> None:
    office = shutil.which("soffice")
    if office is None:
        pytest.skip(
            "there is no LibreOffice to count pages of a DOCX; install it (Debian's package is libreoffice-writer)"
        )
    (tmp_path / "memo.docx").write_bytes(docx(studies[study].page))
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"
    subprocess.run(
        [office, profile, "--headless", "--convert-to", "pdf", "--outdir", str(tmp_path), str(tmp_path / "memo.docx")],
        check=True,
        capture_output=True,
        timeout=300,
    )
    assert len(pypdf.PdfReader(tmp_path / "memo.pdf").pages) <= MOST_PAGES + 1
