"""What is known about a search before its code is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from fixedfleet.errors import MissingPackageError

__all__ = ["Traits", "search_traits"]


@dataclass(frozen=True)
class Traits:
    """
    What a search takes, does and needs; the defaults suit a search of one's own.

    Attributes
    ----------
    counts
        Whether it can end after a number of iterations.
    ends
        Whether it ends by itself, so that it needs no limit.
    reports
        Whether it reports improvements while it runs.
    prices
        Whether it can minimise Cost_v.
    needs
        The modules that it imports, and what to install for each.
    """

    counts: bool = False
    ends: bool = False
    reports: bool = True
    prices: bool = False
    needs: tuple[tuple[str, str], ...] = ()

    def check(self, who: str) -> None:
        """Raise MissingPackageError if a module is missing, without importing it."""
        for module, install in self.needs:
            if find_spec(module) is None:
                raise MissingPackageError(
                    f"{who} needs the package {module!r}, which is not installed: "
                    f"pip install {install}"
                )


_NUMBA = ("numba", "numba")
_HGS = ("hybgensea", "hybgensea")
_ORTOOLS = (("ortools", "ortools"),)
_TRAITS = {
    "auto": Traits(prices=True, needs=(_NUMBA, _HGS)),
    "ruin_recreate": Traits(counts=True, prices=True, needs=(_NUMBA,)),
    "decomposition": Traits(counts=True, prices=True, needs=(_NUMBA, _HGS)),
    "gpu": Traits(counts=True, prices=True),
    "hgs": Traits(counts=True, needs=(_HGS,)),
    "pyvrp": Traits(
        counts=True, reports=False, needs=(("pyvrp", "'fixedfleet[peers]'"),)
    ),
    "vroom": Traits(reports=False, needs=(("vroom", "'fixedfleet[peers]'"),)),
    "ortools": Traits(reports=False, prices=True, needs=_ORTOOLS),
    "ortools_descent": Traits(ends=True, reports=False, prices=True, needs=_ORTOOLS),
    "lkh": Traits(reports=False),
}


def search_traits(name: str) -> Traits:
    """Return the traits of a search by its name."""
    return _TRAITS.get(name, Traits())
