"""Where the processor time of the complete release space goes, beside the phases of the yardstick in C.

``python -m benchmarks phases`` sweeps CPS-8D at three rates as a user does, and looks at the stack of each process
every few milliseconds of its processor time: the engine itself times nothing.  Looking costs a few parts in a hundred.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

if __name__ == "__main__":
    # Run as a file, only this folder is searched; the engine and the twins are one above.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _sampled
from benchmarks._sampled import COMPILED
from benchmarks._tables import RATES, table_of
from benchmarks._yardstick import PHASES, NoCompiler, Yardstick, processor_of_children
from engine.release.spec import pairs_wanted
from tests.shared import folder

UNSEEN = 0.25
"""The most of all processor time that may lie in processes at which nobody looked."""


def check_names() -> None:
    """Refuse to tell phases by modules that are not there any more."""
    gone = [name for name in _sampled.PREFIXES if importlib.util.find_spec(name) is None]
    if gone:
        raise RuntimeError(f"there is no module {gone[0]} any more; name in benchmarks/_sampled.py what took its place")


def swept(module: Sequence[str], data: str, study: Path) -> float:
    """Sweep the complete space by a module that takes the command's arguments; seconds of all processes."""
    arguments = ["--study", str(study), "--all-specs", "--rates", ",".join(RATES), "--replicates", "1"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", *module, "sweep", data, *arguments]
    before = processor_of_children()
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    if ended.returncode:
        raise RuntimeError(f"the sweep ended with {ended.returncode}: {ended.stderr.splitlines()[-1:]}")
    return processor_of_children() - before


def profiled(place: Path) -> tuple[dict[str, float], float, int]:
    """Seconds of a sweep by phase, of all its processes, and how many processes were looked at."""
    looks = place / "looks"
    looks.mkdir()
    swept(["engine"], "czech", place / "first.study")  # compiles what is not compiled yet
    data = str(folder() / "data" / "cps8d.csv")
    whole = swept(["benchmarks._sampled", str(looks)], data, place / "space.study")
    seconds: dict[str, float] = {}
    files = sorted(looks.glob("*.json"))
    for file in files:
        for phase, taken in json.loads(file.read_text(encoding="utf-8")).items():
            seconds[phase] = seconds.get(phase, 0.0) + taken
    for phase in set(_sampled.PREFIXES.values()):
        if not seconds.get(phase):
            raise RuntimeError(f"nothing was found of '{phase}'; see to the names in benchmarks/_sampled.py")
    unseen = whole - sum(seconds.values())
    if abs(unseen) > UNSEEN * whole:
        raise RuntimeError(f"nobody looked at {unseen:.1f} of {whole:.1f} seconds; see benchmarks/_sampled.py")
    return seconds | {"ends of processes, and not looked at": unseen}, whole, len(files)


def main() -> None:
    """Measure and print."""
    table = table_of("cps8d.csv")
    if table is None:
        print("skipped: CPS-8D is not here")
        return
    if not hasattr(signal, "setitimer"):
        print("skipped: this system has no timer of processor time")
        return
    check_names()
    with TemporaryDirectory() as place:
        seconds, whole, processes = profiled(Path(place))
        try:
            wanted = [pairs_wanted(rate, table.n_records)[1] for rate in RATES]
            theirs = Yardstick(Path(place), table).phases(wanted)
        except NoCompiler as reason:
            print(f"no yardstick: {reason}")
            theirs = {}
    print(f"the complete space, processes: {processes}; seconds of processor time by phase, beside the yardstick")
    order = sorted(seconds, key=lambda phase: -seconds[phase])
    print(f"  {'':38} {'engine':>8} {'share':>7} {'yardstick':>10}")
    for phase in order:
        told = f"{sum(theirs[one] for one in PHASES):10.2f}" if theirs and phase == COMPILED else ""
        print(f"  {phase:38} {seconds[phase]:8.2f} {seconds[phase] / whole:7.0%} {told}".rstrip())
    for one in PHASES if theirs else ():
        print(f"    {'yardstick: ' + one:36} {'':8} {'':7} {theirs[one]:10.2f}")
    if theirs:
        print(f"  {'listing, writing figures, ending':38} {'':8} {'':7} {theirs['the rest']:10.2f}")
    print(f"  {'all':38} {whole:8.2f} {1:7.0%} {sum(theirs.values()):10.2f}")


if __name__ == "__main__":
    main()
