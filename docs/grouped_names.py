"""Gives each name of an entry such as "depot, customers" an entry of its own."""

from __future__ import annotations

import re
from typing import Any

import griffe

# Names on a line, and the indented lines below it.
_GROUP = re.compile(r"^(\w+(?:, \w+)+)\n((?: .*\n?|\n(?= ))+)", re.MULTILINE)


class GroupedNames(griffe.Extension):
    """
    Splits the entries of docstrings that describe several names at once.

    Griffe gives all names of such an entry the type and the default of the first one.
    """

    def on_object(self, *, obj: griffe.Object, **_others: Any) -> None:
        """Split the entries of an object's docstring."""
        if obj.docstring is not None:
            obj.docstring.value = split_groups(obj.docstring.value)


def split_groups(text: str) -> str:
    """Return a docstring, without its margin, with one entry for each name."""

    def split(group: re.Match[str]) -> str:
        below = group[2].rstrip("\n")
        return "".join(f"{name}\n{below}\n" for name in group[1].split(", "))

    return _GROUP.sub(split, text)
