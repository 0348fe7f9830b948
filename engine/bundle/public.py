"""The public bundle: the release, its codebook, programs that load it, one paragraph on methods; nothing else."""

from __future__ import annotations

from pathlib import Path

from engine.bundle.codebook import codebook, codebook_html, codebook_xml
from engine.bundle.export_source import ExportSource
from engine.bundle.files import write_tables
from engine.common.printable import printable
from engine.data.io.scripts import load_scripts
from engine.models.record_release import numeric_columns
from engine.report.public_wording import methods_paragraph

METHODS = "METHODS.txt"


def write(source: ExportSource, folder: Path) -> dict[str, str]:
    """Write the bundle into an existing folder and return the digests of the released files."""
    plan = source.study.plan
    digests, notes = write_tables(folder, source.tables, source.formats, source.labels)
    source.notes.update(dict.fromkeys(notes))
    weight = source.data.weight if "weight" in source.include else None
    unit = source.data.unit_column if "unit" in source.include else None
    codes = _code_columns(source)
    book = codebook(plan.publish.title, source.tables, source.labels, sorted(digests), notes, weight, codes, unit)
    (folder / "codebook.html").write_text(codebook_html(book), encoding="utf-8", newline="\n")
    (folder / "codebook.xml").write_text(codebook_xml(book), encoding="utf-8", newline="\n")
    if "csv" in source.formats:
        for name, columns in source.tables.items():
            number = name.removeprefix("release")  # "-01" and so on, of several tables
            for file, text in load_scripts(f"{name}.csv", columns, source.labels).items():
                path = folder / file
                path.with_stem(path.stem + number).write_text(text, encoding="utf-8", newline="\n")
    (folder / METHODS).write_text(methods_of(source) + "\n", encoding="utf-8", newline="\n")
    return digests


def _code_columns(source: ExportSource) -> set[str]:
    """Columns of attributes whose values are taken as they are, and not as numbers that are cut or calculated with."""
    plan = source.study.plan
    coded = {column for attribute in plan.attributes for column in attribute.columns}
    cut = {column for attribute in plan.attributes if attribute.cut for column in attribute.view}
    return coded - cut - set(numeric_columns(plan, source.data))


def methods_of(source: ExportSource) -> str:
    """The paragraph on methods of one release, under its plan's rate policy."""
    publish, spec = source.study.plan.publish, source.scenario.spec
    return methods_paragraph(
        title=printable(publish.title),
        extent=publish.rate_range if publish.rate_policy == "range" else "",
        wording=printable(publish.wording),
        swap=spec.by_roles,
        n_tables=len(source.remade.tables),
        new_ids=bool({*source.data.renumbered} & set(source.columns)),
    )
