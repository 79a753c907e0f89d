"""The loss against brute force over all M! · 2^M orders and directions."""

from __future__ import annotations

import itertools

import pytest
import torch

import fixedfleet as ff
from fixedfleet.model.features import Features
from fixedfleet.model.normalise import NORMALISATIONS, normalise
from fixedfleet.training.plan_loss import PlanLoss
from fixedfleet.training.training_data import TrainingBatch

TOURS = [[2, 5, 1], [4, 3], []]


def _loss(logs, features, routes, units, capacity, config):
    return config(logs, TrainingBatch(features, routes, units, capacity))


def _features(n, m, nodes=None, vehicles=None):
    torch.manual_seed(n)
    nodes = torch.ones(1, n + 1, dtype=torch.bool) if nodes is None else nodes
    vehicles = torch.ones(1, m, dtype=torch.bool) if vehicles is None else vehicles
    units = torch.cat((torch.zeros(1, dtype=torch.long), torch.randint(1, 6, (n,))))
    units = (units * nodes[0])[None]
    features = Features(torch.rand(1, n + 1, 2), units / 9, nodes, vehicles)
    return features, units, torch.tensor([9])


def _predict(features, how="softassign", seed=0):
    torch.manual_seed(seed)
    n, m = features.nodes.shape[1], features.vehicles.shape[1]
    scores = torch.randn(1, m, n, n, requires_grad=True) * 2
    return _normalised(scores, features, how)


def _normalised(scores, features, how="softassign"):
    return normalise(NORMALISATIONS.get(how), scores, features)


def _routes(tours, width):
    row = [stop for tour in tours for stop in (*tour, 0)]
    return torch.tensor([row + [0] * (width - len(row))])


def _brute_force(logs, features, tours, config, loads):
    """Equation 4.8 word for word: the minimum over all orders and directions."""
    demands = features.demands[0].tolist()
    n, m = logs.shape[2] - 1, logs.shape[1]
    best = float("inf")
    for order in itertools.permutations(range(m)):
        for turns in itertools.product((False, True), repeat=m):
            total = 0.0
            for k in range(m):
                tour = tours[order[k]][:: -1 if turns[k] else 1]
                path = [0, *tour, 0]
                for i, j in itertools.pairwise(path):
                    total -= logs[0, k, i, j].item() * _weight(i, n, m, config)
                labelled = sum(demands[c] for c in tour)
                total += config.load_weight * abs(loads[k] - labelled)
                if loads[k] > 1 + 1e-5:
                    total += config.overload_weight * loads[k] ** 2
            best = min(best, total)
    return best


def _weight(start, n, m, config):
    """The weight of an edge that leaves a location."""
    if config.start_weight is None:
        return 1 / (n + m)
    return (1 - config.start_weight) / n if start else config.start_weight / m


def _hard_loads(logs, features):
    """The pseudo-greedy plan, written down plainly."""
    free = set(range(1, logs.shape[2]))
    loads = []
    for k in range(logs.shape[1]):
        here, load = 0, 0.0
        while True:
            choices = [0, *sorted(free)]
            here = max(choices, key=lambda j: logs[0, k, here, j].item())
            if here == 0:
                break
            free.discard(here)
            load += float(features.demands[0, here])
        loads.append(load)
    return loads


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "weights", [(0.4, 0.3, None), (0.0, 0.0, None), (0.2, 0.1, 0.5)]
)
def test_loss_is_the_minimum_over_all_orders_and_directions(seed, weights):
    """One linear assignment finds what trying all M! · 2^M plans finds."""
    features, units, capacity = _features(5, 3)
    logs = _predict(features, seed=seed)
    load, overload, start = weights
    config = PlanLoss(load_weight=load, overload_weight=overload, start_weight=start)
    found = _loss(logs, features, _routes(TOURS, 8), units, capacity, config)
    loads = _hard_loads(logs, features)
    wanted = _brute_force(logs, features, TOURS, config, loads)
    assert found["total"].item() == pytest.approx(wanted, rel=1e-5)
    terms = sum(value.item() for name, value in found.items() if name != "total")
    assert found["total"].item() == pytest.approx(terms, rel=1e-6)


def test_loss_ignores_order_and_direction_of_a_label():
    """A label with its tours in another order and turned round costs the same."""
    features, units, capacity = _features(5, 3)
    logs = _predict(features, "vehicle")
    config = PlanLoss()
    one = _loss(logs, features, _routes(TOURS, 8), units, capacity, config)
    turned = _routes([[3, 4], [], [1, 5, 2]], 8)
    other = _loss(logs, features, turned, units, capacity, config)
    assert one["total"].item() == pytest.approx(other["total"].item(), rel=1e-6)


def test_padding_does_not_change_the_loss():
    """A label costs the same in a batch padded for larger instances."""
    features, units, capacity = _features(5, 3)
    nodes = torch.tensor([[True] * 6 + [False] * 2])
    vehicles = torch.tensor([[True] * 3 + [False]])
    wide = Features(
        torch.nn.functional.pad(features.coordinates, (0, 0, 0, 2)),
        torch.nn.functional.pad(features.demands, (0, 2)),
        nodes,
        vehicles,
    )
    torch.manual_seed(5)
    scores = torch.randn(1, 4, 8, 8)
    config = PlanLoss()
    small = _normalised(scores[:, :3, :6, :6], features)
    large = _normalised(scores, wide)
    one = _loss(small, features, _routes(TOURS, 8), units, capacity, config)
    units = torch.nn.functional.pad(units, (0, 2))
    other = _loss(large, wide, _routes(TOURS, 11), units, capacity, config)
    for left, right in zip(one.values(), other.values(), strict=True):
        assert float(left) == pytest.approx(float(right), rel=1e-5)


def test_hard_loads_steer_but_do_not_pull():
    """Loads of the pseudo-greedy plan have no gradient."""
    features, units, capacity = _features(5, 3)
    config = PlanLoss()
    logs = _predict(features)
    parts = _loss(logs, features, _routes(TOURS, 8), units, capacity, config)
    assert parts["edges"].requires_grad
    assert not parts["load"].requires_grad


def test_certain_and_right_prediction_costs_nothing():
    """A prediction that is certain of the label costs nothing."""
    features, units, capacity = _features(5, 3)
    scores = torch.zeros(1, 3, 6, 6)
    for k, tour in enumerate(TOURS):
        for i, j in itertools.pairwise([0, *tour, 0]):
            scores[0, k, i, j] = 60.0
    logs = _normalised(scores, features)
    config = PlanLoss(overload_weight=0)
    parts = _loss(logs, features, _routes(TOURS, 8), units, capacity, config)
    assert float(parts["total"]) == pytest.approx(0, abs=1e-4)


def test_wrong_settings_are_errors():
    """Negative weights are refused."""
    with pytest.raises(ff.InputError, match="load_weight is -1"):
        PlanLoss(load_weight=-1)


def test_all_edges_weigh_the_same_if_the_depot_has_its_share():
    """A start weight of M / (N + M) is that of equal edges, 0.2 nearly so for VRP20."""
    features, units, capacity = _features(5, 3)
    logs = _predict(features)
    alike, shared = (
        _loss(logs, features, _routes(TOURS, 8), units, capacity, PlanLoss(**kind))
        for kind in ({}, {"start_weight": 3 / 8})
    )
    assert alike["edges"].item() == pytest.approx(shared["edges"].item(), rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_large_weights_of_loads_decide_the_matching(seed):
    """Tours then belong to the vehicles whose loads agree best."""
    features, units, capacity = _features(5, 3)
    logs = _predict(features, seed=seed)
    config = PlanLoss(load_weight=9.0, overload_weight=0.0)
    found = _loss(logs, features, _routes(TOURS, 8), units, capacity, config)
    wanted = _brute_force(logs, features, TOURS, config, _hard_loads(logs, features))
    assert found["total"].item() == pytest.approx(wanted, rel=1e-5)
