"""What is damaged: a finished study with its bundles, made once with the command line itself."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

KEY = hashlib.sha256(b"a study key for the hunt").hexdigest()[:32]
STUDY = "s.study"
DATA = "czech"
SWEEP = ["--swap-sizes", "1", "--rates", "0.02,0.10", "--replicates", "10", "--workers", "1"]


def run(*argv: str) -> str:
    """What a command prints that has to succeed."""
    from engine.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(argv)
    if code:
        raise RuntimeError(f"frontier {' '.join(argv)}: {err.getvalue()}")
    return out.getvalue()


@cache
def made() -> Mapping[str, bytes]:
    """The study, its key and the folder ``out`` with a bundle for each reader, by path."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path(f"{STUDY}.key").write_text(KEY)
            Path(f"{STUDY}.key").chmod(0o600)
            run("sweep", DATA, "--study", STUDY, *SWEEP)
            run("choose", STUDY, "--max-risk", "0.5", "--why", "fits", "--by", "A")
            run("recheck", STUDY, "--data", DATA)
            run("decide", STUDY, "--state", "submitted", "--by", "A")
            run("decide", STUDY, "--state", "approved", "--by", "B", "--number", "1")
            run("export", STUDY, "--data", DATA, "--out", "out", "--tier", "all", "--formats", "csv,parquet")
            run("show", STUDY)
            return tree(Path(folder))
        finally:
            os.chdir(before)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by its path in it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def study() -> dict[str, bytes]:
    """The study and its key."""
    return {name: content for name, content in made().items() if not name.startswith("out/")}
