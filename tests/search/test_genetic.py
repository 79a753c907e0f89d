"""HGS-CVRP, in one run and in slices of time."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.errors import InputError
from fixedfleet.fleet import assess_fleet
from fixedfleet.search import Stop, genetic, improve
from fixedfleet.search.genetic import AlgorithmParameters, hgs_plans

GOOD, POOR = ff.Plan([[1, 2], [3, 4]]), ff.Plan([[1, 3], [2, 4]])

# ------------------------------------------------------------------------- slices


@pytest.fixture
def slices(monkeypatch):
    """A genetic search that takes no time; returns what each slice was given."""
    given = []

    def instead(instance, **options):
        given.append(options)
        return [GOOD, POOR]

    monkeypatch.setattr(genetic, "hgs_plans", instead)
    return given


def test_a_long_search_is_cut_and_stops_between_slices(slices, square):
    """A search that is stopped ends after the running slice, with its plan."""
    stop = Stop(60, asked=lambda: len(slices) == 3)
    found = improve(square, POOR, search="hgs", stop=stop, seed=5)
    assert found.plan == GOOD
    assert [given["stop"].seconds for given in slices] == [genetic._LONGEST] * 3
    assert [given["seed"] for given in slices] == [5, 6, 7]


def test_a_slice_goes_on_from_the_plans_of_the_one_before(slices, square):
    """The best plans of a slice join the first population of the next."""
    stop = Stop(60, asked=lambda: len(slices) == 2)
    improve(square, POOR, search="hgs", stop=stop)
    assert [given["starts"] for given in slices] == [[POOR], [GOOD, POOR]]


def test_improvements_are_told(slices, square):
    """The start and the better plan of a slice are reported."""
    seen = []
    improve(
        square,
        POOR,
        search="hgs",
        stop=Stop(60, asked=lambda: len(slices) == 2),
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
    found = improve(square, POOR, search="hgs", stop=Stop(60))
    assert found.interrupted
    assert found.plan == GOOD


def test_a_short_search_is_one_slice(monkeypatch, square):
    """A limit of a second is not cut: all of it goes into one population."""
    given, left = [], iter([0.9, 0.0])

    def instead(instance, **options):
        given.append(options)
        return [GOOD]

    monkeypatch.setattr(genetic, "hgs_plans", instead)
    monkeypatch.setattr(Stop, "left", lambda self: next(left))
    improve(square, POOR, search="hgs", stop=Stop(0.9))
    assert [options["stop"].seconds for options in given] == [0.9]
    assert [options["most"] for options in given] == [1]


def test_the_search_by_name_heeds_stop():
    """``hgs`` returns the start if it is stopped at once."""
    instance = generate.uniform(20, 1, seed=2)[0]
    start = assess_fleet(instance).packing
    stop = Stop(60, asked=lambda: True)
    assert improve(instance, start, search="hgs", stop=stop).plan == start


# ------------------------------------------------------------------------ one run


def hgs(instance: ff.Instance, iterations: int, **options) -> ff.Plan | None:
    """The best plan of one run of some iterations, or None."""
    plans = hgs_plans(instance, stop=Stop(iterations=iterations), **options)
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
def test_never_worse_than_the_best_start(make_instance) -> None:
    """Started from several plans, the answer is at least as short as each of them."""
    instance = make_instance(n=60, vehicles=6, capacity=40)
    good = hgs(instance, 2000)
    poor = hgs(instance, 1)
    assert good is not None
    assert poor is not None
    parameters = AlgorithmParameters(mu=1, lambda_=1)
    answer = hgs(instance, 1, starts=[poor, good], parameters=parameters)
    assert answer is not None
    assert answer.length(instance) <= good.length(instance) + 1e-6


def test_several_plans_the_best_first(make_instance) -> None:
    """Asked for several, different feasible plans come back, none before a better."""
    instance = make_instance(n=40, vehicles=5, capacity=30)
    plans = hgs_plans(instance, stop=Stop(iterations=50), most=5, seed=7)
    assert plans[0] == hgs(instance, 50, seed=7)
    assert 1 < len(plans) <= 5
    assert len(set(plans)) == len(plans)
    assert all(plan.is_feasible(instance) for plan in plans)
    lengths = [plan.length(instance) for plan in plans]
    assert lengths == pytest.approx(sorted(lengths))
    assert hgs(instance.with_vehicles(1), 1) is None


def test_overloaded_start_is_repaired(make_instance) -> None:
    """A start that overloads its tours may still help; the answer does not."""
    instance = make_instance(n=6, vehicles=3, capacity=4, demands=[2] * 6)
    start = ff.Plan([[1, 2, 3, 4, 5, 6]])
    plan = hgs(instance, 20, starts=[start])
    assert plan is not None
    assert plan.is_feasible(instance)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (ff.Plan([[1, 2], [3], [4]]), "more than the fleet size of 2"),
        (ff.Plan([[1, 2, 3]]), "start"),
        (ff.Plan([[1, 2], [3, 4, 4]]), "more than once"),
    ],
)
def test_unusable_start(square: ff.Instance, start: ff.Plan, message: str) -> None:
    """A start with too many tours or without a customer is refused with the reason."""
    with pytest.raises(InputError, match=message):
        hgs(square, 10, starts=[start])
