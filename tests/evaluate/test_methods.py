"""Methods by their specs: names, options, limits, and the plans they make."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass, replace

import pytest

import fixedfleet as ff
from fixedfleet.evaluate import (
    Results,
    evaluate,
    get_method,
    get_methods,
    get_set,
)
from fixedfleet.evaluate.methods import METHODS
from fixedfleet.evaluate.starts import NetworkStart
from fixedfleet.solve_batch import solve_batch
from fixedfleet.solvers import SOLVERS


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


@pytest.fixture(scope="module")
def two():
    """Two instances of 20 customers that no test set has."""
    return get_set("fresh20:99", 2).instances


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("auto", "packing+auto"),
        ("ruin_recreate", "packing+ruin_recreate"),
        ("packing+auto", "packing+auto"),
        ("savings+hgs:guarantee=no", "savings+hgs"),
        ("network:decoding=membership,device=cpu", "network"),
        (
            "network:symmetries=8,decoding=beam20",
            "network:decoding=beam20,symmetries=8",
        ),
        ("network:model=/a/folder/mine.safetensors", "network:model=mine"),
        ("network+ortools:model=vrp50", "network+ortools:model=vrp50"),
        ("network:model=runs/mine/model.safetensors", "network:model=mine"),
        ("packing+auto:objective=cost-v", "packing+auto"),
        ("network:guarantee=yes", "network:guarantee=yes"),
        ("hgs", "hgs"),
        (
            "network+ortools_descent:repair=paper,artificial=yes,kept=/a/rows.jsonl",
            "network+ortools_descent:artificial=yes,guarantee=yes,repair=paper",
        ),
        ("packing+gpu:batch=1000", "packing+gpu:batch=1000"),
    ],
)
def test_a_name_says_what_matters_and_no_paths(spec, name):
    """Specs that mean the same have one name, in which no path of a machine occurs."""
    method = get_method(spec)
    assert method.name == name
    assert pickle.loads(pickle.dumps(method)) == method


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (("a/net", "b/net"), ("a/net", "b/net")),
        (("x/run/model", "y/run/model"), ("x/run/model", "y/run/model")),
        (("net", "deep/net"), ("TMP/net", "deep/net")),
    ],
)
def test_networks_of_one_name_are_told_apart_by_their_folders(tmp_path, paths, names):
    """Two trainings can be compared in one call, however their files are called."""
    specs = [f"network:model={tmp_path}/{path}.safetensors" for path in paths]
    found = [method.name for method in get_methods([*specs, "network", "savings"])]
    wanted = [f"network:model={name}".replace("TMP", tmp_path.name) for name in names]
    assert found == [*wanted, "network", "savings"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("magic", "unknown method 'magic': begin with a start"),
        ("hgs+auto", "unknown method 'hgs\\+auto'"),
        ("packing+magic", "unknown search 'magic': choose from auto"),
        ("packing+magic:objective=cost-v", "unknown search 'magic': choose from auto"),
        ("packing+", "unknown search '': choose from auto"),
        ("network:colour=red", "does not take colour=; its options: batch"),
        ("network:symmetries=9", "symmetries is 9, not a whole number from 1 to 8"),
        ("network:symmetries=many", "symmetries in .* is 'many', not a whole number"),
        ("network:decoding=best", "unknown decoder 'best': choose from greedy, e"),
        ("network:device=tpu", "unknown device 'tpu': choose from cpu, cuda"),
        ("network:guarantee=perhaps", "'perhaps': choose from yes, no"),
        ("packing+auto:objective=speed", "'speed': choose from length, cost-v"),
        ("network:batch=0", "not a whole number of at least 1"),
        ("no_such_module:Method", "there is no module 'no_such_module'"),
        ("no_such_file.py:Method", "there is no file 'no_such_file.py'"),
        ("network:greedy", "'greedy' in .* is not an option"),
        ("network:batch=2,batch=3", "each key once"),
        ("packing+auto:decoding=greedy", "does not take decoding=; its options: "),
        ("network+auto:batch=8", "does not take batch="),
        ("packing+hgs:objective=cost-v", "does not take objective="),
        ("sweep+auto:decoded=yes", "does not take decoded="),
        ("hgs:guarantee=yes", "does not take guarantee=; its options: none"),
        ("sweep+gpu", "gpu begins with packing, savings or network"),
        ("network+gpu:decoding=greedy", "does not take decoding=; its options: batch"),
    ],
)
def test_specs_that_mean_nothing_are_refused(spec, said):
    """A spec with a word that has no meaning is an error that says what there is."""
    with pytest.raises(ff.InputError, match=said):
        get_method(spec)


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
            processes=1,
        )

    monkeypatch.setattr("fixedfleet.evaluate.pipeline.solve_batch", planned)
    method = get_method("savings+gpu:batch=2,objective=cost-v")
    assert (method.batch, method.on_gpu) == (2, True)
    instances = [two[0], two[1].with_vehicles(1)]
    good, bad = method.solve(instances, vehicle_cost=9.0, iterations=700, seed=3)
    assert good.plan.is_feasible(two[0])
    assert bad.plan is None
    assert "demands sum to" in bad.reason
    wanted = {"start": "savings", "search": "gpu", "iterations": 700, "seed": 3}
    assert wanted.items() <= asked.items()
    assert (asked["objective"], asked["vehicle_cost"]) == ("cost-v", 9.0)


def test_limits_say_what_a_method_heeds():
    """Starts take no limit; searches take time, and some count iterations."""
    assert get_method("savings").limits == ()
    assert get_method("packing+auto").limits == ("time",)
    assert get_method("packing+ruin_recreate").limits == ("time", "iterations")
    assert get_method("hgs").limits == ("time", "iterations")
    assert get_method("ortools").limits == ("time",)
    with pytest.raises(ff.InputError, match="needs a time limit"):
        get_method("packing+auto").solve(get_set("fresh20:99", 1).instances)


@pytest.mark.parametrize(
    ("spec", "package"), [("pyvrp", "pyvrp"), ("packing+vroom", "vroom")]
)
def test_a_missing_package_is_named_by_check(monkeypatch, spec, package):
    """A method whose package is not installed says so before it is run."""
    get_method(spec).check()
    monkeypatch.delitem(sys.modules, f"fixedfleet.solvers.{package}_adapter")
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(SOLVERS, "_parts", {})
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
        assert answer.reason == f"the demands sum to {tight.demands.sum()} of 30"
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
    real = NetworkStart.plans

    def plans(self, instances, seed):
        fleets.extend(instance.vehicles for instance in instances)
        return real(self, instances, seed)

    monkeypatch.setattr(NetworkStart, "plans", plans)
    tight = two[0].with_vehicles(1)
    method = get_method("network+ruin_recreate:guarantee=yes")
    (answer,) = method.solve([tight], **limit)
    assert fleets == [ff.assess_fleet(tight).upper_bound]
    assert answer.plan.is_feasible(tight.with_vehicles(fleets[0]))
    assert not answer.trace or answer.trace[-1][1] > 0


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
    before, after = start.solve(instances), method.solve(instances)
    for instance, one, other in zip(instances, before, after, strict=True):
        wide = instance.with_vehicles(max(instance.vehicles, one.plan.vehicles))
        assert other.plan.is_feasible(wide)
        assert other.plan.length(instance) <= one.plan.length(instance)
        parts = {"network", "decoding", "repair", "search"}
        assert set(other.details) == parts | {"left_early", "left_full"}
    assert after[1].plan.vehicles > instances[1].vehicles


def test_a_search_goes_on_from_kept_plans(two, tmp_path):
    """Plans kept by one evaluation are searched by another, with the time of both."""
    pytest.importorskip("torch")
    file, chosen = tmp_path / "rows.jsonl", replace(get_set("fresh20:99", 2), name="s")
    start = "network:decoding=greedy,guarantee=yes,repair=paper"
    evaluate([chosen], [start], [], file, processes=1)
    method = get_method(f"{PAPER},kept={file}")
    method.check()
    direct = get_method(PAPER).solve(two)
    for row, one, other in zip(
        Results(file).rows(), method.solve(two), direct, strict=True
    ):
        assert one.start == row
        assert one.plan == other.plan
    with pytest.raises(ff.InputError, match="has no rows of the method 'network:g"):
        get_method(f"network+auto:artificial=yes,kept={file}").check()
    other = get_set("fresh20:98", 1).instances
    with pytest.raises(ff.InputError, match=r"has no row of .* for fresh20:98/0"):
        method.solve(other)


@dataclass(frozen=True)
class OneTour:
    """A start that serves all customers in one tour, forwards or backwards."""

    backwards: bool = False

    batch = 1
    on_gpu = False

    def check(self):
        pass

    def plans(self, instances, _seed):
        step = -1 if self.backwards else 1
        return [
            ff.Plan([list(range(1, i.num_customers + 1))[::step]]) for i in instances
        ]


@pytest.fixture
def registered():
    """The start OneTour under the name one_tour."""
    METHODS.register("one_tour")(OneTour)
    yield
    del METHODS._parts["one_tour"]


def test_a_start_of_ones_own_has_a_name_and_options(registered, two):
    """A registered start takes its fields as options, and a search may follow it."""
    assert get_method("one_tour").name == "one_tour"
    method = get_method("one_tour:backwards=yes")
    assert method.name == "one_tour:backwards=yes"
    assert next(iter(method.solve(two)[0].plan))[0] == two[0].num_customers
    searched = get_method("one_tour+ruin_recreate:backwards=yes")
    for answer, instance in zip(searched.solve(two, iterations=20), two, strict=True):
        assert answer.plan.is_feasible(instance)
    with pytest.raises(ff.InputError, match="does not take forwards=; its options: b"):
        get_method("one_tour:forwards=yes")


def test_a_method_is_found_in_a_file(fakes, two):
    """A class in a file of one's own is named as file.py:Name, with its options."""
    file = fakes.__file__
    method = get_method(f"{file}:FirstFit:name=mine")
    assert method.name == "mine"
    assert method.solve(two, vehicle_cost=0, time_limit=1, iterations=None, seed=0)[
        0
    ].plan.is_feasible(two[0])
    with pytest.raises(ff.InputError, match="no search can follow"):
        get_method(f"{file}:FirstFit+auto")
    with pytest.raises(ff.InputError, match="has no 'Nobody'"):
        get_method(f"{file}:Nobody")


def test_a_search_of_ones_own_follows_a_start(tmp_path, two):
    """A search in a file is named as file.py:name, with the options of both."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import fixedfleet as ff\n"
        "def turn(task):\n"
        "    task.offer(ff.Plan(tour[::-1] for tour in task.start))\n"
    )
    method = get_method(f"packing+{file}:turn:guarantee=yes")
    assert method.name == "packing+turn:guarantee=yes"
    method.check()
    (answer, _) = method.solve(two, time_limit=0.05)
    assert answer.plan.is_feasible(two[0])
    with pytest.raises(ff.InputError, match="has no 'twist'"):
        get_method(f"packing+{file}:twist").check()


def test_a_method_object_is_a_method(fakes):
    """Where a spec is asked for, an object will do."""
    method = fakes.FirstFit()
    assert get_method(method) is method
