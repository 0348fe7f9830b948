"""Programs that read a released CSV file with its labels and missing codes, one for each statistical package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import UsageError, did_you_mean
from engine.common.notation import PLAIN, Notation
from engine.common.printable import printable
from engine.common.raw_values import as_text, is_number, numbers
from engine.data.io.arrow_columns import one_array, plain_values
from engine.data.io.column_names import short_names
from engine.data.io.encoded_column import exact_decimals
from engine.data.io.missing_codes import spss_missing, stata_labels
from engine.data.io.sas_formats import comment, quoted
from engine.data.labels import NO_LABELS, ColumnLabels

if TYPE_CHECKING:
    import pyarrow as pa

SCRIPTS = {"R": "load.R", "SAS": "load.sas", "Stata": "load.do", "SPSS": "load.sps", "Python": "load.py"}
"""Names of the programs by package."""
_MOST_WIDTH = 32_767  # bytes of a text in SAS and SPSS


@dataclass(frozen=True)
class _Column:
    """One column of the CSV file: whether all its values are numbers, the bytes of its longest text, its labels, and
    the numbers that occur in its ranges of missing codes, ascending; numbers in another ``notation`` are text."""

    name: str
    numeric: bool
    width: int
    about: ColumnLabels
    in_ranges: tuple[str, ...] = ()
    notation: Notation = PLAIN

    @property
    def labelled(self) -> list[tuple[str, str]]:
        """Value labels that a column of its kind can have."""
        return [(raw, label) for raw, label in self.about.values if not self.numeric or _is_finite(raw)]

    @property
    def missing(self) -> list[str]:
        """Missing codes that a column of its kind can have."""
        return [code for code in self.about.missing if not self.numeric or _is_finite(code)]


def _is_finite(text: str) -> bool:
    return is_number(text) and isfinite(float(text))


def load_scripts(
    csv_name: str,
    columns: Mapping[str, pa.Array | pa.ChunkedArray],
    labels: Mapping[str, ColumnLabels] | None = None,
) -> dict[str, str]:
    """Programs for the CSV file that :func:`engine.data.io.writers.write_csv` makes of ``columns``, by file name.

    Each reads ``csv_name`` from its own folder, sets variable and value labels, and declares missing codes as far as
    the package knows such a thing.  They say nothing that is not in the columns and their labels.
    """
    described = [_described(name, values, (labels or {}).get(name, NO_LABELS)) for name, values in columns.items()]
    return {file: load_script(package, csv_name, described) for package, file in SCRIPTS.items()}


def load_script(package: str, csv_name: str, columns: list[_Column]) -> str:
    """The program of one package."""
    makers: dict[str, Callable[[str, list[_Column]], list[str]]] = {
        "R": _r,
        "SAS": _sas,
        "Stata": _stata,
        "SPSS": _spss,
        "Python": _python,
    }
    if package not in makers:
        raise UsageError(f"unknown package '{package}'.{did_you_mean(package, makers)}")
    return "\n".join([*makers[package](csv_name, columns), ""])


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
        return _Column(name, True, 8, about, _in_ranges(distinct, about))
    texts = [text for text in as_text(distinct).to_pylist() if text]
    # A leading nought is part of a code, not of a number; no package calculates with more digits than a number holds.
    notation = about.notation_of(distinct)
    numeric = (
        bool(texts)
        and notation.is_plain
        and all(is_number(text) and not re.match(r"[+-]?0\d|\s", text) for text in texts)
    )
    numeric = numeric and all(len(text) <= 15 or Decimal(text.strip()) == Decimal(repr(float(text))) for text in texts)
    width = max((len(text.encode()) for text in texts), default=1)
    return _Column(name, numeric, width, about, _in_ranges(distinct, about) if numeric else (), notation)


def _texts_of_numbers(columns: list[_Column]) -> list[tuple[str, str]]:
    """Columns whose numbers the package reads as text, each with the words on it."""
    return [(c.name, f"numbers with {c.notation.signs}, read as text") for c in columns if not c.notation.is_plain]


def _in_ranges(distinct: pa.Array, about: ColumnLabels) -> tuple[str, ...]:
    ranges = about.missing_ranges
    figures = sorted({float(x) for x in numbers(distinct) if any(low <= x <= high for low, high in ranges)})
    return tuple(f"{figure:.15g}" for figure in figures)


def _one_line(text: str) -> str:
    return printable(re.sub(r"[\r\n]+", " ", text))


def _json(text: str) -> str:
    return printable(json.dumps(text, ensure_ascii=False))  # R reads the same escapes


def _r(csv_name: str, columns: list[_Column]) -> list[str]:
    classes = ", ".join(f"{_json(c.name)} = {_json('numeric' if c.numeric else 'character')}" for c in columns)
    lines = [
        f"# Reads {csv_name}; run it in the folder of that file. Base R alone is needed.",
        f'data <- read.csv({_json(csv_name)}, check.names = FALSE, na.strings = "", encoding = "UTF-8",',
        f"  colClasses = c({classes}))",
    ]
    for c in columns:
        where = f"data[[{_json(c.name)}]]"
        if c.about.label:
            lines.append(f'attr({where}, "label") <- {_json(c.about.label)}')
        if c.labelled:
            pairs = ", ".join(f"{_json(label)} = {raw if c.numeric else _json(raw)}" for raw, label in c.labelled)
            lines.append(f'attr({where}, "labels") <- c({pairs})')
        if c.missing:
            codes = ", ".join(raw if c.numeric else _json(raw) for raw in c.missing)
            lines.append(f'attr({where}, "na_values") <- c({codes})')
        if c.numeric and c.about.missing_ranges:
            low, high = c.about.missing_ranges[0]
            lines.append(f'attr({where}, "na_range") <- c({low:.15g}, {high:.15g})')
    lines += [f"# {_one_line(name)}: {words}" for name, words in _texts_of_numbers(columns)]
    return [*lines, "# To make all of them NA: data[[name]][data[[name]] %in% attr(data[[name]], 'na_values')] <- NA"]


def _sas(csv_name: str, columns: list[_Column]) -> list[str]:
    short = short_names([c.name for c in columns], "dta")  # 32 letters, digits and _, as SAS has it
    formats = {c.name: f"{'' if c.numeric else '$'}f{i}_" for i, c in enumerate(columns, 1)}
    lines = [f"/* Reads {csv_name}; run it in the folder of that file. */"]
    labelled = [c for c in columns if c.labelled]
    if labelled:
        lines.append("proc format;")
        for c in labelled:
            lines.append(f"  value {formats[c.name]}")
            lines += [f"    {raw if c.numeric else quoted(raw)} = {quoted(label)}" for raw, label in c.labelled]
            lines.append("  ;")
        lines.append("run;")
    lines += [
        "data work.release;",
        f"  infile {quoted(csv_name)} dsd dlm=',' firstobs=2 lrecl=1000000 truncover encoding='utf-8';",
        "  length",
        *(f"    {short[c.name]} {'8' if c.numeric else f'${min(_MOST_WIDTH, max(1, c.width))}'}" for c in columns),
        "  ;",
        "  input",
        *(f"    {short[c.name]}{'' if c.numeric else ' $'}" for c in columns),
        "  ;",
    ]
    lines += [f"  label {short[c.name]} = {quoted(c.about.label)};" for c in columns if c.about.label]
    lines += [f"  format {short[c.name]} {formats[c.name]}.;" for c in labelled]
    lines += [comment(f"missing codes of {short[c.name]}: {_codes(c)}") for c in columns if _codes(c)]
    lines += [comment(f"{short[name]}: {words}") for name, words in _texts_of_numbers(columns)]
    return [*lines, "run;"]


def _codes(c: _Column) -> str:
    ranges = [f"{low:.15g} to {high:.15g}" for low, high in c.about.missing_ranges if c.numeric]
    return _one_line(", ".join([*c.missing, *ranges]))


def _stata(csv_name: str, columns: list[_Column]) -> list[str]:
    short = short_names([c.name for c in columns], "dta")
    texts = [i for i, c in enumerate(columns, 1) if not c.numeric]
    figures = [i for i, c in enumerate(columns, 1) if c.numeric]
    options = f"stringcols({' '.join(map(str, texts))}) " if texts else ""
    options += f"numericcols({' '.join(map(str, figures))}) asdouble " if figures else ""
    lines = [
        f"* Reads {csv_name}; run it in the folder of that file.",
        f"import delimited using {_compound(csv_name)}, clear varnames(nonames) rowrange(2) encoding(utf-8) ///",
        f"    bindquotes(strict) {options}",
    ]
    lines += [f"rename v{i} {short[c.name]}" for i, c in enumerate(columns, 1)]
    for c in columns:
        name = short[c.name]
        if c.about.label:
            lines.append(f"label variable {name} {_compound(c.about.label)}")
        integers = [(raw, label) for raw, label in c.labelled if c.numeric and stata_labels(float(raw))]
        if integers:
            pairs = " ".join(f"{int(float(raw))} {_compound(label)}" for raw, label in integers)
            labels = f"{name}_l" if len(name) <= 30 else f"l{columns.index(c) + 1}_"
            lines += [f"label define {labels} {pairs}", f"label values {name} {labels}"]
        if c.numeric and len(integers) < len(c.about.values):
            lines.append(f"* {name}: Stata cannot label some of its values; the codebook lists them")
        coded = list(dict.fromkeys([*c.missing, *c.in_ranges])) if c.numeric else []
        if 0 < len(coded) <= 26:
            codes = " \\ ".join(f"{raw}=.{chr(97 + i)}" for i, raw in enumerate(coded))
            lines.append(f"* missing codes; to make them missing: mvdecode {name}, mv({codes})")
        elif coded:  # Stata tells 26 kinds of missing values apart, so these become one
            which = [f"inrange({name}, {low:.15g}, {high:.15g})" for low, high in c.about.missing_ranges]
            which += [f"{name} == {raw}" for raw in c.missing]
            lines.append(f"* missing codes; to make them missing: replace {name} = . if {' | '.join(which)}")
        elif c.numeric and _codes(c):
            lines.append(f"* missing codes of {name}, of which none occurs: {_codes(c)}")
        elif _codes(c):
            lines.append(f"* missing codes of {name}: {_codes(c)}")
    return [*lines, *(f"* {short[name]}: {words}" for name, words in _texts_of_numbers(columns))]


def _compound(text: str) -> str:
    """A text in Stata's compound quotes, in which only its own marks and macros have a meaning."""
    escaped = re.sub("\"(?=')", '" ', _one_line(text).replace("`", "'").replace("$", "\\$"))
    return f'`"{escaped}"\''


def _spss(csv_name: str, columns: list[_Column]) -> list[str]:
    short = short_names([c.name for c in columns], "sav")
    lines = [
        f"* Reads {csv_name}; run it in the folder of that file.",
        "SET UNICODE=ON.",
        f"GET DATA /TYPE=TXT /FILE={quoted(csv_name)} /ENCODING='UTF8' /DELIMITERS=',' /QUALIFIER='\"'",
        "  /ARRANGEMENT=DELIMITED /FIRSTCASE=2 /VARIABLES=",
        *(f"  {short[c.name]} {'F16.0' if c.numeric else f'A{min(_MOST_WIDTH, max(1, c.width))}'}" for c in columns),
        "  .",
    ]
    # Reading with decimals would shift numbers written without a point, so these are for showing only.
    broken = [short[c.name] for c in columns if c.numeric and not _shows_whole_numbers(c)]
    if broken:
        lines += ["FORMATS", *(f"  {name} (F16.6)" for name in broken), "  ."]
    labelled = [c for c in columns if c.about.label]
    if labelled:
        lines += ["VARIABLE LABELS", *(f"  {short[c.name]} {quoted(c.about.label)}" for c in labelled), "  ."]
    for c in columns:
        name = short[c.name]
        if c.labelled:
            lines.append(f"VALUE LABELS {name}")
            lines += [f"  {raw if c.numeric else quoted(raw)} {quoted(label)}" for raw, label in c.labelled]
            lines.append("  .")
        present = np.array([float(raw) for raw, _ in c.labelled] if c.numeric else [])
        declared, n_left = spss_missing(c.about, present, not c.numeric, c.width)
        if declared:
            lines.append(f"MISSING VALUES {name} ({', '.join(map(_spss_code, declared))}).")
        if n_left:
            lines.append(f"* {name}: SPSS cannot declare {n_left} of its missing codes; the codebook lists all.")
    levels = {"nominal": "NOMINAL", "ordinal": "ORDINAL", "scale": "SCALE"}
    lines += [f"VARIABLE LEVEL {short[c.name]} ({levels[c.about.measure]})." for c in columns if c.about.measure]
    lines += [f"* {short[name]}: {words}." for name, words in _texts_of_numbers(columns)]
    return [*lines, "EXECUTE."]


def _spss_code(code: Any) -> str:
    if isinstance(code, str):
        return quoted(code)
    if isinstance(code, dict):
        low, high = (f"{code[end]:.15g}" for end in ("lo", "hi"))
        return f"{low.replace('-inf', 'LOWEST')} THRU {high.replace('inf', 'HIGHEST')}"
    return f"{code:.15g}"


def _shows_whole_numbers(c: _Column) -> bool:
    return not c.about.format or c.about.format.endswith(".0")


def _python(csv_name: str, columns: list[_Column]) -> list[str]:
    def table(pairs: Mapping[str, object]) -> list[str]:
        return ["{", *(f"    {name!r}: {value!r}," for name, value in pairs.items()), "}"]

    def read(c: _Column, raw: str) -> object:
        return (int(float(raw)) if float(raw).is_integer() else float(raw)) if c.numeric else raw

    labels = {c.name: c.about.label for c in columns if c.about.label}
    values = {c.name: {read(c, raw): label for raw, label in c.labelled} for c in columns if c.labelled}
    missing = {c.name: [read(c, raw) for raw in c.missing] for c in columns if c.missing}
    ranges = {c.name: list(c.about.missing_ranges) for c in columns if c.numeric and c.about.missing_ranges}
    types = {c.name: "float64" if c.numeric else "str" for c in columns}
    return [
        f'"""Reads {csv_name} as pandas DataFrame `data`; run it in the folder of that file."""',
        "import pandas as pd",
        "",
        *(f"# {_one_line(name)}: {words}" for name, words in _texts_of_numbers(columns)),
        "TYPES = " + "\n".join(table(types)),
        "LABELS = " + "\n".join(table(labels)),
        "VALUE_LABELS = " + "\n".join(table(values)),
        "MISSING = " + "\n".join(table(missing)),
        "MISSING_RANGES = " + "\n".join(table(ranges)),
        f"data = pd.read_csv({csv_name!r}, dtype=TYPES, keep_default_na=False, na_values={{"
        "name: [''] for name, kind in TYPES.items() if kind == 'float64'})",
    ]
