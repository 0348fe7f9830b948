"""A sweep of people, shared by the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import engine as sf
from tests.engine.scripting.people import KEY, SPACE, people


@pytest.fixture(scope="module")
def swaps() -> Iterator[sf.Sweep]:
    """A sweep of three attributes."""
    with sf.sweep(people(), ["age", "sex", "race"], key=KEY, **SPACE) as made:
        yield made
