"""The GPU search: its host code, its kernel emulated, and the kernel on a GPU."""

from __future__ import annotations

import ctypes
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate, search
from fixedfleet.deadline import Deadline
from fixedfleet.errors import MissingPackageError
from fixedfleet.fleet import assess_fleet
from fixedfleet.interrupts import interrupt_noted
from fixedfleet.search import SearchResult, gpu_kernel
from fixedfleet.search.gpu import improve_batch
from fixedfleet.search.gpu_arrays import pack, size_classes
from fixedfleet.search.gpu_kernel import GpuSpeed

HERE = Path(__file__).parent
KERNEL = HERE.parents[1] / "src" / "fixedfleet" / "search" / "ruin_recreate.cu"


def has_gpu() -> bool:
    try:
        gpu_kernel.load_cupy()
    except (MissingPackageError, ff.InputError):
        return False
    return True


needs_gpu = pytest.mark.skipif(not has_gpu(), reason="no GPU with CuPy")
no_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="no g++ to emulate the kernel with"
)


def emulates(test):
    """Mark a test that compiles and emulates the kernel."""
    return pytest.mark.slow(no_compiler(test))


def first_fit(instance: ff.Instance) -> ff.Plan:
    """Pack customers into vehicles, the largest demands first."""
    units, tours = instance.demand_units, [[] for _ in range(instance.vehicles)]
    room = np.full(instance.vehicles, instance.capacity_units)
    for customer in 1 + np.argsort(-units[1:], kind="stable"):
        tour = int(np.argmax(room >= units[customer]))
        tours[tour].append(int(customer))
        room[tour] -= units[customer]
    plan = ff.Plan(tours)
    assert plan.is_feasible(instance)
    return plan


def stack(instances) -> ff.InstanceBatch:
    return ff.InstanceBatch(
        depots=[i.depot for i in instances],
        customers=[i.customers for i in instances],
        demands=[i.demands for i in instances],
        capacity=[i.capacity for i in instances],
        vehicles=[i.vehicles for i in instances],
    )


def packed(instances) -> ff.PlanBatch:
    return ff.PlanBatch.from_plans(map(first_fit, instances))


def improve(instances, plans, *, iterations, **options) -> ff.PlanBatch:
    """Improve plans for a number of iterations."""
    batch, deadline = ff.InstanceBatch.of(instances), Deadline(iterations=iterations)
    return improve_batch(batch, plans, deadline=deadline, **options)


def search_gpu(instance, plan, **limits) -> SearchResult:
    """Improve one plan."""
    return search.improve(instance, plan, search="gpu", **limits)


# ------------------------------------------------------------------- the host's part


@pytest.fixture
def no_kernels(monkeypatch):
    """A GPU whose kernels need not be compiled."""
    monkeypatch.setattr(gpu_kernel, "load_kernels", lambda groups: None)


@pytest.fixture
def echo(monkeypatch, no_kernels):
    """A kernel that returns the plans it is given; here are the groups of them."""
    groups = []

    def launch(group, limits, chains):
        groups.append(group)
        return lambda: group.starts

    monkeypatch.setattr(gpu_kernel, "launch", launch)
    return groups


def test_size_classes():
    """The smallest class with room for customers and vehicles is chosen."""
    nodes = np.array([2, 32, 33, 111, 129, 600, 2048])
    assert size_classes(nodes).tolist() == [1, 1, 2, 4, 6, 24, 64]
    with pytest.raises(ff.InputError, match="2049; the GPU search takes at most 2048"):
        size_classes(np.array([2049]))


def test_mixed_batch_comes_back_in_order(echo, make_instance):
    """Instances of several sizes and distances each get their own plan back."""
    instances = [
        make_instance(n=12, seed=1),
        make_instance(n=40, vehicles=9, capacity=30, seed=2),
        make_instance(n=15, seed=3, rounding="ceil"),
        make_instance(n=7, seed=4),
    ]
    starts = packed(instances)
    found = improve(instances, starts, iterations=1)
    assert [plan.tours for plan in found] == [plan.tours for plan in starts]
    kinds = [(g.slots, g.matrices is None, g.rows.tolist()) for g in echo]
    assert kinds == [(1, False, [2]), (1, True, [0, 3]), (2, True, [1])]


def test_instances_and_batch_pack_alike(echo, make_instance):
    """A batch and the same instances in a list reach the GPU as the same arrays."""
    instances = [make_instance(n=12, seed=seed) for seed in range(3)]
    starts = packed(instances)
    improve(instances, starts, iterations=1)
    improve(stack(instances), starts, iterations=1)
    for field in ("rows", "sizes", "points", "demands", "starts"):
        one, other = (getattr(group, field) for group in echo)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


def test_fleet_beyond_customers_is_cut(echo, square):
    """Vehicles that could only stay at the depot take no room on the GPU."""
    instance = square.with_vehicles(1000)
    start = ff.PlanBatch.from_plans([ff.Plan([[1, 2], [3, 4]])])
    improve([instance], start, iterations=1)
    assert echo[0].sizes.tolist() == [[4, 4, 2, 0]]
    assert echo[0].slots == 1


def test_empty_batch(echo, square):
    """No instances give no plans."""
    nothing = ff.PlanBatch(np.zeros((0, 6), dtype=np.int64))
    assert len(improve([], nothing, iterations=1)) == 0
    empty = stack([square])[:0]
    assert len(improve(empty, nothing, iterations=1)) == 0
    assert not echo


def test_far_coordinates_keep_their_digits(echo, square):
    """Coordinates far from the origin are given relative to the depot."""
    origin = np.array([4e6, 5e6])
    far = replace(square, depot=origin, customers=square.customers + origin)
    start = ff.PlanBatch.from_plans([ff.Plan([[1, 2], [3, 4]])])
    improve([far], start, iterations=1)
    np.testing.assert_array_equal(echo[0].points[0, 1:], square.customers)


def test_worse_plan_is_not_taken(monkeypatch, no_kernels, square):
    """A plan no better than the initial one is dropped, and a better one taken."""
    good, bad = ff.Plan([[1, 2], [3, 4]]), ff.Plan([[1, 3], [2, 4]])

    def returning(plan):
        routes = plan.to_routes(6).astype(np.uint16)[None]
        monkeypatch.setattr(gpu_kernel, "launch", lambda *_: lambda: routes)

    returning(bad)
    kept = improve([square], ff.PlanBatch.from_plans([good]), iterations=1)
    assert kept[0] == good
    returning(good)
    taken = improve([square], ff.PlanBatch.from_plans([bad]), iterations=1)
    assert taken[0] == good


def test_ctrl_c_keeps_the_plans_of_all_rounds(monkeypatch, no_kernels, square):
    """After Ctrl-C the round ends, and the best plans so far come back."""
    good, bad = ff.Plan([[1, 2], [3, 4]]), ff.Plan([[1, 3], [2, 4]])
    rounds = []

    def launch(group, limits, chains):
        rounds.append(limits)
        if len(rounds) == 3:
            signal.raise_signal(signal.SIGINT)
        return lambda: good.to_routes(6).astype(np.uint16)[None]

    monkeypatch.setattr(gpu_kernel, "launch", launch)
    batch, plans = ff.InstanceBatch.of([square]), ff.PlanBatch.from_plans([bad])
    with interrupt_noted() as pressed:
        found = improve_batch(batch, plans, deadline=Deadline(60))
        assert pressed()  # the caller learns of it
    assert len(rounds) == 3
    assert found[0] == good


def test_infeasible_plan_from_the_gpu_is_an_error(monkeypatch, no_kernels, square):
    """What the GPU returns is checked, never believed."""
    routes = np.array([[1, 2, 3, 0, 4, 0]], dtype=np.uint16)
    monkeypatch.setattr(gpu_kernel, "launch", lambda *_: lambda: routes)
    start = ff.PlanBatch.from_plans([ff.Plan([[1, 2], [3, 4]])])
    with pytest.raises(RuntimeError, match="infeasible plan 0: tour 1 carries 3 of 2"):
        improve([square], start, iterations=1)


@pytest.mark.parametrize(
    ("tours", "changes", "message"),
    [
        ([[1, 2, 3], [4]], {}, "plan 0 is not feasible .* tour 1 carries 3 of 2"),
        ([[1, 2], [3]], {}, "plan 0 is not feasible .* customer 4 missing"),
        ([[1, 2], [3, 4]], {"iterations": 2**31}, "iterations is 2147483648, not at"),
        ([[1, 2], [3, 4]], {"seed": -1}, "seed is -1"),
        ([[1, 2], [3, 4]], {"vehicle_cost": -1.0}, "vehicle cost is -1"),
    ],
)
def test_wrong_arguments(echo, square, tours, changes, message):
    """A wrong argument is named before the GPU is asked for anything."""
    arguments = {"iterations": 1} | changes
    with pytest.raises(ff.InputError, match=message):
        improve([square], ff.PlanBatch([ff.Plan(tours).to_routes()]), **arguments)
    assert not echo


def test_number_of_plans(echo, square):
    """Each instance needs one plan."""
    with pytest.raises(ff.InputError, match="0 plans for 1 instances"):
        improve([square], ff.PlanBatch.from_plans([]), iterations=1)


def test_huge_capacity(echo, square):
    """A capacity that a 32-bit number cannot hold in the demands' unit is refused."""
    huge = replace(square, demands=[1, 1, 1, 2**31], capacity=2**32)
    start = ff.PlanBatch.from_plans([ff.Plan([[1, 2], [3, 4]])])
    with pytest.raises(ff.InputError, match="instance 0 has a capacity of 4294967296"):
        improve([huge], start, iterations=1)


def test_without_cupy(monkeypatch, square):
    """Without CuPy, choosing the GPU says which extra to install."""
    monkeypatch.setattr(gpu_kernel, "load_cupy", gpu_kernel.load_cupy.__wrapped__)
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    start = ff.PlanBatch.from_plans([ff.Plan([[1, 2], [3, 4]])])
    with pytest.raises(MissingPackageError, match=r"fixedfleet\[gpu\]"):
        improve([square], start, iterations=1)


# ----------------------------------------------------------- one instance at a time


def test_the_shortest_chain_is_picked():
    """Of the chains of each instance, the plan of the shortest one comes back."""
    routes = np.arange(2 * 3 * 4, dtype=np.uint16).reshape(2, 3, 4)
    lengths = np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 1.0]], dtype=np.float32)
    picked = gpu_kernel.pick(routes, lengths)
    assert picked.tolist() == [routes[0, 1].tolist(), routes[1, 0].tolist()]


def test_chains_that_fill_a_gpu(monkeypatch, make_instance):
    """Instances of all sizes get equally many chains, which fit on the GPU at once."""
    device = SimpleNamespace(attributes={"MultiProcessorCount": 132})
    cupy = SimpleNamespace(cuda=SimpleNamespace(Device=lambda: device))
    monkeypatch.setattr(gpu_kernel, "load_cupy", lambda: cupy)
    monkeypatch.setattr(gpu_kernel, "_resident", lambda group: 128 // group.slots)
    small = make_instance(n=100, vehicles=11, capacity=50)
    alone = pack(ff.InstanceBatch.of([small]), packed([small]))
    assert gpu_kernel.chains_to_fill(alone) == 132 * 32
    large = make_instance(n=200, vehicles=20, capacity=50)
    batch = ff.InstanceBatch.of([small, large, large])
    groups = pack(batch, packed([small, large, large]))
    # A multiprocessor holds 32 small or 16 large ones, so 6.4 of each of the three.
    assert gpu_kernel.chains_to_fill(groups) == int(132 * 6.4)


@pytest.fixture
def launches(monkeypatch, no_kernels):
    """A kernel of 1,000 iterations per second that returns the plans it is given.

    The clock stands still but for it: a launch is (begin, start and end temperature,
    iterations).
    """
    seen, clock = [], [0.0]

    def launch(group, limits, chains):
        names = ("start_temperature", "end_temperature", "iterations")
        seen.append((clock[0], *(float(limits[name][0]) for name in names)))
        clock[0] += int(limits["iterations"][0]) / 1000
        return lambda: group.starts

    monkeypatch.setattr(gpu_kernel, "launch", launch)
    monkeypatch.setattr(gpu_kernel, "chains_to_fill", lambda _: 2)
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    return seen


def test_one_instance_is_cooled_by_the_clock(launches, square):
    """Every round begins as hot as the clock says, and the last ends cold."""
    plan = ff.Plan([[1, 3], [2, 4]])
    found = search_gpu(square, plan, time_limit=5)
    assert (found.plan, found.seconds) == (plan, pytest.approx(5, abs=0.05))
    begin, hot, cold, iterations = np.array(launches).T
    assert hot == pytest.approx(0.1 * 0.15 ** (begin / 5))
    assert cold[-1] == pytest.approx(0.015, rel=0.02)
    assert 10 <= len(begin) < 20
    assert iterations.sum() == pytest.approx(5000, rel=0.01)


def test_one_instance_is_stopped_between_rounds(launches, square):
    """After it is stopped, no further round begins."""
    plan = ff.Plan([[1, 3], [2, 4]])
    search_gpu(square, plan, time_limit=60, stop=lambda: len(launches) == 4)
    assert len(launches) == 4


def test_the_plans_of_the_first_round_are_kept(monkeypatch, launches, square):
    """The round that shows how fast the GPU is counts like any other."""
    good, bad = ff.Plan([[1, 2], [3, 4]]), ff.Plan([[1, 3], [2, 4]])
    launch = gpu_kernel.launch

    def lucky_once(group, limits, chains):
        wait = launch(group, limits, chains)
        lucky = good.to_routes(6).astype(np.uint16)[None]
        return (lambda: lucky) if len(launches) == 1 else wait

    monkeypatch.setattr(gpu_kernel, "launch", lucky_once)
    found = search_gpu(square, bad, time_limit=5)
    assert found.plan == good
    assert found.trace == ((0.0, bad.length(square)), (0.05, good.length(square)))
    launches.clear()
    batch, plans = ff.InstanceBatch.of([square]), ff.PlanBatch.from_plans([bad])
    assert improve_batch(batch, plans, deadline=Deadline(5))[0] == good


def test_the_first_round_is_short(launches, square):
    """It has few iterations, and the next has at most eight times as many."""
    search_gpu(square, ff.Plan([[1, 3], [2, 4]]), time_limit=60)
    iterations = [launch[-1] for launch in launches]
    assert iterations[:3] == [50, 400, 3200]


def test_iterations_are_one_round(launches, square):
    """A limit on iterations is given to the kernel as it is."""
    search_gpu(square, ff.Plan([[1, 3], [2, 4]]), iterations=777)
    assert launches == [(0.0, pytest.approx(0.1), pytest.approx(0.015), 777)]


@pytest.mark.parametrize("tours", [[[1, 2], [3]], [[3, 1]], []])
def test_an_incomplete_plan_is_completed_on_a_core(launches, square, tours):
    """The GPU takes only plans that serve all, so a core first finds one."""
    found = search_gpu(square, ff.Plan(tours), time_limit=5, iterations=400)
    assert found.plan.is_feasible(square)
    assert [launch[-1] for launch in launches] == [400]
    assert found.trace


def test_the_gpu_is_not_asked_if_no_plan_serves_all(launches, impossible):
    """If a core finds no complete plan, the plan with the fewest unserved remains."""
    found = search_gpu(impossible, None, iterations=300)
    assert len(found.plan.unserved(impossible)) == 1
    assert not launches


def test_the_speed_of_the_gpu_is_measured():
    """The first round is taken as overhead; later ones say how fast the GPU is."""
    speed = GpuSpeed(50)
    assert speed.iterations_in(1.0) == 50
    speed.record(50, 0.1)
    assert speed.overhead == 0.1
    speed.record(400, 0.5)  # 1,000 iterations per second
    assert speed.iterations_in(1.1) == pytest.approx(1000, abs=1)
    assert speed.iterations_in(100.0) == 3200
    assert speed.iterations_in(0.0) == 1
    assert speed.overhead == 0.1


def test_solve_asks_for_the_gpu_first(monkeypatch, square):
    """Where there is no CuPy, ``search='gpu'`` says so before anything else is done."""
    monkeypatch.setattr(gpu_kernel, "load_cupy", gpu_kernel.load_cupy.__wrapped__)
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(MissingPackageError, match=r"fixedfleet\[gpu\]"):
        ff.solve(square.with_vehicles(1), search="gpu")


# ------------------------------------------------- the kernel, emulated lane by lane


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A function that returns the compiled emulation of a size class."""
    folder = tmp_path_factory.mktemp("emulated")

    @cache
    def compiled(slots, matrix, rounded, shared_bytes):
        target = folder / f"kernel_{slots}_{matrix}_{rounded}.so"
        defines = {
            "KERNEL": f'"{KERNEL}"', "SLOTS": slots, "MATRIX": int(matrix),
            "ROUNDED": int(rounded), "WARPS": 1, "BLOCKS": 1,
            "SHARED_BYTES": shared_bytes,
        }  # fmt: skip
        options = [f"-D{name}={value}" for name, value in defines.items()]
        source = str(HERE / "emulated_search.cpp")
        command = ["g++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC", *options]
        subprocess.run([*command, "-o", str(target), source], check=True)
        return ctypes.CDLL(str(target))

    return compiled


@pytest.fixture
def emulated(monkeypatch, no_kernels, library):
    """The kernel on a processor; set ``backwards`` to run the lanes the other way."""
    settings = {"backwards": 0}

    def launch(group, limits, chains):
        matrix = group.matrices is not None
        count, width = group.starts.shape
        routes = np.zeros((count, chains, width), dtype=np.uint16)
        lengths = np.zeros((count, chains), dtype=np.float32)
        turned = group.matrices.transpose(0, 2, 1).copy() if matrix else group.points
        distances = group.matrices if matrix else group.points
        points = distances if group.points is None else group.points
        arrays = (
            group.sizes, points, distances, turned, group.demands, group.starts,
            routes, lengths,
        )  # fmt: skip
        assert all(array.flags.c_contiguous for array in arrays)
        shape = (count * chains, chains, group.locations, width)
        library(group.slots, matrix, group.rounded, group.shared_bytes).emulate(
            *(array.ctypes.data_as(ctypes.c_void_p) for array in arrays),
            *map(ctypes.c_int, shape),
            limits.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_int(settings["backwards"]),
        )
        return lambda: gpu_kernel.pick(routes, lengths)

    monkeypatch.setattr(gpu_kernel, "launch", launch)
    return settings


@emulates
def test_emulated_kernel_finds_the_optimum(emulated, square):
    """A square of four customers is planned as well as it can be."""
    start = ff.PlanBatch.from_plans([ff.Plan([[1, 3], [2, 4]])])
    plan = improve([square], start, iterations=50)[0]
    assert plan.length(square) == pytest.approx(4 + 4 * 2**0.5)


@emulates
def test_emulated_search_of_one_instance(emulated, monkeypatch, square):
    """``solve`` on a GPU takes one instance from its packing to the optimum."""
    monkeypatch.setattr(gpu_kernel, "load_cupy", lambda: None)
    monkeypatch.setattr(gpu_kernel, "chains_to_fill", lambda _: 2)
    result = ff.solve(square, 0.2, search="gpu")
    assert result.length == pytest.approx(4 + 4 * 2**0.5)
    assert [stage.name for stage in result.stages] == ["fleet", "gpu"]


@emulates
@pytest.mark.parametrize("rounding", ["none", "round"])
def test_emulated_kernel_improves_mixed_sizes(emulated, make_instance, rounding):
    """Plans of every size class get shorter and stay within fleet and capacity."""
    shapes = ((9, 2), (30, 5), (75, 8))
    instances = [
        replace(
            make_instance(n=n, vehicles=m, capacity=40, seed=n),
            rounding=rounding,
            customers=1000 * np.random.default_rng(n).uniform(size=(n, 2)),
        )
        for n, m in shapes
    ]
    starts = packed(instances)
    plans = improve(instances, starts, iterations=60)
    for plan, start, instance in zip(plans, starts, instances, strict=True):
        assert plan.is_feasible(instance)
        assert plan.length(instance) < 0.9 * start.length(instance)


@emulates
def test_emulated_lanes_do_not_race(emulated, make_instance):
    """The plan does not depend on the order in which the lanes of a warp run."""
    instances = [make_instance(n=24, vehicles=4, capacity=30, seed=s) for s in (1, 2)]
    starts = packed(instances)
    forwards = improve(instances, starts, iterations=60, seed=3)
    emulated["backwards"] = 1
    backwards = improve(instances, starts, iterations=60, seed=3)
    assert [p.tours for p in forwards] == [p.tours for p in backwards]
    other = improve(instances, starts, iterations=60, seed=4)
    assert [p.tours for p in forwards] != [p.tours for p in other]


@emulates
def test_emulated_vehicle_cost_empties_tours(emulated, monkeypatch, square):
    """An expensive vehicle stays at the depot if another has room for its customers."""
    monkeypatch.setattr(gpu_kernel, "chains_to_fill", lambda _: 2)
    found = search.improve(
        replace(square, capacity=4),
        ff.Plan([[1, 2], [3, 4]]),
        search="gpu",
        iterations=60,
        vehicle_cost=10.0,
    )
    assert found.plan.vehicles == 1


@emulates
def test_emulated_kernel_takes_one_way_distances(emulated):
    """With distances that differ by direction the cheap way round is found."""
    matrix = np.full((6, 6), 10.0)
    matrix[np.arange(6), (np.arange(6) + 1) % 6] = 1.0
    np.fill_diagonal(matrix, 0.0)
    instance = ff.Instance(matrix=matrix, demands=[1] * 5, capacity=5, vehicles=2)
    start = ff.PlanBatch.from_plans([ff.Plan([[5, 4, 3, 2, 1]])])
    plan = improve([instance], start, iterations=80)[0]
    assert plan.tours == ((1, 2, 3, 4, 5),)


@emulates
def test_emulated_kernel_keeps_a_full_fleet(emulated, make_instance):
    """Where every vehicle must be full, plans stay feasible all the same."""
    instance = replace(
        make_instance(n=12, vehicles=3, capacity=8, seed=5), demands=[2] * 12
    )
    starts = packed([instance])
    plan = improve([instance], starts, iterations=60)[0]
    assert plan.is_feasible(instance)
    assert plan.length(instance) < starts[0].length(instance)


# ------------------------------------------------------------------ the kernel itself


@needs_gpu
@pytest.mark.parametrize("n", [8, 20, 50, 100, 200, 512])
def test_gpu_improves_every_plan(make_instance, n):
    """On a GPU a batch of any size comes back feasible and shorter."""
    m = max(2, n // 9)
    instances = [make_instance(n=n, vehicles=m, capacity=60, seed=s) for s in range(20)]
    batch, starts = stack(instances), packed(instances)
    plans = improve(batch, starts, iterations=2000)
    assert plans.feasible(batch).all()
    assert (plans.lengths(batch) < starts.lengths(batch)).all()
    again = improve(batch, starts, iterations=2000)
    np.testing.assert_array_equal(plans.routes, again.routes)


@needs_gpu
def test_gpu_finds_the_optimum(square):
    """On a GPU a square of four customers is planned as well as it can be."""
    start = ff.PlanBatch.from_plans([ff.Plan([[1, 3], [2, 4]])])
    plan = improve([square], start, iterations=100)[0]
    assert plan.length(square) == pytest.approx(4 + 4 * 2**0.5)


@needs_gpu
def test_gpu_solves_one_instance():
    """On a GPU a single instance ends within 1 % of the search on a core."""
    instance = generate.uniform(50, 1, seed=31)[0]
    on_gpu = ff.solve(instance, 1.0, search="gpu")
    assert on_gpu.length <= 1.01 * ff.solve(instance, 1.0).length


@needs_gpu
def test_gpu_solves_a_large_instance():
    """On a GPU a large plan ends within 1 % of the search on the cores."""
    instance = generate.uchoa(300, seed=31, rounding="round")
    instance = instance.with_vehicles(instance.vehicles + 1)
    on_gpu = ff.solve(instance, 2.0, search="gpu")
    assert on_gpu.length <= 1.01 * ff.solve(instance, 2.0).length


@needs_gpu
def test_gpu_coordinates_and_matrix_agree(make_instance):
    """On a GPU the same distances from coordinates or a matrix give plans as good."""
    instances = [
        make_instance(n=40, vehicles=8, capacity=40, seed=s) for s in range(64)
    ]
    by_matrix = [
        replace(i, depot=None, customers=None, matrix=i.distances) for i in instances
    ]
    starts = packed(instances)
    lengths = [
        np.mean([p.length(i) for p, i in zip(plans, instances, strict=True)])
        for plans in (
            improve(instances, starts, iterations=20_000),
            improve(by_matrix, starts, iterations=20_000),
        )
    ]
    assert lengths[0] == pytest.approx(lengths[1], rel=0.002)


@needs_gpu
@pytest.mark.parametrize(("n", "iterations"), [(20, 20_000), (50, 60_000)])
@pytest.mark.parametrize("vehicle_cost", [0.0, 2.0])
def test_gpu_plans_are_as_good_as_the_cores(n, iterations, vehicle_cost):
    """Given time, GPU and core plan the same instances to within 1 % on average."""
    drawn = [(i, assess_fleet(i).packing) for i in generate.uniform(n, 48, seed=31)]
    instances, packings = zip(*((i, p) for i, p in drawn if p), strict=True)
    starts = ff.PlanBatch.from_plans(packings)
    found = improve(instances, starts, iterations=iterations, vehicle_cost=vehicle_cost)
    on_gpu = [p.cost_v(i, vehicle_cost) for p, i in zip(found, instances, strict=True)]
    on_core = [
        search.improve(
            i,
            p,
            search="ruin_recreate",
            iterations=iterations,
            vehicle_cost=vehicle_cost,
        ).cost
        for i, p in zip(instances, packings, strict=True)
    ]
    assert np.mean(on_gpu) == pytest.approx(np.mean(on_core), rel=0.01)
