"""The version of this package."""

from __future__ import annotations

from functools import cache

__all__ = ["UNKNOWN", "own_version"]

UNKNOWN = "unknown"  # of a package that is run from its sources


@cache  # each look at what is installed takes milliseconds
def own_version() -> str:
    """Return the version that is installed."""
    from importlib import metadata  # slow to load, and rarely needed

    try:
        return metadata.version("fixedfleet")
    except metadata.PackageNotFoundError:
        return UNKNOWN
