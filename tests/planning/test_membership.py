"""Tests of membership first: vehicles, exchanges, the order of tours."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet.planning import MembershipOptions, decode, to_plans
from fixedfleet.planning.exchange import exchange
from fixedfleet.planning.membership import assign, evidence
from fixedfleet.planning.ordering import by_distance
from fixedfleet.planning.problem import prepare


def members(plan):
    """The sets of customers that share a vehicle."""
    return sorted(sorted(tour) for tour in plan)


def test_customers_go_where_their_arcs_are(prediction):
    """The sum of a customer's arcs decides its vehicle, not its best single arc."""
    # Customer 1's likeliest arc is vehicle 0's, but vehicle 1 has more in sum.
    arcs = {(0, 1, 2): 0.3, (1, 1, 0): 0.25, (1, 1, 3): 0.25}
    arcs |= {(0, 2, 0): 0.9, (1, 3, 0): 0.9}
    demands = torch.tensor([[0, 1, 1, 1]])
    decoded = decode(
        prediction(arcs, 3, 2), demands, torch.tensor([3]), method="membership"
    )
    assert members(to_plans(decoded)[0]) == [[1, 3], [2]]


def test_who_has_most_to_lose_goes_first(prediction):
    """With room for one, the customer with no good alternative gets the vehicle."""
    arcs = {(0, 1, 0): 0.5, (1, 1, 0): 0.4, (0, 2, 0): 0.5, (1, 2, 0): 0.001}
    demands = torch.tensor([[0, 2, 2]])
    decoded = decode(
        prediction(arcs, 2, 2), demands, torch.tensor([3]), method="membership"
    )
    assert decoded.routes[0, :, 0].tolist() == [2, 1]


def test_exchange_finds_the_likelier_swap():
    """Two customers in each other's best vehicle change places."""
    problem = prepare(
        torch.zeros((1, 2, 3, 3)), torch.tensor([[0, 2, 2]]), torch.tensor([2])
    )
    value = torch.tensor([[[0, 0], [5, 1], [1, 5]]])
    wrong = torch.tensor([[2, 1, 0]])
    better = exchange(problem, wrong, value, steps=5, polish=True)
    assert better.tolist() == [[2, 0, 1]]
    kept = exchange(problem, wrong, value, steps=5, polish=False)
    assert kept.tolist() == wrong.tolist()


def test_exact_is_never_less_likely_than_regret(noisy):
    """The exact assignment keeps to capacity and is at least as likely."""
    log_probs, demands, capacity, _ = noisy(4, 4, 20, 33, seed=1)
    problem = prepare(log_probs, demands, capacity)
    value = evidence(problem)
    totals = []
    for how in ("regret", "exact"):
        options = MembershipOptions(assign=how, time_limit=20.0)
        vehicle = assign(problem, options)
        served = vehicle[:, 1:] < 4
        assert served.all()
        loads = torch.zeros((4, 5), dtype=torch.int64).scatter_add(1, vehicle, demands)
        assert (loads[:, :4] <= 33).all()
        chosen = value[:, 1:].gather(2, vehicle[:, 1:, None])
        totals.append(chosen.sum((1, 2)))
    assert (totals[1] >= totals[0]).all()


def test_exact_leaves_the_heuristic_where_nothing_serves_all(prediction):
    """Where no assignment serves everyone, the exact way still serves whom it can."""
    demands = torch.tensor([[0, 2, 2, 2]])
    options = MembershipOptions(assign="exact")
    decoded = decode(
        prediction({}, 3, 2),
        demands,
        torch.tensor([3]),
        method="membership",
        options=options,
        repair="none",
    )
    assert decoded.unserved.sum() == 1


@pytest.mark.parametrize("symmetric", [True, False])
def test_tours_are_ordered_well(symmetric):
    """Seven stops are ordered within a few per cent of the best order there is."""
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(5):
        points = rng.uniform(size=(8, 2))
        matrix = np.linalg.norm(points[:, None] - points[None], axis=2)
        if not symmetric:
            matrix = matrix * rng.uniform(0.9, 1.1, size=matrix.shape)
        instance = ff.Instance(demands=[1] * 7, capacity=7, vehicles=1, matrix=matrix)
        problem = prepare(
            torch.zeros((1, 1, 8, 8)),
            torch.tensor([[0] + [1] * 7]),
            torch.tensor([7]),
            distances=torch.from_numpy(matrix)[None],
        )
        vehicle = torch.tensor([[1] + [0] * 7])
        length = to_plans(by_distance(problem, vehicle))[0].length(instance)
        orders = itertools.permutations(range(1, 8))
        best = min(ff.Plan([order]).length(instance) for order in orders)
        ratios.append(length / best)
    assert min(ratios) >= 1 - 1e-12
    assert np.mean(ratios) < 1.03


def test_crossing_tours_are_untangled():
    """A tour round a square comes out without a crossing."""
    points = torch.tensor([[[0, 0], [1, 1], [1, 0], [0, 1.0]]])
    demands = torch.tensor([[0, 1, 1, 1]])
    decoded = decode(
        torch.zeros((1, 1, 4, 4)),
        demands,
        torch.tensor([3]),
        coordinates=points,
        method="membership",
    )
    assert to_plans(decoded)[0].canonical() == ff.Plan([[2, 1, 3]])


@pytest.mark.parametrize(
    "wrong",
    [{"assign": "magic"}, {"tour": "x"}, {"arcs": "in"}, {"exchanges": -1}],
)
def test_wrong_options_are_named(wrong):
    """An unknown choice or a negative number is an error that names it."""
    with pytest.raises(ff.InputError, match=next(iter(wrong))):
        MembershipOptions(**wrong)
    with pytest.raises(ff.InputError, match="time limit"):
        MembershipOptions(time_limit=0)
