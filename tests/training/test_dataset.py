"""Datasets: labels read back with their instances, and refused where wrong."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet.training import load_dataset, make_dataset

from .conftest import tiny_labels


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
    data = load_dataset(_write(tmp_path / "a.npz"))
    random = np.random.RandomState(7)
    depots = random.uniform(size=(66, 2))
    assert (data.instances.depots == depots[:2]).all()
    assert data.routes.tolist() == [[1, 0, 2, 0], [2, 0, 1, 0]]
    assert data.vehicles == 2


def test_rows_without_a_label_are_left_out(tmp_path):
    """Only labelled rows are trained on."""
    path = _write(tmp_path / "a.npz", labelled=np.array([False, True]))
    assert load_dataset(path).routes.tolist() == [[2, 0, 1, 0]]


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
        load_dataset(_write(tmp_path / "a.npz", **change))


def test_files_that_are_none_are_refused(tmp_path):
    """A missing, a corrupt and a foreign file are each named."""
    with pytest.raises(FileNotFoundError, match=r"none\.npz"):
        load_dataset(tmp_path / "none.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(ff.InputError, match=r"bad\.npz: not an npz file"):
        load_dataset(tmp_path / "bad.npz")
    np.savez(tmp_path / "other.npz", routes=np.zeros((1, 1)))
    with pytest.raises(ff.InputError, match=r"other\.npz: no array '"):
        load_dataset(tmp_path / "other.npz")


def test_files_of_different_sizes_are_refused(tmp_path):
    """Labels of two fleets do not go into one training."""
    one = _write(tmp_path / "a.npz")
    two = _write(tmp_path / "b.npz", fleet=3)
    with pytest.raises(ff.InputError, match="labels of different sizes"):
        load_dataset([one, two])
    assert len(load_dataset([one, one])) == 4


def test_fingerprint_tells_data_apart():
    """The same data has the same fingerprint, other data another."""
    prints = [make_dataset(*tiny_labels(8, seed)).fingerprint for seed in (0, 0, 1)]
    assert prints[0] == prints[1] != prints[2]


def test_batches_turn_instances_but_not_their_demands(dataset):
    """A symmetry moves the places and leaves demands and labels alone."""
    rows = torch.tensor([3, 5])
    plain, turned = dataset.batch(rows), dataset.batch(rows, torch.tensor([1, 6]))
    assert not torch.equal(plain.features.coordinates, turned.features.coordinates)
    assert torch.equal(plain.features.demands, turned.features.demands)
    assert torch.equal(plain.routes, turned.routes)


@pytest.mark.slow
def test_published_labels_become_a_dataset(shared):
    """The labels of 20 customers are read whole, with their fleet."""
    data = load_dataset(shared / "labels" / "vrp20_uniform_seed7.npz")
    assert (data.num_customers, data.vehicles, len(data)) == (20, 4, 149_710)
