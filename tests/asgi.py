"""Run what is asynchronous from a test, also where a browser of the same process has a loop of its own running."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run it to its end, in a thread without a loop."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(asyncio.run, work).result()
