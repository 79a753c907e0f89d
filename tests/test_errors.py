"""Tests of the errors and the checks that raise them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from fixedfleet.errors import InputError, MissingPackageError, check_whole, require


@pytest.mark.parametrize("number", [3, 3.0, np.int32(3), np.float64(3)])
def test_a_whole_number_of_any_type(number):
    """A whole number is one, whatever its type, and comes back as an int."""
    whole = check_whole("count", number, least=3)
    assert type(whole) is int
    assert whole == 3


@pytest.mark.parametrize("number", [2, 3.5, True, "3", None, np.nan, np.inf, [3]])
def test_what_is_no_whole_number(number):
    """Anything else is refused in one line that says what would be right."""
    with pytest.raises(InputError, match=r"count is .*, not a whole number of at leas"):
        check_whole("count", number, least=1 if number != 2 else 3)


def test_a_missing_package_is_named_with_its_extra():
    """The error says what needs the package and how to install it."""
    with pytest.raises(MissingPackageError, match=r"x needs .*'no_such'.*\[extra\]"):
        require("no_such.module", "extra", "x")


def test_a_package_that_is_broken_is_not_called_missing(tmp_path, monkeypatch):
    """What an installed package lacks itself is said as it is."""
    (tmp_path / "broken_here.py").write_text("import broken")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken_here", raising=False)
    with pytest.raises(ModuleNotFoundError, match="'broken'") as caught:
        require("broken_here", "extra", "x")
    assert not isinstance(caught.value, MissingPackageError)
