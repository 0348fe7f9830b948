"""Distance-based record linkage: the number of released records that lie nearest to their own original.

Linkage of released records to an external file (Gomatam, Karr and Sanil 2005, eq. 7).

The external file's columns carry the names of attributes and its values are their levels as the plan labels them.  A
plan gives the file's name alone, since folders would be stored in the study and shown in reports;
:func:`engine.common.os_support.external_file` finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from engine.common.errors import EngineError, NoRecords, UsageError, did_you_mean
from engine.common.os_support import external_file
from engine.common.raw_values import texts
from engine.common.streams import derive, generator
from engine.data.domain import Domain
from engine.data.io import checks
from engine.data.io.readers import read_table
from engine.data.table import occupied
from engine.measures.base import Figure, Measure, Natural
from engine.models.record_release import RecordRelease, known_numbers
from engine.plan.schema import decimal_text
from engine.release.batch import ReleaseBatch, unpack
from engine.release.records import ReleasedTable

DISTANCES = {"euclidean": 2, "gower": 1}
_PAIRS = 20_000**2  # most pairs of distinct rows that are compared; beyond it released records are sampled
_CHUNK = 1 << 21
_EQUAL = 1e-9  # relative difference up to which two distances are tied


class LinkRows(NamedTuple):
    """The distinct rows of original and released records on the link variables.

    ``categories[:, j]`` are level codes, ``numbers[:, k]`` values in units of the original's standard deviation (NaN
    where missing); ``row_of_original[i]`` is the row of original record ``i``, ``row_of_released[i]`` the row of the
    same subject's released record.  Rows are in lexicographic order, whatever the order of the records.
    """

    categories: np.ndarray
    numbers: np.ndarray
    row_of_original: np.ndarray
    row_of_released: np.ndarray

    @property
    def original(self) -> np.ndarray:
        """Number of original records of each row."""
        return np.bincount(self.row_of_original, minlength=len(self.categories))

    @property
    def released(self) -> np.ndarray:
        """Number of released records of each row."""
        return np.bincount(self.row_of_released, minlength=len(self.categories))

    def true_pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Released row, original row and number of subjects for every combination that occurs, in row order."""
        size = len(self.categories)
        flat, subjects = np.unique(
            self.row_of_released.astype(np.int64) * size + self.row_of_original, return_counts=True
        )
        return flat // size, flat % size, subjects


def columns_of(text: str) -> tuple[str, ...]:
    """Names written as ``A+B``."""
    return tuple(name.strip() for name in text.split("+") if name.strip())


def link_rows(release: RecordRelease, table: ReleasedTable, places: Sequence[int], numeric: Sequence[str]) -> LinkRows:
    """Rows on the attributes ``places`` and the raw numeric columns ``numeric``.

    A numeric column is divided by the standard deviation (n - 1) of the original; one that does not vary is left out.
    """
    original = release.original
    n, shape = release.data.n_records, release.data.domain.shape
    columns = [np.concatenate([original.codes(j), table.codes(j)]) for j in places]
    sizes = [shape[j] for j in places]
    scaled = []
    for name in numeric:
        values, released_values = (known_numbers(t, name, release.plan) for t in (original, table))
        present = values[~np.isnan(values)]
        if not len(present):
            raise EngineError(f"column '{name}' holds no numbers to link on")
        # of the sorted values, so that the order of the records does not reach the last bit
        spread = float(np.std(np.sort(present), ddof=1)) if len(present) > 1 and np.ptp(present) > 0 else 0.0
        if spread > 0:
            distinct, codes = np.unique(np.concatenate([values, released_values]), return_inverse=True)
            columns.append(codes)
            sizes.append(len(distinct))
            scaled.append(distinct / spread)
    if not columns:
        raise EngineError("no link variable varies")
    cells, inverse = occupied(columns, sizes, 2 * n)
    numbers = [values[cells[:, len(places) + k]] for k, values in enumerate(scaled)]
    return LinkRows(
        categories=np.ascontiguousarray(cells[:, : len(places)]),
        numbers=np.column_stack(numbers) if numbers else np.zeros((len(cells), 0)),
        row_of_original=inverse[:n],
        row_of_released=inverse[n:],
    )


def narrow(codes: np.ndarray) -> np.ndarray:
    """Codes in the smallest unsigned type, for fast comparison; one contiguous row per variable."""
    return np.ascontiguousarray(codes.T, dtype=np.min_scalar_type(int(codes.max(initial=0))))


def distances(rows: LinkRows, rows_a: np.ndarray, rows_b: np.ndarray, power: int) -> np.ndarray:
    """Distances (of the euclidean one: squares) from each of ``rows_a`` to each of ``rows_b``.

    A category that differs counts 1; numbers count their difference in standard deviations, to the ``power``; a missing
    number is 0 from another missing one and 1 from any number.
    """
    exact = not rows.numbers.shape[1]
    total = np.zeros((len(rows_a), len(rows_b)), np.uint16 if exact else np.float64)
    for codes in narrow(rows.categories):
        total += codes[rows_a][:, None] != codes[rows_b]
    for values in rows.numbers.T:
        values_a, values_b = values[rows_a][:, None], values[rows_b]
        gap = np.abs(values_a - values_b) ** power
        if np.isnan(values).any():
            missing = np.isnan(values_a) | np.isnan(values_b)
            gap = np.where(missing, np.isnan(values_a) != np.isnan(values_b), gap)
        total += gap
    return total


def credits_of(rows: LinkRows, power: int) -> tuple[float, float]:
    """Expected number of released records linked to their own original, and its standard error (0 when exact).

    A released record links to the nearest original records and picks one of them at random: credit 1/ties when its own
    is among them.  Rows that also occur in the original are their own nearest; only the others are searched.
    """
    counts = rows.original
    released, original, subjects = rows.true_pairs()
    same = released == original
    exact_ties: dict[int, int] = {}  # ties -> records with credit 1/ties, so that sums are of whole numbers
    _tally(exact_ties, counts[original[same]], subjects[same])
    far = counts[released] == 0
    released, original, subjects = released[far], original[far], subjects[far]
    others = np.flatnonzero(counts)
    targets = np.unique(released)
    n_far = int(subjects.sum())
    share = 1.0
    if len(targets) * len(others) > _PAIRS:
        take = max(2, _PAIRS // len(others))
        if take < n_far:
            share = take / n_far
            drawn = generator(derive(b"distance_linkage", "sample", (len(rows.row_of_original), n_far))).permutation(
                n_far
            )[:take]
            pair = np.repeat(np.arange(len(subjects)), subjects)[np.sort(drawn)]
            chosen, subjects = np.unique(pair, return_counts=True)
            released, original = released[chosen], original[chosen]
            targets = np.unique(released)
    searched_ties: dict[int, int] = {}
    position = np.searchsorted(others, original)
    step = max(1, _CHUNK // max(1, len(others)))
    for begin in range(0, len(targets), step):
        chunk = targets[begin : begin + step]
        total = distances(rows, chunk, others, power)
        nearest = total.min(axis=1, keepdims=True)
        near = total == nearest if total.dtype.kind == "u" else total <= nearest * (1 + _EQUAL)
        ties = near @ counts[others].astype(float)
        first, last = np.searchsorted(released, [chunk[0], chunk[-1] + 1])
        at = np.searchsorted(chunk, released[first:last])
        own_is_nearest = near[at, position[first:last]]
        _tally(searched_ties, ties[at[own_is_nearest]].astype(np.int64), subjects[first:last][own_is_nearest])
    exact, sampled = _sum(exact_ties), _sum(searched_ties)
    if share == 1.0:
        return exact + sampled, 0.0
    size = round(share * n_far)
    mean = sampled / size
    squares = sum(records / ties**2 for ties, records in sorted(searched_ties.items()))
    variance = max(0.0, squares - size * mean**2) / (size - 1)
    return exact + n_far * mean, n_far * float(np.sqrt(variance / size * (1 - share)))


def _tally(tally: dict[int, int], ties: np.ndarray, subjects: np.ndarray) -> None:
    for value, records in zip(ties.tolist(), subjects.tolist(), strict=True):
        tally[value] = tally.get(value, 0) + records


def _sum(tally: dict[int, int]) -> float:
    return float(sum(records / ties for ties, records in sorted(tally.items())))


def distance_linkage(
    release: RecordRelease,
    places: Sequence[int],
    numeric: str = "",
    distance: Literal["euclidean", "gower"] = "euclidean",
) -> Figure:
    """Expected share of released records that an intruder links to their own original by the nearest neighbour.

    The intruder holds the original values of the link variables for everyone: the attributes, and with
    ``numeric=COLUMN+COLUMN`` raw columns too.  Every released record is linked to the original record nearest to it;
    among ties one is picked at random, so a record counts 1/ties when its own original is among the nearest.

    ``distance=euclidean`` takes the root of the summed squares, ``gower`` the plain sum; a category that differs counts
    1, a number its difference in standard deviations of the original.  In [0, 1]; higher is riskier; 1/n is guessing, 1
    when nothing changed and all rows are distinct.  Exact, except where more than 20,000² pairs of distinct rows would
    have to be compared: then released records that match no original exactly are sampled, from a stream keyed by the
    number of records, and the note gives the standard error.  Several tables: their mean.

    Source: Pagliuca and Seri (1999), as in Domingo-Ferrer and Torra (2001); Gower (1971), doi 10.2307/2528823.
    """
    n = release.data.n_records
    figures = [
        credits_of(link_rows(release, table, places, columns_of(numeric)), DISTANCES[distance])
        for table in release.tables
    ]
    correct = sum(expected for expected, _ in figures) / len(figures)
    error = float(np.sqrt(sum(se**2 for _, se in figures))) / len(figures)
    note = f"{correct:.1f} of {n} records linked correctly, 1.0 by guessing"
    if error:
        note += f"; estimated from a sample, standard error {error / n:.2g} of the share"
    return Figure(correct / n, note)


def _check(numeric: str, distance: str) -> None:
    check_names("distance_linkage", "numeric", numeric)


def check_names(measure: str, parameter: str, text: str) -> None:
    """Refuse a list of names that repeats one or holds an empty one."""
    names = [name.strip() for name in text.split("+")] if text else []
    if not all(names):
        raise UsageError(f"{measure}: {parameter} == '{text}' holds an empty name; write NAME+NAME")
    if len(set(names)) != len(names):
        raise UsageError(f"{measure}: {parameter} == '{text}' names a column twice")


def decimal_parameter(measure: str, parameter: str, text: str) -> Decimal:
    """A parameter that is written as a decimal number."""

    return Decimal(decimal_text(text, f"{measure}: {parameter}"))


DISTANCE_LINKAGE = Measure.of(
    distance_linkage,
    "risk",
    symbol="DBRL",
    title="Distance-based record linkage",
    share_of="records",
    source="Pagliuca and Seri (1999); Domingo-Ferrer and Torra (2001); distance of Gower (1971), doi 10.2307/2528823",
    meaning=(
        "The share of released records that somebody who knows everyone's original keys would match to the right "
        "person by taking the most similar one, at random among equals."
    ),
    check=_check,
    undefined="no link variable holds values",
    needs="records",
    cost="milliseconds where only attributes are linked; seconds with numeric columns and tens of thousands of records",
)


Zero = Literal["safe", "literal"]
_LISTED = 8


class External(NamedTuple):
    """An external file on the attributes that it shares with the keys: its distinct records, how often they occur."""

    places: tuple[int, ...]
    cells: np.ndarray
    counts: np.ndarray


def external_links(
    batch: ReleaseBatch,
    domain: Domain,
    places: tuple[int, ...],
    file: str = "",
    beta: Natural = 2,
    zero: Zero = "safe",
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


def external_unmatched(batch: ReleaseBatch, domain: Domain, places: tuple[int, ...], file: str = "") -> np.ndarray:
    """Share of released records with no equal record in the external file, ``n(r) = 0``.  In [0, 1]."""
    margin, n = _matches(batch, domain, places, file)
    return _share(margin, n == 0)


def _share(margin: ReleaseBatch, marked: np.ndarray) -> np.ndarray:
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
        names, _ = checks.header(Path(file))
        common = _common(tuple(names), Path(file).name, domain, places)
        return External(common, np.zeros((0, len(common)), np.int32), np.zeros(0, np.int64))
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


EXTERNAL_LINKS = Measure.of(
    external_links,
    "risk",
    symbol="DR7",
    title="Links to an external file",
    share_of="records",
    source="Gomatam, Karr and Sanil (2005), eq. 7 (zero=safe: matched records only)",
    meaning=(
        "The share of released records that equal few records (at most beta) of an external file on the columns "
        "that both hold. Records that equal none are left out unless the plan counts them."
    ),
    depends_on="table",
    named=True,
    cost="microseconds; the file is read once",
)
EXTERNAL_UNMATCHED = Measure.of(
    external_unmatched,
    "risk",
    symbol="DR7₀",
    title="Records without a match in an external file",
    better="higher",
    share_of="records",
    source="Gomatam, Karr and Sanil (2005), eq. 7, n(r) = 0",
    meaning=(
        "The share of released records that equal no record of an external file on the columns that both hold, so "
        "that no link can be made."
    ),
    depends_on="table",
    named=True,
    cost="microseconds; the file is read once",
)
