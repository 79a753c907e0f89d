"""What ``import fixedfleet as ff`` offers, and what it loads."""

from __future__ import annotations

import pydoc
import subprocess
import sys

import pytest

import fixedfleet as ff


def loaded_by(code: str) -> set[str]:
    """Return the modules that a fresh process has loaded after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_importing_the_package_loads_few_modules():
    """`import fixedfleet` is quick: little more than NumPy, no readers."""
    loaded = loaded_by("import fixedfleet") - loaded_by("import numpy, dataclasses")
    assert len(loaded) < 70
    slow = {"csv", "json", "socket", "multiprocessing", "subprocess", "logging"}
    assert loaded & slow == set()
    assert not [name for name in loaded if name.startswith("fixedfleet.files")]


def test_only_public_names_are_listed():
    """dir() shows what a user may call, and no module that happens to be loaded."""
    listed = dir(ff)
    assert {"read", "solve", "Plan", "generate", "model", "__version__"} <= {*listed}
    assert not {"annotations", "cores", "workers", "TYPE_CHECKING"} & {*listed}
    assert not [n for n in listed if n.startswith("_") and n != "__version__"]


@pytest.mark.parametrize("name", sorted({*ff._ROOMS} - {"model", "planning"}))
def test_sub_packages_load_when_they_are_used(name):
    """`ff.generate` works without an import of its own."""
    if name == "training":
        pytest.importorskip("torch")
    assert getattr(ff, name).__name__ == f"fixedfleet.{name}"


def test_every_listed_name_exists():
    """Whatever dir() lists can be used."""
    pytest.importorskip("torch")
    assert [name for name in dir(ff) if not hasattr(ff, name)] == []


def test_a_sub_package_without_its_extra_says_what_to_install(monkeypatch):
    """`ff.model` without torch names the extra, and help(ff) still works."""
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [name for name in sys.modules if name.startswith("fixedfleet.model")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(ff, "model", raising=False)
    with pytest.raises(AttributeError, match=r"fixedfleet\[network\]"):
        _ = ff.model


def test_a_typing_error_is_an_attribute_error():
    """A name that does not exist is reported as Python reports it."""
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        _ = ff.sovle


def test_the_version_is_that_of_the_installed_package():
    """`ff.__version__` is what `fixedfleet --version` prints."""
    from fixedfleet.version import own_version

    assert ff.__version__ == own_version()


def test_help_guides():
    """help(ff) begins with an example and names every public sub-package."""
    text = pydoc.plain(pydoc.TextDoc().docmodule(ff))
    assert "ff.solve(instance" in text
    assert [room for room in ff._ROOMS if f"ff.{room}" not in text] == []
