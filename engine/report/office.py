"""Office files without author, tool, time or thumbnail; equal content gives equal bytes."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from html import escape
from typing import Any

from engine.common.errors import EngineError

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


def without_traces(save: Callable[[io.BytesIO], Any], title: str) -> bytes:
    """The file that ``save`` writes, with its metadata replaced, parts in order and the dates of the zip fixed."""
    made = io.BytesIO()
    try:
        save(made)
    except ValueError as error:  # a zip knows no year before 1980
        raise EngineError(f"the file cannot be written: {error}; set the clock of this machine") from error
    with zipfile.ZipFile(made) as written:
        parts = {name: written.read(name) for name in written.namelist()}
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
