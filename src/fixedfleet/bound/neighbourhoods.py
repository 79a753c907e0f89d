"""
The neighbourhoods of ng-routes.

An ng-route may visit a customer again, but only if it has visited another customer in
between whose neighbourhood does not contain the first one (Baldacci, Mingozzi and
Roberti, "New Route Relaxation and Pricing Strategies for the Vehicle Routing Problem",
Operations Research 2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Neighbourhoods", "make_neighbourhoods"]

_BITS = 64


class Neighbourhoods(NamedTuple):
    """
    The neighbourhoods of all customers, as bits of 64-bit words.

    The ng-memory of a route is the set of customers that it must not visit next. When
    the route is at customer i, the memory contains only customers of i's neighbourhood.
    So one word can hold it if the customers of each neighbourhood have different bits.
    """

    own: NDArray[np.uint64]  # (n,): the bit of each customer
    shared: NDArray[np.uint64]  # (n, n): bits of the customers in both neighbourhoods
    blocked: NDArray[np.uint64]  # (n, n): the bit of j if it is in i's neighbourhood


def make_neighbourhoods(costs: NDArray[np.int64], size: int) -> Neighbourhoods:
    """
    Return the neighbourhoods of all customers, with at most ``size`` customers each.

    The neighbourhood of a customer contains the customer itself and those nearest to
    it, by the sum of the costs of both directions. ``costs`` has shape (n, n), the
    depot first. The customers of each neighbourhood must have different bits of a
    64-bit word. If this is impossible, all neighbourhoods get fewer customers.
    """
    both = costs + costs.T
    np.fill_diagonal(both, -1)
    nearest = np.argsort(both[1:, 1:], axis=1, kind="stable") + 1
    for width in range(min(size, len(costs) - 1), 0, -1):
        member = np.zeros(costs.shape, bool)
        np.put_along_axis(member[1:], nearest[:, :width], True, axis=1)
        bits = _colour(member)
        if bits.max() < _BITS:  # always true for a width of 1
            break
    own = np.uint64(1) << bits.astype(np.uint64)
    own[0] = 0
    words = np.where(member, own[None, :], np.uint64(0))
    shared = np.zeros(costs.shape, np.uint64)
    for customer, neighbour in np.argwhere(member):
        shared[customer, member[:, neighbour]] |= own[neighbour]
    return Neighbourhoods(own, shared, words)


def _colour(member: NDArray[np.bool_]) -> NDArray[np.int64]:
    """
    Return the position of each customer's bit, shape (n,).

    Customers of the same neighbourhood have different positions. If 64 bits are not
    enough, some positions exceed 63. ``member[i, j]`` says whether j is in the
    neighbourhood of i.
    """
    together = member.T.astype(np.int64) @ member.astype(np.int64) > 0
    bits = np.full(len(member), -1)
    for customer in np.argsort(-together.sum(axis=1), kind="stable"):
        taken = set(bits[together[customer]].tolist())
        bits[customer] = next(bit for bit in range(len(member) + 1) if bit not in taken)
    return bits
