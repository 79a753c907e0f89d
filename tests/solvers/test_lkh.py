"""LKH-3, with a stand-in for the program, which is not distributed with Python."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import fixedfleet as ff
from fixedfleet import solvers
from fixedfleet.errors import MissingPackageError
from fixedfleet.search import Stop
from fixedfleet.solvers.lkh import Lkh

if TYPE_CHECKING:
    from pathlib import Path

# Reads the files as LKH does and answers with the start turned round a little, else
# with one tour a customer: nodes above the dimension are copies of the depot.
STAND_IN = """#!{python}
import sys
pairs = (line.split(" = ") for line in open(sys.argv[1]).read().splitlines())
given = dict(pairs)
header, _, rest = open(given["PROBLEM_FILE"]).read().partition("EDGE_WEIGHT_SECTION")
words = dict(line.split(" : ") for line in header.splitlines())
n, vehicles = int(words["DIMENSION"]), int(words["VEHICLES"])
if {fails}:
    print("*** Error ***"); print("too bad"); sys.exit(1)
if "INITIAL_TOUR_FILE" in given:
    text = open(given["INITIAL_TOUR_FILE"]).read()
    nodes = text.partition("TOUR_SECTION")[2].split()[:-2]
else:
    copies = [1, *range(n + 1, n + vehicles)]
    nodes = [str(x) for pair in zip(copies, range(2, n + 1)) for x in pair]
assert sorted(map(int, nodes)) == list(range(1, n + vehicles))
nodes = nodes[2:] + nodes[:2]
open("log", "w").write(repr((given, words, rest)))
open(given["OUTPUT_TOUR_FILE"], "w").write(
    "NAME : x\\nTOUR_SECTION\\n" + "\\n".join(nodes) + "\\n-1\\nEOF\\n")
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in named LKH, alone on the PATH."""
    path = tmp_path / "LKH"
    path.write_text(STAND_IN.format(python=sys.executable, fails=False))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return path


def test_program_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the program the error names it and says where it is to be had."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingPackageError, match="'LKH' on the PATH: build LKH-3"):
        solvers.get("lkh")


def test_one_tour_each(program: Path, make_instance) -> None:
    """The tour that comes back is cut at the depot and its copies."""
    instance = make_instance(n=4, vehicles=9, capacity=5, demands=[1, 2, 3, 4])
    outcome = solvers.run(solvers.get("lkh"), instance, stop=Stop(1))
    assert outcome.faults == ()
    assert outcome.plan is not None
    assert outcome.plan.canonical() == ff.Plan([[1], [2], [3], [4]])


def test_start_goes_there_and_back(program: Path, make_instance) -> None:
    """A start is written so that the same plan is read, unused vehicles or not."""
    instance = make_instance(n=5, vehicles=4, capacity=9, demands=[3] * 5)
    start = ff.Plan([[3, 1, 2], [5, 4]])
    outcome = solvers.run(Lkh(), instance, stop=Stop(1), start=start)
    assert outcome.plan is not None
    assert outcome.plan.canonical() == start.canonical()


def test_relative_path(
    program: Path, square: ff.Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program named by a path from here is found from its own folder too."""
    monkeypatch.chdir(program.parent)
    start = ff.Plan([[1, 2], [3, 4]])
    assert Lkh("./LKH").solve(square, stop=Stop(1), start=start) is not None


def test_tour_cut_short() -> None:
    """A tour that the program was stopped in writing is no plan."""
    from fixedfleet.solvers.lkh import _plan

    assert _plan("TOUR_SECTION\n1\n2\n", 2) is None


def test_single_customer(program: Path) -> None:
    """One customer, too few for the program, is planned all the same."""
    instance = ff.Instance(
        depot=(0, 0), customers=[[1, 0]], demands=[3], capacity=3, vehicles=1
    )
    assert Lkh().solve(instance, stop=Stop(1)) == ff.Plan([[1]])


def test_problem_file(square: ff.Instance) -> None:
    """The problem is written as LKH-3 reads it, asymmetric ones under their type."""
    from fixedfleet.solvers.lkh import _problem

    lines = _problem(square, 2).splitlines()
    assert lines[1:5] == [
        "TYPE : CVRP",
        "DIMENSION : 5",
        "VEHICLES : 2",
        "CAPACITY : 2",
    ]
    assert lines[-5:] == ["5 1", "DEPOT_SECTION", "1", "-1", "EOF"]
    one_way = ff.Instance(
        matrix=[[0, 1, 2], [3, 0, 4], [5, 6, 0]],
        demands=[1, 1],
        capacity=2,
        vehicles=1,
    )
    lines = _problem(one_way, 1).splitlines()
    assert "TYPE : ACVRP" in lines
    assert lines[8:11] == ["0 1 2", "3 0 4", "5 6 0"]


def test_failure_is_reported(program: Path, square: ff.Instance) -> None:
    """When the program fails, what it said last is in the error."""
    program.write_text(STAND_IN.format(python=sys.executable, fails=True))
    with pytest.raises(RuntimeError, match="status 1: too bad"):
        Lkh().solve(square, stop=Stop(1))


def test_impossible_by_the_sum(program: Path) -> None:
    """Demands beyond the whole fleet give no plan, without asking the program."""
    instance = ff.Instance(
        matrix=[[0, 1, 1], [1, 0, 1], [1, 1, 0]],
        demands=[2, 2],
        capacity=3,
        vehicles=1,
    )
    assert Lkh().solve(instance, stop=Stop(1)) is None
