"""Sets by name and from files, their names and references."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.evaluate import InstanceSet, Results, get_set
from fixedfleet.evaluate.origin import instance_hash

VRP = """NAME : {name}
COMMENT : {comment}
TYPE : CVRP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 2
NODE_COORD_SECTION
1 0 0
2 3 4
3 6 8
4 0 10
DEMAND_SECTION
1 0
2 1
3 1
4 1
DEPOT_SECTION
1
-1
EOF
"""


def write(folder, name, comment="none", solution=None):
    """Write a small VRPLIB file, with a solution beside it if one is given."""
    (folder / f"{name}.vrp").write_text(VRP.format(name=name, comment=comment))
    if solution is not None:
        (folder / f"{name}.sol").write_text(solution)
    return folder / f"{name}.vrp"


def test_both_test_sets_name_an_instance_alike():
    """vrp20 is kool20 without what exceeds the fleet; names are rows of the latter."""
    whole, filtered = get_set("kool20", 10), get_set("vrp20", 8)
    assert whole.names == [f"test20/{row}" for row in range(10)]
    assert set(filtered.names) < set(get_set("kool20", 20).names)
    batch = generate.test_set(20, reject=False)
    for name, instance in zip(filtered.names, filtered.instances, strict=True):
        there = batch[int(name.partition("/")[2])]
        assert (there.demands == instance.demands).all()
        assert instance.minimum_vehicles <= instance.vehicles
    assert filtered.names != whole.names[:8]


@pytest.mark.parametrize(
    ("spec", "cost", "customers"),
    [("vrp20", 35, 20), ("kool50", 50, 50), ("vrp100", 80, 100), ("uchoa30", 0, 30)],
)
def test_named_sets_have_their_vehicle_cost(spec, cost, customers):
    """A vehicle costs 35, 50 and 80 in the test sets unless told otherwise."""
    found = get_set(spec, 2)
    assert (found.vehicle_cost, len(found)) == (cost, 2)
    assert {instance.num_customers for instance in found.instances} == {customers}
    assert get_set(spec, 1, vehicle_cost=7.0).vehicle_cost == 7.0


def test_uniform_sets_are_of_their_seed_whatever_the_count():
    """The first instances of a uniform set are the same in a larger one."""
    few, more = get_set("uniform20:5", 2), get_set("uniform20:5", 3)
    assert few.names == more.names[:2] == ["uniform20:5/0", "uniform20:5/1"]
    assert few.instances[1] == more.instances[1]
    assert (
        few.instances[0].demands != get_set("uniform20:6", 1).instances[0].demands
    ).any()


def test_the_best_plans_in_a_file_of_rows_are_the_reference(tmp_path, make_row):
    """The shortest length within the fleet counts, and the cheapest with vehicles."""
    with Results(tmp_path / "rows.jsonl") as results:
        for seed, length in enumerate([7.0, 6.0, 5.0]):
            results.append(
                make_row(
                    instance="test20/0",
                    seed=seed,
                    length=length,
                    vehicles=4,
                    within=length > 5,
                )
            )
        tight = {"instance": "tight20/0", "length": 6.5, "vehicles": 3}
        results.append(make_row(**tight, seed=3, within=True))
    found = get_set("vrp20", 5, results.path)
    assert found.reference == {"test20/0": 6.0}
    assert found.reference_cost_v == {"test20/0": 6.5 + 3 * 35}
    assert get_set("tight20", 5, results.path).reference == {"tight20/0": 6.5}


def test_a_set_without_a_reference_says_so(tmp_path, make_row):
    """A reference asked for and not there is an error that names what is missing."""
    with pytest.raises(ff.InputError, match=r"no file of reference plans .*rows"):
        get_set("vrp20", 5, tmp_path / "rows.jsonl")
    with Results(tmp_path / "rows.jsonl") as results:
        results.append(make_row(instance="test20/0", within=True, length=6.0))
    with pytest.raises(ff.InputError, match="no plan for an instance of 'uniform20:1'"):
        get_set("uniform20:1", 5, results.path)
    with pytest.raises(ff.InputError, match="read from beside the files"):
        get_set(write(tmp_path, "x-k2"), 5, results.path)


def test_reference_plans_of_other_instances_are_refused(tmp_path, make_row):
    """A distribution may draw other instances of the same names for another count."""
    (tmp_path / "own.py").write_text(
        "import fixedfleet as ff\n"
        "def draw(n, count, *, seed):\n"
        "    return ff.generate.uniform(n, count, seed=seed, capacity=9, vehicles=9)\n"
    )
    spec = f"{tmp_path / 'own.py'}:draw:5:1"
    few, many = get_set(spec, 2), get_set(spec, 3)
    assert few.names == many.names[:2]
    path = tmp_path / "rows.jsonl"
    with Results(path) as results:
        fact = {"instance_hash": instance_hash(few.instances[0])}
        results.append(make_row(instance=few.names[0], within=True, length=6.0, **fact))
    assert get_set(spec, 2, path).reference == {few.names[0]: 6.0}
    with pytest.raises(ff.InputError, match=r"another instance 'draw5:1/0'.* count"):
        get_set(spec, 3, path)


def test_files_bring_their_best_known_lengths(tmp_path):
    """The .sol beside a file is measured; without one the comment's value counts."""
    write(tmp_path, "a-k2", solution="Route #1: 1 2\nRoute #2: 3\nCost 40\n")
    write(tmp_path, "b-k2", comment="(Someone, Min no of trucks: 2, Optimal value: 41)")
    write(tmp_path, "c-k2", comment="Best value: 42.5")
    write(tmp_path, "d-k2")
    write(tmp_path, "e-k2", solution="Cost 39\n")
    found = get_set(f"{tmp_path}/*.vrp")
    assert found.name == tmp_path.name
    assert found.names == ["a-k2", "b-k2", "c-k2", "d-k2", "e-k2"]
    assert found.reference == {"a-k2": 40, "b-k2": 41, "c-k2": 42.5, "e-k2": 39}
    assert found.vehicle_cost == 0


def test_the_fleet_is_never_below_the_reference(tmp_path):
    """M is the file's, or the number of best known tours where that is larger."""
    three = "Route #1: 1\nRoute #2: 2\nRoute #3: 3\nCost 50\n"
    paths = [
        write(tmp_path, "a-k2", solution=three),
        write(tmp_path, "b-k4", solution=three),
        write(tmp_path, "plain", solution=three),
    ]
    fleets = [instance.vehicles for instance in get_set(paths).instances]
    assert fleets == [3, 4, 3]


@pytest.mark.parametrize(
    ("solution", "said"),
    [
        (
            "Route #1: 1 2 3\nCost 40\n",
            "not a plan for a-k2.vrp: tour 1 carries 3 of 2",
        ),
        ("Route #1: 1 2\nRoute #2: 3\nCost 39\n", "states a cost of 39, but its tours"),
        ("Route #1: 1 9\nCost 40\n", "customer 9 does not exist"),
    ],
)
def test_a_best_known_plan_is_not_believed(tmp_path, solution, said):
    """A .sol that is no plan for the instance, or of another length, is refused."""
    with pytest.raises(ff.InputError, match=said):
        get_set(write(tmp_path, "a-k2", solution=solution))


def test_numbers_in_names_are_sorted_as_numbers(tmp_path):
    """A pattern gives X-n9 before X-n10, and count takes the first."""
    for name in ("x-n10-k2", "x-n9-k2", "x-n101-k2"):
        write(tmp_path, name)
    assert get_set(f"{tmp_path}/*.vrp", 2).names == ["x-n9-k2", "x-n10-k2"]


def test_cvrplib_instances_are_read_whole(shared):
    """Set X comes with its best known lengths, its fleets those of their tours."""
    found = get_set(f"{shared}/cvrplib/X/X-n10*.vrp")
    assert found.names == ["X-n101-k25", "X-n106-k14", "X-n1001-k43"]
    assert found.reference["X-n101-k25"] == 27591
    assert found.instances[0].vehicles == 26
    optima = get_set(f"{shared}/cvrplib/A/*.vrp").reference
    assert optima["A-n32-k5"] == 784
    assert len(optima) == 10


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("vrp21", "no set vrp21: choose from vrp20"),
        ("vrp2O", "unknown set 'vrp2O': choose from vrp20"),
        ("vrp20:3", "a test set takes no seed; uniform20:3 has other"),
        ("missing.vrp", "no file missing.vrp"),
        ("missing/*.vrp", r"no file missing/\*\.vrp"),
    ],
)
def test_unknown_sets_are_named(spec, said):
    """What is no set and no file is an error that says what there is."""
    with pytest.raises(ff.InputError, match=said):
        get_set(spec)


def test_names_must_tell_instances_apart(square, make_instance):
    """A set refuses instances without a name or with the same one, and none at all."""
    one = make_instance(name="one")
    with pytest.raises(ff.InputError, match="with no name"):
        InstanceSet(name="s", instances=[square])
    with pytest.raises(ff.InputError, match="'one' twice"):
        InstanceSet(name="s", instances=[one, one])
    with pytest.raises(ff.InputError, match="no instances"):
        InstanceSet(name="s", instances=[])
    with pytest.raises(ff.InputError, match="count is 0"):
        get_set("vrp20", 0)


def test_tight_sets_have_the_smallest_conceivable_fleet():
    """The instances are those of vrp20 under other names, with ⌈Σq/Q⌉ vehicles."""
    tight, usual = get_set("tight20", 20), get_set("vrp20", 20)
    assert tight.names[0].startswith("tight20/")
    assert not set(tight.names) & set(usual.names)
    for small, large in zip(tight.instances, usual.instances, strict=True):
        assert small.vehicles == large.minimum_vehicles <= large.vehicles
        assert (small.customers == large.customers).all()


def test_a_batch_that_generate_wrote_is_a_set(tmp_path):
    """A .npz is enough: instances are named after the file and their row."""
    batch = generate.clustered(20, 5, seed=3)
    ff.files.write_batch(tmp_path / "train.npz", batch)
    found = get_set(tmp_path / "train.npz", 3)
    assert (found.name, len(found), found.vehicle_cost) == ("train", 3, 0)
    assert found.names == ["train/0", "train/1", "train/2"]
    assert (found.instances[2].customers == batch[2].customers).all()
    ff.files.write_batch(tmp_path / "other.pkl", batch)
    with pytest.raises(ff.InputError, match="vehicles"):
        get_set(tmp_path / "other.pkl")
    assert get_set(tmp_path / "other.pkl", vehicles=6).instances[0].vehicles == 6


def test_a_folder_is_a_set_of_all_its_files(tmp_path):
    """VRPLIB, CSV, JSON and batches together, in the order of their numbers."""
    write(tmp_path, "x-n10-k2", comment="Best value: 41")
    write(tmp_path, "x-n9-k2")
    ff.files.write_batch(tmp_path / "y.npz", generate.uniform(20, 2, seed=1))
    (tmp_path / "notes.txt").write_text("not an instance")
    found = get_set(tmp_path)
    assert found.names == ["x-n9-k2", "x-n10-k2", "y/0", "y/1"]
    assert found.reference == {"x-n10-k2": 41}
    (tmp_path / "empty").mkdir()
    with pytest.raises(ff.InputError, match=r"empty has no files \.vrp, \.csv"):
        get_set(tmp_path / "empty")


@pytest.mark.slow
def test_labels_are_instances_with_reference_plans(tmp_path):
    """A label folder is a set, and its plans are the reference of the gaps."""
    from fixedfleet.evaluate import get_method
    from fixedfleet.labels import label, load_labels

    batch = generate.uniform(20, 4, seed=1)
    method = get_method("packing+ruin_recreate")
    options = {"iterations": 5, "shard_size": 4, "processes": 1}
    label(batch, tmp_path / "mine", method=method, **options)
    found = get_set(str(tmp_path / "mine"))
    _, plans, _ = load_labels(tmp_path / "mine")
    assert (found.name, found.names[3]) == ("mine", "mine/3")
    assert found.reference["mine/3"] == pytest.approx(plans[3].length(batch[3]))
    assert get_set(f"{tmp_path}/m*").names == found.names
    with pytest.raises(ff.InputError, match="labels have their fleet"):
        get_set(str(tmp_path / "mine"), vehicles=9)


@pytest.mark.parametrize(
    ("spec", "cost"),
    [("clustered20", 0), ("clustered20:5", 0), ("uchoa30:2", 0), ("uniform20:5", 35)],
)
def test_a_distribution_is_a_set(spec, cost):
    """Its name, the number of customers and a seed draw it; the count only cuts."""
    few, more = get_set(spec, 2), get_set(spec, 4)
    assert few.names == more.names[:2] == [f"{spec}/0", f"{spec}/1"]
    assert few.instances[1] == more.instances[1]
    assert (few.name, few.vehicle_cost) == (spec, cost)


def test_a_distribution_of_ones_own_is_a_set(tmp_path, make_instance, monkeypatch):
    """It is named as module.py:name with the customers, or by its registered name."""
    file = tmp_path / "rings.py"
    file.write_text(
        "from fixedfleet.generate import uniform\n"
        "def ring(n, count, *, seed):\n"
        "    return uniform(n, count, seed=seed, capacity=40, vehicles=seed)\n"
    )
    found = get_set(f"{file}:ring:30:9", 2)
    assert found.names == ["ring30:9/0", "ring30:9/1"]
    assert {one.vehicles for one in found.instances} == {9}
    monkeypatch.setattr(generate.DISTRIBUTIONS, "_parts", {})

    @generate.DISTRIBUTIONS.register("own")
    def own(n, count, *, seed):
        return [make_instance(n=n, seed=seed + row) for row in range(count)]

    assert get_set("own7:3", 2).instances[0].num_customers == 7


def test_a_text_in_a_folder_of_instances_is_no_instance(tmp_path):
    """A description beside instances is left alone."""
    ff.files.write_batch(tmp_path / "a.npz", ff.generate.uniform(20, 2, seed=1))
    (tmp_path / "readme.txt").write_text("Two days.")
    assert get_set(tmp_path).names == ["a/0", "a/1"]


@pytest.mark.parametrize(("n", "count"), [(20, 9561), (50, 9485), (100, 9747)])
def test_strict_sets_leave_out_full_fleets(n, count):
    """strict20 is vrp20 without the instances whose demands fill the fleet."""
    strict, usual = get_set(f"strict{n}", None), get_set(f"vrp{n}", None)
    full = {
        one.name
        for one in usual.instances
        if one.demands.sum() == one.vehicles * one.capacity
    }
    assert set(strict.names) == set(usual.names) - full
    assert len(strict) == count


DAY = """NAME : day
DIMENSION : 3
VEHICLES : 2
EDGE_WEIGHT_TYPE : EUC_2D
NODE_COORD_SECTION
1 0 0
2 1 1
3 6 8
DEMAND_SECTION
1 0
2 5
3 6
CAPACITY_SECTION
1 6
2 12
VEHICLES_FIXED_COST_SECTION
1 0
2 40
DEPOT_SECTION
1
"""


def test_a_day_is_rounded_as_its_best_known_plan_was(tmp_path):
    """The cost that a solution states tells the rounding, up to a power of ten."""
    path = tmp_path / "day.vrp"
    path.write_text(DAY)
    plan = ff.Plan([[1], [2]], [0, 1])
    exact = plan.cost(ff.read(path, rounding="none"))
    whole = plan.cost(ff.read(path, rounding="round"))
    for stated, cost in ((exact / 100, exact), (whole, whole)):
        (tmp_path / "day.sol").write_text(f"Route #1: 1\nRoute #2: 2\nCost {stated}\n")
        chosen = get_set(path)
        assert chosen.reference["day"] == pytest.approx(cost)
    (tmp_path / "day.sol").write_text("Route #1: 1\nRoute #2: 2\nCost 7\n")
    with pytest.raises(ff.InputError, match="states a cost of 7, but its tours cost"):
        get_set(path)


@pytest.mark.slow
def test_a_set_is_filled_up_to_ten_thousand_instances():
    """The strict set comes first, then further instances with Σq < MQ."""
    strict, filled = get_set("strict20", None), get_set("filled20", None)
    assert len(filled) == 10_000
    assert filled.names[: len(strict)] == strict.names
    assert filled.names[len(strict)] == "uniform20:1235/0"
    assert all(
        sum(one.demands) < one.vehicles * one.capacity
        for one in filled.instances[len(strict) :]
    )
