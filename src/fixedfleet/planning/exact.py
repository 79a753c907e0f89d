"""The likeliest assignment to vehicles by integer programming, for one instance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import eye_array, kron

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["likeliest"]

_GAP = 1e-6  # relative; the solver's own default of 1e-4 hides whole exchanges


def likeliest(
    value: NDArray[np.float64],
    demands: NDArray[np.int64],
    capacity: int,
    time_limit: float,
) -> NDArray[np.int64] | None:
    """
    Solve the generalised assignment problem.

    Parameters
    ----------
    value
        Value of each customer in each vehicle, shape (N, M).
    demands
        Whole units, shape (N,).
    capacity
        Whole units.
    time_limit
        Seconds.

    Returns
    -------
    The vehicle of each customer, shape (N,); or None if no assignment that serves
    everyone was found in time.
    """
    customers, fleet = value.shape
    if customers == 0 or fleet == 0 or (demands > capacity).any():
        return None
    result = milp(
        (value.max() - value).ravel(),
        integrality=np.ones(customers * fleet),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(kron(eye_array(customers), np.ones((1, fleet))), 1, 1),
            LinearConstraint(kron(demands[None, :], eye_array(fleet)), 0, capacity),
        ],
        options={"time_limit": time_limit, "mip_rel_gap": _GAP},
    )
    if result.x is None:
        return None
    vehicle: NDArray[np.int64] = result.x.reshape(customers, fleet).argmax(1)
    loads = np.zeros(fleet, dtype=np.int64)
    np.add.at(loads, vehicle, demands)
    # The solver counts in floating point with a tolerance; loads here are exact.
    return vehicle if (loads <= capacity).all() else None
