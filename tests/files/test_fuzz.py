"""No file, however broken, brings out anything but one clear line."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fixedfleet import InputError
from fixedfleet.files import (
    read,
    read_batch,
    read_labels,
    read_plan,
    read_solution_cost,
)
from fixedfleet.files.excel import format_excel

VRP = b"""NAME : toy-k2
COMMENT : No of trucks: 2, rounding: none
TYPE : CVRP
DIMENSION : 4
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 10
NODE_COORD_SECTION
1 0 0
2 1.5 0
3 0 2e0
4 -1 -1
DEMAND_SECTION
1 0
2 3
3 4.5
4 0
DEPOT_SECTION
1
-1
EOF
"""
MATRIX = b"""NAME : toy
TYPE : CVRP
DIMENSION : 3
VEHICLES : 2
EDGE_WEIGHT_TYPE : EXPLICIT
EDGE_WEIGHT_FORMAT : LOWER_ROW
CAPACITY : 10
EDGE_WEIGHT_SECTION
1 2 3
DEMAND_SECTION
1 0
2 3
3 4
DEPOT_SECTION
1
-1
EOF
"""
CSV = b"""# capacity: 10
# vehicles: 2
# rounding: ceil
lat,lon,demand,name
52.5,13.4,,"the, depot"
52.6,13.5,3,'=x
52.7,13.6,4.5,"a ""b"" c"
"""
JSON = b"""{"name": "toy", "vehicles": 2, "capacity": 10, "depot": [0, 0],
"customers": [[1, 2], [3, 4]], "demands": [1, 2.5], "names": ["a", "b"],
"matrix": [[0, 1, 2], [1, 0, 3], [2, 3, 0]], "rounding": "round"}
"""
SOL = b"Route #1: 1 2\nRoute #2: 3\nCost 12.5\nTime: 3 s\n"
PLAN_JSON = b'{"tours": [{"customers": [1, 2]}, [3]], "length": 4}'
PLAN_CSV = b"tour,stop,customer,name\n1,1,2,x\n1,2,1,y\n2,1,3,z\n"


def npz(**arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


BATCH = npz(
    depots=np.zeros((2, 2)),
    customers=np.ones((2, 3, 2)),
    demands=np.ones((2, 3), dtype=int),
    capacity=np.array(5),
    vehicles=np.array([2, 3]),
)
LABELS = npz(
    routes=np.array([[1, 2, 0], [2, 1, 0]], dtype=np.uint8),
    labelled=np.array([True, False]),
    feasible=np.array([True, False]),
    index=np.arange(2),
    **dict.fromkeys(["n", "count"], np.array(2)),
    **dict.fromkeys(["capacity", "fleet", "seed", "iterations"], np.array(7)),
)
PICKLE = pickle.dumps([([0.5, 0.1], [[1.0, 2.0], [3.0, 4.0]], [1, 300], 30.0)] * 2)

SHEET = format_excel([["x", "y", "demand"], [0, 0, ""], [1, 2.5, 3]])

READERS = {
    "vrp": (read, [VRP, MATRIX]),
    "csv": (read, [CSV]),
    "xlsx": (lambda path: read(path, 2, capacity=9), [SHEET]),
    "json": (read, [JSON]),
    "sol": (read_plan, [SOL]),
    "cost.sol": (read_solution_cost, [SOL]),
    "plan.json": (read_plan, [PLAN_JSON]),
    "plan.csv": (read_plan, [PLAN_CSV]),
    "npz": (read_batch, [BATCH]),
    "labels.npz": (read_labels, [LABELS]),
    "pkl": (lambda path: read_batch(path, 2), [PICKLE]),
}
each_reader = pytest.mark.parametrize("kind", READERS)
again = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def try_to_read(kind: str, data: bytes, folder) -> None:
    """Read bytes as a file of this kind; only one-line InputErrors may come out."""
    path = folder / f"x.{kind}"
    path.write_bytes(data)
    try:
        READERS[kind][0](path)
    except InputError as error:
        text = str(error)
        assert text.startswith(str(path)) and len(text.splitlines()) == 1


@each_reader
def test_what_is_broken_below_was_whole(kind, tmp_path):
    """The files that the other tests break can be read as they are."""
    for data in READERS[kind][1]:
        path = tmp_path / f"x.{kind}"
        path.write_bytes(data)
        assert READERS[kind][0](path) is not None


@pytest.mark.slow
@each_reader
@again
@given(data=st.binary(max_size=400) | st.text(max_size=400).map(str.encode))
@example(data=b"")
@example(data=b"\x00\xff" * 50)
@example(data=b"\xff\xfea\x00")
@example(data="\ufeff".encode())
@example(data=b"[" * 100_000)
@example(data=b'{"vehicles": ' + b"9" * 5000 + b"}")
@example(data=b"\x80\x04.")
def test_junk_is_refused_in_one_line(kind, data, tmp_path):
    """Random bytes and random text are refused with one line that names the file."""
    try_to_read(kind, data, tmp_path)


@st.composite
def edits(draw):
    """A few places in the file, with what to put there and how much to drop."""
    piece = st.sampled_from(
        [b"", b"-", b"nan", b"inf", b"1e999", b"9" * 30, b"0", b"\n", b"\x00", b":",
         b'"', b",", b"#", b"[", b"_SECTION", b"EOF\n", b"\xff", b"1", b"'", b"\\"]
    ) | st.binary(max_size=4)  # fmt: skip
    place = st.floats(0, 1, exclude_max=True)
    return draw(
        st.lists(st.tuples(place, st.integers(0, 6), piece), min_size=1, max_size=4)
    )


@pytest.mark.slow
@each_reader
@again
@given(changes=edits(), choice=st.integers(0, 1))
def test_a_damaged_file_is_read_or_refused_in_one_line(kind, changes, choice, tmp_path):
    """A valid file with a few bytes changed reads, or is refused with one line."""
    valid = READERS[kind][1]
    data = valid[choice % len(valid)]
    for share, drop, piece in changes:
        at = int(share * len(data))
        data = data[:at] + piece + data[at + drop :]
    try_to_read(kind, data, tmp_path)


@each_reader
def test_a_file_cut_short_is_read_or_refused_in_one_line(kind, tmp_path):
    """A file that ends too early, anywhere, is refused with one line, or was whole."""
    for data in READERS[kind][1]:
        for end in range(0, len(data), max(1, len(data) // 60)):
            try_to_read(kind, data[:end], tmp_path)


@each_reader
@again
@given(order=st.lists(st.integers(0, 30), min_size=1, max_size=30))
def test_shuffled_lines_are_read_or_refused_in_one_line(kind, order, tmp_path):
    """Lines in any order, dropped and repeated, read or are refused with one line."""
    for data in READERS[kind][1]:
        lines = data.splitlines(keepends=True)
        shuffled = b"".join(lines[i % len(lines)] for i in order)
        try_to_read(kind, shuffled, tmp_path)
