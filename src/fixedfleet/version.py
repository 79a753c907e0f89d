"""The versions of this package and of those that plans depend on."""

from __future__ import annotations

from functools import cache

__all__ = ["UNKNOWN", "installed_versions", "own_version", "show_versions"]

UNKNOWN = "unknown"  # of a package that is run from its sources
_PACKAGES = (
    "fixedfleet", "numpy", "scipy", "numba", "hybgensea", "ortools", "pyvrp", "pyvroom",
    "torch", "cupy", "ray",
)  # fmt: skip


@cache  # each look at what is installed takes milliseconds
def own_version() -> str:
    """Return the version that is installed."""
    from importlib import metadata  # slow to load, and rarely needed

    try:
        return metadata.version("fixedfleet")
    except metadata.PackageNotFoundError:
        return UNKNOWN


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that matter."""
    import platform
    from importlib import metadata

    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def show_versions() -> None:
    """Print what a report about a fault should state: system and versions."""
    import platform

    print(f"system: {platform.platform()}")
    for name, version in installed_versions().items():
        print(f"{name}: {version}")
