"""Write released columns as SPSS and Stata files with labels and missing codes, and programs that read them as CSV.

Values are never altered to fit: what a format cannot hold is refused in one sentence.  What it can hold only in part
(a column's name, an over-long label, a declaration of missing codes) is done as far as it goes and said in a note,
which belongs into the codebook.  Times of writing and the library's name are overwritten in the headers, so that equal
columns give equal bytes.  SPSS and Stata have no empty value of text beside "": a null becomes "".

A file is written aside, read back value by value and only then given its name: the library does not notice a full disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError
from engine.common.os_support import FULL, aside, is_full
from engine.common.raw_values import PLAIN, Notation, as_text, is_number, numbers
from engine.common.wording import printable
from engine.data.io.arrow_columns import merged_note, one_array, one_length, plain_values
from engine.data.io.encoded_column import (
    TAG,
    EncodedColumn,
    Form,
    encode,
    exact_decimals,
    fitting,
    short_names,
    spss_missing,
    stata_labels,
)
from engine.data.io.writers import check_labelled
from engine.data.microdata import NO_LABELS, ColumnLabels

if TYPE_CHECKING:
    import pyarrow as pa


MOST_COLUMNS = {"sav": 2**31 - 1, "dta": 32_767}
"""Columns of a file, of the form."""
_MOST_STATA_LABELS = 65_536

if TYPE_CHECKING:
    import pyarrow as pa

    Columns = Mapping[str, pa.Array | pa.ChunkedArray]


def write_sav(path: str | Path, columns: Columns, labels: Mapping[str, ColumnLabels] | None = None) -> tuple[str, ...]:
    """Write SPSS (.sav); returns notes, one sentence for each thing that the file says otherwise than ``labels``."""
    import pyreadstat

    file = Path(path).name
    frame, encoded, notes = _frame(path, columns, labels or {}, "sav")
    value_labels = {h.name: _value_labels(h) for h in encoded if h.about.values}
    lost = [h.column for h in encoded if len(value_labels.get(h.name, ())) < len(h.about.values)]
    notes += tuple(f"'{name}': {file} cannot hold some of its value labels; they are in the codebook." for name in lost)
    missing = {}
    for h in encoded:
        missing[h.name], n_undeclared = spss_missing(h.about, h.values, h.is_text, h.width)
        if n_undeclared:
            notes += (
                f"'{h.column}': {n_undeclared} of its missing codes and ranges are not declared in {file}, since SPSS "
                "takes three codes, or a range and one, of at most 8 bytes; the codebook lists all.",
            )
    with aside(path) as temporary:
        _write(
            temporary,
            file,
            pyreadstat.write_sav,
            frame,
            column_labels=_column_labels(encoded),
            variable_value_labels={name: pairs for name, pairs in value_labels.items() if pairs},
            missing_ranges={name: codes for name, codes in missing.items() if codes},
            variable_measure={h.name: h.about.measure for h in encoded if h.about.measure},
            variable_format={h.name: h.format for h in encoded if h.format},
            row_compress=True,
        )
        with temporary.open("r+b") as header:
            header.seek(4)
            header.write(b"@(#) SPSS DATA FILE".ljust(60))
            header.seek(92)
            header.write(b"01 Jan 7000:00:00")
        merged = check_labelled(temporary, file, "sav", encoded, columns)
    return (*notes, *merged)


def write_dta(path: str | Path, columns: Columns, labels: Mapping[str, ColumnLabels] | None = None) -> tuple[str, ...]:
    """Write Stata 14 and later (.dta); returns notes as :func:`write_sav` does.

    Special missings ``.a`` to ``.z`` stay what they are.  Stata has no list of other missing codes: they stay values
    with their labels.
    """
    import pyreadstat

    frame, encoded, notes = _frame(path, columns, labels or {}, "dta")
    limits = []
    value_labels: dict[str, dict[Any, str]] = {}
    for h in encoded:
        if h.is_text and h.about.values:
            limits.append(f"'{h.column}' is text, and Stata labels numbers only: its value labels are in the codebook.")
        pairs = {
            value if isinstance(value, str) else int(value): label
            for value, label in ({} if h.is_text else _value_labels(h)).items()
            if isinstance(value, str) or stata_labels(value)
        }
        if not h.is_text and len(pairs) < len(h.about.values):
            limits.append(
                f"'{h.column}': Stata labels whole numbers from -2,147,483,647 to 2,147,483,620 only; the other value "
                "labels are in the codebook."
            )
        if len(pairs) > _MOST_STATA_LABELS:
            limits.append(
                f"'{h.column}' has {len(pairs):,} value labels, and Stata takes {_MOST_STATA_LABELS:,}; all are in the "
                "codebook."
            )
        elif pairs:
            value_labels[h.name] = pairs
        if any(not TAG.fullmatch(code) for code in h.about.missing) or h.about.missing_ranges:
            limits.append(f"'{h.column}': its missing codes are plain values in Stata; the codebook lists them.")
    with aside(path) as temporary:
        _write(
            temporary,
            Path(path).name,
            pyreadstat.write_dta,
            frame,
            version=14,
            column_labels=_column_labels(encoded),
            variable_value_labels=value_labels,
            missing_user_values={h.name: list(h.tags) for h in encoded if h.tags},
            variable_format={h.name: h.format for h in encoded if h.format},
        )
        stamp = rb"(<timestamp>\x11)\d\d \w{3} \d{4} \d\d:\d\d"
        _overwrite(temporary, Path(path).name, stamp, rb"\g<1>01 Jan 1970 00:00")
        merged = check_labelled(temporary, Path(path).name, "dta", encoded, columns)
    return (*notes, *limits, *merged)


def _frame(
    path: str | Path, columns: Columns, labels: Mapping[str, ColumnLabels], form: Form
) -> tuple[Any, list[EncodedColumn], tuple[str, ...]]:
    """The columns as the library takes them, and notes on names and labels."""
    import pandas as pd
    import pyarrow as pa

    one_length(columns)
    file, notes, encoded = Path(path).name, [], []
    if len(columns) > MOST_COLUMNS[form]:
        raise EngineError(
            f"the release has {len(columns):,} columns, and {file} can hold {MOST_COLUMNS[form]:,}; release it as CSV "
            "or Parquet"
        )
    names = short_names(list(columns), form)
    for name, values in columns.items():
        if names[name] != name:
            notes.append(f"'{name}' is called '{names[name]}' in {file}.")
        about, cut = fitting(labels.get(name, NO_LABELS), form)
        if cut:
            notes.append(f"'{name}': labels longer than {file} can hold were cut; the codebook has them whole.")
            whole, held = ([label for _, label in some.values] for some in (labels[name], about))
            notes += merged_note(name, pa.array(whole), pa.array(held), file, "value labels")
        encoded.append(encode(name, names[name], values, about, form, file))
        notes += encoded[-1].notes
    return pd.DataFrame({h.name: h.values for h in encoded}), encoded, tuple(notes)


def _column_labels(encoded: Sequence[EncodedColumn]) -> dict[str, str]:
    return {h.name: h.about.label for h in encoded if h.about.label}


def _value_labels(column: EncodedColumn) -> dict[Any, str]:
    """Labels by value as the column holds it; special missings by their letter."""
    if column.is_text:
        width = column.width
        return {raw: label for raw, label in column.about.values if len(raw.encode()) <= width}
    labels: dict[Any, str] = {}
    for raw, label in column.about.values:
        if is_number(raw) and isfinite(float(raw)):
            labels[float(raw)] = label
        elif column.tags and TAG.fullmatch(raw) and raw[1] in column.tags:
            labels[raw[1]] = label
    return labels


def _write(temporary: Path, file: str, write: Any, frame: Any, **options: Any) -> None:
    """Let the library write ``file`` at the path ``temporary``; it gets its name later."""
    from pyreadstat import PyreadstatError, ReadstatError

    try:
        write(frame, str(temporary), **{name: value for name, value in options.items() if value})
    except (ReadstatError, PyreadstatError) as error:
        # Only the reader's own short sentences; the other kind of error may quote a path or a value.
        reason = str(error) if isinstance(error, ReadstatError) else "a name or value does not fit the format"
        reason = FULL if is_full(temporary.parent) else reason
        raise EngineError(f"file '{file}' could not be written: {reason}") from None


def _overwrite(temporary: Path, name: str, pattern: bytes, new: bytes) -> None:
    """Replace a pattern in the header, which is within the first 4 kB and keeps its length."""
    with temporary.open("r+b") as file:
        head = file.read(4096)
        changed = re.sub(pattern, new, head, flags=re.DOTALL)
        if len(changed) != len(head):
            raise EngineError(f"file '{name}' has a header of an unknown form; it was not released")
        file.seek(0)
        file.write(changed)


_MOST_WIDTH = 32_767  # bytes of a text in SAS and SPSS


@dataclass(frozen=True)
class _Column:
    """One column of the CSV file: whether all its values are numbers, the bytes of its longest text, and its labels;
    numbers in another ``notation`` are text."""

    name: str
    numeric: bool
    width: int
    about: ColumnLabels
    notation: Notation = PLAIN

    @property
    def labelled(self) -> list[tuple[str, str]]:
        """Value labels that a column of its kind can have."""
        return [(raw, label) for raw, label in self.about.values if not self.numeric or _is_finite(raw)]

    @property
    def remark(self) -> str:
        """Missing codes, and the notation of numbers that are read as text, in words on one line."""
        codes = [code for code in self.about.missing if not self.numeric or _is_finite(code)]
        codes += self.about.written_ranges if self.numeric else []
        words = [f"missing codes {', '.join(codes)}"] if codes else []
        words += [] if self.notation.is_plain else [f"numbers with {self.notation.signs}, read as text"]
        return _one_line("; ".join(words))


def _is_finite(text: str) -> bool:
    return is_number(text) and isfinite(float(text))


def load_scripts(
    csv_name: str,
    columns: Mapping[str, pa.Array | pa.ChunkedArray],
    labels: Mapping[str, ColumnLabels] | None = None,
) -> dict[str, str]:
    """Programs for the CSV file that :func:`engine.data.io.writers.write_csv` makes of ``columns``, by file name.

    Each reads ``csv_name`` from its own folder and sets variable and value labels.  SPSS and R are told the missing
    codes, SAS and Stata programs list them in comments.  They say nothing that is not in the columns and their labels.
    """
    described = [_described(name, values, (labels or {}).get(name, NO_LABELS)) for name, values in columns.items()]
    makers = {"load.R": _r, "load.sas": _sas, "load.do": _stata, "load.sps": _spss}
    return {file: "\n".join([*make(csv_name, described), ""]) for file, make in makers.items()}


def _described(name: str, values: pa.Array | pa.ChunkedArray, about: ColumnLabels) -> _Column:
    import pyarrow as pa

    distinct = one_array(plain_values(values)).unique().drop_null()
    arrow_type = distinct.type
    if (
        pa.types.is_null(arrow_type)
        or pa.types.is_floating(arrow_type)
        or (pa.types.is_integer(arrow_type) and np.abs(numbers(distinct)).max(initial=0) < 2**53)
        or (pa.types.is_decimal(arrow_type) and exact_decimals(distinct))
    ):
        return _Column(name, True, 8, about)
    texts = [text for text in as_text(distinct).to_pylist() if text]
    # A leading nought is part of a code, not of a number; no package calculates with more digits than a number holds.
    notation = about.notation_of(distinct)
    numeric = (
        bool(texts)
        and notation.is_plain
        and all(is_number(text) and not re.match(r"[+-]?0\d|\s", text) for text in texts)
    )
    numeric = numeric and all(len(text) <= 15 or Decimal(text.strip()) == Decimal(repr(float(text))) for text in texts)
    numeric = numeric and len(set(map(float, texts))) == len(texts)
    return _Column(name, numeric, max((len(text.encode()) for text in texts), default=1), about, notation)


def _one_line(text: str) -> str:
    """A text on one line, with signs that steer written out."""
    return printable(re.sub(r"[\r\n]+", " ", text))


def _quoted(text: str) -> str:
    """A text in single quotes, which SAS and SPSS programs take literally."""
    return "'" + _one_line(text).replace("'", "''") + "'"


def _in_json(text: str) -> str:
    return printable(json.dumps(text, ensure_ascii=False))  # R reads the same escapes


def _r(csv_name: str, columns: list[_Column]) -> list[str]:
    classes = ", ".join(f"{_in_json(c.name)} = {_in_json('numeric' if c.numeric else 'character')}" for c in columns)
    lines = [
        f"# Reads {csv_name}; run it in the folder of that file. Base R alone is needed.",
        f'data <- read.csv({_in_json(csv_name)}, check.names = FALSE, na.strings = "", encoding = "UTF-8",',
        f"  colClasses = c({classes}))",
    ]
    for c in columns:
        where = f"data[[{_in_json(c.name)}]]"

        def value(raw: str, numeric: bool = c.numeric) -> str:
            return raw if numeric else _in_json(raw)

        if c.about.label:
            lines.append(f'attr({where}, "label") <- {_in_json(c.about.label)}')
        if c.labelled:
            pairs = ", ".join(f"{_in_json(label)} = {value(raw)}" for raw, label in c.labelled)
            lines.append(f'attr({where}, "labels") <- c({pairs})')
        if codes := [value(raw) for raw in c.about.missing if not c.numeric or _is_finite(raw)]:
            lines.append(f'attr({where}, "na_values") <- c({", ".join(codes)})')
        if c.numeric and c.about.missing_ranges:
            low, high = c.about.missing_ranges[0]
            lines.append(f'attr({where}, "na_range") <- c({low:.15g}, {high:.15g})')
    return [*lines, *(f"# {_one_line(c.name)}: {c.remark}" for c in columns if c.remark)]


def _sas(csv_name: str, columns: list[_Column]) -> list[str]:
    short = short_names([c.name for c in columns], "dta")  # 32 letters, digits and _, as SAS has it
    formats = {c.name: f"{'' if c.numeric else '$'}f{i}_" for i, c in enumerate(columns, 1) if c.labelled}
    lines = [f"/* Reads {csv_name}; run it in the folder of that file. */"]
    if formats:
        lines.append("proc format;")
        for c in (c for c in columns if c.labelled):
            pairs = (f"{raw if c.numeric else _quoted(raw)} = {_quoted(label)}" for raw, label in c.labelled)
            lines += [f"  value {formats[c.name]}", *(f"    {pair}" for pair in pairs), "  ;"]
        lines.append("run;")
    lines += [
        "data work.release;",
        f"  infile {_quoted(csv_name)} dsd dlm=',' firstobs=2 lrecl=1000000 truncover encoding='utf-8';",
        *(f"  length {short[c.name]} {'8' if c.numeric else f'${min(_MOST_WIDTH, c.width)}'};" for c in columns),
        "  input",
        *(f"    {short[c.name]}{'' if c.numeric else ' $'}" for c in columns),
        "  ;",
    ]
    lines += [f"  label {short[c.name]} = {_quoted(c.about.label)};" for c in columns if c.about.label]
    lines += [f"  format {short[name]} {form}.;" for name, form in formats.items()]
    remarks = [f"{short[c.name]}: {c.remark}".replace("*/", "* /") for c in columns if c.remark]
    return [*lines, *(f"  /* {remark} */" for remark in remarks), "run;"]


def _stata(csv_name: str, columns: list[_Column]) -> list[str]:
    short = short_names([c.name for c in columns], "dta")
    texts = " ".join(str(i) for i, c in enumerate(columns, 1) if not c.numeric)
    figures = " ".join(str(i) for i, c in enumerate(columns, 1) if c.numeric)
    options = f"stringcols({texts}) " * bool(texts) + f"numericcols({figures}) asdouble " * bool(figures)
    lines = [
        f"* Reads {csv_name}; run it in the folder of that file.",
        f"import delimited using {_compound(csv_name)}, clear varnames(nonames) rowrange(2) encoding(utf-8) ///",
        f"    bindquotes(strict) {options}",
    ]
    for i, c in enumerate(columns, 1):
        name = short[c.name]
        lines.append(f"rename v{i} {name}")
        if c.about.label:
            lines.append(f"label variable {name} {_compound(c.about.label)}")
        integers = [(raw, label) for raw, label in c.labelled if c.numeric and stata_labels(float(raw))]
        if integers:
            pairs = " ".join(f"{int(float(raw))} {_compound(label)}" for raw, label in integers)
            lines += [f"label define l{i}_ {pairs}", f"label values {name} l{i}_"]
        if len(integers) < len(c.about.values):
            lines.append(f"* {name}: Stata cannot label some of its values; the codebook lists them")
        if c.remark:
            remark = re.sub("/(?=[/*])", "/ ", c.remark)  # which begin comments and join lines
            lines.append(f"* {name}: {remark}")
    return lines


def _compound(text: str) -> str:
    """A text in Stata's compound quotes, in which only its own marks and macros have a meaning."""
    escaped = re.sub("\"(?=')", '" ', _one_line(text).replace("`", "'").replace("$", "\\$"))
    return f'`"{escaped}"\''


def _spss(csv_name: str, columns: list[_Column]) -> list[str]:
    short = short_names([c.name for c in columns], "sav")
    lines = [
        f"* Reads {csv_name}; run it in the folder of that file.",
        "SET UNICODE=ON.",
        f"GET DATA /TYPE=TXT /FILE={_quoted(csv_name)} /ENCODING='UTF8' /DELIMITERS=',' /QUALIFIER='\"'",
        "  /ARRANGEMENT=DELIMITED /FIRSTCASE=2 /VARIABLES=",
        *(f"  {short[c.name]} {'F16.0' if c.numeric else f'A{min(_MOST_WIDTH, c.width)}'}" for c in columns),
        "  .",
    ]
    for c in columns:
        name = short[c.name]
        # Reading with decimals would shift numbers written without a point, so these are for showing only.
        if c.numeric and c.about.format and not c.about.format.endswith(".0"):
            lines.append(f"FORMATS {name} (F16.6).")
        if c.about.label:
            lines.append(f"VARIABLE LABELS {name} {_quoted(c.about.label)}.")
        if c.labelled:
            pairs = (f"  {raw if c.numeric else _quoted(raw)} {_quoted(label)}" for raw, label in c.labelled)
            lines += [f"VALUE LABELS {name}", *pairs, "  ."]
        present = np.array([float(raw) for raw, _ in c.labelled] if c.numeric else [])
        declared, n_left = spss_missing(c.about, present, not c.numeric, c.width)
        if declared:
            lines.append(f"MISSING VALUES {name} ({', '.join(map(_spss_code, declared))}).")
        if n_left:
            lines.append(f"* {name}: SPSS cannot declare {n_left} of its missing codes; the codebook lists all.")
        if not c.notation.is_plain:
            lines.append(f"* {name}: numbers with {c.notation.signs}, read as text.")
        if c.about.measure:
            lines.append(f"VARIABLE LEVEL {name} ({c.about.measure.upper()}).")
    return [*lines, "EXECUTE."]


def _spss_code(code: Any) -> str:
    if isinstance(code, str):
        return _quoted(code)
    if isinstance(code, dict):
        low, high = (f"{code[end]:.15g}" for end in ("lo", "hi"))
        return f"{low.replace('-inf', 'LOWEST')} THRU {high.replace('inf', 'HIGHEST')}"
    return f"{code:.15g}"
