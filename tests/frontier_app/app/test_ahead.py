"""What the server loads while the browser starts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from frontier_app.session.server import AHEAD
from frontier_app.session.workspace import Workspace
from tests.frontier_app.conftest import APP

# Names of the modules that the map's page loads in a new process although the server has loaded ahead.
_OPEN = f"""
import sys
from importlib import import_module
from pathlib import Path
from streamlit.testing.v1 import AppTest
from frontier_app.session import workspace, workspace
from frontier_app.session.navigation import script
import_module({AHEAD!r})
token = workspace.new_token()
workspace.begin(workspace.digest(token), Path(sys.argv[1]))
page = AppTest.from_file({str(APP)!r}, default_timeout=300)
page.query_params["w"] = token
before = set(sys.modules)
page.run()
page.switch_page(script("explore")).run()
assert not page.exception and "candidates are" in page.title[0].value
print(*(name for name in set(sys.modules) - before))
"""


@pytest.mark.slow
def test_the_first_map_finds_the_large_libraries_loaded(swept: Callable[..., Workspace]):
    command = [sys.executable, "-W", "ignore", "-c", _OPEN, str(swept().folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    late = [name.partition(".")[0] for name in done.stdout.split()]
    assert not {"pandas", "scipy", "numpy"} & set(late)
    assert late.count("engine") < 30, "of some 240 modules"
