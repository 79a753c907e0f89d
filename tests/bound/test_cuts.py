"""Cuts hold for every plan; that is what makes them cuts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.bound.capacity_cuts import (
    CapacityCut,
    crossings,
    find_capacity_cuts,
)
from fixedfleet.bound.master import Master, pad
from fixedfleet.bound.subset_rows import (
    SubsetRow,
    _remembered,
    count_visits,
    find_subset_rows,
)
from fixedfleet.bound.whole_instance import make_whole


def test_a_violated_capacity_cut_is_found(square):
    """Two customers that need two vehicles are not served by a loop between them."""
    heavy = ff.Instance(
        depot=square.depot,
        customers=square.customers,
        demands=[2, 2, 1, 1],
        capacity=2,
        vehicles=3,
    )
    whole = make_whole(heavy, ff.Plan([[1], [2], [3, 4]]), 0.0)
    flow = np.zeros((5, 5))
    flow[1, 2] = flow[0, 1] = flow[0, 2] = 1.0  # one tour serves both
    flow[3, 4] = flow[0, 3] = flow[0, 4] = 1.0
    cut, *_ = find_capacity_cuts(whole, flow + flow.T, seed=0, most=5)
    assert np.flatnonzero(cut.inside).tolist() == [1, 2]
    assert cut.vehicles == 2
    assert crossings(pad([(1, 2), (1,), (3, 4), (2, 3)]), cut.inside[None])[
        :, 0
    ].tolist() == [2, 2, 0, 2]


def test_the_most_violated_capacity_cuts_come_first():
    """Three customers of one tour that need three vehicles come before two."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(place, 1) for place in range(5)],
        demands=[2] * 5,
        capacity=2,
        vehicles=5,
    )
    whole = make_whole(instance, ff.Plan([[c] for c in range(1, 6)]), 0.0)
    flow = np.zeros((6, 6))
    for tour in ((1, 2), (3, 4, 5)):
        np.add.at(flow, ([0, *tour], [*tour, 0]), 1.0)
    flow += flow.T
    cuts = find_capacity_cuts(whole, flow, seed=0, most=9)
    violations = [
        2 * cut.vehicles - flow[np.ix_(cut.inside, ~cut.inside)].sum() for cut in cuts
    ]
    assert violations == sorted(violations, reverse=True)
    assert (violations[0], violations[-1]) == (4, 2)
    assert np.flatnonzero(cuts[0].inside).tolist() == [3, 4, 5]
    assert [cut.vehicles for cut in cuts] == [cut.inside.sum() for cut in cuts]
    (only,) = find_capacity_cuts(whole, flow, seed=0, most=1)
    assert (only.inside == cuts[0].inside).all()


def test_the_most_violated_subset_rows_come_first():
    """As many are returned as are asked for."""
    routes = [(1, 2), (2, 3), (1, 3), (4, 5), (5, 6), (4, 6)]
    values = np.array([0.4, 0.4, 0.4, 0.5, 0.5, 0.5])
    for most, found in ((9, [(4, 5, 6), (1, 2, 3)]), (1, [(4, 5, 6)])):
        cuts = find_subset_rows(routes, values, 7, most, limited=True, sizes=(3,))
        assert [cut.customers for cut in cuts] == found
    full = find_subset_rows(routes, values, 7, 9, limited=False, sizes=(3,))
    assert all(cut.memory.all() for cut in full)


def test_a_violated_subset_row_is_found():
    """Three half routes that serve two of three customers each violate their cut."""
    routes = [(1, 4, 2), (2, 5, 3), (1, 3)]
    (cut,) = find_subset_rows(routes, np.full(3, 0.5), 7, most=9, limited=True)
    assert cut.customers == (1, 2, 3)
    assert np.flatnonzero(cut.memory).tolist() == [1, 2, 3, 4, 5]


def test_a_route_outside_the_memory_is_forgotten():
    """The second visit counts only if the route has stayed in the memory."""
    memory = np.isin(np.arange(7), [1, 2, 3, 4])
    cut = SubsetRow((1, 2, 3), memory)
    routes = [(1, 4, 2), (1, 6, 2), (1, 2, 6, 3), (1, 2, 3, 1), (6, 3)]
    assert [count_compiled(route, cut) for route in routes] == [1, 0, 1, 2, 0]


def test_a_violated_cut_on_five_customers_is_found():
    """Ten quarter routes serve each pair of five customers; no three are violated."""
    routes = list(combinations(range(1, 6), 2))
    (cut,) = find_subset_rows(routes, np.full(10, 0.25), 7, most=9, limited=True)
    assert cut.customers == (1, 2, 3, 4, 5)
    assert cut.most == 2


def test_a_violated_cut_on_four_customers_is_found():
    """A third of each pair with customer 1, and of the other three, violates a cut."""
    routes = [(1, 2), (1, 3), (4, 1), (2, 3, 4)]
    values = np.array([1 / 3, 1 / 3, 1 / 3, 2 / 3])
    cut, *_ = find_subset_rows(routes, values, 7, most=9, limited=True)
    assert (cut.customers, cut.twice, cut.divisor) == ((1, 2, 3, 4), (1,), 3)
    assert cut.most == 1


def count_directly(route, cut):
    """The sum, over the parts of a route in the memory, of ⌊visits / divisor⌋."""
    total, visits = 0, 0
    for stop in (*route, None):
        if stop is None or not cut.memory[stop]:
            total += visits // cut.divisor
            visits = 0
        else:
            visits += (stop in cut.customers) + (stop in cut.twice)
    return total


def count_compiled(route, cut):
    """The coefficient that the program uses."""
    weights = np.zeros((1, len(cut.memory)), np.int64)
    weights[0, list(cut.customers)] = 1
    weights[0, list(cut.twice)] = 2
    divisors = np.array([cut.divisor])
    return count_visits(pad([route]), weights, cut.memory[None], divisors)[0, 0]


@pytest.mark.parametrize("size", [3, 4, 5, 7])
def test_coefficients_are_what_a_direct_count_gives(size):
    """Any route and any memory; what is remembered gives the full coefficient."""
    rng = np.random.default_rng(size)
    counted = set()
    for _ in range(300):
        route = tuple(rng.integers(1, 12, size=rng.integers(1, 14)).tolist())
        members = tuple((rng.permutation(11)[:size] + 1).tolist())
        memory = rng.uniform(size=12) < 0.6
        memory[list(members)] = True
        twice, divisor = (members[:1], 3) if size == 4 else ((), 2)
        cut = SubsetRow(members, memory, twice, divisor)
        assert count_compiled(route, cut) == count_directly(route, cut)
        assert count_compiled(route[::-1], cut) == count_directly(route, cut)
        memory = np.zeros(12, bool)
        memory[list(members)] = True
        memory[_remembered(route, cut)] = True
        limited = cut._replace(memory=memory)
        full = cut._replace(memory=np.ones(12, bool))
        assert count_compiled(route, limited) == count_directly(route, full)
        counted.add(count_directly(route, full))
    assert {0, 1, 2, 3} <= counted


def test_the_cuts_of_a_relaxation_hold_for_plans(make_instance, forever):
    """Plans meet all cuts that a bound has found on its way."""
    from fixedfleet.bound.root import Root

    instance = make_instance(n=14, vehicles=4, capacity=18, seed=2)
    plan = ff.assess_fleet(instance).packing
    whole = make_whole(instance, plan, 0.0)
    root = Root(whole, whole.goal(plan.length(instance)), plan.tours, forever)
    for number in range(3):
        for _ in root._converge():
            pass
        root.master.separate(number)
    assert len(root.master.cuts) > 5
    master = Master(whole, 1e5, once=True)
    master.add_cuts(root.master.cuts)
    master.add_routes(plan.tours)
    assert master.solve().value * 2**33 == pytest.approx(whole.cost_of(plan.tours))
    assert master.artificial() == 0


def test_a_cut_is_added_once_and_its_memory_grows(make_instance):
    """The same cut with a larger memory replaces the one that is there."""
    instance = make_instance(n=8, seed=3)
    plan = ff.assess_fleet(instance).packing
    master = Master(make_whole(instance, plan, 0.0), 1e3)
    master.add_routes([(1, 5, 2), (2, 6, 3), (1, 3)])
    first, second = (
        find_subset_rows(routes, np.full(3, 0.5), 9, 9, limited=True)
        for routes in ([(1, 2), (2, 3), (1, 3)], [(1, 5, 2), (2, 6, 3), (1, 3)])
    )
    assert master.add_cuts(first) == 1
    assert master.add_cuts(first) == 0
    assert master.add_cuts(second) == 1
    assert len(master.cuts) == 1
    assert np.flatnonzero(master.cuts[0].memory).tolist() == [1, 2, 3, 5, 6]


def test_a_cut_whose_memory_grows_is_in_the_linear_program(make_instance):
    """The coefficients of routes follow the memory, as if the cut were new."""
    instance = make_instance(n=8, seed=3)
    whole = make_whole(instance, ff.assess_fleet(instance).packing, 0.0)
    routes = [(1, 5, 2), (2, 6, 3), (1, 3)]
    small = SubsetRow((1, 2, 3), np.isin(np.arange(9), [1, 2, 3]))
    large = small._replace(memory=np.ones(9, bool))
    values = []
    for cuts in ([small], [large], [small, large]):
        master = Master(whole, 1e3)
        master.add_routes(routes)
        for cut in cuts:
            master.add_cuts([cut])
        values.append(master.solve().value)
    assert values[0] < values[1] == pytest.approx(values[2])


def test_large_cuts_are_for_full_memory(make_instance):
    """Cuts on more than three customers would make labels with limited memory many."""
    instance = make_instance(n=8, vehicles=4, capacity=100, seed=3)
    whole = make_whole(instance, ff.assess_fleet(instance).packing, 0.0)
    for limited, sizes in ((True, []), (False, [5])):
        master = Master(whole, 1e3)
        master.add_routes(combinations(range(1, 6), 2))
        columns = np.append(np.zeros(8), np.full(10, 0.25))
        master.solution = master.solve()._replace(columns=columns)
        master.separate(0, limited=limited)
        cuts = [cut for cut in master.cuts if isinstance(cut, SubsetRow)]
        assert [len(cut.customers) for cut in cuts] == sizes
        assert all(cut.memory.all() for cut in cuts)


def test_the_slope_of_a_bound_is_its_change(square):
    """One unit more of a dual changes the bound by its side less M coefficients."""
    whole = make_whole(square, ff.Plan([[1, 2], [3, 4]]), 0.0)
    assert whole.vehicles == 2
    master = Master(whole, 1e3)
    memory = np.ones(5, bool)
    cuts = [CapacityCut(np.isin(np.arange(5), [1, 2, 3]), 2)]
    cuts.append(SubsetRow((1, 2, 3), memory))
    master.add_cuts(cuts)
    slopes = [master.slope((1, 2), one) for one in np.eye(7)]
    # Four customers, the fleet, four arcs into the set, one tour for two of three.
    assert slopes == [1 - 2, 1 - 2, 1, 1, 0, 4 - 2 * 2, 1 - 2 * 1]


def test_routes_of_high_reduced_cost_are_deleted(make_instance):
    """If there are twice as many as wanted, about half go; the solution is the same."""
    instance = make_instance(n=8, vehicles=8, capacity=100, seed=3)
    whole = make_whole(instance, ff.assess_fleet(instance).packing, 0.0)
    master = Master(whole, 1e3)
    singles = [(customer,) for customer in range(1, 9)]
    assert master.add_routes([*singles, *combinations(range(1, 9), 2)]) == 36
    value = master.solve().value
    master.purge(19)
    assert len(master.routes) == 36
    master.purge(18)
    assert 9 <= len(master.routes) <= 18
    assert len(master.solution.columns) == 8 + len(master.routes)
    assert master.solve().value == pytest.approx(value)


def test_an_artificial_tour_enters_and_leaves_a_set(square):
    """A capacity cut costs nothing if each of its customers has a tour of its own."""
    whole = make_whole(square, ff.Plan([[1, 2], [3, 4]]), 0.0)
    master = Master(whole, 1e3)
    master.add_routes([(3, 4)])
    before = master.solve().value
    inside = np.isin(np.arange(5), [1, 2])
    assert master.add_cuts([CapacityCut(inside, 2)]) == 1
    assert master.solve().value == pytest.approx(before)
    assert master.artificial() == pytest.approx(2)
