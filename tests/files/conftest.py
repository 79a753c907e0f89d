"""Fixtures shared by the tests of the text formats."""

from __future__ import annotations

import pytest

from fixedfleet.errors import InputError


@pytest.fixture
def wrong(load):
    """Return what is said about a text that is wrong, without the file's name.

    ``load`` is the fixture of the test's own file; it writes the text and reads it.
    """

    def wrong(text, **options):
        with pytest.raises(InputError) as caught:
            load(text, **options)
        place, _, said = str(caught.value).partition(": ")
        assert place.rpartition("/")[2].startswith("toy.")
        assert len(said.splitlines()) == 1
        return said

    return wrong
