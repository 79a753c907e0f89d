"""Tests of sampling with a temperature."""

from __future__ import annotations

import pytest
import torch

import fixedfleet as ff
from fixedfleet.planning import SampleOptions, decode, to_plans
from fixedfleet.planning.problem import prepare
from fixedfleet.planning.sampling import sample


def test_the_same_seed_gives_the_same_plans(noisy):
    """Plans depend on the generator's seed and on nothing else."""
    log_probs, demands, capacity, points = noisy(10, 3, 12, 25)

    def draw(seed):
        generator = torch.Generator().manual_seed(seed)
        options = SampleOptions(samples=4, temperature=2.0)
        return decode(
            log_probs,
            demands,
            capacity,
            coordinates=points,
            method="sample",
            options=options,
            generator=generator,
        ).routes

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))


def test_arcs_are_drawn_as_often_as_predicted():
    """At temperature 1 the first customer is drawn with its predicted probability."""
    probs = torch.tensor([0.2, 0.5, 0.3])
    log_probs = probs.log().expand(1, 1, 3, 3)
    problem = prepare(log_probs, torch.tensor([[0, 1, 1]]), torch.tensor([2]))
    options = SampleOptions(samples=4000, temperature=1.0)
    decoded = sample(problem.repeat(4000), options, seed=5)
    first = decoded.routes[1:, 0, 0]
    shares = [(first == stop).float().mean().item() for stop in range(3)]
    assert shares == pytest.approx(probs.tolist(), abs=0.03)


def test_more_samples_are_never_worse(noisy):
    """The best of sixteen plans is no longer than the greedy one among them."""
    log_probs, demands, capacity, points = noisy(30, 4, 12, 30)
    batch = ff.InstanceBatch(
        depots=points[:, 0].numpy(),
        customers=points[:, 1:].numpy(),
        demands=demands[:, 1:].numpy(),
        capacity=30,
        vehicles=4,
    )

    def plans(**choice):
        return to_plans(
            decode(
                log_probs,
                demands,
                capacity,
                coordinates=points,
                repair="room",
                **choice,
            )
        )

    greedy, best = plans(), plans(method="sample")
    assert best.feasible(batch).sum() >= greedy.feasible(batch).sum()
    both = best.feasible(batch) & greedy.feasible(batch)
    assert both.any()
    shorter = best.lengths(batch) <= greedy.lengths(batch) * (1 + 1e-6)
    assert shorter[both].all()
    assert best.lengths(batch)[both].mean() < greedy.lengths(batch)[both].mean()


@pytest.mark.parametrize(
    "wrong", [{"samples": 0}, {"temperature": 0.0}, {"temperature": float("inf")}]
)
def test_wrong_options_are_named(wrong):
    """No samples or a temperature of 0 are refused."""
    with pytest.raises(ff.InputError, match=next(iter(wrong))):
        SampleOptions(**wrong)
