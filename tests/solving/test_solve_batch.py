"""Many instances at once."""

from __future__ import annotations

import importlib
import math
import os
import signal
import time
from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.search import gpu_kernel
from tests.loading import loaded_late


@pytest.fixture(scope="module")
def batch():
    """Forty small instances, some of whose fleets are too small."""
    return generate.uniform(20, 40, seed=1, reject=False)


def test_every_plan_is_feasible_and_every_fault_reported(batch):
    """Each instance has a plan, or a reason why not, and the numbers are the plans'."""
    result = ff.solve_batch(batch, iterations=300, cores=1)
    assert len(result) == 40
    np.testing.assert_array_equal(result.plans.feasible(batch), result.feasible)
    np.testing.assert_array_equal(result.feasible, result.statuses == "feasible")
    impossible = np.flatnonzero(~result.feasible)
    assert len(impossible) > 0
    assert sorted(result.reasons) == impossible.tolist()
    assert result.reasons[impossible[0]].startswith("the demands sum to")
    assert result.plan(int(impossible[0])) is None
    good = result.feasible
    lengths = result.plans.lengths(batch)
    np.testing.assert_array_equal(result.lengths[good], lengths[good])
    assert np.isinf(result.lengths[~good]).all()
    names = [stage.name for stage in result.stages]
    assert names == ["fleet", "ruin_recreate", "check"]
    assert result.stages[1].gain == result.stages[0].cost - result.stages[1].cost > 0
    assert f"{good.sum()} plans, mean length" in str(result)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_plans_on_any_number_of_cores(batch):
    """With a number of iterations, processes make no difference, seeds do."""
    some = batch[:12]
    one, two = (ff.solve_batch(some, iterations=200, seed=3, cores=k) for k in (1, 2))
    np.testing.assert_array_equal(one.plans.routes, two.plans.routes)
    other = ff.solve_batch(some, iterations=200, seed=99, cores=1)
    assert [p.tours for p in other.plans] != [p.tours for p in one.plans]


@pytest.mark.slow
def test_the_network_is_a_stage_of_its_own(batch):
    """Without a search, its plans are shorter than packings and within the fleet."""
    some = batch[:8]
    result = ff.solve_batch(some, start="network", search="none", cores=1)
    assert [stage.name for stage in result.stages] == ["fleet", "network", "check"]
    assert result.stages[1].gain > 0
    np.testing.assert_array_equal(result.feasible, result.statuses == "feasible")


def test_whom_the_network_leaves_out_is_put_back(batch, monkeypatch):
    """A predicted plan that is not whole is completed, or the packing is taken."""
    predicted = importlib.import_module("fixedfleet.planning.network_plans")

    def nobody(instances, device):
        plans = ff.PlanBatch(np.zeros((len(instances), 1), dtype=int))
        return SimpleNamespace(plans=plans)

    monkeypatch.setattr(predicted, "plan_by_network", nobody)
    some = batch[:5]
    result = ff.solve_batch(some, start="network", search="none")
    np.testing.assert_array_equal(result.feasible, result.statuses == "feasible")
    work = importlib.import_module("fixedfleet.solving.solve_batch")
    monkeypatch.setattr(work, "complete_plan", lambda *_, **__: None)
    packed = ff.solve_batch(some, start="network", search="none")
    assert list(packed.plans) == list(ff.solve_batch(some, search="none").plans)


def test_sizes_metrics_and_hopeless_instances_mix(square, make_instance):
    """Instances may differ, and one without a plan does not disturb the others."""
    rounded = make_instance(n=9, rounding="ceil", name="rounded")
    matrix = ff.Instance(demands=[1], capacity=1, vehicles=1, matrix=[[0, 1], [2, 0]])
    heavy = replace(square, demands=[1, 3, 1, 1])
    instances = [square, rounded, square.with_vehicles(1), matrix, heavy]
    result = ff.solve_batch(instances, iterations=200, cores=1)
    assert result.feasible.tolist() == [True, True, False, True, False]
    assert result.lengths[0] == pytest.approx(4 + 4 * math.sqrt(2))
    assert result.lengths[3] == 3
    assert "alone exceeds a vehicle" in result.reasons[4]
    assert result.plans[2].tours == ()


def test_cost_v_uses_the_fewest_vehicles():
    """If vehicles are expensive, no more of them are used than packing needs."""
    wide = generate.uniform(20, 5, seed=3).with_vehicles(9)
    result = ff.solve_batch(wide, time_limit=0.05, vehicle_cost=35, cores=1)
    fewest = [instance.minimum_vehicles for instance in wide]
    assert result.plans.vehicles().tolist() == fewest
    assert result.costs == pytest.approx(result.lengths + 35 * np.array(fewest))


def test_a_gpu_does_not_see_the_cost_of_expensive_vehicles(no_kernel):
    """With the fewest vehicles, a cost of 1e6 would only blind it in float32."""
    wide = generate.uniform(20, 5, seed=3).with_vehicles(9)
    result = ff.solve_batch(wide, iterations=5, search="gpu", vehicle_cost=1e6)
    assert no_kernel[-1][1]["vehicle_cost"][0] == 0
    assert result.costs == pytest.approx(result.lengths + 1e6 * result.plans.vehicles())


def test_large_instances_go_to_a_gpu_part_by_part(no_kernel, monkeypatch):
    """A batch divides plans of more than 200 customers, on the cores asked for."""
    work = importlib.import_module("fixedfleet.solving.solve_batch")
    alone = []

    def improve(instance, plan, **options):
        alone.append((instance.num_customers, options["search"], options["cores"]))
        return SimpleNamespace(plan=plan)

    monkeypatch.setattr(work, "improve", improve)
    sizes = (20, 201, 200)
    instances = [
        generate.uniform(n, 1, seed=3, capacity=50, vehicles=n)[0] for n in sizes
    ]
    instances = [one.with_vehicles(one.minimum_vehicles + 2) for one in instances]
    ff.solve_batch(instances, iterations=5, search="gpu", cores=3)
    assert alone == [(201, "gpu", 3)]


@pytest.mark.parametrize("start", ["packing", "savings", "network"])
def test_all_code_is_loaded_before_the_clock(batch, monkeypatch, start):
    """The time limits are not spent on compiling, whatever the steps."""
    if start == "network":
        pytest.importorskip("torch")
    some = [*batch[:4], *generate.uniform(210, 1, seed=3, capacity=50, vehicles=30)]
    late = loaded_late(
        monkeypatch,
        importlib.import_module("fixedfleet.solving.solve_batch"),
        "Deadline",
        lambda: ff.solve_batch(some, start=start, time_limit=0.02, cores=1),
    )
    assert late == set()


@pytest.mark.parametrize("vehicle_cost", [0, 35])
def test_all_kernels_of_a_gpu_are_loaded_before_the_clock(
    no_kernel, monkeypatch, vehicle_cost
):
    """The GPU compiles nothing within the time, also with fewer vehicles."""
    module = importlib.import_module("fixedfleet.solving.solve_batch")
    assess, loaded = module.assess_batch, set()

    def assess_after_loading(*values, **options):
        monkeypatch.setattr(gpu_kernel, "load_kernels", lambda groups: None)
        return assess(*values, **options)

    kinds = lambda groups: [(one.slots, one.rounded) for one in groups]  # noqa: E731
    monkeypatch.setattr(module, "assess_batch", assess_after_loading)
    monkeypatch.setattr(
        gpu_kernel, "load_kernels", lambda groups: loaded.update(kinds(groups))
    )
    wide = [
        *generate.uniform(20, 2, seed=3),
        *generate.uniform(60, 2, seed=3, capacity=40, vehicles=60),
    ]
    wide = [
        replace(one, rounding=rounding, vehicles=one.num_customers)
        for one in wide
        for rounding in ("none", "round")
    ]
    ff.solve_batch(wide, iterations=5, search="gpu", vehicle_cost=vehicle_cost)
    assert {*kinds(group for group, _ in no_kernel)} <= loaded
    assert no_kernel


@pytest.mark.parametrize("start", ["savings", "sweep"])
def test_a_batch_has_the_starts_of_one_instance(batch, start):
    """Savings and the sweep are shorter than packings and within the fleet."""
    some = batch[:8]
    result = ff.solve_batch(some, start=start, search="none")
    assert [stage.name for stage in result.stages] == ["fleet", start, "check"]
    assert result.stages[1].gain > 0
    np.testing.assert_array_equal(result.feasible, result.statuses == "feasible")


def test_a_batch_takes_every_search(batch):
    """An outside solver and a search of one's own improve each plan."""

    def reverse(task):
        yield ff.Plan(tour[::-1] for tour in task.initial_plan)

    few = batch[:2]
    assert ff.solve_batch(few, time_limit=0.05, search="hgs", cores=1).feasible.any()
    own = ff.solve_batch(few, time_limit=0.05, search=reverse, cores=1)
    assert own.stages[1].name == "reverse"


def test_no_instances():
    """Nothing in, nothing out."""
    result = ff.solve_batch([], iterations=1)
    assert len(result) == 0
    assert str(result).startswith("0 fleets")


def test_a_gpu_gets_the_feasible_ones_in_one_call(batch, no_kernel):
    """A batch goes to the GPU whole, without those that have no plan."""
    result = ff.solve_batch(batch, iterations=50, search="gpu")
    ((group, limits),) = no_kernel
    assert len(group.rows) == result.feasible.sum() < len(batch)
    assert limits["iterations"][0] == 50
    assert [stage.name for stage in result.stages] == ["fleet", "gpu", "check"]


def test_a_gpu_is_given_rounds_for_its_time(batch, no_kernel, monkeypatch):
    """A short round shows how fast it is; about ten longer ones fill the time."""
    now, launch = [100.0], gpu_kernel.launch

    def slow_launch(group, limits, chains):
        now[0] += 0.001 + 1e-6 * int(limits["iterations"][0])
        return launch(group, limits, chains)

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(gpu_kernel, "launch", slow_launch)
    result = ff.solve_batch(batch, time_limit=0.01, search="gpu")
    limit = 0.01 * result.feasible.sum()
    counts = [int(limits["iterations"][0]) for _, limits in no_kernel]
    assert counts[:2] == [50, 400]
    assert 10 <= len(counts) <= 15
    assert 0.9 * limit < now[0] - 100 < 1.01 * limit
    np.testing.assert_array_equal(result.feasible, result.statuses == "feasible")


def test_a_gpu_is_bound_to_the_fewest_vehicles(no_kernel):
    """If vehicles are expensive, the GPU plans for the smallest fleets that suffice."""
    wide = generate.uniform(20, 5, seed=3).with_vehicles(9)
    options = {"iterations": 5, "search": "gpu"}
    for instances in (wide, list(wide)):
        ff.solve_batch(instances, **options, vehicle_cost=35)
        group, _ = no_kernel[-1]
        fewest = [instance.minimum_vehicles for instance in wide]
        assert group.sizes[:, 1].tolist() == fewest
    ff.solve_batch(wide, **options, vehicle_cost=0.001)
    assert set(no_kernel[-1][0].sizes[:, 1].tolist()) == {9}


def test_a_cuda_device_means_the_search_there(batch, no_kernel):
    """``device='cuda'`` alone takes the GPU search."""
    ff.solve_batch(batch, iterations=5, device="cuda")
    assert len(no_kernel) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give either a time limit or a number of iterations"),
        ({"time_limit": 1, "iterations": 1}, "give either"),
        ({"time_limit": 0}, "time limit is 0, not a number above 0"),
        ({"time_limit": math.inf}, "time limit is inf"),
        ({"iterations": 0}, "iterations is 0"),
        ({"iterations": 1, "cores": 0}, "cores is 0"),
        ({"iterations": 1, "engine": "dask"}, "unknown engine 'dask'"),
        pytest.param(
            {"iterations": 1, "engine": "ray"},
            "'ray' needs an address",
            marks=pytest.mark.skipif(
                find_spec("ray") is None, reason="Ray is not installed"
            ),
        ),
        ({"iterations": 1, "search": "magic"}, "unknown search 'magic'"),
        ({"iterations": 1, "start": "magic"}, "unknown start 'magic'"),
        ({"iterations": 1, "seed": -1}, "seed is -1"),
        ({"iterations": 1, "vehicle_cost": -1}, "vehicle cost is -1"),
        ({"start": "network", "search": "none", "device": "x"}, "device is 'x'"),
    ],
)
def test_wrong_arguments_are_named(batch, options, message):
    """Each wrong argument gets a line before anything is done."""
    with pytest.raises(ff.InputError, match=message):
        ff.solve_batch(batch, **options)


def test_what_is_no_instance_is_named(square):
    """A list with something else in it is refused by its place."""
    with pytest.raises(ff.InputError, match="instance 1 is a str, not an Instance"):
        ff.solve_batch([square, "square"], iterations=1)


def test_without_cupy(batch, monkeypatch):
    """A GPU asked for where there is no CuPy is an error, not another search."""
    monkeypatch.setattr(gpu_kernel, "load_cupy", gpu_kernel.load_cupy.__wrapped__)
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(ff.MissingPackageError, match=r"fixedfleet\[gpu\]"):
        ff.solve_batch(batch, iterations=1, search="gpu")


def test_ctrl_c_keeps_what_is_done(batch, monkeypatch):
    """Cut short, the rest keep their packings and the result says so."""
    work = importlib.import_module("fixedfleet.solving.solve_batch")

    def do_and_press_ctrl_c(chunk, call, *shared, improve=work._improve):
        found = improve(chunk, call, *shared)
        os.kill(os.getpid(), signal.SIGINT)
        return found

    monkeypatch.setattr(work, "_improve", do_and_press_ctrl_c)
    monkeypatch.setattr(work, "_CHUNK", 10)
    result = ff.solve_batch(batch, iterations=300, cores=1)
    assert result.interrupted
    np.testing.assert_array_equal(result.feasible, result.statuses == "feasible")
    packed = ff.solve_batch(batch, search="none")
    same = result.lengths == packed.lengths
    rows = np.flatnonzero(result.feasible)
    assert not same[rows[:10]].any()
    assert same[rows[10:]].all()


def test_ctrl_c_while_fleets_are_judged_ends_all(batch, monkeypatch):
    """The search does not begin, and the verdicts that are left are quick."""
    work = importlib.import_module("fixedfleet.solving.solve_batch")

    def press_ctrl_c(*args, judge=work.assess_batch, **options):
        os.kill(os.getpid(), signal.SIGINT)
        assert options["deadline"].over()
        return judge(*args, **options)

    monkeypatch.setattr(work, "assess_batch", press_ctrl_c)
    monkeypatch.setattr(work, "_improve", lambda *_: pytest.fail("it was searched"))
    assert ff.solve_batch(batch, iterations=300, cores=1).interrupted


def test_display_says_how_far_it_is(batch, capsys):
    """Stages are printed as they end, and the summary at last."""
    result = ff.solve_batch(batch, iterations=5, cores=1, display=True)
    out = capsys.readouterr().out
    assert out.startswith("fleet: ")
    assert out.endswith(f"{result}\n")


@pytest.mark.slow
def test_a_cluster_gives_the_plans_of_one_machine(cluster, batch):
    """With the same seed, Ray plans as one process does, row by row."""
    few = batch[:12]
    options = {"iterations": 50, "seed": 3}
    here = ff.solve_batch(few, **options, cores=1)
    there = ff.solve_batch(few, **options, engine="ray")
    assert list(there.plans) == list(here.plans)
    assert there.statuses.tolist() == here.statuses.tolist()


def test_ray_and_a_gpu_exclude_each_other(batch, no_kernel):
    """The GPU search does not run on a cluster, and says so."""
    with pytest.raises(ff.InputError, match="leave Ray out"):
        ff.solve_batch(batch, iterations=1, search="gpu", engine="ray")


_DYING = """
import os, pathlib, signal

def dying(task):
    mark = pathlib.Path(__file__).with_name("died")
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    yield task.initial_plan

def deadly(task):
    if task.seed == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    yield task.initial_plan

def deadlier(task):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_worker_costs_only_its_work(tmp_path):
    """Another worker searches the instances that it had."""
    (tmp_path / "killed.py").write_text(_DYING, encoding="utf-8")
    batch = generate.uniform(20, 8, seed=5)
    search = f"{tmp_path / 'killed.py'}:dying"
    found = ff.solve_batch(batch, time_limit=0.5, search=search, cores=2)
    assert (tmp_path / "died").exists()
    assert found.feasible.all()


def test_an_instance_that_kills_each_worker_costs_only_its_search(tmp_path, caplog):
    """Its chunk keeps the initial plans, with a warning; the others are searched."""
    (tmp_path / "killed.py").write_text(_DYING, encoding="utf-8")
    batch = generate.uniform(20, 8, seed=5)
    search = f"{tmp_path / 'killed.py'}:deadly"
    found = ff.solve_batch(batch, time_limit=0.5, search=search, seed=0, cores=2)
    assert found.feasible.all()
    assert [one.getMessage() for one in caplog.records] == [
        "the worker process ended by signal 9 while it searched: 1 instance left "
        "as planned at the start"
    ]


def test_if_all_workers_are_killed_that_is_an_error(tmp_path):
    """Initial plans would look like plans that were searched for."""
    (tmp_path / "killed.py").write_text(_DYING, encoding="utf-8")
    batch = generate.uniform(20, 2, seed=5)
    search = f"{tmp_path / 'killed.py'}:deadlier"
    with pytest.raises(RuntimeError, match="ended by signal 9 while it searched"):
        ff.solve_batch(batch, time_limit=0.5, search=search, cores=2)
