"""What is known about a search before its code is loaded."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Traits", "search_traits"]


@dataclass(frozen=True)
class Traits:
    """What a search or solver can do; the defaults suit a search of one's own."""

    counts: bool = False  # whether it can end after a number of iterations
    ends: bool = False  # whether it ends by itself, so that it needs no limit
    reports: bool = True  # whether it reports improvements while it runs
    prices: bool = False  # whether it can minimise Cost_v


_TRAITS = {
    "auto": Traits(prices=True),
    "ruin_recreate": Traits(counts=True, prices=True),
    "decomposition": Traits(counts=True, prices=True),
    "gpu": Traits(counts=True, prices=True),
    "hgs": Traits(counts=True),
    "pyvrp": Traits(counts=True, reports=False),
    "vroom": Traits(reports=False),
    "ortools": Traits(reports=False, prices=True),
    "ortools_descent": Traits(ends=True, reports=False, prices=True),
}


def search_traits(name: str) -> Traits:
    """Return the traits of a search by its name."""
    return _TRAITS.get(name, Traits())
