"""A few labels, a tiny preset, and what a training leaves in its folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

import fixedfleet as ff
from fixedfleet import training
from fixedfleet.model.weights import read_tensors
from fixedfleet.training import Preset

if TYPE_CHECKING:
    from pathlib import Path

torch.set_num_threads(1)  # tensors this small are slower on several

N, FLEET, CAPACITY = 6, 3, 12


def tiny_labels(count: int, seed: int = 0) -> tuple[ff.InstanceBatch, ff.PlanBatch]:
    """Instances with plans that sweep around the depot: feasible, and learnable."""
    rng = np.random.default_rng(seed)
    batch = ff.InstanceBatch(
        depots=rng.uniform(size=(count, 2)),
        customers=rng.uniform(size=(count, N, 2)),
        demands=rng.integers(1, 5, size=(count, N)),
        capacity=CAPACITY,
        vehicles=FLEET,
    )
    plans = []
    for instance in batch:
        steps = instance.customers - instance.depot
        tours, load = [[]], 0
        for customer in np.argsort(np.arctan2(steps[:, 1], steps[:, 0])):
            amount = int(instance.demands[customer])
            if load + amount > CAPACITY:
                tours.append([])
                load = 0
            tours[-1].append(int(customer) + 1)
            load += amount
        plans.append(ff.Plan(tours))
    return batch, ff.PlanBatch.from_plans(plans)


@pytest.fixture(scope="session")
def labels():
    """Ninety-six labelled instances of six customers and three vehicles."""
    return tiny_labels(96)


@pytest.fixture(scope="session")
def preset():
    """A training of a tiny network."""
    return Preset.from_dict(
        "tiny",
        {
            "customers": N,
            "model": {
                "width": 16,
                "hidden": 32,
                "layers": 1,
            },
            "training": {
                "batch_size": 16,
                "learning_rate": 5e-3,
                "schedule": "cosine",
                "warmup": 3,
                "clip": 1.0,
                "ema": 0.9,
                "augment": True,
                "precision": "fp32",
                "validation": 16,
                "validate_every": 2,
                "epochs": 4,
            },
        },
    )


def train(preset, labels, **options):
    """Train on a CPU, unless another device is named."""
    return training.train(preset, labels, **({"device": "cpu"} | options))


def changed(preset: Preset, **settings: object) -> Preset:
    """The preset with some settings of the training changed."""
    return preset.with_settings({f"training.{k}": v for k, v in settings.items()})


def read_log(folder: Path, key: str = "step") -> list[dict]:
    """The rows of a training's log that have a key."""
    lines = (folder / "log.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if key in row]


def losses(folder: Path) -> list[float]:
    """The loss of each epoch."""
    return [row["loss/total"] for row in read_log(folder, "loss/total")]


def state(folder: Path) -> dict[str, torch.Tensor]:
    """All tensors of a training's checkpoint."""
    return read_tensors(folder / "checkpoint.safetensors")[0]


def assert_same_state(one: Path, two: Path) -> None:
    """Two trainings have left bit for bit the same checkpoint."""
    left, right = state(one), state(two)
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        assert torch.equal(tensor, right[name]), name
