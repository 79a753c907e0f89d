"""A GPU that does nothing."""

from __future__ import annotations

import pytest

from fixedfleet.search import gpu_kernel


@pytest.fixture
def no_kernel(monkeypatch):
    """A GPU whose kernel returns the starts; the groups and limits it was given."""
    launched = []

    def launch(group, limits, chains):
        launched.append((group, limits))
        return lambda: group.starts

    monkeypatch.setattr(gpu_kernel, "launch", launch)
    monkeypatch.setattr(gpu_kernel, "load_cupy", lambda: None)
    monkeypatch.setattr(gpu_kernel, "load_kernels", lambda groups: None)
    monkeypatch.setattr(gpu_kernel, "chains_to_fill", lambda groups: 1)
    return launched
