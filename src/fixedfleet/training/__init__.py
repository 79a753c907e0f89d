"""
Training of networks: settings, labels, loss, steps, validation, checkpoints.

A label is an instance with a good plan, from which a network learns.
"""

# ruff: noqa: E402  # a missing torch is reported before anything imports it
from fixedfleet.errors import require

require("torch", "network", "training")

from fixedfleet.training.losses import LOSSES, Loss
from fixedfleet.training.membership_loss import MembershipLoss
from fixedfleet.training.plan_loss import PlanLoss, Target
from fixedfleet.training.presets import Preset, TrainConfig, get_preset, list_presets
from fixedfleet.training.trainer import NonFiniteLossError, TrainResult, train
from fixedfleet.training.training_data import TrainingBatch, read_labels, to_tensors
from fixedfleet.training.validation import Validation, validate

__all__ = [
    "LOSSES",
    "Loss",
    "MembershipLoss",
    "NonFiniteLossError",
    "PlanLoss",
    "Preset",
    "Target",
    "TrainConfig",
    "TrainResult",
    "TrainingBatch",
    "Validation",
    "get_preset",
    "list_presets",
    "read_labels",
    "to_tensors",
    "train",
    "validate",
]
