"""Repairs: put back the customers that a decoder left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from fixedfleet.errors import InputError, check_settings
from fixedfleet.planning.tours import ChangingTours, Decoded

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = ["RepairMethod", "RepairOptions", "repair_plans"]

RepairMethod = Literal["none", "paper", "paper-demand", "room"]


@dataclass(frozen=True)
class RepairOptions:
    """
    How customers that a decoder left out are put back.

    Parameters
    ----------
    method
        ``none``: not at all. ``paper``: the paper's Algorithm 1; the customers, by
        their numbers, go to the vehicle with the most room, each after its likeliest
        predecessor there. ``paper-demand``: the same, but the largest demand first, so
        that fewer are left over. ``room``: each customer, the largest demand first,
        goes to the place that adds the least length, in any tour that has room; if no
        tour has room, customers move between tours until all fit, and the tours are
        ordered anew.
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


def repair_plans(
    prediction: Prediction, decoded: Decoded, options: RepairOptions
) -> Decoded:
    """
    Put back the customers that decoded plans leave out.

    The tours keep their customers and their order, unless ``room`` must move some.

    Raises
    ------
    InputError
        If the plans have the wrong shape or exceed the capacity.
    """
    _check(prediction, decoded)
    if options.method == "none" or not decoded.unserved.any():
        return decoded
    repaired = _insert_all(prediction, decoded, options)
    if options.method == "room" and repaired.unserved.any():
        repaired = _settle(prediction, repaired)
    if options.guarantee and repaired.unserved.any():
        extra = _most_extra(prediction, repaired.unserved)
        repaired = _insert_all(prediction, repaired, options, extra)
    return repaired


def _check(prediction: Prediction, decoded: Decoded) -> None:
    batch, tours, longest = decoded.routes.shape
    count, fleet, stops = len(prediction), prediction.fleet, prediction.locations - 1
    if (batch, longest) != (count, stops) or tours < fleet:
        raise InputError(
            f"routes has shape {(batch, tours, longest)}, not ({count}, {fleet} or "
            f"more, {stops})"
        )
    if (decoded.loads(prediction.demands) > prediction.capacity[:, None]).any():
        raise InputError("a decoded tour exceeds the capacity")


def _queue(prediction: Prediction, waiting: Tensor, options: RepairOptions) -> Tensor:
    """Return customers in order of insertion, (B, most waiting), zeros to the end."""
    longest = int(waiting.sum(1).max())
    by_number = options.method == "paper"
    key = torch.zeros_like(prediction.demands) if by_number else -prediction.demands
    order = key.masked_fill(~waiting, 1).sort(dim=1, stable=True).indices[:, :longest]
    return order * waiting.gather(1, order)


def _most_extra(prediction: Prediction, waiting: Tensor) -> int:
    """
    Return an upper bound on the number of tours that the guarantee adds.

    A tour is added only for a customer that fits into no other tour. So any two added
    tours together carry more than one capacity: E ≤ 2 Σq/Q + 1.
    """
    fits = waiting & (prediction.demands <= prediction.capacity[:, None])
    total = (prediction.demands * fits).sum(1)
    bound = torch.minimum(2 * total // prediction.capacity + 1, fits.sum(1))
    return int(bound.max())


def _insert_all(
    prediction: Prediction, decoded: Decoded, options: RepairOptions, extra: int = 0
) -> Decoded:
    """Insert customers that fit, one after another; open ``extra`` tours at most."""
    tours = ChangingTours(prediction, decoded, extra)
    choose = _cheapest if options.method == "room" else _roomiest
    for customer in _queue(prediction, decoded.unserved, options).unbind(1):
        demand = prediction.demands[tours.rows, customer]
        waits = customer > 0
        if extra:
            full = tours.left.amax(1) < demand
            tours.open(waits & full & (demand <= prediction.capacity))
        vehicle, place = choose(tours, customer, demand)
        fits = tours.left[tours.rows, vehicle] >= demand
        tours.insert(customer, vehicle, place, waits & fits)
    return tours.decoded()


def _roomiest(
    tours: ChangingTours, customer: Tensor, demand: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the tour with the most room, and the place after the predecessor."""
    vehicle = tours.left.argmax(1)
    return vehicle, tours.predicted_place(customer, vehicle)


def _cheapest(
    tours: ChangingTours, customer: Tensor, demand: Tensor
) -> tuple[Tensor, Tensor]:
    """Return tour and place of the least detour among the tours with room."""
    detours = tours.detours(customer)  # (B, K, N + 1)
    full = tours.left < demand[:, None]
    best = detours.masked_fill(full[..., None], torch.inf).flatten(1).argmin(1)
    return best // detours.shape[2], best % detours.shape[2]


def _settle(prediction: Prediction, decoded: Decoded) -> Decoded:
    """Move customers between tours where some are left out."""
    from fixedfleet.planning.settling import settle_plans  # Numba is slow to load

    stuck = decoded.unserved.any(1).nonzero()[:, 0]
    few = Decoded(decoded.routes[stuck], decoded.unserved[stuck])
    routes = decoded.routes.clone()
    routes[stuck] = settle_plans(prediction[stuck], few).routes
    return Decoded.from_routes(routes, prediction.customers)
