"""What is known about a search before it is loaded."""

from __future__ import annotations

from fixedfleet.search import SEARCHES
from fixedfleet.search.traits import _TRAITS, search_traits


def test_every_search_has_traits():
    """No search by name is described by the defaults for searches of one's own."""
    assert set(_TRAITS) == set(SEARCHES._places)
    assert search_traits("mine.py:turn").reports
    assert not search_traits("mine.py:turn").counts
