"""VRPLIB solutions."""

from __future__ import annotations

import pytest

from fixedfleet import InputError, Instance, Plan, VehicleType
from fixedfleet.files import read_plan, read_solution_cost, write_plan


@pytest.fixture
def sol(tmp_path):
    """Return a writer of text into a .sol file."""

    def sol(text):
        path = tmp_path / "x.sol"
        path.write_text(text)
        return path

    return sol


def test_a_solution(sol):
    """Routes become tours and the stated cost is read; remarks are passed over."""
    path = sol("Route #1: 3 1\nRoute #2: 2\nCost 27591\nTime: 3.5 s\n# by hand\n")
    assert read_plan(path) == Plan([[3, 1], [2]])
    assert read_solution_cost(path) == 27591


def test_a_solution_of_lkh(sol):
    """The file that LKH-3 writes, in the format of SINTEF, is read, too."""
    head = "Instance name : A\nDate          : Mon\nReference     : x\nSolution\n"
    path = sol(f"{head}Route 1 : 3 1 \nRoute 2 : 2 \n")
    assert read_plan(path) == Plan([[3, 1], [2]])


def test_a_solution_without_cost(sol):
    """A solution need not state a cost."""
    assert read_solution_cost(sol("Route #1: 3 1\n")) is None


def test_what_is_written(square, tmp_path):
    """A plan is written as other tools of the field read it."""
    plan = Plan([[1, 2], [4, 3]])
    write_plan(plan, square, tmp_path / "x.sol")
    assert (tmp_path / "x.sol").read_text() == (
        f"Route #1: 1 2\nRoute #2: 4 3\nCost {plan.length(square)!r}\n"
    )


@pytest.fixture
def mixed():
    """Three customers for two small vehicles, which come first, and a large one."""
    return Instance(
        depot=(0, 0),
        customers=[(1, 0), (2, 0), (3, 0)],
        demands=[1, 1, 1],
        vehicle_types=[VehicleType(capacity=1, count=2), VehicleType(capacity=2)],
    )


def test_in_a_mixed_fleet_a_route_has_the_number_of_its_vehicle(mixed, sol, tmp_path):
    """Two tours of one type have two numbers; a number says which type a tour has."""
    plan = Plan([[3], [1], [2]], [1, 0, 0])
    write_plan(plan, mixed, tmp_path / "p.sol")
    text = (tmp_path / "p.sol").read_text()
    assert text.splitlines()[:3] == ["Route #1: 1", "Route #2: 2", "Route #3: 3"]
    found = read_plan(tmp_path / "p.sol", mixed)
    assert found == Plan([[1], [2], [3]], [0, 0, 1])
    assert read_plan(sol("Route #3: 1 2\n"), mixed) == Plan([[1, 2]], [1])


@pytest.mark.parametrize("number", [0, 4])
def test_in_a_mixed_fleet_a_route_of_no_vehicle_is_refused(mixed, sol, number):
    """Vehicles are numbered from 1; in a fleet of equal vehicles it does not matter."""
    path = sol(f"Route #{number}: 1\n")
    with pytest.raises(InputError, match=f"Route #{number}, but there are 3 vehicles"):
        read_plan(path, mixed)
    assert read_plan(path) == Plan([[1]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello world\n", "no line 'Route #1: …', so this is not a solution"),
        ("Route #1: 1 x\n", "line 1: a customer is 'x', not a whole number from 1"),
        ("Route #1: 1 0\n", "line 1: a customer is '0', not a whole number from 1"),
        ("Route #1: 1\nRoute #1: 2\n", "line 2: a second Route #1"),
        ("Route 1 2\n", "line 1: 'Route 1 2' is neither 'Route #1: …' nor 'Cost …'"),
        ("Cost 1\nCost 2\n", "line 2: a second Cost"),
        ("Route #1: 1\nCost nan\n", "line 2: Cost is 'nan', not a finite number"),
        ("Route #1: 1\n2 3\n", "line 2: '2 3' is neither 'Route #1: …' nor 'Cost …'"),
    ],
)
def test_a_solution_that_is_wrong(sol, text, said):
    """Each fault of a solution is told with its line; no route is passed over."""
    with pytest.raises(InputError) as caught:
        read_plan(sol(text))
    assert str(caught.value).endswith(said)
