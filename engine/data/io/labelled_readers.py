"""Read SAS, Stata and SPSS files as dictionary-coded columns with their labels, in a process of their own.

Numbers that are all whole become integers; dates and date-times become such values, whatever the format's own way of
counting them; times of day stay seconds.  SPSS user-missing values stay values and are declared missing; a Stata or SAS
special missing becomes the text ``.a`` to ``.z``, declared missing, and its column text.  Files are read in chunks, so
memory is a small multiple of the coded table.

The library that knows these formats can crash, or never end, on a damaged file, and no check beforehand tells which:
the process that reads takes that upon itself.  It sends coded columns back, as Arrow data and JSON, which cannot run
anything here.  It ends itself after much processor time without a further chunk; an honest file goes on, however large
it is and however busy the machine.
"""

from __future__ import annotations

import errno
import faulthandler
import json
import os
import re
import signal
import struct
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError, NoRecords
from engine.common.raw_values import as_text, index_codes
from engine.data.io.arrow_columns import join_chunks
from engine.data.io.checks import check_names, refuse_cut
from engine.data.microdata import MEASURES, ColumnLabels, RawColumn, RawTable

if TYPE_CHECKING:
    import pyarrow as pa


_CELLS = 2_000_000  # values read at a time
_SPSS_DAYS = 141_428  # from 1582-10-14 to 1970-01-01
_DAYS_1960 = 3_653  # from 1960-01-01 to 1970-01-01
_SPSS_DATE = re.compile(r"(DATE|ADATE|EDATE|JDATE|SDATE)\d", re.IGNORECASE)
_SPSS_TIME = re.compile(r"(DATETIME|YMDHMS)\d", re.IGNORECASE)
_SAS_DATE = re.compile(r"(DATE|MMDDYY|DDMMYY|YYMMDD|E8601DA|B8601DA|WORDDATE|WEEKDATE|NLDATE|JULIAN)", re.IGNORECASE)
_SAS_TIME = re.compile(r"(DATETIME|E8601DT|B8601DT|DATEAMPM|NLDATM|MDYAMPM)", re.IGNORECASE)
_SAS_WIDTH = re.compile(r"\d*\.?\d*$")  # a format is named without its width, which may follow: SEXF8.
_ENCODINGS = ("utf-8", "windows-1252", "latin1")


def read_statistical(path: Path, beat: Callable[[], None] = lambda: None) -> RawTable:
    """The records of a .sav, .zsav, .por, .dta, .sas7bdat or .xpt file; ``beat`` is called after every chunk.

    The library may crash on a damaged file: :func:`read_apart` calls this in a process of its own.

    Value labels of a SAS file come from a catalogue beside it: one that is called like it, else formats.sas7bcat.
    A file that is corrupt, encrypted, in an unknown encoding, without records or with two columns of one name is an
    :class:`EngineError`; special missings that mix with whole and broken numbers are read as far as the library can.
    """
    import pyreadstat

    extension = path.suffix.lower()
    read = {
        ".sav": pyreadstat.read_sav,
        ".zsav": pyreadstat.read_sav,
        ".por": pyreadstat.read_por,
        ".dta": pyreadstat.read_dta,
        ".sas7bdat": pyreadstat.read_sas7bdat,
        ".xpt": pyreadstat.read_xport,
    }[extension]
    _refuse_encrypted(path)
    refuse_cut(path, extension)
    options: dict[str, Any] = {"output_format": "dict", "disable_datetime_conversion": True}
    if extension in (".sav", ".zsav", ".dta", ".sas7bdat"):
        options["user_missing"] = True
    meta, options = _describe(path, read, {**options, "metadataonly": True})
    del options["metadataonly"]
    names = list(meta.column_names)
    if None in names:
        raise unreadable(path)
    check_names(path.name, names)
    if not names:
        raise EngineError(f"file '{path.name}' has no columns")
    if extension == ".sas7bdat":
        _label_from_catalogue(path, meta)
    types = meta.readstat_variable_types or {}
    chunks: dict[str, list[tuple[pa.Array, np.ndarray]]] = {name: [] for name in names}
    n_records = 0
    for chunk in _chunks(path, read, options, len(names)):
        if list(chunk) != names:
            raise unreadable(path)
        beat()
        for name in names:
            chunks[name].append(_encoded(chunk.pop(name), types.get(name) == "string"))
        n_records += len(chunks[names[0]][-1][1])
    if meta.number_rows is not None and n_records != meta.number_rows >= 0:
        raise EngineError(
            f"file '{path.name}' is cut short: it says that it holds {meta.number_rows:,} records, and {n_records:,} "
            "are there; write or copy it again"
        )
    if n_records == 0:
        raise NoRecords(f"file '{path.name}' has columns but no records")
    columns = {}
    for name in names:
        about = _about(meta, name)
        columns[name] = _column(name, chunks.pop(name), about, _time_unit(about.format, extension))
    return RawTable(columns, n_records, path.name)


def unreadable(path: Path) -> EngineError:
    """The error for a file that the library cannot read; its own message may quote a value and is not shown."""
    return EngineError(
        f"file '{path.name}' is no readable {path.suffix.lower()} file (corrupt, cut short or of an unknown "
        "version); write or copy it again"
    )


def _refuse_encrypted(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(b"\x1c\x00\x00\x00\x00\x00\x00\x00") or b"ENCRYPTEDSAV" in head:
        raise EngineError(
            f"file '{path.name}' is encrypted with a password; open it in SPSS and save it without one, then delete "
            "that copy"
        )


def _describe(path: Path, read: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The file's description, and the options with the encoding that reads it."""
    others = () if path.suffix.lower() == ".por" else _ENCODINGS[1:]  # a portable file has an alphabet of its own
    for encoding in (None, *others):
        tried = {**options, "encoding": encoding} if encoding else options
        try:
            return _read(path, read, **tried)[1], tried
        except _Encoding:
            continue
    raise EngineError(f"file '{path.name}' holds text in an unknown encoding; save it as UTF-8 (Unicode)")


def _label_from_catalogue(path: Path, meta: Any) -> None:
    """Give a SAS file's columns the value labels of the formats that they name."""
    import pyreadstat

    beside = (path.with_suffix(".sas7bcat"), path.with_name("formats.sas7bcat"))
    catalogue = next((file for file in beside if file.is_file()), None)
    if catalogue is None:
        return
    sets = _describe(catalogue, pyreadstat.read_sas7bcat, {"output_format": "dict"})[0].value_labels
    by_name = {name.upper(): labels for name, labels in sets.items()}
    formats = meta.original_variable_types or {}
    named = {column: by_name.get(_SAS_WIDTH.sub("", form or "").upper()) for column, form in formats.items()}
    meta.variable_value_labels = {column: labels for column, labels in named.items() if labels}


class _Encoding(Exception):
    """The text of a file is in another encoding than it says."""


def _read(path: Path, read: Any, **options: Any) -> Any:
    from pyreadstat import PyreadstatError, ReadstatError

    try:
        return read(str(path), **options)
    except (UnicodeDecodeError, UnicodeError):
        raise _Encoding from None
    except (ReadstatError, PyreadstatError, ValueError, OverflowError, MemoryError) as error:
        message = str(error).casefold()
        if "convert" in message and ("charset" in message or "string" in message or "encoding" in message):
            raise _Encoding from None
        if isinstance(error, MemoryError):
            raise
        raise unreadable(path) from None


def _chunks(path: Path, read: Any, options: dict[str, Any], n_columns: int) -> Iterator[dict[str, Any]]:
    rows = max(1000, _CELLS // n_columns)
    start = 0
    while True:
        try:
            chunk = _read(path, read, row_offset=start, row_limit=rows, **options)[0]
        except _Encoding:
            if options.get("encoding") or path.suffix.lower() == ".por":
                raise EngineError(
                    f"file '{path.name}' holds text in an unknown encoding; save it as UTF-8 (Unicode)"
                ) from None
            # Only a value, not a label, was in another encoding: read on as the most common one.
            options = {**options, "encoding": _ENCODINGS[1]}
            continue
        n = len(next(iter(chunk.values())))
        if n:
            yield dict(chunk)
        if n < rows:
            return
        start += n


def _encoded(values: Sequence[Any], is_text: bool) -> tuple[pa.Array, np.ndarray]:
    """A chunk's distinct values and codes; NaN and None are null (-1), special missings of numbers text such as .a."""
    import pyarrow as pa

    if is_text:
        array = pa.array(values, pa.string())
    else:
        try:
            numbers = pa.array(values, pa.float64(), from_pandas=True).to_numpy(zero_copy_only=False)
            array = pa.array(numbers + 0.0, from_pandas=True)  # one nought, not two
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError):
            array = pa.array([_value_text(value) for value in values], pa.string())
    coded = array.dictionary_encode()
    return coded.dictionary, index_codes(coded.indices.fill_null(-1))


def _value_text(value: Any) -> str | None:
    """One value of a numeric column that holds special missings."""
    if isinstance(value, str):
        return f".{value.lower()}"
    if value is None or np.isnan(value):
        return None
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _column(
    name: str, chunks: list[tuple[pa.Array, np.ndarray]], about: ColumnLabels, time_unit: tuple[float, int] | None
) -> RawColumn:
    """One column from its chunks; ``time_unit`` says how a number counts time: seconds per unit and days up to 1970."""
    import pyarrow as pa

    if any(pa.types.is_string(values.type) for values, _ in chunks):
        chunks = [(as_text(values).cast(pa.string()), codes) for values, codes in chunks]
    joined = join_chunks(name, chunks)
    values = joined.values
    if pa.types.is_floating(values.type):
        values = (
            _in_time(values, time_unit)
            if time_unit and not about.missing and not about.values
            else _as_integers(values)
        )
    about = replace(about, missing=tuple(dict.fromkeys((*about.missing, *_tags(values)))))
    return RawColumn(name, values, joined.codes, about)


def _tags(values: pa.Array) -> list[str]:
    import pyarrow as pa

    if not pa.types.is_string(values.type):
        return []
    return [text for text in values.to_pylist() if re.fullmatch(r"\.[a-z_]", text)]


def _as_integers(values: pa.Array) -> pa.Array:
    """Integers where every number is whole and exactly held."""
    import pyarrow as pa

    numbers = values.to_numpy(zero_copy_only=False)
    if len(numbers) and (np.abs(numbers) < 2**53).all() and (np.mod(numbers, 1) == 0).all():
        return pa.array(numbers.astype(np.int64))
    return values


def _in_time(values: pa.Array, time_unit: tuple[float, int]) -> pa.Array:
    """Dates, or date-times to the millisecond; numbers as they are when one lies outside the years 1 to 9999."""
    import pyarrow as pa

    unit, epoch = time_unit
    seconds = values.to_numpy(zero_copy_only=False) * unit - epoch * 86_400.0
    if not len(seconds) or not (np.abs(seconds + 86_400.0 * 719_162 - 157_788_000_000) < 157_700_000_000).all():
        return _as_integers(values)
    if (np.mod(seconds, 86_400) == 0).all():
        return pa.array((seconds // 86_400).astype(np.int32), pa.int32()).cast(pa.date32())
    return pa.array(np.round(seconds * 1000).astype(np.int64), pa.int64()).cast(pa.timestamp("ms"))


def _time_unit(form: str, extension: str) -> tuple[float, int] | None:
    """Seconds per unit and days from the format's own beginning to 1970, of a date or date-time format."""
    if extension in (".sav", ".zsav", ".por"):
        return (1.0, _SPSS_DAYS) if _SPSS_DATE.match(form) or _SPSS_TIME.match(form) else None
    if extension == ".dta":
        day, moment = form.startswith(("%td", "%d", "%-td")), form.startswith(("%tc", "%-tc"))
    else:
        moment = _SAS_TIME.match(form) is not None
        day = not moment and _SAS_DATE.match(form) is not None
    return (86_400.0, _DAYS_1960) if day else (0.001 if extension == ".dta" else 1.0, _DAYS_1960) if moment else None


def _about(meta: Any, name: str) -> ColumnLabels:
    measure = (meta.variable_measure or {}).get(name) or ""
    missing, ranges = [], []
    for entry in (meta.missing_ranges or {}).get(name, ()):
        low, high = (entry["lo"], entry["hi"]) if isinstance(entry, dict) else (entry, entry)
        if isinstance(low, str) or low == high:
            missing.append(_key(low))
        else:
            ranges.append((float(low), float(high)))
    missing += [f".{tag.lower()}" for tag in (meta.missing_user_values or {}).get(name, ())]
    text = (meta.readstat_variable_types or {}).get(name) == "string"
    pairs: dict[str, str] = {}
    for value, label in (meta.variable_value_labels or {}).get(name, {}).items():
        pairs.setdefault(_key(value, text), label)
    return ColumnLabels(
        label=(meta.column_names_to_labels or {}).get(name) or "",
        values=tuple(pairs.items()),
        missing=tuple(dict.fromkeys(missing)),
        missing_ranges=tuple(ranges),
        format=(meta.original_variable_types or {}).get(name) or "",
        measure=measure if measure in MEASURES else "",
    )


def _key(value: Any, text: bool = True) -> str:
    """A labelled value as :func:`engine.common.raw_values.texts` reads it; a lone letter beside numbers is a special
    missing."""
    if isinstance(value, str):
        return value.rstrip() if text else f".{value.lower()}"
    return str(int(value)) if float(value).is_integer() else as_number_text(float(value))


def as_number_text(value: float) -> str:
    """A number as :func:`engine.common.raw_values.as_text` writes it."""
    import pyarrow as pa

    return str(as_text(pa.array([value]))[0].as_py())


_STILL = 15.0  # seconds of processor time that may pass without a further chunk of records ...
_SLOWEST = 1 << 20  # ... and as many more as reading the whole file takes at this many bytes a second
_WAITING = 40  # as many times longer may a process wait for a busy processor or disk
_LEAST_MEMORY = 4 << 30
_HEAD = struct.Struct("<cQ")  # of a message: its kind and its length
_BEAT, _TABLE, _COLUMN, _VALUES, _CODES, _REFUSED, _SYSTEM, _MEMORY, _FAULT = (bytes([c]) for c in b".tcvkrsm?")


def read_apart(path: Path) -> RawTable:
    """The records of a labelled file, as :func:`engine.data.io.labelled_readers.read_statistical` gives them.

    A file on which the library crashes or stands still is an :class:`EngineError` too.
    """
    with _started() as child:
        assert child.stdin is not None and child.stdout is not None
        try:
            with _unheard():  # it ended already, and what it said tells why
                child.stdin.write(json.dumps([str(path), path.stat().st_size]).encode())
                child.stdin.close()
            return _received(child.stdout, path)
        finally:
            child.kill()
            with suppress(OSError):
                child.stdin.close()


@contextmanager
def _unheard() -> Iterator[None]:
    """Pass over a broken pipe, which Windows may call an invalid argument: the reading process has ended."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EINVAL):
            raise


def _started() -> subprocess.Popen[bytes]:
    try:
        # What is read goes through the pipe: command lines can be seen by every user of the machine.
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "engine.data.io.labelled_readers"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError as error:
        raise EngineError(
            f"the process that reads SPSS, Stata and SAS files could not be started ({error.strerror}); let this "
            f"program start {Path(sys.executable or 'python').name}, or save the file as CSV"
        ) from None


def _messages(pipe: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    while len(head := pipe.read(_HEAD.size)) == _HEAD.size:
        kind, length = _HEAD.unpack(head)
        yield kind, pipe.read(length)


def _received(pipe: IO[bytes], path: Path) -> RawTable:
    import pyarrow as pa

    columns: dict[str, RawColumn] = {}
    about: dict[str, Any] = {}
    values = pa.array([], pa.string())
    for kind, content in _messages(pipe):
        if kind == _COLUMN:
            about = json.loads(content)
        elif kind == _VALUES:
            values = pa.ipc.open_stream(content).read_all().column(0)
            values = values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays(values.chunks)
        elif kind == _CODES:
            codes = np.frombuffer(content, about["codes"])
            columns[about["name"]] = RawColumn(about["name"], values, codes, _labels(about["about"]))
        elif kind == _TABLE:
            return RawTable(columns, int(json.loads(content)), path.name)
        else:
            _raise(kind, content, path)
    raise unreadable(path)  # the process crashed or ended itself


def _raise(kind: bytes, content: bytes, path: Path) -> None:
    if kind == _REFUSED:
        raise EngineError(json.loads(content))
    if kind == _SYSTEM:
        raise OSError(*json.loads(content))
    if kind == _MEMORY:
        raise EngineError(
            f"file '{path.name}' needs more memory than this machine has, or says so because it is corrupt; read it "
            "on a larger machine, or write or copy it again"
        )
    if kind == _FAULT:
        raise RuntimeError(json.loads(content))


def _labels(about: dict[str, Any]) -> ColumnLabels:
    pairs = {field: tuple(map(tuple, about[field])) for field in ("values", "missing_ranges")}
    return ColumnLabels(**{**about, **pairs, "missing": tuple(about["missing"])})


def main() -> None:
    """Read the file named on standard input, and send it to standard output."""
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the library may print
    name, size = json.loads(sys.stdin.buffer.read())
    still = _STILL + size / _SLOWEST
    nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (as long as the process)

    def send(kind: bytes, content: bytes | memoryview = b"") -> None:
        _end_after(still, nowhere)
        pipe.write(_HEAD.pack(kind, len(content)))
        pipe.write(content)
        pipe.flush()

    def say(kind: bytes, content: Any) -> None:
        send(kind, json.dumps(content).encode())

    _limit_memory()
    try:
        send(_BEAT)
        table = read_statistical(Path(name), lambda: send(_BEAT))
        for column in table.columns.values():
            codes = np.ascontiguousarray(column.codes)
            say(_COLUMN, {"name": column.name, "codes": codes.dtype.str, "about": asdict(column.about)})
            send(_VALUES, _stream(column.values))
            send(_CODES, codes.tobytes())
        say(_TABLE, table.n_records)
    except EngineError as error:
        say(_REFUSED, str(error))
    except MemoryError:
        send(_MEMORY)
    except BrokenPipeError:
        pass  # nobody waits for the answer any more
    except OSError as error:
        say(_SYSTEM, [error.errno, error.strerror])
    except Exception:
        say(_FAULT, traceback.format_exc())  # a fault of this program, which the other side raises


def _end_after(still: float, nowhere: IO[str]) -> None:
    """End this process after so much processor time, or ``_WAITING`` times as long by the clock.

    Both hold while the library keeps the interpreter: a signal's default action ends the process, and a thread of C.
    Windows has no timer of processor time.
    """
    if sys.platform != "win32":
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, still)
    faulthandler.dump_traceback_later(still * _WAITING, exit=True, file=nowhere)


def _stream(values: pa.Array) -> memoryview:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    batch = pa.record_batch([values], names=["values"])
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return memoryview(sink.getvalue())


def _limit_memory() -> None:
    """A damaged file may ask for any amount of memory; no more is given than the machine has, where that can be set:
    Windows has no such limit, and macOS refuses to set it."""
    if sys.platform == "linux":
        import resource

        all_there_is = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = max(all_there_is, _LEAST_MEMORY)
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


if __name__ == "__main__":
    main()
