"""
Assign customers to vehicles within the capacity: by regret, then by ejection chains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fixedfleet.compiling import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CHAIN_LIMIT", "DEPTH", "WORK_LIMIT", "assign"]

DEPTH = 4  # the largest number of moves in a chain
CHAIN_LIMIT = 200  # the most moves tried for chains with the same first two customers
WORK_LIMIT = 1000  # the most moves tried per instance, times its number of customers
_NO_SECOND = -(2**40)  # the value of a second-best vehicle if only one has room


class _State(NamedTuple):
    """
    One instance, its assignment, and the chain of moves that is being tried.

    Fields without a comment are as in :func:`assign`.
    """

    value: Any
    order: Any
    demands: Any
    room: Any
    costs: Any  # the cost of leaving a customer unassigned, shape (N',)
    left: Any  # the room left in each vehicle, shape (M,)
    vehicle: Any
    following: Any  # the next customer of the same vehicle, or 0, shape (N',)
    head: Any  # the first customer of each vehicle, or 0, shape (M,)
    # A chain of moves: row 0 has the customers, row 1 their new vehicles, (2, DEPTH).
    path: Any  # the chain that is being tried
    best: Any  # the best chain so far
    gains: Any  # the total gain of all moves before each move, shape (DEPTH,)
    rank: Any  # how many vehicles were tried for each move, shape (DEPTH,)


@compiled()
def assign(
    vehicle: NDArray[np.int64],
    value: NDArray[np.int32],
    order: NDArray[np.int16],
    demands: NDArray[np.int64],
    customers: NDArray[np.bool_],
    room: NDArray[np.int64],
) -> None:
    """
    Assign the customers of one instance so that the sum of their values is large.

    First, customers are assigned one by one. The next customer is always the one with
    the largest regret: the value that is lost if it gets its second-best vehicle
    instead of its best one.

    Then chains of moves increase the value. The first move of a chain takes a customer
    to a better vehicle. If this overloads the vehicle, the next move takes one of its
    customers to any other vehicle, and so on. After each move, the total gain of the
    chain must be positive. For each customer, all chains that begin with it and leave
    no vehicle overloaded are compared, and the moves of the best chain are made. This
    is repeated until no chain improves the assignment, or WORK_LIMIT is reached.

    Unassigned customers are treated as if vehicle M, with room for all, served them.
    Their value there is so low that chains first increase the assigned demand.

    Parameters
    ----------
    vehicle
        The vehicle of each location, shape (N',), within the capacity; M for a location
        without a vehicle. The array is changed in place.
    value
        The value of each location in each vehicle, shape (N', M).
    order
        The vehicles of each location, the best value first, shape (N', M).
    demands
        Demands as whole numbers, shape (N',).
    customers
        Which locations are customers, shape (N',).
    room
        The capacity of each vehicle, shape (M,); −1 for padding.
    """
    n, m = value.shape
    # An unassigned customer costs more than any values can gain, and the more, the
    # larger its demand is.
    costs = ((demands * 1024) // max(1, room.max()) + 1) << 32
    left = room.copy()
    for customer in range(1, n):
        if vehicle[customer] < m:
            left[vehicle[customer]] -= demands[customer]
    following, head = np.zeros(n, np.int64), np.zeros(m, np.int64)
    state = _State(
        value,
        order,
        demands,
        room,
        costs,
        left,
        vehicle,
        following,
        head,
        np.zeros((2, DEPTH), np.int64),
        np.zeros((2, DEPTH), np.int64),
        np.zeros(DEPTH, np.int64),
        np.zeros(DEPTH, np.int64),
    )
    _assign_by_regret(state, customers)
    _link(state)
    budget = WORK_LIMIT * customers.sum()
    changed = True
    while changed:
        changed = False
        for customer in range(1, n):
            if customers[customer] and budget > 0:
                tried, made = _improve(state, customer)
                budget -= tried
                changed = changed or made


@compiled(_nrt=False)
def _assign_by_regret(state: _State, customers: Any) -> None:
    """
    Assign customers one by one, the largest regret first, until no customer fits.

    Regret is the value of the best vehicle with room minus that of the second-best one.
    It is computed again after each assignment. Of customers with equal regret, the one
    with the larger demand comes first. ``customers`` masks the locations that are
    customers, shape (N',).
    """
    value, demands, vehicle = state.value, state.demands, state.vehicle
    n, m = value.shape
    while True:
        regret, demand, chosen, target = -1, -1, 0, m
        for customer in range(1, n):
            if not customers[customer] or vehicle[customer] < m:
                continue
            first, second, best = 0, _NO_SECOND, m
            for rank in range(m):
                k = int(state.order[customer, rank])
                if state.left[k] >= demands[customer]:
                    if best < m:
                        second = value[customer, k]
                        break
                    best, first = k, value[customer, k]
            if best == m:
                continue
            lost = first - second
            if lost > regret or (lost == regret and demands[customer] > demand):
                regret, demand = lost, demands[customer]
                chosen, target = customer, best
        if regret < 0:
            return
        _move(state, chosen, target)


@compiled(_nrt=False)
def _move(state: _State, customer: int, k: int) -> None:
    """Move a customer to vehicle k; if k is M, make the customer unassigned."""
    before, m = state.vehicle[customer], len(state.room)
    if before < m:
        state.left[before] += state.demands[customer]
    if k < m:
        state.left[k] -= state.demands[customer]
    state.vehicle[customer] = k


@compiled(_nrt=False)
def _link(state: _State) -> None:
    """
    Write the customers of each vehicle to ``state.head`` and ``state.following``.

    They form a linked list per vehicle, which ends with 0.
    """
    for k in range(len(state.head)):
        state.head[k] = 0
    for customer in range(len(state.vehicle) - 1, 0, -1):
        k = state.vehicle[customer]
        if k < len(state.head):
            state.following[customer] = state.head[k]
            state.head[k] = customer


@compiled(_nrt=False)
def _improve(state: _State, customer: int) -> tuple[int, bool]:
    """
    Make the moves of the best chain that begins with this customer.

    Nothing is changed if no chain improves the assignment. Return the number of moves
    tried, and whether the assignment was changed.
    """
    demand, before = state.demands[customer], state.vehicle[customer]
    most: Any = np.int64(0)  # with a plain 0, Numba would compile twice, for two types
    length: Any = np.int64(0)
    tried = 0
    state.path[0, 0] = customer
    for rank in range(len(state.room)):
        k = int(state.order[customer, rank])
        if k == before:
            break
        if state.room[k] < demand:
            continue
        gain = _worth(state, customer, k) - _worth(state, customer, before)
        if gain <= 0:
            break
        state.path[1, 0] = k
        if state.left[k] >= demand:
            if gain > most:
                most, length = gain, _keep(state, 1)
            continue
        ejected = state.head[k]
        while ejected:
            count, most, length = _explore(state, gain, ejected, most, length)
            tried += count
            ejected = state.following[ejected]
    for move in range(length):
        _move(state, state.best[0, move], state.best[1, move])
    if length:
        _link(state)
    return tried, length > 0


@compiled(_nrt=False)
def _keep(state: _State, moves: int) -> int:
    """
    Copy the first ``moves`` moves of ``state.path`` to ``state.best``.

    Return ``moves``.
    """
    for move in range(moves):
        state.best[0, move] = state.path[0, move]
        state.best[1, move] = state.path[1, move]
    return moves


@compiled(_nrt=False)
def _worth(state: _State, customer: int, k: int) -> Any:
    """
    Return the value of a customer in vehicle k.

    If k is M, this is the value of leaving the customer unassigned, which is negative.
    """
    if k < len(state.room):
        return np.int64(state.value[customer, k])
    return -state.costs[customer]


@compiled(_nrt=False)
def _explore(
    state: _State, gain: int, ejected: int, most: int, length: int
) -> tuple[int, int, int]:
    """
    Try all chains with a given first move and a given customer of the second move.

    The first move is that of ``state.path``. A chain that is better than the best one
    so far is copied to ``state.best``.

    Parameters
    ----------
    gain
        The gain of the first move.
    ejected
        The customer that the second move takes out of the overloaded vehicle.
    most, length
        The gain of the best chain so far, and the number of its moves.

    Returns
    -------
    tuple
        The number of moves tried, and the new values of ``most`` and ``length``.
    """
    path, rank = state.path, state.rank
    level, tried = 1, 0
    path[0, 1], state.gains[1], rank[1] = ejected, gain, 0
    while level > 0:
        total = 0
        if tried < CHAIN_LIMIT and _next_move(state, level):
            customer, k = path[0, level], path[1, level]
            worth = _worth(state, customer, state.vehicle[customer])
            total = state.gains[level] + _worth(state, customer, k) - worth
            tried += 1
        if total <= 0:  # try the next customer of the same vehicle; if none, go back
            other = 0
            if level > 1 and tried < CHAIN_LIMIT:
                other = _not_on_path(state, level, state.following[path[0, level]])
            if other:
                path[0, level], rank[level] = other, 0
            else:
                level -= 1
            continue
        full = _overloaded(state, level + 1)
        if full < 0:
            if total > most:
                most, length = total, _keep(state, level + 1)
        elif level + 1 < DEPTH:
            other = _not_on_path(state, level + 1, state.head[full])
            if other:
                level += 1
                path[0, level], state.gains[level], rank[level] = other, total, 0
    return tried, most, length


@compiled(_nrt=False)
def _next_move(state: _State, level: int) -> bool:
    """
    Change the vehicle of move number ``level`` of ``state.path`` to the next candidate.

    Return False if all vehicles have been tried for the customer of this move.
    """
    customer, m = state.path[0, level], len(state.room)
    before = state.vehicle[customer]
    while state.rank[level] <= m:
        rank = state.rank[level]
        k = int(state.order[customer, rank]) if rank < m else m
        state.rank[level] += 1
        if k != before and (k == m or state.room[k] >= state.demands[customer]):
            state.path[1, level] = k
            return True
    return False


@compiled(_nrt=False)
def _not_on_path(state: _State, moves: int, customer: int) -> int:
    """
    Return the first customer that the first ``moves`` moves of the path do not move.

    The search begins with ``customer`` and continues with the customers that follow it
    in the list of its vehicle. The result is 0 if all of them are moved. The path is
    ``state.path``.
    """
    while customer:
        on = False
        for move in range(moves):
            on = on or state.path[0, move] == customer
        if not on:
            break
        customer = state.following[customer]
    return customer


@compiled(_nrt=False)
def _overloaded(state: _State, moves: int) -> int:
    """
    Return a vehicle that is overloaded after the first moves of ``state.path``, or −1.

    ``moves`` is the number of these moves. Of several overloaded vehicles, the one to
    which the latest move leads is returned.
    """
    for last in range(moves - 1, -1, -1):
        k = state.path[1, last]
        if k < len(state.room) and _left_after(state, moves, k) < 0:
            return int(k)
    return -1


@compiled(_nrt=False)
def _left_after(state: _State, moves: int, k: int) -> Any:
    """
    Return the room left in vehicle k after the first moves of ``state.path``.

    ``moves`` is the number of these moves.
    """
    left = state.left[k]
    for move in range(moves):
        customer = state.path[0, move]
        if state.vehicle[customer] == k:
            left += state.demands[customer]
        if state.path[1, move] == k:
            left -= state.demands[customer]
    return left
