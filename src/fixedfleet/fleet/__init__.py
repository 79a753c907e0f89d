"""Decide whether a fleet is large enough: bounds, packings, verdicts with proofs."""

from fixedfleet.fleet.verdict import (
    BatchVerdict,
    FleetVerdict,
    Status,
    assess_batch,
    assess_fleet,
    load_exact_packing,
    pack_quickly,
    quick_packing_size,
)

__all__ = [
    "BatchVerdict",
    "FleetVerdict",
    "Status",
    "assess_batch",
    "assess_fleet",
    "load_exact_packing",
    "pack_quickly",
    "quick_packing_size",
]
