"""Methods by their specs: names, options, and methods of one's own."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace

import pytest

import fixedfleet as ff
from fixedfleet.evaluate import (
    METHODS,
    Answer,
    Method,
    Start,
    get_method,
)
from fixedfleet.evaluate.starts import NetworkStart


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
        ("network+ortools:model=universal", "network+ortools"),
        ("network:model=runs/mine/model.safetensors", "network:model=mine"),
        ("packing+auto:objective=cost-v", "packing+auto"),
        ("network:guarantee=yes", "network:guarantee=yes"),
        ("hgs", "hgs"),
        ("hgs:population=4,nbGranular=8", "hgs:nbGranular=8,population=4"),
        (
            "savings+hgs:population=4,guarantee=yes",
            "savings+hgs:guarantee=yes,population=4",
        ),
        ("ortools:metaheuristic=tabu_search", "ortools:metaheuristic=tabu_search"),
        (
            "network+ortools_descent:repair=paper,artificial=yes",
            "network+ortools_descent:artificial=yes,guarantee=yes,repair=paper",
        ),
        ("packing+gpu:batch=1000", "packing+gpu:batch=1000"),
        ("paper20", "paper20"),
        ("paper50:model=a/mine.safetensors", "paper50:model=mine"),
        (
            "paper100:decoding=greedy,repair=paper",
            "paper100:decoding=greedy,repair=paper",
        ),
    ],
)
def test_a_name_says_what_matters_and_no_paths(spec, name):
    """Specs that mean the same have one name, in which no path of a machine occurs."""
    method = get_method(spec)
    assert method.name == name
    assert pickle.loads(pickle.dumps(method)) == method


@pytest.mark.parametrize(
    ("spec", "name", "own"),
    [
        ("mine=network:model=a/net", "mine", "network:model=net"),
        ("HGS 1.0=command:/old/hgs {instance}", "HGS 1.0", "command:hgs '{instance}'"),
        ("long run=auto:objective=cost-v", "long run", "packing+auto"),
    ],
)
def test_a_method_may_be_named(spec, name, own):
    """A name before the spec stands in the rows, which also say what it is."""
    method = get_method(spec)
    assert (method.name, method.spec) == (name, own)
    assert get_method(spec.partition("=")[2]) == replace(method, name=own, spec="")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("hgs=pyvrp", "'hgs' in 'hgs=pyvrp' is part of a spec, not a name"),
        ("packing+auto=hgs", "part of a spec, not a name: .* no \\+ or comma"),
        ("mine=magic", "unknown method 'magic'"),
        ("FILE:FirstFit", None),
        ("mine=FILE:FirstFit", "a whole method has its own name, 'first_fit'"),
    ],
)
def test_names_that_would_mislead_are_refused(fakes, spec, said):
    """The name of another method, and one for a method with its own, are refused."""
    spec = spec.replace("FILE", fakes.__file__)
    if said is None:
        assert get_method(spec).name == "first_fit"
        return
    with pytest.raises(ff.InputError, match=said):
        get_method(spec)


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
        ("network:decoding=best", "unknown decoder 'best': choose from greedy, a"),
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
        ("hgs:guarantee=yes", "does not take guarantee=; its options: lambda_, mu, nb"),
        ("vroom:mu=3", "does not take mu=; its options: none"),
        ("hgs:population=many", "'many', not a whole number of at least 1"),
        ("packing+hgs:depth=3", "does not take depth=; its options: .*guarantee.* mu"),
        ("sweep+gpu", "gpu begins with packing or network"),
        ("network+gpu:decoding=greedy", "does not take decoding=; its options: batch"),
    ],
)
def test_specs_that_mean_nothing_are_refused(spec, said):
    """A spec with a word that has no meaning is an error that says what there is."""
    with pytest.raises(ff.InputError, match=said):
        get_method(spec)


@dataclass(frozen=True)
class OneTour(Start):
    """A start that serves all customers in one tour, forwards or backwards."""

    backwards: bool = False

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


def test_a_start_of_ones_own_takes_many_instances_on_a_gpu(registered, monkeypatch):
    """If it does not say how many, it takes one per call, and 500 on a GPU."""
    assert get_method("one_tour").batch == 1
    monkeypatch.setattr(OneTour, "on_gpu", True)
    assert get_method("one_tour").batch == 500


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
        "    yield ff.Plan(tour[::-1] for tour in task.initial_plan)\n"
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


def test_a_subclass_of_method_needs_only_solve(two):
    """It has the name of its class, and a limit of time per instance on one core."""

    class Nothing(Method):
        def solve(self, instances, **_options):
            return [Answer(None) for _ in instances]

    method = get_method(Nothing())
    method.check()
    assert (method.name, method.batch, method.on_gpu) == ("Nothing", 1, False)
    assert (method.limits, method.objective) == (("time",), "length")
    assert method.solve(two)[0].plan is None


def test_the_papers_pipeline_is_what_its_authors_ran():
    """Tours in a random order, the likeliest vehicle, further tours, the length."""
    method = get_method("paper50")
    assert method.start == NetworkStart(
        model="paper50", decoding="authors", repair="likeliest", guarantee=True
    )
    assert (method.search, method.objective) == ("ortools_descent", "length")
    assert method.artificial
