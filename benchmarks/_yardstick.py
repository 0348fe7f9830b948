"""The yardstick in C (``benchmarks/c``): compiled where a compiler is, run over a table, and held against the engine's
figures."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks._harness import processor_of_children
from engine.data.table import ContingencyTable
from engine.release.spec import ROLES

SOURCE = Path(__file__).resolve().parent / "c" / "yardstick.c"
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-std=c99", "-O2")
"""More (-O3 -march=native) makes it no faster: its time goes into look-ups and branches, not into long loops."""
FIGURES = ("small_cells", "hellinger", "total_variation", "entropy_change")


class NoCompiler(Exception):
    """There is no C compiler, or it cannot compile the yardstick."""


def compiled(folder: Path) -> Path:
    """The yardstick, compiled into a folder; :class:`NoCompiler` says why it cannot be."""
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise NoCompiler(f"no C compiler ({', '.join(COMPILERS)}) is on this machine")
    program = folder / ("yardstick.exe" if os.name == "nt" else "yardstick")
    command = [compiler, *FLAGS, "-o", str(program), str(SOURCE), "-lm"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise NoCompiler(f"{compiler} cannot compile the yardstick: {ended.stderr.strip()}")
    return program


@dataclass
class Space:
    """A complete space as the yardstick ran it: structures, seconds of processor and of the clock, and a row for each
    candidate: its roles as a number in base 4, the place of its rate, records changed, four figures."""

    structures: int
    processor: float
    clock: float
    rows: np.ndarray


class Yardstick:
    """The compiled program, with a table written out for it into a folder."""

    def __init__(self, folder: Path, table: ContingencyTable) -> None:
        self._program, self._folder = compiled(folder), folder
        cells = np.column_stack([table.cells, table.counts])
        lines = [f"{len(table.domain)} {len(table)}", " ".join(map(str, table.domain.shape))]
        lines += [" ".join(map(str, row)) for row in cells.tolist()]
        self._table = folder / "table.txt"
        self._table.write_text("\n".join(lines) + "\n", encoding="ascii")

    def _start(self, *arguments: object) -> subprocess.Popen[str]:
        command = [str(self._program), str(self._table), *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    @staticmethod
    def _ended(process: subprocess.Popen[str]) -> str:
        said, _ = process.communicate()
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, process.args)
        return said

    def space(self, pairs: Sequence[int], *, processes: int = 1, seed: int = 1) -> Space:
        """Every spec at all numbers of pairs, in so many processes that share nothing."""
        files = [self._folder / f"figures {part}" for part in range(processes)]
        began, before = time.perf_counter(), processor_of_children()
        asked = ",".join(map(str, pairs))
        running = [self._start("space", asked, seed, part, processes, file) for part, file in enumerate(files)]
        structures = sum(int(self._ended(process)) for process in running)
        clock, processor = time.perf_counter() - began, processor_of_children() - before
        rows = np.concatenate([np.fromfile(file).reshape(-1, 3 + len(FIGURES)) for file in files])
        return Space(structures, processor, clock, rows)

    def small(self, pairs: Sequence[int], replicates: int, rounds: int) -> dict[tuple[str, int], float]:
        """Seconds of processor time of a candidate by roles and pairs, of all swaps of one and two attributes; what is
        prepared serves so many replicates."""
        said = self._ended(self._start("small", ",".join(map(str, pairs)), 1, replicates, rounds))
        lines = [line.split() for line in said.splitlines()]
        return {(roles, int(wanted)): float(each) / 1e6 for roles, wanted, each, _ in lines}


def numbers_of(roles: Sequence[str]) -> np.ndarray:
    """Roles as numbers in base 4, as the yardstick has them."""
    codes = np.array([[ROLES.index(role) for role in text] for text in roles])
    return codes @ 4 ** np.arange(codes.shape[1])[::-1]


def structures_of(numbers: np.ndarray, d: int) -> np.ndarray:
    """A number for the structure of each number of roles: S and C are alike, but for whether there is a C."""
    digits = numbers[:, None] // 4 ** np.arange(d) % 4
    alike = np.array([2, 1, 2, 0])[digits] @ 3 ** np.arange(d)
    return 2 * alike + (digits == ROLES.index("C")).any(axis=1)


def apart(ours: np.ndarray, yardstick: np.ndarray, d: int) -> np.ndarray:
    """Standard errors between the means of the engine and of the yardstick, shape ``(rates, figures)``.

    Both are rows as :class:`Space` has them, of the same candidates.  Structures are drawn independently of each other
    and their members are not, so a structure's mean difference is one observation.
    """
    ours, yardstick = (rows[np.lexsort((rows[:, 1], rows[:, 0]))] for rows in (ours, yardstick))
    if not np.array_equal(ours[:, :2], yardstick[:, :2]):
        raise ValueError("the engine and the yardstick have different candidates")
    numbers, rate = ours[:, 0].astype(np.int64), ours[:, 1].astype(np.int64)
    found = np.zeros((rate.max() + 1, len(FIGURES)))
    for k in range(len(found)):
        _, structure = np.unique(structures_of(numbers[rate == k], d), return_inverse=True)
        members = np.bincount(structure)
        for j in range(len(FIGURES)):
            differences = (ours - yardstick)[rate == k, 3 + j]
            each = np.bincount(structure, weights=differences) / members
            error = each.std(ddof=1) / np.sqrt(len(each))
            found[k, j] = each.mean() / error if error else 0.0
    return found
