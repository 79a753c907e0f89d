"""Is M enough? Bounds, quick and exact packings, the verdict and its proof."""

from fixedfleet.fleet.verdict import (
    FleetVerdict,
    Status,
    assess_demands,
    assess_fleet,
    pack,
)

__all__ = ["FleetVerdict", "Status", "assess_demands", "assess_fleet", "pack"]
