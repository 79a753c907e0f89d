"""Presets: the paper's numbers, and errors for what is unknown."""

from __future__ import annotations

import pytest

import fixedfleet as ff
from fixedfleet.model import UniversalNetwork, load_model
from fixedfleet.training import MembershipLoss, PlanLoss, get_preset, list_presets


@pytest.mark.parametrize(
    ("n", "width", "layers", "batch"),
    [(20, 256, 7, 128), (50, 256, 9, 64), (100, 128, 7, 64)],
)
def test_paper_presets_are_the_papers(n, width, layers, batch):
    """Widths, batch sizes, epochs and rate are printed; layers are the authors'."""
    preset = get_preset(f"paper{n}")
    model, training = preset.model, preset.training
    assert (preset.customers, model.width, model.hidden, model.layers) == (
        n,
        width,
        1024,
        layers,
    )
    assert model.normalisation == "vehicle"
    assert (training.batch_size, training.epochs, training.learning_rate) == (
        batch,
        60,
        1e-4,
    )
    assert (training.schedule, training.weight_decay, training.augment) == (
        "constant",
        0,
        False,
    )
    assert (training.warmup, training.clip, training.ema) == (0, 0, 0)


@pytest.mark.parametrize("n", [20, 50, 100])
def test_paper_presets_have_the_papers_loss(n):
    """The weights of the load terms are within the paper's ranges."""
    loss = get_preset(f"paper{n}").loss
    assert 0.2 <= loss.load_weight <= 0.5
    assert 0.1 <= loss.overload_weight <= 0.3


def test_the_presets_of_the_package():
    """There is the paper's for each size, one for all sizes, and two to fine-tune."""
    found = {preset.name: preset for preset in list_presets().values()}
    networks = {name: preset.network for name, preset in found.items()}
    assert networks == {
        "paper20": "edges", "paper50": "edges", "paper100": "edges",
        "universal": "universal", "finetune": "universal", "finetune20": "edges",
    }  # fmt: skip
    mixed = {name for name, preset in found.items() if preset.customers is None}
    assert mixed == {"universal", "finetune", "finetune20"}


@pytest.mark.parametrize(
    ("name", "weights"), [("finetune", "universal"), ("finetune20", "paper20")]
)
def test_a_preset_to_fine_tune_suits_its_network(name, weights):
    """It has the shipped network's settings, and a lower rate than its training."""
    preset, base = get_preset(name), get_preset(weights)
    assert preset.model == load_model(weights).config == base.model
    assert preset.training.learning_rate < base.training.learning_rate


def test_settings_change_by_dotted_name():
    """One setting changes and all others stay."""
    changed = get_preset("paper20").with_settings({"model.layers": 2})
    assert (changed.model.layers, changed.model.width) == (2, 256)
    assert changed.customers == 20
    assert changed.with_settings({"customers": 30}).customers == 30
    assert changed.with_settings({"customers": "any"}).customers is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model.layer": 2}, "unknown model setting 'layer'"),
        ({"loss.alpha": 2}, "unknown loss setting 'alpha'"),
        ({"training.lr": 2}, "unknown training setting 'lr'"),
        ({"layers": 2}, "does not begin with model"),
        ({"customers": 0}, "customers is 0"),
        ({"customers.any": True}, "does not begin with model"),
        ({"training.batch_size": 0}, "batch_size is 0"),
        ({"training.batch_size": 8.0}, "batch_size is 8.0"),
        ({"training.ema": 1.0}, "ema is 1, not a number below 1"),
        ({"training.schedule": "linear"}, "choose from constant, cosine"),
        ({"loss.load_weight": -1}, "load_weight is -1"),
    ],
)
def test_unknown_settings_are_errors(settings, message):
    """A misspelt or senseless setting is refused by name."""
    with pytest.raises(ff.InputError, match=message):
        get_preset("paper20").with_settings(settings)


def test_presets_of_ones_own_come_from_a_file(tmp_path):
    """FILE.toml:NAME takes a preset from a file; unknown keys in it are errors."""
    path = tmp_path / "mine.toml"
    path.write_text("[small]\ncustomers = 9\n[small.model]\nwidth = 8\n")
    assert get_preset(f"{path}:small").model.width == 8
    path.write_text("[small]\ncustomers = 9\nspeed = 3\n")
    with pytest.raises(ff.InputError, match="unknown entry 'speed'"):
        get_preset(f"{path}:small")
    path.write_text("small = 3\n")
    with pytest.raises(ff.InputError, match="small is 3, not the table of a preset"):
        get_preset(f"{path}:small")
    path.write_text("[small]\ncustomers = 9\nmodel = 3\n")
    with pytest.raises(ff.InputError, match="model is 3, not a table of settings"):
        get_preset(f"{path}:small")
    path.write_text("[small]\ncustomers = 0\nmodel.width = 8\n")
    with pytest.raises(ff.InputError, match="'small': customers is 0, not a whole"):
        get_preset(f"{path}:small")
    path.write_text("[small]\nmodel.width = 8\n")
    assert get_preset(f"{path}:small").customers is None
    path.write_text("[small]\nmodel.name = 8\n")
    with pytest.raises(ff.InputError, match=r"model\.name is 8, not the name of"):
        get_preset(f"{path}:small")
    with pytest.raises(ff.InputError, match="unknown preset 'paper30'"):
        get_preset("paper30")


def test_another_network_or_loss_begins_with_its_own_defaults():
    """The settings of the network and the loss that are replaced do not stay."""
    preset = get_preset("paper20").with_settings({"model.name": "universal"})
    assert preset.model == UniversalNetwork.Config()
    assert preset.loss == MembershipLoss()
    assert preset.training == get_preset("paper20").training
    settings = {"loss.name": "plan", "loss.load_weight": 0.5}
    loss = preset.with_settings(settings).loss
    assert loss == PlanLoss(load_weight=0.5)
    with pytest.raises(ff.InputError, match="unknown network 'huge': choose from edge"):
        preset.with_settings({"model.name": "huge"})


def test_a_preset_can_be_based_on_another(tmp_path):
    """It has all settings of the other one but those it gives itself."""
    path = tmp_path / "mine.toml"
    path.write_text(
        '[mine]\nbased_on = "paper50"\ncustomers = 30\n[mine.model]\nlayers = 4\n'
        '[again]\nbased_on = "mine"\n'
    )
    base, mine = get_preset("paper50"), get_preset(f"{path}:mine")
    assert (mine.customers, mine.model.layers) == (30, 4)
    assert mine.loss == base.loss
    assert mine.training == base.training
    assert mine.model == base.with_settings({"model.layers": 4}).model
    again = get_preset(f"{path}:again")
    assert again.to_dict() == mine.to_dict()
    for base in ('"later"', "3", '["mine"]'):
        path.write_text(f"[mine]\nbased_on = {base}\n[later]\ncustomers = 9\n")
        with pytest.raises(
            ff.InputError, match="which is not defined above it: choose from"
        ):
            list_presets(path)
