"""Attack a release before it leaves with what an intruder may have: guessed keys, guessed orders, other files.

The intruder is given more than a real one has: the records put back into their original order, the original table, the
spec and the number of the replicate.  What is left to guess is the study key and the rate; the true pair restores the
associations that the swap has weakened and so stands out from all wrong guesses.

Keys that can be guessed are small numbers, repeated digits, and the output of programs for small seeds.  Mechanisms
declare whether their exchanges can be drawn again (``redrawable``); the guesser has their parameters, except the rate.
"""

from __future__ import annotations

import hashlib
import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np

from engine.bundle.readers import Attack, AttackSucceeded
from engine.bundle.source import ExportSource, StreamedSource
from engine.common.streams import KEY_BYTES
from engine.decision.verdict_log import STREAMED, verdict_words
from engine.measures.several_tables import compared
from engine.measures.turned_back import turned_back
from engine.measures.verdict import Verdict, verdict_values
from engine.mechanisms import mechanism
from engine.mechanisms.base import BatchedDraw
from engine.models.record_release import RecordRelease
from engine.release.records import ReleasedTable, order_trace
from engine.release.spec import ReleaseSpec, pairs_wanted, structure_of
from engine.report.detected import (
    TOP,
    detected_once,
    release_verdict,
    streamed_verdict,
    units_found,
    units_words,
)
from engine.sweeps.candidates import setting_of
from engine.sweeps.reader_attacks import misfits, released_recodes
from engine.sweeps.remake import Remade
from engine.sweeps.warnings import MEND_IDENTIFIER, tells_apart, tells_units_apart

_own = threading.local()


def old_generator(seed: int) -> np.random.RandomState:
    """A generator equal to ``RandomState(seed)`` until its thread's next call, in a tenth of a new one's time."""
    generator: np.random.RandomState = getattr(_own, "generator", None) or np.random.RandomState(0)
    _own.generator = generator
    generator.seed(seed)
    return generator


def _hashed(name: str) -> Callable[[int, int], bytes]:
    def digest(seed: int, size: int) -> bytes:
        once = hashlib.new(name, str(seed).encode()).digest()
        return (once * (size // len(once) + 1))[:size]

    return digest


FAMILIES: dict[str, Callable[[int, int], bytes]] = {
    "number": lambda seed, size: seed.to_bytes(size, "big"),
    "number, low byte first": lambda seed, size: seed.to_bytes(size, "little"),
    # as a person types it into a key file: 000...042 as hexadecimal digits
    "digits": lambda seed, size: bytes.fromhex(str(seed).zfill(2 * size)[-2 * size :]),
    "repeated digits": lambda seed, size: bytes.fromhex((str(seed) * (2 * size))[: 2 * size]),
    "repeated byte": lambda seed, size: bytes([seed % 256]) * size,
    "SHA-256": _hashed("sha256"),
    "MD5": _hashed("md5"),
    "BLAKE2": _hashed("blake2b"),
    "Python's random": lambda seed, size: random.Random(seed).randbytes(size),
    "NumPy's generator": lambda seed, size: np.random.default_rng(seed).bytes(size),
    "NumPy's old generator": lambda seed, size: old_generator(seed).bytes(size),
}
"""Ways in which a small seed becomes bytes, of which so many are asked for."""
SMALL = 1 << 40
"""A key that reads as a number below this is small."""


def guesses(size: int, n_seeds: int) -> Iterator[tuple[str, int, bytes]]:
    """Family, seed and bytes of every guess with a seed below ``n_seeds``, each byte string once."""
    seen: set[bytes] = set()
    for seed in range(n_seeds):
        for family, spread in FAMILIES.items():
            guess = spread(seed, size)
            if guess not in seen:
                seen.add(guess)
                yield family, seed, guess


def weakness(secret: bytes, n_seeds: int) -> str:
    """The way in which a secret could be guessed, in words; empty for one that none of the families makes."""
    if min(int.from_bytes(secret, "big"), int.from_bytes(secret, "little")) < SMALL:
        return "it is a small number"
    text = secret.hex()
    for length in range(1, 9):
        if text == (text[:length] * len(text))[: len(text)]:
            return "it repeats a few digits"
    if text.lstrip("0").isdecimal() and len(text.lstrip("0")) <= 14:
        return "it is a small number"
    if len(set(secret)) <= len(secret) // 2:
        return "it holds few different bytes"
    family = _families_by_bytes(len(secret), n_seeds).get(secret)
    return f"it comes of a small seed ({family})" if family else ""


@lru_cache(maxsize=4)
def _families_by_bytes(size: int, n_seeds: int) -> dict[bytes, str]:
    """The family by the bytes that it makes of a small seed, of the families that are slow to compute."""
    slow = [*FAMILIES][5:]
    return {FAMILIES[family](seed, size): family for family in slow for seed in range(n_seeds)}


_RATES = ("0.01", "0.02", "0.05", "0.1")
Donors = Callable[[bytes], list[np.ndarray]]
"""For a key, and each rate that is tried, the record from which each record would get its values back."""


def _of_random_swap(source: ExportSource, drawn: BatchedDraw) -> tuple[int, Donors]:
    """The number of rates and the donors of pairs of cells, of which a smaller rate takes the first ones."""
    spec, data = source.scenario.spec, source.data
    swap, n = mechanism(spec.mechanism), data.n_records
    rates = {*_RATES, *source.study.plan.space.rates, spec.rate}
    stops = sorted({pairs_wanted(rate, n)[1] for rate in rates} - {0})
    prepared = drawn.preparing(data.table)(structure_of(spec, data.table))

    def donors_of(key: bytes) -> list[np.ndarray]:
        derived = swap.stream(key, spec, data.table, source.replicate)
        pairs = drawn.records(derived, prepared.draw(derived, stops[-1]), data.cell_of_record)
        donors = np.tile(np.arange(n), (len(stops), 1))
        for row, stop in zip(donors, stops, strict=True):
            first, second = pairs[:stop].T
            row[first], row[second] = second, first
        return [*donors]

    return len(stops), donors_of


def _of_records(source: ExportSource) -> tuple[int, Donors]:
    """The number of rates of the study with the same other parameters, and the donors of exchanges over records."""

    def but_rate(spec: ReleaseSpec) -> tuple[object, ...]:
        return spec.mechanism, tuple((name, text) for name, text in spec.params if name != "rate")

    spec, data, plan = source.scenario.spec, source.data, source.study.plan
    swap = mechanism(spec.mechanism)
    specs = [s.spec for s in source.study.scenarios if but_rate(s.spec) == but_rate(spec)]
    settings = [setting_of(one, plan, data) for one in specs]
    prepared, original = swap.prepare(settings[0]), ReleasedTable(data)

    def donors_of(key: bytes) -> list[np.ndarray]:
        streams = (swap.stream(key, one, data.table, source.replicate) for one in specs)
        drawn = (
            swap.draw_replicate(prepared, setting, derived, original).tables[0]
            for setting, derived in zip(settings, streams, strict=True)
        )
        return [np.arange(data.n_records) if table.source is None else table.source for table in drawn]

    return len(specs), donors_of


_SEEDS_COMPARED = 1 << 13  # seeds of every family that are compared with the key itself
_SEEDS_TRIED = 75  # seeds of every family with which the swap is undone: about 800 guesses
_SECONDS = 12.0
_STANDS_OUT = 8.0  # standard deviations of wrong guesses' scores
_RESTORED = 0.5  # share of changed records; a wrong guess that stands out by chance restores few
_SAME = 0.95


def attack(source: ExportSource) -> dict[str, Any]:
    """Attack a release and return the attempts and their results, as plain values for the analyst's bundle.

    An attack that succeeds is an error (:class:`~engine.bundle.readers.AttackSucceeded`) that says what to change.
    """
    begin = time.monotonic()
    result: dict[str, Any] = {
        "made": True,
        "keys": _guess_keys(source),
        "undoing": _undo_swap(source),
        "order": _guess_order(source),
        "identifiers": _find_identifiers(source),
        "recodes": _find_recodes(source),
        "misfits": _find_misfits(source),
        "guessed": guess_originals(source),
        "published_tables": _use_published_tables(source),
        "units": name_units(source),
        "several_tables": compare_tables(source),
    }
    result["verdict"] = verdict_values(release_verdict(source.remade, source.study.plan))
    result["seconds"] = round(time.monotonic() - begin, 1)
    for part in ADVICE:
        refuse_success(part, result[part])
    return result


def attack_streamed(source: StreamedSource) -> dict[str, Any]:
    """Guess the original values of streamed records by their cells, as :func:`attack` does; nothing else is tried."""
    guessed = guess_originals(source)
    refuse_success("guessed", guessed)
    verdict = streamed_verdict(source.remade)
    return {"made": False, "why": STREAMED, "guessed": guessed, "verdict": verdict_values(verdict)}


def refuse_success(part: Attack, found: Mapping[str, Any]) -> None:
    """Refuse a release of which an attack succeeded."""
    if found.get("succeeded"):
        raise AttackSucceeded(part, found["why"], ADVICE[part])


_OWN_FORM = {"why", "calibration", "fit", "tables_fit", "by_tables", "by_rarity", "by_comparison", "units", "suspicion"}
ADVICE: dict[Attack, str] = {
    "keys": "make a study of its own with a new key, which the system draws where no key file is named",
    "undoing": "make a study of its own with a new key, which the system draws where no key file is named",
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
    """Try whether the study key or the secret of the row order can be guessed."""
    for description, secret in (("the study key", source.key), ("the secret of the row order", source.rows.secret)):
        why = weakness(secret, _SEEDS_COMPARED)
        if why:
            return {"succeeded": True, "why": f"{description} can be guessed: {why}"}
    return {"succeeded": False, "seeds": _SEEDS_COMPARED}


def _undo_swap(source: ExportSource) -> dict[str, Any]:
    """Undo the swap under guessed keys and rates; the true pair restores the original associations."""
    data, released = source.data, source.remade.tables[0]
    spec = source.scenario.spec
    swap = mechanism(spec.mechanism)
    moved = data.domain.indices(swap.altered(spec))
    if not swap.redrawable or len(moved) == len(data.domain):
        why = "the mechanism cannot be undone by drawing its pairs again"
        return {"tried": 0, "succeeded": False, "why": why}
    n_rates, donors_of = _of_records(source) if swap.batched is None else _of_random_swap(source, swap.batched)
    if not n_rates:
        return {"tried": 0, "succeeded": False, "why": "nothing was swapped"}
    stayed = [data.codes[j].astype(np.int64) for j in range(len(data.domain)) if j not in moved]
    exchanged = [released.codes(j).astype(np.int64) for j in moved]
    base, scores, tried = _association(exchanged, stayed), [], []
    begin = time.monotonic()
    for guess in guesses(KEY_BYTES, _SEEDS_TRIED):
        scores.append([_association([codes[d] for codes in exchanged], stayed) for d in donors_of(guess[2])])
        tried.append(guess)
        if time.monotonic() - begin > _SECONDS:
            break
    result: dict[str, Any] = {"keys": len(tried), "tried": len(tried) * n_rates, "succeeded": False}
    best = stands_out(base, np.array(scores))
    if best is not None:
        family, seed, key = tried[best[0]]
        donors = donors_of(key)[best[1]]
        changed = source.remade.changed
        right = [released.codes(j)[donors][changed] == data.codes[j][changed] for j in moved]
        restored = float(np.mean(right)) if changed.any() else 0.0
        result |= {"best_guess": f"{family}, seed {seed}", "restored": round(restored, 4)}
        if restored > _RESTORED:
            why = f"undoing the swap with a guessed key ({family}, seed {seed}) restores {restored:.0%} of it"
            result |= {"succeeded": True, "why": why}
    return result


def stands_out(base: float, scores: np.ndarray) -> tuple[int, int] | None:
    """The guess (row) and number of pairs (column) that an intruder would believe in: its score is above ``base``, that
    of the release as it is, and far above those of all other guesses of as many pairs.  None where there is none."""
    centre = np.median(scores, axis=0)
    spread = 1.4826 * np.median(np.abs(scores - centre), axis=0)
    z = (scores - centre) / np.where(spread > 0, spread, np.inf)
    z[scores <= base] = -np.inf
    best = np.unravel_index(int(np.argmax(z)), z.shape)
    return (int(best[0]), int(best[1])) if z[best] > _STANDS_OUT else None


def _association(moved: list[np.ndarray], stayed: list[np.ndarray]) -> float:
    """The strength with which moved and unmoved attributes go together: the sum of n log n over their two-way tables.

    Their margins stay the same whatever is exchanged, so this orders guesses as the likelihood ratio does.
    """
    total = 0.0
    for codes in moved:
        size = int(codes.max(initial=0)) + 1
        for unmoved in stayed:
            n = np.bincount(unmoved * size + codes)
            total += float((n * np.log(np.maximum(n, 1))).sum())
    return total


def _guess_order(source: ExportSource) -> dict[str, Any]:
    """Try whether rows or ids keep something of the original order, or are in an order that a small seed makes."""
    n, order = source.data.n_records, source.rows.order
    result: dict[str, Any] = {"succeeded": False}
    sequences = [("the order of rows", order), ("the order of new ids", np.argsort(source.rows.ids))]
    sequences.append(("the order of new ids in the release", np.argsort(source.rows.ids[order])))
    if source.data.units is not None:
        numbers = source.rows.unit_numbers(source.data.units)[source.data.units.first]
        sequences.append(("the order of new numbers of households", np.argsort(numbers)))
    for description, sequence in sequences:
        trace = order_trace(sequence)
        result[description] = {"neighbours_kept": trace.neighbours, "correlation": round(trace.correlation, 6)}
        if trace.is_kept:
            return {**result, "succeeded": True, "why": f"{description} keeps something of the original order"}
    for seed in range(200 if n <= 100_000 else 20):
        for permuted in (np.random.default_rng(seed).permutation(n), old_generator(seed).permutation(n)):
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
        **{
            name: fit and {**fit._asdict(), "converged": fit.converged}
            for name, fit in (("fit", found.fit), ("tables_fit", found.tables_fit))
        },
        "top": TOP,
        "calibration": [row._asdict() for row in found.calibration],
        "finds": {
            "attributes": found.finds_attributes,
            "extent": found.finds_extent,
            "records": found.finds_records,
        },
    }


def name_units(source: ExportSource) -> dict[str, Any]:
    """The households, or records, that published tables of places point to, by the best of some attacks on them.

    Such tables may be withheld, so that it never refuses an export; where it is ``telling`` the export warns of it.
    """
    remade, plan = source.remade, source.study.plan
    found = units_found(RecordRelease(ReleasedTable(remade.data), remade.tables[:1], plan, remade.spec))
    if found is None or not found.altered:
        return {"tried": 0, "telling": False}
    severity = found.verdict.severity
    words = {"severity": severity, "why": units_words(found)}
    auc = None if math.isnan(found.auc) else found.auc
    return {"tried": 1, "telling": severity == "serious", **words, **found._asdict(), "auc": auc}


def guess_originals(source: ExportSource | StreamedSource) -> dict[str, Any]:
    """The original values that the released ones give back to an intruder who knows the method; it is refused where
    nearly all altered records are guessed, and where it is ``telling`` the export warns of it."""
    remade = source.remade
    found = turned_back(remade.tables) if isinstance(remade, Remade) else remade.guesses
    if found is None:
        return {"tried": 0, "succeeded": False, "telling": False}
    return {"tried": 1, "succeeded": found.undoes, **_words_of(found.verdict), **found._asdict()}


def compare_tables(source: ExportSource) -> dict[str, Any]:
    """The records that several released tables tell to be altered, by their differences; as the tables are meant to be
    published together it never refuses an export, and where it is ``telling`` the export warns of it."""
    found = compared(source.remade.tables)
    if found is None:
        return {"tried": 0, "telling": False}
    auc = None if math.isnan(found.auc) else found.auc
    counts = {"tables": found.tables, "n": len(found.altered), "altered": int(found.altered.sum())}
    return {"tried": 1, **_words_of(found.verdict), **counts, "certain": found.certain, "auc": auc}


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
