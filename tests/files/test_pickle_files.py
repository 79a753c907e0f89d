"""The Attention Model's pickled test sets, and pickles that mean harm."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

from fixedfleet import InputError
from fixedfleet.files import pickle_files, read_batch

ENTRY = ([0.5, 0.25], [[0.1, 0.2], [0.3, 0.4]], [3, 7], 30.0)


@pytest.fixture
def load(tmp_path):
    """Return a reader of an object, or of bytes, as a pickled test set."""

    def load(data, protocol=4, **options):
        path = tmp_path / "x.pkl"
        raw = isinstance(data, bytes)
        path.write_bytes(data if raw else pickle.dumps(data, protocol=protocol))
        return read_batch(path, **({"vehicles": 2} | options))

    return load


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_test_set_of_any_protocol(load, protocol):
    """A list of tuples of lists and numbers is a batch."""
    batch = load([ENTRY, ENTRY], protocol)
    assert batch.depots.tolist() == [[0.5, 0.25]] * 2
    assert batch.customers[1].tolist() == [[0.1, 0.2], [0.3, 0.4]]
    assert batch.demands.tolist() == [[3, 7]] * 2
    assert batch.capacity.tolist() == [30, 30]
    assert batch.vehicles.tolist() == [2, 2]


def test_the_callers_capacity_wins(load):
    """The caller's capacity replaces the file's."""
    assert load([ENTRY], capacity=50).capacity.tolist() == [50]


@pytest.mark.parametrize(("capacity", "plain"), [(2**63 - 1, True), (2**63, False)])
def test_integers_of_eight_bytes_are_the_longest_plain_ones(capacity, plain):
    """A pickle with a longer integer is left to the unpickler that is in Python."""
    data = pickle.dumps([(*ENTRY[:3], capacity)], protocol=4)
    assert (not pickle_files._PLAIN.sub(b"", data)) == plain


class Harm:
    """Makes a folder when unpickled by someone who trusts it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_that_wants_to_run_code(load, tmp_path, protocol):
    """A pickle that would run code is refused and runs nothing."""
    victim = tmp_path / "harm"
    with pytest.raises(InputError, match="could run code and is refused"):
        load([ENTRY, Harm(str(victim))], protocol)
    assert not victim.exists()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("kind", [np.float32, ">f8", np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_in_a_pickle(load, protocol, kind, order):
    """Arrays and scalars of NumPy are read as their numbers, whatever their layout."""
    depot = np.array(ENTRY[0])
    customers = np.array([[1, 2], [3, 4], [5, 6]], dtype=kind, order=order)
    demands, capacity = np.array([3, 7, 9], dtype=kind), np.float32(30.0)
    batch = load([(depot, customers, demands, capacity)] * 2, protocol)
    assert batch.depots.tolist() == [ENTRY[0]] * 2
    assert batch.customers.tolist() == [[[1, 2], [3, 4], [5, 6]]] * 2
    assert batch.demands.tolist() == [[3, 7, 9]] * 2
    assert batch.capacity.tolist() == [30] * 2


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (np.array([len, 1], dtype=object), "builtins.len could run code"),
        (np.array(["a", "b"]), "an array of '<U1', not of numbers"),
        (np.zeros(2).view(np.matrix), "could run code and is refused"),
        (np.array([1, 2], dtype="datetime64[s]"), "'<M8', not of numbers"),
    ],
)
def test_arrays_of_other_things_are_refused(load, part, said):
    """An array of objects or texts is no array of numbers, and builds nothing."""
    with pytest.raises(InputError) as caught:
        load([(part, *ENTRY[1:])])
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the file is empty"),
        (b"junk", "not a whole pickle"),
        (b"\x80\x04]", "not a whole pickle"),
        # A memo entry of number 2^31, for which an unpickler would make room.
        (
            b"\x80\x02]r\xff\xff\xff\x7f.",
            "not a list of instances, or an empty one",
        ),
        # A list that holds itself.
        (b"\x80\x02]q\x00h\x00a.", "instance 0 is not a tuple"),
        # A number of 255 bytes.
        (b"\x80\x02\x8a\xff" + b"\x7f" * 255 + b".", "not a list of instances"),
    ],
)
def test_bytes_that_are_no_test_set(load, data, said):
    """Bytes that are no pickle, or a trap, are refused with one line."""
    with pytest.raises(InputError) as caught:
        load(data)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([], "not a list of instances, or an empty one"),
        (7, "not a list of instances, or an empty one"),
        ([ENTRY[:3]], "instance 0 is not a tuple (depot, customers, demands, cap"),
        ([ENTRY, (ENTRY[0], ENTRY[1], [1], 30)], "instance 1 is not a tuple"),
        ([(ENTRY[0], [[1, 2], 3], [1, 1], 30)], "instance 0 is not a tuple"),
        ([(ENTRY[0], ENTRY[1], [1, [2]], 30)], "instance 0 is not a tuple"),
        ([(ENTRY[0], ENTRY[1], [1, -2], 30)], "demands[0, 1] is -2, not a whole"),
        ([(ENTRY[0], ENTRY[1], [1, 2], 0.0)], "capacity[0] is 0, not a whole number"),
        ([([float("nan"), 0], *ENTRY[1:])], "depots[0, 0] is nan, not a number from"),
    ],
)
def test_plain_data_that_is_no_test_set(load, entries, said):
    """Each fault of a test set is told with its instance."""
    with pytest.raises(InputError) as caught:
        load(entries)
    assert said in str(caught.value)
