"""The version of this package."""

from __future__ import annotations

__all__ = ["UNKNOWN", "own_version"]

UNKNOWN = "unknown"  # of a package that is run from its sources


def own_version() -> str:
    """Return the version that is installed."""
    from importlib import metadata  # slow to load, and rarely needed

    try:
        return metadata.version("fixedfleet")
    except metadata.PackageNotFoundError:
        return UNKNOWN
