"""What holds for every outside solver alike."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.search import SEARCHES, improve

TIME_LIMIT = 0.1


def _installed(name: str) -> bool:
    try:
        SEARCHES.get(name)
    except MissingPackageError:
        return False
    return True


INSTALLED = [name for name in SEARCHES.outside() if _installed(name)]
# Populations and restarts find the optimum of seven customers; one descent need not.
OPTIMAL = {"hgs", "pyvrp"}


@pytest.fixture(params=INSTALLED)
def solver(request: pytest.FixtureRequest) -> str:
    """Each solver that is installed here."""
    return request.param


def test_plan_without_faults(solve, solver: str, small, optimal_plan) -> None:
    """Each solver plans each small instance within its fleet, never below the best."""
    counts = SEARCHES.abilities(solver).counts_iterations
    limits = {"iterations": 500} if counts else {"time_limit": 2 * TIME_LIMIT}
    plan = solve(solver, small, seed=1, **limits)
    assert plan is not None
    assert plan.check(small) == []
    best = optimal_plan(small)
    assert best is not None
    optimum, length = best.length(small), plan.length(small)
    assert length >= optimum * (1 - 1e-6)
    if solver in OPTIMAL:
        assert length == pytest.approx(optimum, rel=1e-6)


def test_impossible_fleet(solve, solver: str, impossible: ff.Instance) -> None:
    """No solver passes off as feasible what is not, and ``improve`` keeps no fault."""
    plan = solve(solver, impossible, time_limit=TIME_LIMIT)
    assert plan is None or not plan.is_feasible(impossible)
    found = improve(impossible, search=solver, time_limit=TIME_LIMIT)
    assert all(fault.endswith("missing") for fault in found.plan.check(impossible))


def test_amounts_too_fine_for_the_package(solve, solver: str) -> None:
    """Amounts of twelve digits may cost a solver the plan, never overload a vehicle."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[1, 0], [0, 1], [2, 0], [0, 2]],
        demands=[0.123456789012, 0.876543210988, 0.5, 0.499999999999],
        capacity=1,
        vehicles=2,
    )
    plan = solve(solver, instance, time_limit=TIME_LIMIT)
    faults = ["no plan"] if plan is None else plan.check(instance)
    assert not [fault for fault in faults if "carries" in fault]
    assert not faults or "rounded up" in SEARCHES.abilities(solver).limitations


def test_overloaded_customer(solve, solver: str) -> None:
    """A customer who fits no vehicle leads to no feasible plan and to no crash."""
    instance = ff.Instance(
        matrix=[[0, 1, 2], [1, 0, 1], [2, 1, 0]],
        demands=[50, 50],
        capacity=40,
        vehicles=3,
    )
    plan = solve(solver, instance, time_limit=TIME_LIMIT)
    assert plan is None or not plan.is_feasible(instance)


def test_starts_from_a_plan(solve, solver: str, make_instance) -> None:
    """An initial plan is improved upon or kept."""
    instance = make_instance(n=9, vehicles=3, capacity=9, demands=[3] * 9)
    initial_plan = ff.Plan([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    plan = solve(solver, instance, initial_plan, time_limit=TIME_LIMIT)
    assert plan is not None
    assert plan.check(instance) == []
    assert plan.length(instance) <= initial_plan.length(instance)


def test_starts_from_a_part_of_a_plan(solve, solver: str, make_instance) -> None:
    """An initial plan that leaves customers unserved is no hindrance."""
    instance = make_instance(n=9, vehicles=4, capacity=9, demands=[3] * 9)
    plan = solve(solver, instance, ff.Plan([[1, 2], [4]]), time_limit=TIME_LIMIT)
    assert plan is not None
    assert plan.check(instance) == []


def test_quiet(
    solve, solver: str, square: ff.Instance, capfd: pytest.CaptureFixture[str]
) -> None:
    """No solver prints anything."""
    solve(solver, square, time_limit=TIME_LIMIT)
    assert capfd.readouterr() == ("", "")


def test_unknown_name(square: ff.Instance) -> None:
    """An unknown name is refused with the names that are known."""
    with pytest.raises(
        InputError, match=r"unknown search 'hsg': choose from auto, .*hgs"
    ):
        improve(square, search="hsg", time_limit=1)


@pytest.mark.parametrize("package", ["pyvrp", "vroom"])
def test_missing_package(uninstall, package: str) -> None:
    """A package that is not installed is named with the extra that installs it."""
    uninstall(package)
    with pytest.raises(MissingPackageError, match=r"pip install 'fixedfleet\[peers\]'"):
        SEARCHES.get(package)


@pytest.mark.parametrize("name", ["ortools", "ortools_descent", "vroom"])
def test_a_limit_that_the_package_cannot_count(square, name: str) -> None:
    """No solver that cannot count runs without a time limit."""
    with pytest.raises(InputError, match=f"{name} cannot count iterations: give a"):
        improve(square, search=name, iterations=5)


@pytest.mark.parametrize("name", [n for n in ("pyvrp", "ortools") if n in INSTALLED])
def test_solvers_with_callbacks_report_while_they_run(name: str, make_instance) -> None:
    """PyVRP and OR-Tools yield plan after plan, each shorter than the last."""
    instance = make_instance(n=40, vehicles=6, capacity=30)
    limits = {"iterations": 200} if name == "pyvrp" else {"time_limit": 0.3}
    found = improve(instance, search=name, **limits)
    costs = [cost for _, cost in found.trace]
    assert len(costs) > 1
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == found.cost


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("hgs:population=1", None),
        ("hgs:mu=5,lambda_=10,nbElite=2,nbClose=2", None),
        ("pyvrp:num_neighbours=5,history_length=10", None),
        ("ortools:metaheuristic=simulated_annealing,first_solution=savings", None),
        ("ortools:metaheuristic=luck", "luck"),
    ],
)
def test_parameters_of_solvers(solve, name: str, error, make_instance) -> None:
    """A solver plans with the parameters that its name is followed by."""
    if name.partition(":")[0] not in INSTALLED:
        pytest.skip("the package is not installed")
    instance = make_instance(n=9, vehicles=3, capacity=9, demands=[3] * 9)
    if error:
        with pytest.raises(InputError, match=error):
            solve(name, instance, time_limit=TIME_LIMIT)
    else:
        plan = solve(name, instance, time_limit=TIME_LIMIT)
        assert plan is not None
        assert plan.check(instance) == []
