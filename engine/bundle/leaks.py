"""Search an export, as its last step, for everything that must never leave: all bytes, then all fields.

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

from engine.bundle.byte_pairs import possible
from engine.bundle.contents import members
from engine.bundle.fields import check_fields
from engine.bundle.package import Package
from engine.bundle.refusal import Refused
from engine.bundle.unpack import Part, parts_of
from engine.common.os_support import hostname
from engine.common.resources import home

LONG = 8
"""From how many letters on a name is searched in all bytes."""
_WORDS = """administrator localhost localdomain statistics statistician statistical researcher research analyst
scientist streamlit notebook workspace documents desktop downloads database development production container"""
_COMMON = frozenset(re.findall(r"\w+", _WORDS))
"""Names of accounts and folders that are also words of a report."""


@dataclass(frozen=True)
class Secret:
    """Something that must not be found: what it is in words, and the bytes that would show it.

    ``metadata`` limits the search to fields that describe a file; ``word`` wants the bytes to stand alone, not within
    a longer word.  ``inside`` says that the internal folder of an analyst's bundle may hold it.
    """

    what: str
    forms: tuple[bytes, ...]
    metadata: bool = False
    word: bool = False
    inside: bool = False

    def found_in(self, part: Part, *allowed: str) -> bool:
        """Whether a piece of a file holds it; a ``word`` may stand in the texts that are ``allowed``."""
        if self.metadata and not part.metadata:
            return False
        if not any(form in part.content for form in possible(self.forms, part.pairs)):
            return False
        if not self.word:
            return True
        content = part.content
        for text in filter(None, allowed):
            for form in forms_of_text(text):
                content = content.replace(form, b" ")
        alone = b"(?<![A-Za-z0-9])%b(?![A-Za-z0-9])"
        return any(re.search(alone % re.escape(form), content) for form in self.forms)


@dataclass(frozen=True)
class Search:
    """What is searched for, and what the field checks need to know."""

    secrets: tuple[Secret, ...]
    made: Package


def search_of(made: Package, out: Path) -> Search:
    """Everything secret about one export."""
    about = made.study.about
    found = [
        Secret("the study key", forms_of_bytes(made.key)),
        Secret("the key of the realisation", forms_of_bytes(made.made.derived), inside=True),
        Secret("the secret of the row order", forms_of_bytes(made.rows.secret), inside=True),
        Secret("a digest of the original", forms_of_bytes(made.raw.content_digest())),
        Secret("a fingerprint of the original", forms_of_bytes(bytes.fromhex(made.fingerprint)), inside=True),
        Secret("the study's fingerprint of the original", _forms_of_hex(str(about["fingerprint"]))),
        Secret("the check of the study key", _forms_of_hex(str(about["key_check"]))),
    ]
    exempt = _own_words(made)
    found += [secret for path in (made.study.path, out) for secret in _path(path)]
    found += here(exempt)
    found += _name("the name of the original file", made.raw.source, exempt)
    found += _name("the name of the study file", made.study.path.name, exempt)
    for what, name in (("data", Path(made.raw.source).stem), ("study", made.study.path.stem)):
        if not name.isalpha():  # a plain word, such as employment, is no name in a text about employment
            found += _name(f"the name of the {what} file", name, exempt)
    return Search(tuple(dict.fromkeys(found)), made)


def here(exempt: frozenset[str] = frozenset()) -> list[Secret]:
    """Paths and names of this machine and of who works on it; ``exempt`` are words that say nothing."""
    found = [secret for path in filter(None, (Path.cwd(), home())) for secret in _path(path)]
    for what, name in _names_here():
        found += _name(what, name, exempt)
    return list(dict.fromkeys(found))


def _names_here() -> Iterator[tuple[str, str]]:
    """Names of this machine and of who works on it."""
    with suppress(KeyError, OSError):  # no account may have this process's number
        yield "the user's name", getpass.getuser()
    for variable in ("USER", "LOGNAME", "USERNAME", "SUDO_USER"):
        if os.environ.get(variable):
            yield "the user's name", os.environ[variable]
    yield "the machine's name", hostname()


def scan(folder: Path, tier: str, search: Search) -> None:
    """Refuse a bundle (:class:`Refused`) in which anything secret is found, or a field that its reader must not see."""
    said = _said(search.made, tier)
    for name in members(folder):
        allowed_inside = tier == "analyst" and name.startswith("internal/")
        for part in parts_of(folder / name):
            for secret in search.secrets:
                if secret.inside and allowed_inside:
                    continue
                if secret.found_in(part, *said):
                    raise Refused(
                        f"the {tier} bundle was refused: '{part.where}' holds {secret.what}; nothing was written",
                        f"{tier}: {secret.what}",
                    )
    check_fields(folder, tier, search.made)


def _said(made: Package, tier: str) -> tuple[str, ...]:
    """What the cover of a board's papers says in words of its own: a survey is often named like the file it came in,
    and its contact may be who made the bundle.  The public is told no file's name, whatever the title is."""
    about, publish = made.study.plan.about, made.study.plan.publish
    named = () if tier == "public" else (about.survey, publish.title)
    return (*named, about.contact) if tier == "member" else named


def forms_of_bytes(secret: bytes) -> tuple[bytes, ...]:
    """Secret bytes as they are, in hexadecimal digits, in base64, and those texts in UTF-16."""
    texts = {secret.hex(), secret.hex().upper(), base64.b32encode(secret).decode().rstrip("=")}
    for start in range(3):  # base64 looks different at each of three places in a longer text
        padded = b"\0" * start + secret
        usable = len(padded) // 3 * 3
        skipped = 4 if start else 0
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            texts.add(encode(padded[:usable]).decode()[skipped:])
    forms = {secret, secret[::-1]}
    for text in texts:
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
    ways = {raw, text.encode("utf-16-le", "surrogatepass"), text.encode("utf-16-be", "surrogatepass")}
    plain = raw.decode("utf-8", "replace")
    escaped = {dumps(plain)[1:-1], escape(plain), quote(plain), quote(plain, safe=""), plain.replace("/", "\\/")}
    ways |= {way.encode() for way in escaped}
    if len(raw) >= LONG:
        ways |= {form for form in forms_of_bytes(raw) if form != raw[::-1]}
    return tuple(sorted(ways))


def _path(path: Path) -> list[Secret]:
    """A path, by the highest of the folders above it that is long enough to be told from other text: whatever shows the
    path shows that too."""
    found = []
    for one in sorted({path.absolute(), path.resolve()}):
        above = [str(p) for p in (*reversed(one.parents), one)]
        long = [text for text in above if len(text) >= LONG and text.count(os.sep) > 1]
        found += [Secret("a path of this machine", forms_of_text(text)) for text in long[:1]]
    return found


def _own_words(made: Package) -> frozenset[str]:
    """Words that the release itself holds: a name that is one of them says nothing."""
    from engine.common.raw_values import texts

    words: set[str] = set()
    for name in made.columns:
        column = made.raw.columns[name]
        words.add(name.casefold())
        words |= set(re.findall(r"\w+", column.about.label.casefold()))
        words |= {w for _, label in column.about.values for w in re.findall(r"\w+", label.casefold())}
        if len(column.values) <= 10_000:
            words |= {text.casefold() for text in texts(column.values)}
    words |= {attribute.name.casefold() for attribute in made.data.domain.attributes}
    return frozenset(words)


def _name(what: str, name: str, exempt: frozenset[str]) -> list[Secret]:
    """A name in all bytes when it is long, only in fields that describe a file when it is short or a common word."""
    name = name.strip()
    if len(name) < 3:
        return []
    common = name.casefold() in _COMMON or name.casefold() in exempt
    forms = forms_of_text(name) if len(name) >= LONG else (name.encode(), name.encode("utf-16-le"))
    if common and len(name) < LONG:
        return []
    return [Secret(what, forms, metadata=common or len(name) < LONG, word=True)]
