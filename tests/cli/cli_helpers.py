"""What the tests of commands share."""

from __future__ import annotations

from pathlib import Path

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "leipzig_parcels.csv"
PNG = b"\x89PNG\r\n\x1a\n"
# No bound tells whether four vehicles of 24 carry these; no packing into four exists.
HARD = [7, 6, 10, 11, 5, 7, 7, 5, 6, 10, 11, 10]
FLEET = ("--vehicles", 2, "--capacity", 2)
FAST = (*FLEET, "--time-limit", 0.05)
VRP = """NAME : two-k1
TYPE : CVRP
DIMENSION : 3
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 5
NODE_COORD_SECTION
1 0 0
2 3 4
3 6 8
DEMAND_SECTION
1 0
2 2
3 2
DEPOT_SECTION
1
-1
EOF
"""


def refused(answer, *words):
    """Whether a command ended with code 2 and one line that has these words."""
    code, out, err = answer
    assert code == 2
    assert out == ""
    assert err.startswith("fixedfleet: error: ")
    assert err.count("\n") == 1
    assert all(word in err for word in words), err
    return True


def make(tmp_path, name, text):
    """Write a file and return its name."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


def hard(tmp_path):
    """Write the instance that no bound decides."""
    rows = "".join(f"{i},{i % 3},{q}\n" for i, q in enumerate(HARD, 1))
    return make(tmp_path, "hard.csv", f"x,y,demand\n0,0,\n{rows}")
