"""Networks and losses of one's own, from the training to every command."""

from __future__ import annotations

import json
import sys

import pytest
import torch

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.cli import main
from fixedfleet.evaluate import get_method
from fixedfleet.files import write_instance
from fixedfleet.labels import label
from fixedfleet.model import NETWORKS, PlanNetwork, load_model, save_model
from fixedfleet.registry import user_modules
from fixedfleet.training import LOSSES, Loss, get_preset, train

PARTS = '''
from dataclasses import dataclass

import torch
from torch import nn

from fixedfleet.model import PlanNetwork, allowed_edges
from fixedfleet.training import Loss, PlanLoss


@dataclass(frozen=True, kw_only=True)
class Settings:
    width: int = 8


class Nearness(PlanNetwork):
    """Scores an edge by its length, its end's demand and the vehicle's number."""

    Config = Settings

    def __init__(self, config=None):
        super().__init__(config)
        self.score = nn.Sequential(
            nn.Linear(3, self.config.width), nn.ReLU(), nn.Linear(self.config.width, 1)
        )

    def forward(self, features):
        points, fleet = features.coordinates, features.vehicles.shape[1]
        length = torch.cdist(points, points)
        demand = features.demands[:, None].expand_as(length)
        number = torch.arange(1, fleet + 1) / fleet
        pairs = torch.stack((length, demand), 3)[:, None].expand(-1, fleet, -1, -1, -1)
        number = number.view(1, -1, 1, 1, 1).expand(*pairs.shape[:4], 1)
        scores = self.score(torch.cat((pairs, number), 4))[..., 0]
        scores = scores.masked_fill(
            ~allowed_edges(features.nodes, features.vehicles), -1e9
        )
        logs = scores.flatten(2).log_softmax(2).view_as(scores)
        return logs.masked_fill(scores < -1e8, -torch.inf)


@dataclass(frozen=True)
class Scaled(Loss):
    """The paper's edge term, times a factor."""

    terms = ("total", "plain")
    factor: float = 2.0

    def __call__(self, output, batch):
        plain = PlanLoss(load_weight=0.0, overload_weight=0.0)(output, batch)["edges"]
        return {"total": self.factor * plain, "plain": plain}
'''


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    """A folder of twelve labels of nine customers."""
    folder = tmp_path_factory.mktemp("own") / "labels"
    instances = generate.uniform(9, 12, seed=3, capacity=15, vehicles=4)
    method = get_method("packing+ruin_recreate")
    label(instances, folder, method=method, iterations=50, processes=1)
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with own.py, in a process that has not loaded it."""
    for registry in (NETWORKS, LOSSES):
        monkeypatch.setattr(registry, "_parts", dict(registry._parts))
    (tmp_path / "own.py").write_text(PARTS)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    _forget()


def _forget() -> None:
    """Be as a new process: without the file of parts."""
    for module in user_modules():
        del sys.modules[module.__name__]
    for registry in (NETWORKS, LOSSES):
        for name in [name for name in registry._parts if ":" in name]:
            del registry._parts[name]


SETTINGS = (
    "model.name=own.py:Nearness", "model.width=4", "loss.name=own.py:Scaled",
    "loss.factor=3.0", "training.validation=2", "training.batch_size=5",
)  # fmt: skip


@pytest.fixture
def trained(folder, labels):
    """A folder with a training of own.py's network and loss."""
    (folder / "mine.toml").write_text("[mine]\ncustomers = 9\n")
    command = ["train", "mine.toml:mine", "--labels", str(labels), "--out", "runs"]
    options = [part for setting in SETTINGS for part in ("--set", setting)]
    assert main([*command, "--epochs", "2", *options]) == 0
    _forget()
    return folder


def test_the_loss_and_the_network_are_those_that_were_named(trained):
    """The log has the terms of the loss, and the file the name of the network."""
    lines = (trained / "runs" / "log.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    assert first["loss/total"] == pytest.approx(3 * first["loss/plain"])
    assert (trained / "runs" / "own.py").read_text() == PARTS


def test_every_command_takes_the_network_with_its_parts(trained, capsys):
    """`predict`, `solve` and `evaluate`, whose workers get the parts, load the file."""
    model, parts = "runs/model.safetensors", ["--parts", "runs/own.py"]
    instance = generate.uniform(9, 1, seed=8, capacity=15, vehicles=4)[0]
    write_instance(instance, "day.json")
    assert main(["predict", "day.json", "--model", model]) == 2
    said = capsys.readouterr().err
    assert f"'own.py:Nearness' is not loaded: add --parts {trained}/runs/own.py" in said
    assert main(["predict", "day.json", "--model", model, *parts]) == 0
    _forget()
    spec = f"network:model={model}"
    command = ["evaluate", "--set", "day.json", "--method", spec, "--processes", "1"]
    assert main([*command, "--results", "rows.jsonl", *parts]) == 0
    row = json.loads((trained / "rows.jsonl").read_text().splitlines()[1])
    assert row["served"]
    assert row["made"]["source"]


def test_weights_of_another_network_are_refused(trained, labels):
    """A training starts from a network of its own class only."""
    with pytest.raises(ff.InputError, match="start from a network of the same class"):
        train(
            get_preset("mine.toml:mine").with_settings(
                {"training.validation": 2, "training.batch_size": 5}
            ),
            labels,
            out="more",
            weights=_loaded(trained),
        )


def _loaded(folder):
    from fixedfleet.registry import load_files

    load_files([str(folder / "own.py")])
    return folder / "runs" / "model.safetensors"


def test_a_registered_network_needs_no_file(folder, tmp_path):
    """A class of a script is saved and loaded by its registered name."""

    @NETWORKS.register("constant")
    class Constant(PlanNetwork):
        def __init__(self, config=None):
            super().__init__(config)
            self.level = torch.nn.Parameter(torch.zeros(()))

        def forward(self, features):
            shape = (*features.vehicles.shape, *[features.nodes.shape[1]] * 2)
            return self.level.expand(shape)

    save_model(Constant(), tmp_path / "constant.safetensors")
    network = load_model(tmp_path / "constant.safetensors")
    instances = generate.uniform(9, 3, seed=1, capacity=15, vehicles=4)
    plans = ff.predict(instances, network).decode("greedy")
    assert plans.feasible(instances).all()
    assert network.required_bytes(2, 10, 4) == 4 * 6 * 2 * 4 * 100


def test_a_network_without_a_name_cannot_be_saved(tmp_path):
    """Its file could not be loaded again."""

    class Nameless(PlanNetwork):
        pass

    with pytest.raises(ff.InputError, match="has no name: register it under one"):
        save_model(Nameless(), tmp_path / "nameless.safetensors")


@pytest.mark.parametrize(
    ("registry", "setting", "said"),
    [
        (NETWORKS, "model.name", "it must be a subclass of fixedfleet.model.PlanNet"),
        (LOSSES, "loss.name", "it must be a subclass of fixedfleet.training.Loss"),
    ],
)
def test_what_is_no_network_or_loss_is_refused(registry, setting, said, monkeypatch):
    """Anything but a class of the right kind is refused by name."""
    monkeypatch.setattr(registry, "_parts", dict(registry._parts))
    registry.register("wrong")(print)
    with pytest.raises(ff.InputError, match=said):
        get_preset("paper20").with_settings({setting: "wrong"})


def test_a_wrong_prediction_is_refused():
    """A network that predicts another shape than that of log Ŷ is named."""

    class Flat(PlanNetwork):
        def __init__(self):
            super().__init__()
            self.level = torch.nn.Parameter(torch.zeros(()))

        def forward(self, features):
            return self.level.expand(features.vehicles.shape)

    instances = generate.uniform(9, 3, seed=1, capacity=15, vehicles=4)
    with pytest.raises(ff.InputError, match=r"Flat predicts .* not log Ŷ of shape"):
        ff.predict(instances, Flat())


def test_a_loss_says_what_it_needs():
    """The base class is no loss."""
    with pytest.raises(NotImplementedError):
        Loss()(None, None)
