"""Settings of a network."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet.model import ModelConfig


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0}, "width is 0"),
        ({"shared": "yes"}, "not true or false"),
        ({"normalisation": "columns"}, "choose from vehicle, row, softassign"),
    ],
)
def test_wrong_settings_are_errors(change, message):
    """A setting that makes no sense is refused by name."""
    with pytest.raises(ff.InputError, match=message):
        ModelConfig(**change)
