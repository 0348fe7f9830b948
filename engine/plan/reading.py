"""Read a plan's file as TOML within bounds of size and depth."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from engine.common.errors import EngineError, Remedy, UsageError
from engine.common.untrusted import MOST_BYTES, kind_of, read_plain

_MOST_DEPTH = 16
_LARGEST = 2**63
# Repeats are possessive (*+): whatever the text, it is looked at once.
_BASIC = r'"(?:[^"\\\n]++|\\.)*+"'
_TOKEN = re.compile(
    rf"""(?P<parts>(?<![\w-])(?:(?:[\w-]++|{_BASIC}|'[^'\n]*+')[ \t]*+\.[ \t]*+){{16,}})"""
    r"""|(?P<number>(?<![\w-])[+-]?[0-9][0-9A-Fa-fxob_]{100,})"""
    # a text without an end goes as far as it can: the parser says what is wrong
    r"""|"{3}(?:[^"\\]++|\\.|"(?!""))*+(?:"{3})?|'{3}(?:[^']++|'(?!''))*+(?:'{3})?"""
    rf"""|{_BASIC}?|'[^'\n]*+'?|\#[^\n]*+|(?P<open>[\[{{])|(?P<close>[\]}}])""",
    re.DOTALL,
)


def plan_text(path: Path) -> str:
    """The text of a plan's file; what is no file of UTF-8 text, or a very large one, is refused by its name."""
    try:
        if kind := kind_of(path, follow=True):
            raise UsageError(f"plan '{path.name}' is {kind}; give the file of a plan")
        size = path.stat().st_size  # a plan of 10^5 attributes takes a tenth of the most
        if size > MOST_BYTES:
            raise UsageError(
                f"plan '{path.name}' has {size:,} bytes, and a plan has at most {MOST_BYTES:,}; is it the data?"
            )
        return read_plain(path, follow=True).decode("utf-8")
    except FileNotFoundError:
        raise UsageError(f"plan '{path.name}' does not exist; write a first one", Remedy.FIRST_PLAN) from None
    except UnicodeDecodeError:
        raise UsageError(f"plan '{path.name}' is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 0)
        raise EngineError(f"plan '{path.name[:100]}' could not be read: {reason}") from None


def toml_entries(text: str) -> dict[str, Any]:
    """The entries of TOML text; a mistake in it is a :class:`UsageError`, and so is what no plan needs: entries nested
    deeper than 16, or numbers that 64 bits do not hold."""
    text = text.removeprefix("\ufeff")
    _check_bounds(text)
    try:
        entries = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"not valid TOML: {error}") from None
    except ValueError as error:  # a date or an hour that does not exist
        raise UsageError(f"not valid TOML: {error}") from None
    _check_numbers(entries)
    return entries


def _check_bounds(text: str) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "open":
            depth += 1
        elif token.lastgroup == "close":
            depth -= 1
        elif token.lastgroup is not None:
            line = 1 + text.count("\n", 0, token.start())
            what = "a number of very many digits" if token.lastgroup == "number" else "a name of very many parts"
            raise UsageError(f"line {line} holds {what}; no plan needs one")
        if depth > _MOST_DEPTH:
            line = 1 + text.count("\n", 0, token.start())
            raise UsageError(f"line {line} nests lists or tables deeper than {_MOST_DEPTH}; no plan needs that")


def _check_numbers(value: object, where: str = "") -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _check_numbers(item, key)
    elif isinstance(value, list):
        for item in value:
            _check_numbers(item, where)
    elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise UsageError(f"{where} holds a whole number of more than 64 bits; no plan needs one")
