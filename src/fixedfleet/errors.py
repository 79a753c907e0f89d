"""The two errors a user can meet: input that is wrong, a package that is missing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["InputError", "MissingPackageError", "check_whole", "require"]


class InputError(ValueError):
    """What the user gave is wrong; the message says what, where and what would be."""


class MissingPackageError(ImportError):
    """A chosen method needs a package that is not installed."""


def check_whole(what: str, number: Any, least: int) -> int:
    """Return a whole number of at least ``least``; refuse anything else."""
    try:
        whole = int(number)
    except (TypeError, ValueError, OverflowError):
        whole = least - 1
    if isinstance(number, bool) or whole != number or whole < least:
        raise InputError(
            f"{what} is {number!r}, not a whole number of at least {least}"
        )
    return whole


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """
    Import an optional package at the moment it is chosen.

    Parameters
    ----------
    module
        Name of the module to import.
    extra
        The extra of this package that installs it.
    purpose
        What the user chose that needs it, for the message.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and not f"{module}.".startswith(f"{error.name}."):
            raise
        raise MissingPackageError(
            f"{purpose} needs the package {module.partition('.')[0]!r}, which is not "
            f"installed: pip install 'fixedfleet[{extra}]'"
        ) from None
