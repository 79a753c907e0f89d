"""Exit codes of commands, and functions that print errors and warnings."""

from __future__ import annotations

import sys

__all__ = [
    "BAD_INPUT",
    "DIVERGED",
    "IMPOSSIBLE",
    "INTERRUPTED",
    "NOT_FOUND",
    "printable",
    "say_error",
    "warn",
]

DIVERGED = 1  # the loss of a training is no longer a finite number
BAD_INPUT = 2
IMPOSSIBLE = 3  # the fleet is proven too small
NOT_FOUND = 4  # no plan, or no verdict, within the time limit
INTERRUPTED = 130


def say_error(message: str, code: int) -> int:
    """Print an error as a single line on standard error; return ``code``."""
    line = printable(" ".join(message.split()))
    print(f"fixedfleet: error: {line}", file=sys.stderr)
    return code


def warn(message: str) -> None:
    """Print a warning as a single line on standard error."""
    line = printable(" ".join(message.split()))
    print(f"fixedfleet: warning: {line}", file=sys.stderr)


def printable(text: str) -> str:
    """Return the text with control characters replaced: they affect the terminal."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
