"""Tests of the pipeline."""

from __future__ import annotations

import importlib
import math
import time
from dataclasses import replace

import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.search.construct import savings, sweep
from tests.loading import loaded_late
from tests.oracle import optimal_day


def solve_until(
    instance: ff.Instance, cost: float, seen: list[float] | None = None, **options
) -> ff.Result:
    """Plan until a plan costs at most ``cost``, though a busy machine may be slow.

    ``seen`` gets the costs of all better plans.
    """
    costs = [] if seen is None else seen
    return ff.solve(
        instance,
        5,
        on_improvement=lambda _seconds, found, _plan: costs.append(found),
        stop=lambda: min(costs, default=math.inf) <= cost,
        **options,
    )


def test_solve_returns_a_plan_with_its_cost_and_stages(square):
    """The square's optimum, with what each stage took and gained."""
    result = solve_until(square, 9.66)
    assert result.feasible
    assert result.cost == result.length == pytest.approx(4 + 4 * math.sqrt(2))
    assert [stage.name for stage in result.stages] == ["fleet", "auto"]
    assert result.stages[0].cost >= result.stages[1].cost == result.cost
    assert result.stages[1].gain == result.stages[0].cost - result.cost
    assert result.partial is None
    assert result.unserved == []
    assert result.verdict.status == "feasible"
    assert "2 of 2 vehicles" in str(result)


def test_too_small_a_fleet_has_no_plan_but_a_reason(square):
    """Proven impossible: no plan, infinite cost, the reason and the smallest fleet."""
    result = ff.solve(square.with_vehicles(1), 0.05)
    assert result.plan is None
    assert not result.feasible
    assert result.cost == result.cost_v == math.inf
    assert result.verdict.status == "impossible"
    assert result.verdict.smallest == 2


@pytest.mark.parametrize("search", ["auto", "gpu", "hgs", "none"])
def test_too_small_a_fleet_serves_as_many_as_it_can(square, no_kernel, search):
    """Proven impossible: one vehicle still serves two neighbours and names the rest."""
    result = ff.solve(square.with_vehicles(1), 0.05, search=search)
    assert result.partial.vehicles == 1
    assert len(result.unserved) == 2
    assert [stage.name for stage in result.stages] == ["fleet", "partial"]
    assert f"2 of 4 customers, {result.unserved[0]}, " in str(result)
    if search != "none":
        assert result.partial.length(square) == pytest.approx(2 + 2 * math.sqrt(2))


def test_the_guarantee_plans_for_the_smallest_fleet(square):
    """Asked to guarantee a plan, solve takes the smallest fleet that suffices."""
    result = ff.solve(square.with_vehicles(1), 0.05, guarantee=True)
    assert result.feasible
    assert result.instance.vehicles == 2
    assert result.verdict.vehicles == 1
    assert result.partial.vehicles == 1
    assert len(result.unserved) == 2
    assert [stage.name for stage in result.stages] == ["fleet", "partial", "auto"]
    assert result.stages[2].gain == result.stages[0].cost - result.cost


@pytest.mark.parametrize("start", ["savings", "sweep", "network"])
def test_the_code_of_a_start_is_loaded_before_the_clock(monkeypatch, start):
    """Compiling takes none of the time, even if a start leaves customers out."""
    if start == "network":
        pytest.importorskip("torch")
    (instance,) = generate.uniform(20, 1, seed=0)
    assert savings(instance).unserved(instance)
    assert sweep(instance).unserved(instance)
    late = loaded_late(
        monkeypatch,
        importlib.import_module("fixedfleet.solving.solve"),
        "Deadline",
        lambda: ff.solve(instance, 1.0, start=start, search="none"),
    )
    assert late == set()


# No bound tells whether four vehicles of 24 carry these; no packing into four exists.
HARD = [7, 6, 10, 11, 5, 7, 7, 5, 6, 10, 11, 10]


@pytest.fixture
def undecided(make_instance, monkeypatch):
    """An instance whose fleet of four is neither proven too small nor sufficient."""
    module = importlib.import_module("fixedfleet.solving.solve")
    real = module.assess_fleet
    hasty = lambda instance, **_limits: real(instance, time_limit=0)  # noqa: E731
    monkeypatch.setattr(module, "assess_fleet", hasty)
    return make_instance(n=12, vehicles=4, capacity=24, demands=HARD)


@pytest.mark.parametrize("search", ["auto", "ruin_recreate", "gpu", "hgs", "none"])
def test_an_undecided_fleet_leaves_out_as_few_as_can_be(undecided, no_kernel, search):
    """Where no plan was found, all but one customer are served."""
    result = ff.solve(undecided, 0.1, search=search)
    assert result.verdict.status == "undecided"
    assert result.plan is None
    assert len(result.unserved) == 1
    assert all("missing" in fault for fault in result.partial.check(undecided))


def test_the_guarantee_holds_for_an_undecided_fleet(undecided):
    """Where no plan was found, the guarantee still gives one, for a larger fleet."""
    result = ff.solve(undecided, 0.1, guarantee=True)
    assert result.feasible
    assert result.instance.vehicles == 5
    assert len(result.unserved) == 1
    cost = ff.solve(undecided, 0.1, vehicle_cost=100)
    assert cost.plan is None


def test_a_customer_that_no_vehicle_carries(square):
    """No fleet suffices, and the others are served all the same."""
    result = ff.solve(replace(square, demands=[1, 3, 1, 1]), 0.05, guarantee=True)
    assert result.plan is None
    assert result.verdict.upper_bound is None
    assert result.unserved == [2]


def test_stop_ends_a_search_for_a_partial_plan(square):
    """Stopped at once, it returns the packing of as many customers as possible."""
    result = ff.solve(square.with_vehicles(1), 60, stop=lambda: True)
    assert len(result.unserved) == 2


def test_everything_ends_with_the_deadline(make_instance, monkeypatch):
    """The verdict and the partial plan look at the clock of the call."""
    now = [100.0]

    def clock():
        now[0] += 0.002  # each look at the clock takes this long
        return now[0]

    monkeypatch.setattr(time, "perf_counter", clock)
    halves = [51 + k % 3 for k in range(60)]
    instance = make_instance(n=60, vehicles=15, capacity=100, demands=halves)
    begin = now[0]
    result = ff.solve(instance, 0.2)
    assert result.verdict.status == "impossible"
    assert len(result.unserved) == 45
    assert now[0] - begin < 0.25


def test_the_exact_packing_is_imported_before_the_clock_starts(monkeypatch):
    """Only a fleet that quick packings leave open needs it, and no time counts."""
    verdict = importlib.import_module("fixedfleet.fleet.verdict")
    module = importlib.import_module("fixedfleet.solving.solve")
    order = []
    monkeypatch.setattr(
        verdict.exact_packing, "load", lambda: order.append("import") or cp_model
    )
    real = module.Deadline.of

    def of(*limits, **stop):
        order.append("clock")
        return real(*limits, **stop)

    cp_model = importlib.import_module("ortools.sat.python.cp_model")
    monkeypatch.setattr(module.Deadline, "of", of)
    instance = ff.Instance(
        depot=(0, 0),
        customers=[(k, 1) for k in range(12)],
        demands=HARD,
        capacity=24,
        vehicles=5,
    )
    ff.solve(instance, 0.05, search="none")
    # The first deadline only checks the limit; the last one is the call's.
    assert order[:3] == ["clock", "import", "clock"]


def test_display_prints_rows_and_the_result(square, capsys):
    """Rows of time, cost and vehicles, then the summary; nothing unless asked for."""
    solve_until(square, 9.66)
    assert capsys.readouterr().out == ""
    seen: list[float] = []
    result = solve_until(square, 9.66, seen, display=True)
    lines = capsys.readouterr().out.splitlines()
    (head,) = (k for k, line in enumerate(lines) if "best cost" in line)
    assert lines[head].split() == ["seconds", "best", "cost", "vehicles"]
    assert any(line.split()[1:] == ["9.6568542", "2"] for line in lines[head:])
    assert "\n".join(lines).endswith(str(result))
    assert seen[-1] == result.cost


def test_cost_v_counts_each_vehicle():
    """If vehicles are expensive, the fewest are used."""
    instance = generate.uniform(20, 1, seed=3)[0].with_vehicles(7)
    used = []
    result = ff.solve(
        instance,
        60,
        vehicle_cost=35,
        on_improvement=lambda seconds, cost, plan: used.append(plan.vehicles),
        stop=lambda: used[-1:] == [instance.minimum_vehicles],
    )
    assert result.plan.vehicles == instance.minimum_vehicles
    assert result.cost == pytest.approx(result.length + 35 * result.plan.vehicles)


@pytest.mark.parametrize(
    ("search", "cost", "warned"),
    [("hgs", 0.1, True), ("hgs", 35, False), ("ruin_recreate", 0.1, False)],
)
def test_a_vehicle_cost_that_a_search_ignores_is_said(caplog, search, cost, warned):
    """A search that cannot count a small vehicle cost gives a warning."""
    instance = generate.uniform(8, 1, seed=3, capacity=20, vehicles=5)[0]
    found = []  # the search ends with its first plan, however long that takes
    ff.solve(
        instance,
        60,
        search=search,
        vehicle_cost=cost,
        on_improvement=lambda *best: found.append(best),
        stop=lambda: bool(found),
    )
    ff.solve_batch([instance], time_limit=0.05, search=search, vehicle_cost=cost)
    said = f"the search {search} ignores the vehicle cost"
    assert [said in line for line in caplog.messages] == [True, True] * warned


def test_a_given_start_is_used(square):
    """Without a search the start comes back as it was."""
    start = ff.Plan([[1, 3], [2, 4]])
    assert ff.solve(square, 0.05, start=start, search="none").plan == start
    lists = [[1, 3], [2, 4]]
    assert ff.solve(square, 0.05, start=lists, search="none").plan == start


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time_limit": 0}, "time limit is 0, not a number above 0"),
        ({"time_limit": math.inf}, "time limit is inf"),
        ({"seed": -1}, "seed is -1, not a whole number"),
        ({"seed": 1.5}, "seed is 1.5, not a whole number"),
        ({"start": [[1, 2], [3]]}, "customer 4 missing"),
        ({"cores": 0}, "cores is 0"),
        ({"search": "magic"}, "unknown search 'magic'"),
        ({"vehicle_cost": -1}, "vehicle cost is -1"),
        ({"start": ff.Plan([[1, 2, 3, 4]])}, "tour 1 carries 4 of 2"),
    ],
)
def test_bad_arguments_are_named(square, arguments, message):
    """Each wrong argument gets a line that says what would be right."""
    with pytest.raises(ff.InputError, match=message):
        ff.solve(square, **arguments)


def test_an_unknown_search_is_refused_whatever_the_fleet(square):
    """A search that does not exist is named before the fleet is judged."""
    with pytest.raises(ff.InputError, match="unknown search 'magic': choose from"):
        ff.solve(square.with_vehicles(1), search="magic")


# ------------------------------------------------------------- a firm's fleet and day


def day(**changes):
    """Four customers, vans of two sizes, shifts and windows."""
    return ff.Instance(
        **{
            "depot": (0, 0),
            "customers": [(10, 0), (20, 0), (0, 10), (0, 20)],
            "demands": [2, 2, 1, 3],
            "vehicle_types": [
                ff.VehicleType(name="small", capacity=4, shift=(0, 60)),
                ff.VehicleType(name="large", capacity=6, fixed_cost=9, shift=(0, 60)),
            ],
            "speed": 1,
            "service_times": [3, 3, 3, 3],
            "windows": [(0, 40), (0, 25), (0, 30), (0, 40)],
        }
        | changes
    )


def find_optimum(task):
    """A search for days: the oracle's plan, if there is one."""
    plan = optimal_day(task.instance)
    yield task.initial_plan if plan is None else plan


def test_a_day_is_planned_and_the_plan_confirms_the_fleet():
    """The verdict is undecided before the search, and feasible by the plan found."""
    result = ff.solve(day(), 5, search=find_optimum)
    assert result.plan.check(day()) == []
    assert result.cost == pytest.approx(optimal_day(day()).cost(day()))
    assert result.verdict.status == "feasible"
    assert result.feasible


def test_a_day_that_is_impossible_still_has_a_partial_plan():
    """The search runs on the partial plan, which leaves somebody out."""
    instance = day(demands=[2, 2, 9, 3])
    result = ff.solve(instance, 5, search=find_optimum)
    assert result.plan is None
    assert result.verdict.status == "impossible"
    assert 3 in result.unserved
    assert result.partial.check(instance, partial=True) == []


def test_the_guarantee_plans_for_the_vehicles_that_would_suffice():
    """The instance of the result has the larger fleet, its document the one asked."""
    instance = day(
        demands=[4, 4, 4, 4],
        vehicle_types=[
            ff.VehicleType(name="small", capacity=4),
            ff.VehicleType(name="large", capacity=8, fixed_cost=9),
        ],
        service_times=None,
        windows=None,
    )
    result = ff.solve(instance, 5, search=find_optimum, guarantee=True)
    assert result.instance.vehicles == 3
    assert result.plan.check(result.instance) == []
    assert result.document().vehicles == 2
    assert result.document().vehicles_planned_for == 3


def test_a_lower_bound_of_a_day_is_refused_in_a_sentence():
    """The plan is made all the same."""
    result = ff.solve(day(), 5, search=find_optimum, prove=True)
    assert result.plan is not None
    assert result.lower_bound is None
    assert "a lower bound cannot handle vehicles of several types" in result.proof


@pytest.mark.parametrize("start", ["savings", "sweep", "network"])
def test_starts_that_cannot_plan_a_day_are_refused(start):
    """Before anything is loaded."""
    with pytest.raises(ff.InputError, match=f"the start '{start}' cannot handle"):
        ff.solve(day(), 1, start=start)


@pytest.mark.parametrize("search", ["hgs", "gpu"])
def test_searches_that_cannot_plan_a_day_are_refused(search):
    """They would ignore sizes and times."""
    with pytest.raises(ff.InputError, match=f"the search '{search}' cannot handle"):
        ff.solve(day(), 1, search=search)


def test_a_batch_of_days_is_refused():
    """solve_batch plans plain instances only."""
    with pytest.raises(ff.InputError, match="cannot handle"):
        ff.solve_batch([day()], time_limit=0.1)
    with pytest.raises(ff.InputError, match="a lower bound cannot handle"):
        ff.lower_bound(day())
