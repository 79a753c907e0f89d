"""The site is built without a warning, and the notebooks in it run."""

from __future__ import annotations

import contextlib
import json
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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_of_notebooks_come_from_an_idle_machine(path):
    """No method that a notebook shows had less than a core to itself."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = str([cell.get("outputs") for cell in cells])
    assert "of processor time per instance" not in outputs  # the clocks differ


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built as by ``make docs``, without torch or Ray."""
    pytest.importorskip("mkdocstrings")
    pytest.importorskip("material")
    out = tmp_path_factory.mktemp("site")
    build = (
        "import sys; from mkdocs.__main__ import cli; "
        "sys.modules.update(dict.fromkeys(['torch', 'ray', 'playwright'])); "
        "cli(['build', '--strict', '--site-dir', sys.argv[1]])"
    )
    command = [sys.executable, "-c", build, out]
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
def test_names_in_docstrings_lead_to_their_descriptions(site):
    """``:func:`fixedfleet.files.read``` is a link, and no role of Sphinx is left."""
    pages = [path.read_text(encoding="utf-8") for path in site.glob("api*.html")]
    links = re.findall(r'autorefs[^>]*href="([^"#]*#fixedfleet[^"]*)"', "".join(pages))
    assert len(links) >= 50
    assert "#fixedfleet.files.read" in links
    assert not any(":func:<code>" in page or "<autoref" in page for page in pages)


@pytest.mark.slow
def test_the_site_needs_no_other_host(site):
    """No page loads a script, a style, a font or a picture from elsewhere."""
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)[^>]* src=\"(https?:[^\"]*)", text)
        loaded += re.findall(r"<link[^>]*stylesheet[^>]* href=\"(https?:[^\"]*)", text)
        assert loaded == [], path


@pytest.mark.slow
def test_each_name_of_an_entry_has_its_own_type(site):
    """Names that a docstring describes together keep their types and defaults."""
    page = (site / "api_parts.html").read_text(encoding="utf-8")
    _, _, after = page.partition('id="fixedfleet.generate.uchoa_batch"')
    function = re.split(r'<h\d id="fixedfleet', after)[0]
    rows = {
        name[1]: re.sub("<[^>]+>", "", row)
        for row in re.findall(r"<tr.*?</tr>", function, re.DOTALL)
        if (name := re.search(r"<code>(\w+)</code>", row))
    }
    assert "DepotPosition" in rows["depot"]
    assert "float" in rows["route_size"]
    assert "DepotPosition" not in rows["route_size"]


@pytest.mark.slow
def test_the_site_is_searched_when_it_is_opened_from_the_disk(site):
    """The index is a script, and a page that no server sends finds a word in it."""
    playwright = pytest.importorskip("playwright.sync_api")
    programs = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    program = next(filter(None, programs), None)
    if program is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        found = page.locator(".md-search-result__item a").first
        # If something is typed while the page still loads its search, the search may
        # never answer, until the page is opened again.
        for _ in range(10):
            page.goto((site / "index.html").as_uri())
            page.wait_for_timeout(500)
            page.locator("input[name=query]").fill("resume a training")
            with contextlib.suppress(playwright.TimeoutError):
                found.wait_for(state="attached", timeout=5000)
                break
        assert found.get_attribute("href").startswith("file://")
        browser.close()


def test_the_site_is_built_without_the_packages_of_the_tests():
    """``make docs`` installs neither Ray nor a browser."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    command = ["make", "--dry-run", "docs", "VENV=build/no-such-folder"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "mkdocs build --strict" in done.stdout
    assert not re.search(r"\b(cluster|browser|network|ray)\b", done.stdout)
