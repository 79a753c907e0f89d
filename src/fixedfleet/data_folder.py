"""The folder in which plans, road distances and places of addresses are kept."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["default_folder"]


def default_folder() -> Path:
    """Return the folder in the user's data folder where data are kept by default."""
    base = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore a path that is not absolute.
    home = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share"
    return home / "fixedfleet"
