"""Tests of the repair of plans that leave customers out."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet.planning import Decoded, RepairOptions, decode, repair, to_plans


def plan_of(tours, customers, vehicles):
    """A decoded plan, and so whom it leaves out."""
    routes = torch.zeros((1, vehicles, customers), dtype=torch.int64)
    for number, tour in enumerate(tours):
        routes[0, number, : len(tour)] = torch.tensor(tour)
    real = torch.ones((1, customers + 1), dtype=torch.bool)
    real[:, 0] = False
    return Decoded.from_routes(routes, real)


def test_algorithm_1_by_hand(prediction):
    """The customer goes where most room is, after its likeliest neighbour there."""
    # Loads 5 and 3 of 8: vehicle 1 has most room, and there 4 follows 3 before 2.
    demands = torch.tensor([[0, 5, 1, 2, 3]])
    arcs = {(0, 1, 4): 0.9, (1, 3, 4): 0.5, (1, 2, 4): 0.2, (1, 1, 4): 0.8}
    before = plan_of([[1], [3, 2]], 4, 2)
    after = repair(before, prediction(arcs, 4, 2), demands, torch.tensor([8]))
    assert to_plans(after)[0] == ff.Plan([[1], [3, 4, 2]])
    assert to_plans(before)[0] == ff.Plan([[1], [3, 2]])


def test_the_depot_may_be_the_likeliest_neighbour(prediction):
    """A customer whose likeliest predecessor is the depot comes first in its tour."""
    demands = torch.tensor([[0, 1, 1, 1]])
    log_probs = prediction({(0, 0, 3): 0.5, (0, 2, 3): 0.3}, 3, 1)
    after = repair(plan_of([[1, 2]], 3, 1), log_probs, demands, torch.tensor([3]))
    assert to_plans(after)[0] == ff.Plan([[3, 1, 2]])


def test_the_largest_first_strands_fewer(prediction):
    """By number 1 takes the only room that 2 fits; by demand both find room."""
    # Room 3 and 2: customer 3 (demand 2) first would take the 3 that 4 needs.
    demands = torch.tensor([[0, 2, 3, 2, 3]])
    args = (prediction({}, 4, 2), demands, torch.tensor([5]))
    before = plan_of([[1], [2]], 4, 2)
    given = repair(before, *args, order="given")
    assert given.unserved[0].nonzero().flatten().tolist() == [4]
    assert not repair(before, *args, order="demand").unserved.any()


def test_the_guarantee_opens_a_tour(prediction):
    """Without room a customer is left out, with the guarantee it gets its own tour."""
    demands = torch.tensor([[0, 4, 4, 3]])
    args = (prediction({}, 3, 2), demands, torch.tensor([5]))
    before = plan_of([[1], [2]], 3, 2)
    without = repair(before, *args)
    assert without.unserved[0].tolist() == [False, False, False, True]
    assert without.routes.shape[1] == 2
    with_it = repair(before, *args, guarantee=True)
    assert to_plans(with_it)[0] == ff.Plan([[1], [2], [3]])


def test_the_guarantee_cannot_serve_what_no_vehicle_carries(prediction):
    """A demand above the capacity is left out, guarantee or not."""
    demands = torch.tensor([[0, 9, 1]])
    args = (prediction({}, 2, 1), demands, torch.tensor([5]))
    after = repair(plan_of([], 2, 1), *args, guarantee=True)
    assert after.unserved[0].tolist() == [False, True, False]


def test_insertion_takes_the_least_detour():
    """By insertion a customer between two others lands between them."""
    demands = torch.tensor([[0, 1, 1, 1]])
    points = torch.tensor([[[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]])
    log_probs = torch.zeros((1, 2, 4, 4))
    before = plan_of([[1, 2]], 3, 2)
    args = (before, log_probs, demands, torch.tensor([3]))
    after = repair(*args, method="insertion", coordinates=points)
    assert to_plans(after)[0] == ff.Plan([[1, 3, 2]])
    with pytest.raises(ff.InputError, match="coordinates or distances"):
        repair(*args, method="insertion")


def test_making_room_moves_another_customer(prediction):
    """Where nobody has room for 3, customer 2 moves over and 3 takes its place."""
    # Room 2 and 1 of 6; customer 4 needs 3: customer 2 (1) or 3 (1) must move.
    demands = torch.tensor([[0, 3, 1, 5, 3]])
    args = (prediction({}, 4, 2), demands, torch.tensor([6]))
    before = plan_of([[1, 2], [3]], 4, 2)
    assert repair(before, *args).unserved.any()
    after = repair(before, *args, method="room")
    assert sorted(map(sorted, to_plans(after)[0])) == [[1, 4], [2, 3]]


def test_making_room_exchanges_two_customers(prediction):
    """Where no single move helps, two customers change places to make room."""
    # Room 1 and 1 of 7; customer 5 needs 2: swapping 4 for 3 makes room for it.
    demands = torch.tensor([[0, 4, 2, 3, 3, 2]])
    args = (prediction({}, 5, 2), demands, torch.tensor([7]))
    after = repair(plan_of([[1, 2], [3, 4]], 5, 2), *args, method="room")
    assert not after.unserved.any()
    assert sorted(after.loads(demands)[0].tolist()) == [7, 7]


def test_room_serves_everyone_in_a_full_fleet(noisy):
    """Where the demands fill the whole fleet, making room serves nearly everyone."""
    log_probs, demands, capacity, points = noisy(1000, 4, 20, 30, seed=3)
    full = (demands.sum(1) <= 120) & (demands.sum(1) >= 116)
    decoded = decode(
        log_probs[full],
        demands[full],
        capacity[full],
        coordinates=points[full],
        repair="room",
    )
    assert full.sum() > 20
    assert (~decoded.unserved.any(1)).float().mean() >= 0.99


def test_wrong_plans_and_choices_are_named(prediction):
    """An overloaded tour, a plan of another size or an unknown choice is an error."""
    demands = torch.tensor([[0, 3, 3]])
    args = (prediction({}, 2, 2), demands, torch.tensor([5]))
    with pytest.raises(ff.InputError, match="overloaded"):
        repair(plan_of([[1, 2]], 2, 2), *args)
    with pytest.raises(ff.InputError, match="routes has shape"):
        repair(plan_of([[1]], 2, 1), *args)
    with pytest.raises(ff.InputError, match="unknown"):
        RepairOptions(method="magic")
    with pytest.raises(ff.InputError, match="exchanges"):
        RepairOptions(exchanges=-1)
