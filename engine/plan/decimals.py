"""Decimal numbers as people write them in plans."""

from __future__ import annotations

import re
from decimal import Decimal

from engine.common.errors import UsageError

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", re.ASCII)


def decimal_text(value: object, what: str) -> str:
    """A decimal number as its shortest plain text: ``"0.10"`` and ``1e-1`` are both ``"0.1"``.

    ``what`` names the quantity in the error for anything that is no decimal number.
    """
    text = str(value).strip()
    if isinstance(value, bool) or not _DECIMAL.fullmatch(text):
        raise UsageError(f"{what} is {text!r}, must be a decimal number; write it as for example 0.01")
    number = Decimal(text)
    written = format(number, "f")
    if "." in written:
        written = written.rstrip("0").rstrip(".")
    return "0" if number == 0 else written.lstrip("+")
