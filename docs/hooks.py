"""
What MkDocs does beyond its plugins when it builds the site.

The pages link to files outside docs/, such as results/. The site takes these files in,
with the files that they link to. Notebooks become pages. The list of public names and
the description of the commands are made from the code.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import re
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

import fixedfleet as ff
from fixedfleet.cli import build_parser

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
COMMANDS = "<!-- commands -->"  # in docs/cli.md, replaced by their description
NAMES = "<!-- names -->"  # in docs/api.md, replaced by the public names
_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
# A role of Sphinx in a docstring, such as :class:`Plan`, after it has become HTML.
_ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):<code>~?([\w.]+)</code>")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files outside docs/ that pages link to, and notebooks as pages."""
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            uri = _uri_of(file.src_uri)
            files.remove(file)
            files.append(File.generated(config, uri, content=_source_of(uri)))
    left = [file.src_uri for file in files.documentation_pages()]
    known = {file.src_uri for file in files}
    while left:
        for target in _targets(left.pop()):
            if (uri := _uri_of(target)) not in known:
                known.add(uri)
                source = str(ROOT / target)
                files.append(File.generated(config, uri, abs_src_path=source))
                left.append(uri)
    return files


def on_page_markdown(markdown: str, page: Page, **_others: object) -> str:
    """Let links lead to files of the site, and fill in what is made from the code."""
    uri = page.file.src_uri

    def relink(link: re.Match[str]) -> str:
        target = _target(uri, link[2])
        if target is None:
            return link[0]
        path = posixpath.relpath(_uri_of(target), posixpath.dirname(uri) or ".")
        return f"{link[1]}{path}{link[3] or ''}{link[4]}"

    for mark, describe in ((COMMANDS, describe_commands), (NAMES, list_names)):
        if mark in markdown:
            markdown = markdown.replace(mark, describe())
    return _LINK.sub(relink, markdown)


def on_page_content(html: str, **_others: object) -> str:
    """Make links of the roles of Sphinx in docstrings, where the site has the name."""

    def link(role: re.Match[str]) -> str:
        name = role[1]
        if name in ff.__all__:
            name = f"fixedfleet.{name}"
        shown = f"<code>{role[1].rpartition('.')[2]}</code>"
        if not name.startswith("fixedfleet."):
            return shown
        # mkdocs-autorefs makes a link of it if a page describes this name.
        return f'<autoref optional identifier="{name}">{shown}</autoref>'

    return _ROLE.sub(link, html)


def _uri_of(path: str) -> str:
    """Return the path in the site of a file of the repository."""
    return re.sub(r"\.ipynb$", ".md", path.removeprefix("docs/"))


def _path_of(uri: str) -> Path:
    """Return the file of the repository that a file of the site is made from."""
    inside = ROOT / "docs" / uri
    notebook = inside.with_suffix(".ipynb")
    return next((p for p in (inside, notebook) if p.exists()), ROOT / uri)


def _target(uri: str, link: str) -> str | None:
    """Return the path of the file of the repository that a page links to, if any."""
    path = (_path_of(uri).parent / link).resolve()
    if path.is_dir():
        path /= "README.md"
    if "://" in link or not path.is_file() or not path.is_relative_to(ROOT):
        return None
    return path.relative_to(ROOT).as_posix()


def _targets(uri: str) -> Iterator[str]:
    if uri.endswith(".md"):
        for link in _LINK.finditer(_source_of(uri)):
            if (target := _target(uri, link[2])) is not None:
                yield target


def _source_of(uri: str) -> str:
    """Return the Markdown of a page."""
    path = _path_of(uri)
    text = path.read_text(encoding="utf-8")
    return to_markdown(json.loads(text)) if path.suffix == ".ipynb" else text


# Notebooks


def to_markdown(notebook: Mapping[str, Any]) -> str:
    """Return the cells of a notebook and their outputs as Markdown."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            parts.append(f"```python\n{source}\n```")
            parts.extend(_show(output) for output in _joined(cell["outputs"]))
    return "\n\n".join(parts)


def _joined(outputs: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield outputs, with what a program prints piece by piece as one of them."""

    def stream(output: Mapping[str, Any]) -> object:
        return output.get("name") or id(output)

    for _, group in groupby(outputs, stream):
        first, *others = group
        text = [piece for output in others for piece in output["text"]]
        yield {**first, "text": [*first["text"], *text]} if others else first


def _show(output: Mapping[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        code = "".join(data["image/png"]).strip()
        return f'<img alt="" src="data:image/png;base64,{code}">'
    if "text/markdown" in data:
        return "".join(data["text/markdown"])
    if "text/html" in data:
        return f"<div>{''.join(data['text/html'])}</div>"
    text = "".join(data.get("text/plain", output.get("text", "")))
    return f"```text\n{text.rstrip()}\n```"


# The Python API


def list_names() -> str:
    """Return mkdocstrings' instruction for each public name, functions first."""
    names = sorted(ff.__all__, key=lambda name: (name[0].isupper(), name.lower()))
    return "\n\n".join(f"::: {full_name(name)}" for name in names)


def full_name(name: str) -> str:
    """Return a public name with its module, if the module has the same name."""
    module = ROOT / "src" / "fixedfleet" / f"{name}.py"
    return f"fixedfleet.{name}.{name}" if module.exists() else f"fixedfleet.{name}"


# The command line


def describe_commands() -> str:
    """Return a section in Markdown for each command: its usage and its options."""
    (commands,) = (
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    helps = {action.dest: action.help for action in commands._choices_actions}
    return "\n".join(
        f"## `{name}`\n\n`{name}`: {_plain(helps[name])}.\n\n{_describe(parser)}"
        for name, parser in commands.choices.items()
    )


def _describe(parser: argparse.ArgumentParser) -> str:
    shown = [a for a in parser._actions if a.dest != "help"]
    words = [parser.prog, *(_names(a) for a in shown if not a.option_strings)]
    if any(a.option_strings for a in shown):
        words.append("[OPTIONS]")
    groups: dict[str, list[argparse.Action]] = {}
    for group in parser._action_groups:
        usual = group.title in ("positional arguments", "options")
        actions = [a for a in group._group_actions if a in shown]
        groups.setdefault("" if usual else group.title or "", []).extend(actions)
    lines = ["```text", " ".join(words).replace("`", ""), "```"]
    for title, actions in groups.items():
        if actions:
            lines += ["", title, "", "| argument | meaning |", "| --- | --- |"]
            lines += [f"| {_names(a)} | {_meaning(a)} |" for a in actions]
    return "\n".join(lines) + "\n"


def _meaning(action: argparse.Action) -> str:
    needed = action.required and action.option_strings
    return _plain(action.help or "") + (" (required)" if needed else "")


def _names(action: argparse.Action) -> str:
    """Return how an argument is typed, with its value."""
    values = argparse.HelpFormatter("")._format_args(action, action.dest.upper())
    names = ", ".join(action.option_strings)
    return f"`{names} {values}`".replace("` ", "`").replace(" `", "`")


def _plain(text: str) -> str:
    """Return a help text so that Markdown shows it as it is."""
    return text.replace("%%", "%").replace("|", r"\|").replace("*", r"\*")
