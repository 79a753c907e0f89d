"""Searches by their names, a search of one's own, and what becomes of their plans."""

from __future__ import annotations

import math
import signal
import time
from dataclasses import replace

import pytest

import fixedfleet as ff
from fixedfleet.deadline import Deadline
from fixedfleet.search import SEARCHES, improve, run_search
from fixedfleet.search.improve import expensive_rows, is_expensive

BEST, POOR = ff.Plan([[1, 2], [3, 4]]), ff.Plan([[1, 3], [2, 4]])
NAMES = ["auto", "ruin_recreate", "decomposition", "hgs"]
PACKAGES = ["pyvrp", "vroom", "ortools"]


def needs(name: str) -> None:
    """Skip a test whose search needs a package that is not installed."""
    if name in PACKAGES:
        pytest.importorskip(name)


@pytest.mark.parametrize("name", [*NAMES, *PACKAGES])
def test_a_search_by_name_improves_the_initial_plan(square, name):
    """Every search takes a poor plan of the square to the optimum."""
    needs(name)
    # VROOM stops by itself, but its first call also imports pandas.
    limit = 30 if name == "vroom" else 0.1
    found = improve(square, POOR, search=name, time_limit=limit)
    assert found.plan.is_feasible(square)
    assert found.cost == pytest.approx(BEST.length(square))


@pytest.mark.parametrize("search", NAMES)
def test_an_initial_plan_that_is_too_full_never_comes_back(square, search):
    """A plan that overloads a vehicle is short, but what is returned is feasible."""
    found = improve(square, ff.Plan([[1, 2, 3, 4]]), search=search, time_limit=0.05)
    assert found.plan.check(square) == []
    assert found.cost == pytest.approx(4 + 4 * math.sqrt(2))


@pytest.mark.parametrize("search", NAMES)
@pytest.mark.parametrize(
    ("tours", "message"),
    [
        ([[1, 2, 1]], "customer 1 served twice"),
        ([[1], [9]], "customer 9 does not exist"),
    ],
)
def test_a_plan_of_another_instance_is_refused(square, search, tours, message):
    """A plan that serves a customer twice, or an unknown one, is refused by name."""
    with pytest.raises(ff.InputError, match=message):
        improve(square, ff.Plan(tours), search=search, time_limit=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"search": "magic"}, "unknown search 'magic': choose from auto, ruin"),
        ({"search": "no_such_file.py:mine"}, "there is no file 'no_such_file.py'"),
        ({"vehicle_cost": -1.0}, "vehicle cost is -1"),
        ({"vehicle_cost": math.nan}, "vehicle cost is nan"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"time_limit": 0}, "time limit is 0"),
        ({"time_limit": None}, "give a time limit or a number of iterations"),
        ({"iterations": 0}, "iterations is 0"),
    ],
)
def test_bad_arguments_are_named(square, arguments, message):
    """Each wrong argument gets a line that says what would be right."""
    with pytest.raises(ff.InputError, match=message):
        improve(square, BEST, **({"time_limit": 0.05} | arguments))


@pytest.mark.parametrize("search", ["auto", "ortools", "ortools_descent", "vroom"])
def test_a_search_that_cannot_count_wants_a_time_limit(square, search):
    """A number of iterations alone is refused by searches that have none."""
    with pytest.raises(ff.InputError, match=f"{search} cannot count iterations"):
        improve(square, BEST, search=search, iterations=5)


@pytest.mark.parametrize("name", ["ruin_recreate", "decomposition", "hgs", "pyvrp"])
def test_a_number_of_iterations_is_enough(square, name):
    """A search that counts its iterations needs no time limit."""
    needs(name)
    found = improve(square, POOR, search=name, iterations=200)
    assert found.cost == pytest.approx(BEST.length(square))


@pytest.mark.parametrize("calls", range(5))
@pytest.mark.parametrize("name", [*NAMES, *PACKAGES, "ortools_descent"])
def test_a_stop_may_come_at_any_moment(square, name, calls):
    """A search that was not stopped when it looked may be when it looks again."""
    needs(name)
    answers = iter([False] * calls)
    found = improve(
        square,
        POOR,
        search=name,
        time_limit=0.02,
        stop=lambda: next(answers, True),
    )
    assert found.plan.is_feasible(square)
    assert found.cost <= POOR.length(square)
    assert not found.interrupted


# ------------------------------------------------------------- a search of one's own


def find_best(task):
    """A search that knows the answer."""
    yield BEST


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
        "    yield Plan([[1, 2], [3, 4]])\n"
    )
    assert improve(square, POOR, search=f"{path}:search", time_limit=1).plan == BEST


def test_an_own_search_may_be_an_object_or_return_a_list(square):
    """Anything that is called with a task and gives plans to loop over is a search."""

    class Oracle:
        def __call__(self, task):
            yield from find_best(task)

    for search in (Oracle(), lambda task: [POOR, BEST]):
        assert improve(square, POOR, search=search, time_limit=1).plan == BEST


def test_a_search_that_forgets_to_yield_is_named(square):
    """A function that returns nothing is no search, and the error says what is one."""

    def forgetful(task):
        task.initial_plan.check(task.instance)

    message = "the search forgetful returned None: it must yield plans"
    with pytest.raises(ff.InputError, match=message):
        improve(square, POOR, search=forgetful, time_limit=1)


def test_a_search_may_find_nothing(square):
    """A search that yields no plan leaves the initial one."""
    found = improve(square, POOR, search=lambda task: iter(()), time_limit=1)
    assert (found.plan, found.cost) == (POOR, POOR.length(square))


def test_what_a_search_is_given(square):
    """The task has the initial plan within the fleet, and all that was asked for."""
    tasks = []

    def look(task):
        tasks.append(task)
        yield from ()

    improve(
        square,
        ff.Plan([[1, 2, 3], [4]]),
        search=look,
        time_limit=7.0,
        iterations=11,
        seed=5,
        vehicle_cost=2.5,
        cores=3,
    )
    (task,) = tasks
    assert task.initial_plan == ff.Plan([[1, 2], [4]])
    assert (task.deadline.iterations, task.seed) == (11, 5)
    assert (task.vehicle_cost, task.cores) == (2.5, 3)
    assert 0 < task.deadline.seconds <= 7.0


# ----------------------------------------------------------- what becomes of the plans


WRONG = [
    ([[1, 2, 3, 4]], "tour 1 carries 4 of 2"),
    ([[1], [2], [3], [4]], "4 tours for 2 vehicles"),
    ([[1, 2], [3, 4, 4]], "customer 4 served twice"),
    ([[1, 2], [3, 4, 5]], "customer 5 does not exist"),
]


@pytest.mark.parametrize(("tours", "fault"), WRONG)
def test_a_wrong_plan_of_a_search_is_an_error(square, tours, fault):
    """What a search yields is checked, never trusted."""
    part = ff.Plan([[1, 3]])
    with pytest.raises(RuntimeError, match=fault):
        improve(square, part, search=lambda task: [ff.Plan(tours)], time_limit=1)


@pytest.mark.parametrize(("tours", "fault"), WRONG)
def test_a_wrong_plan_of_an_outside_solver_is_passed_over(
    square, monkeypatch, tours, fault
):
    """Another program may know no fleet; its other plans count nevertheless."""
    plans = [ff.Plan(tours), POOR]
    monkeypatch.setattr(
        "fixedfleet.search.outside.hgs_search.hgs_plans", lambda *_, **__: plans
    )
    assert any(fault in found for found in plans[0].check(square))
    found = improve(square, ff.Plan([[1, 3]]), search="hgs", time_limit=1)
    assert found.plan == POOR


def test_a_worse_plan_is_not_kept(square):
    """The initial plan comes back if a search yields nothing better."""
    found = improve(square, BEST, search=lambda task: [POOR], time_limit=1)
    assert found.plan == BEST
    assert len(found.trace) == 1


def test_only_complete_plans_are_reported(square, monkeypatch):
    """The trace has the time and cost of plans without unserved customers."""
    told, now = [], [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def slow(task):
        yield ff.Plan([[1, 2]])
        assert told == []
        now[0] += 3
        yield POOR
        now[0] += 1
        yield POOR

    found = improve(
        square,
        search=slow,
        time_limit=9,
        vehicle_cost=1.0,
        on_improvement=lambda *best: told.append(best),
    )
    assert told == [(3, POOR.cost_v(square, 1.0), POOR)]
    assert found.trace == ((3, found.cost),)
    assert found.seconds == 4


def test_a_search_that_does_not_look_at_the_clock_ends_nevertheless(square):
    """After the deadline no further plan is asked for."""
    now, yielded = [0.0], []

    def endless(task):
        while True:
            now[0] += 1
            yielded.append(1)
            yield POOR

    deadline = Deadline(3, clock=lambda: now[0])
    found = run_search(endless, square, BEST, deadline=deadline)
    assert (found.plan, len(yielded), found.seconds) == (BEST, 3, 3)


def test_a_trace_counts_from_the_begin_of_the_deadline(square):
    """The search has what is left, and its times are those since the call of all."""
    now, left = [5.0], []

    def look(task):
        left.append(task.deadline.seconds)
        now[0] += 1
        yield BEST

    deadline = Deadline(10, clock=lambda: now[0], begin=1.0)
    found = run_search(look, square, POOR, deadline=deadline)
    assert left == [6]
    assert found.trace == ((4, POOR.length(square)), (5, BEST.length(square)))
    assert found.seconds == 1


# ---------------------------------------------------------------------------- Ctrl-C


def test_ctrl_c_keeps_the_best_plan(square):
    """Ctrl-C that a search raises ends it with the best plan that it has yielded."""

    def interrupted(task):
        yield BEST
        raise KeyboardInterrupt

    found = improve(square, POOR, search=interrupted, time_limit=60)
    assert found.interrupted
    assert found.plan == BEST


def test_ctrl_c_is_a_stop(square):
    """A search in compiled code may go on until it looks; then its plan counts."""
    before = signal.getsignal(signal.SIGINT)
    looked = []

    def pressed(task):
        signal.raise_signal(signal.SIGINT)
        looked.append(task.deadline.over())
        yield BEST
        looked.append("after the end")

    found = improve(square, POOR, search=pressed, time_limit=60)
    assert found.interrupted
    assert (found.plan, looked) == (BEST, [True])
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_in_a_search_within_a_search_ends_both(square):
    """The search around learns of it, too."""

    def within(task):
        signal.raise_signal(signal.SIGINT)
        yield BEST

    def around(task):
        inner = improve(square, POOR, search=within, time_limit=60)
        assert inner.interrupted
        assert task.deadline.over()
        yield inner.plan

    found = improve(square, POOR, search=around, time_limit=60)
    assert (found.plan, found.interrupted) == (BEST, True)


# ---------------------------------------------------------------- expensive vehicles


ONE = ff.Plan([[1, 2, 3, 4]])


@pytest.fixture
def roomy(square) -> ff.Instance:
    """The square with room for all in one of four vehicles."""
    return replace(square, capacity=4, vehicles=4)


def test_a_vehicle_is_expensive_if_no_plan_can_pay_for_one_more(roomy):
    """That is, if it costs as much as all tours; one that costs nothing never is."""
    length = ONE.length(roomy)
    assert is_expensive(length, ONE, roomy)
    assert not is_expensive(0.999 * length, ONE, roomy)
    nothing = replace(roomy, customers=0 * roomy.customers)
    assert not is_expensive(0.0, ONE, nothing)


def test_a_batch_has_the_same_boundary(roomy):
    """Each instance of a batch is judged as if it were alone."""
    wide = replace(roomy, customers=3 * roomy.customers)
    batch = ff.InstanceBatch.of([roomy, wide])
    plans = ff.PlanBatch.from_plans([ONE, ONE])
    cost = 2 * ONE.length(roomy)
    assert expensive_rows(cost, plans, batch).tolist() == [True, False]
    assert expensive_rows(0.0, plans, batch).tolist() == [False, False]


@pytest.mark.parametrize(
    ("cost", "fewest", "vehicles", "initial_plan"),
    [
        (10.0, ONE, 1, ONE),
        (10.0, BEST, 2, BEST),
        (10.0, None, 3, BEST),
        (8.0, ONE, 3, BEST),  # the tour of all is longer
        (10.0, ff.Plan([[1], [2], [3], [4]]), 3, BEST),  # beyond the fleet
    ],
)
def test_expensive_vehicles_are_saved_before_the_search(
    roomy, cost, fewest, vehicles, initial_plan
):
    """The search only has to shorten the tours of the smallest fleet."""
    tasks = []

    def look(task):
        tasks.append(task)
        yield from ()

    fleet = roomy.with_vehicles(3)
    improve(fleet, BEST, search=look, time_limit=9, vehicle_cost=cost, fewest=fewest)
    (task,) = tasks
    assert task.instance.vehicles == vehicles
    assert task.initial_plan == initial_plan
    assert task.vehicle_cost == (cost if vehicles == 3 else 0.0)


def test_the_plan_with_the_fewest_vehicles_counts_even_if_nothing_is_found(roomy):
    """It comes back if it costs less than the initial plan, and the trace has both."""
    found = improve(
        roomy,
        BEST,
        search=lambda task: iter(()),
        time_limit=9,
        vehicle_cost=10.0,
        fewest=ONE,
    )
    assert found.plan == ONE
    assert [cost for _, cost in found.trace] == [
        BEST.cost_v(roomy, 10.0),
        ONE.cost_v(roomy, 10.0),
    ]


@pytest.mark.parametrize(
    ("cost", "expensive"), [(0, False), (0.25, False), (0.5, True)]
)
def test_a_vehicle_may_be_expensive_at_any_scale(square, cost, expensive):
    """If plans are shorter than 1, a vehicle that costs less than 1 is expensive."""
    small = replace(square, customers=square.customers / 32)
    plan = ff.Plan([[1, 2], [3, 4]])
    assert 0.25 < plan.length(small) < 0.5
    assert is_expensive(cost, plan, small) == expensive
    plans, batch = ff.PlanBatch.from_plans([plan]), ff.InstanceBatch.of([small])
    assert expensive_rows(cost, plans, batch).tolist() == [expensive]
