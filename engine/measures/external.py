"""Linkage of released records to an external file (Gomatam, Karr and Sanil 2005, eq. 7).

The external file's columns carry the names of attributes and its values are their levels as the plan labels them.  A
plan gives the file's name alone, since folders would be stored in the study and shown in reports;
:func:`engine.common.os_support.external_file` finds it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from engine.common.errors import NoRecords, UsageError, did_you_mean
from engine.common.os_support import external_file
from engine.common.raw_values import texts
from engine.data.domain import Domain
from engine.data.io import sniff
from engine.data.io.readers import read_table
from engine.data.table import occupied
from engine.measures.base import Measure
from engine.release.batch import ReleaseBatch, unpack

Zero = Literal["safe", "literal"]
ZERO: tuple[Zero, ...] = get_args(Zero)
_LISTED = 8


class External(NamedTuple):
    """An external file on the attributes that it shares with the keys: its distinct records, how often they occur."""

    places: tuple[int, ...]
    cells: np.ndarray
    counts: np.ndarray


def external_links(
    batch: ReleaseBatch, domain: Domain, places: tuple[int, ...], file: str, beta: int, zero: Zero
) -> np.ndarray:
    """Share of released records ``r`` with ``n(r) <= beta``, ``n(r)`` being the number of external records equal to
    ``r`` on the common attributes (eq. 7).

    With ``zero`` "safe" a record without any equal external record is not counted, since it cannot be linked; "literal"
    counts it, as the formula is printed.  In [0, 1]; lower is better.
    """
    margin, n = _matches(batch, domain, places, file)
    risky = n <= beta
    if zero == "safe":
        risky &= n > 0
    return _share(margin, risky)


def external_unmatched(batch: ReleaseBatch, domain: Domain, places: tuple[int, ...], file: str) -> np.ndarray:
    """Share of released records with no equal record in the external file, ``n(r) = 0``.  In [0, 1]."""
    margin, n = _matches(batch, domain, places, file)
    return _share(margin, n == 0)


def _share(margin: ReleaseBatch, marked: np.ndarray) -> np.ndarray:
    """Share of released records in marked cells."""
    base = int(margin.original[marked[: len(margin.original)]].sum())
    return (base + margin.total((margin.after - margin.before) * marked[margin.cell])) / margin.n_records


def _matches(
    batch: ReleaseBatch, domain: Domain, places: tuple[int, ...], file: str
) -> tuple[ReleaseBatch, np.ndarray]:
    """The releases on the common attributes, and how many external records equal each of their cells."""
    if not file:
        raise UsageError("no external file is named; write for example external_links[file=register.csv]")
    external = batch.shared.cached(("external", file, places), lambda: read_external(located(file), domain, places))
    margin = batch.project(external.places)
    release_codes = [unpack(margin.index_words, layout) for layout in margin.layout]
    columns = [
        np.concatenate([external_codes, own_codes])
        for external_codes, own_codes in zip(external.cells.T, release_codes, strict=True)
    ]
    cells, which = occupied(columns, margin.shape, len(external.cells) + len(margin.index_words))
    n = np.bincount(which[: len(external.cells)], weights=external.counts, minlength=len(cells))
    return margin, n.astype(np.int64)[which[len(external.cells) :]]


def located(file: str) -> str:
    """The path of an external file that a plan names; a name with folders in it is refused."""
    if file in (".", "..") or "/" in file or "\\" in file or ":" in file:
        raise UsageError(
            "an external file is given by its name alone, without folders, which would be stored in the study; put it "
            "beside the plan or the data, or name its folder in FRONTIER_EXTERNAL"
        )
    path = external_file(file)
    if path is None:
        raise UsageError(
            f"external file '{file}' is neither beside the plan, the data or the study nor in the current folder or "
            "those of FRONTIER_EXTERNAL"
        )
    return str(path)


def read_external(file: str, domain: Domain, places: tuple[int, ...]) -> External:
    """Read an external file (.csv, .tsv or .parquet) on the attributes among ``places`` that it has.

    Refuses a file that shares no attribute with them or has values that are no levels (:class:`UsageError`).  A file
    without records is fine: nothing can be linked to it.
    """
    try:
        table = read_table(file)
    except NoRecords:
        return _without_records(file, domain, places)
    common = _common(table.names, table.source, domain, places)
    columns = []
    for j in common:
        attribute, raw = domain.attributes[j], table.columns[domain.attributes[j].name]
        code = {level: index for index, level in enumerate(attribute.levels)}
        values = texts(raw.values)
        unknown = sorted({value for value in values if value not in code})
        if unknown:
            remainder = f" and {len(unknown) - _LISTED} more" if len(unknown) > _LISTED else ""
            raise UsageError(
                f"external file '{table.source}': column '{attribute.name}' has values that are no levels of the "
                f"attribute: {', '.join(map(repr, unknown[:_LISTED]))}{remainder}."
                f"{did_you_mean(unknown[0], attribute.levels)} Code the file as the plan codes the data."
            )
        if len(raw.codes) and int(raw.codes.min()) < 0:
            raise UsageError(
                f"external file '{table.source}': column '{attribute.name}' has empty values; code them as a level of "
                "the attribute or leave those records out"
            )
        columns.append(np.array([code[value] for value in values], np.int64)[raw.codes])
    cells, which = occupied(columns, [domain.shape[j] for j in common], table.n_records)
    return External(common, cells, np.bincount(which, minlength=len(cells)))


def _common(names: tuple[str, ...], source: str, domain: Domain, places: tuple[int, ...]) -> tuple[int, ...]:
    common = tuple(j for j in places if domain.names[j] in names)
    if not common:
        names_wanted = ", ".join(domain.names[j] for j in places)
        raise UsageError(
            f"external file '{source}' has none of the attributes {names_wanted}; its columns must carry their names"
        )
    return common


def _without_records(file: str, domain: Domain, places: tuple[int, ...]) -> External:
    names, _ = sniff.header(Path(file))
    common = _common(tuple(names), Path(file).name, domain, places)
    return External(common, np.zeros((0, len(common)), np.int32), np.zeros(0, np.int64))


def _check(file: str, beta: int, zero: str) -> None:
    if beta < 0:
        raise UsageError(f"external_links: beta == {beta}, must not be negative.")
    if zero not in ZERO:
        raise UsageError(f"external_links: zero == '{zero}', must be safe or literal.{did_you_mean(zero, ZERO)}")


EXTERNAL_LINKS = Measure(
    name="external_links",
    symbol="DR7",
    title="Links to an external file",
    kind="risk",
    better="lower",
    range="0 to 1",
    least=0.0,
    most=1.0,
    unit="share of records",
    unit_kind="share_of_records",
    share_of="records",
    source="Gomatam, Karr and Sanil (2005), eq. 7 (zero=safe: matched records only)",
    meaning=(
        "The share of released records that equal few records (at most beta) of an external file on the columns "
        "that both hold. Records that equal none are left out unless the plan counts them."
    ),
    over="keys",
    depends_on="table",
    compute=external_links,
    rounding="exact",
    parameters={"file": "", "beta": 2, "zero": "safe"},
    check=_check,
    named=True,
    cost="microseconds; the file is read once",
)
EXTERNAL_UNMATCHED = Measure(
    name="external_unmatched",
    symbol="DR7₀",
    title="Records without a match in an external file",
    kind="risk",
    better="higher",
    range="0 to 1",
    least=0.0,
    most=1.0,
    unit="share of records",
    unit_kind="share_of_records",
    share_of="records",
    source="Gomatam, Karr and Sanil (2005), eq. 7, n(r) = 0",
    meaning=(
        "The share of released records that equal no record of an external file on the columns that both hold, so "
        "that no link can be made."
    ),
    over="keys",
    depends_on="table",
    compute=external_unmatched,
    rounding="exact",
    parameters={"file": ""},
    named=True,
    cost="microseconds; the file is read once",
)
