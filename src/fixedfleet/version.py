"""The version of this package."""

from __future__ import annotations

from importlib import metadata

__all__ = ["UNKNOWN", "own_version"]

UNKNOWN = "unknown"  # of a package that is run from its sources


def own_version() -> str:
    """Return the version that is installed."""
    try:
        return metadata.version("fixedfleet")
    except metadata.PackageNotFoundError:
        return UNKNOWN
