"""The two errors a user can meet: input that is wrong, a package that is missing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["InputError", "MissingPackageError", "require"]


class InputError(ValueError):
    """What the user gave is wrong; the message says what, where and what would be."""


class MissingPackageError(ImportError):
    """A chosen method needs a package that is not installed."""


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
        if error.name is not None and not module.startswith(error.name):
            raise
        raise MissingPackageError(
            f"{purpose} needs the package {module.partition('.')[0]!r}, which is not "
            f"installed: pip install 'fixedfleet[{extra}]'"
        ) from None
