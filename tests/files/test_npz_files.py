"""npz files: batches, labels, reference plans, and broken archives."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from fixedfleet import InputError, PlanBatch
from fixedfleet.files import read_batch, read_labels

BATCH = {
    "depots": np.zeros((2, 2)),
    "customers": np.ones((2, 3, 2)),
    "demands": np.array([[1, 2, 3], [4, 5, 6]]),
    "capacity": np.array(9),
    "vehicles": np.array([2, 3]),
}
LABELS = {
    "routes": np.array([[1, 2, 0], [0, 0, 0]], dtype=np.uint8),
    "labelled": np.array([True, False]),
    "n": np.array(2),
    "capacity": np.array(5),
    "fleet": np.array(1),
    "seed": np.array(7),
    "count": np.array(2),
    "iterations": np.array(100),
}


@pytest.fixture
def save(tmp_path):
    """Return a writer of arrays into an npz file; an array of None is left out."""

    def save(arrays):
        path = tmp_path / "x.npz"
        np.savez(path, **{k: v for k, v in arrays.items() if v is not None})
        return path

    return save


def test_a_batch_with_one_capacity_for_all(save):
    """One capacity serves every instance; each keeps its own fleet."""
    batch = read_batch(save(BATCH))
    assert batch.capacity.tolist() == [9, 9]
    assert batch.vehicles.tolist() == [2, 3]
    assert batch[1].demands.tolist() == [4, 5, 6]


def test_the_callers_fleet_and_capacity_win(save):
    """Fleet and capacity given by the caller replace the file's, or its lack."""
    batch = read_batch(save(BATCH | {"vehicles": None}), vehicles=4, capacity=8)
    assert batch.vehicles.tolist() == [4, 4]
    assert batch.capacity.tolist() == [8, 8]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vehicles": None}, "no array 'vehicles' in the file: give vehicles="),
        ({"demands": None}, "no array 'demands' in the file, only depots, customers"),
        ({"demands": np.ones((2, 4))}, "x.npz: demands has shape (2, 4), not (2, 3)"),
        ({"depots": np.zeros((2, 3))}, "x.npz: depots has shape (2, 3), not (B, 2)"),
        ({"depots": np.zeros(2)}, "x.npz: depots has shape (2,), not (B, 2)"),
        ({"depots": np.full((2, 2), np.nan)}, "depots[0, 0] is nan, not a number from"),
        ({"demands": np.full((2, 3), -1)}, "demands[0, 0] is -1, not a whole number"),
        ({"demands": np.full((2, 3), 1.5)}, "demands[0, 0] is 1.5, not a whole number"),
        (
            {"demands": np.full((2, 3), 0.5)},
            "instance 0 are not whole, and not whole numbers divided by the capacity",
        ),
        ({"demands": np.full((2, 3), 1e300)}, "demands[0, 0] is 1e+300, not a whole"),
        (
            {"demands": np.full((2, 3), 2**53 + 1)},
            "at least 0 and below 2^53",
        ),
        (
            {"capacity": np.array(0)},
            "capacity[0] is 0, not a whole number of at",
        ),
        ({"capacity": np.ones(5)}, "x.npz: capacity has shape (5,), not (2,)"),
        ({"vehicles": np.array("x")}, "x.npz: vehicles must be a rectangular array"),
        ({"extra": np.array([{}])}, "array 'extra' cannot be read: Object arrays"),
    ],
)
def test_a_batch_that_is_wrong(save, changes, said):
    """Each fault of a batch is told with the array's name."""
    with pytest.raises(InputError) as caught:
        read_batch(save(BATCH | changes))
    assert said in str(caught.value)


def test_labels(save):
    """A label file gives its numbers and its routes."""
    labels = read_labels(save(LABELS))
    assert (labels.n, labels.capacity, labels.fleet) == (2, 5, 1)
    assert (labels.seed, len(labels.routes)) == (7, 2)
    assert labels.labelled.tolist() == [True, False]
    assert PlanBatch(labels.routes)[0].tours == ((1, 2),)


def test_the_smallest_labels(save):
    """One customer, a capacity and a fleet of 1, the seed 0 and no row are enough."""
    least = dict.fromkeys(("n", "capacity", "fleet"), np.array(1))
    none = {
        "routes": np.zeros((0, 2), np.int16),
        "labelled": np.zeros(0, bool),
        "seed": np.array(0),
        "count": np.array(0),
    }
    labels = read_labels(save(LABELS | least | none))
    assert (labels.n, labels.capacity, labels.fleet, labels.seed) == (1, 1, 1, 0)
    assert labels.routes.shape == (0, 2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": None}, "no array 'seed' in the file"),
        ({"n": np.array(0)}, "n is 0, not at least 1"),
        ({"capacity": np.array(0)}, "capacity is 0, not at least 1"),
        ({"seed": np.array(-1)}, "seed is -1, not at least 0"),
        ({"count": np.array(-1)}, "count is -1, not at least 0"),
        (
            {"routes": np.array([[1, 2, 0], [1, -1, 0]])},
            "routes[1] names a customer that is not within 1 … 2",
        ),
        (
            {"seed": np.array(2**32)},
            "seed is 4294967296, not a whole number from 0 to 4,294,967,295",
        ),
        ({"n": np.array(1)}, "routes[0] names a customer that is not within 1 … 1"),
        ({"fleet": np.array(0)}, "fleet is 0, not at least 1"),
        ({"count": np.array(3)}, "2 rows of routes for a count of 3"),
        (
            {"routes": np.zeros((2, 3))},
            "array 'routes' holds float64, not whole numbers",
        ),
        ({"labelled": np.ones(3, bool)}, "array 'labelled' has shape (3,), not (2)"),
    ],
)
def test_labels_that_are_wrong(save, changes, said):
    """Each fault of a label file is told with the array's name."""
    with pytest.raises(InputError) as caught:
        read_labels(save(LABELS | changes))
    assert said in str(caught.value)


def header(shape, dtype="<f8"):
    """The first bytes of an array of this shape, and none of its data."""
    file = io.BytesIO()
    fields = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, fields)
    return file.getvalue()


def test_a_header_that_promises_too_much(tmp_path):
    """An array that claims to be huge and is not is refused."""
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("depots.npy", header((10**12, 2)) + b"\0" * 64)
    with pytest.raises(
        InputError, match="array 'depots' cannot be read: Unable to allocate"
    ):
        read_batch(tmp_path / "x.npz")


def test_the_labels_at_hand(shared):
    """The label files at hand are read, and their first plans are complete."""
    paths = sorted((shared / "labels").glob("vrp20*.npz"))
    assert paths
    for path in paths:
        labels = read_labels(path)
        plans = PlanBatch(labels.routes[labels.labelled][:1000])
        assert (plans.vehicles() <= labels.fleet).all()
        served = (plans.routes > 0).sum(axis=1)
        assert (served == labels.n).all()
