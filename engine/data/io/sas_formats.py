"""The SAS program that restores names, labels and value labels of a transport file."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from engine.common.printable import printable
from engine.common.raw_values import is_number
from engine.data.labels import NO_LABELS, ColumnLabels


def formats_program(
    file: str, short: Mapping[str, str], labels: Mapping[str, ColumnLabels], text: Collection[str]
) -> str:
    """A program that reads the transport file ``file`` into the data set ``work.release``.

    ``short`` maps each column to its name in the file (see :func:`engine.data.io.column_names.short_names`) and
    ``text`` names those (by their name in the file) that hold text.
    """
    about = {name: labels.get(name, NO_LABELS) for name in short}
    formats = {name: f"{'$' if short[name] in text else ''}f{i}_" for i, name in enumerate(short, 1)}
    lines = [f"/* Reads {file} with names, labels and formats. Run it in the folder of that file. */"]
    labels_of = {
        name: [(raw, label) for raw, label in about[name].values if short[name] in text or sas_number(raw)]
        for name in short
    }
    labelled = [name for name in short if labels_of[name]]
    if labelled:
        lines.append("proc format;")
        for name in labelled:
            lines.append(f"  value {formats[name]}")
            lines += [f"    {_value(raw, formats[name])} = {quoted(label)}" for raw, label in labels_of[name]]
            lines.append("  ;")
        lines.append("run;")
    lines += [f"libname release xport {quoted(file)};", "data work.release;", "  set release.release;"]
    renamed = [name for name in short if short[name] != name and re.fullmatch(r"[A-Za-z_]\w{0,31}", name, re.ASCII)]
    lines += [f"  label {short[name]} = {quoted(about[name].label)};" for name in short if about[name].label]
    lines += [f"  format {short[name]} {formats[name]}.;" for name in labelled]
    lines += [f"  rename {short[name]} = {name};" for name in renamed]
    for name in short:
        ranges = [f"{low:.15g} to {high:.15g}" for low, high in about[name].missing_ranges]
        codes = ", ".join([*about[name].missing, *ranges])
        if codes:
            lines.append(comment(f"missing codes of {short[name]}: {codes}"))
    return "\n".join([*lines, "run;", ""])


def sas_number(raw: str) -> bool:
    """Return whether a raw value is a number of SAS, or one of its special missings."""
    return bool(re.fullmatch(r"\.[a-z]", raw)) or (is_number(raw) and abs(float(raw)) < 1e300)


def _value(raw: str, form: str) -> str:
    """A raw value as SAS writes it: text in quotes, special missings as .A."""
    if form.startswith("$"):
        return quoted(raw)
    return raw.upper()


def comment(text: str) -> str:
    """A comment of one line that the text cannot end."""
    return "  /* " + printable(re.sub(r"[\r\n]+", " ", text)).replace("*/", "* /") + " */"


def quoted(text: str) -> str:
    """A text in single quotes, which SAS, SPSS and Stata programs take literally; line ends become spaces, and signs
    that steer are written out."""
    return "'" + printable(re.sub(r"[\r\n]+", " ", text)).replace("'", "''") + "'"
