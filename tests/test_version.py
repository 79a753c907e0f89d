"""The versions that reports and rows state."""

from __future__ import annotations

import platform
from importlib import metadata

import fixedfleet as ff
from fixedfleet import version


def test_versions_of_what_is_installed_are_shown(capsys, monkeypatch):
    """Python, this package and the others are named, but none that is missing."""
    monkeypatch.setattr(version, "_PACKAGES", ("numpy", "no-such-package"))
    ff.show_versions()
    system, *lines = capsys.readouterr().out.splitlines()
    assert system == f"system: {platform.platform()}"
    assert lines == [
        f"python: {platform.python_version()}",
        f"numpy: {metadata.version('numpy')}",
    ]


def test_the_versions_of_all_solvers_are_recorded():
    """What a default plan depends on is among them."""
    assert {
        "python",
        "numpy",
        "numba",
        "hybgensea",
    } <= version.installed_versions().keys()
