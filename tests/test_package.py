"""What is published: wheel and sdist, and the files around them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def run(*command: object, cwd: Path = ROOT) -> str:
    """Run a command outside of this checkout's sources; return what it prints."""
    env = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist, built without a network."""
    pytest.importorskip("build")
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


@pytest.mark.slow
def test_wheel_and_sdist_hold_what_they_need(built):
    """
    Both hold the package, the sdist also the tests and the paper's networks.

    torch is an extra.
    """
    wheel, sdist = built
    package = ROOT / "src" / "fixedfleet"
    ours = {
        path.relative_to(ROOT / "src").as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
        about = message_from_bytes(
            next(archive.read(name) for name in held if name.endswith("/METADATA"))
        )
    large = {name for name in ours if name.startswith("fixedfleet/model/shipped/paper")}
    assert len(large) == 6
    assert {name for name in held if name.startswith("fixedfleet/")} == ours - large
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in ours} <= names
    assert {"Makefile", "mkdocs.yml", "tests/conftest.py", "docs/README.md"} <= names
    needed = [r for r in about.get_all("Requires-Dist") if "extra ==" not in r]
    base = {re.match(r"[\w-]+", text)[0] for text in needed}
    assert {"numpy", "numba"} <= base
    assert not base & {"torch", "safetensors", "matplotlib", "ray", "fastapi"}


@pytest.mark.slow
def test_the_wheel_plans_in_a_fresh_environment(built, tmp_path):
    """In an environment of its own, the installed command plans an example."""
    wheel, _sdist = built
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    install = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    run(*install, "--no-deps", "--no-index", wheel)
    # The dependencies are those of this environment, so that nothing is downloaded.
    (folder,) = (tmp_path / "env").glob("lib/python*/site-packages")
    places = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (folder / "dependencies.pth").write_text("\n".join(places))
    code = "import fixedfleet; print(fixedfleet.__file__)"
    assert Path(run(python, "-c", code, cwd=tmp_path)).is_relative_to(folder)
    example = folder / "fixedfleet" / "serve" / "examples" / "leipzig_parcels.csv"
    options = ("--search", "hgs", "--time-limit", "0.2", "--output", "plan.csv")
    command = python.with_name("fixedfleet")
    said = run(command, "solve", example, *options, cwd=tmp_path)
    assert "7 of 7 vehicles" in said
    assert (tmp_path / "plan.csv").exists()


def test_the_workflow_tests_every_supported_python():
    """The versions of the workflow are those that the package says it supports."""
    text = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    (matrix,) = re.findall(r"python: \[(.*)\]", text)
    stated = "Programming Language :: Python :: 3."
    supported = [c for c in PROJECT["classifiers"] if c.startswith(stated)]
    assert re.findall(r"3\.\d+", matrix) == [c.split()[-1] for c in supported]
    assert {"make test", "make docs", "make dist"} <= set(
        re.findall(r"run: (.*)", text)
    )


def test_the_citation_names_this_version():
    """CITATION.cff has the version of the package."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PROJECT['version']}\n" in text
