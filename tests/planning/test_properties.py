"""What must hold of every decoded plan, whatever the prediction."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import fixedfleet as ff
from fixedfleet.planning import Prediction, RepairOptions, decode, pseudo_greedy
from fixedfleet.planning.tours import make_plans, tour_loads

from .conftest import make_prediction, one_hot_prediction

pytestmark = pytest.mark.slow

KINDS = ("random", "uniform", "nothing", "one_edge", "holes", "sharp")
WAYS = {
    "greedy, no repair": ("greedy", "none"),
    "greedy, paper": ("greedy", "paper"),
    "greedy, room": ("greedy", "room"),
    "edges, no repair": ("edges", "none"),
    "edges, paper": ("edges", "paper"),
    "membership, paper": ("membership", "paper"),
    "membership, room": ("membership", "room"),
    "beam, no repair": ("beam", "none"),
    "beam": ("beam3", "paper"),
}
REPAIRED = {name: way for name, way in WAYS.items() if way[1] != "none"}


def guaranteed(way):
    """The way with the guarantee that everyone is served."""
    decoder, repair = way
    options = RepairOptions(repair) if isinstance(repair, str) else repair
    return decoder, dataclasses.replace(options, guarantee=True)


def predict(kind, rng, vehicles, size):
    """log Ŷ, shape (M, N', N'), of one of several sane and degenerate kinds."""
    shape = (vehicles, size, size)
    scores = torch.from_numpy(rng.normal(size=shape))
    if kind == "uniform":
        scores = torch.zeros(shape)
    if kind == "nothing":
        return torch.full(shape, -torch.inf)
    if kind == "one_edge":
        best = scores == scores.amax(-1, keepdim=True)
        return torch.zeros(shape).masked_fill(~best, -torch.inf)
    if kind == "holes":
        scores = scores.masked_fill(
            torch.from_numpy(rng.random(shape) < 0.7), -torch.inf
        )
        return scores.float().clamp(max=0.0)
    if kind == "sharp":
        scores = scores * 1000.0
    return scores.flatten().log_softmax(0).view(shape).float()


def make_case(rng, kind, customers, vehicles, capacity):
    """One instance and its prediction."""
    points = rng.integers(0, 5, size=(customers + 1, 2)) / 4.0  # with coincidences
    instance = ff.Instance(
        depot=points[0],
        customers=points[1:],
        demands=rng.integers(0, rng.integers(2, 12), size=customers),
        capacity=capacity,
        vehicles=vehicles,
    )
    return instance, predict(kind, rng, vehicles, customers + 1)


def stack(cases, spare=0, rng=None):
    """The predictions of a batch padded to the largest instance, rubbish in padding."""
    rng = rng or np.random.default_rng(0)
    size = max(len(i.demand_units) for i, _ in cases) + spare
    fleet = max(i.vehicles for i, _ in cases) + spare
    batch = len(cases)
    log_probs = -torch.from_numpy(rng.exponential(size=(batch, fleet, size, size)))
    log_probs = log_probs.float()
    demands = torch.zeros((batch, size), dtype=torch.int64)
    distances = torch.from_numpy(rng.uniform(size=(batch, size, size)))
    customers = torch.zeros((batch, size), dtype=torch.bool)
    vehicles = torch.zeros((batch, fleet), dtype=torch.bool)
    for row, (instance, prediction) in enumerate(cases):
        m, n, _ = prediction.shape
        log_probs[row, :m, :n, :n] = prediction
        demands[row, :n] = torch.from_numpy(instance.demand_units.copy())
        distances[row, :n, :n] = torch.from_numpy(instance.distances.copy())
        customers[row, 1:n] = True
        vehicles[row, :m] = True
    return Prediction(
        log_probs=log_probs,
        demands=demands,
        capacity=torch.tensor([i.capacity_units for i, _ in cases]),
        customers=customers,
        vehicles=vehicles,
        distances=distances,
    )


@st.composite
def batches(draw, most=3):
    """A few instances of different sizes with predictions of any kind."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return [
        make_case(
            rng,
            draw(st.sampled_from(KINDS)),
            draw(st.integers(1, 9)),
            draw(st.integers(1, 4)),
            draw(st.integers(1, 25)),
        )
        for _ in range(draw(st.integers(1, most)))
    ]


@pytest.mark.parametrize("way", WAYS)
@settings(deadline=None, max_examples=12)
@given(cases=batches())
def test_feasible_but_for_the_customers_left_out(way, cases):
    """A plan has no fault but the customers that it leaves out."""
    plans = decode(stack(cases), *WAYS[way])
    for plan, (instance, _) in zip(plans, cases, strict=True):
        assert plan.check(instance, partial=True) == []


@pytest.mark.parametrize("way", REPAIRED)
@settings(deadline=None, max_examples=12)
@given(cases=batches())
def test_the_guarantee_serves_everyone(way, cases):
    """With the guarantee all customers but those too large for a vehicle are served."""
    plans = decode(stack(cases), *guaranteed(REPAIRED[way]))
    for plan, (instance, _) in zip(plans, cases, strict=True):
        too_large = instance.demand_units > instance.capacity_units
        enough = instance.with_vehicles(max(1, plan.vehicles))
        missing = [f"customer {c} missing" for c in np.flatnonzero(too_large)]
        assert plan.check(enough) == missing


@pytest.mark.parametrize("guarantee", [False, True])
@pytest.mark.parametrize("way", WAYS)
@settings(deadline=None, max_examples=6)
@given(cases=batches(most=4), seed=st.integers(0, 99))
def test_alone_as_in_a_padded_batch(way, guarantee, cases, seed):
    """An instance gets the same plan alone as within a batch padded with rubbish."""
    choice = guaranteed(WAYS[way]) if guarantee and way in REPAIRED else WAYS[way]
    padding = np.random.default_rng(seed)
    together = decode(stack(cases, spare=3, rng=padding), *choice)
    for row, case in enumerate(cases):
        assert together[row] == decode(stack([case]), *choice)[0]


@settings(deadline=None, max_examples=50)
@given(cases=batches())
def test_pseudo_greedy_only_overloads(cases):
    """The decoding of training may overload and leave out, and nothing else."""
    prediction = stack(cases)
    tours = pseudo_greedy(prediction)
    loads = tour_loads(tours, prediction.demands)
    for row, plan in enumerate(make_plans(tours)):
        instance, _ = cases[row]
        faults = plan.check(instance, partial=True)
        assert all("carries" in fault for fault in faults)
        carried = [load for load in loads[row].tolist() if load]
        assert carried == [load for load in plan.load_units(instance) if load]


@pytest.mark.parametrize("decoder", ["greedy", "beam"])
@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_a_sure_prediction_decodes_to_its_plan(decoder, data):
    """A prediction that is sure of a feasible plan decodes to exactly that plan."""
    n, vehicles = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 4))
    order = data.draw(st.permutations(range(1, n + 1)))
    cuts = sorted(data.draw(st.integers(0, n)) for _ in range(vehicles - 1))
    ends = [0, *cuts, n]
    tours = [order[a:b] for a, b in itertools.pairwise(ends)]
    log_probs = one_hot_prediction(tours, n, vehicles)
    capacity = max(len(tour) for tour in tours)
    prediction = make_prediction(log_probs, [0] + [1] * n, capacity)
    assert decode(prediction, decoder, "none")[0] == ff.Plan(tours)
