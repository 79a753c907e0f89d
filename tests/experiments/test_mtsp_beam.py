"""Beam search that does not know capacities."""

# ruff: noqa: E402  # without torch, nothing is imported

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from experiments.mtsp_beam import beam20, mtsp_beam_tours
from fixedfleet.instance import InstanceBatch
from fixedfleet.plan import Plan
from fixedfleet.planning import certain_prediction, get_decoder
from fixedfleet.planning.tours import make_plans


def predict_edges(*tours):
    """Return a prediction of tours for six customers, two vehicles of capacity 3."""
    places = np.arange(14.0).reshape(1, 7, 2)
    batch = InstanceBatch(
        depots=places[:, 0],
        customers=places[:, 1:],
        demands=np.ones((1, 6), dtype=np.int64),
        capacity=3,
        vehicles=2,
    )
    edges = torch.full((1, 2, 7, 7), -5.0)
    for vehicle, tour in enumerate(tours):
        for i, j in zip((0, *tour), (*tour, 0), strict=True):
            edges[0, vehicle, i, j] = 0.0
    return replace(certain_prediction(batch, [Plan([])]), log_probs=edges)


def test_the_likeliest_plan_is_found():
    """The beam follows the likeliest edges of each vehicle."""
    tours = [[2, 1, 3], [6, 4, 5]]
    (plan,) = make_plans(mtsp_beam_tours(predict_edges(*tours), 20))
    assert [list(tour) for tour in plan.tours] == tours


def test_a_plan_beyond_the_capacity_is_none():
    """The likeliest plan has five customers in a tour; a narrow beam has no other."""
    prediction = predict_edges([1, 2, 3, 4, 5], [6])
    assert not mtsp_beam_tours(prediction, 1).any()
    (plan,) = make_plans(mtsp_beam_tours(prediction, 400))
    assert sorted(map(len, plan.tours)) == [3, 3]


def test_it_is_a_decoder():
    """It can be named in the spec of a method."""
    assert get_decoder("experiments.mtsp_beam:beam20") is beam20
