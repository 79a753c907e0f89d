"""Decoding by membership: the vehicles of the customers."""

from __future__ import annotations

import fixedfleet as ff
from fixedfleet.planning import decode

from .conftest import log_of, make_prediction


def members(plan):
    """The sets of customers that share a vehicle."""
    return sorted(sorted(tour) for tour in plan)


def test_customers_go_where_their_edges_are():
    """The sum of a customer's edges decides its vehicle, not its best single edge."""
    # Customer 1's likeliest edge is vehicle 0's, but vehicle 1 has more in sum.
    edges = {(0, 1, 2): 0.3, (1, 1, 0): 0.25, (1, 1, 3): 0.25}
    edges |= {(0, 2, 0): 0.9, (1, 3, 0): 0.9}
    prediction = make_prediction(log_of(edges, 3, 2), [0, 1, 1, 1], 3)
    assert members(decode(prediction)[0]) == [[1, 3], [2]]


def test_the_largest_regret_goes_first():
    """With room for one, the customer with no good alternative gets the vehicle."""
    edges = {(0, 1, 0): 0.5, (1, 1, 0): 0.4, (0, 2, 0): 0.5, (1, 2, 0): 0.001}
    plan = decode(make_prediction(log_of(edges, 2, 2), [0, 2, 2], 3))[0]
    assert plan == ff.Plan([[2], [1]])
