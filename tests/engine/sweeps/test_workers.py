"""Processes of a sweep start together, and load what they need and no more."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import pytest

from engine.sweeps.workers import PoolExecutor, open_local_executor
from tests.engine.small_studies import ROOT, SMALL
from tests.small_tables import KEY

_DEAR = ("pandas", "pyarrow", "statsmodels", "scipy.linalg", "scipy.stats", "scipy.special", "patsy")


def loaded(measure: str) -> list[str]:
    """The dear libraries that a worker has loaded once it has worked, and what its linear algebra can do then."""
    code = (
        "import pickle, sys\n"
        "from engine.sweeps import workers\n"
        "question, groups, key = pickle.load(sys.stdin.buffer)\n"
        "workers._start_worker(question, key)\n"
        "assert len(workers._work(groups).rows)\n"
        f"print(*[name for name in {_DEAR} if name in sys.modules])\n"
        "import scipy.linalg\n"
        "assert scipy.linalg.cython_blas and scipy.linalg.norm([3.0, 4.0]) == 5.0\n"
    )
    work = (
        "import pickle, sys\n"
        "from engine.release.spec import ReleaseSpec\n"
        "from engine.sweeps.groups import TaskBatch\n"
        "from tests.engine.small_studies import SMALL\n"
        "from tests.small_tables import KEY, groups\n"
        f"question = SMALL.asked({measure!r})\n"
        "made = groups(question, [ReleaseSpec(SMALL.spec('SUUU'), '0.5')])\n"
        "sys.stdout.buffer.write(pickle.dumps((question, TaskBatch((one, (1,)) for one in made), KEY)))\n"
    )
    asked = subprocess.run([sys.executable, "-c", work], cwd=ROOT, capture_output=True, check=True).stdout
    worked = subprocess.run([sys.executable, "-c", code], cwd=ROOT, input=asked, capture_output=True, check=True)
    return worked.stdout.decode().split()


@pytest.mark.slow
def test_a_worker_on_counts_loads_no_library_but_numpy_and_the_compiler() -> None:
    assert loaded("hellinger") == []


@pytest.mark.slow
def test_all_processes_start_at_once() -> None:
    """Not one after the other, each with the first batch that finds nobody idle."""
    with open_local_executor(SMALL.asked(), KEY, 3) as executor:
        assert isinstance(executor, PoolExecutor) and isinstance(executor._pool, ProcessPoolExecutor)
        assert len(executor._pool._processes) == 3
