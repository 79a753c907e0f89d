"""Fixtures of the evaluation's tests."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from fixedfleet.evaluate import get_set


@pytest.fixture(scope="module")
def fakes():
    """The module of test methods, importable by worker processes as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield importlib.import_module("fake_methods")


@pytest.fixture(scope="module")
def two():
    """Two instances of 20 customers that no test set has."""
    return get_set("uniform20:99", 2).instances
