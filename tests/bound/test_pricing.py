"""Reduced costs and least routes are exact, in both directions."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations
from types import SimpleNamespace

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.bound import pricing
from fixedfleet.bound.enumeration import Room, enumerate_routes
from fixedfleet.bound.joining import cheapest_labels, find_passable
from fixedfleet.bound.labelling import EXACT, FORBIDDEN, lowest_bit
from fixedfleet.bound.master import DUAL_UNIT, Master, pad, unpad
from fixedfleet.bound.pricing import OutOfTimeError, Pricer, TooManyLabelsError
from fixedfleet.bound.root import Root
from fixedfleet.bound.route_pool import RoutePool, walk
from fixedfleet.bound.subset_rows import SubsetRow
from fixedfleet.bound.whole_instance import make_whole


@pytest.fixture(params=["symmetric", "asymmetric"])
def root(request, make_instance, forever):
    """The state of a bound after some rounds of all cuts, with duals of all kinds."""
    instance = make_instance(n=13, vehicles=4, capacity=17, seed=3)
    if request.param == "asymmetric":
        matrix = np.random.default_rng(1).integers(10, 90, size=(14, 14))
        instance = ff.Instance(
            matrix=np.where(np.eye(14), 0, matrix),
            demands=instance.demands,
            capacity=17,
            vehicles=4,
        )
    plan = ff.assess_fleet(instance).packing
    whole = make_whole(instance, plan, 0.0)
    root = Root(whole, whole.goal(plan.length(instance)), plan.tours, forever)
    for number in range(4):
        for _ in root._converge():
            pass
        root.master.separate(number)
    root.master.add_cuts(draw_cuts(root.master.whole, 80))
    for _ in root._converge():
        pass
    return root


def draw_cuts(whole, count):
    """Cuts on four and five customers with memories that are more or less limited."""
    rng = np.random.default_rng(whole.size)
    cuts = []
    for number in range(count):
        members = tuple(
            (rng.permutation(whole.size - 1)[: 4 + number % 2] + 1).tolist()
        )
        memory = rng.uniform(size=whole.size) < rng.uniform(0, 2)
        memory[list(members)] = True
        twice, divisor = ((), 2) if number % 2 else (members[:1], 3)
        cuts.append(SubsetRow(tuple(sorted(members)), memory, twice, divisor))
    return cuts


def test_both_ways_of_pricing_agree(root):
    """Half routes joined in the middle cost as little as whole routes."""
    rng = np.random.default_rng(0)
    duals, pricer = root.master.solution.duals, root.pricer
    whole = root.master.whole
    cuts = 0
    for _ in range(12):
        reduced = pricer.reduce(root.master.cuts, duals)
        cuts = max(cuts, reduced.graph.members.shape[1])
        joined = pricer.price(reduced, EXACT, FORBIDDEN // 4, 5)
        ends = []
        for graph in (reduced.graph, reduced.backward):
            labels = pricer.labels(graph, graph.limit)
            some = np.flatnonzero(labels.num_settled)
            costs = labels.settled_cost[some, 0] + graph.reduced[some, 0]
            ends.append(pricer.bound(reduced, int(costs.min())))
        assert ends == [joined.bound, joined.bound]
        least = int(walk(reduced.graph, pad(joined.routes[:1]))[0])
        assert pricer.bound(reduced, least) == joined.bound
        for below in (least + 1, least + 1000):
            assert pricer.price(reduced, EXACT, below, 5).least == least
        assert pricer.price(reduced, EXACT, least, 5) == (joined.bound, [], least)
        duals = root.master.solution.duals * rng.uniform(0.7, 1.3, len(duals))
        for place, cut in enumerate(root.master.cuts, whole.size):
            if isinstance(cut, SubsetRow) and len(cut.customers) > 3:
                duals[place] -= rng.uniform(0, 3)
    assert cuts > 0  # there were subset-row cuts


@pytest.mark.parametrize("seed", range(10))
def test_a_route_that_just_counts_is_found(seed, odd, forever):
    """Without cuts, what labels can become is known exactly; nothing is left out."""
    instance, plan, vehicle_cost = odd(seed)
    whole = make_whole(instance, plan, vehicle_cost)
    pricer = Pricer(whole, forever)
    duals = np.random.default_rng(seed).uniform(0, 2, whole.size)
    duals *= whole.cost_of(plan.tours) / DUAL_UNIT / (whole.size - 1)
    reduced = pricer.reduce([], duals)
    least = pricer.price(reduced, EXACT, FORBIDDEN // 4, 5).least
    found = pricer.price(reduced, EXACT, least + 1, 5)
    assert found.least == least
    assert walk(reduced.graph, pad(found.routes)).tolist() == [least] * len(
        found.routes
    )
    assert found.routes
    assert pricer.price(reduced, EXACT, least, 5).routes == []


def test_each_priced_route_has_a_customer_that_few_others_have(root):
    """A route is left out if all its customers are in a fifth of the routes already."""
    reduced = root.pricer.reduce(root.master.cuts, root.master.solution.duals)
    routes = root.pricer.price(reduced, EXACT, FORBIDDEN // 4, 40).routes
    seen = Counter()
    for route in routes:
        assert min(seen[customer] for customer in route) < 8
        seen.update(route)
    assert max(seen.values()) > 8


def test_arcs_are_forbidden_if_all_their_routes_cost_too_much(root):
    """Labels that are left out for their cost or their load change nothing."""
    pricer, whole = root.pricer, root.master.whole
    reduced = pricer.reduce(root.master.cuts, root.master.solution.duals)
    here = pricer.labels(reduced.graph, whole.limit)
    there = pricer.labels(reduced.backward, whole.limit)
    leave_out_none = np.full((whole.limit + 1, whole.size), -FORBIDDEN)
    shares = []
    for share in (0.001, 0.01, 0.05, 0.2):
        pricer.allowed = whole.allowed.copy()
        spare = pricer.fix(reduced, int(root.bound * (1 + share))).spare
        passable = np.zeros(whole.allowed.shape, bool)
        for node in range(1, whole.size):
            find_passable(
                reduced.graph, here, there, leave_out_none, spare, passable, node
            )
        assert (pricer.allowed == (whole.allowed & passable)).all()
        shares.append(passable.mean())
    assert shares[0] < 0.5 * shares[-1]


def every_route(whole):
    """All routes within the capacity, by brute force."""
    sizes = range(1, whole.size)
    routes = [tour for size in sizes for tour in permutations(sizes, size)]
    return [tour for tour in routes if whole.demands[[*tour]].sum() <= whole.capacity]


@pytest.fixture(params=["symmetric", "asymmetric"])
def tiny(request, forever):
    """Five customers, with duals and three cuts: (whole, pricer, reduced costs)."""
    matrix = np.random.default_rng(8).integers(10, 90, size=(6, 6))
    if request.param == "symmetric":
        matrix = matrix + matrix.T
    instance = ff.Instance(
        matrix=np.where(np.eye(6), 0, matrix),
        demands=[3, 4, 5, 2, 3],
        capacity=11,
        vehicles=3,
    )
    whole = make_whole(instance, ff.Plan([[1, 2], [3, 4], [5]]), 0.0)
    pricer = Pricer(whole, forever)
    everywhere = np.ones(6, bool)
    cuts = [SubsetRow((1, 2, 4), everywhere), SubsetRow((3, 4, 5), everywhere)]
    cuts.append(SubsetRow((1, 2, 3, 5), everywhere, (1,), 3))
    duals = np.array([9.0, 8.0, 7.0, 9.0, 8.0, 0.0, -2.0, -3.0, -1.5]) * 20
    return whole, pricer, pricer.reduce(cuts, duals)


def test_an_arc_is_passable_down_to_the_unit(tiny):
    """It is so if its cheapest route has the largest cost that is allowed, not more."""
    whole, pricer, reduced = tiny
    routes = every_route(whole)
    costs = walk(reduced.graph, pad(routes))
    here = pricer.labels(reduced.graph, whole.limit)
    there = pricer.labels(reduced.backward, whole.limit)
    cheapest = cheapest_labels(reduced.graph, there)
    least = np.full((6, 6), FORBIDDEN)
    for route, cost in zip(routes, costs.tolist(), strict=True):
        np.minimum.at(least, ([0, *route], [*route, 0]), cost)
    for i, j in np.argwhere(least < FORBIDDEN):
        for most in (least[i, j], least[i, j] - 1):
            passable = np.zeros((6, 6), bool)
            node = i or j
            find_passable(reduced.graph, here, there, cheapest, most, passable, node)
            assert passable[i, j] == (most == least[i, j])


def test_a_route_of_exactly_the_largest_cost_is_enumerated(tiny):
    """Of each set of customers the cheapest route counts, up to the last unit."""
    whole, pricer, reduced = tiny
    routes = every_route(whole)
    least = {}
    costs = walk(reduced.graph, pad(routes)).tolist()
    for route, cost in zip(routes, costs, strict=True):
        key = frozenset(route)
        least[key] = min(cost, least.get(key, FORBIDDEN))
    labels = pricer.labels(reduced.backward, whole.limit)
    for most in sorted(least.values())[:12]:
        rows = enumerate_routes(pricer, reduced, labels, most, Room(10**4, 10**4))
        found = {frozenset(row[row > 0].tolist()) for row in rows}
        assert found == {key for key, cost in least.items() if cost <= most}


def test_reduced_costs_are_costs_less_duals(root):
    """The reduced cost of a route is its cost less the duals of the rows it is in."""
    duals = np.rint(root.master.solution.duals * 1000) / 1000
    rows = pad(root.master.routes)
    costs = root.master.whole.costs[rows[:, :-1], rows[:, 1:]].sum(axis=1)
    table = root.master._coefficients(rows)
    table[:, root.master.whole.size - 1] = 0  # the fleet's dual is not in them
    walked = walk(root.pricer.reduce(root.master.cuts, duals).graph, rows)
    assert np.allclose(walked / DUAL_UNIT, costs / DUAL_UNIT - table @ duals, atol=1e-6)


def test_more_cuts_than_a_word_has_bits_are_counted(root):
    """The reduced cost of a route is right with over 64 cuts of each divisor."""
    whole, rows = root.master.whole, pad(root.master.routes)
    master = Master(whole, 1e3)
    master.add_cuts(draw_cuts(whole, 300))
    thirds = sum(cut.divisor == 3 for cut in master.cuts)
    assert min(thirds, len(master.cuts) - thirds) > 64
    rng = np.random.default_rng(4)
    duals = -rng.integers(0, 3000, whole.size + len(master.cuts)) / 1000
    table = master._coefficients(rows)
    table[:, whole.size - 1] = 0  # the fleet's dual is not in reduced costs
    costs = whole.costs[rows[:, :-1], rows[:, 1:]].sum(axis=1) / DUAL_UNIT
    pricer = Pricer(whole, root.pricer.seconds_left)
    reduced = pricer.reduce(master.cuts, duals)
    walked = walk(reduced.graph, rows)
    assert np.allclose(walked / DUAL_UNIT, costs - table @ duals, atol=1e-6)
    # Halves that are joined count as whole routes do. These duals make routes long.
    duals[: whole.size] = 2 * root.master.solution.duals[: whole.size]
    reduced = pricer.reduce(master.cuts, duals)
    priced = pricer.price(reduced, EXACT, FORBIDDEN // 4, 40)
    labels = pricer.labels(reduced.graph, whole.limit)
    some = np.flatnonzero(labels.num_settled)
    least = (labels.settled_cost[some, 0] + reduced.graph.reduced[some, 0]).min()
    walked = walk(reduced.graph, pad(priced.routes))
    assert priced.least == least == walked[0]
    assert (np.diff(walked) >= 0).all()


def test_the_clock_is_looked_at_inside_the_labels(make_instance, fake_clock):
    """Labels are settled in slices; time can be over between two of them."""
    instance = make_instance(n=30, vehicles=3, capacity=60, seed=1)
    whole = make_whole(instance, ff.assess_fleet(instance).packing, 0.0)
    clock = fake_clock(3)
    pricer = Pricer(whole, clock)
    graph = pricer.reduce([], np.full(whole.size, 100.0)).graph
    with pytest.raises(OutOfTimeError):
        pricer.labels(graph, whole.limit)
    assert clock.looks == 3


def all_routes(whole, reduced, most):
    """The customers of all routes of at most this reduced cost, by brute force."""
    found = set()
    for size in range(1, whole.size):
        for chosen in combinations(range(1, whole.size), size):
            if whole.demands[list(chosen)].sum() > whole.capacity:
                continue
            best = min(permutations(chosen), key=lambda tour: whole.cost_of([tour]))
            if walk(reduced.graph, pad([best]))[0] <= most:
                found.add(frozenset(chosen))
    return found


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 9])
def test_every_cheap_route_is_enumerated(seed, odd, forever):
    """No set of customers whose best route is below the gap is missed."""
    instance, plan, vehicle_cost = odd(seed)
    whole = make_whole(instance, plan, vehicle_cost)
    pricer = Pricer(whole, forever)
    master = Master(whole, 2e3)
    master.add_routes(plan.tours)
    reduced = pricer.reduce([], master.solve().duals)
    labels = pricer.labels(reduced.backward, whole.limit)
    most = whole.goal(plan.cost_v(instance, vehicle_cost)) // 20
    rows = enumerate_routes(pricer, reduced, labels, most, Room(10**5, 10**5))
    sets = [frozenset(route) for route in unpad(rows)]
    assert len(set(sets)) == len(sets)
    # Rounding of equal costs may choose another route of the same set.
    assert set(sets) >= all_routes(whole, reduced, most)
    assert (walk(reduced.graph, rows) <= most).all()


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("seed", [12, 16, 58])
def test_every_cheap_route_is_enumerated_under_cuts(seed, asymmetric, odd, forever):
    """Penalties of many cuts, and arcs that are fixed, hide no cheap route."""
    instance, plan, vehicle_cost = odd(seed)
    rng = np.random.default_rng(seed)
    if asymmetric:
        distances = instance.distances
        instance = ff.Instance(
            matrix=distances * rng.uniform(0.8, 1.2, distances.shape),
            demands=instance.demands,
            capacity=instance.capacity,
            vehicles=instance.vehicles,
        )
    whole = make_whole(instance, plan, vehicle_cost)
    pricer = Pricer(whole, forever)
    master = Master(whole, 2e3)
    master.add_cuts(draw_cuts(whole, 200))
    for _ in range(5):
        reduced = pricer.reduce(master.cuts, master.solve().duals)
        master.add_routes(pricer.price(reduced, EXACT, 0, 60).routes)
    duals = master.solve().duals
    duals[whole.size :] -= rng.uniform(0, 10, len(master.cuts))
    before = pricer.reduce(master.cuts, duals)
    bound = pricer.price(before, EXACT, 0, 1).bound
    fixed = pricer.fix(before, bound + 500 * DUAL_UNIT)
    after = pricer.reduce(master.cuts, duals)
    room = Room(10**5, 10**5)
    rows = enumerate_routes(pricer, after, fixed.labels[1], fixed.spare, room)
    cheap = all_routes(whole, before, fixed.spare)
    assert 15 < len(cheap) < len(all_routes(whole, before, FORBIDDEN))
    assert {frozenset(route) for route in unpad(rows)} >= cheap


@pytest.mark.parametrize("seed", range(24))
def test_cuts_on_four_and_five_customers_keep_the_optimum(
    seed, odd, optimal_plan, forever
):
    """With these cuts alone, the bound is below the optimum, whose tours are kept."""
    instance, plan, vehicle_cost = odd(seed)
    if instance.num_customers < 6:
        pytest.skip("four or five of these customers are nearly all")
    best = optimal_plan(instance, vehicle_cost=vehicle_cost)
    whole = make_whole(instance, plan, vehicle_cost)
    optimum = whole.cost_of(best.tours)
    root = Root(whole, optimum, plan.tours, forever)
    root.master.add_cuts(draw_cuts(whole, 100))
    for _ in root._converge():
        pass
    assert root.bound <= optimum
    root._close(stalled=True)
    assert root.bound <= optimum
    kept = {frozenset(route) for route in unpad(root.pool)}
    assert kept >= {frozenset(tour) for tour in best.tours}


def test_a_small_room_ends_the_enumeration(odd, forever):
    """If there are more routes than there is room for, there is no pool."""
    instance, plan, _ = odd(4)
    whole = make_whole(instance, plan, 0.0)
    pricer = Pricer(whole, forever)
    reduced = pricer.reduce([], np.zeros(whole.size))
    labels = pricer.labels(reduced.backward, whole.limit)
    for room in (Room(9, 999), Room(999, 9)):
        assert enumerate_routes(pricer, reduced, labels, FORBIDDEN // 2, room) is None


def test_arrays_of_labels_grow_up_to_a_limit(odd, forever, monkeypatch):
    """Full arrays are enlarged without a change of the result, but not for ever."""
    instance, plan, _ = odd(4)
    whole = make_whole(instance, plan, 0.0)
    found = []
    for room in ((1 << 15, 1 << 9), (16, 1)):
        pricer = Pricer(whole, forever)
        pricer._room = room
        reduced = pricer.reduce([], np.full(whole.size, 1.0))
        found.append(pricer.price(reduced, EXACT, FORBIDDEN // 4, 5))
    assert pricer._room > (16, 1)
    assert found[0] == found[1]
    monkeypatch.setattr(pricing, "_MOST_LABELS", 1)
    pricer._room = 16, 1
    with pytest.raises(TooManyLabelsError):
        pricer.price(reduced, EXACT, FORBIDDEN // 4, 5)


def test_branching_begins_with_the_most_divided_pair():
    """Pairs of customers come by how close to one half their common share is."""
    shares = {(1, 2): 0.9, (1, 3): 0.4, (2, 4): 0.7, (3, 4): 1.0}
    master = SimpleNamespace(support=lambda: (list(shares), list(shares.values())))
    pool = SimpleNamespace(_whole=SimpleNamespace(size=5))
    assert RoutePool._pairs(pool, master) == [(1, 3), (2, 4), (1, 2)]


def test_the_lowest_bit_of_a_word():
    """Each of the 64 places is found, whatever bits follow."""
    for place in range(64):
        for more in (0, 1 << 63, (1 << 64) - 1):
            word = (1 << place) | (more >> place << place)
            assert lowest_bit(np.uint64(word)) == place
