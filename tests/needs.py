"""What some tests need of the machine.  A reason for skipping reads "what is missing; what brings it back"."""

from __future__ import annotations

import os
import sys

import pytest

_ELSEWHERE = "run the tests on Linux or macOS"

SIGKILL = pytest.mark.skipif(os.name == "nt", reason=f"Windows has no SIGKILL; {_ELSEWHERE}")
MODE_BITS = pytest.mark.skipif(os.name == "nt", reason=f"Windows has no mode bits; {_ELSEWHERE}")
FILE_SIZES = pytest.mark.skipif(os.name == "nt", reason=f"Windows cannot limit the sizes of files; {_ELSEWHERE}")
LINKS = pytest.mark.skipif(os.name == "nt", reason=f"links need rights on Windows; {_ELSEWHERE}")
PROC = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc; run the tests on Linux")
TERMINAL = pytest.mark.skipif(os.name == "nt", reason=f"Windows opens no terminals for a test; {_ELSEWHERE}")
PLAIN_USER = pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0,
    reason="rights do not bind root, nor anybody on Windows; run the tests as a plain user on Linux or macOS",
)
