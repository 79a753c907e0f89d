"""Fixtures of the evaluation's tests."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest


@pytest.fixture
def fakes(monkeypatch):
    """The module of test methods, importable by worker processes as well."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("fake_methods")
