"""The command ``label``."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from fixedfleet.files import read_batch
from fixedfleet.labels import load_labels

from .cli_helpers import make, refused


@pytest.mark.slow
def test_generate_label_load(run):
    """Instances drawn by one command are labelled by the next and load again."""
    drawn = run(
        "generate", "uniform", 20, "--count", 3, "--seed", 5, "--output", "a.npz"
    )
    assert drawn[:2] == (0, "written: a.npz, 3 instances of 20 customers, 4 vehicles\n")
    teach = ("--method", "packing+ruin_recreate", "--iterations", 50, "--processes", 1)
    code, out, err = run("label", "a.npz", *teach, "--output", "labels")
    assert code == 0
    assert out.startswith("labels: 3 of 3 instances labelled (3 new in ")
    assert "3 of 3 instances (100.0 %)" in err
    batch, plans, labelled = load_labels("labels")
    assert batch == read_batch("a.npz")
    assert labelled.all()
    assert plans.feasible(batch).all()
    code, out, err = run("label", "a.npz", *teach, "--output", "more", "--quiet")
    assert (code, err) == (0, "")
    other = run("label", "a.npz", *teach[:3], 60, "--output", "labels")
    assert refused(other, "labels")


LIMIT = ("--time-limit", 1)


class Harm:
    """Makes a folder when it is unpickled carelessly."""

    def __reduce__(self):
        return os.mkdir, ("harm",)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("evil.pkl", "--vehicles", 2, "--method", "hgs"), "run code"),
        (("a.npz", "--method", "nobody"), "nobody"),
        (("a.npz", "--method", "vroom", "--iterations", 5), "takes time_limit, and"),
        (("a.npz", "--method", "ruin_recreate"), "time_limit or iterations, and was"),
        (("--method", "hgs"), "INSTANCES"),
        (("a.npz", "--method", "hgs", *LIMIT, "--processes", 0), "processes"),
        (("a.npz", "--method", "hgs", *LIMIT, "--seed", -1), "seed"),
        (("broken.npz", "--method", "hgs"), "broken.npz"),
    ],
)
def test_label_refuses_in_one_line(run, tmp_path, options, word):
    """What cannot be labelled is said, a pickle runs nothing, and no folder is made."""
    (tmp_path / "evil.pkl").write_bytes(pickle.dumps([Harm()]))
    make(tmp_path, "broken.npz", b"PK\x03\x04 not quite")
    run("generate", "uniform", 20, "--output", "a.npz")
    assert refused(run("label", *options, "--output", "labels"), word)
    assert not Path("harm").exists()
    assert not Path("labels").exists()
