"""Office files without traces: no author, tool, time or thumbnail; equal content gives equal bytes."""

from __future__ import annotations

import io
import re
import zipfile

_DATE = (1980, 1, 1, 0, 0, 0)
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


def without_traces(content: bytes, title: str) -> bytes:
    """The file with its metadata replaced, parts in order and the dates of the zip fixed."""
    from html import escape

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in sorted(old.namelist(), key=lambda n: (n != "[Content_Types].xml", n)):
            if name.startswith(_DROPPED):
                continue
            part = old.read(name)
            if name == "docProps/app.xml":
                part = _APP
            elif name == "docProps/core.xml":
                part = _CORE.format(escape(title)).encode()
            elif name.endswith(".rels"):
                part = _without_dropped(part)
            elif name == "[Content_Types].xml":
                part = re.sub(rb'<Override PartName="/(?:customXml|docProps/custom)[^>]*/>', b"", part)
            info = zipfile.ZipInfo(name, _DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o600 << 16
            new.writestr(info, part)
    return out.getvalue()


def _without_dropped(part: bytes) -> bytes:
    """A list of relations without those to dropped parts."""
    return re.sub(
        rb'<Relationship\b[^>]*Target="[^"]*(?:thumbnail\.jpeg|custom\.xml|customXml/[^"]*|printerSettings[^"]*)"[^>]*/>',
        b"",
        part,
    )
