"""Run a benchmark, and keep what it prints."""

from __future__ import annotations

import importlib
import io
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from multiprocessing import get_context
from typing import TextIO

from benchmarks import _targets


class _Both(io.StringIO):
    """Text that is shown as it comes, and kept."""

    def __init__(self, screen: TextIO) -> None:
        super().__init__()
        self._screen = screen

    def write(self, text: str) -> int:
        self._screen.write(text)
        self._screen.flush()
        return super().write(text)


def in_own_process(name: str) -> tuple[str, list[str]]:
    """Run a benchmark in a process of its own: the memory that one needs is not counted for the next."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(measured_with_rows, name).result()


def measured_with_rows(name: str) -> tuple[str, list[str]]:
    """The section of a benchmark that is run, and its rows of the table of targets."""
    return measured(name), _targets.rows(name)


def processor() -> float:
    """Seconds of the processor that this process and those that have ended below it took."""
    return sum(os.times()[:4])


def measured(name: str) -> str:
    """Run a benchmark, show what it prints, and return its section."""
    module = importlib.import_module(f"benchmarks.{name}")
    title = (module.__doc__ or name).strip().split("\n\n")[0].replace("\n", " ")
    print(f"== {name}: {title}\n")
    text, began, before = _Both(sys.stdout), time.perf_counter(), processor()
    with redirect_stdout(text):
        module.main()
    took = f"Took {time.perf_counter() - began:.0f} s by the clock, {processor() - before:.0f} s of the processors."
    print(f"\n{took}\n")
    shown = text.getvalue().strip("\n")  # a heading over columns begins with spaces
    return f"## {name}\n\n{title}\n\n```\n{shown}\n```\n\n{took}\n"
