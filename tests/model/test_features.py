"""Features: scaling, padding, symmetries, the vehicles' places."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet.model.features import (
    centrality,
    collate,
    pairwise_distances,
    sweep_anchors,
    symmetry,
)


def test_coordinates_are_scaled_by_one_factor(make_instance):
    """A stretched instance fits the unit square and keeps its proportions."""
    wide = make_instance(customers=np.random.default_rng(1).uniform(size=(12, 2)) * 90)
    points = collate(ff.InstanceBatch.of([wide])).features.coordinates[0].double()
    assert points.min() >= 0
    assert points.max() <= 1
    assert float((points.amax(0) - points.amin(0)).max()) == pytest.approx(1)
    scaled = pairwise_distances(points[None])[0].numpy()
    factor = wide.distances[0, 1:] / scaled[0, 1:]
    assert factor == pytest.approx(factor[0], rel=1e-5)


def test_batch_and_list_give_the_same_tensors():
    """Instances as a batch or as a list are seen alike."""
    rng = np.random.default_rng(0)
    batch = ff.InstanceBatch(
        depots=rng.uniform(size=(3, 2)),
        customers=rng.uniform(size=(3, 5, 2)),
        demands=rng.integers(1, 9, size=(3, 5)),
        capacity=20,
        vehicles=[2, 3, 2],
    )
    whole, single = collate(batch), collate(ff.InstanceBatch.of(list(batch)))
    for left, right in zip(whole.features, single.features, strict=True):
        assert torch.equal(left, right)
    assert torch.equal(whole.units, single.units)
    assert whole.features.vehicles.sum(1).tolist() == [2, 3, 2]


def test_decimal_demands_become_shares():
    """Demands in decimals are shares of the capacity, exact in whole units."""
    points = [[0, 1], [1, 0], [1, 1]]
    instance = ff.Instance(
        depot=(0, 0),
        customers=points,
        demands=[0.1, 0.2, 0.3],
        capacity=0.4,
        vehicles=2,
    )
    batch = collate(ff.InstanceBatch.of([instance]))
    assert batch.features.demands[0].tolist() == pytest.approx([0, 0.25, 0.5, 0.75])
    assert batch.units[0].tolist() == [0, 1, 2, 3]
    assert batch.capacity.tolist() == [4]


def test_no_coordinates_are_refused():
    """An instance with a matrix alone is refused in one clear line."""
    bare = ff.Instance(
        matrix=[[0, 1], [1, 0]], demands=[1], capacity=1, vehicles=1, name="bare"
    )
    with pytest.raises(ff.InputError, match="'bare' has a distance matrix and no"):
        collate(ff.InstanceBatch.of([bare]))
    with pytest.raises(ff.InputError, match="no instances"):
        collate(ff.InstanceBatch.of([]))


def test_symmetries_keep_all_distances():
    """The eight symmetries differ from each other and change no distance."""
    points = torch.rand(1, 6, 2)
    turned = symmetry(points.expand(8, -1, -1), torch.arange(8))
    distances = pairwise_distances(turned)
    assert torch.allclose(distances, pairwise_distances(points).expand(8, -1, -1))
    assert len({tuple(one.flatten().tolist()) for one in turned.round(decimals=5)}) == 8


def test_centrality_is_the_inverse_mean_distance(square):
    """A depot at distance 1/√2 of all corners has centrality √2."""
    features = collate(ff.InstanceBatch.of([square])).features
    found = centrality(pairwise_distances(features.coordinates), features.nodes)
    assert float(found) == pytest.approx(2**0.5, rel=1e-5)


def test_anchors_follow_the_sweep(make_instance):
    """Needed vehicles get places among their customers; a spare one stays home."""
    ring = [[1, 0.1], [1, -0.1], [-1, 0.1], [-1, -0.1]]
    instance = make_instance(
        n=4, depot=(0, 0), customers=ring, demands=[5] * 4, capacity=10, vehicles=3
    )
    features = collate(ff.InstanceBatch.of([instance])).features
    anchors, needed = sweep_anchors(features)
    assert needed[0].tolist() == [True, True, False]
    assert sorted(anchors[0, :2, 0].tolist()) == pytest.approx([0.0, 1.0])
    assert torch.equal(anchors[0, 2], features.coordinates[0, 0])


def test_anchors_turn_with_the_instance(make_instance):
    """Places of the vehicles turn with the map, a quarter, a half, three quarters."""
    features = collate(
        ff.InstanceBatch.of([make_instance(n=9, vehicles=3, seed=4)])
    ).features
    anchors, _ = sweep_anchors(features)
    for code in (0, 3, 5, 6):  # the turns; after a mirroring the sweep runs back
        turn = torch.tensor([code])
        turned = features._replace(coordinates=symmetry(features.coordinates, turn))
        found, _ = sweep_anchors(turned)
        assert torch.allclose(found, symmetry(anchors, turn), atol=1e-5)
