"""Remedies of errors in the arguments and methods of the Python face."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engine.common.errors import EngineError, Remedy

ARGUMENTS = {
    Remedy.ATTRIBUTES: "attributes=['a', 'b']",
    Remedy.ATTRIBUTES_AND_CUTS: "attributes=['a', 'b'] and cut={{'a': [25, 55]}}",
    Remedy.CLEAN_NAMES: "load(PATH, clean_names=True) gives a DataFrame with such names",
    Remedy.CUT: "cut={{'{column}': [{edges}]}}",
    Remedy.DROP: "drop=['{column}']",
    Remedy.FIRST_PLAN: "without plan=, attributes=['a', 'b'] make one",
    Remedy.EXTEND: "extend(data, ...)",
    Remedy.FAILED_RUNS: "allow_partial=True",
    Remedy.FEWER_SWAPS: "swap=['a', 'b'] or search=True",
    Remedy.ID_COLUMN: "id='{column}', carry=['{column}'] or drop=['{column}']",
    Remedy.KEYS: "keys=['a', 'b']",
    Remedy.KEY_FILE: "key=PATH",
    Remedy.MECHANISMS: "list_mechanisms()",
    Remedy.NEW_STUDY: "sweep(data, study='{study}')",
    Remedy.NUMERIC_COLUMN: "cut={{'{column}': [{edges}]}}, carry=['{column}'] or drop=['{column}']",
    Remedy.ONE_WORKER: "workers=1, or put the call under if __name__ == '__main__': a worker runs the script again",
    Remedy.REASON: "why='...'",
    Remedy.REPLICATES: "extend(data, replicates=20)",
    Remedy.RULE: "choose('ID'), choose(max_risk=A) or choose(slope=A)",
    Remedy.SMALLER_SPACE: "search=True, fix=[...], change=[...], swap=[...] or swap_sizes=[...]",
    Remedy.SPACE: "specs=[...], swap_sizes=[...] or all_specs=True",
    Remedy.SWEEP: "sweep(data, study=PATH)",
}
"""What mends an error, where an argument or a method does."""


@contextmanager
def naming_arguments() -> Iterator[None]:
    """Add to the sentence of an error the argument that mends it, where there is one."""
    try:
        yield
    except EngineError as error:
        if error.remedy not in ARGUMENTS:
            raise
        hint = ARGUMENTS[error.remedy].format(**error.values)
        raise type(error)(f"{error} ({hint})") from None
