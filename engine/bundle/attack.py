"""Attack a release before it leaves with what an intruder may have: guessed secrets, guessed orders, other files.

Secrets that can be guessed are small numbers, repeated digits, and the output of programs for small seeds: whoever
guesses the study key can draw the pairs of a swap again and undo it.
"""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np

from engine.bundle.readers import Attack, AttackSucceeded
from engine.bundle.source import ExportSource, StreamedSource
from engine.common.output import Message, Report
from engine.decision.verdict_log import STREAMED, VERDICT, verdict_words
from engine.measures.several_tables import compared
from engine.measures.turned_back import turned_back
from engine.measures.verdict import Verdict, verdict_values
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable, order_trace
from engine.report.detected import (
    TOP,
    detected_once,
    release_verdict,
    streamed_verdict,
    units_found,
    units_words,
)
from engine.sweeps.reader_attacks import misfits, released_recodes
from engine.sweeps.remake import Remade
from engine.sweeps.warnings import MEND_IDENTIFIER, tells_apart, tells_units_apart


def _hashed(name: str) -> Callable[[int, int], bytes]:
    def digest(seed: int, size: int) -> bytes:
        once = hashlib.new(name, str(seed).encode()).digest()
        return (once * (size // len(once) + 1))[:size]

    return digest


_FAMILIES: dict[str, Callable[[int, int], bytes]] = {
    "SHA-256": _hashed("sha256"),
    "MD5": _hashed("md5"),
    "BLAKE2": _hashed("blake2b"),
    "Python's random": lambda seed, size: random.Random(seed).randbytes(size),
    "NumPy's generator": lambda seed, size: np.random.default_rng(seed).bytes(size),
    "NumPy's old generator": lambda seed, size: np.random.RandomState(seed).bytes(size),
}
"""Ways in which a small seed becomes bytes, of which so many are asked for."""
_SMALL = 1 << 40
"""A secret that reads as a number below this is small."""
_SEEDS = 1 << 13  # seeds of every family that are compared with a secret


def weakness(secret: bytes, n_seeds: int) -> str:
    """The way in which a secret could be guessed, in words; empty where there is none."""
    digits = secret.hex().lstrip("0")
    if min(int.from_bytes(secret, "big"), int.from_bytes(secret, "little")) < _SMALL:
        return "it is a small number"
    if digits.isdecimal() and len(digits) <= 14:
        return "it is a small number"
    text = secret.hex()
    if any(text == (text[:length] * len(text))[: len(text)] for length in range(1, 9)):
        return "it repeats a few digits"
    if len(set(secret)) <= len(secret) // 2:
        return "it holds few different bytes"
    family = _families_by_bytes(len(secret), n_seeds).get(secret)
    return f"it comes of a small seed ({family})" if family else ""


@lru_cache(maxsize=4)
def _families_by_bytes(size: int, n_seeds: int) -> dict[bytes, str]:
    return {spread(seed, size): family for family, spread in _FAMILIES.items() for seed in range(n_seeds)}


_SAME = 0.95
_UNATTACKED = "all attacks are made before a public or a board's export; these before every export"


def attack(source: ExportSource | StreamedSource, whole: bool, say: Report) -> dict[str, Any]:
    """Attack a release, tell the worst finding, and return attempts and results for the analyst's bundle.

    ``whole`` says that all attacks are made, and that one that succeeds is an error (:class:`AttackSucceeded`) that
    says what to change; otherwise only those are made that need little time.  Of streamed records the original values
    are guessed by their cells and nothing else is tried.
    """
    begin = time.monotonic()
    result: dict[str, Any] = {"guessed": _guess_originals(source)}
    if isinstance(source, StreamedSource):
        _refuse_success("guessed", result["guessed"])
        if result["guessed"]["telling"]:
            say(Message("warning", result["guessed"]["why"]))
        say(Message("note", STREAMED))
        return {"made": False, "why": STREAMED, **result, VERDICT: verdict_values(streamed_verdict(source.remade))}
    result |= {"units": _name_units(source), "several_tables": _compare_tables(source)}
    verdict = None
    if whole:
        say(Message("step", "attacking the release itself"))
        result |= {
            "keys": _guess_keys(source),
            "order": _guess_order(source),
            "identifiers": _find_identifiers(source),
            "recodes": _find_recodes(source),
            "misfits": _find_misfits(source),
            "published_tables": _use_published_tables(source),
        }
        verdict = release_verdict(source.remade, source.study.plan)
        result |= {VERDICT: verdict_values(verdict), "seconds": round(time.monotonic() - begin, 1)}
        for part in ADVICE:
            _refuse_success(part, result[part])
        if result["misfits"]["telling"]:
            say(Message("warning", f"{result['misfits']['why']}; the board's memo says so"))
    told, is_warning = told_words(result, verdict)
    if told:
        say(Message("warning" if is_warning else "note", f"{told} The board's memo says so."))
    return {"made": whole, **({} if whole else {"why": _UNATTACKED}), **result}


def _refuse_success(part: Attack, found: Mapping[str, Any]) -> None:
    if found.get("succeeded"):
        raise AttackSucceeded(part, found["why"], ADVICE[part])


_OWN_FORM = {"why", "calibration", "fit", "tables_fit", "by_tables", "by_rarity", "by_comparison", "units", "suspicion"}
ADVICE: dict[Attack, str] = {
    "keys": "make a study of its own with a new key, which the system draws where no key file is named",
    "order": "export again with a new secret, in an order of its own",
    "identifiers": MEND_IDENTIFIER,
    "recodes": "let the two move as one block (accept the suggestion under Data, or name both in the columns of an "
    "attribute), or drop one of them",
    "misfits": "do not release the column that tells, put classes of it into the file in its place, let the two move "
    "as one block, or exchange another attribute; a weight need not be published",
    "guessed": "let fewer records change, exchange attributes of more levels, or add more noise to numbers",
}
"""What to do where an attack succeeds, by its part of the result of :func:`attack`."""


def _guess_keys(source: ExportSource) -> dict[str, Any]:
    for description, secret in (("the study key", source.key), ("the secret of the row order", source.rows.secret)):
        if why := weakness(secret, _SEEDS):
            return {"succeeded": True, "why": f"{description} can be guessed: {why}"}
    return {"succeeded": False, "seeds": _SEEDS}


def _guess_order(source: ExportSource) -> dict[str, Any]:
    """Try whether rows or ids keep something of the original order, or are in an order that a small seed makes."""
    n, order = source.data.n_records, source.rows.order
    result: dict[str, Any] = {"succeeded": False}
    sequences = [
        ("the order of rows", order),
        ("the order of new ids", np.argsort(source.rows.ids)),
        ("the order of new ids in the release", np.argsort(source.rows.ids[order])),
    ]
    if source.data.units is not None:
        numbers = source.rows.unit_numbers(source.data.units)[source.data.units.first]
        sequences.append(("the order of new numbers of households", np.argsort(numbers)))
    for description, sequence in sequences:
        trace = order_trace(sequence)
        result[description] = {"neighbours_kept": trace.neighbours, "correlation": round(trace.correlation, 6)}
        if trace.is_kept:
            return {**result, "succeeded": True, "why": f"{description} keeps something of the original order"}
    for seed in range(200 if n <= 100_000 else 20):
        for permuted in (np.random.default_rng(seed).permutation(n), np.random.RandomState(seed).permutation(n)):
            for guess in (permuted, np.argsort(permuted)):
                if n > 20 and np.mean(guess == order) > _SAME:
                    return {**result, "succeeded": True, "why": f"the order of rows is the one that seed {seed} makes"}
    return result


def _find_identifiers(source: ExportSource) -> dict[str, Any]:
    """Released columns, new numbers apart, that show the original order or tell each record or household apart."""
    n, units = source.data.n_records, source.data.units
    others = {name: source.raw.columns[name] for name in source.columns if name not in source.data.single_uses}
    of_records = [name for name, column in others.items() if tells_apart(column, n)]
    of_units = []
    if units is not None and len(units) < n:
        of_units = [name for name, column in others.items() if tells_units_apart(column, units)]
    for columns, owner in ((of_records, "record"), (of_units, "household")):
        if columns:
            why = f"column '{columns[0]}' tells nearly every {owner} apart"
            return {"succeeded": True, "columns": columns, "why": why}
    return {"succeeded": False, "columns": []}


def _find_recodes(source: ExportSource) -> dict[str, Any]:
    """Recompute the columns that others decide in the original; where that differs from the release, the swap shows."""
    tried = released_recodes(source.remade, [name for name in source.columns if name not in source.data.renumbered])
    broken = sorted((r for r in tried if r.broken), key=lambda recode: (not recode.undone, -recode.broken))
    if not broken:
        return {"tried": len(tried), "succeeded": False}
    worst, n, more = broken[0], source.data.n_records, len(broken) - 1
    consequence = (
        f"recomputing '{worst.decided}' from '{worst.decider}' undoes the swap of it"
        if worst.undone
        else f"everybody sees by them which records were altered, and '{worst.decided}' tells what was there"
    )
    why = (
        f"'{worst.decider}' decides '{worst.decided}' in every original record, and {worst.broken:,} of {n:,} released "
        f"rows contradict themselves: {consequence}"
        + (f"; so it is with {more:,} more pair{'s' if more > 1 else ''} of columns" if more else "")
    )
    return {"tried": len(tried), "succeeded": True, "why": why}


def _find_misfits(source: ExportSource) -> dict[str, Any]:
    """Name the records whose exchanged values go least with the columns that stayed, weight and household included."""
    found, tried = misfits(source.remade, [name for name in source.columns if name != source.data.id])
    if not found:
        return {"tried": tried, "succeeded": False, "telling": False}
    best = found[0]
    return {
        "tried": tried,
        "succeeded": best.undoes,
        "telling": best.is_telling,
        "why": best.words,
        "best": [{**asdict(one), "skill": round(one.skill, 4)} for one in found],
    }


def _use_published_tables(source: ExportSource) -> dict[str, Any]:
    """The findings from published two-way tables of the original: attributes, rate, and which records.

    It is reported and never refuses an export: to keep such tables unpublished, or not, is for the board to decide.
    """
    found = detected_once(source.remade, source.study.plan)
    if found.why:
        return {"tried": 0, "published": source.study.plan.threat.published_tables, "why": found.why}
    return {
        "tried": 1,
        "published": source.study.plan.threat.published_tables,
        **{name: value for name, value in vars(found).items() if name not in _OWN_FORM},
        "top": TOP,
    }


def _name_units(source: ExportSource) -> dict[str, Any]:
    """The households, or records, that published tables of places point to, by the best of some attacks on them.

    Such tables may be withheld, so that it never refuses an export; where it is ``telling`` the export warns of it.
    """
    remade, plan = source.remade, source.study.plan
    found = units_found(RecordRelease(ReleasedTable(remade.data), remade.tables[:1], plan, remade.spec))
    if found is None or not found.altered:
        return {"tried": 0, "telling": False}
    words = {**_words_of(found.verdict), "telling": found.verdict.severity == "serious", "why": units_words(found)}
    return {"tried": 1, **words, **found._asdict(), "auc": None if math.isnan(found.auc) else found.auc}


def _guess_originals(source: ExportSource | StreamedSource) -> dict[str, Any]:
    """The original values that the released ones give back to an intruder who knows the method; it is refused where
    nearly all altered records are guessed, and where it is ``telling`` the export warns of it."""
    remade = source.remade
    found = turned_back(remade.tables) if isinstance(remade, Remade) else remade.guesses
    if found is None:
        return {"tried": 0, "succeeded": False, "telling": False}
    return {"tried": 1, "succeeded": found.undoes, **_words_of(found.verdict), **found._asdict()}


def _compare_tables(source: ExportSource) -> dict[str, Any]:
    """The records that several released tables tell to be altered, by their differences; as the tables are meant to be
    published together it never refuses an export, and where it is ``telling`` the export warns of it."""
    found = compared(source.remade.tables)
    if found is None:
        return {"tried": 0, "telling": False}
    return {"tried": 1, **_words_of(found.verdict), "tables": found.tables, "certain": found.certain}


def _words_of(verdict: Verdict) -> dict[str, Any]:
    return {"telling": verdict.finds, "severity": verdict.severity, "why": verdict_words(verdict)}


def told_words(attack: Mapping[str, Any], verdict: Verdict | None) -> tuple[str, bool]:
    """The one finding that an export tells, the most complete form of the ``verdict`` of all attacks (None: only some
    were made), and whether it is a warning; empty where there is nothing to tell."""
    units, several = attack["units"], attack["several_tables"]
    if verdict is not None:
        return (units["why"] if verdict.kind == "units" else verdict_words(verdict)), verdict.finds
    told = next((one for one in (several, attack["guessed"]) if one["telling"]), units)
    return (told["why"], True) if told["telling"] else ("", False)
