"""What is known about a search before it is loaded."""

from __future__ import annotations

import sys

import pytest

import fixedfleet as ff
from fixedfleet.search import SEARCHES
from fixedfleet.search.traits import _TRAITS, search_traits


def test_every_search_has_traits():
    """No search by name is described by the defaults for searches of one's own."""
    assert set(_TRAITS) == set(SEARCHES._places)
    assert search_traits("mine.py:turn").reports
    assert not search_traits("mine.py:turn").counts


def test_a_missing_package_is_named(monkeypatch):
    """What to install is said without loading the search."""
    search_traits("hgs").check("this")
    monkeypatch.setitem(sys.modules, "hybgensea", None)
    with pytest.raises(ff.MissingPackageError, match=r"this needs .* pip install hyb"):
        search_traits("auto").check("this")
