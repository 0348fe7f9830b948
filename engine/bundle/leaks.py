"""Search an export, as its last step, for secrets of the study and names of the machine: all bytes, then all fields.

Long secrets (keys, fingerprints, paths, long names) are searched everywhere, as they are and in the encodings in which
programs write them.  Names of fewer than eight letters could be words of the data, so they are searched only in fields
that describe a file.

A column that holds original ids or numbers of households record by record is found whatever they look like: in most
records, or in more of them than chance explains.  So is a column of which each value goes with one of them in the same
order, as numbers do to which something was added.  Elsewhere they are searched as words: those of eight signs and more,
one of which is enough where it holds a letter; numbers alone, which might be any others, are found by several in one
file.  Those with blanks or letters beyond A to Z are searched as whole fields.

Secrets too short for a search of bytes (ids of candidates, rate, spec) are checked field by field.
"""

from __future__ import annotations

import base64
import getpass
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from engine.bundle.manifest import RELEASE
from engine.bundle.readers import Refused, Tier, files_below
from engine.bundle.source import ExportSource, StreamedSource
from engine.bundle.unpack import Part, header_of, parts_of, prose
from engine.bundle.writers import METHODS, methods_of
from engine.common.os_support import home
from engine.common.processes import hostname
from engine.common.raw_values import numbers, texts
from engine.common.streams import key_commitment
from engine.data.io.writers import LABELS, labels_json
from engine.data.microdata import RawColumn
from engine.decision import disclosure_text
from engine.decision.disclosure_text import EXTENT
from engine.report.circulating import CIRCULATING

if TYPE_CHECKING:
    import pyarrow as pa


_LONG_NUMBER = 8
"""The fewest signs of a number that is searched as a word."""
_WORD = re.compile(rb"[0-9A-Za-z_.:-]{8,}")
_BETWEEN_FIELDS = b",;\"'<>\t\r\n"
_FEWEST = 20  # records or numbers from which agreement is no accident
_ERRORS = 6.0  # standard errors beyond what unrelated columns agree on
_ALIKE = 0.95
_SEVERAL = 3  # numbers without a letter in one file, from which they are no accident
_WHAT = {"id": "the original ids of records", "unit": "the original numbers of households"}


@dataclass(frozen=True)
class OldNumbers:
    """The original numbers of one kind (``what``, in words) of an export."""

    source: ExportSource
    column: str
    what: str

    @cached_property
    def words(self) -> frozenset[bytes]:
        """Those that are long enough to be searched as words, and are no value of a released column."""
        long = {text for text in texts(self.source.raw.columns[self.column].values) if len(text) >= _LONG_NUMBER}
        new = range(10 ** (_LONG_NUMBER - 1), self.source.data.n_records + 1)
        long -= set(map(str, new))
        for _, column in self._released() if long else ():
            long -= set(texts(column.values))
        return frozenset(text.encode() for text in long)

    def shown_by(self) -> tuple[str, str] | None:
        """A released column that shows them in most records that have one, or beyond chance, or whose values stand in
        their order, up to one in twenty; and which of the two in words.  Else None."""
        original = self.source.raw.columns[self.column]
        code_of = {text: code for code, text in enumerate(texts(original.values))}
        known = original.codes >= 0  # no number is shown where there is none
        number, n_known = original.codes[known], int(known.sum())
        _, first = np.unique(number, return_index=True)
        first = np.flatnonzero(known)[first]
        first = first[np.argsort(_ranks(original.values)[original.codes[first]])]
        for name, column in self._released():
            shown = np.array([code_of.get(text, -1) for text in texts(column.values)] + [-1])[column.codes][known]
            agree = shown == number
            if 2 * np.count_nonzero(agree) > n_known or _beyond_chance(shown, number, agree):
                return name, self.what
            if len(first) <= _FEWEST or len(column.values) < _ALIKE * len(first):
                continue
            codes = column.codes[first]
            steps = np.diff(_ranks(column.values)[codes[codes >= 0]])
            if max(np.count_nonzero(steps > 0), np.count_nonzero(steps < 0)) > _ALIKE * (len(first) - 1):
                return name, f"values in the order of {self.what}"
        return None

    def _released(self) -> Iterator[tuple[str, RawColumn]]:
        for name in self.source.columns:
            if name not in self.source.data.single_uses:
                yield name, self.source.raw.columns[name]

    @cached_property
    def _forms(self) -> tuple[re.Pattern[bytes], ...]:
        """Their forms in a file: words, and fields of the signs that those which are no words hold."""
        others = [word for word in self.words if not _WORD.fullmatch(word)]
        signs = {sign for word in others for sign in word} - set(_BETWEEN_FIELDS)
        forms = [_WORD] if len(others) < len(self.words) else []
        if signs:
            forms.append(re.compile(b"[" + b"".join(re.escape(bytes([sign])) for sign in sorted(signs)) + b"]{8,}"))
        return tuple(forms)

    def found_in(self, content: bytes) -> bool:
        """Return whether a piece of a file holds some of them as words or fields."""
        found = {word for form in self._forms for word in form.findall(content)} & self.words
        return len(found) >= _SEVERAL or any(not word.isdigit() for word in found)


def _beyond_chance(shown: np.ndarray, number: np.ndarray, agree: np.ndarray) -> bool:
    """Return whether two columns of numbers agree in more records than unrelated ones would, and in many numbers."""
    n = np.count_nonzero(agree)
    if n < _FEWEST or len(np.unique(number[agree])) < _FEWEST:
        return False
    known = shown[shown >= 0]
    size = int(max(number.max(), known.max())) + 1
    of_number, of_shown = np.bincount(number, minlength=size), np.bincount(known, minlength=size)
    expected = float(of_number @ of_shown) / len(number)
    return bool(n > expected + _ERRORS * (expected + 1) ** 0.5)


def _ranks(values: pa.Array) -> np.ndarray:
    """The rank of each value: of numbers as such, else of their texts."""
    as_numbers = numbers(values)
    order = np.argsort(np.array(texts(values)) if np.isnan(as_numbers).any() else as_numbers, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank


_FREE_TEXTS = re.compile(
    r"cover\..*|design\.(design|geography)|threat\.(intruder|harm|public_files\..*)|recommendation\.why|publish\..*"
    r"|checks\.\d+\.name|utility\.coefficients\.\d+\.analysis"
)
"""Fields of a circulating copy with texts that people write, in which a rate may stand by mistake."""


def check_fields(folder: Path, tier: Tier, source: ExportSource | StreamedSource) -> None:
    """Refuse (:class:`Refused`) fields of a bundle of ``source`` that a tier's reader must not see."""
    if tier is Tier.ANALYST:  # sees every field
        return
    assert isinstance(source, ExportSource), "of streamed records the analyst's bundle alone is made"
    if tier is Tier.PUBLIC:
        _check_public(folder, source)
        return
    for where, text in prose(folder, files_below(folder)):  # readers of board papers know letters of candidates
        if disclosure_text.label_in(source.study, text):
            raise _refused(tier, f"'{where}'", "the id of a candidate")
    if tier is Tier.CIRCULATING:
        _check_copy(folder, source)


def _check_public(folder: Path, source: ExportSource) -> None:
    released = list(source.columns)
    labels = {LABELS.encode(): text.encode()} if (text := labels_json(released, source.labels)) else {}
    for path in sorted(folder.iterdir()):
        columns, description = header_of(path) or (released, None)
        if columns != released:
            unknown = next((name for name in columns if name not in released), "an order of its own")
            raise _refused(Tier.PUBLIC, f"'{path.name}'", f"a column that is not released ({unknown})")
        if description is not None and description != labels:
            raise _refused(Tier.PUBLIC, f"'{path.name}'", "a description beside its columns")
    text = (folder / METHODS).read_text(encoding="utf-8")
    if text != methods_of(source) + "\n":
        raise _refused(Tier.PUBLIC, f"'{METHODS}'", "other words than those on the methods")
    publish = source.study.plan.publish
    for text in (publish.title, publish.wording, publish.rate_range):
        _check_text(Tier.PUBLIC, METHODS, text, source)


def _check_copy(folder: Path, source: ExportSource) -> None:
    """Refuse a circulating copy with a text by hand that tells the rate, or with the share of records changed."""
    copy = json.loads((folder / CIRCULATING).read_text(encoding="utf-8"))
    share_changed = float(source.remade.changed.mean())
    is_long = len(str(share_changed).rstrip("0")) >= 8  # as a short decimal it could be any other figure
    for where, value in _leaves(copy):
        if isinstance(value, str) and _FREE_TEXTS.fullmatch(where):
            _check_text(Tier.CIRCULATING, f"{CIRCULATING}: {where}", value, source)
        if is_long and isinstance(value, float) and value == share_changed:
            raise _refused(Tier.CIRCULATING, f"'{CIRCULATING}: {where}'", EXTENT)


def _leaves(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, f"{where}.{name}" if where else name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{where}.{index}")
    else:
        yield where, value


def _check_text(tier: Tier, where: str, text: str, source: ExportSource) -> None:
    risks = [source.remade.figures[str(call)] for call in source.study.measures if call.measure.of_unaltered]
    if what := disclosure_text.disclosure_in(source.study, source.scenario, text, risks):
        raise _refused(tier, f"'{where}'", what.partition(" (")[0])


Source = ExportSource | StreamedSource
"""The source of an export."""
LONG = 8
"""The fewest letters of a name that is searched in all bytes."""
_COMMON_WORDS = """administrator localhost localdomain statistics statistician statistical researcher research analyst
scientist streamlit notebook workspace documents desktop downloads database development production container"""
_COMMON = frozenset(re.findall(r"\w+", _COMMON_WORDS))
"""Names of accounts and folders that are also words of a report."""


@dataclass(frozen=True)
class Secret:
    """Something that must not be found: its description, and the bytes that would show it.

    ``metadata`` limits the search to fields that describe a file; ``word`` finds the bytes as a word of their own only,
    not within a longer one.  ``inside`` says that the internal folder of an analyst's bundle may hold it.
    """

    description: str
    forms: tuple[bytes, ...]
    metadata: bool = False
    word: bool = False
    inside: bool = False

    def found_in(self, part: Part, *allowed: str) -> bool:
        """Return whether a piece of a file holds it; a ``word`` may stand in the texts that are ``allowed``."""
        if self.metadata and not part.metadata:
            return False
        if not any(map(part.holds, self.forms)):
            return False
        if not self.word:
            return True
        content = part.content
        for text in filter(None, allowed):
            for form in forms_of_text(text):
                content = content.replace(form, b" ")
        whole_word = b"(?<![A-Za-z0-9])%b(?![A-Za-z0-9])"
        return any(re.search(whole_word % re.escape(form), content) for form in self.forms)


@dataclass(frozen=True)
class Search:
    """The secrets of one export, its original numbers, and its source for the checks of fields."""

    secrets: tuple[Secret, ...]
    old_numbers: tuple[OldNumbers, ...]
    source: Source


def search_of(source: Source, out: Path) -> Search:
    """Everything secret about one export."""
    about = source.study.about
    known = [
        ("the study key", source.key, False),
        ("the key of the realisation", source.remade.derived, True),
        ("the secret of the row order", source.rows.secret, True),
        ("a digest of the original", source.raw.content_digest(), False),
        ("a fingerprint of the original", bytes.fromhex(source.fingerprint), True),
        ("the check of the study key", bytes.fromhex(str(about["key_check"])), False),
        ("the commitment to the study key", bytes.fromhex(key_commitment(source.key)), True),
    ]
    for name in ("fingerprint", "files"):
        if name in about:
            known.append(("the study's fingerprint of the original", bytes.fromhex(str(about[name])), False))
    secrets = [Secret(what, forms_of_bytes(secret), inside=inside) for what, secret, inside in known]
    exempt = _words_of_release(source)
    secrets += [secret for path in (source.study.path, out) for secret in _secrets_of_path(path)]
    secrets += local_names(exempt)
    secrets += _secrets_of_name("the name of the original file", source.raw.source, exempt)
    secrets += _secrets_of_name("the name of the study file", source.study.path.name, exempt)
    for kind, name in (("data", Path(source.raw.source).stem), ("study", source.study.path.stem)):
        if not name.isalpha():  # a plain word, such as employment, is no name in a text about employment
            secrets += _secrets_of_name(f"the name of the {kind} file", name, exempt)
    old_numbers: tuple[OldNumbers, ...] = ()
    if isinstance(source, ExportSource):  # of streamed records they were looked for while the records came by
        data = source.data
        # of a number that several columns make together, a part that many households share names none of them
        old_numbers = tuple(
            OldNumbers(source, column, _WHAT[use])
            for column, use in data.single_uses.items()
            if use in _WHAT
            if data.units is None
            or column not in data.unit_columns
            or 2 * source.raw.n_values(column) > len(data.units)
        )
    return Search(tuple(dict.fromkeys(secrets)), old_numbers, source)


def local_names(exempt: frozenset[str] = frozenset()) -> list[Secret]:
    """Paths and names of this machine and of its user; names that are one of the words ``exempt`` are left out."""
    secrets = [secret for path in filter(None, (Path.cwd(), home())) for secret in _secrets_of_path(path)]
    users = [os.environ.get(variable, "") for variable in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")]
    with suppress(KeyError, OSError):  # no account may have this process's number
        users.append(getpass.getuser())
    for name in users:
        secrets += _secrets_of_name("the user's name", name, exempt)
    return list(dict.fromkeys((*secrets, *_secrets_of_name("the machine's name", hostname(), exempt))))


def scan(folder: Path, tier: Tier, search: Search) -> None:
    """Refuse a bundle (:class:`Refused`) in which anything secret is found, or a field that its reader must not see."""
    plan = search.source.study.plan
    about, publish = plan.about, plan.publish
    # a survey is often named like the file it came in, and its contact or the approver of the plan may be the person
    # who made the bundle; the public bundle holds no file's name, whatever the title is
    allowed = () if tier is Tier.PUBLIC else (about.survey, publish.title)
    if tier in (Tier.BOARD, Tier.CIRCULATING):
        allowed = (*allowed, about.contact, plan.lock.by if plan.lock else "")
    for old in search.old_numbers if tier is Tier.PUBLIC else ():
        if found := old.shown_by():
            raise _refused(tier, f"column '{found[0]}'", found[1])
    for name in files_below(folder):
        is_internal = tier is Tier.ANALYST and name.startswith("internal/")
        for part in parts_of(folder / name):
            for secret in search.secrets:
                if secret.inside and is_internal:
                    continue
                if secret.found_in(part, *allowed):
                    raise _refused(tier, f"'{part.where}'", secret.description)
            for old in search.old_numbers if tier is Tier.PUBLIC or name.startswith(f"{RELEASE}/") else ():
                if old.found_in(part.content):
                    raise _refused(tier, f"'{part.where}'", old.what)
    check_fields(folder, tier, search.source)


def _refused(tier: Tier, where: str, what: str) -> Refused:
    return Refused(f"the {tier} bundle was refused: {where} holds {what}; nothing was written", f"{tier}: {what}")


def forms_of_bytes(secret: bytes) -> tuple[bytes, ...]:
    """Secret bytes as they are, in hexadecimal digits, in base64, and those texts in UTF-16."""
    written = {secret.hex(), secret.hex().upper(), base64.b32encode(secret).decode().rstrip("=")}
    for start in range(3):  # base64 looks different at each of three places in a longer text
        padded = b"\0" * start + secret
        usable = len(padded) // 3 * 3
        skipped = 4 if start else 0
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            written.add(encode(padded[:usable]).decode()[skipped:])
    forms = {secret, secret[::-1]}
    for text in written:
        forms |= {text.encode(), text.encode("utf-16-le")}
    return tuple(sorted(forms))


def forms_of_text(text: str) -> tuple[bytes, ...]:
    """A text as programs write it: UTF-8, UTF-16, escaped for JSON, HTML, XML and URLs, hexadecimal and base64."""
    raw = text.encode("utf-8", "surrogateescape")
    forms = {raw, text.encode("utf-16-le", "surrogatepass"), text.encode("utf-16-be", "surrogatepass")}
    plain = raw.decode("utf-8", "replace")
    escaped = {json.dumps(plain)[1:-1], escape(plain), quote(plain), quote(plain, safe=""), plain.replace("/", "\\/")}
    forms |= {variant.encode() for variant in escaped}
    if len(raw) >= LONG:
        forms |= {form for form in forms_of_bytes(raw) if form != raw[::-1]}
    return tuple(sorted(forms))


def _secrets_of_path(path: Path) -> list[Secret]:
    """A path, by the highest of its folders that is long enough: whatever shows the path shows that too."""
    secrets = []
    for absolute in sorted({path.absolute(), path.resolve()}):
        folders = [str(folder) for folder in (*reversed(absolute.parents), absolute)]
        long = [text for text in folders if len(text) >= LONG and text.count(os.sep) > 1]
        secrets += [Secret("a path of this machine", forms_of_text(text)) for text in long[:1]]
    return secrets


def _words_of_release(source: Source) -> frozenset[str]:
    """Words that the release itself holds: a name that is one of them says nothing."""
    words = {name.casefold() for name in source.columns}
    for column in source.known_columns:
        words |= set(re.findall(r"\w+", column.about.label.casefold()))
        words |= {w for _, label in column.about.values for w in re.findall(r"\w+", label.casefold())}
        if len(column.values) <= 10_000:
            words |= {text.casefold() for text in texts(column.values)}
    words |= {attribute.name.casefold() for attribute in source.data.domain.attributes}
    return frozenset(words)


def _secrets_of_name(description: str, name: str, exempt: frozenset[str]) -> list[Secret]:
    """A name in all bytes when it is long, only in fields that describe a file when it is short or a common word."""
    name = name.strip()
    if len(name) < 3:
        return []
    common = name.casefold() in _COMMON or name.casefold() in exempt
    forms = forms_of_text(name) if len(name) >= LONG else (name.encode(), name.encode("utf-16-le"))
    if common and len(name) < LONG:
        return []
    return [Secret(description, forms, metadata=common or len(name) < LONG, word=True)]
