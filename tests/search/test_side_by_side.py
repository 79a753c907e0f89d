"""One search on several cores, side by side with itself."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.deadline import Deadline
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import SearchTask, improve
from fixedfleet.search.auto import auto_search
from fixedfleet.search.ruin_recreate import ruin_recreate
from fixedfleet.search.side_by_side import Exchange, search_side_by_side

LONG, SHORT, SHORTEST = (
    ff.Plan([[1, 3], [2, 4]]),
    ff.Plan([[1, 4], [2, 3]]),
    ff.Plan([[1, 2], [3, 4]]),
)


@pytest.fixture
def cross() -> ff.Instance:
    """Four customers on a cross, so that the three plans differ in length."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(10, 0), (10, 1), (-10, 0), (0, -10)],
        demands=[1] * 4,
        capacity=2,
        vehicles=2,
    )
    lengths = [plan.length(instance) for plan in (LONG, SHORT, SHORTEST)]
    assert lengths[0] > lengths[1] > lengths[2]
    return instance


def task_of(instance, *, cores=2, seconds=60.0, plan=LONG, **limits) -> SearchTask:
    return SearchTask(instance, plan, Deadline(seconds, **limits), cores=cores)


def test_each_search_has_a_thread_a_seed_and_its_share(cross):
    """Cores and iterations are shared out, and no two searches draw the same."""
    tasks, together = [], threading.Barrier(2, timeout=10)

    def search(task):
        tasks.append(task)
        together.wait()
        yield SHORT

    task = replace(task_of(cross, cores=5, iterations=100), seed=3)
    found = list(search_side_by_side(search, task, 2))
    assert found == [SHORT]  # the other one is no better
    assert sorted(own.cores for own in tasks) == [2, 3]
    assert {own.deadline.iterations for own in tasks} == {50}
    assert 3 in {own.seed for own in tasks}
    assert len({own.seed for own in tasks}) == 2


@pytest.mark.parametrize("iterations", [1, 2, 5, 7])
def test_searches_do_no_more_iterations_than_allowed(cross, iterations):
    """If there are fewer iterations than cores, fewer searches run."""
    done = []

    def search(task):
        done.append(task.deadline.iterations)
        yield SHORT

    list(search_side_by_side(search, task_of(cross, cores=5, iterations=iterations)))
    assert 0 < sum(done) <= iterations


def test_only_better_plans_are_yielded(cross):
    """A plan that is worse than one of another search is not reported."""

    def search(task):
        yield SHORTEST
        yield SHORT

    assert list(search_side_by_side(search, task_of(cross))) == [SHORTEST]


def test_of_equal_plans_of_a_search_the_last_is_better(cross):
    """Otherwise it would depend on the clock which one of them is reported first."""
    other = ff.Plan(reversed(SHORTEST.tours))

    def search(task):
        yield SHORTEST
        yield other

    assert list(search_side_by_side(search, task_of(cross), 1)) == [SHORTEST, other]


def test_after_the_time_limit_the_best_of_the_last_plans_is_yielded(cross):
    """No search is cut off by another one that ends a moment earlier."""
    over = threading.Event()
    first = threading.Event()

    def search(task):
        if task.seed == 0:
            first.wait(10)
            time.sleep(0.05)
            yield SHORTEST
        else:
            over.set()
            yield SHORT
            first.set()

    clock = lambda: 100.0 if over.is_set() else 0.0  # noqa: E731
    task = task_of(cross, seconds=10.0, clock=clock, plan=LONG)
    assert list(search_side_by_side(search, task)) == [SHORTEST]


def test_a_search_that_does_not_ask_is_left_when_it_is_stopped(cross):
    """Compiled code that cannot be stopped delays nobody."""
    released, begun = threading.Event(), threading.Event()

    def search(task):
        begun.set()
        released.wait(60)
        yield SHORT

    stopped = list(search_side_by_side(search, task_of(cross, stop=begun.is_set)))
    assert stopped == []
    assert not released.is_set()
    released.set()


def test_only_the_calling_thread_is_asked_to_stop(cross):
    """A function of the user is never called by another thread."""
    asking = set()

    def stop():
        asking.add(threading.current_thread())
        return len(asking) > 1

    def search(task):
        assert not task.deadline.over()
        yield task.exchange(SHORT)

    list(search_side_by_side(search, task_of(cross, stop=stop)))
    assert asking <= {threading.current_thread()}


def test_what_a_search_raises_is_raised(cross):
    """A fault in a thread is not lost."""

    def search(task):
        yield SHORT
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(search_side_by_side(search, task_of(cross)))


def test_searches_end_when_no_further_plan_is_wanted(cross):
    """The loop around a search may leave it; its threads then end."""
    ended = threading.Event()

    def search(task):
        try:
            yield SHORT
        finally:
            ended.set()

    plans = search_side_by_side(search, task_of(cross, cores=1))
    assert next(plans) == SHORT
    plans.close()
    assert ended.wait(10)


def test_a_brief_search_on_one_core_needs_no_thread(cross):
    """It ends before anybody could stop it."""

    def search(task):
        assert threading.current_thread() is threading.main_thread()
        yield SHORT

    task = task_of(cross, cores=1, seconds=0.05)
    assert list(search_side_by_side(search, task)) == [SHORT]


# ------------------------------------------------------------------------ exchange


def test_the_worse_half_gets_the_best_plan(cross):
    """The better half keeps its own plans, so that they stay different."""
    exchange = Exchange(task_of(cross), 3, lambda: False)
    first, second, third = (exchange.of(number) for number in range(3))
    assert first(LONG) == LONG  # no other one has a plan yet
    assert second(SHORTEST) == SHORTEST
    assert third(SHORT) == SHORT
    assert first(LONG) == SHORTEST


def test_with_iterations_a_search_waits_for_those_behind(cross):
    """All compare the plans of the same call, however fast they are."""
    exchange = Exchange(task_of(cross, iterations=9), 2, lambda: False)
    fast, slow = exchange.of(0), exchange.of(1)
    got = []
    thread = threading.Thread(target=lambda: got.append(fast(LONG)))
    thread.start()
    time.sleep(0.05)
    assert not got
    assert slow(SHORT) == SHORT
    thread.join(10)
    assert got == [SHORT]


def test_with_a_time_limit_nobody_waits_for_long(cross):
    """A search that is late is compared by the plan before."""
    exchange = Exchange(task_of(cross), 2, lambda: False)
    exchange.of(1)(SHORTEST)
    assert [exchange.of(0)(LONG) for _ in range(3)] == [SHORTEST] * 3


@pytest.mark.parametrize("end", ["ended", "stopped"])
def test_nobody_waits_for_a_search_that_has_ended(cross, end):
    """The last plan of such a search is still seen."""
    exchange = Exchange(task_of(cross, iterations=9), 2, lambda: end == "stopped")
    if end == "ended":  # the plan of its thread, which ends at once
        thread = threading.Thread(target=exchange.of(1), args=[SHORT])
        thread.start()
        assert exchange.of(0)(LONG) == SHORT
        thread.join(10)
        exchange.end_of(1)()
    else:
        exchange.of(1)(SHORT)
    assert [exchange.of(0)(LONG) for _ in range(2)] == [SHORT] * 2


def test_with_a_time_limit_the_latest_plan_counts(cross):
    """A search that calls more rarely than another one sees its newest plan."""
    exchange = Exchange(task_of(cross), 2, lambda: False)
    exchange.of(1)(LONG)
    exchange.of(1)(SHORTEST)
    assert exchange.of(0)(LONG) == SHORTEST


def test_with_a_time_limit_nobody_waits_for_more_than_one_plan(cross, monkeypatch):
    """After one call more than another search, only its next plan is waited for."""
    exchange = Exchange(task_of(cross), 2, lambda: False)
    for number in (0, 0, 0, 1):
        exchange.of(number)(LONG)
    monkeypatch.setattr(exchange._changed, "wait", pytest.fail)
    for number in (0, 1, 0, 1):
        exchange.of(number)(LONG)


# -------------------------------------------------------------------------- promises


@pytest.mark.parametrize("cores", [2, 3])
def test_the_same_seed_and_cores_give_the_same_plan(cores):
    """With a limit on iterations, threads decide nothing."""
    instance = generate.uchoa(60, seed=2)
    packing = assess_fleet(instance).packing

    def search(task):
        return search_side_by_side(ruin_recreate, task)

    found = [
        improve(instance, packing, search=search, iterations=3000, cores=cores, seed=s)
        for s in (1, 1, 2)
    ]
    assert found[0].plan == found[1].plan != found[2].plan


def test_small_plans_use_all_cores(monkeypatch):
    """The default search of 50 customers runs on each core with its own seed."""
    instance = generate.uchoa(50, seed=2)
    seeds = []

    def breed(task, parameters):
        seeds.append(task.seed)
        yield from ()

    monkeypatch.setattr("fixedfleet.search.auto.genetic_search", breed)
    packing, done = assess_fleet(instance).packing, lambda: len(seeds) == 4
    list(auto_search(task_of(instance, cores=4, plan=packing, stop=done)))
    assert len(set(seeds)) == 4
