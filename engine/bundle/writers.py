"""The analyst's and the public bundle: the release with its codebook and programs, and in an internal folder everything
that explains, remakes and undoes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.bundle.codebook import codebook, codebook_html, codebook_xml
from engine.bundle.folder import sha256
from engine.bundle.manifest import BUCKETS, INTERNAL, LOG, RELEASE, iso, made_with, write_manifest
from engine.bundle.readers import Refused, Tier
from engine.bundle.released_files import write_streamed, write_tables
from engine.bundle.source import ExportSource, StreamedSource
from engine.common.output import Report
from engine.common.raw_values import as_text
from engine.common.streams import STREAM_VERSION
from engine.common.wording import printable
from engine.data.io.labelled_writers import load_scripts
from engine.data.io.writers import write_parquet
from engine.data.microdata import RawTable
from engine.frontier.summary import summarise
from engine.mechanisms import amount
from engine.models.record_release import numeric_columns
from engine.plan import plan_to_toml
from engine.release.scenarios import RunStatus
from engine.report.candidate_table import as_csv
from engine.report.facts import Publish
from engine.report.public_wording import methods_paragraph
from engine.report.template import html_of
from engine.report.unit_counts import unit_columns, with_units
from engine.report.write import write_analyst
from engine.study.decision_log import START, entries
from engine.study.study import Study
from engine.sweeps.remake import carriers_of

if TYPE_CHECKING:
    import pyarrow as pa


METHODS = "METHODS.txt"


def write_for_public(source: ExportSource, folder: Path) -> dict[str, str]:
    """Write the bundle into an existing folder and return the digests of the released files."""
    plan = source.study.plan
    digests, notes = write_tables(folder, source.tables, source.formats, source.labels)
    source.notes.update(dict.fromkeys(notes))
    weight = source.data.weight if "weight" in source.include else None
    unit = source.data.unit_column if "unit" in source.include else None
    coded = {column for attribute in plan.attributes for column in attribute.columns}
    cut = {column for attribute in plan.attributes if attribute.cut for column in attribute.view}
    codes = coded - cut - set(numeric_columns(plan, source.data))  # not cut, and not calculated with
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


def methods_of(source: ExportSource) -> str:
    """The paragraph on methods of one release, under its plan's rate policy."""
    publish, spec = source.study.plan.publish, source.scenario.spec
    extent = publish.rate_range if publish.rate_policy == "range" else ""
    return methods_paragraph(
        Publish(printable(publish.title), printable(publish.wording), extent, publish.include),
        swap=spec.by_roles,
        n_tables=len(source.remade.tables),
        new_ids=bool({*source.data.renumbered} & set(source.columns)),
    )


ATTACK = "self-attack.json"
NEW_ID, ROW, RECORD, OLD_ID, OLD_UNIT, NEW_UNIT = "new_id", "row", "record", "id", "unit", "new_unit"
"""Columns of the pair map: the new id, the row in the release, the record in the original, its old id, and the old and
the new number of its unit."""
SEPARATOR = "\x1f"
"""Between the parts of a household's number that stand in several columns."""
FROM = "from:"
"""Before the name of a raw column: the record of the original whose value is shown."""
FIRST, SECOND = "first", "second"
"""Columns of the pair map of streamed records: the two original records of each pair, counted from 0 in file order."""


def write_for_analyst(
    source: ExportSource | StreamedSource,
    folder: Path,
    attack: Mapping[str, Any],
    bundles: Mapping[str, str] = MappingProxyType({}),
    tell: Report | None = None,
) -> dict[str, str]:
    """Write the bundle into an empty folder and return the digests of the released files.

    ``attack`` is the result of the attack on the release.  ``bundles`` are the other readers' bundles of the same
    export: the digest of each one's list of digests.  Of streamed records the pair map has a row for each pair and none
    for records that stayed, and the annex, which follows all records, is not made.  ``tell`` gets
    messages on progress.
    """
    internal, study = folder / INTERNAL, source.study
    (folder / RELEASE).mkdir()
    internal.mkdir(mode=0o700)
    if isinstance(source, StreamedSource):
        content = _streamed_content(source, folder / RELEASE, internal, tell)
    else:
        content = _content(source, folder / RELEASE, internal)
    log = [entry.to_dict() for entry in entries(study)]
    _write_candidates(study, internal)
    for name, held in ((LOG, log), (ATTACK, attack)):
        (internal / name).write_text(json.dumps(held, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (internal / "plan.toml").write_text(plan_to_toml(study.plan), encoding="utf-8")
    names = {"lock": made_with()["lock"], "can_apply": BUCKETS not in content}
    replay = html_of(Path(__file__).with_name("templates") / "replay.txt", names).rstrip() + "\n"
    (internal / "REPLAY.txt").write_text(replay, encoding="utf-8")
    # last, since the manifest and its seal cover all that lies beside them
    content = {
        **_manifest(source),
        **content,
        "log": log[-1]["digest"] if log else START,
        "internal": {path.name: sha256(path) for path in sorted(internal.iterdir())},
        "bundles": dict(bundles),
    }
    secrets = {"derived_key": source.remade.derived.hex(), "row_order_secret": source.rows.secret.hex()}
    write_manifest(internal, content, secrets)
    return dict(content["sha256"])


def _content(source: ExportSource, release: Path, internal: Path) -> dict[str, Any]:
    """Write release, pair map and annex of records in memory; the fields that the manifest gets of them."""
    digests, notes = write_tables(release, source.tables, source.formats, source.labels)
    source.notes.update(dict.fromkeys(notes))
    _write_map(source, internal)
    write_analyst(source.study, source.remade, internal)
    tables = source.remade.tables
    return {
        "tables": len(tables),
        "drawn_anew": [name for name in source.data.raw.columns if any(t.is_renumbered(name) for t in tables)],
        "sha256": digests,
        "notes": notes,
    }


def _streamed_content(
    source: StreamedSource, release_folder: Path, internal: Path, tell: Report | None
) -> dict[str, Any]:
    """Write release and pair map of streamed records, for the manifest's fields; original ids are refused."""
    import pyarrow as pa

    remade, plan = source.remade, source.study.plan
    release = write_streamed(
        release_folder, remade, plan, source.include, source.formats, source.rows.secret, tell=tell
    )
    if release.ids is not None:
        column, what = release.ids
        raise Refused(
            f"the {Tier.ANALYST} bundle was refused: column '{column}' holds {what}; nothing was written. Drop the "
            "column in the plan",
            f"{Tier.ANALYST}: {what}",
        )
    pairs = zip((FIRST, SECOND), release.pairs.T, strict=True)
    write_parquet(internal / "pairs.parquet", {name: pa.array(numbers, pa.int64()) for name, numbers in pairs})
    return {
        "tables": 1,
        "drawn_anew": [],
        BUCKETS: release.n_buckets,
        "sha256": release.digests,
        "notes": [],
    }


def _manifest(source: ExportSource | StreamedSource) -> dict[str, Any]:
    """The fields on its realisation that the manifest of every export has."""
    spec, remade = source.scenario.spec, source.remade
    chosen = [
        d for d in source.study.choices.all() if (d.label, d.replicate) == (source.scenario.label, source.replicate)
    ]
    return {
        "candidate": source.candidate,
        "mechanism": spec.mechanism,
        "spec": str(spec.attributes),
        "params": [list(pair) for pair in spec.params],
        "rate": spec.rate,
        "rule": spec.rule,
        "status": RunStatus(remade.status).word,
        "records_changed": remade.n_changed,
        "n_records": source.data.n_records,
        "figures": {name: None if value != value else value for name, value in remade.figures.items()},
        "decision": {"rule": chosen[-1].rule, "why": chosen[-1].why, "at": iso(chosen[-1].at)} if chosen else None,
        "plan": plan_to_toml(source.study.plan),
        "include": list(source.include),
        "formats": list(source.formats),
        "fingerprint": source.fingerprint,
        "stream_version": STREAM_VERSION,
        "made": iso(),
        "made_with": made_with(),
    }


def joint_texts(raw: RawTable, names: Sequence[str]) -> pa.Array:
    """The number of a household in each record, as text: of several columns their texts with a separator between."""
    import pyarrow as pa

    parts = []
    for name in names:
        column = raw.columns[name]
        parts.append(as_text(column.values).take(pa.array(column.codes, pa.int32(), mask=column.codes < 0)))
    if len(parts) == 1:
        return parts[0]
    import pyarrow.compute as pc

    texts = [part.cast(pa.large_string()) for part in parts]
    return pc.binary_join_element_wise(*texts, pa.scalar(SEPARATOR, pa.large_string()))


def _write_map(source: ExportSource, folder: Path) -> None:
    """The pair map of each table, one row per record of the original."""
    import pyarrow as pa

    data, remade = source.data, source.remade
    several = len(remade.tables) > 1
    for d in range(len(remade.tables)):
        end = f"-{d + 1:02d}" if several else ""
        columns: dict[str, pa.Array] = {
            RECORD: pa.array(np.arange(data.n_records)),
            ROW: pa.array(source.rows.row_of),
            NEW_ID: pa.array(source.rows.ids),
        }
        if data.id is not None:
            raw = data.raw.columns[data.id]
            absent = np.append(raw.about.absent_mask(raw.values, data.missing), True)[raw.codes]
            columns[OLD_ID] = as_text(raw.values).take(pa.array(raw.codes, pa.int32(), mask=absent))
        if data.unit_columns:
            columns[OLD_UNIT] = joint_texts(data.raw, data.unit_columns)
            columns[NEW_UNIT] = pa.array(source.rows.new_numbers(data)[data.unit_columns[0]])
        for name, carrier in carriers_of(remade, d).items():
            columns[FROM + name] = pa.array(carrier)
        write_parquet(folder / f"pairs{end}.parquet", columns)


def _write_candidates(study: Study, folder: Path) -> None:
    """Every candidate, dominated ones too: what it is, its runs, means and standard errors."""
    summary = summarise(study.runs.results(), [call.measure for call in study.measures], len(study.scenarios))
    names = ["records_changed", *(name for call in study.measures for name in (str(call), f"{call}_se"))]
    means = np.stack([summary.mean, summary.se], axis=2).reshape(len(study.scenarios), -1)
    figures = np.column_stack([summary.changed, means])
    cells = np.where(np.isnan(figures), np.array(None), figures).tolist()
    rows = [
        {
            "id": scenario.label,
            "mechanism": scenario.spec.mechanism,
            "rate": scenario.spec.rate,
            "amount": str(amount(scenario.spec)),
            "rule": scenario.spec.rule,
            "spec": scenario.spec.text,
            "replicates": int(summary.counted[i]),
            "failed": int(summary.failed[i]),
            **dict(zip(names, cells[i], strict=True)),
        }
        for i, scenario in enumerate(study.scenarios)
    ]
    text = as_csv(with_units(rows, study), unit_columns([*rows[0]], study))
    (folder / "candidates.csv").write_text(text, encoding="utf-8", newline="\n")
