"""The shipped networks, on instances nobody has seen."""

from __future__ import annotations

import numpy as np
import pytest

from fixedfleet.generate import uniform
from fixedfleet.model import load_model
from fixedfleet.planning import decode, predict_views
from fixedfleet.search import improve

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
        improve(one, search="ruin_recreate", iterations=20_000) for one in instances
    ]
    return np.array([found.cost for found in results])


@pytest.fixture(scope="module")
def lengths(instances):
    """Lengths of the decoded plans under each symmetry, shape (8, B); inf if none."""
    views = predict_views(load_model("universal"), instances, 8, precision="fp32")
    plans = [decode(prediction) for prediction in views]
    return np.array(
        [
            np.where(found.feasible(instances), found.lengths(instances), np.inf)
            for found in plans
        ]
    )


def test_shipped_network_plans_fresh_instances_well(lengths, searched):
    """Every decoded plan is feasible, and at most 6 % above the search in the mean."""
    assert np.isfinite(lengths[0]).all()
    assert (lengths[0] / searched).mean() <= 1.06


def test_shipped_network_seen_from_all_sides_is_close(lengths, searched):
    """The best of the eight symmetries is within 6 % of the search for each."""
    assert (lengths.min(axis=0) <= 1.06 * searched).all()
    assert (lengths.min(axis=0) < lengths[0]).any()
