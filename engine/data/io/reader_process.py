"""Read SPSS, Stata and SAS files in a process of their own.

The library that knows these formats can crash, or never end, on a damaged file, and no check beforehand tells which:
the process that reads takes that upon itself.  It sends coded columns back, as Arrow data and JSON, which cannot run
anything here.  It ends itself where nothing happens for too long; an honest file, however large, goes on.
"""

from __future__ import annotations

import errno
import faulthandler
import json
import os
import struct
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from engine.common.errors import EngineError
from engine.data.io import statistical
from engine.data.io.statistical import unreadable
from engine.data.labels import ColumnLabels
from engine.data.microdata import RawColumn, RawTable

if TYPE_CHECKING:
    import pyarrow as pa

_STILL = 15.0  # seconds that may pass without a further chunk of records ...
_SLOWEST = 1 << 20  # ... and as many more as reading the whole file takes at this many bytes a second
_LEAST_MEMORY = 4 << 30
_HEAD = struct.Struct("<cQ")  # of a message: its kind and its length
_BEAT, _TABLE, _COLUMN, _VALUES, _CODES, _REFUSED, _SYSTEM, _MEMORY, _FAULT = (bytes([c]) for c in b".tcvkrsm?")


def read_apart(path: Path) -> RawTable:
    """The records of a labelled file, as :func:`engine.data.io.statistical.read_statistical` gives them.

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
            [sys.executable, "-P", "-m", "engine.data.io.reader_process"],
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
        faulthandler.dump_traceback_later(still, exit=True, file=nowhere)
        pipe.write(_HEAD.pack(kind, len(content)))
        pipe.write(content)
        pipe.flush()

    def say(kind: bytes, content: Any) -> None:
        send(kind, json.dumps(content).encode())

    _limit_memory()
    try:
        send(_BEAT)
        table = statistical.read_statistical(Path(name), lambda: send(_BEAT))
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
