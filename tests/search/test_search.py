"""Searches by their names, and a search of one's own."""

from __future__ import annotations

import math

import pytest

import fixedfleet as ff
from fixedfleet.search import SEARCHES, Stop, improve

BEST, POOR = ff.Plan([[1, 2], [3, 4]]), ff.Plan([[1, 3], [2, 4]])
OWN = ["auto", "ruin_recreate", "hgs"]


@pytest.mark.parametrize("name", [*OWN, "pyvrp", "vroom", "ortools"])
def test_a_search_by_name_improves_the_start(square, name):
    """Every search takes a poor plan of the square to the optimum."""
    if name in ("pyvrp", "vroom"):
        pytest.importorskip(name)
    # VROOM stops by itself, but its first call also imports pandas.
    stop = Stop(30 if name == "vroom" else 0.1)
    found = improve(square, POOR, search=name, stop=stop)
    assert found.plan.is_feasible(square)
    assert found.cost == pytest.approx(BEST.length(square))


@pytest.mark.parametrize("search", OWN)
def test_a_start_that_is_too_full_never_comes_back(square, search):
    """A start that overloads a vehicle is short, but what is returned is feasible."""
    found = improve(square, ff.Plan([[1, 2, 3, 4]]), search=search, stop=Stop(0.05))
    assert found.plan.check(square) == []
    assert found.cost == pytest.approx(4 + 4 * math.sqrt(2))


@pytest.mark.parametrize("search", OWN)
@pytest.mark.parametrize(
    ("tours", "message"),
    [
        ([[1, 2, 1]], "customer 1 served twice"),
        ([[1], [9]], "customer 9 does not exist"),
    ],
)
def test_a_start_of_another_instance_is_refused(square, search, tours, message):
    """A start that serves a customer twice, or an unknown one, is refused by name."""
    with pytest.raises(ff.InputError, match=message):
        improve(square, ff.Plan(tours), search=search, stop=Stop(0.05))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"search": "magic"}, "unknown search 'magic': choose from auto, ruin"),
        ({"search": "no_such_file.py:mine"}, "there is no file 'no_such_file.py'"),
        ({"vehicle_cost": -1.0}, "vehicle cost is -1"),
        ({"vehicle_cost": math.nan}, "vehicle cost is nan"),
    ],
)
def test_bad_arguments_are_named(square, arguments, message):
    """Each wrong argument gets a line that says what would be right."""
    with pytest.raises(ff.InputError, match=message):
        improve(square, BEST, stop=Stop(0.05), **arguments)


@pytest.mark.parametrize("search", ["auto", "hgs", "ortools"])
def test_a_search_that_cannot_count_wants_a_time_limit(square, search):
    """A number of iterations alone is refused by searches that have none."""
    with pytest.raises(ff.InputError, match=f"{search} cannot count iterations"):
        improve(square, BEST, search=search, stop=Stop(iterations=5))


def test_pyvrp_counts_iterations(square):
    """PyVRP ends after a number of iterations, too."""
    pytest.importorskip("pyvrp")
    found = improve(square, POOR, search="pyvrp", stop=Stop(iterations=50))
    assert found.iterations == 50
    assert found.cost == pytest.approx(BEST.length(square))


# ------------------------------------------------------------- a search of one's own


def find_best(task):
    """A search that knows the answer."""
    task.offer(BEST)


@pytest.fixture
def registered():
    """Register a search for one test."""
    SEARCHES.register("oracle")(find_best)
    yield "oracle"
    del SEARCHES._parts["oracle"]


def test_an_own_search_is_registered_by_name(square, registered):
    """A search that was registered with the decorator is taken by name."""
    result = ff.solve(square, 0.5, start=POOR, search=registered)
    assert result.plan == BEST
    assert [stage.name for stage in result.stages] == ["fleet", "start", "oracle"]


def test_an_own_search_is_passed_as_it_is(square):
    """A search may be a function, and its name is the stage's."""
    result = ff.solve(square, 0.5, start=POOR, search=find_best)
    assert result.plan == BEST
    assert result.stages[-1].name == "find_best"


def test_an_own_search_is_read_from_a_file(square, tmp_path):
    """``file.py:Name`` takes the search from a file."""
    path = tmp_path / "mine.py"
    path.write_text(
        "from fixedfleet import Plan\n"
        "def search(task):\n"
        "    task.offer(Plan([[1, 2], [3, 4]]))\n"
    )
    assert improve(square, POOR, search=f"{path}:search", stop=Stop(1)).plan == BEST


def test_an_own_search_may_be_a_class(square):
    """A class is taken as well as a function; its objects are the searches."""

    class Oracle:
        def __call__(self, task):
            find_best(task)

    for search in (Oracle, Oracle()):
        assert improve(square, POOR, search=search, stop=Stop(1)).plan == BEST


@pytest.mark.parametrize(
    ("tours", "fault"),
    [
        ([[1, 2, 3, 4]], "tour 1 carries 4 of 2"),
        ([[1], [2], [3], [4]], "4 tours for 2 vehicles"),
        ([[1, 2], [3, 4, 4]], "customer 4 served twice"),
    ],
)
def test_a_wrong_plan_of_a_search_is_an_error(square, tours, fault):
    """What a search offers is checked, never trusted."""
    roomy = ff.Plan([[1, 3]])
    with pytest.raises(RuntimeError, match=fault):
        improve(
            square,
            roomy,
            search=lambda task: task.offer(ff.Plan(tours)),
            stop=Stop(1),
        )


def test_a_worse_plan_is_not_kept(square):
    """The start comes back if a search offers nothing better."""
    found = improve(square, BEST, search=lambda task: task.offer(POOR), stop=Stop(1))
    assert found.plan == BEST
    assert len(found.trace) == 1


def test_ctrl_c_keeps_the_best_plan(square):
    """Ctrl-C ends any search with the best plan that it has offered."""

    def interrupted(task):
        task.offer(BEST)
        raise KeyboardInterrupt

    stop = Stop(60)
    found = improve(square, POOR, search=interrupted, stop=stop)
    assert found.interrupted
    assert found.plan == BEST
    assert stop.over()
