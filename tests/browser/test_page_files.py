"""The files of the page: nothing from other servers, nothing inline."""

from __future__ import annotations

import re
from importlib import resources

import pytest

PAGE = resources.files("fixedfleet") / "serve" / "page"
NAMES = sorted(path.name for path in PAGE.iterdir())
SVG_NAMESPACE = "http://www.w3.org/2000/svg"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_fetched_from_elsewhere(name):
    """No file of the page names an address on another server."""
    text = (PAGE / name).read_text(encoding="utf-8").replace(SVG_NAMESPACE, "")
    assert re.findall(r"(?:https?:)?//[\w.-]+\.\w+", text) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".js")])
def test_no_script_makes_markup_of_text(name):
    """No script uses a function that turns text into markup or code."""
    text = (PAGE / name).read_text(encoding="utf-8")
    ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function"
    assert re.findall(ways, text) == []


def test_the_page_has_no_inline_script_or_style():
    """The start page has no inline script or style."""
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"\sstyle=|\son\w+=|<style|javascript:", text) == []
    assert re.findall(r"<script(?![^>]*\ssrc=)", text) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".js")])
def test_every_import_is_a_file_of_the_page(name):
    """Modules import only files that exist."""
    text = (PAGE / name).read_text(encoding="utf-8")
    assert set(re.findall(r'from "\./([^"]+)"', text)) <= set(NAMES)


def test_every_id_exists():
    """Every id that a script looks up exists in the start page."""
    there = set(re.findall(r'\sid="([^"]+)"', (PAGE / "index.html").read_text("utf-8")))
    scripts = [(PAGE / name).read_text("utf-8") for name in NAMES if ".js" in name]
    asked = {id for text in scripts for id in re.findall(r'byId\("([^"]+)"\)', text)}
    assert asked
    assert asked <= there
