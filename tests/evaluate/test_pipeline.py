"""Starts and searches as methods: limits, batches, and the plans they make."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

import fixedfleet as ff
from fixedfleet.evaluate import get_method, get_set, pipeline
from fixedfleet.evaluate.starts import NetworkStart
from fixedfleet.solving.solve_batch import solve_batch


@pytest.fixture(autouse=True)
def one_thread():
    """Hold PyTorch to one thread, as workers do: many of them wait for one another."""
    try:
        import torch
    except ImportError:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_batches_and_gpus_follow_from_the_options():
    """A start on a GPU takes many instances at once, on a core one, unless told."""
    kinds = {
        spec: (get_method(spec).batch, get_method(spec).on_gpu)
        for spec in ("network", "network:batch=7", "network:device=cuda", "hgs")
    }
    assert kinds["network"] == kinds["hgs"] == (1, False)
    assert kinds["network:batch=7"] == (7, False)
    assert kinds["network:device=cuda"][0] > 100
    assert kinds["network:device=cuda"][1]


def test_the_gpu_search_takes_whole_batches(monkeypatch, two):
    """Batches go through ``solve_batch``, and rows without a plan have their reason."""
    asked = {}

    def planned(instances, **options):
        asked.update(options)
        return solve_batch(
            instances,
            iterations=5,
            search="ruin_recreate",
            start="packing",
            cores=1,
        )

    monkeypatch.setattr("fixedfleet.evaluate.pipeline.solve_batch", planned)
    method = get_method("packing+gpu:batch=2,objective=cost-v")
    assert (method.batch, method.on_gpu) == (2, True)
    instances = [two[0], two[1].with_vehicles(1)]
    good, bad = method.solve(instances, vehicle_cost=9.0, iterations=700, seed=3)
    assert good.plan.is_feasible(two[0])
    assert bad.plan is None
    assert "demands sum to" in bad.reason
    wanted = {"start": "packing", "search": "gpu", "iterations": 700, "seed": 3}
    assert wanted.items() <= asked.items()
    assert asked["vehicle_cost"] == 9.0
    assert asked.get("cores") is None  # all cores may help with large instances


def test_limits_say_what_a_method_heeds():
    """Starts take no limit; searches take time, and some count iterations."""
    assert get_method("savings").limits == ()
    assert get_method("packing+auto").limits == ("time",)
    assert get_method("packing+ruin_recreate").limits == ("time", "iterations")
    assert get_method("hgs").limits == ("time", "iterations")
    assert get_method("ortools").limits == ("time",)
    with pytest.raises(ff.InputError, match="needs a time limit"):
        get_method("packing+auto").solve(get_set("uniform20:99", 1).instances)


@pytest.mark.parametrize(
    ("spec", "package"), [("pyvrp", "pyvrp"), ("packing+vroom", "vroom")]
)
def test_a_missing_package_is_named_by_check(uninstall, spec, package):
    """A method whose package is not installed says so before it is run."""
    get_method(spec).check()
    uninstall(package)
    with pytest.raises(ff.MissingPackageError, match=f"'{package}'.*pip install"):
        get_method(spec).check()


def test_a_missing_network_is_named_by_check():
    """A method whose network does not exist says so before it is run."""
    pytest.importorskip("torch")
    with pytest.raises(ff.InputError, match="no network 'nobody'"):
        get_method("network:model=nobody").check()


@pytest.mark.parametrize(
    "spec",
    [
        "packing",
        "savings",
        "sweep",
        "sweep:decoded=yes",
        "packing:decoded=yes",
        "network",
        "network:decoding=greedy",
    ],
)
def test_starts_are_given_as_they_are(two, spec):
    """A start alone is a plan for each instance, with nobody served twice."""
    if "network" in spec or "decoded" in spec:
        pytest.importorskip("torch")
    for answer, instance in zip(get_method(spec).solve(two), two, strict=True):
        served = [customer for tour in answer.plan for customer in tour]
        assert len(set(served)) == len(served) > 0
        assert max(answer.plan.load_units(instance)) <= instance.capacity_units


def test_symmetries_never_make_a_plan_worse(two):
    """The best of several views serves as many customers, in no greater length."""
    pytest.importorskip("torch")
    one = get_method("network:batch=2").solve(two)
    four = get_method("network:batch=2,symmetries=4").solve(two)
    for instance, plain, best in zip(two, one, four, strict=True):
        found, known = (
            (len(answer.plan.unserved(instance)), answer.plan.length(instance))
            for answer in (best, plain)
        )
        assert found <= known


def test_a_batch_is_planned_like_its_instances(two):
    """A network plans two instances together as it plans each alone."""
    pytest.importorskip("torch")
    together = get_method("network:batch=2").solve(two)
    alone = [get_method("network").solve([instance])[0] for instance in two]
    lengths = [
        [answer.plan.length(i) for answer, i in zip(answers, two, strict=True)]
        for answers in (together, alone)
    ]
    assert lengths[0] == pytest.approx(lengths[1])


@pytest.mark.parametrize(
    "spec",
    ["packing+ruin_recreate", "packing+decomposition", "savings+hgs", "hgs", "pyvrp"],
)
def test_iterations_give_the_same_plans_again(two, spec):
    """The same seed and number of iterations give the same feasible plan."""
    if spec == "pyvrp":
        pytest.importorskip("pyvrp")
    method = get_method(spec)
    first, second = (method.solve(two, iterations=30, seed=4) for _ in range(2))
    assert [answer.plan for answer in first] == [answer.plan for answer in second]
    assert all(a.plan.is_feasible(i) for a, i in zip(first, two, strict=True))


def test_a_search_improves_its_start_within_the_fleet(two):
    """What a search makes of a start is never longer, and its trace ends there."""
    start = get_method("savings").solve(two)
    found = get_method("savings+ruin_recreate").solve(two, time_limit=0.05)
    for instance, before, after in zip(two, start, found, strict=True):
        assert after.plan.is_feasible(instance)
        if not before.plan.unserved(instance):
            assert after.plan.length(instance) <= before.plan.length(instance) + 1e-9
        assert after.trace[-1][1] == pytest.approx(after.plan.length(instance))
        assert all(moment >= 0 for moment, _ in after.trace)


def test_an_impossible_fleet_has_a_reason_or_a_guarantee(two):
    """Without enough vehicles the answer says why; the guarantee plans for more."""
    tight = two[0].with_vehicles(1)
    for limit in ({"time_limit": 0.05}, {"iterations": 20}):
        (answer,) = get_method("packing+ruin_recreate").solve([tight], **limit)
        assert answer.plan is None
        assert answer.reason == (
            f"the demands sum to {tight.demands.sum()}, but the fleet carries 30"
        )
        more = get_method("packing+ruin_recreate:guarantee=yes")
        (answer,) = more.solve([tight], **limit)
        assert answer.plan.vehicles > 1
        assert answer.plan.is_feasible(two[0])
    (packing,) = get_method("packing:guarantee=yes").solve([tight])
    assert packing.plan.is_feasible(two[0])


@pytest.mark.parametrize("limit", [{"time_limit": 0.05}, {"iterations": 20}])
def test_with_the_guarantee_the_starter_plans_for_the_wider_fleet(
    two, limit, monkeypatch
):
    """Where the fleet is too small, the network too plans for the one that suffices."""
    pytest.importorskip("torch")
    fleets = []
    real = NetworkStart.answers

    def answers(self, instances, seed):
        fleets.extend(instance.vehicles for instance in instances)
        return real(self, instances, seed)

    monkeypatch.setattr(NetworkStart, "answers", answers)
    tight = two[0].with_vehicles(1)
    method = get_method("network+ruin_recreate:guarantee=yes")
    (answer,) = method.solve([tight], **limit)
    assert fleets == [ff.assess_fleet(tight).upper_bound]
    assert answer.plan.is_feasible(tight.with_vehicles(fleets[0]))
    assert not answer.trace or answer.trace[-1][1] > 0


def test_the_verdict_on_the_fleet_takes_a_quarter_of_the_time(two, monkeypatch):
    """With the guarantee, most of the time limit is left for the search."""
    limits = []

    def assess(instance, time_limit):
        limits.append(time_limit)
        return ff.assess_fleet(instance)

    monkeypatch.setattr(pipeline, "assess_fleet", assess)
    get_method("sweep+ruin_recreate:guarantee=yes").solve(two[:1], time_limit=0.08)
    assert limits == [0.02]


def test_the_search_has_the_time_that_the_start_leaves(two, monkeypatch):
    """Start and search together take the time limit."""
    clock = itertools.count(10.0, 0.75)  # each look at the clock is 0.75 s later
    limits = []

    def search(instance, time_limit, **options):
        limits.append(time_limit)
        return ff.solve(instance, 0.01, **options)

    times = SimpleNamespace(perf_counter=lambda: next(clock))
    monkeypatch.setattr(pipeline, "time", times)
    monkeypatch.setattr(pipeline, "solve", search)
    get_method("sweep+ruin_recreate").solve(two[:1], time_limit=2.0)
    assert limits == [1.25]


def test_a_method_that_proves_reports_its_lower_bound(two):
    """With prove=yes the answer has a bound below its plan, and whether it is met."""
    method = get_method("packing+ruin_recreate:prove=yes")
    assert method.limits == ("time",)
    (answer,) = method.solve(two[:1], time_limit=5.0)
    length = answer.plan.length(two[0])
    assert answer.details["is_optimal"] == 1.0
    assert length * (1 - 1e-6) <= answer.details["lower_bound"] <= length


def test_a_proof_is_for_plans_within_the_fleet():
    """A bound on plans within the fleet says nothing about plans beyond it."""
    with pytest.raises(ff.InputError, match="leave artificial=yes out"):
        get_method("savings+ruin_recreate:prove=yes,artificial=yes")


@pytest.mark.parametrize("bits", [16, 32])
def test_a_network_says_how_precise_it_was(two, bits, monkeypatch):
    """By default, that follows from the processor, so a row must tell it."""
    torch = pytest.importorskip("torch")
    able = bits == 16
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: able)
    (by_default,) = get_method("network").solve(two[:1])
    (asked,) = get_method("network:precision=fp32").solve(two[:1])
    assert (by_default.details["bits"], asked.details["bits"]) == (bits, 32)


@pytest.mark.parametrize("limit", [{"iterations": 5}, {"time_limit": 0.05}])
def test_a_search_keeps_what_the_network_says(two, limit):
    """The details of a network's plan are also those of the plan that follows it."""
    pytest.importorskip("torch")
    (alone,) = get_method("network").solve(two[:1])
    (searched,) = get_method("network+ruin_recreate").solve(two[:1], **limit)
    assert set(searched.details) == set(alone.details)
    assert searched.details["bits"] == alone.details["bits"]


PAPER = "network+ortools_descent:artificial=yes,decoding=greedy,repair=paper"


def test_the_papers_pipeline_starts_from_the_repaired_plan_with_all_its_tours(two):
    """OR-Tools gets the artificial tour too, shortens the plan, and needs no limit.

    It is judged afterwards whether the plan keeps to the fleet.
    """
    pytest.importorskip("torch")
    start = get_method("network:decoding=greedy,guarantee=yes,repair=paper")
    method = get_method(PAPER)
    assert method.limits == ()
    instances = [two[0], two[1].with_vehicles(two[1].minimum_vehicles - 1)]
    # One by one, as before a search: a batch may round the network's sums otherwise.
    before = [start.solve([instance])[0] for instance in instances]
    after = method.solve(instances)
    for instance, one, other in zip(instances, before, after, strict=True):
        wide = instance.with_vehicles(max(instance.vehicles, one.plan.vehicles))
        assert other.plan.is_feasible(wide)
        assert other.plan.length(instance) <= one.plan.length(instance)
        parts = {"network", "decoding", "repair", "search"}
        left = {"left_early", "left_full", "bits"}
        assert set(other.details) == parts | left | {"start_length", "start_vehicles"}
        assert other.details["start_length"] == one.plan.length(instance)
        assert other.details["start_vehicles"] == one.plan.vehicles
    assert after[1].plan.vehicles > instances[1].vehicles
