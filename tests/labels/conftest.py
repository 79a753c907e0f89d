"""Fixtures of the labels' tests."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest


@pytest.fixture
def teachers(monkeypatch):
    """The module of test teachers, importable by worker processes as well."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return importlib.import_module("slow_teacher")
