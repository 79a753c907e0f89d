"""
Networks that predict a whole plan at once, and their weights.

Shapes of tensors are written with these letters: B instances in a batch, N customers,
N' = N + 1 locations (index 0 is the depot), M vehicles, d channels of an embedding.
Ŷ_kij is the predicted probability that vehicle k drives from location i to location j.
"""

# ruff: noqa: E402  # if torch is missing, `require` says so before anything imports it
from fixedfleet.errors import require

require("torch", "network", "a network")

from fixedfleet.model.features import Batch, Features, collate, symmetry
from fixedfleet.model.network import ModelConfig, Network
from fixedfleet.model.normalise import NORMALISATIONS, Normalisation, allowed_edges
from fixedfleet.model.plan_network import NETWORKS, Factors, PlanNetwork
from fixedfleet.model.universal import Rounds, UniversalConfig, UniversalNetwork
from fixedfleet.model.weights import (
    DEFAULT_MODEL,
    find_model,
    list_models,
    load_model,
    load_once,
    save_model,
)

__all__ = [
    "DEFAULT_MODEL",
    "NETWORKS",
    "NORMALISATIONS",
    "Batch",
    "Factors",
    "Features",
    "ModelConfig",
    "Network",
    "Normalisation",
    "PlanNetwork",
    "Rounds",
    "UniversalConfig",
    "UniversalNetwork",
    "allowed_edges",
    "collate",
    "find_model",
    "list_models",
    "load_model",
    "load_once",
    "save_model",
    "symmetry",
]
