"""The loss of the universal network."""

from __future__ import annotations

import itertools

import pytest
import torch

from fixedfleet.model.universal import Rounds
from fixedfleet.training.membership_loss import MembershipLoss
from fixedfleet.training.training_data import to_tensors

NOTHING = MembershipLoss(cluster_weight=0.0, neighbour_weight=0.0)


def rounds_of(logits: torch.Tensor, batch, count: int = 1) -> Rounds:
    """Predictions of these scores, the same in all rounds."""
    vehicles = batch.features.vehicles[:, None]
    logs = logits.masked_fill(~vehicles, -1e4).log_softmax(2)
    size = batch.features.nodes.shape[1]
    neighbours = torch.zeros((len(logs), size - 1, size)).log_softmax(2)
    return Rounds((logs,) * count, neighbours)


@pytest.fixture
def batch(labels):
    """Four labelled instances."""
    return to_tensors(*labels, "cpu").take(torch.arange(4))


def test_the_order_of_the_vehicles_does_not_matter(batch):
    """The loss is the least over all matchings of tours and vehicles."""
    n, m = batch.features.nodes.shape[1] - 1, batch.features.vehicles.shape[1]
    logits = torch.randn((4, n, m), generator=torch.Generator().manual_seed(1))
    losses = []
    for order in itertools.permutations(range(m)):
        rounds = rounds_of(logits[..., list(order)], batch)
        losses.append(float(NOTHING(rounds, batch)["total"]))
    assert losses == pytest.approx([losses[0]] * len(losses))


def test_a_certain_and_right_prediction_costs_nothing(batch):
    """Scores that name the tour of each customer give a loss of zero."""
    n, m = batch.features.nodes.shape[1] - 1, batch.features.vehicles.shape[1]
    logits = torch.zeros((4, n, m))
    for row, route in enumerate(batch.routes.tolist()):
        tour = 0
        for customer in route:
            if customer:
                logits[row, customer - 1, tour] = 50.0
            else:
                tour = min(tour + 1, m - 1)
    config = MembershipLoss(cluster_weight=1.0, neighbour_weight=0.0)
    right = config(rounds_of(logits, batch, 3), batch)
    assert float(right["membership"]) == pytest.approx(0, abs=1e-4)
    assert float(right["cluster"]) < 1e-3
    wrong = config(rounds_of(logits.roll(1, 1), batch, 3), batch)
    assert float(wrong["total"]) > 1


def test_likely_neighbours_lower_the_loss(batch):
    """The term of the neighbours is the cross-entropy of the two next to a customer."""
    n, m = batch.features.nodes.shape[1] - 1, batch.features.vehicles.shape[1]
    rounds = rounds_of(torch.zeros((4, n, m)), batch)
    config = MembershipLoss(cluster_weight=0.0, neighbour_weight=1.0)
    even = config(rounds, batch)["edges"]
    assert float(even) == pytest.approx(float(torch.log(torch.tensor(n + 1.0))))
    logs = torch.full((4, n, n + 1), -20.0)
    for row, route in enumerate(batch.routes.tolist()):
        path = [0, *route, 0]
        for before, here, after in zip(path[:-2], route, path[2:], strict=True):
            if here:
                logs[row, here - 1, before] = logs[row, here - 1, after] = 0.0
    known = config(rounds._replace(neighbours=logs.log_softmax(2)), batch)
    assert float(known["edges"]) <= float(torch.log(torch.tensor(2.0))) + 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_the_last_round_counts_twice_in_the_matching(batch, seed):
    """The loss is that of the best matching, tried out for all orders of the tours."""
    n, m = batch.features.nodes.shape[1] - 1, batch.features.vehicles.shape[1]
    draw = torch.Generator().manual_seed(seed)
    first, last = (
        rounds_of(torch.randn((4, n, m), generator=draw), batch) for _ in range(2)
    )
    rounds = Rounds(first.membership + last.membership, last.neighbours)
    wanted = []
    for row, route in enumerate(batch.routes.tolist()):
        tours = [[]]
        for stop in route:
            tours[-1].append(stop) if stop else tours.append([])
        tours = sorted(tours, key=len, reverse=True)[:m]
        size = sum(map(len, tours))
        costs = []
        for order in itertools.permutations(range(m)):
            served = [(c - 1, k) for k, t in enumerate(order) for c in tours[t]]
            one, two = (
                -sum(float(logs[row, c, k]) for c, k in served) / size
                for logs in rounds.membership
            )
            costs.append((one + 2 * two, ((one + two) / 2 + two) / 2))
        wanted.append(min(costs)[1])
    found = float(NOTHING(rounds, batch)["membership"])
    assert found == pytest.approx(sum(wanted) / len(wanted), rel=1e-4)
