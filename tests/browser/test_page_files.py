"""The files of the page: nothing from other servers, nothing inline."""

from __future__ import annotations

import re
from importlib import resources

PAGE = resources.files("fixedfleet") / "serve" / "page"
FILES = {path.name: path.read_text(encoding="utf-8") for path in PAGE.iterdir()}
SCRIPTS = {name: text for name, text in FILES.items() if name.endswith(".js")}
SVG_NAMESPACE = "http://www.w3.org/2000/svg"


def test_nothing_is_fetched_from_elsewhere():
    """No file of the page names an address on another server."""
    for name, text in FILES.items():
        addresses = r"(?:https?:)?//[\w.-]+\.\w+"
        assert re.findall(addresses, text.replace(SVG_NAMESPACE, "")) == [], name


def test_no_script_makes_markup_of_text():
    """No script uses a function that turns text into markup or code."""
    ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function"
    for name, text in SCRIPTS.items():
        assert re.findall(ways, text) == [], name


def test_the_page_has_no_inline_script_or_style():
    """The start page has no inline script or style."""
    text = FILES["index.html"]
    assert re.findall(r"\sstyle=|\son\w+=|<style|javascript:", text) == []
    assert re.findall(r"<script(?![^>]*\ssrc=)", text) == []


def test_every_import_is_a_file_of_the_page():
    """Modules import only files that exist."""
    for name, text in SCRIPTS.items():
        assert set(re.findall(r'from "\./([^"]+)"', text)) <= FILES.keys(), name


def test_every_id_exists():
    """Every id that a script looks up exists in the start page."""
    there = set(re.findall(r'\sid="([^"]+)"', FILES["index.html"]))
    scripts = "".join(SCRIPTS.values())
    asked = set(re.findall(r'byId\("([^"]+)"\)', scripts))
    assert asked
    assert asked <= there
