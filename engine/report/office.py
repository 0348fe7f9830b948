"""Office files without author, tool, time or thumbnail; equal content gives equal bytes."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from html import escape
from typing import Any

_APP = (
    b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    b'<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/extended-properties"/>'
)
_CORE = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{}</dc:title><dc:language>en</dc:language>'
    "</cp:coreProperties>"
)
_DROPPED = ("docProps/thumbnail.jpeg", "docProps/custom.xml", "customXml/", "ppt/printerSettings/")
_TO_DROPPED = re.compile(
    rb'<Relationship\b[^>]*Target="[^"]*(?:thumbnail\.jpeg|custom\.xml|customXml/[^"]*|printerSettings[^"]*)"[^>]*/>'
)


class Parts(dict[str, bytes]):
    """The parts of an office file by name, as the libraries that make one write them.

    Left to themselves they write a zip dated by the clock, and a zip knows no year before 1980.
    """

    def write(self, uri: Any, blob: bytes) -> None:
        """Take a part; ``uri`` is the library's name of it."""
        self[uri.membername] = blob


def parts_of_docx(document: Any) -> Parts:
    """The parts of a document of python-docx."""
    from docx.opc.pkgwriter import PackageWriter

    package = document.part.package
    for part in package.parts:
        part.before_marshal()
    return _written(PackageWriter, [package.rels], [package.parts])


def parts_of_pptx(presentation: Any) -> Parts:
    """The parts of a presentation of python-pptx."""
    from pptx.opc.serialized import PackageWriter

    package = presentation.part.package
    return _written(PackageWriter("", package._rels, tuple(package.iter_parts())))


def _written(writer: Any, rels: Sequence[Any] = (), parts: Sequence[Any] = ()) -> Parts:
    made = Parts()
    writer._write_content_types_stream(made, *parts)
    writer._write_pkg_rels(made, *rels)
    writer._write_parts(made, *parts)
    return made


def parts_of_zip(content: bytes) -> Parts:
    """The parts of an office file that is packed already."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        return Parts({name: packed.read(name) for name in packed.namelist()})


def without_traces(parts: Parts, title: str) -> bytes:
    """The file of these parts with its metadata replaced, parts in order and the dates of the zip fixed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(parts, key=lambda n: (n != "[Content_Types].xml", n)):
            if name.startswith(_DROPPED):
                continue
            part = parts[name]
            if name == "docProps/app.xml":
                part = _APP
            elif name == "docProps/core.xml":
                part = _CORE.format(escape(title)).encode()
            elif name.endswith(".rels"):
                part = _TO_DROPPED.sub(b"", part)
            elif name == "[Content_Types].xml":
                part = re.sub(rb'<Override PartName="/(?:customXml|docProps/custom)[^>]*/>', b"", part)
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o600 << 16
            packed.writestr(info, part)
    return out.getvalue()
