"""Repairs: put back the customers that a decoder left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.errors import InputError, check_settings
from fixedfleet.planning.tours import tour_loads, unserved_customers

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = ["RepairMethod", "RepairOptions", "repair_tours"]

RepairMethod = Literal["none", "paper", "room"]


@dataclass(frozen=True)
class RepairOptions:
    """
    How customers that a decoder left out are put back.

    Parameters
    ----------
    method
        ``none``: not at all. ``paper``: the paper's Algorithm 1; the customers, by
        their numbers, go to the vehicle with the most room, each after its likeliest
        predecessor there. ``room``: each customer, the largest demand first, goes to
        the place that adds the least length, in any tour that has room; if no tour has
        room, customers move between tours until all fit, and the tours are ordered
        anew.
    guarantee
        Whether the customers that fit nowhere get a tour beyond the fleet at the end,
        or several tours if one vehicle cannot carry them all.
    """

    method: RepairMethod = "room"
    guarantee: bool = False

    def __post_init__(self) -> None:
        check_settings(self, "repair ")
        if self.guarantee and self.method == "none":
            raise InputError(
                "the guarantee needs a repair, but the repair method is 'none'"
            )


def repair_tours(
    prediction: Prediction, tours: Tensor, options: RepairOptions
) -> Tensor:
    """
    Return the tours with the customers that they leave out, shape (B, K, N).

    The tours keep their customers and their order, unless ``room`` must move some.
    There are more than M tours only if the guarantee adds some. A CPU repairs the plans
    that need it, one after the other.

    Raises
    ------
    InputError
        If the tours have the wrong shape or exceed the capacity.
    """
    shape = len(prediction), prediction.fleet, prediction.locations - 1
    if tours.shape != shape:
        raise InputError(f"routes has shape {tuple(tours.shape)}, not {shape}")
    if (tour_loads(tours, prediction.demands) > prediction.capacity[:, None]).any():
        raise InputError("a decoded tour exceeds the capacity")
    waiting = unserved_customers(tours, prediction.customers).any(1)
    if options.method == "none" or not waiting.any():
        return tours
    some = prediction[waiting]
    found = _insert(some, tours[waiting].cpu(), options.method)
    stuck = _left_out(some, found).any(1)
    if options.method == "room" and stuck.any():
        from fixedfleet.planning.settling import settle_tours  # Numba loads slowly

        found[stuck] = settle_tours(some[stuck.to(tours.device)], found[stuck])
    if options.guarantee:
        most = int(_left_out(some, found).sum(1).max())
        found = _insert(some, pad(found, (0, 0, 0, most)), options.method)
    repaired = pad(tours, (0, 0, 0, found.shape[1] - prediction.fleet)).clone()
    repaired[waiting] = found.to(tours.device)
    return repaired


def _left_out(prediction: Prediction, tours: Tensor) -> Tensor:
    return unserved_customers(tours, prediction.customers.cpu())


def _insert(prediction: Prediction, tours: Tensor, method: RepairMethod) -> Tensor:
    """
    Return the tours with all customers for which there is room.

    Tours beyond the fleet may be opened, which must be empty.
    """
    from fixedfleet.planning.inserting import SPARE, insert_all  # Numba loads slowly

    demands = prediction.demands.cpu()
    key = torch.zeros_like(demands) if method == "paper" else -demands
    order = key.sort(dim=1, stable=True).indices
    rows, places = _left_out(prediction, tours).gather(1, order).nonzero(as_tuple=True)
    customers = order[rows, places]
    extra = tours.shape[1] - prediction.fleet
    room = pad(prediction.room.cpu(), (0, extra), value=SPARE)
    likely, distances = torch.empty(0, 0, 0), torch.empty(0, 0, 0).double()
    if method == "paper":
        likely = _likely_predecessors(prediction, rows, customers)
    else:
        distances = prediction.distances.cpu()
    tours = tours.clone()
    left = room - tour_loads(tours, demands)
    arrays = tours, left, rows, customers, demands, prediction.capacity.cpu()
    insert_all(*(x.contiguous().numpy() for x in (*arrays, likely, distances)))
    return tours


def _likely_predecessors(
    prediction: Prediction, rows: Tensor, customers: Tensor
) -> Tensor:
    """
    Return log Ŷ of the edges into customers, by vehicle and predecessor.

    The last row, behind those of the vehicles, is for tours beyond the fleet: there the
    edges of any vehicle count. The shape is (customers, M + 1, N').
    """
    device = prediction.demands.device
    rows, customers = rows.to(device), customers.to(device)
    into = prediction.edges[rows, :, :, customers]
    absent = ~prediction.vehicles[rows, :, None]
    anyone = into.masked_fill(absent, -torch.inf).amax(1, keepdim=True)
    return torch.cat((into, anyone), 1).float().cpu()
