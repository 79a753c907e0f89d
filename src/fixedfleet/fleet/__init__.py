"""Is the fleet large enough? Bounds, packings, and the verdict with its proof."""

from fixedfleet.fleet.verdict import (
    BatchVerdict,
    FleetVerdict,
    Status,
    assess_batch,
    assess_fleet,
)

__all__ = [
    "BatchVerdict",
    "FleetVerdict",
    "Status",
    "assess_batch",
    "assess_fleet",
]
