"""The versions of this package, of its sources, and of other packages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = [
    "UNKNOWN",
    "describe_commit",
    "installed_versions",
    "own_version",
    "show_versions",
    "version_of",
]

UNKNOWN = "unknown"  # the version if the package is not installed, but run from sources

_PACKAGES = (
    "fixedfleet", "numpy", "scipy", "numba", "hybgensea", "ortools", "pyvrp", "pyvroom",
    "torch", "cupy", "ray",
)  # fmt: skip
_SOURCES = {".py", ".cu", ".toml"}


def own_version() -> str:
    """
    Return the installed version of this package; "unknown" if it is not installed.
    """
    return version_of("fixedfleet") or UNKNOWN


@cache  # each look-up takes milliseconds
def version_of(package: str) -> str:
    """Return the installed version of a package; "" if it is not installed."""
    from importlib import metadata  # slow to load, and rarely needed

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


@cache
def describe_commit() -> str:
    """
    Return what ``git describe --dirty`` says about this package's checkout.

    If there are uncommitted changes, a hash of the package's sources is appended, so
    that different changes give different texts. Without a checkout, return "" if the
    package is installed, and otherwise the hash of the sources alone.
    """
    folder = Path(__file__).parent
    root = folder.parent.parent
    if not (root / ".git").exists():
        return "" if version_of("fixedfleet") else f"sources-{_hash_of_sources(folder)}"
    import subprocess

    command = ["git", "-C", str(root), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    said = done.stdout.strip()
    if said.endswith("-dirty"):
        said += f"-{_hash_of_sources(folder)}"
    return said


def _hash_of_sources(folder: Path) -> str:
    """Return a hash of all sources in a folder, as eight hexadecimal digits."""
    from hashlib import sha256

    files = sorted(path for path in folder.rglob("*") if path.suffix in _SOURCES)
    texts = b"".join(path.read_bytes() for path in files)
    return sha256(texts).hexdigest()[:8]


def installed_versions() -> dict[str, str]:
    """
    Return the versions of Python, this package and the packages that it uses, by name.

    Packages that are not installed are missing.
    """
    import platform

    versions = {package: version_of(package) for package in _PACKAGES}
    found = {package: version for package, version in versions.items() if version}
    return {"python": platform.python_version(), **found}


def show_versions() -> None:
    """Print the operating system and all versions, for a bug report."""
    import platform

    print(f"system: {platform.platform()}")
    for name, version in installed_versions().items():
        print(f"{name}: {version}")
