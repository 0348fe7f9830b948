"""``python -m engine`` is the ``frontier`` command."""

import sys

from engine.cli.main import STARTED_BY_PROGRAM, command
from engine.common.output import report_fault

if __name__ == "__main__":
    if sys.argv[1:] == STARTED_BY_PROGRAM:
        sys.excepthook = report_fault
    command()
