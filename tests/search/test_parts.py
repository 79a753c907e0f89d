"""Parts of a plan, and how threads search them at the same time."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.deadline import Deadline
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import parts
from fixedfleet.search.parts import DividedPlan, search_in_threads


@pytest.fixture(scope="module")
def instance() -> ff.Instance:
    """120 customers, with three vehicles to spare."""
    drawn = generate.uchoa(120, seed=6, route_size=6.0)
    return drawn.with_vehicles(drawn.vehicles + 3)


@pytest.fixture
def tours(instance) -> DividedPlan:
    plan = assess_fleet(instance.with_vehicles(instance.vehicles - 3)).packing
    return DividedPlan(instance, plan, seed=1)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_all_tours_are_divided(tours, instance, count):
    """Each customer is in one part, with a tour of its own, and no vehicle is lost."""
    parts = tours.divide(count)
    customers = sorted(stop for part in parts for stop in part.customers)
    assert len(parts) == count
    assert customers == list(range(1, 121))
    assert sum(part.instance.vehicles for part in parts) == instance.vehicles
    sizes = [len(part.customers) for part in parts]
    assert max(sizes) - min(sizes) <= 2 * max(map(len, tours.tours))
    for part in parts:
        assert part.plan.is_feasible(part.instance)
        assert part.plan.renumbered(part.customers).tours == tuple(part.tours)


def test_parts_have_no_tour_in_common_and_are_not_in_vain(tours):
    """Parts can be searched at the same time, and none is searched again in vain."""
    in_vain = set()
    for _ in range(20):
        parts = [tours.draw(30, in_vain) for _ in range(3)]
        parts = [part for part in parts if part is not None]
        together = [tour for part in parts for tour in part.tours]
        assert len(set(together)) == len(together)
        assert all(len(part.tours) > 1 for part in parts)
        drawn = {frozenset(part.tours) for part in parts}
        assert not drawn & in_vain
        in_vain |= drawn
        for part in parts:
            assert not tours.replace(part, part.plan)


def test_a_search_in_vain_changes_nothing(tours):
    """Not even the order of the tours, on which the names of the vehicles depend."""
    before = tours.plan()
    part = tours.draw(30, set())
    assert part is not None
    tours.replace(part, part.plan)
    assert tours.plan() == before


def line_of(*lengths, vehicles=None, seed=1):
    """A plan of tours on a line, each with so many customers; the last is far away."""
    numbers = iter(range(1, sum(lengths) + 1))
    plan = ff.Plan([next(numbers) for _ in range(length)] for length in lengths)
    places = [(2**place, 1) for place, tour in enumerate(plan) for _ in tour]
    instance = ff.Instance(
        depot=(0, 0),
        customers=places,
        demands=[1] * len(places),
        capacity=max(lengths),
        vehicles=vehicles or len(lengths),
    )
    return DividedPlan(instance, plan, seed)


@pytest.mark.parametrize(
    ("size", "tours"), [(1, 2), (5, 2), (6, 3), (7, 3), (8, 4), (100, 6)]
)
def test_a_part_has_at_least_two_tours_and_at_most_its_size(size, tours):
    """Tours are added while the customers are at most as many as was asked for."""
    six = line_of(2, 2, 2, 2, 2, 2)
    for _ in range(10):
        part = six.draw(size, set())
        assert len(part.tours) == tours
        six.replace(part, part.plan)


@pytest.mark.parametrize(
    ("lengths", "count", "sizes"),
    [
        ((1, 1, 1, 1), 4, [1, 1, 1, 1]),
        ((1, 1, 1, 1), 2, [2, 2]),
        ((1, 1, 1, 1, 1), 5, [1, 1, 1, 1, 1]),
        ((9, 1, 1), 3, [1, 1, 9]),
        ((1, 1, 9), 3, [1, 1, 9]),
        ((1, 1, 1, 1, 1, 5), 2, [5, 5]),
    ],
)
def test_parts_are_about_as_large(lengths, count, sizes):
    """Equal tours give equal parts, and no part is empty."""
    for seed in range(5):
        parts = line_of(*lengths, seed=seed).divide(count)
        assert sorted(len(part.customers) for part in parts) == sizes


def test_spare_vehicles_are_shared_out():
    """Each part gets as many of the vehicles without a tour, the first ones more."""
    parts = line_of(1, 1, 1, vehicles=8).divide(3)
    assert [part.instance.vehicles for part in parts] == [3, 3, 2]


def test_one_tour_is_no_part(instance):
    """There is nothing to exchange within one tour."""
    whole = DividedPlan(instance, ff.Plan([range(1, 121)]), seed=1)
    assert whole.draw(100, set()) is None


def test_tours_that_are_searched_are_in_no_other_part():
    """If all tours but one are searched, no part is left; they come back later."""
    five = line_of(2, 2, 2, 2, 2)
    first = five.draw(8, set())
    assert len(first.tours) == 4
    assert five.draw(100, set()) is None
    five.replace(first, first.plan)
    assert len(five.draw(100, set()).tours) == 5


def test_a_plan_is_complete_while_parts_of_it_are_searched(tours, instance):
    """The tours of a part that is searched still belong to the plan."""
    parts = [tours.draw(30, set()) for _ in range(2)]
    assert tours.plan().is_feasible(instance)
    tours.replace(parts[1], parts[1].plan)
    assert tours.plan().is_feasible(instance)


def test_spare_vehicles_come_back_with_their_part():
    """Vehicles without a tour go to the parts that are searched, and come back."""
    six = line_of(1, 1, 1, 1, 1, 1, vehicles=9)
    parts = [six.draw(2, set(), cores=2) for _ in range(2)]
    assert [part.instance.vehicles for part in parts] == [4, 3]
    for part in parts:
        six.replace(part, part.plan)
    assert six.draw(2, set()).instance.vehicles == 5


def test_parts_are_replaced_by_what_is_found(tours, instance):
    """The tours of a part are those of its plan, and all others stay."""
    before = tours.plan()
    first, second = (tours.draw(30, set()) for _ in range(2))
    turned = ff.Plan(tour[::-1] for tour in first.plan)
    assert tours.replace(first, turned)
    assert not tours.replace(second, second.plan)
    after = tours.plan()
    assert after.is_feasible(instance)
    gone = set(before.tours) - set(after.tours)
    assert gone == {tour for tour in first.tours if len(tour) > 1}


def test_the_same_seed_draws_the_same_parts(instance):
    """Parts and their seeds are functions of the seed alone."""
    plan = assess_fleet(instance).packing
    first, again, other = (
        [
            (part.customers, part.seed)
            for part in DividedPlan(instance, plan, seed).divide(3)
        ]
        for seed in (4, 4, 5)
    )
    assert first == again != other


# ------------------------------------------------------------------------- threads


def wait_until_over(part, deadline: Deadline) -> str:
    """Stand in for a search; a thread that is never told says so."""
    for _ in range(2000):
        if deadline.over():
            return f"{part} ended"
        time.sleep(0.005)
    return f"{part} was never told"


def drawing(parts, search=wait_until_over):
    """Return a function that draws each of some parts once."""
    rest = list(parts)

    def draw(deadline):
        if not rest:
            return None
        part = rest.pop(0)
        return part, partial(search, part, deadline)

    return draw


@pytest.mark.parametrize("iterations", [None, 100])
def test_each_part_has_a_thread_of_its_own(iterations):
    """As many parts are searched at the same time as there are cores."""
    barrier = threading.Barrier(3, timeout=10)

    def search(part, deadline):
        barrier.wait()  # all at the same time
        return part.upper()

    limit = Deadline(60, iterations=iterations)
    found = dict(search_in_threads(3, drawing("abcdef", search), limit))
    assert sorted(found.values()) == list("ABCDEF")


@pytest.mark.parametrize("iterations", [None, 100])
def test_after_none_no_part_is_drawn_until_another_has_ended(monkeypatch, iterations):
    """Draws in vain would depend on how often this thread looks at the time."""
    monkeypatch.setattr(parts, "_POLL_SECONDS", 0.001)
    draw_one, calls = drawing("a", lambda *_: time.sleep(0.1)), []

    def draw(limit):
        calls.append(limit)
        return draw_one(limit) if len(calls) == 1 else None

    limit = Deadline(60, iterations=iterations)
    assert len(list(search_in_threads(2, draw, limit))) == 1
    assert len(calls) == 3  # one part, none beside it, none after it


@pytest.mark.parametrize(("iterations", "order"), [(100, "abcdef"), (None, "bcdefa")])
def test_only_with_iterations_a_part_waits_for_another(iterations, order):
    """A slow part delays no other one, unless the order must be the same each time."""
    others = threading.Event()

    def search(part, deadline):
        if part == "a":
            others.wait(10 if iterations is None else 0.05)

    found = ""
    limit = Deadline(60, iterations=iterations)
    for part, _ in search_in_threads(2, drawing("abcdef", search), limit):
        found += part
        if len(found) == 5:
            others.set()
    assert found == order


@pytest.mark.parametrize("cores", [1, 2])
def test_when_the_user_stops_nobody_is_waited_for(monkeypatch, cores):
    """The caller can then return the plan that it has; the threads end later."""
    monkeypatch.setattr(parts, "_GRACE_SECONDS", 10_000)
    asking, searching, told = [], [], threading.Event()

    def search(part, deadline):
        searching.append(threading.current_thread())
        told.wait(60)  # as HGS-CVRP, which cannot be stopped

    def stop():
        asking.append(threading.current_thread())
        return len(asking) > 2

    drawn = drawing("abcdef", search)
    assert not list(search_in_threads(cores, drawn, Deadline(10_000, stop=stop)))
    assert len(searching) == cores
    assert all(thread.is_alive() and thread.daemon for thread in searching)
    assert {*asking} == {threading.current_thread()}
    told.set()


def test_threads_look_at_the_time_themselves(monkeypatch):
    """Without a stop, each thread ends at the deadline, and no part is drawn then."""
    monkeypatch.setattr(parts, "_GRACE_SECONDS", 10)  # a busy machine is slow
    begun = []

    def search(part, deadline):
        begun.append(part)
        return wait_until_over(part, deadline)

    deadline = Deadline(1.0, clock=lambda: float(len(begun) == 2))
    found = dict(search_in_threads(2, drawing("abcdef", search), deadline))
    assert found == {"a": "a ended", "b": "b ended"}


def test_what_a_thread_raises_is_raised():
    """A fault in one part is not lost."""

    def search(part, deadline):
        raise ValueError(f"in {part}")

    with pytest.raises(ValueError, match=r"in [ab]"):
        list(search_in_threads(2, drawing("ab", search), Deadline(60)))


def test_what_the_stop_raises_ends_the_threads():
    """After a second Ctrl-C the threads are told at once, not at their deadline."""
    ended, calls = [], []

    def search(part, deadline):
        ended.append(wait_until_over(part, deadline))

    def stop():
        calls.append(None)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        limit = Deadline(10_000, stop=stop)
        list(search_in_threads(2, drawing("ab", search), limit))
    for _ in range(2000):
        if len(ended) == 2:
            break
        time.sleep(0.005)
    assert sorted(ended) == ["a ended", "b ended"]
