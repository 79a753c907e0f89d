"""The shipped networks, on instances nobody has seen."""

from __future__ import annotations

import numpy as np
import pytest

from fixedfleet.generate import uniform
from fixedfleet.model import load_model
from fixedfleet.search import Stop, improve
from fixedfleet.training.validation import decode_raw

pytestmark = pytest.mark.slow

FRESH_SEED = 4321


@pytest.fixture(scope="module")
def instances():
    """Sixteen instances of the kind the network was trained for, of a fresh seed."""
    return uniform(20, 16, seed=FRESH_SEED)


@pytest.fixture(scope="module")
def searched(instances):
    """Lengths that the search on a CPU finds without network and labels."""
    results = [
        improve(one, search="ruin_recreate", stop=Stop(iterations=20_000))
        for one in instances
    ]
    return np.array([found.cost for found in results])


def test_shipped_network_plans_fresh_instances_well(instances, searched):
    """Every decoded plan is feasible, 6 % above the search at most in the mean."""
    plans = decode_raw(load_model("vrp20"), instances, precision="fp32")
    assert np.isfinite(plans.length).all()
    assert (plans.length / searched).mean() <= 1.06


def test_shipped_network_seen_from_all_sides_is_close(instances, searched):
    """The best of the eight symmetries is within 6 % of the search for each."""
    network = load_model("vrp20")
    plans = decode_raw(network, instances, precision="fp32", symmetries=8)
    assert (plans.length <= 1.06 * searched).all()
