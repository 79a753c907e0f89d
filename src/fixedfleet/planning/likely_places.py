"""Insert unserved customers where Ŷ is largest, in many plans at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.planning.tours import tour_loads, unserved_customers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixedfleet.planning.prediction import Prediction

__all__ = ["add_tours", "insert_by_room", "insert_likeliest"]


def insert_by_room(prediction: Prediction, tours: Tensor) -> Tensor:
    """
    Return the tours with unserved customers inserted by the paper's Algorithm 1.

    The customers are inserted in the order of their numbers. Each goes to the vehicle
    with the most room, after its likeliest predecessor there. A customer that does not
    fit stays unserved.
    """
    tours = tours.clone()
    left = prediction.room - tour_loads(tours, prediction.demands)
    for rows, customers in _in_turn(_unserved(prediction, tours)):
        vehicle = left[rows].argmax(1)
        into = prediction.edges[rows, vehicle, :, customers]  # (rows, N')
        place = _after_likeliest(into, tours[rows, vehicle])
        _insert(prediction, tours, left, (rows, vehicle, customers, place))
    return tours


def insert_likeliest(prediction: Prediction, tours: Tensor) -> Tensor:
    """
    Return the tours with unserved customers inserted as in the paper's authors' code.

    The customers are inserted by falling demand. Each goes to the vehicle with the
    likeliest edge into or out of the customer, among those with room. If that edge
    leads into the customer, the customer is placed after its likeliest predecessor on
    the tour, otherwise before its likeliest successor.
    """
    tours = tours.clone()
    left = prediction.room - tour_loads(tours, prediction.demands)
    for rows, customers in _in_turn(_unserved(prediction, tours), prediction.demands):
        full = left[rows] < prediction.demands[rows, customers, None]  # (rows, M)
        into = prediction.edges[rows, :, :, customers]  # (rows, M, N')
        onward = prediction.edges[rows, :, customers]
        comes, by = into.amax(2).masked_fill(full, -torch.inf).max(1)
        goes, other = onward.amax(2).masked_fill(full, -torch.inf).max(1)
        vehicle = torch.where(comes > goes, by, other)
        every = torch.arange(len(rows), device=rows.device)
        tour = tours[rows, vehicle]
        behind = _after_likeliest(into[every, vehicle], tour)
        ahead = _before_likeliest(onward[every, vehicle], tour)
        place = torch.where(comes > goes, behind, ahead)
        _insert(prediction, tours, left, (rows, vehicle, customers, place))
    return tours


def add_tours(prediction: Prediction, tours: Tensor) -> Tensor:
    """
    Return the tours, and additional tours for the customers that they do not serve.

    The additional tours serve these customers in the order of their numbers. A new tour
    begins when the next customer would exceed the capacity. A customer whose demand
    exceeds the capacity stays unserved.
    """
    waiting = _unserved(prediction, tours)
    waiting &= prediction.demands <= prediction.capacity[:, None]
    most = int(waiting.sum(1).max()) if len(waiting) else 0
    tours = pad(tours, (0, 0, 0, most))
    number = torch.full_like(prediction.capacity, prediction.fleet)
    load, place = torch.zeros_like(number), torch.zeros_like(number)
    for rows, customers in _in_turn(waiting):
        demands = prediction.demands[rows, customers]
        full = load[rows] + demands > prediction.capacity[rows]
        number[rows] += full
        load[rows] = torch.where(full, 0, load[rows]) + demands
        place[rows] = torch.where(full, 0, place[rows])
        tours[rows, number[rows], place[rows]] = customers
        place[rows] += 1
    return tours


def _unserved(prediction: Prediction, tours: Tensor) -> Tensor:
    return unserved_customers(tours, prediction.customers)


def _in_turn(
    waiting: Tensor, demands: Tensor | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """
    Yield the first unserved customer of each instance, then the second, and so on.

    This generator yields pairs: the rows of the instances that have another unserved
    customer, and this customer of each. Customers are sorted by number or, if
    ``demands`` are given, by falling demand. ``waiting`` is true for unserved
    customers. Both arguments have shape (B, N').
    """
    key = torch.zeros_like(waiting, dtype=torch.int64) if demands is None else -demands
    key = key.masked_fill(~waiting, torch.iinfo(torch.int64).max)
    order = key.sort(dim=1, stable=True).indices
    count = waiting.sum(1)
    for turn in range(int(count.max()) if len(count) else 0):
        rows = (count > turn).nonzero()[:, 0]
        yield rows, order[rows, turn]


def _after_likeliest(into: Tensor, tour: Tensor) -> Tensor:
    """
    Return the position after a customer's likeliest predecessor on a tour, shape (B,).

    ``into`` holds the scores of the edges into the customer of each instance, (B, N'),
    and ``tour`` holds the tours, (B, N).
    """
    return _likeliest_position(into, pad(tour, (1, 0)), tour)


def _before_likeliest(onward: Tensor, tour: Tensor) -> Tensor:
    """
    Return the position before a customer's likeliest successor on a tour, shape (B,).

    ``onward`` holds the scores of the edges out of the customer of each instance,
    (B, N'), and ``tour`` holds the tours, (B, N).
    """
    return _likeliest_position(onward, pad(tour, (0, 1)), tour)


def _likeliest_position(edges: Tensor, stops: Tensor, tour: Tensor) -> Tensor:
    """
    Return the index of the likeliest neighbour of a customer in ``stops``, shape (B,).

    A customer can be inserted next to any of the L customers of a tour, or next to the
    depot. ``stops`` holds these L + 1 locations of each tour, then zeros, (B, N + 1).
    ``edges`` holds the scores of the edges between the customer and all locations,
    (B, N').
    """
    number = torch.arange(stops.shape[1], device=stops.device)
    beyond = number > (tour > 0).sum(1, keepdim=True)
    return edges.gather(1, stops).masked_fill(beyond, -torch.inf).argmax(1)


def _insert(
    prediction: Prediction,
    tours: Tensor,
    left: Tensor,
    insertions: tuple[Tensor, Tensor, Tensor, Tensor],
) -> None:
    """
    Insert customers into tours, in place; skip customers that do not fit.

    ``left`` is the room left in each tour, (B, M). ``insertions`` are four tensors of
    equal length: instance, vehicle, customer, and position in the tour.
    """
    rows, vehicle, customers, _ = insertions
    fits = left[rows, vehicle] >= prediction.demands[rows, customers]
    rows, vehicle, customers, place = (part[fits] for part in insertions)
    tour = tours[rows, vehicle]
    number = torch.arange(tour.shape[1], device=tour.device)
    later = number > place[:, None]
    moved = tour.gather(1, (number - later.long()).clamp_min(0))
    tours[rows, vehicle] = torch.where(
        number == place[:, None], customers[:, None], moved
    )
    left[rows, vehicle] -= prediction.demands[rows, customers]
