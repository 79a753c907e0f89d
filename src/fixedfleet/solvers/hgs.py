"""HGS-CVRP in one run with its authors' parameters, as others would call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.search.genetic import hgs_plans

if TYPE_CHECKING:
    from fixedfleet.instance import Instance
    from fixedfleet.plan import Plan
    from fixedfleet.search.stop import Stop

__all__ = ["Hgs"]


class Hgs:
    """The solver ``hgs``."""

    name: str = "hgs"
    limits: str = (
        "the time limit counts the processor time of its thread, not wall time; "
        "amounts finer than 2^-32 of the sum of demands are rounded up"
    )

    def solve(
        self, instance: Instance, stop: Stop, seed: int = 0, start: Plan | None = None
    ) -> Plan | None:
        """Return the best plan found, or None."""
        starts = () if start is None else (start,)
        plans = hgs_plans(instance, stop=stop, seed=seed, starts=starts)
        return plans[0] if plans else None
