"""Search an export, as its last step, for secrets of the study and names of the machine: all bytes, then all fields.

Long secrets (keys, fingerprints, paths, long names) are searched everywhere, as they are and in the encodings in which
programs write them.  Names of fewer than eight letters could be words of the data, so they are searched only in fields
that describe a file.
"""

from __future__ import annotations

import base64
import getpass
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from json import dumps
from pathlib import Path
from urllib.parse import quote

from engine.bundle.byte_pairs import possible_forms
from engine.bundle.contents import files_below
from engine.bundle.export_source import ExportSource
from engine.bundle.fields import check_fields
from engine.bundle.manifest import RELEASE
from engine.bundle.old_numbers import OldNumbers, old_numbers_of
from engine.bundle.refusal import Refused
from engine.bundle.streamed_source import StreamedSource
from engine.bundle.tiers import Tier
from engine.bundle.unpack import Part, parts_of
from engine.common.os_support import hostname
from engine.common.raw_values import texts
from engine.common.resources import home
from engine.common.streams import key_commitment

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
        if not any(form in part.content for form in possible_forms(self.forms, part.pairs)):
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
    """The secrets of one export, its original numbers of records and households, and its source for the checks of
    fields."""

    secrets: tuple[Secret, ...]
    old_numbers: tuple[OldNumbers, ...]
    source: Source


def search_of(source: Source, out: Path) -> Search:
    """Everything secret about one export."""
    about = source.study.about
    secrets = [
        Secret("the study key", forms_of_bytes(source.key)),
        Secret("the key of the realisation", forms_of_bytes(source.remade.derived), inside=True),
        Secret("the secret of the row order", forms_of_bytes(source.rows.secret), inside=True),
        Secret("a digest of the original", forms_of_bytes(source.raw.content_digest())),
        Secret("a fingerprint of the original", forms_of_bytes(bytes.fromhex(source.fingerprint)), inside=True),
        *(
            Secret("the study's fingerprint of the original", _forms_of_hex(str(about[name])))
            for name in ("fingerprint", "files")
            if name in about
        ),
        Secret("the check of the study key", _forms_of_hex(str(about["key_check"]))),
        Secret("the commitment to the study key", _forms_of_hex(key_commitment(source.key)), inside=True),
    ]
    exempt = _words_of_release(source)
    secrets += [secret for path in (source.study.path, out) for secret in _secrets_of_path(path)]
    secrets += local_names(exempt)
    secrets += _secrets_of_name("the name of the original file", source.raw.source, exempt)
    secrets += _secrets_of_name("the name of the study file", source.study.path.name, exempt)
    for kind, name in (("data", Path(source.raw.source).stem), ("study", source.study.path.stem)):
        if not name.isalpha():  # a plain word, such as employment, is no name in a text about employment
            secrets += _secrets_of_name(f"the name of the {kind} file", name, exempt)
    # ids of streamed records were compared with carried columns while the records came by
    old_numbers = old_numbers_of(source) if isinstance(source, ExportSource) else ()
    return Search(tuple(dict.fromkeys(secrets)), old_numbers, source)


def local_names(exempt: frozenset[str] = frozenset()) -> list[Secret]:
    """Paths and names of this machine and of its user; names that are one of the words ``exempt`` are left out."""
    secrets = [secret for path in filter(None, (Path.cwd(), home())) for secret in _secrets_of_path(path)]
    for description, name in _user_and_host():
        secrets += _secrets_of_name(description, name, exempt)
    return list(dict.fromkeys(secrets))


def _user_and_host() -> Iterator[tuple[str, str]]:
    """The names of the user and of the machine, each after its description."""
    with suppress(KeyError, OSError):  # no account may have this process's number
        yield "the user's name", getpass.getuser()
    for variable in ("USER", "LOGNAME", "USERNAME", "SUDO_USER"):
        if os.environ.get(variable):
            yield "the user's name", os.environ[variable]
    yield "the machine's name", hostname()


def scan(folder: Path, tier: Tier, search: Search) -> None:
    """Refuse a bundle (:class:`Refused`) in which anything secret is found, or a field that its reader must not see."""
    allowed = _allowed_texts(search.source, tier)
    for old in search.old_numbers if tier is Tier.PUBLIC else ():
        if (column := old.column_with()) is not None:
            raise _refused(tier, f"column '{column}'", old.what)
        if (column := old.column_in_order()) is not None:
            raise _refused(tier, f"column '{column}'", f"values in the order of {old.what}")
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


def _allowed_texts(source: Source, tier: Tier) -> tuple[str, ...]:
    """Texts of the plan in which names may stand: a survey is often named like the file it came in, and its contact may
    be the person who made the bundle.  The public bundle holds no file's name, whatever the title is."""
    about, publish = source.study.plan.about, source.study.plan.publish
    if tier is Tier.PUBLIC:
        return ()
    return (about.survey, publish.title, *([about.contact] if tier in (Tier.BOARD, Tier.CIRCULATING) else []))


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


def _forms_of_hex(text: str) -> tuple[bytes, ...]:
    try:
        return forms_of_bytes(bytes.fromhex(text))
    except ValueError:
        return forms_of_text(text)


def forms_of_text(text: str) -> tuple[bytes, ...]:
    """A text in the encodings in which programs write it: UTF-8, UTF-16, and escaped for JSON, HTML, XML and URLs;
    hexadecimal and base64."""
    raw = text.encode("utf-8", "surrogateescape")
    forms = {raw, text.encode("utf-16-le", "surrogatepass"), text.encode("utf-16-be", "surrogatepass")}
    plain = raw.decode("utf-8", "replace")
    escaped = {dumps(plain)[1:-1], escape(plain), quote(plain), quote(plain, safe=""), plain.replace("/", "\\/")}
    forms |= {variant.encode() for variant in escaped}
    if len(raw) >= LONG:
        forms |= {form for form in forms_of_bytes(raw) if form != raw[::-1]}
    return tuple(sorted(forms))


def _secrets_of_path(path: Path) -> list[Secret]:
    """A path, by the highest of the folders above it that is long enough to be told from other text: whatever shows the
    path shows that too."""
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
