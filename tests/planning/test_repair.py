"""Repairs of plans that leave customers out."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet.planning import RepairOptions, decode
from fixedfleet.planning.repair import repair_tours
from fixedfleet.planning.tours import make_plans, tour_loads

from .conftest import log_of, make_prediction


def tours_of(tours, customers, vehicles):
    """Tours of one instance, as a decoder returns them."""
    routes = torch.zeros((1, vehicles, customers), dtype=torch.int64)
    for number, tour in enumerate(tours):
        routes[0, number, : len(tour)] = torch.tensor(tour)
    return routes


def repair(tours, prediction, method="paper", **options):
    """The repaired plan of one instance."""
    before = tours_of(tours, prediction.locations - 1, prediction.fleet)
    after = repair_tours(prediction, before, RepairOptions(method, **options))
    assert (tour_loads(after, prediction.demands) <= prediction.capacity).all()
    return make_plans(after)[0]


def test_algorithm_1_by_hand():
    """The customer goes where most room is, after its likeliest neighbour there."""
    # Loads 5 and 3 of 8: vehicle 1 has most room, and there 4 follows 3 before 2.
    edges = {(0, 1, 4): 0.9, (1, 3, 4): 0.5, (1, 2, 4): 0.2, (1, 1, 4): 0.8}
    prediction = make_prediction(log_of(edges, 4, 2), [0, 5, 1, 2, 3], 8)
    before = tours_of([[1], [3, 2]], 4, 2)
    after = repair_tours(prediction, before, RepairOptions("paper"))
    assert make_plans(after)[0] == ff.Plan([[1], [3, 4, 2]])
    assert make_plans(before)[0] == ff.Plan([[1], [3, 2]])


def test_the_depot_may_be_the_likeliest_neighbour():
    """A customer whose likeliest predecessor is the depot comes first in its tour."""
    log_probs = log_of({(0, 0, 3): 0.5, (0, 2, 3): 0.3}, 3, 1)
    after = repair([[1, 2]], make_prediction(log_probs, [0, 1, 1, 1], 3))
    assert after == ff.Plan([[3, 1, 2]])


def test_the_largest_first_strands_fewer():
    """By number 3 takes the only room that 4 fits; by demand both find room."""
    # Room 3 and 2: customer 3 (demand 2) first would take the 3 that 4 needs.
    prediction = make_prediction(log_of({}, 4, 2), [0, 2, 3, 2, 3], 5)
    assert repair([[1], [2]], prediction) == ff.Plan([[3, 1], [2]])
    after = repair([[1], [2]], prediction, "room")
    assert sorted(map(sorted, after)) == [[1, 4], [2, 3]]


def test_the_guarantee_opens_a_tour():
    """Without room a customer is left out, with the guarantee it gets its own tour."""
    prediction = make_prediction(log_of({}, 3, 2), [0, 4, 4, 3], 5)
    assert repair([[1], [2]], prediction) == ff.Plan([[1], [2]])
    for method in ("paper", "room"):
        with_it = repair([[1], [2]], prediction, method, guarantee=True)
        assert with_it == ff.Plan([[1], [2], [3]])


def test_the_artificial_tour_takes_only_what_fits_nowhere():
    """The extra tour is opened last: a later customer with room keeps its vehicle."""
    # Room 1 of 5: customer 2 (demand 3) fits nowhere, customer 3 (demand 1) does.
    prediction = make_prediction(log_of({}, 3, 1), [0, 4, 3, 1], 5)
    after = repair([[1]], prediction, guarantee=True)
    assert sorted(map(sorted, after)) == [[1, 3], [2]]


def test_customers_beyond_one_artificial_tour_get_another():
    """What a single vehicle cannot carry is split, and no tour is overloaded."""
    prediction = make_prediction(log_of({}, 4, 1), [0, 5, 3, 3, 2], 5)
    after = repair([[1]], prediction, guarantee=True)
    assert after == ff.Plan([[1], [2], [3, 4]])


def test_the_guarantee_cannot_serve_what_no_vehicle_carries():
    """A demand above the capacity is left out, guarantee or not."""
    prediction = make_prediction(log_of({}, 2, 1), [0, 9, 1], 5)
    assert repair([], prediction, guarantee=True) == ff.Plan([[2]])


def test_room_takes_the_least_detour():
    """A customer between two others lands between them."""
    points = [[[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]]
    prediction = make_prediction(torch.zeros((1, 2, 4, 4)), [0, 1, 1, 1], 3, points)
    assert repair([[1, 2]], prediction, "room") == ff.Plan([[1, 3, 2]])


def test_making_room_moves_another_customer():
    """If no vehicle has room for 4, customer 2 moves over and 4 takes its place."""
    # Room 2 and 1 of 6; customer 4 needs 3: customer 2 must move.
    prediction = make_prediction(log_of({}, 4, 2), [0, 3, 1, 5, 3], 6)
    assert repair([[1, 2], [3]], prediction) == ff.Plan([[1, 2], [3]])
    after = repair([[1, 2], [3]], prediction, "room")
    assert sorted(map(sorted, after)) == [[1, 4], [2, 3]]


def test_making_room_exchanges_two_customers():
    """If no single move helps, two customers change places to make room."""
    # Room 1 and 1 of 7; customer 5 needs 2: swapping 4 for 3 makes room for it.
    prediction = make_prediction(log_of({}, 5, 2), [0, 4, 2, 3, 3, 2], 7)
    after = repair([[1, 2], [3, 4]], prediction, "room")
    demands = prediction.demands[0].tolist()
    assert [sum(demands[customer] for customer in tour) for tour in after] == [7, 7]


def test_room_serves_everyone_in_a_full_fleet(noisy):
    """If the demands fill the whole fleet, making room serves nearly everyone."""
    prediction = noisy(1000, 4, 20, 30, seed=3)
    total = prediction.demands.sum(1)
    full = (total <= 120) & (total >= 116)
    plans = decode(prediction[full], "greedy", "room")
    assert full.sum() > 20
    assert ((plans.routes > 0).sum(1) == 20).mean() >= 0.99


def test_wrong_plans_and_choices_are_named():
    """A plan of another size or an unknown choice is an error."""
    prediction = make_prediction(log_of({}, 2, 2), [0, 3, 3], 5)
    with pytest.raises(ff.InputError, match="routes has shape"):
        repair_tours(prediction, tours_of([[1]], 2, 1), RepairOptions())
    for wrong in (
        {"method": "magic"},
        {"method": "none", "guarantee": True},
    ):
        with pytest.raises(ff.InputError, match=next(iter(wrong))):
            RepairOptions(**wrong)


def test_the_guarantee_adds_no_more_tours_than_it_may_need():
    """There is one tour more per customer left out, and none if nobody is."""
    prediction = make_prediction(log_of({}, 4, 1), [0, 5, 3, 3, 2], 5)
    sure = RepairOptions("paper", guarantee=True)
    assert repair_tours(prediction, tours_of([[1]], 4, 1), sure).shape == (1, 4, 4)
    prediction = make_prediction(log_of({}, 2, 1), [0, 2, 2], 5)
    assert repair_tours(prediction, tours_of([[1]], 2, 1), sure).shape == (1, 1, 2)


def test_only_plans_that_leave_customers_out_are_repaired():
    """Of a batch, the plans that serve everyone keep their order, however long."""
    points = [[[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]] * 2
    log_probs = torch.zeros((2, 1, 4, 4))
    prediction = make_prediction(log_probs, [[0, 1, 1, 1]] * 2, 3, points)
    tours = torch.cat((tours_of([[3, 1, 2]], 3, 1), tours_of([[1, 2]], 3, 1)))
    for method, second in (("none", [1, 2]), ("room", [1, 3, 2])):
        after = make_plans(repair_tours(prediction, tours, RepairOptions(method)))
        assert list(after) == [ff.Plan([[3, 1, 2]]), ff.Plan([second])]


def test_a_tour_that_exceeds_the_capacity_is_refused():
    """A full tour is fine; one unit more is an error."""
    prediction = make_prediction(log_of({}, 2, 2), [0, 3, 2], 5)
    assert repair([[1, 2]], prediction) == ff.Plan([[1, 2]])
    prediction = make_prediction(log_of({}, 2, 2), [0, 3, 3], 5)
    with pytest.raises(ff.InputError, match="exceeds the capacity"):
        repair([[1, 2]], prediction)
