"""The files that people expect beside the code are well-formed and agree with the project."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine.common import __version__

ROOT = Path(__file__).parents[1]
yaml: Any = pytest.importorskip("yaml", reason="no PyYAML; install the extra `test`")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_citation_names_this_version_and_five_papers() -> None:
    citation = yaml.safe_load(text_of("CITATION.cff"))
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software" and citation["message"]
    assert citation["title"] == project["name"] and str(citation["version"]) == __version__
    assert citation["abstract"] == project["description"]
    assert citation["authors"] == [{"name": "swap-frontier contributors"}]
    assert "license" not in citation
    written = {tuple(author["family-names"] for author in paper["authors"]) for paper in citation["references"]}
    assert written == {
        ("Gomatam", "Karr", "Sanil"),
        ("Liu",),
        ("Oganian", "Lesaja"),
        ("Liu", "Little"),
        ("Little", "Liu"),
    }
    assert all(paper["type"] and paper["title"] for paper in citation["references"])


def test_the_papers_cited_are_those_reproduced() -> None:
    titles = re.findall(r"^## (.+?): (.+)$", text_of("docs/reproductions.md"), re.MULTILINE)
    cited = " ".join(paper["title"] for paper in yaml.safe_load(text_of("CITATION.cff"))["references"]).casefold()
    papers = [title for who, title in titles if who != "Not published"]
    assert len(papers) == 5
    assert all(re.sub(r" \(.*\)$", "", title).casefold() in cited for title in papers)


def test_the_hook_before_a_commit_is_make_lint() -> None:
    (repo,) = yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"]
    (hook,) = repo["hooks"]
    assert repo["repo"] == "local" and hook["entry"] == "make lint" and not hook["pass_filenames"]
    assert "\nlint:" in text_of("Makefile")


def test_the_changelog_begins_with_what_is_unreleased_and_knows_this_version() -> None:
    versions = re.findall(r"^## (.+)$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == "Unreleased" and __version__ in versions


def test_every_threat_names_what_stands_in_its_way() -> None:
    table = text_of("SECURITY.md").split("| --- | --- | --- |\n")[1].split("\n\n")[0].splitlines()
    assert len(table) >= 6
    assert not [row for row in table if not re.search(r"`(engine|frontier_app)/[\w/]+\.py`", row)]
