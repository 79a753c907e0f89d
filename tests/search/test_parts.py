"""Parts of a plan, and how threads search them at the same time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.deadline import Deadline
from fixedfleet.fleet import assess_fleet
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


def test_groups_have_no_tour_in_common_and_are_not_in_vain(tours):
    """Groups can be searched at the same time, and none is searched again in vain."""
    in_vain = set()
    for _ in range(20):
        groups = tours.draw_groups(3, 30, in_vain)
        together = [tour for group in groups for tour in group]
        assert len(set(together)) == len(together)
        assert all(len(group) > 1 for group in groups)
        drawn = {frozenset(group) for group in groups}
        assert not drawn & in_vain
        in_vain |= drawn


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
def test_a_group_has_at_least_two_tours_and_at_most_its_size(size, tours):
    """Tours are added while the customers are at most as many as was asked for."""
    six = line_of(2, 2, 2, 2, 2, 2)
    for _ in range(10):
        (group,) = six.draw_groups(1, size, set())
        assert len(group) == tours


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


def test_one_tour_has_no_groups(instance):
    """There is nothing to exchange within one tour."""
    whole = DividedPlan(instance, ff.Plan([range(1, 121)]), seed=1)
    assert whole.draw_groups(2, 100, set()) == []


def test_parts_are_replaced_by_what_is_found(tours, instance):
    """The tours of a part are those of its plan, and all others stay."""
    before = tours.plan()
    parts = tours.parts(tours.draw_groups(2, 30, set()))
    turned = ff.Plan(tour[::-1] for tour in parts[0].plan)
    assert tours.join(parts, [turned, parts[1].plan]) == [True, False]
    after = tours.plan()
    assert after.is_feasible(instance)
    gone = set(before.tours) - set(after.tours)
    assert gone == {tour for tour in parts[0].tours if len(tour) > 1}


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


def test_the_plans_come_back_in_order():
    """Each part has a thread of its own, whichever ends first."""
    barrier = threading.Barrier(3, timeout=10)

    def search(part, deadline):
        barrier.wait()  # all at the same time
        return part, threading.current_thread().name

    with ThreadPoolExecutor(3) as threads:
        found = search_in_threads(threads, search, "abc", Deadline(60))
    assert [part for part, _ in found] == ["a", "b", "c"]
    assert len({name for _, name in found}) == 3


def test_only_the_calling_thread_is_asked_and_all_are_told():
    """A function of the user is never called by another thread."""
    asking = []

    def stop():
        asking.append(threading.current_thread())
        return len(asking) > 2

    with ThreadPoolExecutor(2) as threads:
        found = search_in_threads(
            threads, wait_until_over, "ab", Deadline(10_000, stop=stop)
        )
    assert found == ["a ended", "b ended"]
    assert {*asking} == {threading.current_thread()}


def test_threads_look_at_the_time_themselves():
    """Without a stop, each thread ends at the deadline of the round."""
    with ThreadPoolExecutor(2) as threads:
        found = search_in_threads(threads, wait_until_over, "ab", Deadline(0.02))
    assert found == ["a ended", "b ended"]


def test_what_a_thread_raises_is_raised():
    """A fault in one part is not lost."""

    def search(part, deadline):
        raise ValueError(f"in {part}")

    with (
        ThreadPoolExecutor(2) as threads,
        pytest.raises(ValueError, match="in a"),
    ):
        search_in_threads(threads, search, "ab", Deadline(60))


def test_what_the_stop_raises_ends_the_threads():
    """After a second Ctrl-C the threads are told at once, not at their deadline."""
    ended = []

    def search(part, deadline):
        ended.append(wait_until_over(part, deadline))

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), ThreadPoolExecutor(2) as threads:
        search_in_threads(threads, search, "ab", Deadline(10_000, stop=stop))
    assert sorted(ended) == ["a ended", "b ended"]
