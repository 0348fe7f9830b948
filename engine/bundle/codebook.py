"""The codebook of a release: every column with its label, values and frequencies, as HTML and as DDI Codebook 2.5.

Everything is counted in the released files themselves, so nothing in it is about the original.  Weighted frequencies
are given only where the weight is released: otherwise a value that one record has would tell that record's weight.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from markupsafe import Markup

from engine.bundle.released_files import Tables
from engine.common.raw_values import is_number, texts
from engine.data.io.arrow_columns import one_array, plain_values
from engine.data.microdata import ColumnLabels
from engine.report.template import html_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 60
"""Columns with more distinct values are summarised instead of listed."""
_CSV_NOTE = (
    "CSV files hold every value as it is: a spreadsheet program may take one that begins with =, +, - or @ for a"
    " formula, so open them as text."
)


@dataclass(frozen=True)
class Value:
    """One value of a column: its label, whether it means missing, its records, and the sum of their weights, if any."""

    raw: str
    label: str
    missing: bool
    count: int
    weighted: float | None


@dataclass(frozen=True)
class Column:
    """One column of one file.  ``values`` lists its values (of too many only those that have a label or mean missing),
    ``categories`` says that its numbers are only codes, ``least`` to ``sd`` describe numbers that are more (else None),
    ``empty`` counts records without a value."""

    name: str
    label: str
    kind: str
    values: tuple[Value, ...]
    distinct: int
    valid: int
    empty: int
    least: float | None = None
    most: float | None = None
    mean: float | None = None
    sd: float | None = None
    categories: bool = False

    @property
    def interval(self) -> str:
        """The kind of measurement in the words of DDI."""
        return "contin" if self.least is not None and self.distinct > MOST_VALUES else "discrete"

    @property
    def invalid(self) -> int:
        """Records without a valid value."""
        return sum(value.count for value in self.values if value.missing) + self.empty


@dataclass(frozen=True)
class Table:
    """One released table: its name, files, records and columns; ``n_units`` households where they are numbered."""

    name: str
    files: str
    n_records: int
    columns: tuple[Column, ...]
    n_units: int


@dataclass(frozen=True)
class Codebook:
    """The codebook of a release; ``weight`` is the released weight, if any."""

    title: str
    files: tuple[str, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    weight: str | None


def codebook(
    title: str,
    tables: Tables,
    labels: Mapping[str, ColumnLabels],
    files: Sequence[str],
    notes: Sequence[str],
    weight: str | None,
    codes: Collection[str] = (),
    unit: str | None = None,
) -> Codebook:
    """Describe released tables; ``files`` are the names of the data files, ``notes`` what these say otherwise,
    ``codes`` the columns whose numbers are known to be codes, ``unit`` the released column that numbers households."""
    described_tables = []
    for name, columns in tables.items():
        weights = None
        if weight is not None:
            distinct, of_record = _coded(columns[weight])
            figures = labels[weight].notation_of(distinct).numbers(distinct)
            known = np.where(labels[weight].missing_mask(distinct), 0.0, figures)
            weights = np.nan_to_num(np.append(known, 0.0)[of_record])
        described = tuple(
            _column(column, values, labels[column], weights, column in codes) for column, values in columns.items()
        )
        n_units = next((column.distinct for column in described if column.name == unit), 0)
        own = ", ".join(file for file in files if file.partition(".")[0] == name)
        described_tables.append(Table(name, own, len(next(iter(columns.values()))), described, n_units))
    all_notes = (*notes, *([_CSV_NOTE] if any(name.endswith(".csv") for name in files) else []))
    return Codebook(title or "Released data", tuple(files), tuple(described_tables), all_notes, weight)


def _coded(values: pa.Array) -> tuple[pa.Array, np.ndarray]:
    import pyarrow as pa

    coded = one_array(plain_values(values)).dictionary_encode()
    indices = coded.indices.fill_null(-1)
    return coded.dictionary, indices.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _column(name: str, values: pa.Array, about: ColumnLabels, weights: np.ndarray | None, coded: bool) -> Column:
    distinct, codes = _coded(values)
    raw, known = texts(distinct), codes >= 0
    counts = np.bincount(codes[known], minlength=len(raw) + 1)  # the last is of values that no record has
    sums = None if weights is None else np.bincount(codes[known], weights[known], minlength=len(raw) + 1)
    figures, is_valid = about.notation_of(distinct).numbers(distinct), ~about.missing_mask(distinct)
    numeric = len(raw) > 0 and not np.isnan(figures[is_valid]).any()
    place = {value: i for i, value in enumerate(raw)}
    absent = [value for value, _ in about.values if value not in place]
    missing = {value for value, valid in zip(raw, is_valid, strict=True) if not valid} | {*about.missing_among(absent)}
    listed = [
        Value(value, about.label_of.get(value, ""), value in missing, int(counts[i]), None if sums is None else sums[i])
        for value, i in ((value, place.get(value, -1)) for value in (*raw, *absent))
        if len(raw) <= MOST_VALUES or value in about.label_of or value in missing
    ]
    numeric_values = all(is_number(value.raw) for value in listed)
    listed.sort(key=lambda value: (float(value.raw) if numeric_values else 0.0, value.raw))
    x, n = figures[is_valid], counts[:-1][is_valid]
    # A mean of codes says nothing.  A few labels, such as that of a highest value, leave a column its numbers; that a
    # file calls it a scale says little, since programs write so unless told otherwise.
    labelled = sum(value in about.label_of for value in raw if value not in missing)
    categories = numeric and (coded or about.measure in ("nominal", "ordinal") or 2 * labelled > len(x))
    column = Column(
        name=name,
        label=about.label,
        kind="numeric" if numeric else "character",
        values=tuple(listed),
        distinct=len(raw),
        valid=int(n.sum()),
        empty=int((~known).sum()),
        categories=categories,
    )
    if not numeric or not column.valid or categories:
        return column
    mean = float((x * n).sum() / n.sum())
    sd = float(np.sqrt((n * (x - mean) ** 2).sum() / (n.sum() - 1))) if n.sum() > 1 else None
    return replace(column, least=float(x.min()), most=float(x.max()), mean=mean, sd=sd)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"


_TEMPLATES = Path(__file__).with_name("templates")


def codebook_html(book: Codebook) -> str:
    """The codebook as one page of HTML that needs nothing from elsewhere."""
    names = {"book": book, "number_text": _number, "one_decimal": "{:,.1f}".format}
    return html_of(_TEMPLATES / "codebook.html", names) + "\n"


def codebook_xml(book: Codebook) -> str:
    """The codebook as DDI Codebook 2.5 (namespace ``ddi:codebook:2_5``): study, files and variables."""
    return html_of(_TEMPLATES / "codebook.xml", {"book": book, "text": _text, "quoted": _quoted}) + "\n"


_BAD = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _text(text: str) -> Markup:
    """A text as it is, but for signs that no XML can hold."""
    return Markup(escape(_BAD.sub("\ufffd", text), {"\r": "&#13;"}))


def _quoted(text: str) -> Markup:
    return Markup(quoteattr(_BAD.sub("\ufffd", text)))
