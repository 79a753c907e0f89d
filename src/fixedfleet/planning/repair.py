"""Repairs: insert the customers that a decoder left unserved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from torch.nn.functional import pad

from fixedfleet.errors import InputError, check_settings
from fixedfleet.planning.likely_places import (
    add_tours,
    insert_by_room,
    insert_likeliest,
)
from fixedfleet.planning.tours import tour_loads, unserved_customers

if TYPE_CHECKING:
    from torch import Tensor

    from fixedfleet.planning.prediction import Prediction

__all__ = ["RepairMethod", "RepairOptions", "repair_tours"]

RepairMethod = Literal["none", "paper", "likeliest", "room"]


@dataclass(frozen=True)
class RepairOptions:
    """
    How customers that a decoder left unserved are inserted into the tours.

    Parameters
    ----------
    method
        ``none``: no repair.

        ``paper``: the paper's Algorithm 1. The customers are inserted in the order of
        their numbers. Each goes to the vehicle with the most room, after its likeliest
        predecessor there.

        ``likeliest``: the repair in the code of the paper's authors. The customers are
        inserted by falling demand. Each goes to the likeliest vehicle with room, beside
        its likeliest neighbour there.

        ``room``: the customers are inserted by falling demand. Each goes to the
        position that adds the least length, in any tour that has room. If no tour has
        room, customers are moved between the tours until all fit, and the stops of the
        tours are put into a new order.
    guarantee
        Whether customers that still fit nowhere are served by tours beyond the fleet.
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
    Return the tours with the unserved customers inserted, shape (B, K, N).

    Customers that are already served stay in their tours, in the same order. The method
    ``room`` changes this only if an unserved customer fits into no tour. K is the
    number of vehicles M; with ``options.guarantee``, it may be larger.

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
    found = _REPAIRS[options.method](some, tours[waiting], options.guarantee)
    repaired = pad(tours, (0, 0, 0, found.shape[1] - prediction.fleet)).clone()
    repaired[waiting] = found
    return repaired


def _repair_by_room(prediction: Prediction, tours: Tensor, guarantee: bool) -> Tensor:
    tours = insert_by_room(prediction, tours)
    return add_tours(prediction, tours) if guarantee else tours


def _repair_likeliest(prediction: Prediction, tours: Tensor, guarantee: bool) -> Tensor:
    tours = insert_likeliest(prediction, tours)
    return add_tours(prediction, tours) if guarantee else tours


def _repair_at_least_detour(
    prediction: Prediction, tours: Tensor, guarantee: bool
) -> Tensor:
    """
    Return the tours after the repair ``room``, which is computed on a CPU.

    Each customer is inserted at the least detour. If no tour has room for a customer,
    customers are moved between tours. With ``guarantee``, customers that still do not
    fit get tours beyond the fleet.
    """
    found = _insert_cheapest(prediction, tours.cpu())
    stuck = _unserved(prediction, found).any(1)
    if stuck.any():
        from fixedfleet.planning.settling import settle_tours  # Numba loads slowly

        found[stuck] = settle_tours(prediction[stuck.to(tours.device)], found[stuck])
    if guarantee:
        most = int(_unserved(prediction, found).sum(1).max())
        found = _insert_cheapest(prediction, pad(found, (0, 0, 0, most)))
    return found.to(tours.device)


_REPAIRS = {
    "paper": _repair_by_room,
    "likeliest": _repair_likeliest,
    "room": _repair_at_least_detour,
}


def _unserved(prediction: Prediction, tours: Tensor) -> Tensor:
    return unserved_customers(tours, prediction.customers.cpu())


def _insert_cheapest(prediction: Prediction, tours: Tensor) -> Tensor:
    """
    Return the tours with unserved customers inserted at the least detour.

    A customer for which no tour has room stays unserved. ``tours`` may have more tours
    than the fleet has vehicles. These additional tours must be empty; they are used
    only for customers that fit into no other tour.
    """
    from fixedfleet.planning.inserting import SPARE, insert_all  # Numba loads slowly

    demands = prediction.demands.cpu()
    order = (-demands).sort(dim=1, stable=True).indices
    rows, places = _unserved(prediction, tours).gather(1, order).nonzero(as_tuple=True)
    customers = order[rows, places]
    extra = tours.shape[1] - prediction.fleet
    room = pad(prediction.room.cpu(), (0, extra), value=SPARE)
    tours = tours.clone()
    left = room - tour_loads(tours, demands)
    arrays = tours, left, rows, customers, demands, prediction.capacity.cpu()
    distances = prediction.distances.cpu()
    insert_all(*(x.contiguous().numpy() for x in (*arrays, distances)))
    return tours
