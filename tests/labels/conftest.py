"""Fixtures of the labels' tests."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from fixedfleet.labels import label


@pytest.fixture(scope="session")
def methods():
    """The module of test methods, importable by worker processes as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield importlib.import_module("slow_method")


@pytest.fixture(scope="session")
def finished(methods, tmp_path_factory):
    """A finished folder of labels in three shards, which no test may change."""
    path = tmp_path_factory.mktemp("finished")
    method = methods.NearestFirst()
    label(methods.make_batch(), path, method=method, shard_size=4, processes=1)
    return path
