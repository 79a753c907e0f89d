"""The site is built without a warning, and the notebooks in it run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import fixedfleet as ff
from fixedfleet.cli import build_parser

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """One kernel for all notebooks: loading torch and all that trains takes seconds."""
    for package in ("nbclient", "ipykernel", "matplotlib", "torch", "safetensors"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    from jupyter_client.manager import KernelManager

    manager, folder = KernelManager(), tmp_path_factory.mktemp("ipython")
    manager.start_kernel(env=os.environ | {"IPYTHONDIR": str(folder)})
    yield manager
    manager.shutdown_kernel(now=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, kernel, tmp_path):
    """Every cell of a notebook runs in docs/, with no name of another notebook."""
    import nbclient
    import nbformat

    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "docs").mkdir()
    notebook = nbformat.read(path, as_version=4)
    fresh = f"%reset_selective -f ^[^_]\n%cd -q {tmp_path / 'docs'}"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(fresh))
    nbclient.NotebookClient(notebook, km=kernel, timeout=600).execute()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built as ``make docs`` builds it."""
    pytest.importorskip("mkdocstrings")
    pytest.importorskip("material")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", out]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_the_site_has_every_name_and_command(site):
    """The site is built without a warning, with all public names and commands."""
    names = (site / "api.html").read_text(encoding="utf-8")
    for name in ff.__all__:
        assert re.search(rf'id="fixedfleet\.({name}\.)?{name}"', names), name
    (commands,) = (
        action.choices
        for action in build_parser()._actions
        if isinstance(action.choices, dict)
    )
    text = (site / "cli.html").read_text(encoding="utf-8")
    for name, parser in commands.items():
        assert f'id="{name}"' in text
        for action in parser._actions:
            for option in action.option_strings:
                assert option in text, f"{name} {option}"


@pytest.mark.slow
def test_the_site_needs_no_other_host(site):
    """No page loads a script, a style, a font or a picture from elsewhere."""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]* src=\"(https?:[^\"]*)", text)
        loaded += re.findall(r"<link[^>]*stylesheet[^>]* href=\"(https?:[^\"]*)", text)
        assert loaded == [], path
