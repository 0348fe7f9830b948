"""A package lists in ``__all__`` what it is for others: names that it offers itself, or modules that others import."""

from __future__ import annotations

import pytest

from tests.public_modules import imported, listed, offers_names, packages


@pytest.mark.parametrize("package", packages())
def test_a_package_lists_what_it_is_for_others(package: str) -> None:
    names = listed(package)
    assert names is not None, f"{package}/__init__.py lists no __all__"
    if not offers_names(package):
        assert {*names} == imported().get(package, set())
