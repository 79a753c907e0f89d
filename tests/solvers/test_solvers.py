"""What holds for every solver alike."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet import solvers
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.search import Stop
from fixedfleet.search.traits import search_traits

TIME_LIMIT = 0.1


def _installed(name: str) -> bool:
    try:
        solvers.get(name)
    except MissingPackageError:
        return False
    return True


INSTALLED = [name for name in solvers.SOLVERS.names() if _installed(name)]
# Populations and restarts find the optimum of seven customers; one descent need not.
OPTIMAL = {"hgs", "pyvrp"}


@pytest.fixture(params=INSTALLED)
def solver(request: pytest.FixtureRequest) -> solvers.Solver:
    """Each solver that is installed here."""
    return solvers.get(request.param)


def test_plan_without_faults(
    solver: solvers.Solver, small: ff.Instance, optimal_plan
) -> None:
    """Each solver plans each small instance within its fleet, never below the best."""
    counts = search_traits(solver.name).counts
    stop = Stop(iterations=500) if counts else Stop(2 * TIME_LIMIT)
    plan = solvers.run(solver, small, stop=stop, seed=1)
    assert plan is not None
    assert plan.check(small) == []
    best = optimal_plan(small)
    assert best is not None
    optimum, length = best.length(small), plan.length(small)
    assert length >= optimum * (1 - 1e-6)
    if solver.name in OPTIMAL:
        assert length == pytest.approx(optimum, rel=1e-6)


def test_impossible_fleet(solver: solvers.Solver, impossible: ff.Instance) -> None:
    """No solver passes off as feasible what is not."""
    plan = solvers.run(solver, impossible, stop=Stop(TIME_LIMIT))
    assert plan is None or not plan.is_feasible(impossible)


def test_amounts_too_fine_for_the_package(solver: solvers.Solver) -> None:
    """Amounts of twelve digits may cost a solver the plan, never overload a vehicle."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[1, 0], [0, 1], [2, 0], [0, 2]],
        demands=[0.123456789012, 0.876543210988, 0.5, 0.499999999999],
        capacity=1,
        vehicles=2,
    )
    plan = solvers.run(solver, instance, stop=Stop(TIME_LIMIT))
    faults = ["no plan"] if plan is None else plan.check(instance)
    assert not [fault for fault in faults if "carries" in fault]
    assert not faults or "rounded up" in solver.limits


def test_overloaded_customer(solver: solvers.Solver) -> None:
    """A customer who fits no vehicle leads to no feasible plan and to no crash."""
    instance = ff.Instance(
        matrix=[[0, 1, 2], [1, 0, 1], [2, 1, 0]],
        demands=[50, 50],
        capacity=40,
        vehicles=3,
    )
    plan = solvers.run(solver, instance, stop=Stop(TIME_LIMIT))
    assert plan is None or not plan.is_feasible(instance)


def test_starts_from_a_plan(solver: solvers.Solver, make_instance) -> None:
    """A start is improved upon or kept."""
    instance = make_instance(n=9, vehicles=3, capacity=9, demands=[3] * 9)
    start = ff.Plan([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    plan = solvers.run(solver, instance, stop=Stop(TIME_LIMIT), start=start)
    assert plan is not None
    assert plan.check(instance) == []
    assert plan.length(instance) <= start.length(instance)


def test_quiet(
    solver: solvers.Solver, square: ff.Instance, capfd: pytest.CaptureFixture[str]
) -> None:
    """No solver prints anything."""
    solvers.run(solver, square, stop=Stop(TIME_LIMIT))
    assert capfd.readouterr() == ("", "")


def test_limits_are_said(solver: solvers.Solver) -> None:
    """Each solver has its name, and says what it cannot do."""
    assert solver.name in solvers.SOLVERS.names()
    assert solver.limits


def test_unknown_name() -> None:
    """An unknown name is refused with the names that are known."""
    with pytest.raises(InputError, match="unknown solver 'hsg': choose from hgs, "):
        solvers.get("hsg")


@pytest.mark.parametrize("package", ["pyvrp", "vroom"])
def test_missing_package(uninstall, package: str) -> None:
    """A package that is not installed is named with the extra that installs it."""
    uninstall(package)
    with pytest.raises(MissingPackageError, match=r"pip install 'fixedfleet\[peers\]'"):
        solvers.get(package)


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        ({"seconds": 1e300}, "time limit is 1e.300; ortools takes at most 1000000"),
        ({"iterations": 5}, "ortools cannot count iterations: give a time limit"),
    ],
)
def test_a_limit_that_the_package_cannot_count(square, stop, message) -> None:
    """No solver runs without a time limit, or with one that it cannot count."""
    with pytest.raises(InputError, match=message):
        solvers.run(solvers.get("ortools"), square, stop=Stop(**stop))
