"""Any program that reads VRPLIB and writes a solution can be compared."""

from __future__ import annotations

import sys

import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.evaluate import get_method
from fixedfleet.search import SEARCHES, improve

# Serves each customer by a vehicle of its own, and says what it was given.
PROGRAM = """
import pathlib, sys
given, where, *rest = sys.argv[1:]
lines = pathlib.Path(given).read_text().splitlines()
size = next(int(l.split()[-1]) for l in lines if l.startswith("DIMENSION"))
plan = "".join(f"Route #{i}: {i}\\n" for i in range(1, size)) + "Cost 0\\n"
if where == "-":
    print(plan)
elif where != "nowhere":
    pathlib.Path(where).write_text(plan)
pathlib.Path("other.txt").write_text(" ".join(rest))
sys.exit(int(rest[-1]) if rest[-1].startswith("9") else 0)
"""


@pytest.fixture
def program(tmp_path):
    """Return the beginning of a command line that runs the program."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return f"command:{sys.executable} {path} {{instance}}"


@pytest.fixture(scope="module")
def instance() -> ff.Instance:
    """Twenty customers and as many vehicles."""
    return generate.uniform(20, 1, seed=8)[0].with_vehicles(20)


@pytest.mark.parametrize("where", ["{solution}", "-", "its-own-name.sol"])
def test_the_plan_of_a_program_is_read_and_checked(program, instance, where):
    """The plan comes from the file asked for, another .sol file, or the output."""
    command = f"{program} {where} {{seconds}} {{seed}} {{vehicles}}"
    found = improve(instance, search=command, time_limit=5.0)
    assert found.plan == ff.Plan([[customer] for customer in range(1, 21)])


def test_the_program_is_told_the_limits(solve, instance):
    """It is given its seconds, the seed and the fleet, each in its place."""
    show = f"command:{sys.executable} -c 'import sys; sys.exit(str(sys.argv))'"
    command = f"{show} {{instance}} {{solution}} {{seconds}} {{seed}} {{vehicles}}"
    given = r"instance\.vrp', '\S+plan\.sol', '5', '3', '20'\]"
    with pytest.raises(RuntimeError, match=given):
        solve(command, instance, time_limit=5.0, seed=3, clock=lambda: 0.0)


def test_more_vehicles_than_the_fleet_has_are_passed_over(solve, program, instance):
    """A program that knows no fleet gets no better result by using more vehicles."""
    few, command = instance.with_vehicles(5), f"{program} {{solution}} 1"
    assert solve(command, few, time_limit=5.0).check(few) == ["20 tours for 5 vehicles"]
    assert improve(few, search=command, time_limit=5.0).plan == ff.Plan([])


def test_a_program_that_fails_or_writes_nothing_has_no_plan(program, instance):
    """A failure is told with the program's status; silence is no plan."""
    found = improve(instance, search=f"{program} nowhere 1", time_limit=5.0)
    assert found.plan == ff.Plan([])
    with pytest.raises(RuntimeError, match="failed with status 9"):
        improve(instance, search=f"{program} nowhere 9", time_limit=5.0)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("command:true", "no {instance}"),
        ("command:true {instance} {second}", "unknown place 'second'"),
        ("command:no-such-program {instance}", "no program 'no-such-program'"),
    ],
)
def test_a_wrong_command_line_is_refused(command, words):
    """The message says what is wrong with the command line."""
    with pytest.raises((ff.InputError, ff.MissingPackageError), match=words):
        SEARCHES.get(command)


def test_a_command_is_a_method_to_evaluate(program, instance):
    """The method is named by the command line without the program's folder."""
    method = get_method(f"{program} {{solution}} 1")
    assert method.name.startswith("command:python")
    assert method.limits == ("time",)
    method.check()
    (answer,) = method.solve([instance], time_limit=5.0)
    assert answer.plan is not None


def test_distances_of_any_kind_are_written(program, instance):
    """Matrices and rounded distances are written, too."""
    matrix = ff.Instance(
        matrix=instance.distances, demands=instance.demands, capacity=50, vehicles=20
    )
    found = improve(matrix, search=f"{program} {{solution}} 1", time_limit=5.0)
    assert found.plan.is_feasible(matrix)


def test_a_command_needs_a_time_limit(program, instance):
    """It cannot be told how many iterations it may do."""
    with pytest.raises(ff.InputError, match="cannot count iterations"):
        improve(instance, search=f"{program} {{solution}} 1", iterations=5)
