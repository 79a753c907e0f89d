"""Fixtures of the labels' tests."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def teachers():
    """The module of test teachers, importable by worker processes as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield importlib.import_module("slow_teacher")
