"""What every test shares: a Chromium, if there is one, and hypothesis without chance."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import itertools
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from engine.data.io import labelled_readers as reader_process
from engine.study import keys
from tests import examples, forked_readers, skip_summary

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

    from tests.goldens.studies import Studies

examples.register()

# The first is Chromium without a window, as all tests have it: it takes a fifth less time.
CHROMIUM_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_FLAGS = (
    "--no-sandbox",  # a container's root user has none to run in
    "--disable-dev-shm-usage",  # which is often small
    # A page is shown for seconds: to compile its script better takes longer than it saves.  The same holds for drawing
    # as a graphics card would where there is none, as Debian's Chromium does.
    # What was compiled for one page serves the next, and a page's first seconds fit in memory before it is tidied.
    "--js-flags=--no-opt --no-maglev --no-flush-bytecode --no-isolate-script-cache-ageing"
    " --min-semi-space-size=64 --max-semi-space-size=64",
    "--disable-gpu-rasterization",
    "--process-per-site",  # all windows of a profile on one server share a process, and with it compiled scripts
)


def pytest_configure(config: pytest.Config) -> None:
    # Before any test file is read: its decorators ask how many examples there are to be.
    settings.load_profile(config.getoption("--hypothesis-profile") or examples.fitting(config.getoption("-m")))
    gc.disable()  # of what is loaded while tests are collected nothing is garbage


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many processes as there are processors, and where there are slow tests half as many again, at least two: those
    in a browser, and of processes that are killed or waited for, leave a processor idle for a third of their time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if "not slow" in config.getoption("-m") else cores + max(2, cores // 2)


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: no search for garbage goes through it again.

    Tests make many objects and little garbage in cycles: searches as frequent as Python's own take a tenth of all time.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skip_summary.tell(terminalreporter)


def find_chromium() -> str | None:
    """Path of a Chromium: what FRONTIER_CHROMIUM names, else the first known name on PATH."""
    named = os.environ.get("FRONTIER_CHROMIUM")
    if named:
        return named if Path(named).is_file() else shutil.which(named)
    return next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the tests of a file, what they freed goes back to the system: compilers and large tables leave gaps.

    What is left, such as libraries that they were the first to load, is not searched again.
    """
    if platform.libc_ver()[0] == "glibc" and (nextitem is None or nextitem.path != item.path):
        gc.collect()
        gc.freeze()
        ctypes.CDLL(None).malloc_trim(0)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Study keys without chance: each test sees the same ones again, in the order in which it makes its studies.

    A hook, since fixtures of the session sweep before any fixture of a test is asked.
    """
    made = itertools.count()
    keys.new_key = lambda: hashlib.blake2b(b"study key of the tests %d" % next(made), digest_size=16).digest()


@pytest.fixture(autouse=True)
def own_main() -> Iterator[None]:
    """Streamlit's tests put the app in the place of the main program, which processes that are started later would then
    run as theirs."""
    before = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = before


@pytest.fixture(scope="session")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Studies:
    """The studies of which texts are kept as goldens."""
    from tests.goldens.studies import Studies

    return Studies(tmp_path_factory.mktemp("goldens"))


@pytest.fixture(scope="session")
def loaded_reader() -> Iterator[forked_readers.Started | None]:
    """A process from which readers of SPSS, Stata and SAS files can be forked."""
    with forked_readers.loaded() as started:
        yield started


@pytest.fixture
def quick_readers(loaded_reader: forked_readers.Started | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers of SPSS, Stata and SAS files start in a few milliseconds; for tests that are not about how they start."""
    if loaded_reader is not None:
        monkeypatch.setattr(reader_process, "_started", loaded_reader)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium; without one the test is skipped, or fails where FRONTIER_REQUIRE_BROWSER=1."""
    found = find_chromium()
    if found is None:
        reason = "there is no Chromium for tests in a browser; install Chromium, or name one in FRONTIER_CHROMIUM"
        if os.environ.get("FRONTIER_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """What starts browsers; there can be one in a process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(chromium: str, playwright: Playwright) -> Iterator[Browser]:
    """A headless Chromium for the whole run; tests open their own context or page in it."""
    running = playwright.chromium.launch(executable_path=chromium, args=[*CHROMIUM_FLAGS])
    yield running
    running.close()
