"""Whether what a method needs is installed, asked before anything runs."""

from __future__ import annotations

from importlib.util import find_spec

from fixedfleet import solvers
from fixedfleet.errors import MissingPackageError

__all__ = ["require_search"]

# Modules of each search or solver, and what to install for them.
_NEEDS = {
    "auto": (("numba", "numba"), ("hybgensea", "hybgensea")),
    "ruin_recreate": (("numba", "numba"),),
    "hgs": (("hybgensea", "hybgensea"),),
    "pyvrp": (("pyvrp", "'fixedfleet[peers]'"),),
    "vroom": (("vroom", "'fixedfleet[peers]'"),),
    "ortools": (("ortools", "ortools"),),
}


def require_search(name: str) -> None:
    """
    Raise MissingPackageError if a search or solver lacks a package here.

    Nothing is imported: that is for the workers.
    """
    if name == "lkh":
        solvers.get(name)  # looks for the program
    for module, install in _NEEDS.get(name, ()):
        if find_spec(module) is None:
            raise MissingPackageError(
                f"the method {name!r} needs the package {module!r}, which is not "
                f"installed: pip install {install}"
            )
