"""HGS-CVRP, in one run and in slices of time."""

from __future__ import annotations

import time

import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.deadline import Deadline
from fixedfleet.errors import InputError
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import SearchTask, genetic, improve
from fixedfleet.search.genetic import AlgorithmParameters, genetic_search, hgs_plans

GOOD, POOR = ff.Plan([[1, 2], [3, 4]]), ff.Plan([[1, 3], [2, 4]])

# ------------------------------------------------------------------------- slices


@pytest.fixture
def slices(monkeypatch):
    """A genetic search that takes as long as it may, by a clock that else stands still.

    Returns what each slice was given.
    """
    given, now = [], [0.0]

    def instead(instance, **options):
        left = options["deadline"].left()
        given.append(options | {"seconds": left})
        now[0] += left
        return [GOOD, POOR]

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(genetic, "hgs_plans", instead)
    return given


def test_a_long_search_is_cut_and_stops_between_slices(slices, square):
    """A search that is stopped ends after the running slice, with its plan."""
    found = improve(
        square,
        POOR,
        search=genetic_search,
        time_limit=60,
        stop=lambda: len(slices) == 3,
        seed=5,
    )
    assert found.plan == GOOD
    assert [given["seconds"] for given in slices] == [genetic.LONGEST_SLICE] * 3
    assert [given["seed"] for given in slices] == [5, 6, 7]


def test_the_last_slice_takes_what_is_left(slices, square):
    """No slice is shorter than the others, and nothing of the limit is lost."""
    found = improve(square, POOR, search=genetic_search, time_limit=21)
    assert [given["seconds"] for given in slices] == [2.0] * 9 + [3.0]
    assert [given["most"] for given in slices][-2:] == [AlgorithmParameters().mu, 1]
    assert found.seconds == 21


def test_a_slice_goes_on_from_the_plans_of_the_one_before(slices, square):
    """The best plans of a slice join the first population of the next."""
    improve(
        square,
        POOR,
        search=genetic_search,
        time_limit=60,
        stop=lambda: len(slices) == 2,
    )
    assert [given["initial_plans"] for given in slices] == [[POOR], [GOOD, POOR]]


def test_the_plan_of_an_exchange_is_yielded_and_joins_the_next_slice(slices, square):
    """It may be better than all other plans, and the next slice may be cut off."""
    combined = ff.Plan([[1, 4], [2, 3]])
    deadline = Deadline(60, stop=lambda: len(slices) == 2)
    task = SearchTask(square, POOR, deadline, exchange=lambda _: combined)
    assert list(genetic_search(task)) == [GOOD, combined] * 2
    assert slices[1]["initial_plans"] == [combined, GOOD, POOR]


def test_an_initial_plan_with_unserved_customers_joins_no_population(slices, square):
    """HGS-CVRP refuses such a plan, so it begins without one."""
    improve(square, ff.Plan([[1, 2]]), search=genetic_search, time_limit=0.9)
    assert slices[0]["initial_plans"] == []


def test_improvements_are_told(slices, square):
    """The initial plan and the better plan of a slice are reported."""
    seen = []
    improve(
        square,
        POOR,
        search=genetic_search,
        time_limit=60,
        stop=lambda: len(slices) == 2,
        on_improvement=lambda seconds, cost, plan: seen.append(plan),
    )
    assert seen == [POOR, GOOD]


def test_ctrl_c_keeps_the_best_plan(monkeypatch, square):
    """Ctrl-C during a slice leaves the best plan of those before."""
    answers = iter([[GOOD]])

    def instead(instance, **options):
        for answer in answers:
            return answer
        raise KeyboardInterrupt

    monkeypatch.setattr(genetic, "hgs_plans", instead)
    found = improve(square, POOR, search=genetic_search, time_limit=60)
    assert found.interrupted
    assert found.plan == GOOD


def test_a_short_search_is_one_slice(slices, square):
    """A limit of a second is not cut: all of it goes into one population."""
    improve(square, POOR, search=genetic_search, time_limit=0.9)
    assert [given["seconds"] for given in slices] == [0.9]
    assert [given["most"] for given in slices] == [1]


@pytest.mark.parametrize("search", ["hgs", genetic_search])
def test_a_search_that_is_stopped_at_once_keeps_the_initial_plan(search):
    """Nothing is searched if ``stop`` returns True from the beginning."""
    instance = generate.uniform(20, 1, seed=2)[0]
    packing = assess_fleet(instance).packing
    found = improve(instance, packing, search=search, time_limit=60, stop=lambda: True)
    assert found.plan == packing


# ------------------------------------------------------------------------ one run


def hgs(instance: ff.Instance, iterations: int, **options) -> ff.Plan | None:
    """The best plan of one run of some iterations, or None."""
    deadline = Deadline(iterations=iterations)
    plans = hgs_plans(instance, deadline=deadline, **options)
    return plans[0] if plans else None


def test_same_seed_same_plan(make_instance) -> None:
    """Limited by iterations, the same seed gives the same plan."""
    instance = make_instance(n=40, vehicles=5, capacity=30)
    plans = [hgs(instance, 20, seed=7) for _ in range(2)]
    assert plans[0] is not None
    assert plans[0] == plans[1]


def test_seeds_differ(make_instance) -> None:
    """Seeds 0 and 1 are two seeds."""
    instance = make_instance(n=60, vehicles=6, capacity=40)
    parameters = AlgorithmParameters(mu=1)
    plans = {hgs(instance, 1, seed=seed, parameters=parameters) for seed in (0, 1)}
    assert len(plans) == 2


@pytest.mark.slow
def test_never_worse_than_the_best_initial_plan(make_instance) -> None:
    """Started from several plans, the answer is at least as short as each of them."""
    instance = make_instance(n=60, vehicles=6, capacity=40)
    good = hgs(instance, 2000)
    poor = hgs(instance, 1)
    assert good is not None
    assert poor is not None
    parameters = AlgorithmParameters(mu=1, lambda_=1)
    answer = hgs(instance, 1, initial_plans=[poor, good], parameters=parameters)
    assert answer is not None
    assert answer.length(instance) <= good.length(instance) + 1e-6


def test_several_plans_the_best_first(make_instance) -> None:
    """Asked for several, different feasible plans come back, none before a better."""
    instance = make_instance(n=40, vehicles=5, capacity=30)
    plans = hgs_plans(instance, deadline=Deadline(iterations=50), most=5, seed=7)
    assert plans[0] == hgs(instance, 50, seed=7)
    assert 1 < len(plans) <= 5
    assert len(set(plans)) == len(plans)
    assert all(plan.is_feasible(instance) for plan in plans)
    lengths = [plan.length(instance) for plan in plans]
    assert lengths == pytest.approx(sorted(lengths))
    assert hgs(instance.with_vehicles(1), 1) is None


def test_an_overloaded_initial_plan_is_repaired(make_instance) -> None:
    """A plan that overloads its tours may still help; the answer does not."""
    instance = make_instance(n=6, vehicles=3, capacity=4, demands=[2] * 6)
    plan = hgs(instance, 20, initial_plans=[ff.Plan([[1, 2, 3, 4, 5, 6]])])
    assert plan is not None
    assert plan.is_feasible(instance)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (ff.Plan([[1, 2], [3], [4]]), "more than the fleet size of 2"),
        (ff.Plan([[1, 2, 3]]), "hgs cannot use an initial plan"),
        (ff.Plan([[1, 2], [3, 4, 4]]), "more than once"),
    ],
)
def test_unusable_initial_plan(square: ff.Instance, plan: ff.Plan, message: str):
    """A plan with too many tours or without a customer is refused with the reason."""
    with pytest.raises(InputError, match=message):
        hgs(square, 10, initial_plans=[plan])


def test_a_limit_that_is_over_is_not_no_limit(monkeypatch, square) -> None:
    """HGS-CVRP would take 0 seconds as no limit, and run for ever."""
    given = []

    def instead(*_, **options):
        given.append((options["timeLimit"], options["nbIter"]))
        raise RuntimeError("no feasible solution")

    monkeypatch.setattr(genetic, "solve_cvrp_dist_mtx", instead)
    deadlines = Deadline(0.0), Deadline(9.0, stop=lambda: True), Deadline(iterations=7)
    assert [hgs_plans(square, deadline=one) for one in deadlines] == [[], [], []]
    usual = AlgorithmParameters().nbIter
    assert given == [(1e-3, usual), (1e-3, usual), (0.0, 7)]
