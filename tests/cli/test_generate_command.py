"""The command ``generate``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.files import read_batch

from .cli_helpers import make, refused


def test_generate_writes_single_instances_and_the_test_set(run):
    """A single instance is the batch's first, and the test set is the public one."""
    assert run("generate", "uchoa", 15, "--seed", 3, "--output", "u.npz")[0] == 0
    assert run("generate", "uchoa", 15, "--seed", 3, "--output", "u.vrp")[0] == 0
    one, same = ff.read("u.vrp"), read_batch("u.npz")[0]
    assert np.array_equal(one.coordinates, same.coordinates)
    assert (one.vehicles, one.capacity) == (same.vehicles, same.capacity)
    assert run("generate", "uniform", 20, "--test-set", "--output", "t.npz")[0] == 0
    batch = read_batch("t.npz")
    assert len(batch) == 9646
    assert batch.depots[0].tolist() == [0.1915194503788923, 0.6221087710398319]


def test_generate_takes_a_distribution_of_the_user(run, tmp_path):
    """A function in a file draws instances like the distributions built in."""
    make(
        tmp_path,
        "rings.py",
        "from fixedfleet import generate\n"
        "def draw(n, count, *, seed, vehicles):\n"
        "    drawn = generate.uniform(n, count, seed=seed)\n"
        "    return list(drawn.with_vehicles(vehicles))",
    )
    options = ("--count", 2, "--vehicles", 5, "--output", "r.npz")
    assert run("generate", "rings.py:draw", 20, *options)[0] == 0
    assert read_batch("r.npz") == generate.uniform(20, 2, seed=0).with_vehicles(5)
    options = ("--vehicles", 5, "--set", "route_size=5", "--output", "r.npz")
    assert refused(run("generate", "rings.py:draw", 20, *options), "'route_size'")
    assert refused(run("generate", "rings.py:draw", 20, *options[-2:]), "'vehicles'")


def test_generate_passes_options_to_the_distribution(run):
    """--set gives any option of a distribution, also of one's own."""
    options = ("--count", 3, "--seed", 2, "--set", "modes=5", "--set", "distance=9.5")
    assert run("generate", "clustered", 20, *options, "--output", "c.npz")[0] == 0
    wanted = generate.clustered(20, 3, seed=2, modes=5, distance=9.5)
    assert read_batch("c.npz") == wanted


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("uniform", 30, "--output", "a.npz"), "capacity"),
        (("uniform", 0, "--output", "a.npz"), "n is 0"),
        (("uniform", 20, "--count", 0, "--output", "a.npz"), "--count"),
        (("uniform", 20, "--count", 2, "--output", "a.vrp"), ".npz"),
        (("uniform", 20, "--seed", -1, "--output", "a.npz"), "seed"),
        (("uniform", 20, "--test-set", "--seed", 1, "--output", "a.npz"), "--seed"),
        (("uniform", 20, "--output", "a.txt"), ".txt"),
        (("uchoa", 20, "--set", "demand=huge", "--output", "a.npz"), "demand 'huge'"),
        (("uchoa", 20, "--vehicles", 0, "--output", "a.npz"), "vehicles"),
        (("uniform", 20, "--set", "demand=1-10", "--output", "a.npz"), "'demand'"),
        (("uchoa", 20, "--test-set", "--output", "a.npz"), "--test-set"),
        (("rings", 20, "--output", "a.npz"), "uniform, uchoa"),
        (("clustered", 20, "--set", "moods=2", "--output", "a.npz"), "'moods'"),
        (("clustered", 20, "--set", "modes", "--output", "a.npz"), "modes"),
        (("squares.py:draw", 20, "--output", "a.npz"), "no file 'squares.py'"),
    ],
)
def test_generate_refuses_in_one_line(run, options, word):
    """What cannot be drawn or written is said, and no file is left."""
    assert refused(run("generate", *options), word)
    assert list(Path().iterdir()) == []
