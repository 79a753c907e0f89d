"""Repairs: put back the customers that a decoder left out."""

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
    How customers that a decoder left out are put back.

    Parameters
    ----------
    method
        ``none``: no repair. ``paper``: the paper's Algorithm 1. The customers, in the
        order of their numbers, go to the vehicle with the most room, each after its
        likeliest predecessor there. ``likeliest``: what the paper's authors ran
        instead. The customers, the largest demand first, go to the likeliest vehicle
        with room, each beside its likeliest neighbour. ``room``: the customers, the
        largest demand first, go to the place that adds the least length, in any tour
        that has room. If no tour has room, customers move between tours until all fit,
        and the tours are ordered again.
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
    Return the tours with the customers that they leave out put back, shape (B, K, N).

    The tours keep their customers and their order, unless ``room`` must move some.
    There are more than M tours only if the guarantee adds some.

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


def _settle(prediction: Prediction, tours: Tensor, guarantee: bool) -> Tensor:
    """Insert customers at the least detour, one plan after the other, on a CPU."""
    found = _insert_cheapest(prediction, tours.cpu())
    stuck = _left_out(prediction, found).any(1)
    if stuck.any():
        from fixedfleet.planning.settling import settle_tours  # Numba loads slowly

        found[stuck] = settle_tours(prediction[stuck.to(tours.device)], found[stuck])
    if guarantee:
        most = int(_left_out(prediction, found).sum(1).max())
        found = _insert_cheapest(prediction, pad(found, (0, 0, 0, most)))
    return found.to(tours.device)


_REPAIRS = {
    "paper": _repair_by_room,
    "likeliest": _repair_likeliest,
    "room": _settle,
}


def _left_out(prediction: Prediction, tours: Tensor) -> Tensor:
    return unserved_customers(tours, prediction.customers.cpu())


def _insert_cheapest(prediction: Prediction, tours: Tensor) -> Tensor:
    """
    Return the tours with the missing customers inserted where there is room.

    Tours beyond the fleet must be empty. One is opened only for a customer that fits
    into no other tour.
    """
    from fixedfleet.planning.inserting import SPARE, insert_all  # Numba loads slowly

    demands = prediction.demands.cpu()
    order = (-demands).sort(dim=1, stable=True).indices
    rows, places = _left_out(prediction, tours).gather(1, order).nonzero(as_tuple=True)
    customers = order[rows, places]
    extra = tours.shape[1] - prediction.fleet
    room = pad(prediction.room.cpu(), (0, extra), value=SPARE)
    tours = tours.clone()
    left = room - tour_loads(tours, demands)
    arrays = tours, left, rows, customers, demands, prediction.capacity.cpu()
    distances = prediction.distances.cpu()
    insert_all(*(x.contiguous().numpy() for x in (*arrays, distances)))
    return tours
