"""Tests of distributions by name."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet import generate


def test_distributions_are_known_by_name():
    """A name draws the same instances as its function."""
    assert generate.DISTRIBUTIONS.names()[:2] == ["uniform", "uchoa"]
    uniform = generate.uniform(20, 3, seed=1, vehicles=5)
    assert generate.draw("uniform", 20, 3, seed=1, vehicles=5) == uniform
    uchoa = generate.uchoa_batch(9, 2, seed=1, vehicles=4)
    assert generate.draw("uchoa", 9, 2, seed=1, vehicles=4) == uchoa


def test_a_distribution_can_be_registered_or_given(make_instance, monkeypatch):
    """A function can be registered under a name, or passed itself."""
    monkeypatch.setattr(generate.DISTRIBUTIONS, "_parts", {})

    @generate.DISTRIBUTIONS.register("mixed")
    def mixed(n, count, *, seed):
        return [make_instance(n=n + row, seed=seed) for row in range(count)]

    batch = generate.draw("mixed", 5, 3, seed=2)
    assert batch.sizes.tolist() == [5, 6, 7]
    assert batch[1] == make_instance(n=6, seed=2)
    assert generate.draw(mixed, 5, 3, seed=2) == batch


def test_what_a_distribution_cannot_do_is_named(make_instance):
    """Unknown names and options, and a wrong number of instances, are refused."""
    with pytest.raises(ff.InputError, match="unknown distribution 'ring'"):
        generate.draw("ring", 20, 1, seed=1)
    with pytest.raises(ff.InputError, match=r"'uniform': got .* argument 'depot'"):
        generate.draw("uniform", 20, 1, seed=1, depot="central")
    with pytest.raises(ff.InputError, match="drew 1 instances, not 2"):
        generate.draw(lambda n, count, *, seed: [make_instance(n=n)], 20, 2, seed=1)
