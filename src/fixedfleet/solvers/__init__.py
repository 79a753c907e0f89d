"""Outside solvers behind one protocol; only the one that is chosen is imported."""

from __future__ import annotations

import importlib
from typing import cast

from fixedfleet.errors import InputError
from fixedfleet.solvers.protocol import Outcome, Solver, run

__all__ = ["SOLVERS", "Outcome", "Solver", "get", "run"]

# The module of this room that owns each package, and the class in it.
_ADAPTERS = {
    "hgs": ("hgs", "Hgs"),
    "pyvrp": ("pyvrp_adapter", "Pyvrp"),
    "ortools": ("ortools_routing", "OrtoolsRouting"),
    "vroom": ("vroom_adapter", "Vroom"),
    "lkh": ("lkh", "Lkh"),
    "exact": ("exact", "Exact"),
}

SOLVERS: tuple[str, ...] = tuple(_ADAPTERS)


def get(name: str) -> Solver:
    """
    Return the solver of that name, with its default parameters.

    Parameters
    ----------
    name
        One of :data:`SOLVERS`.

    Raises
    ------
    InputError
        If there is no such solver.
    MissingPackageError
        If the package or program it stands for is not installed.
    """
    if name not in _ADAPTERS:
        raise InputError(f"unknown solver {name!r}: choose from {', '.join(SOLVERS)}")
    module, adapter = _ADAPTERS[name]
    owner = importlib.import_module(f"{__name__}.{module}")
    return cast("Solver", getattr(owner, adapter)())
