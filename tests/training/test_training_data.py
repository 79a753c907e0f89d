"""Labels: read with their instances, refused where wrong, sorted by size."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet.planning.tour_groups import take_groups
from fixedfleet.training import Preset, get_preset
from fixedfleet.training.label_groups import tour_groups
from fixedfleet.training.training_data import (
    SHAPES,
    fill_buckets,
    gather_data,
    read_labels,
)

from .conftest import tiny_labels

CPU = torch.device("cpu")


def _write(path, **changes):
    """A label file of two instances of two customers, one a tour."""
    fields = {
        "routes": np.array([[1, 0, 2, 0], [2, 0, 1, 0]], dtype=np.uint8),
        "labelled": np.array([True, True]),
        "n": 2,
        "capacity": 30,
        "fleet": 2,
        "seed": 7,
        "count": 2,
        "iterations": 1,
    }
    np.savez(path, **(fields | changes))
    return path


def test_instances_come_back_from_the_seed(tmp_path):
    """The file's seed gives the instances it was made from."""
    ((instances, plans),) = read_labels(_write(tmp_path / "a.npz"))
    random = np.random.RandomState(7)
    depots = random.uniform(size=(66, 2))
    assert (instances.depots == depots[:2]).all()
    assert plans.routes.tolist() == [[1, 0, 2, 0], [2, 0, 1, 0]]
    assert instances.vehicles.tolist() == [2, 2]


def test_rows_without_a_label_are_left_out(tmp_path):
    """Only labelled rows are trained on."""
    path = _write(tmp_path / "a.npz", labelled=np.array([False, True]))
    assert read_labels(path)[0][1].routes.tolist() == [[2, 0, 1, 0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"routes": np.array([[1, 0, 1, 0]] * 2)}, "row 0 is infeasible.*served twice"),
        (
            {"routes": np.array([[1, 2, 0, 0], [1, 0, 0, 0]])},
            "row 1 is infeasible.*missing",
        ),
        (
            {"routes": np.array([[1, 2, 0, 0]] * 2), "capacity": 1, "fleet": 18},
            "infeasible: .*carries",
        ),
        (
            {"routes": np.zeros((3, 4), dtype=int)},
            r"a\.npz: .*\b3\b.*",
        ),
        ({"labelled": np.array([False, False])}, "holds no label"),
    ],
)
def test_labels_that_do_not_match_are_refused(tmp_path, change, message):
    """An infeasible label or one of other instances is an error with its row."""
    with pytest.raises(ff.InputError, match=message):
        read_labels(_write(tmp_path / "a.npz", **change))


def test_files_that_are_none_are_refused(tmp_path):
    """A missing, a corrupt and a foreign file are each named."""
    with pytest.raises(FileNotFoundError, match=r"none\.npz"):
        read_labels(tmp_path / "none.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(ff.InputError, match=r"bad\.npz: not an npz file"):
        read_labels(tmp_path / "bad.npz")
    np.savez(tmp_path / "other.npz", routes=np.zeros((1, 1)))
    with pytest.raises(ff.InputError, match=r"other\.npz: no array '"):
        read_labels(tmp_path / "other.npz")


def test_files_of_different_sizes_are_refused(tmp_path):
    """Labels of two fleets do not go into one training."""
    one = _write(tmp_path / "a.npz")
    two = _write(tmp_path / "b.npz", fleet=3)
    preset = Preset.from_dict("two", {"customers": 2, "training": {"validation": 1}})
    listed = r"different sizes.*M=2; N=2, Q=30, M=3; .*--set customers=any"
    with pytest.raises(ff.InputError, match=listed):
        gather_data(preset, [one, two], CPU, 0)
    every = preset.with_settings({"customers": "any"})
    found = gather_data(every, [one, two], CPU, 0)
    fleets = {*found.held_out[0].vehicles}
    assert (len(found), fleets) == (2, {2, 3})  # one of each fleet is held out
    assert len(gather_data(preset, [one, one], CPU, 0)) == 3


def test_labels_in_memory_are_checked():
    """Instances without a plan each, and plans that are infeasible, are refused."""
    with pytest.raises(ff.InputError, match="no labels given"):
        read_labels([])
    instances, plans = tiny_labels(4)
    with pytest.raises(ff.InputError, match="3 labels for 4 instances"):
        read_labels((instances, plans[:3]))
    routes = np.array(plans.routes)
    routes[1] = 0
    with pytest.raises(ff.InputError, match="the label of row 1 is infeasible"):
        read_labels((instances, ff.PlanBatch(routes)))


def test_fingerprint_tells_data_apart(preset):
    """The same data has the same fingerprint, other data another."""
    prints = [
        gather_data(preset, tiny_labels(40, seed), CPU, 0).fingerprint
        for seed in (0, 0, 1)
    ]
    assert prints[0] == prints[1] != prints[2]


@pytest.mark.slow
def test_published_labels_are_read(shared):
    """The labels of 20 customers are read whole, with their fleet."""
    ((instances, plans),) = read_labels(shared / "labels" / "vrp20_uniform_seed7.npz")
    assert (instances.num_customers, len(plans)) == (20, 149_710)
    assert (instances.vehicles == 4).all()


def labelled(n: int, count: int, seed: int, tours: int):
    """Instances with plans of equally long tours, whatever their length."""
    rng = np.random.default_rng(seed)
    batch = ff.InstanceBatch(
        depots=rng.uniform(size=(count, 2)),
        customers=rng.uniform(size=(count, n, 2)),
        demands=np.ones((count, n), dtype=int),
        capacity=-(-n // tours),
        vehicles=tours + 1,
    )
    plans = [ff.Plan(np.array_split(rng.permutation(n) + 1, tours)) for _ in batch]
    return batch, ff.PlanBatch.from_plans(plans)


def test_groups_of_tours_are_labels_of_their_own():
    """Each group has whole tours of its label, and its plan is as long as they are."""
    batch, plans = labelled(30, 6, seed=1, tours=6)
    some, found = tour_groups(batch, plans, 2, seed=3)
    assert len(some) == 12
    assert found.feasible(some).all()
    assert ((found.vehicles() >= 2) & (found.vehicles() < 6)).all()
    assert (some.sizes == 5 * found.vehicles()).all()
    assert set(some.vehicles - found.vehicles()) == {0, 1}
    again, _ = tour_groups(batch, plans, 2, seed=3)
    assert np.array_equal(again.customers, some.customers)


def test_a_group_has_the_customers_of_its_tours():
    """Places, demands and tours are those of the whole instance, renumbered."""
    batch, plans = labelled(12, 1, seed=2, tours=4)
    chosen = np.array([[True, False, True, False]])
    some, found, names = take_groups(batch, plans, np.array([0]), chosen)
    whole, part = plans[0].tours, found[0].tours
    assert [[names[0, c - 1] for c in tour] for tour in part] == [
        list(whole[0]),
        list(whole[2]),
    ]
    assert np.allclose(some.customers[0], batch.customers[0][names[0] - 1])
    lengths = [ff.Plan([tour]).length(batch[0]) for tour in (whole[0], whole[2])]
    assert found.lengths(some)[0] == pytest.approx(sum(lengths))


def test_labels_are_sorted_by_size():
    """Small and large instances come into buckets of their own."""
    labels = [labelled(10, 20, 1, tours=3), labelled(40, 20, 2, tours=5)]
    buckets = fill_buckets(labels, "cpu", batch_size=1, parts=0, seed=0)
    features = [bucket.labels.features for bucket in buckets]
    shapes = [(f.nodes.shape[1] - 1, f.vehicles.shape[1]) for f in features]
    assert shapes == list(SHAPES[:2])
    assert [bucket.size for bucket in buckets] == [20, 20]
    assert buckets[0].batch_size >= buckets[1].batch_size
    batch = buckets[0].labels.take(torch.arange(3))
    assert batch.features.nodes.sum(1).tolist() == [11, 11, 11]
    assert batch.features.vehicles.sum(1).tolist() == [4, 4, 4]


def test_an_instance_that_is_too_large_is_refused():
    """The error says how large instances may be."""
    with pytest.raises(ff.InputError, match=r"210 customers and 4 .*at most 207"):
        fill_buckets([labelled(210, 2, 1, 3)], "cpu", batch_size=1, parts=0, seed=0)


@pytest.mark.parametrize(("count", "batch"), [(3, 3), (21, 16)])
def test_labels_of_a_rare_size_are_trained_on(count, batch):
    """A size with fewer labels than a batch has smaller batches and is not dropped."""
    labels = [labelled(10, count, 1, tours=3), labelled(40, 9, 2, tours=5)]
    rare, other = fill_buckets(labels, "cpu", batch_size=64, parts=0, seed=0)
    assert (rare.size, rare.batch_size, rare.steps) == (count, batch, 1)
    assert (other.size, other.batch_size) == (9, 8)


def test_labels_and_groups_of_tours_are_counted_apart():
    """Groups of tours are instances to train on, but no labels."""
    preset = get_preset("universal").with_settings(
        {"training.validation": 4, "training.parts": 2}
    )
    data = gather_data(preset, labelled(30, 10, 1, tours=6), CPU, 0)
    assert (data.labels, data.groups, len(data)) == (6, 12, 18)
    whole = Preset.from_dict("30", {"customers": 30, "training": {"validation": 4}})
    data = gather_data(whole, labelled(30, 10, 1, tours=6), CPU, 0)
    assert (data.labels, data.groups) == (6, 0)


def test_groups_of_tours_are_refused_for_labels_of_one_size():
    """Groups of tours have other sizes, so a preset for one size has none."""
    facts = {"customers": 30, "training": {"validation": 4, "parts": 2}}
    with pytest.raises(ff.InputError, match="parts needs labels of all sizes: set cus"):
        gather_data(Preset.from_dict("30", facts), labelled(30, 10, 1, tours=6), CPU, 0)
