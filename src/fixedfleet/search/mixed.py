"""Batches, or lists of instances of any sizes: what both are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.instance import InstanceBatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.plan import PlanBatch

__all__ = ["costs_v", "feasible", "take", "widened"]


def take(
    instances: InstanceBatch | Sequence[Instance], rows: NDArray[np.int64]
) -> InstanceBatch | list[Instance]:
    """Return the instances of some rows."""
    if isinstance(instances, InstanceBatch):
        return instances.take(rows)
    return [instances[row] for row in rows]


def feasible(
    instances: InstanceBatch | Sequence[Instance], plans: PlanBatch
) -> NDArray[np.bool_]:
    """Whether each plan is feasible, shape (B,)."""
    if isinstance(instances, InstanceBatch):
        return plans.feasible(instances)
    pairs = zip(plans, instances, strict=True)
    return np.array([plan.is_feasible(one) for plan, one in pairs], dtype=bool)


def costs_v(
    instances: InstanceBatch | Sequence[Instance],
    plans: PlanBatch,
    vehicle_cost: float = 0.0,
) -> NDArray[np.float64]:
    """Cost_v of each plan, its length if a vehicle costs nothing, shape (B,)."""
    if isinstance(instances, InstanceBatch):
        return plans.costs_v(instances, vehicle_cost)
    pairs = zip(plans, instances, strict=True)
    costs = [plan.cost_v(one, vehicle_cost) for plan, one in pairs]
    return np.array(costs, dtype=np.float64)


def widened(routes: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return routes with at least so many entries, zeros behind them."""
    return np.pad(routes, ((0, 0), (0, max(0, width - routes.shape[1]))))
