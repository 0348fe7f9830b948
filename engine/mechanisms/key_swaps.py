"""Swap whole keys between records: at random (RDS) or out of every sensitive cell (DDS).

F. Liu, "Multiple and probabilistic swapping of categorical keys for statistical disclosure limitation in microdata",
section 5, and F. Liu and R. J. A. Little, "SMIKe vs. data swapping and PRAM for statistical disclosure control in
microdata: a simulated study", section 3, compare their mechanisms with these two.  Both exchange the entire key of two
records; everything else stays, so the counts of the key cells stay exactly as they were, and no record is swapped
twice.

* RDS picks *initiators* at random, each of which exchanges with a random partner.  About twice as many records as
  initiators are touched: ``1 - (1 - p)²`` of all of them at rate ``p``.
* DDS visits the sensitive records in random order; each exchanges with a random record of another cell.

Random numbers, from the stream of table 1: a random order (of all records, whose first ``m`` are the initiators; of the
sensitive records), then the four words of the generator that draws the partners.  A small RDS rate is therefore the
beginning of a larger one, unless partners must not be initiators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from engine.common.errors import EngineError, UsageError
from engine.common.streams import kernel_state
from engine.mechanisms.base import Drawn, Mechanism, table_stream
from engine.models import location
from engine.release.parameter import Amount, Counts, Parameter, Setting
from engine.release.records import ReleasedTable
from engine.release.scenarios import RunStatus


@dataclass(frozen=True)
class NumberOrWord(Parameter):
    """A number within its range, or one of the words in ``choices``; its value is the number or the word.

    ``in_words`` is the amount that the word stands for.
    """

    in_words: str = ""

    def amount(self, text: str) -> Amount:
        """The amount that a number or the word gives."""
        return Amount("word", self.in_words) if text in self.choices else super().amount(text)

    def canonical(self, text: str) -> str:
        """The word as it stands, or the one text of equal numbers."""
        text = str(text).strip()
        if text in self.choices:
            return text
        return super().canonical(text)

    @property
    def wanted(self) -> str:
        """The values that are allowed, in words."""
        return f"{super().wanted} or {self.choices[0]}"

    def value(self, canonical: str) -> Any:
        """A number, or the word."""
        return canonical if canonical in self.choices else super().value(canonical)


class Prepared(NamedTuple):
    """Key cells and the sensitive records; records in the order of their cells (``order``, and its inverse
    ``position``), and where each cell begins and ends there (``start``, one longer than the cells)."""

    keys: location.KeyCells
    sensitive: np.ndarray
    order: np.ndarray
    position: np.ndarray
    start: np.ndarray
    about: dict[str, float | str]


def prepare(setting: Setting, to_another_cell: bool) -> Prepared:
    """Key cells and their records.  Refuses a single key cell when partners must come from another one."""
    keys = location.key_cells(setting.data, setting.keys, setting["s"], setting["rule"])
    if to_another_cell and len(keys.counts) == 1:
        raise EngineError("all records share one key cell; keys cannot be swapped")
    order, sensitive = np.argsort(keys.x, kind="stable"), keys.records
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    start = np.zeros(len(keys.counts) + 1, np.int64)
    np.cumsum(keys.counts, out=start[1:])
    return Prepared(keys, sensitive, order, position, start, keys.about(setting))


def swap(
    prepared: Prepared, visits: np.ndarray, state: np.ndarray, to_another_cell: bool, barred: np.ndarray | None = None
) -> tuple[np.ndarray, int]:
    """The record whose keys each record carries, shape ``(n,)``, and how many visited records found no partner.

    ``visits`` lists records in the order of their turns; who has been swapped already is passed over.  ``barred``
    records are never drawn as partners.  The r-th candidate is the r-th by cell, then by record.
    """
    from engine.common.compiled import wrapping
    from engine.mechanisms import donor_kernels as partners

    n, at = len(prepared.order), prepared.position[visits]
    if to_another_cell:
        cell = prepared.keys.x[visits]
        low, high = prepared.start[cell], prepared.start[cell + 1]
    else:
        low, high = at, at + 1
    pool = np.ones(n, np.int64)
    if barred is not None:
        pool[prepared.position[barred]] = 0
    source = np.arange(n)
    with wrapping():
        unpaired = int(partners.pair_up(at, low, high, pool, np.zeros(n + 1, np.int64), state, source))
    return prepared.order[source[prepared.position]], unpaired


def _drawn(
    prepared: Prepared, setting: Setting, source: np.ndarray, status: RunStatus, further: Mapping[str, float | str]
) -> Drawn:
    """One table, with counts of what was done."""
    x, sensitive = prepared.keys.x, prepared.sensitive
    touched, moved = source != np.arange(len(source)), x[source] != x
    n_touched = np.count_nonzero(touched)
    diagnostics: dict[str, float | str] = {**prepared.about, "pairs": n_touched / 2}
    diagnostics["touched_share"] = n_touched / len(source)
    diagnostics["pairs_within_a_cell"] = np.count_nonzero(touched & ~moved) / 2
    if len(sensitive):
        diagnostics["sensitive_changed_share"] = np.count_nonzero(moved[sensitive]) / len(sensitive)
    diagnostics.update(further)
    return Drawn([ReleasedTable(setting.data, source, setting.keys)], status, touched[None, :], diagnostics)


def _nothing(prepared: Prepared, setting: Setting, warning: str, **further: float) -> Drawn:
    about = {**prepared.about, **further, "warning": warning}
    return Drawn([ReleasedTable(setting.data)], RunStatus.NOOP, np.zeros((1, setting.data.n_records), bool), about)


def check_rds(values: Mapping[str, Any]) -> None:
    """Refuse thresholds below 1, and both ways of saying how many initiators there are."""
    location.check_threshold(values)
    if values["n_init"] != "rate" and values["rate"] != "s2":
        raise UsageError(f"n_init == {values['n_init']} and rate == {values['rate']:g}, must not both be given.")


def initiators(setting: Setting, n_sensitive: int) -> int:
    """Number of initiators: ``n_init``, or ``floor(rate·n + 1/2)`` exactly; the rate ``s2`` is the share of sensitive
    records."""
    texts, n = dict(setting.texts), setting.data.n_records
    if texts["n_init"] != "rate":
        if setting["n_init"] > n:
            raise UsageError(f"n_init == {setting['n_init']}, must be at most the number of records ({n}).")
        return int(setting["n_init"])
    return n_sensitive if texts["rate"] == "s2" else int(Fraction(texts["rate"]) * n + Fraction(1, 2))


def prepare_rds(setting: Setting) -> Prepared:
    """Prepare RDS once for all replicates.  Refuses more initiators than records."""
    prepared = prepare(setting, setting["partner_pool"] == "other_cell")
    initiators(setting, len(prepared.sensitive))
    return prepared


def draw_rds(prepared: Prepared, setting: Setting, derived: bytes) -> Drawn:
    """Initiators in random order, each with a random partner; RunStatus.PARTIAL when some found none."""
    n, n_initiators = setting.data.n_records, initiators(setting, len(prepared.sensitive))
    if n_initiators == 0:
        return _nothing(prepared, setting, "no record initiates a swap; the table is the original", initiators=0.0)
    if len(prepared.keys.counts) == 1:
        warning = "all records share one key cell; swapping keys changes nothing"
        return _nothing(prepared, setting, warning, initiators=float(n_initiators))
    rng = table_stream(derived, 1)
    visits = rng.permutation(n)[:n_initiators]
    barred = visits if setting["avoid_initiators"] else None
    source, unpaired = swap(
        prepared, visits, kernel_state(rng.bytes(32)), setting["partner_pool"] == "other_cell", barred
    )
    further: dict[str, float | str] = {"initiators": float(n_initiators), "without_partner": float(unpaired)}
    if unpaired:
        further["warning"] = f"{unpaired} initiators found no partner"
    return _drawn(prepared, setting, source, RunStatus.PARTIAL if unpaired else RunStatus.OK, further)


def draw_dds(prepared: Prepared, setting: Setting, derived: bytes) -> Drawn:
    """Every sensitive record to another cell; RunStatus.FAILED when some could not be moved."""
    sensitive = prepared.sensitive
    if not len(sensitive):
        return _nothing(prepared, setting, "no key cell is sensitive; the table is the original")
    rng = table_stream(derived, 1)
    visits = rng.permutation(sensitive)
    source, unpaired = swap(prepared, visits, kernel_state(rng.bytes(32)), True)
    further: dict[str, float | str] = {"without_partner": float(unpaired)}
    if unpaired:
        further["warning"] = (
            f"{unpaired} sensitive records could not be moved: no unswapped record remains outside their cell"
        )
    return _drawn(prepared, setting, source, RunStatus.FAILED if unpaired else RunStatus.OK, further)


RDS = Mechanism(
    name="rds",
    title="Random swapping of keys (RDS)",
    source="Liu and Little, SMIKe vs. data swapping and PRAM, section 3",
    when=(
        "a plain yardstick for mechanisms that work on keys: it keeps the counts of the key cells, weakens every "
        "relation between keys and other variables, and leaves many sensitive records where they are"
    ),
    rate="initiators; about twice as many records are touched",
    prepare=prepare_rds,
    draw=draw_rds,
    parameters=(
        *location.THRESHOLD,
        NumberOrWord(
            "rate",
            "decimal",
            "s2",
            "share of records that initiate a swap, 0 to 1; s2 takes as many as there are sensitive records",
            low="0",
            high="1",
            choices=("s2",),
            label="Share of records that begin a swap",
            counts=Counts("share", "of records begin"),
            in_words="as many as are sensitive begin",
        ),
        NumberOrWord(
            "n_init",
            "whole",
            "rate",
            "number of initiators; rate takes as many as the rate says",
            low="0",
            choices=("rate",),
            label="Number of records that begin a swap",
            counts=Counts("count", "records begin", unset="rate"),
        ),
        Parameter(
            "partner_pool",
            "choice",
            "any",
            "partners come from all records not yet swapped, or only from those of another key cell",
            choices=("any", "other_cell"),
            label="Where partners come from",
        ),
        Parameter(
            "avoid_initiators",
            "truth",
            "no",
            "whether initiators are never drawn as partners",
            label="Who begins a swap is nobody's partner",
        ),
    ),
    amounts=(("n_init", "rate"),),
    fit=("s", "rule", "n_init", "partner_pool"),
    exchanges=True,
    check=check_rds,
)

DDS = Mechanism(
    name="dds",
    title="Swapping every sensitive key away (DDS)",
    source="Liu and Little, SMIKe vs. data swapping and PRAM, section 3",
    when=(
        "no record may keep a sensitive key and the counts of the key cells must stay exactly as they are; relations "
        "between keys and other variables of sensitive records are lost"
    ),
    rate="records of sensitive key cells, all of which are moved",
    prepare=partial(prepare, to_another_cell=True),
    draw=draw_dds,
    parameters=location.THRESHOLD,
    whole="all sensitive records",
    fit=("s", "rule"),
    exchanges=True,
    check=location.check_threshold,
)
