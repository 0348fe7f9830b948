"""The public bundle: the release, its codebook, programs that load it, one paragraph on methods; nothing else."""

from __future__ import annotations

from pathlib import Path

from engine.bundle.codebook import codebook, codebook_html, codebook_xml
from engine.bundle.files import write_tables
from engine.bundle.package import Package
from engine.common.printable import printable
from engine.data.io.scripts import load_scripts
from engine.models.columns import missing_values, numeric_columns
from engine.report.public_wording import methods_paragraph

METHODS = "METHODS.txt"


def write(made: Package, folder: Path) -> dict[str, str]:
    """Write the bundle into an existing folder and return the digests of the released files."""
    plan = made.study.plan
    digests, notes = write_tables(folder, made.tables, made.formats, made.labels)
    weight = made.data.weight if "weight" in made.include else None
    labels = {
        name: about if name == made.data.id else missing_values(plan, name, about)
        for name, about in made.labels.items()
    }
    book = codebook(plan.publish.title, made.tables, labels, sorted(digests), notes, weight, _codes(made))
    (folder / "codebook.html").write_text(codebook_html(book), encoding="utf-8", newline="\n")
    (folder / "codebook.xml").write_text(codebook_xml(book), encoding="utf-8", newline="\n")
    if "csv" in made.formats:
        for name, columns in made.tables.items():
            end = name.removeprefix("release")
            for file, text in load_scripts(f"{name}.csv", columns, made.labels).items():
                path = folder / file
                path.with_stem(path.stem + end).write_text(text, encoding="utf-8", newline="\n")
    (folder / METHODS).write_text(methods_of(made) + "\n", encoding="utf-8", newline="\n")
    return digests


def _codes(made: Package) -> set[str]:
    """Columns of attributes whose values are taken as they are, and not as numbers that are cut or calculated with."""
    plan = made.study.plan
    coded = {column for attribute in plan.attributes for column in attribute.columns}
    cut = {column for attribute in plan.attributes if attribute.cut for column in attribute.view}
    return coded - cut - set(numeric_columns(plan, made.data))


def methods_of(made: Package) -> str:
    """The paragraph on methods of one release, under its plan's rate policy."""
    publish, spec = made.study.plan.publish, made.scenario.spec
    return methods_paragraph(
        title=printable(publish.title),
        extent=publish.rate_range if publish.rate_policy == "range" else "",
        wording=printable(publish.wording),
        swap=spec.by_roles,
        n_tables=len(made.made.tables),
    )
