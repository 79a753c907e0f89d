"""The network that predicts a whole plan at once, and its weights."""

# ruff: noqa: E402  # a missing torch is to be named before anything imports it
from fixedfleet.errors import require

require("torch", "network", "a network")

from fixedfleet.model.features import Batch, Features, collate, symmetry
from fixedfleet.model.network import ModelConfig, Network
from fixedfleet.model.normalise import normalise
from fixedfleet.model.predict import predict
from fixedfleet.model.weights import StoredModel, list_models, load_model, save_model

__all__ = [
    "Batch",
    "Features",
    "ModelConfig",
    "Network",
    "StoredModel",
    "collate",
    "list_models",
    "load_model",
    "normalise",
    "predict",
    "save_model",
    "symmetry",
]
