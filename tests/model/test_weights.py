"""Weights: saved whole, loaded by name or path, and refused in clear words."""

from __future__ import annotations

import json
import pickle
import shutil
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

import fixedfleet as ff
from fixedfleet.model import (
    NORMALISATIONS,
    ModelConfig,
    Network,
    collate,
    list_models,
    load_model,
    save_model,
    weights,
)
from fixedfleet.model.weights import read_metadata
from fixedfleet.registry import load_files, user_modules


@pytest.fixture
def network():
    """A tiny network."""
    torch.manual_seed(0)
    return Network(ModelConfig(width=8, hidden=8, layers=1)).eval()


@pytest.fixture
def saved(network, tmp_path):
    """The tiny network's file."""
    path = tmp_path / "tiny.safetensors"
    save_model(network, path, card={"minutes": 3})
    return path


def test_saved_network_predicts_the_same(network, tmp_path, make_instance):
    """Saved and loaded, a network whose weights fit into float16 predicts the same."""
    network.half().float()  # rounds the weights
    path = tmp_path / "net.safetensors"
    save_model(network, path)
    features = collate(ff.InstanceBatch.of([make_instance(n=4)])).features
    assert torch.equal(load_model(path)(features), network(features))
    assert [file.name for file in tmp_path.iterdir()] == ["net.safetensors"]


def test_half_precision_halves_the_file(network, saved, tmp_path):
    """By default weights take two bytes each."""
    count = sum(p.numel() for p in network.parameters())
    assert 2 * count < saved.stat().st_size < 3 * count + 4000
    assert load_model(saved).config == network.config


def test_models_are_listed_and_loaded_by_name(saved, monkeypatch):
    """A file in the shipped folder is listed with its card and found by its name."""
    monkeypatch.setattr(weights, "SHIPPED", saved.parent)
    (model,) = list_models()
    assert (model.name, model.card) == ("tiny", {"minutes": 3})
    assert load_model("tiny").config == model.config
    with pytest.raises(ff.InputError, match=r"no network 'huge'.*\(tiny\)"):
        load_model("huge")


def test_shipped_models_keep_to_the_limit():
    """Each shipped network loads, is within 16 MiB and has a card in Markdown."""
    models = list_models()
    names = [model.name for model in models]
    assert names == ["paper100", "paper20", "paper50", "universal"]
    for model in models:
        assert model.size <= 16 * 2**20
        assert load_model(model.name).config == model.config
        card = model.path.with_suffix(".md").read_text(encoding="utf-8")
        assert card.startswith(f"# {model.name}\n")
        assert "## Limitations" in card


def test_corrupt_and_foreign_files_are_refused(saved, tmp_path):
    """Half a file, no safetensors, a pickle: each is refused and nothing unpickled."""
    half = tmp_path / "half.safetensors"
    half.write_bytes(saved.read_bytes()[:500])
    pickled = tmp_path / "net.pkl"
    pickled.write_bytes(pickle.dumps({"a": 1}))
    for path in (half, pickled):
        with pytest.raises(ff.InputError, match="corrupt or not a safetensors file"):
            load_model(path)
    other = tmp_path / "other.safetensors"
    save_file({"a": torch.zeros(1)}, other)
    with pytest.raises(ff.InputError, match="not a fixedfleet network"):
        load_model(other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "99"}, "format '99'; this version reads format '1'"),
        ({"config": json.dumps({"widht": 8})}, "unknown model setting 'widht'"),
        ({"config": "{"}, "its metadata cannot be read"),
        ({"config": json.dumps({"width": 16, "hidden": 8, "layers": 1})}, "has shape"),
        (
            {"config": json.dumps({"width": 8, "hidden": 8, "layers": 2})},
            "lacks weight",
        ),
        (
            {"config": json.dumps({"width": 8, "pooling": "attention"})},
            r"unknown model setting 'pooling'.*; train it anew with this version",
        ),
        ({"config": json.dumps({"normalisation": "joint"})}, "normalisation 'joint'"),
    ],
)
def test_other_versions_and_sizes_are_refused(saved, change, message):
    """A file of another format or size is refused with both named."""
    metadata = read_metadata(saved) | change
    save_file(load_file(saved), saved, metadata=metadata)
    with pytest.raises(ff.InputError, match=message):
        load_model(saved)


def test_a_normalisation_that_is_not_known_is_refused(saved):
    """A network is not loaded without the normalisation that its file names."""
    settings = json.loads(read_metadata(saved)["config"])
    tensors = load_file(saved)
    for name, message in (
        ("mine", r"'mine' is not loaded: add --parts FILE\.py to the command"),
        ("a/b.py:Sharp", r"'a/b\.py:Sharp' is not loaded: add --parts a/b\.py to"),
        ("os:system", "'os:system' is not loaded"),
    ):
        config = json.dumps(settings | {"normalisation": name})
        save_file(tensors, saved, metadata=read_metadata(saved) | {"config": config})
        with pytest.raises(ff.InputError, match=message):
            load_model(saved)


def test_a_normalisation_that_was_loaded_is_found_again(tmp_path):
    """A network saved with a function of one's own loads where it is known."""
    file = tmp_path / "own.py"
    file.write_text(
        "def sharp(scores, allowed, features):\n    return scores.log_softmax(-1)\n"
    )
    name = f"{file}:sharp"
    config = ModelConfig(width=8, hidden=8, layers=1, normalisation=name)
    save_model(Network(config), tmp_path / "own.safetensors")
    assert load_model(tmp_path / "own.safetensors").config == config


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The file of a network whose normalisation is in own.py of another folder."""
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "own.py").write_text(
        "def sharp(scores, allowed, features):\n    return scores.log_softmax(-1)\n"
    )
    monkeypatch.setattr(NORMALISATIONS, "_parts", dict(NORMALISATIONS._parts))
    for module in user_modules():  # of other tests
        monkeypatch.delitem(sys.modules, module.__name__)
    monkeypatch.chdir(folder)
    config = ModelConfig(width=8, hidden=8, layers=1, normalisation="own.py:sharp")
    save_model(Network(config), tmp_path / "own.safetensors")
    monkeypatch.chdir(tmp_path)
    NORMALISATIONS._parts.pop("own.py:sharp")
    (module,) = user_modules()
    del sys.modules[module.__name__]
    yield tmp_path / "own.safetensors"
    for module in user_modules():
        del sys.modules[module.__name__]


def test_a_file_that_the_user_names_is_the_one_that_is_loaded(own, tmp_path):
    """A network finds its part in a loaded file of that name, and runs no other one."""
    (tmp_path / "own.py").write_text("raise AssertionError('nobody named this file')")
    with pytest.raises(ff.InputError, match=r"is not loaded: add --parts own\.py"):
        load_model(own)
    load_files([str(tmp_path / "parts" / "own.py")])
    assert load_model(own).config.normalisation == "own.py:sharp"


def test_two_files_of_one_name_are_not_confused(own, tmp_path, monkeypatch):
    """Of two loaded files of the part's name, only the very file is taken for it."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        file = shutil.copy(tmp_path / "parts" / "own.py", tmp_path / folder)
        load_files([str(file)])
    with pytest.raises(ff.InputError, match="is not loaded"):
        load_model(own)
    monkeypatch.chdir(tmp_path / "two")
    assert load_model(own).normalisation.__code__.co_filename == str(file)


def test_a_changed_normalisation_is_told(own, tmp_path, caplog):
    """The network's file knows the source that it was trained with."""
    file = tmp_path / "parts" / "own.py"
    load_files([str(file)])
    load_model(own)
    assert not caplog.records
    file.write_text(file.read_text() + "# another version\n")
    load_model(own)
    assert "'own.py:sharp' has changed since" in caplog.text


def test_broken_networks_are_not_saved(network, tmp_path):
    """A network with NaN in it leaves no file."""
    path = tmp_path / "net.safetensors"
    with torch.no_grad():
        network.embed_depot.weight[0, 0] = torch.nan
    with pytest.raises(ff.InputError, match=r"embed_depot\.weight is not finite"):
        save_model(network, path)
    assert not list(tmp_path.iterdir())
